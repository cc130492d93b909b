#include "tests/unit/plan_setting.h"
#include "workloads/random.h"

#include <string.h>

/* Clusters of the plan's parts in the order of Plan.replicas, then the buffers: "0,1|2|3". */
static char *clusters_text(const Plan *plan) {
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < plan->n_replicas; i++) {
        for (guint s = 0; s < plan->replicas[i].n_stages; s++) {
            const StagePlan *stage = &plan->replicas[i].stages[s];
            for (guint rank = 0; rank < stage->tp; rank++)
                g_string_append_printf(text, "%s%u", rank > 0 ? "," : "", stage->clusters[rank]);
            g_string_append_c(text, s + 1 < plan->replicas[i].n_stages ? ' ' : '|');
        }
    }
    for (guint i = 0; i < plan->n_buffers; i++)
        g_string_append_printf(text, "%s%u", i > 0 ? " " : "", plan->buffers[i].cluster);
    return g_string_free(text, FALSE);
}

typedef struct Placed {
    const char *name, *text, *clusters;
} Placed;

static const Placed placed[] = {
    {"packed/decode_then_prefill_then_buffers",
     "{mode: pbd, prefill: {dp: 2}, buffer: {clusters: 2}, decode: {tp: 2, pp: 2}}",
     "4|5|0,1 2,3|6 7"},
    {"packed/pools_follow_each_other",
     "{mode: pbd, pools: 2, prefill: {dp: 2}, decode: {tp: 4}, buffer: {clusters: 2}}",
     "4|5|0,1,2,3|12|13|8,9,10,11|6 7 14 15"},
    {"packed/unequal_pools",
     "{mode: pbd, prefill: {dp: 3, pp: 2}, decode: {tp: 4, dp: 2}, buffer: {clusters: 1}}",
     "8 9|10 11|12 13|0,1,2,3|4,5,6,7|14"},
    {"packed/a_group_skips_to_a_processor_with_room",
     "{mode: pbd, pools: 2, decode: {tp: 2}, buffer: {clusters: 1}, prefill: {pp: 4}}",
     "2 3 4 5|0,1|7 10 11 12|8,9|6 13"},
    {"packed/stages_are_neighbours", "{mode: colocated, colocated: {pp: 2, dp: 3}}",
     "0 1|2 3|4 5|"},
    {"packed/larger_than_a_processor_starts_on_a_free_one",
     "{mode: pbd, pools: 2, decode: {tp: 8}}", "8|0,1,2,3,4,5,6,7|10|12,13,14,15,16,17,18,19|9 11"},
    {"spread/singles_take_each_processor_in_turn",
     "{mode: colocated, placement: spread, colocated: {dp: 10}}", "0|4|8|12|16|20|24|28|1|5|"},
    {"spread/groups_stay_within_a_processor",
     "{mode: pbd, placement: spread, prefill: {dp: 2}, decode: {tp: 2, pp: 3}}",
     "12|16|0,1 4,5 8,9|20"},
    {"spread/groups_come_round", "{mode: colocated, placement: spread, colocated: {tp: 2, dp: 9}}",
     "0,1|4,5|8,9|12,13|16,17|20,21|24,25|28,29|2,3|"},
    {"spread/large_groups_span_processors",
     "{mode: colocated, placement: spread, colocated: {tp: 8}}", "0,4,8,12,16,20,24,28|"},
};

static void is_placed(gconstpointer data) {
    const Placed *row = data;
    g_auto(Setting) setting = setting_of(row->text, &llama_2_7b);
    g_autofree char *clusters = clusters_text(setting.plan);
    g_assert_cmpstr(clusters, ==, row->clusters);
}

static void the_order_of_replicas(void) {
    g_auto(Setting) setting =
        setting_of("{mode: pbd, pools: 2, prefill: {dp: 2}, decode: {dp: 3}}", &llama_2_7b);
    g_assert_cmpuint(setting.plan->n_replicas, ==, 10);
    for (guint i = 0; i < 10; i++) {
        const ReplicaPlan *replica = &setting.plan->replicas[i];
        guint within = i % 5;
        g_assert_cmpuint(replica->pool, ==, i / 5);
        g_assert_cmpint(replica->role, ==, within < 2 ? ROLE_PREFILL : ROLE_DECODE);
        g_assert_cmpuint(replica->index, ==, within < 2 ? within : within - 2);
    }
    g_assert_cmpuint(setting.plan->n_buffers, ==, 2);
    g_assert_cmpuint(setting.plan->buffers[1].pool, ==, 1);
    g_assert_cmpfloat(setting.plan->buffers[1].bytes, ==, 20e9 - 0.1e9);
}

/* Marks a cluster; each may be used once. */
static void mark(gboolean *used, guint cluster, guint clusters) {
    g_assert_cmpuint(cluster, <, clusters);
    g_assert_false(used[cluster]);
    used[cluster] = TRUE;
}

static void assert_disjoint(const Plan *plan, const Platform *platform, gboolean kept) {
    guint clusters = platform_clusters(platform), count = 0;
    g_autofree gboolean *used = g_new0(gboolean, clusters);
    for (guint i = 0; i < plan->n_replicas; i++) {
        for (guint s = 0; s < plan->replicas[i].n_stages; s++) {
            const StagePlan *stage = &plan->replicas[i].stages[s];
            for (guint rank = 0; rank < stage->tp; rank++, count++) {
                mark(used, stage->clusters[rank], clusters);
                if (rank > 0)
                    g_assert_cmpuint(stage->clusters[rank - 1], <, stage->clusters[rank]);
                if (kept)
                    g_assert_cmpuint(platform_processor_of(platform, stage->clusters[0]), ==,
                                     platform_processor_of(platform, stage->clusters[rank]));
            }
        }
    }
    for (guint i = 0; i < plan->n_buffers; i++, count++)
        mark(used, plan->buffers[i].cluster, clusters);
    g_assert_cmpuint(count, ==, plan->clusters_used);
}

static char *random_policy(RandomStream *stream, guint *tp, guint *pools) {
    *tp = 1u << random_below(stream, 4);
    *pools = 1 + (guint)random_below(stream, 4);
    guint draw[6];
    for (guint i = 0; i < G_N_ELEMENTS(draw); i++)
        draw[i] = 1 + (guint)random_below(stream, 5);
    const char *placement = random_below(stream, 2) == 0 ? "packed" : "spread";
    if (random_below(stream, 3) == 0)
        return g_strdup_printf("{mode: colocated, pools: %u, placement: %s, colocated: {tp: %u, "
                               "pp: %u, dp: %u}}",
                               *pools, placement, *tp, draw[0], draw[1]);
    return g_strdup_printf("{mode: pbd, pools: %u, placement: %s, prefill: {dp: %u, pp: %u}, "
                           "buffer: {clusters: %u}, decode: {tp: %u, pp: %u, dp: %u}}",
                           *pools, placement, draw[0], draw[1], draw[2], *tp, draw[3], draw[4]);
}

static void every_cluster_is_used_once(void) {
    RandomStream stream = random_stream(3, "plans");
    guint planned = 0;
    for (guint i = 0; i < 2000; i++) {
        Platform platform = machine;
        platform.nodes = 1 + random_below(&stream, 8);
        platform.clusters_per_processor = 1 + random_below(&stream, 6);
        guint tp, pools;
        g_autofree char *text = random_policy(&stream, &tp, &pools);
        g_auto(Setting) setting = setting_on(text, &llama_2_7b, &platform);
        if (setting.plan == NULL) {
            g_assert_nonnull(strstr(setting.error->message, "the plan needs"));
            continue;
        }
        planned++;
        /* In the only pool, TP groups choose first: where they divide a processor none is cut. */
        gboolean kept = pools == 1 && platform.clusters_per_processor % tp == 0;
        assert_disjoint(setting.plan, &platform, kept);
        g_auto(Setting) again = setting_on(text, &llama_2_7b, &platform);
        g_autofree char *first = clusters_text(setting.plan), *second = clusters_text(again.plan);
        g_assert_cmpstr(first, ==, second);
    }
    g_assert_cmpuint(planned, >, 500);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/placement/the_order_of_replicas", the_order_of_replicas);
    g_test_add_func("/placement/every_cluster_is_used_once", every_cluster_is_used_once);
    for (guint i = 0; i < G_N_ELEMENTS(placed); i++) {
        g_autofree char *path = g_strconcat("/placement/", placed[i].name, NULL);
        g_test_add_data_func(path, &placed[i], is_placed);
    }
    return g_test_run();
}
