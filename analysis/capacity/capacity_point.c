#include "analysis/capacity/capacity_private.h"
#include "analysis/output/number_text.h"
#include <math.h>
#include <string.h>

void capacity_point_free(CapacityPoint *point) {
    if (point == NULL)
        return;
    g_strfreev(point->settings);
    g_free(point->plan);
    g_free(point->reason);
    g_free(point);
}

char *capacity_point_words(const CapacityPoint *point) {
    const char *words = point->plan != NULL ? point->plan : point->reason;

    if (point->seeds_held == point->seeds_asked)
        return g_strdup(words == NULL ? "" : words);
    return g_strdup_printf("%s; under %u of %u other seeds", words, point->seeds_held,
                           point->seeds_asked);
}

CapacityPoint *capacity_point_new(guint64 size, double load, char **settings) {
    CapacityPoint *point = g_new0(CapacityPoint, 1);

    point->size = size;
    point->load = load;
    point->settings = settings;
    for (guint i = 0; i < N_FIGURES; i++)
        point->figures[i] = NAN;
    return point;
}

CapacityPoint *capacity_point_with(const CapacityPoint *point, double load, char *const *more) {
    CapacityPoint *other =
        capacity_point_new(point->size, load, capacity_join(point->settings, more));

    other->plan = g_strdup(point->plan);
    return other;
}

static void free_point(gpointer point) {
    capacity_point_free(point);
}

GPtrArray *capacity_points_new(void) {
    return g_ptr_array_new_with_free_func(free_point);
}

/* --- settings */

static guint64 rounded_up(guint64 a, guint64 b) {
    return (a + b - 1) / b;
}

static guint64 nodes_of(const CapacitySetup *setup, guint64 size) {
    const Platform *platform = campaign_base(setup->campaign)->platform;
    guint64 processors = platform->processors_per_node;
    guint64 clusters = processors * platform->clusters_per_processor;
    gboolean elements = setup->units == UNITS_CLUSTERS || setup->units == UNITS_GPUS;

    if (setup->units == UNITS_WAFERS)
        return size;
    return rounded_up(size, elements ? clusters : processors);
}

static guint64 clusters_of(const CapacitySetup *setup, guint64 size) {
    const Platform *platform = campaign_base(setup->campaign)->platform;

    gboolean several = setup->units == UNITS_PROCESSORS || setup->units == UNITS_NODES;

    return several ? size * platform->clusters_per_processor : size;
}

char **capacity_machine_settings(const CapacitySetup *setup, guint64 size) {
    const char *key = setup->units == UNITS_WAFERS ? "wafers" : "nodes";
    char **settings = g_new0(char *, 2);

    if (size > 0)
        settings[0] = g_strdup_printf("platform.%s=%" G_GUINT64_FORMAT, key, nodes_of(setup, size));
    return settings;
}

static void add_number(GPtrArray *settings, const char *key, double value, const char *unit) {
    char text[NUMBER_TEXT_MAX];

    *number_text_shortest(text, value) = '\0';
    g_ptr_array_add(settings, g_strdup_printf("%s=%s%s", key, text, unit));
}

char **capacity_load_settings(const Experiment *base, double load) {
    GPtrArray *settings = g_ptr_array_new();
    const OutputSpec *output = &base->output;

    if (load < 1 || load > 1) {
        add_number(settings, "workload.time_scale", workload_time_scale(base->workload) / load, "");
        if (output->warmup_s > 0)
            add_number(settings, "output.warmup", output->warmup_s / load, " s");
        if (output->cooldown_s > 0)
            add_number(settings, "output.cooldown", output->cooldown_s / load, " s");
    }
    g_ptr_array_add(settings, NULL);
    return (char **)g_ptr_array_free(settings, FALSE);
}

char **capacity_join(char *const *a, char *const *b) {
    GPtrArray *all = g_ptr_array_new();

    for (; a != NULL && *a != NULL; a++)
        g_ptr_array_add(all, g_strdup(*a));
    for (; b != NULL && *b != NULL; b++)
        g_ptr_array_add(all, g_strdup(*b));
    g_ptr_array_add(all, NULL);
    return (char **)g_ptr_array_free(all, FALSE);
}

/* --- one simulation a point */

static void point_take(const CapacitySetup *setup, CapacityPoint *point, const Outcome *outcome) {
    gboolean sound = outcome->status == OUTCOME_OK;

    if (!sound)
        point->reason = g_strdup(outcome->reason);
    memcpy(point->figures, outcome->figures, sizeof point->figures);
    point->holds = sound && objectives_broken_limit(setup->targets, point->figures) == NULL;
}

gboolean capacity_simulate(const CapacitySetup *setup, CapacityPoint *const *points, gsize n,
                           const char *label, GError **error) {
    g_autofree CampaignRun *runs = g_new0(CampaignRun, n);

    for (gsize i = 0; i < n; i++)
        runs[i].overrides = points[i]->settings;
    gboolean done = campaign_run(setup->campaign, runs, n, label, error);
    for (gsize i = 0; i < n; i++) {
        if (done)
            point_take(setup, points[i], &runs[i].outcome);
        outcome_clear(&runs[i].outcome);
    }
    return done;
}

/* --- a search */

SearchSpace *capacity_space(const CapacitySetup *setup, guint64 size, GError **error) {
    const Experiment *base = campaign_base(setup->campaign);
    Platform platform = *base->platform;

    if (size > 0)
        platform.nodes = nodes_of(setup, size);
    return search_space_new(base->search, base->policy, base->model, &platform,
                            size > 0 ? clusters_of(setup, size) : 0, error);
}

/* Of what was simulated and breaks a limit, the best; NO_CANDIDATE: nothing was. */
static gsize nearest_simulated(const SearchResult *result, const Objectives *objectives) {
    gsize best = NO_CANDIDATE;

    for (gsize i = 0; i < result->n; i++) {
        const Candidate *candidate = &result->candidates[i];
        if (candidate->fate == FATE_LIMIT &&
            (best == NO_CANDIDATE ||
             objectives_order(objectives, candidate->outcome.figures,
                              result->candidates[best].outcome.figures) < 0))
            best = i;
    }
    return best;
}

static const char *reason_of(const SearchResult *result) {
    for (gsize i = 0; i < result->n; i++)
        if (result->candidates[i].outcome.reason != NULL)
            return result->candidates[i].outcome.reason;
    return "no plan could be simulated";
}

/* NULL where it is no plan. Caller frees. */
static char *plan_text(const CapacitySetup *setup, const Candidate *candidate,
                       char *const *settings) {
    if (candidate->plan != NULL)
        return g_strdup(candidate->plan);
    g_autoptr(Experiment) experiment =
        campaign_experiment(setup->campaign, (const char *const *)settings, NULL);
    return experiment == NULL ? NULL : search_plan_text(experiment->policy);
}

static SearchResult *run_search(const CapacitySetup *setup, const PointSearch *search,
                                const Objectives *objectives, GError **error) {
    SearchSetup of_search = {.campaign = setup->campaign,
                             .space = search->space,
                             .objectives = objectives,
                             .method = setup->method,
                             .settings = (const char *const *)search->settings,
                             .progress = setup->progress,
                             .label = search->label};

    return search_run(&of_search, error);
}

static CapacityPoint *point_of(const CapacitySetup *setup, const PointSearch *search,
                               const SearchResult *result, gsize index) {
    CapacityPoint *point = capacity_point_new(search->size, search->load, NULL);

    point->candidates = result->n;
    point->simulated = result->simulated;
    if (index == NO_CANDIDATE) {
        point->reason = g_strdup(reason_of(result));
        return point;
    }
    const Candidate *candidate = &result->candidates[index];
    point->settings = capacity_join(search->settings, candidate->point->settings);
    point->plan = plan_text(setup, candidate, point->settings);
    point_take(setup, point, &candidate->outcome);
    return point;
}

/* Bounds prove that no plan meets the limits: the best one without them. */
static CapacityPoint *best_without_limits(const CapacitySetup *setup, const PointSearch *search,
                                          gsize simulated, GError **error) {
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(FigureLimit));
    Objectives objectives = *search->objectives;

    objectives.limits = none;
    g_autoptr(SearchResult) result = run_search(setup, search, &objectives, error);
    if (result == NULL)
        return NULL;
    CapacityPoint *point = point_of(setup, search, result, result->best);
    point->bounded = point->plan != NULL;
    point->simulated += simulated;
    return point;
}

CapacityPoint *capacity_search(const CapacitySetup *setup, const PointSearch *search,
                               GError **error) {
    const Objectives *objectives = search->objectives;
    g_autoptr(SearchResult) result = run_search(setup, search, objectives, error);

    if (result == NULL)
        return NULL;
    gsize index =
        result->best == NO_CANDIDATE ? nearest_simulated(result, objectives) : result->best;
    gboolean proven = result->fates[FATE_BOUND] > 0 && result->fates[FATE_BROKEN] == 0;
    if (index == NO_CANDIDATE && proven && !search->strict)
        return best_without_limits(setup, search, result->simulated, error);
    return point_of(setup, search, result, index);
}
