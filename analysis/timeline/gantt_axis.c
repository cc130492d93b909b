#include "analysis/timeline/gantt_axis.h"

#include <string.h>

#define SECOND G_GINT64_CONSTANT(1000000000)

typedef struct TimeUnit {
    const char *name;
    gint64 ns;
} TimeUnit;

static const TimeUnit units[] = {
    {"h", 3600 * SECOND}, {"min", 60 * SECOND}, {"s", SECOND},
    {"ms", 1000000},      {"\302\265s", 1000},  {"ns", 1},
};

/* The largest unit of which a span is at least two; minutes and hours from ten minutes and hours
 * on, so that fewer readers have to multiply by 60. */
static const TimeUnit *unit_of(gint64 span_ns) {
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
        if (span_ns >= units[i].ns * (units[i].ns > SECOND ? 15 : 2))
            return &units[i];
    return &units[G_N_ELEMENTS(units) - 1];
}

/* Decimals of steps that are a power of ten smaller than the unit; units of 60 have none. */
static guint decimals_of(gint64 step_ns, gint64 unit_ns) {
    guint decimals = 0;

    while (step_ns % unit_ns != 0 && unit_ns % 10 == 0 && decimals < 9) {
        unit_ns /= 10;
        decimals++;
    }
    return decimals;
}

GanttAxis gantt_axis(gint64 from_ns, gint64 to_ns, guint ticks) {
    static const guint steps[] = {1, 2, 5};
    gint64 span_ns = to_ns - from_ns;
    const TimeUnit *unit = unit_of(span_ns);
    gboolean far = from_ns / 50 >= span_ns;
    GanttAxis axis = {.unit = unit->name, .unit_ns = unit->ns, .origin_ns = far ? from_ns : 0};
    gint64 power_ns = unit->ns;

    while (power_ns % 10 == 0 && unit->ns <= SECOND && span_ns / power_ns < 100)
        power_ns /= 10;
    for (guint i = 0; axis.step_ns == 0 || span_ns / axis.step_ns + 1 > ticks; i++) {
        if (power_ns > G_MAXINT64 / 50)
            break;
        axis.step_ns = power_ns * steps[i % 3];
        if (i % 3 == 2)
            power_ns *= 10;
    }
    axis.decimals = decimals_of(axis.step_ns, unit->ns);
    return axis;
}

gint64 gantt_axis_first(const GanttAxis *axis, gint64 from_ns) {
    gint64 since_ns = from_ns - axis->origin_ns;

    return axis->origin_ns + (since_ns + axis->step_ns - 1) / axis->step_ns * axis->step_ns;
}

char *gantt_axis_label(const GanttAxis *axis, gint64 tick_ns) {
    gint64 since_ns = tick_ns - axis->origin_ns;
    GString *label = g_string_new(NULL);
    gint64 rest = since_ns % axis->unit_ns, part = axis->unit_ns;

    g_string_printf(label, "%" G_GINT64_FORMAT, since_ns / axis->unit_ns);
    for (guint i = 0; i < axis->decimals; i++) {
        part /= 10;
        g_string_append_printf(label, i == 0 ? ".%d" : "%d", (int)(rest / part));
        rest %= part;
    }
    return g_string_free(label, FALSE);
}

char *gantt_axis_title(const GanttAxis *axis) {
    if (axis->origin_ns == 0)
        return g_strdup_printf("time (%s)", axis->unit);
    g_autofree char *origin = gantt_axis_moment(axis->origin_ns);
    return g_strdup_printf("time after %s (%s)", origin, axis->unit);
}

char *gantt_axis_moment(gint64 moment_ns) {
    const TimeUnit *unit = &units[2];

    while (unit->ns > 1 && moment_ns > 0 && moment_ns < unit->ns)
        unit++;
    GanttAxis axis = {.unit_ns = unit->ns, .decimals = 9};
    axis.decimals = decimals_of(moment_ns, unit->ns);
    g_autofree char *number = gantt_axis_label(&axis, moment_ns);
    return g_strdup_printf("%s %s", number, unit->name);
}
