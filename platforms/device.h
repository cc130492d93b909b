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
    double launch_s;  /* hthreads create + launch */
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
    double (*memory_capacity)(const DeviceModel *device); /* usable bytes */
} DeviceClass;
struct DeviceModel {
    const DeviceClass *class; /* NULL: a wafer, whose phases are known as a whole */
    const Platform *platform; /* borrowed */
    const OpCosts *costs;     /* borrowed: how operators are made and what was found of them */
    const WaferTimes *wafer;  /* borrowed: of a wafer, else NULL */
};

/* The kinds there are; reach them through device_model. */
extern const DeviceClass device_mt3000;

/* The device of the platform's kind. Borrows both. */
DeviceModel device_model(const Platform *platform, const OpCosts *costs);

/* Seconds of computing of an operator of low density (all but LINEAR and ATTENTION): a few vector
 * operations for each element of its result, on all DSPs. */
double device_low_density_seconds(const Platform *platform, const Op *op);
/* The off-chip bytes of an operator when it is made of FP32. */
double device_fp32_bytes(const Op *op);

/* The graphs of op_graph.h in the units that the costs bring for the model on 'tp' ranks. */
OpGraph *device_layer(const DeviceModel *device, const Model *model, const BatchShape *batch,
                      guint tp);
OpGraph *device_layer_shared(const DeviceModel *device, const Model *model, guint64 tokens,
                             guint tp);
OpGraph *device_head(const DeviceModel *device, const Model *model, const BatchShape *batch,
                     guint tp);

/* The attention of one request in a layer. */
UnitCost device_attention(const DeviceModel *device, const ModelUnits *units, Segment segment);

void unit_cost_add(UnitCost *sum, const UnitCost *term);

#endif
