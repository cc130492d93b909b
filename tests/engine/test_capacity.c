/* Planning on machines whose smallest size is known beforehand, and against looking at every size.
 * Campaigns simulate in children, so that this process has no engine. */
#include "analysis/capacity/capacity.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* Replicas of one cluster that only compute prompts: one token each. */
static const char prompts_only[] = "version: 1\n"
                                   "seed: 1\n"
                                   "platform: {base: mt3000.yaml, nodes: 4}\n"
                                   "model: tiny-llama.json\n"
                                   "workload:\n"
                                   "  synthetic:\n"
                                   "    requests: 200\n"
                                   "    arrivals: {process: constant, rate: 1000 /s}\n"
                                   "    prompt: {distribution: fixed, tokens: 64}\n"
                                   "    output: {distribution: fixed, tokens: 1}\n"
                                   "policy:\n"
                                   "  mode: colocated\n"
                                   "  colocated: {dp: 3, slots: 4, max_batch_tokens: 64}\n"
                                   "search:\n"
                                   "  colocated: {tp: 1, pp: 1, slots: 4, dp: 1:16}\n";

static const char mixed[] = "version: 1\n"
                            "seed: 1\n"
                            "platform: {base: mt3000.yaml, nodes: 4}\n"
                            "model: tiny-llama.json\n"
                            "workload:\n"
                            "  synthetic:\n"
                            "    requests: 60\n"
                            "    arrivals: {process: poisson, rate: 300 /s}\n"
                            "    prompt: {distribution: uniform, min: 16, max: 200}\n"
                            "    output: {distribution: uniform, min: 2, max: 20}\n"
                            "policy:\n"
                            "  mode: pbd\n"
                            "slo: {ttft: {limit: 12 ms}, tpot: {limit: 4 ms}}\n"
                            "search:\n"
                            "  prefill: {pp: 1, micro_batch: 1, dp: 1:32}\n"
                            "  buffer: {clusters: 1}\n"
                            "  decode: {tp: [1, 2], pp: 1, slots: 4, dp: 1:32}\n";

typedef struct Planning {
    char *path;
    Campaign *campaign;
    Objectives *targets;
    GArray *loads;
    CapacitySetup setup;
} Planning;

static void planning_clear(Planning *planning) {
    g_clear_pointer(&planning->campaign, campaign_free);
    g_clear_pointer(&planning->targets, objectives_free);
    g_clear_pointer(&planning->loads, g_array_unref);
    g_unlink(planning->path);
    g_free(planning->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Planning, planning_clear)

static void planning_open(Planning *planning, const char *text, const char *const *overrides,
                          const char *target) {
    g_autoptr(GError) error = NULL;
    const double load = 1;
    int file = g_file_open_tmp("capacity-XXXXXX.yaml", &planning->path, &error);

    g_assert_no_error(error);
    g_close(file, NULL);
    g_assert_true(g_file_set_contents(planning->path, text, -1, NULL));
    CampaignSetup setup = {
        .path = planning->path, .overrides = overrides, .shards = 1, .quiet = TRUE};
    planning->campaign = campaign_new(&setup, &error);
    g_assert_no_error(error);
    const Slo *slo = &campaign_base(planning->campaign)->slo;
    planning->targets = objectives_new("throughput", NULL, NULL, slo, &error);
    g_assert_true(objectives_add_limit(planning->targets, target, "--target", slo, &error));
    planning->loads = g_array_new(FALSE, FALSE, sizeof(double));
    g_array_append_val(planning->loads, load);
    planning->setup = (CapacitySetup){.campaign = planning->campaign,
                                      .targets = planning->targets,
                                      .method = SEARCH_EXHAUSTIVE,
                                      .units = UNITS_CLUSTERS,
                                      .from = 1,
                                      .to = 16,
                                      .step = 1,
                                      .loads = planning->loads,
                                      .knee_gain = 0.01,
                                      .own_plan = TRUE};
}

/* What a cluster takes for a prompt with nobody else about. */
static double service_seconds(void) {
    const char *const alone[] = {"workload.synthetic.requests=1", NULL};
    g_auto(Planning) planning = {0};
    CampaignRun run = {0};

    planning_open(&planning, prompts_only, alone, "ttft_p99 <= 1 s");
    g_assert_true(campaign_run(planning.campaign, &run, 1, "alone", NULL));
    double seconds = run.outcome.figures[FIGURE_TTFT_P99];
    g_assert_cmpfloat(seconds, >, 0);
    outcome_clear(&run.outcome);
    return seconds;
}

/* Prompts come every 1/rate seconds and take S: with N clusters nobody waits while rate ≤ N/S, and
 * above it the queue grows without end. */
static void test_smallest_size_is_rate_times_service(void) {
    static const double needed[] = {0.6, 2.5, 10.4};
    double service_s = service_seconds();

    for (gsize i = 0; i < G_N_ELEMENTS(needed); i++) {
        g_autofree char *rate =
            g_strdup_printf("workload.synthetic.arrivals.rate=%.9g /s", needed[i] / service_s);
        g_autofree char *target = g_strdup_printf("ttft_p99 <= %.9g s", 1.2 * service_s);
        const char *const overrides[] = {rate, NULL};
        g_auto(Planning) planning = {0};
        planning_open(&planning, prompts_only, overrides, target);
        g_autoptr(Capacity) capacity = capacity_smallest(&planning.setup, NULL);
        g_assert_nonnull(capacity);
        g_assert_nonnull(capacity->chosen);
        g_assert_cmpuint(capacity->chosen->size, ==, (guint64)ceil(needed[i]));
        g_assert_false(capacity->size_search.scanned);
        /* and that many bear just so much more: grid and queue of 200 together within 2 % */
        double most = ceil(needed[i]) / needed[i];
        g_assert_cmpfloat(capacity->highest_load, >, 0.98 * most);
        g_assert_cmpfloat(capacity->highest_load, <, 1.02 * most);
        g_assert_cmpint(capacity->bottleneck, >=, 0);
        const CapacityRelief *bottleneck = capacity->reliefs->pdata[capacity->bottleneck];
        g_assert_cmpstr(bottleneck->resource, ==, "replicas");
        g_assert_cmpfloat(bottleneck->closed, >, 0.95);
    }
}

/* The experiment's own three clusters. */
static void test_highest_rate_is_clusters_over_service(void) {
    double service_s = service_seconds();
    g_autofree char *target = g_strdup_printf("ttft_p99 <= %.9g s", 1.2 * service_s);
    g_auto(Planning) planning = {0};

    planning_open(&planning, prompts_only, NULL, target);
    g_autoptr(Capacity) capacity = capacity_highest_load(&planning.setup, NULL);
    g_assert_nonnull(capacity);
    double rate = capacity->highest_load * 1000;
    g_assert_cmpfloat(rate, >, 0.98 * 3 / service_s);
    g_assert_cmpfloat(rate, <, 1.02 * 3 / service_s);
}

/* The first size that holds when each is looked at by itself. */
static guint64 first_by_scan(Planning *planning, guint64 to) {
    for (guint64 size = 1; size <= to; size++) {
        CapacitySetup setup = planning->setup;
        setup.from = setup.to = size;
        setup.seeds = 0;
        g_autoptr(GError) error = NULL;
        g_autoptr(Capacity) capacity = capacity_smallest(&setup, &error);
        if (error != NULL) { /* no plan at all is so small */
            g_assert_cmpuint(size, <, 4);
            continue;
        }
        if (capacity->chosen != NULL)
            return size;
    }
    return 0;
}

static void test_bisection_equals_a_scan(void) {
    static const char *const workloads[][3] = {
        {"seed=1", "workload.synthetic.arrivals.rate=200 /s", NULL},
        {"seed=3", "workload.synthetic.arrivals.rate=900 /s", NULL},
        {"seed=4", "workload.synthetic.prompt.max=100", NULL},
    };
    guint64 last = 0;
    gboolean differ = FALSE;

    for (gsize i = 0; i < G_N_ELEMENTS(workloads); i++) {
        g_auto(Planning) planning = {0};
        planning_open(&planning, mixed, workloads[i], "goodput >= 95 %");
        planning.setup.to = 12;
        planning.setup.method = SEARCH_GUIDED;
        g_autoptr(Capacity) guided = capacity_smallest(&planning.setup, NULL);
        g_assert_nonnull(guided);
        guint64 found = guided->chosen == NULL ? 0 : guided->chosen->size;
        planning.setup.method = SEARCH_EXHAUSTIVE;
        g_test_message("workload %" G_GSIZE_FORMAT ": %" G_GUINT64_FORMAT " clusters", i, found);
        g_assert_cmpuint(found, ==, first_by_scan(&planning, 12));
        differ |= i > 0 && found != last;
        last = found;
    }
    g_assert_true(differ); /* else the comparison would say little */
}

static void test_says_why_no_size_will_do(void) {
    g_auto(Planning) planning = {0};

    planning_open(&planning, mixed, NULL, "ttft_p50 <= 10 us");
    planning.setup.to = 6;
    g_autoptr(Capacity) capacity = capacity_smallest(&planning.setup, NULL);
    g_assert_nonnull(capacity);
    g_assert_null(capacity->chosen);
    g_assert_cmpuint(capacity->causes->len, ==, 1);
    const CapacityCause *cause = capacity->causes->pdata[0];
    g_assert_true(cause->never);
    g_assert_nonnull(strstr(cause->text, "every request alone"));
}

/* Far too much for six clusters, and nothing for each request alone. */
static void test_tells_load_from_limit(void) {
    const char *const flood[] = {"workload.time_scale=0.001", NULL};
    g_auto(Planning) planning = {0};

    planning_open(&planning, mixed, flood, "ttft_p50 <= 12 ms");
    planning.setup.to = 3;
    g_autoptr(Capacity) capacity = capacity_smallest(&planning.setup, NULL);
    g_assert_nonnull(capacity);
    g_assert_null(capacity->chosen);
    const CapacityCause *cause = capacity->causes->pdata[0];
    g_assert_false(cause->never);
    g_assert_nonnull(strstr(cause->text, "the load is too much"));
}

static void test_throughput_is_bounded_by_what_comes(void) {
    g_auto(Planning) planning = {0};

    planning_open(&planning, mixed, NULL, "throughput >= 1000000");
    planning.setup.to = 4;
    g_autoptr(Capacity) capacity = capacity_smallest(&planning.setup, NULL);
    g_assert_nonnull(capacity);
    const CapacityCause *cause = capacity->causes->pdata[0];
    g_assert_true(cause->never);
    g_assert_nonnull(strstr(cause->text, "brings no more than"));
}

/* A plan with a margin holds under other seeds; how many do is told for any plan. */
static void test_other_seeds_hold_with_a_margin(void) {
    g_auto(Planning) planning = {0};
    guint held = 0;

    planning_open(&planning, mixed, NULL, "goodput >= 95 %");
    planning.setup.from = 12; /* more than is needed */
    planning.setup.to = 12;
    planning.setup.seeds = 6;
    g_autoptr(Capacity) capacity = capacity_smallest(&planning.setup, NULL);
    g_assert_nonnull(capacity->chosen);
    g_assert_cmpuint(capacity->seeds->len, ==, 6);
    for (guint i = 0; i < 6; i++) {
        const CapacityPoint *point = capacity->seeds->pdata[i];
        g_assert_cmpuint(point->seed, ==, i + 2);
        held += point->holds ? 1 : 0;
        for (guint j = 0; j < i; j++) /* each is another draw */
            g_assert_cmpfloat(
                point->figures[FIGURE_MAKESPAN], !=,
                ((const CapacityPoint *)capacity->seeds->pdata[j])->figures[FIGURE_MAKESPAN]);
    }
    g_assert_cmpuint(held, ==, 6);
}

/* The smallest machine for one draw of a load is too small for others: with more seeds it is the
 * smallest that a plan was found for that is good for all of them. */
static void test_a_size_holds_under_every_seed(void) {
    const char *const busy[] = {"workload.synthetic.arrivals.rate=1500 /s", NULL};
    g_auto(Planning) planning = {0};

    planning_open(&planning, mixed, busy, "goodput >= 95 %");
    planning.setup.to = 16;
    g_autoptr(Capacity) one = capacity_smallest(&planning.setup, NULL);
    planning.setup.seeds = 5;
    g_autoptr(Capacity) all = capacity_smallest(&planning.setup, NULL);
    g_assert_nonnull(one->chosen);
    g_assert_nonnull(all->chosen);
    g_test_message("%" G_GUINT64_FORMAT " clusters, and %" G_GUINT64_FORMAT " for all seeds",
                   one->chosen->size, all->chosen->size);
    g_assert_cmpuint(one->chosen->size, <, all->chosen->size);
    g_assert_cmpuint(all->chosen->seeds_held, ==, 5);
    for (guint i = 0; i < all->seeds->len; i++)
        g_assert_true(((const CapacityPoint *)all->seeds->pdata[i])->holds);
    for (guint i = 0; i < all->sizes->len; i++) {
        const CapacityPoint *point = all->sizes->pdata[i];
        gboolean own = objectives_broken_limit(planning.targets, point->figures) == NULL;
        g_assert_true(point->holds == (own && point->seeds_held == 5));
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/capacity/smallest-is-rate-times-service",
                    test_smallest_size_is_rate_times_service);
    g_test_add_func("/capacity/highest-rate", test_highest_rate_is_clusters_over_service);
    g_test_add_func("/capacity/equals-a-scan", test_bisection_equals_a_scan);
    g_test_add_func("/capacity/every-seed", test_a_size_holds_under_every_seed);
    g_test_add_func("/capacity/never-met", test_says_why_no_size_will_do);
    g_test_add_func("/capacity/too-much-load", test_tells_load_from_limit);
    g_test_add_func("/capacity/throughput", test_throughput_is_bounded_by_what_comes);
    g_test_add_func("/capacity/other-seeds", test_other_seeds_hold_with_a_margin);
    return g_test_run();
}
