#include "analysis/timeline/timeline_lanes.h"

typedef struct Lane {
    gint64 end_ns; /* of its last slice */
    guint number;
} Lane;

TimelineLanes timeline_lanes_new(void) {
    return (TimelineLanes){g_array_new(FALSE, FALSE, sizeof(Lane))};
}

void timeline_lanes_clear(TimelineLanes *lanes) {
    g_clear_pointer(&lanes->lanes, g_array_unref);
}

/* How many lanes end at 'date_ns' or before. */
static guint lanes_ended(const TimelineLanes *lanes, gint64 date_ns) {
    guint low = 0, high = lanes->lanes->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(lanes->lanes, Lane, middle).end_ns <= date_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

guint timeline_lanes_take(TimelineLanes *lanes, gint64 start_ns, gint64 end_ns) {
    Lane lane = {end_ns, lanes->lanes->len};
    guint free_lanes = lanes_ended(lanes, start_ns);
    if (free_lanes > 0) {
        lane.number = g_array_index(lanes->lanes, Lane, free_lanes - 1).number;
        g_array_remove_index(lanes->lanes, free_lanes - 1);
    }
    g_array_insert_val(lanes->lanes, lanes_ended(lanes, end_ns), lane);
    return lane.number;
}
