/* What the cores of a wafer hold: weights, which stay, the buffers of prefill, and what that leaves
 * for KV. A model too large for the cores of one grid is laid over several regions of that size,
 * each with some of the layers (pipelining, WaferLLM section 8). Embedding and LM head lie in
 * cores that no region takes. */
#ifndef POLICIES_MESH_WAFER_MEMORY_H
#define POLICIES_MESH_WAFER_MEMORY_H

#include "platforms/platform.h"

typedef enum {
    WAFER_WHOLE_LAYERS, /* a region has whole layers, a core the largest of the tiles, as the
                           fullest core has them; norms and biases are repeated along the other axis
                         */
    WAFER_EVEN_LAYERS,  /* all of the model's parameters, embedding and head too, spread over all
                           regions' cores without a gap, and the layers' KV over the regions:
                           what the published output lengths come closest to */
    N_WAFER_SPLITS
} WaferSplit;

/* 'model' is borrowed. */
typedef struct WaferLayout {
    const Model *model;
    guint columns, rows; /* of a region */
    guint regions;       /* 1 … layers */
    WaferSplit split;
} WaferLayout;

double wafer_memory_layer_bytes(const WaferLayout *layout);  /* a layer's weights, on a core */
double wafer_memory_weight_bytes(const WaferLayout *layout); /* all weights, on a core */
/* A token's keys and values on each core of the row that keeps it: layers · 2 · ⌈kv / columns⌉. */
double wafer_memory_kv_bytes(const WaferLayout *layout);
/* A core's buffers of prefill on a grid of the given size: of the largest loop, tiles of A and B
 * twice, one computed with and one on its way in, and of C once (MeshGEMM, section 5.3). */
double wafer_memory_prefill_bytes(const Model *model, guint columns, guint rows, guint64 tokens);

/* Regions that the usable rectangle has room for: by the number of cores alone, which is how the
 * published grids were counted, and by rectangles laid side by side, none turned or cut. Regions
 * that may turn at an end of the wafer come between (wafer_regions.h). */
guint wafer_memory_regions_by_area(const MeshSpec *spec, guint columns, guint rows);
guint wafer_memory_regions_by_geometry(const MeshSpec *spec, guint columns, guint rows);
/* The fewest regions (layout->regions is not read) in which weights and 'buffer_bytes' fit a core's
 * usable bytes, whether or not the wafer has room for them. 0: not even with a layer in each. */
guint wafer_memory_smallest_regions(const WaferLayout *layout, double usable_bytes,
                                    double buffer_bytes);
/* What weights and 'buffer_bytes' leave of a core's usable bytes; never below 0. */
double wafer_memory_kv_room(const WaferLayout *layout, double usable_bytes, double buffer_bytes);

#endif
