/* Where the square regions of a wafer are that a model's layers are spread over, one after another
 * (WaferLLM sections 4.4 and 8). The usable rectangle is cut into strips as wide as a region; the
 * strips are run through like a snake's way, the first one southward, and regions follow each other
 * on that way. Where whole rectangles suffice, none is cut: what is left at a strip's end stays
 * empty. Otherwise a region may turn at an end of the wafer, with its two parts side by side: cores
 * that follow each other along its columns are then 'side' hops apart at the turn. */
#ifndef POLICIES_MESH_WAFER_REGIONS_H
#define POLICIES_MESH_WAFER_REGIONS_H

#include <glib.h>

typedef struct WaferRegions {
    guint columns, rows; /* of the usable rectangle */
    guint side;          /* of a region */
    guint regions;
} WaferRegions;

typedef struct WaferCore {
    guint x, y;
} WaferCore;

/* INPUT_ERROR when they do not all fit. The message has no place. */
gboolean wafer_regions_check(const WaferRegions *regions, GError **error);
/* How many would fit. */
guint wafer_regions_room(const WaferRegions *regions);
/* Whether it turns. */
gboolean wafer_regions_turns(const WaferRegions *regions, guint region);
/* Where core (x, y) of a region is on the wafer. */
WaferCore wafer_regions_core(const WaferRegions *regions, guint region, WaferCore core);

#endif
