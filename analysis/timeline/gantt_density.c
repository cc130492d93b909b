#include "analysis/timeline/gantt_density.h"

#define SEEN_LEVELS 3

struct GanttStack {
    const GanttTrack *track;
    guint kind;                  /* the next one */
    double full_ns;              /* of a stretch, all lanes */
    double *total_ns, *below_ns; /* of each stretch: all kinds, and those below the next one */
    gboolean *covered;           /* … whether it lies within a slice that is drawn by itself */
    guint least;                 /* levels of a stretch that is not empty */
    GanttDensity density;
};

/* Negative where a kept slice lost time to what is binned within it. */
static gint64 stretch_busy(const GanttStack *stack, guint kind, guint stretch) {
    guint stride = stack->density.stride;
    gint64 busy_ns = 0;

    for (guint bin = stretch * stride; bin < MIN((stretch + 1) * stride, GANTT_BINS); bin++)
        busy_ns += stack->track->busy[kind][bin];
    return busy_ns;
}

GanttStack *gantt_stack_new(const GanttTrack *track, const GanttGrid *grid, guint lanes,
                            guint stride, gint64 to_ns) {
    GanttStack *stack = g_new0(GanttStack, 1);
    gint64 stretch_ns = stride * grid->bin_ns;

    stack->track = track;
    stack->full_ns = (double)stretch_ns * lanes;
    stack->least = lanes > 1 ? 1 : GANTT_DENSITY_LEAST;
    stack->density.stride = stride;
    stack->density.n = (guint)MIN((to_ns - grid->from_ns - 1) / stretch_ns + 1, GANTT_BINS);
    stack->total_ns = g_new0(double, stack->density.n);
    stack->below_ns = g_new0(double, stack->density.n);
    stack->covered = g_new0(gboolean, stack->density.n);
    for (guint kind = 0; kind < gantt_kinds(); kind++)
        for (guint i = 0; track->busy[kind] != NULL && i < stack->density.n; i++) {
            gint64 busy_ns = stretch_busy(stack, kind, i);
            stack->total_ns[i] += (double)MAX(busy_ns, 0);
            stack->covered[i] |= busy_ns < 0;
        }
    return stack;
}

void gantt_stack_free(GanttStack *stack) {
    g_free(stack->total_ns);
    g_free(stack->below_ns);
    g_free(stack->covered);
    g_free(stack);
}

/* Of what is below the next kind in a stretch. */
static guint8 level(const GanttStack *stack, guint stretch) {
    double busy_ns = stack->below_ns[stretch], total_ns = stack->total_ns[stretch];
    double least_ns = stack->full_ns * stack->least / GANTT_DENSITY_LEVELS;
    gboolean low = total_ns > 0 && total_ns < least_ns && !stack->covered[stretch];
    double scale = low ? least_ns / total_ns : 1;
    double share = MIN(busy_ns * scale / stack->full_ns, 1);

    return (guint8)(share * GANTT_DENSITY_LEVELS + 0.5);
}

static gboolean stack_up(GanttStack *stack, guint kind) {
    GanttDensity *density = &stack->density;
    gboolean something = FALSE;

    for (guint i = 0; i < density->n; i++) {
        density->base[i] = level(stack, i);
        stack->below_ns[i] += (double)MAX(stretch_busy(stack, kind, i), 0);
        density->top[i] = level(stack, i);
        something |= density->top[i] > density->base[i];
    }
    return something;
}

gboolean gantt_stack_next(GanttStack *stack, guint *kind) {
    while (stack->kind < gantt_kinds()) {
        *kind = stack->kind++;
        if (stack->track->busy[*kind] != NULL && stack_up(stack, *kind))
            return TRUE;
    }
    return FALSE;
}

const GanttDensity *gantt_stack_density(const GanttStack *stack) {
    return &stack->density;
}

gboolean gantt_density_is_seen(const GanttDensity *density) {
    for (guint i = 0; i < density->n; i++)
        if (density->top[i] - density->base[i] >= SEEN_LEVELS)
            return TRUE;
    return FALSE;
}

guint gantt_density_changes(const GanttDensity *density) {
    guint changes = 0;

    for (guint i = 1; i < density->n; i++)
        changes +=
            density->base[i] != density->base[i - 1] || density->top[i] != density->top[i - 1];
    return changes;
}
