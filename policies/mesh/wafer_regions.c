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

WaferCore wafer_regions_core(const WaferRegions *regions, guint region, WaferCore core) {
    guint way = region * regions->side + core.y;
    guint strip = way / regions->rows, along = way % regions->rows;

    return (WaferCore){strip * regions->side + core.x,
                       strip % 2 == 0 ? along : regions->rows - 1 - along};
}
