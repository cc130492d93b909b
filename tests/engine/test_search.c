/* Searches: bounds that no simulation betters, guided searches that find what exhaustive ones find,
 * and optima that can be told by hand. */
#include "analysis/search/search.h"
#include "analysis/search/search_private.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* A space, and what it is searched for. */
typedef struct Space {
    const char *name;
    const char *workload, *policy, *rest; /* sections; NULL: none */
    const char *objectives[4];            /* NULL-terminated */
    const char *limit;                    /* of the last of them; NULL: none */
    const char *platform;                 /* NULL: two processors */
} Space;

#define BATCH(n, in, out)                                                                          \
    "  synthetic:\n    requests: " #n "\n    arrivals: {process: batch}\n"                         \
    "    prompt: {distribution: fixed, tokens: " #in "}\n"                                         \
    "    output: {distribution: fixed, tokens: " #out "}\n"
#define MIXED(n, arrivals)                                                                         \
    "  synthetic:\n    requests: " #n "\n    arrivals: {" arrivals "}\n"                           \
    "    prompt: {distribution: uniform, min: 8, max: 400}\n"                                      \
    "    output: {distribution: uniform, min: 1, max: 40}\n"
#define SLO "slo:\n  ttft: {limit: 8 ms}\n  tpot: {limit: 900 us}\n"

static const Space spaces[] = {
    {"closed batch, synchronous",
     BATCH(48, 256, 32),
     "  mode: pbd\n  decode: {batching: synchronous}\n",
     "search:\n  clusters: 8\n  prefill: {pp: [1, 2], micro_batch: 1}\n  buffer: {clusters: 1}\n"
     "  decode: {tp: [1, 2], pp: [1, 2], slots: [4, 16]}\n",
     {"throughput", "cost", "energy,throughput"},
     NULL,
     NULL},
    {"closed batch, continuous, prompts together",
     BATCH(40, 100, 20),
     "  mode: pbd\n",
     "search:\n  clusters: 6\n  prefill: {pp: 1, micro_batch: [1, 4]}\n  buffer: {clusters: [1, "
     "2]}\n"
     "  decode: {tp: [1, 2, 4], pp: 1, slots: [8]}\n",
     {"makespan", "ttft_mean", "tpot_p90,makespan"},
     NULL,
     NULL},
    {"poisson with limits",
     MIXED(60, "process: poisson, rate: 900 /s"),
     "  mode: pbd\n",
     SLO "search:\n  clusters: 6\n  prefill: {pp: [1], micro_batch: [1, 2]}\n"
         "  buffer: {clusters: 1}\n  decode: {tp: [1, 2], pp: 1, slots: [4, 8]}\n",
     {"goodput", "goodput_rate", "goodput,clusters"},
     "ttft_p90 <= 20 ms",
     NULL},
    {"prompts in chunks",
     MIXED(40, "process: poisson, rate: 500 /s"),
     "  mode: pbd\n",
     "search:\n  clusters: 6\n  prefill: {pp: [1, 2], micro_batch: 1, chunk_tokens: [0, 64]}\n"
     "  buffer: {clusters: 1}\n  decode: {tp: [1, 4], pp: 1, slots: [8]}\n",
     {"throughput", "ttft_p99", "e2e_mean"},
     NULL,
     NULL},
    {"colocated, mixed and apart",
     MIXED(60, "process: poisson, rate: 2000 /s"),
     "  mode: colocated\n  colocated: {tp: 1}\n",
     SLO "search:\n  clusters: 4\n  colocated: {tp: [1, 2, 4], pp: [1, 2], slots: [4, 16], "
         "chunk_tokens: [0, 128]}\n",
     {"throughput", "goodput", "cost,ttft_p90"},
     "tpot_mean <= 5 ms",
     NULL},
    {"colocated, tokens on demand",
     MIXED(50, "process: batch"),
     "  mode: colocated\n  kv_reservation: on_demand\n  colocated: {tp: 1}\n",
     "search:\n  clusters: 4\n  colocated: {tp: [1, 2], pp: [1, 2], slots: [4, 8], chunk_tokens: "
     "0}\n",
     {"throughput", "e2e_p50", "makespan,energy"},
     NULL,
     NULL},
    {"closed loop",
     MIXED(60, "process: closed_loop, users: 12, think_time: 2 ms"),
     "  mode: pbd\n",
     SLO "search:\n  clusters: 7\n  prefill: {pp: 1, micro_batch: 1}\n  buffer: {clusters: 1}\n"
         "  decode: {tp: [1, 2], pp: [1, 4], slots: [2, 8]}\n",
     {"throughput", "tpot_mean", "goodput,clusters"},
     NULL,
     NULL},
    {"colocated, fewer micro-batches than stages",
     MIXED(60, "process: poisson, rate: 2500 /s"),
     "  mode: colocated\n  colocated: {tp: 1, pp: 2, micro_batches: 1}\n",
     SLO "search:\n  clusters: 4\n  colocated: {tp: [1, 2], pp: [1, 2, 4], slots: [2, 8, 16]}\n",
     {"throughput", "goodput", "cost,tpot_p90"},
     NULL,
     NULL},
    {"a request on slow links",
     BATCH(1, 400, 3),
     "  mode: pbd\n",
     "search:\n  clusters: 8\n  use_all: false\n  prefill: {pp: [1, 3], dp: 1, micro_batch: 1}\n"
     "  buffer: {clusters: [1, 2]}\n  decode: {tp: [1, 2, 4], pp: 1, dp: 1, slots: 4}\n",
     {"makespan", "tpot_mean", "throughput,e2e_p90"},
     NULL,
     "{base: mt3000.yaml, nodes: 3, network: {local: {bandwidth: 0.05 GB/s}, "
     "port: {bandwidth: 0.02 GB/s}}}"},
    {"a crowd with tight limits",
     MIXED(120, "process: poisson, rate: 3000 /s"),
     "  mode: pbd\n",
     "slo:\n  ttft: {limit: 6 ms}\n  tpot: {limit: 800 us}\n  e2e: {limit: 40 ms}\n"
     "search:\n  clusters: 8\n  prefill: {pp: [1, 2], micro_batch: 1}\n  buffer: {clusters: [1, "
     "2]}\n"
     "  decode: {tp: [1, 2, 4], pp: [1, 2], slots: [4, 16]}\n",
     {"goodput", "ttft_p90", "goodput_rate,e2e_p90"},
     NULL,
     NULL},
    {"a window, several pools, both modes",
     MIXED(80, "process: gamma, cv: 2, rate: 700 /s"),
     "  mode: pbd\n",
     "output: {warmup: 10 ms, cooldown: 5 ms}\nsearch:\n  clusters: 8\n  modes: [pbd, colocated]\n"
     "  pools: [1, 2]\n  prefill: {pp: 1, micro_batch: 1}\n  buffer: {clusters: 1}\n"
     "  decode: {tp: [1, 2], pp: 1, slots: 8}\n"
     "  colocated: {tp: [2], pp: 1, slots: 8}\n",
     {"throughput", "energy_per_token", "ttft_p50,tpot_p50"},
     NULL,
     NULL},
};

/* --- a search of a space */

typedef struct Case {
    char *path;
    Campaign *campaign;
    SearchSpace *space;
    const Experiment *base;
} Case;

static void case_init(Case *test, const Space *space) {
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strdup_printf(
        "version: 1\nseed: 3\nplatform: %s\nmodel: tiny-llama.json\nworkload:\n%spolicy:\n%s%s",
        space->platform == NULL ? "{base: mt3000.yaml, nodes: 2}" : space->platform,
        space->workload, space->policy, space->rest == NULL ? "" : space->rest);
    int file = g_file_open_tmp("infergrid-search-XXXXXX.yaml", &test->path, &error);

    g_assert_no_error(error);
    g_close(file, NULL);
    g_file_set_contents(test->path, text, -1, &error);
    g_assert_no_error(error);
    CampaignSetup setup = {.path = test->path, .shards = 1, .workers = 2, .quiet = TRUE};
    test->campaign = campaign_new(&setup, &error);
    g_assert_no_error(error);
    test->base = campaign_base(test->campaign);
    test->space = search_space_new(test->base->search, test->base->policy, test->base->model,
                                   test->base->platform, 0, &error);
    g_assert_no_error(error);
}

static void case_clear(Case *test) {
    search_space_free(test->space);
    campaign_free(test->campaign);
    g_unlink(test->path);
    g_free(test->path);
}

static Objectives *objectives_of(const Case *test, const char *names, const char *limit) {
    g_autoptr(GError) error = NULL;
    const char *const limits[] = {limit, NULL};
    Objectives *objectives = objectives_new(names, NULL, limits, &test->base->slo, &error);

    g_assert_no_error(error);
    return objectives;
}

static SearchResult *search(const Case *test, const Objectives *objectives, SearchMethod method) {
    g_autoptr(GError) error = NULL;
    SearchSetup setup = {.campaign = test->campaign,
                         .space = test->space,
                         .objectives = objectives,
                         .method = method};
    SearchResult *result = search_run(&setup, &error);

    g_assert_no_error(error);
    return result;
}

/* --- bounds */

/* Of every figure that can be an objective, of a candidate that was simulated. Returns how many
 * were looked at. */
static guint check_bounds(const char *name, const double *bounds, const Candidate *candidate) {
    guint bounded = 0;

    for (Figure figure = 0; figure < N_FIGURES; figure++) {
        double bound = bounds[figure], value = candidate->outcome.figures[figure];
        if (isnan(bound) || isnan(value) || !figure_info(figure)->is_objective)
            continue;
        bounded++;
        if (objective_compare(figure, value, bound) >= 0)
            continue;
        g_autofree char *plan = g_strjoinv(" ", candidate->point->settings);
        g_test_message("%s: %s: %s is %.17g, better than its bound %.17g", name, plan,
                       figure_info(figure)->name, value, bound);
        g_test_fail();
    }
    return bounded;
}

static void check_space_bounds(const Case *test, const Space *space) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Objectives) objectives = objectives_of(test, space->objectives[0], NULL);
    g_autoptr(SearchResult) result = search(test, objectives, SEARCH_EXHAUSTIVE);
    SearchSetup setup = {
        .campaign = test->campaign, .space = test->space, .objectives = objectives};
    guint bounded = 0;

    g_autoptr(PlanBounds) bounds = search_bounds_fill(&setup, result, NULL, &error);
    g_assert_nonnull(bounds);
    g_assert_no_error(error);
    for (gsize i = 0; i < result->n; i++)
        bounded +=
            check_bounds(space->name, result->candidates[i].best_figures, &result->candidates[i]);
    g_assert_cmpuint(result->n_ranked, >=, 4);
    g_assert_cmpuint(bounded, >, 4 * result->n_ranked); /* the check has something to look at */
}

/* --- guided finds what exhaustive finds */

static void check_same(const Case *test, const Space *space, const char *names, const char *limit) {
    g_autoptr(Objectives) objectives = objectives_of(test, names, limit);
    g_autoptr(SearchResult) all = search(test, objectives, SEARCH_EXHAUSTIVE);
    g_autoptr(SearchResult) guided = search(test, objectives, SEARCH_GUIDED);

    g_test_message("%s, %s: %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " simulated, %" G_GSIZE_FORMAT
                   " of them cut, %.1f %% of the events",
                   space->name, names, guided->simulated, all->simulated, guided->cut,
                   100 * guided->events / all->events);
    g_assert_cmpuint(guided->best, ==, all->best);
    g_assert_cmpuint(guided->n_front, ==, all->n_front);
    for (gsize i = 0; i < all->n_front; i++)
        g_assert_cmpuint(guided->front[i], ==, all->front[i]);
    for (gsize i = 0; i < guided->n_ranked; i++) {
        gsize index = guided->ranking[i];
        g_assert_cmpmem(guided->candidates[index].outcome.figures, sizeof(double[N_FIGURES]),
                        all->candidates[index].outcome.figures, sizeof(double[N_FIGURES]));
    }
    for (gsize i = 0; i < guided->n; i++) /* what a cut run has shown is true of the whole one */
        if (guided->candidates[i].cut)
            check_bounds(space->name, guided->candidates[i].best_figures, &all->candidates[i]);
    g_assert_cmpuint(guided->simulated, <=, all->simulated);
    for (gsize i = 0; i < guided->n; i++) /* who is left out names who is better */
        if (guided->candidates[i].fate == FATE_BOUND && limit == NULL)
            g_assert_true(guided->candidates[guided->candidates[i].by].fate == FATE_RANKED);
}

static void test_space(gconstpointer data) {
    const Space *space = data;
    Case test;

    case_init(&test, space);
    check_space_bounds(&test, space);
    for (guint i = 0; space->objectives[i] != NULL; i++)
        check_same(&test, space, space->objectives[i],
                   space->objectives[i + 1] == NULL ? space->limit : NULL);
    case_clear(&test);
}

/* --- optima that can be told */

static const char *setting(const Candidate *candidate, const char *key) {
    gsize length = strlen(key);

    for (char **text = candidate->point->settings; *text != NULL; text++)
        if (strncmp(*text, key, length) == 0 && (*text)[length] == '=')
            return *text + length + 1;
    return NULL;
}

/* Answers of one token need no decoding: prompts over the most replicas are the fastest, and where
 * the replicas divide them the makespan is that of one prompt after another. Slots do not matter,
 * so the plan enumerated first wins. */
static void test_prompts_alone(void) {
    static const Space space = {
        .workload = BATCH(24, 300, 1),
        .policy = "  mode: pbd\n",
        .rest = "search:\n  clusters: 8\n  use_all: false\n  prefill: {dp: [1, 2, 3, 4, 6], pp: 1, "
                "micro_batch: 1}\n  buffer: {clusters: 1}\n"
                "  decode: {tp: 1, pp: 1, dp: 1, slots: [4, 8]}\n"};
    static const guint dps[] = {1, 2, 3, 4, 6};
    Case test;

    case_init(&test, &space);
    for (SearchMethod method = SEARCH_GUIDED; method <= SEARCH_EXHAUSTIVE; method++) {
        g_autoptr(Objectives) objectives = objectives_of(&test, "makespan", NULL);
        g_autoptr(SearchResult) result = search(&test, objectives, method);
        const Candidate *best = &result->candidates[result->best];
        double prompt_s = best->outcome.figures[FIGURE_MAKESPAN] / 4;
        g_assert_cmpstr(setting(best, "policy.prefill.dp"), ==, "6");
        g_assert_cmpstr(setting(best, "policy.decode.slots"), ==, "4");
        for (gsize i = 0; i < result->n; i++) {
            const Candidate *candidate = &result->candidates[i];
            guint dp = (guint)g_ascii_strtoull(setting(candidate, "policy.prefill.dp"), NULL, 10);
            if (candidate->fate == FATE_RANKED)
                g_assert_cmpfloat_with_epsilon(candidate->outcome.figures[FIGURE_MAKESPAN],
                                               24.0 / dp * prompt_s, 1e-9);
        }
        if (method == SEARCH_EXHAUSTIVE)
            g_assert_cmpuint(result->n_ranked, ==, 2 * G_N_ELEMENTS(dps));
    }
    case_clear(&test);
}

/* Replicas of one cluster share nothing: a load that each of them holds by itself is served in the
 * same time by any number of them beyond one a request, and the fewest clusters win. */
static void test_ties(void) {
    static const Space space = {.workload = BATCH(3, 64, 10),
                                .policy = "  mode: colocated\n  colocated: {tp: 1}\n",
                                .rest = "search:\n  clusters: 8\n  use_all: false\n"
                                        "  colocated: {tp: 1, pp: 1, dp: 1:6, slots: 8}\n"};
    Case test;

    case_init(&test, &space);
    for (SearchMethod method = SEARCH_GUIDED; method <= SEARCH_EXHAUSTIVE; method++) {
        g_autoptr(Objectives) objectives = objectives_of(&test, "makespan", NULL);
        g_autoptr(SearchResult) result = search(&test, objectives, method);
        g_assert_cmpstr(setting(&result->candidates[result->best], "policy.colocated.dp"), ==, "3");
    }
    case_clear(&test);
}

/* Bounds on goodput are all 1 here; slices find a plan that reaches it before most are simulated.
 */
static void test_slices(void) {
    static const Space space = {
        .workload = MIXED(3000, "process: poisson, rate: 900 /s"),
        .policy = "  mode: pbd\n",
        .rest = "slo:\n  ttft: {limit: 200 ms}\nsearch:\n  clusters: 6\n  use_all: false\n"
                "  prefill: {pp: [1], micro_batch: [1, 2]}\n  buffer: {clusters: 1}\n"
                "  decode: {tp: [1, 2], pp: 1, slots: [1, 8]}\n"};
    Case test;

    case_init(&test, &space);
    check_same(&test, &space, "goodput", NULL);
    g_autoptr(Objectives) objectives = objectives_of(&test, "goodput", NULL);
    g_autoptr(SearchResult) guided = search(&test, objectives, SEARCH_GUIDED);
    g_assert_cmpuint(guided->simulated, <, guided->n);
    case_clear(&test);
}

/* Requests that never wait for a slot run the same with more of them: half of the plans need no
 * simulation, and their figures are those that a simulation gives, or their bounds those of a run
 * that was cut. */
static void test_twins(void) {
    static const Space sections[] = {
        {.name = "slots to spare",
         .workload = MIXED(60, "process: poisson, rate: 900 /s"),
         .policy = "  mode: pbd\n",
         .rest =
             "search:\n  clusters: 6\n  prefill: {pp: 1, micro_batch: 1}\n"
             "  buffer: {clusters: 1}\n  decode: {tp: [1, 2], pp: [1, 2], slots: [2, 64, 99]}\n"},
        {.name = "slots to spare, colocated",
         .workload = MIXED(60, "process: poisson, rate: 300 /s"),
         .policy = "  mode: colocated\n  colocated: {tp: 1}\n",
         .rest = "search:\n  clusters: 4\n  colocated: {tp: [1, 2], pp: [1, 2], slots: [64, 99], "
                 "chunk_tokens: [0, 128]}\n"},
        {.name = "slots to spare, synchronous",
         .workload = MIXED(60, "process: poisson, rate: 300 /s"),
         .policy = "  mode: pbd\n  decode: {batching: synchronous}\n",
         .rest = "search:\n  clusters: 6\n  prefill: {pp: 1, micro_batch: 1}\n"
                 "  buffer: {clusters: 1}\n  decode: {tp: [1, 2], pp: 1, slots: [64, 99]}\n"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(sections); i++) {
        Case test;
        case_init(&test, &sections[i]);
        check_same(&test, &sections[i], "ttft_mean", NULL);
        g_autoptr(Objectives) objectives = objectives_of(&test, "ttft_mean", NULL);
        g_autoptr(SearchResult) guided = search(&test, objectives, SEARCH_GUIDED);
        g_assert_cmpuint(guided->twins, >, 0);
        g_assert_cmpuint(guided->simulated + guided->twins, <=, guided->n);
        g_assert_cmpuint(guided->simulated, <=, guided->n - guided->n / 4);
        case_clear(&test);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(spaces); i++) {
        g_autofree char *path = g_strdup_printf("/search/guided_is_exhaustive/%s", spaces[i].name);
        g_test_add_data_func(path, &spaces[i], test_space);
    }
    g_test_add_func("/search/prompts_alone_want_all_replicas", test_prompts_alone);
    g_test_add_func("/search/of_equals_the_smallest_wins", test_ties);
    g_test_add_func("/search/slots_that_nobody_waits_for", test_twins);
    g_test_add_func("/search/slices_order_what_bounds_do_not", test_slices);
    return g_test_run();
}
