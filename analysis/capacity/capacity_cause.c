#include "analysis/capacity/capacity_private.h"
#include <math.h>

/* Seconds between arrivals that leave each request alone, and the longest that this may make a
 * run. */
#define ALONE_GAP_S 1e5
#define ALONE_MOST_S 1e9
#define SAMPLES 1e5
#define MOST_SCALE 1e9 /* that a workload takes */

/* Settings that serve the experiment's requests one at a time; where they come all at once or as
 * others end, one of them. */
static char **alone_settings(const Experiment *base) {
    const WorkloadFacts *facts = &base->facts;
    char **settings = g_new0(char *, 4);

    if (facts->closed_loop) {
        settings[0] = g_strdup("workload.synthetic.arrivals.users=1");
        return settings;
    }
    if (facts->last_arrival_s <= 0) {
        gboolean trace = workload_trace_path(base->workload) != NULL;
        settings[0] = g_strdup(trace ? "workload.count=1" : "workload.synthetic.requests=1");
        return settings;
    }
    double stretch = MIN(ALONE_GAP_S * (double)facts->requests, ALONE_MOST_S);
    double scale =
        MIN(workload_time_scale(base->workload) * stretch / facts->last_arrival_s, MOST_SCALE);
    double most_s = scale / workload_time_scale(base->workload) * facts->last_arrival_s;
    settings[0] = g_strdup_printf("workload.time_scale=%.9g", scale);
    settings[1] = g_strdup_printf("output.series_interval=%.9g s", most_s / SAMPLES);
    return settings;
}

/* Figures that a request has by itself. */
static gboolean is_alone_figure(Figure figure) {
    return figure == FIGURE_GOODPUT || (figure >= FIGURE_TTFT_MEAN && figure <= FIGURE_E2E_P99);
}

/* The best plan for one figure, of each request alone. */
static CapacityPoint *search_alone(const CapacitySetup *setup, guint64 size,
                                   const FigureLimit *target, GError **error) {
    g_autoptr(Objectives) objectives = objectives_new(figure_info(target->figure)->name, NULL, NULL,
                                                      &campaign_base(setup->campaign)->slo, error);
    g_autoptr(SearchSpace) space = objectives == NULL ? NULL : capacity_space(setup, size, error);
    g_auto(GStrv) alone = alone_settings(campaign_base(setup->campaign));
    g_auto(GStrv) machine = capacity_machine_settings(setup, size);
    g_auto(GStrv) settings = capacity_join(machine, alone);

    if (space == NULL || !objectives_add_limit(objectives, target->text, "--target",
                                               &campaign_base(setup->campaign)->slo, error))
        return NULL;
    PointSearch search = {.space = space,
                          .objectives = objectives,
                          .settings = settings,
                          .label = "one request alone",
                          .size = size,
                          .load = 0};
    return capacity_search(setup, &search, error);
}

/* "a TTFT of 4.1 s (half of them 1.9 s), more than the 2 s of 'slo'" for each limit that the
 * slowest requests miss. */
static void add_missed_limits(GString *text, const Slo *slo, const double *figures) {
    static const struct {
        const char *name;
        gsize offset;
        Figure median, slow;
    } limits[] = {{"TTFT", G_STRUCT_OFFSET(Slo, ttft), FIGURE_TTFT_P50, FIGURE_TTFT_P99},
                  {"TPOT", G_STRUCT_OFFSET(Slo, tpot), FIGURE_TPOT_P50, FIGURE_TPOT_P99},
                  {"E2E latency", G_STRUCT_OFFSET(Slo, e2e), FIGURE_E2E_P50, FIGURE_E2E_P99}};

    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
        double limit_s = G_STRUCT_MEMBER(SloLimit, slo, limits[i].offset).limit_s;
        if (limit_s <= 0 || !(figures[limits[i].slow] > limit_s))
            continue;
        g_autofree char *slow = units_format_brief(figures[limits[i].slow], DIMENSION_SECONDS);
        g_autofree char *half = units_format_brief(figures[limits[i].median], DIMENSION_SECONDS);
        g_autofree char *most = units_format_brief(limit_s, DIMENSION_SECONDS);
        g_string_append_printf(text,
                               "; alone a long request has a %s of %s and the median one of %s, "
                               "with a limit of %s",
                               limits[i].name, slow, half, most);
    }
}

/* What one request alone says of a target. FALSE in 'never' where it would be met. */
static gboolean explain_alone(const CapacitySetup *setup, guint64 size, CapacityCause *cause,
                              GError **error) {
    const FigureLimit *target = cause->target;
    CapacityPoint *alone = search_alone(setup, size, target, error);

    if (alone == NULL)
        return FALSE;
    g_autofree char *value = objective_text(target->figure, alone->figures[target->figure]);
    g_autoptr(GString) text = g_string_new(NULL);
    cause->never = alone->reason == NULL && !figure_limit_kept(target, alone->figures);
    if (alone->reason != NULL)
        g_string_printf(text, "one request alone cannot be simulated: %s", alone->reason);
    else if (cause->never) {
        g_string_printf(text,
                        "no load is light enough: with every request alone on the machine the best "
                        "plan has a %s of %s",
                        figure_info(target->figure)->name, value);
        if (target->figure == FIGURE_GOODPUT)
            add_missed_limits(text, &campaign_base(setup->campaign)->slo, alone->figures);
    } else
        g_string_printf(text, "the load is too much: with every request alone it would be met (%s)",
                        value);
    cause->text = g_string_free(g_steal_pointer(&text), FALSE);
    capacity_point_free(alone);
    return TRUE;
}

/* No machine answers more than arrives. −1: no such bound is known. */
static double most_offered(const Experiment *base, Figure figure) {
    const WorkloadFacts *facts = &base->facts;
    gboolean windowed = base->output.warmup_s > 0 || base->output.cooldown_s > 0;
    gboolean tokens = figure == FIGURE_THROUGHPUT;
    gboolean requests = figure == FIGURE_REQUEST_RATE || figure == FIGURE_GOODPUT_RATE;

    if (facts->closed_loop || facts->last_arrival_s <= 0 || windowed || (!tokens && !requests))
        return -1;
    return (double)(tokens ? facts->output_tokens : facts->requests) / facts->last_arrival_s;
}

static gboolean explain(const CapacitySetup *setup, const CapacityPoint *largest,
                        CapacityCause *cause, GError **error) {
    const FigureLimit *target = cause->target;
    double offered = most_offered(campaign_base(setup->campaign), target->figure);

    if (is_alone_figure(target->figure) && figure_info(target->figure)->is_objective)
        return explain_alone(setup, largest->size, cause, error);
    g_autofree char *best = objective_text(target->figure, largest->figures[target->figure]);
    if (offered >= 0 && !target->at_most && target->value > offered) {
        g_autofree char *most = objective_text(target->figure, offered);
        cause->never = TRUE;
        cause->text = g_strdup_printf("the workload brings no more than %s", most);
    } else
        cause->text = g_strdup_printf("the plan that comes nearest has %s", best);
    return TRUE;
}

gboolean capacity_causes(const CapacitySetup *setup, Capacity *capacity, GError **error) {
    const GPtrArray *points = capacity->sizes->len > 0 ? capacity->sizes : capacity->loads;
    guint place = points == capacity->sizes ? points->len - 1 : 0; /* largest, or lightest load */
    const CapacityPoint *nearest = points->pdata[place];

    for (guint i = 0; i < setup->targets->limits->len; i++) {
        const FigureLimit *target = &g_array_index(setup->targets->limits, FigureLimit, i);
        if (nearest->reason == NULL && figure_limit_kept(target, nearest->figures))
            continue;
        CapacityCause *cause = g_new0(CapacityCause, 1);
        cause->target = target;
        g_ptr_array_add(capacity->causes, cause);
        if (!explain(setup, nearest, cause, error))
            return FALSE;
    }
    return TRUE;
}
