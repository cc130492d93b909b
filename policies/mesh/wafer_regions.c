#include "policies/mesh/wafer_regions.h"

#include "workloads/input_error.h"

guint wafer_regions_room(const WaferRegions *regions) {
    return regions->columns / regions->side * regions->rows / regions->side;
}

gboolean wafer_regions_check(const WaferRegions *regions, GError **error) {
    guint room = wafer_regions_room(regions);

    if (regions->regions <= room)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "%u regions of %u × %u cores do not fit the wafer's %u × %u, which hold %u",
                regions->regions, regions->side, regions->side, regions->columns, regions->rows,
                room);
    return FALSE;
}

/* Rows of a strip that regions may lie in. */
static guint strip_rows(const WaferRegions *regions) {
    guint whole = regions->rows / regions->side;
    gboolean suffice = regions->regions <= regions->columns / regions->side * whole;

    return suffice ? whole * regions->side : regions->rows;
}

gboolean wafer_regions_turns(const WaferRegions *regions, guint region) {
    guint rows = strip_rows(regions), first = region * regions->side;

    return first / rows != (first + regions->side - 1) / rows;
}

WaferCore wafer_regions_core(const WaferRegions *regions, guint region, WaferCore core) {
    guint rows = strip_rows(regions), way = region * regions->side + core.y;
    guint strip = way / rows, along = way % rows;

    return (WaferCore){strip * regions->side + core.x, strip % 2 == 0 ? along : rows - 1 - along};
}
