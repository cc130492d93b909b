/* The cost model of one compute element: seconds, joules and bytes of an operator or a fusion unit.
 * One file per kind (device_mt3000.c, …) behind this small table of functions. */
#ifndef PLATFORMS_DEVICE_H
#define PLATFORMS_DEVICE_H

#include "platforms/platform.h"
#include "workloads/op_graph.h"

typedef struct UnitCost {
    double seconds;   /* launch + execution */
    double compute_s; /* time the multiply-accumulates need on their own */
    double memory_s;  /* time the off-chip bytes need on their own */
    double launch_s;  /* hthreads create + launch */
    double macs;
    double memory_bytes; /* off-chip */
    double joules;       /* above idle */
} UnitCost;

typedef struct DeviceModel DeviceModel;
typedef struct DeviceClass {
    const char *name;
    /* One operator without launch: two concurrent activities, its multiply-accumulates and its
     * off-chip bytes; the longer one is its time. ALL_REDUCE costs nothing here: it is network. */
    UnitCost (*op_cost)(const DeviceModel *device, const Op *op);
    /* One launch and the operators of the unit one after another. */
    UnitCost (*unit_cost)(const DeviceModel *device, const FusionUnit *unit);
    double (*memory_capacity)(const DeviceModel *device); /* usable bytes */
} DeviceClass;
struct DeviceModel {
    const DeviceClass *class;
    const Platform *platform; /* borrowed */
};

/* The kinds there are; reach them through device_model. */
extern const DeviceClass device_mt3000;

/* The device of the platform's kind. Borrows the platform. */
DeviceModel device_model(const Platform *platform);

void unit_cost_add(UnitCost *sum, const UnitCost *term);

#endif
