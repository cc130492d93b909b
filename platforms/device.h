/* The cost model of one compute element: seconds, joules and bytes of an operator or a fusion unit.
 * One file per kind (device_mt3000.c, …) behind this small table of functions. */
#ifndef PLATFORMS_DEVICE_H
#define PLATFORMS_DEVICE_H

#include "platforms/op_costs.h"
#include "platforms/platform.h"
#include "workloads/op_graph.h"

typedef struct UnitCost {
    double seconds;   /* launch + execution */
    double compute_s; /* time the multiply-accumulates need at the peak */
    double memory_s;  /* time the off-chip bytes need on their own */
    double launch_s;  /* launching kernels */
    double macs;
    double memory_bytes; /* off-chip */
    double joules;       /* above idle */
} UnitCost;

typedef struct DeviceModel DeviceModel;
typedef struct DeviceClass {
    const char *name;
    /* One operator, without launch. ALL_REDUCE costs nothing here: it is network. */
    UnitCost (*op_cost)(const DeviceModel *device, const Op *op);
    guint64 (*unit_launches)(const DeviceModel *device, const FusionUnit *unit);
    /* The launches of the unit, and its operators one after another. */
    UnitCost (*unit_cost)(const DeviceModel *device, const FusionUnit *unit);
    /* What a layer takes besides its units, whatever the batch: launches of attention where one
     * kernel serves all requests. */
    UnitCost (*layer_cost)(const DeviceModel *device);
    double (*memory_capacity)(const DeviceModel *device); /* usable bytes */
} DeviceClass;
struct DeviceModel {
    const DeviceClass *class; /* NULL: a wafer, whose phases are known as a whole */
    const Platform *platform; /* borrowed */
    const OpCosts *costs;     /* borrowed: how operators are made and what was found of them */
    const WaferTimes *wafer;  /* borrowed: of a wafer, else NULL */
};

/* The kinds there are; reach them through device_model. */
extern const DeviceClass device_mt3000, device_gpu;

/* The device of the platform's kind. Borrows both. */
DeviceModel device_model(const Platform *platform, const OpCosts *costs);

/* LINEAR and ATTENTION; all others are of low density. */
gboolean device_is_dense(const Op *op);
/* Vector operations of an operator of low density: a few for each element of its result. */
double device_vector_operations(const Op *op);
/* Seconds of computing of an operator of low density on all DSPs of a cluster. */
double device_low_density_seconds(const Platform *platform, const Op *op);
/* Joules above idle of so many busy seconds. */
double device_joules(const Platform *platform, double seconds);
/* The off-chip bytes of an operator when it is made of FP32. */
double device_fp32_bytes(const Op *op);

/* The graphs of op_graph.h in the units that the costs bring for the model on 'tp' ranks. */
OpGraph *device_layer(const DeviceModel *device, const Model *model, const BatchShape *batch,
                      guint tp);
OpGraph *device_layer_shared(const DeviceModel *device, const Model *model, guint64 tokens,
                             guint tp);
OpGraph *device_head(const DeviceModel *device, const Model *model, const BatchShape *batch,
                     guint tp);

/* What a layer takes besides its units: layer_cost, and the software of its framework. */
UnitCost device_layer_cost(const DeviceModel *device);

/* The attention of one request in a layer. With a cache that is made anew in every step, what that
 * takes: K and V of all tokens, those past and the new ones, are read and written once more. */
UnitCost device_attention(const DeviceModel *device, const ModelUnits *units, Segment segment);

void unit_cost_add(UnitCost *sum, const UnitCost *term);

#endif
