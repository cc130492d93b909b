/* Weights that do not fit: when they are streamed, what then lies on a device, how fast they come,
 * and what the host must hold. */
#include "tests/unit/plan_setting.h"

#include <string.h>

/* 2 nodes of 4 GPUs with 8 GB each, of which llama-2-7b wants 13.48 GB and its KV. */
static Platform small_gpus(void) {
    return (Platform){.name = "gpus",
                      .kind = DEVICE_GPU,
                      .nodes = 2,
                      .processors_per_node = 1,
                      .clusters_per_processor = 4,
                      .cluster = {.ddr_usable_bytes = 8e9},
                      .host = {.memory_bytes = 30e9,
                               .link_bytes_per_s = 12e9,
                               .pageable_bytes_per_s = 5e9,
                               .disk_bytes_per_s = 2e9}};
}

#define GPU_POLICY "mode: colocated\nfusion: off\nattention: flash\nmax_context: 1024\n"

#define LAYER_BYTES ((4.0 * 4096 * 4096 + 3.0 * 4096 * 11008 + 2.0 * 4096) * 2)
#define TABLE_BYTES (32000.0 * 4096 * 2)

static Setting streamed(const char *text) {
    Platform platform = small_gpus();
    Setting setting = setting_on(text, &llama_2_7b, &platform);

    g_assert_no_error(setting.error);
    return setting;
}

static void weights_that_fit_rest(void) {
    g_auto(Setting) setting = streamed(GPU_POLICY "offload: host\ncolocated: {tp: 4}\n");
    const StagePlan *stage = &setting.plan->replicas[0].stages[0];

    g_assert_cmpfloat(stage->stream.bytes, ==, 0);
    g_assert_cmpfloat(weight_stream_seconds(&stage->stream), ==, 0);
    g_assert_cmpfloat(stage->bill.weights, ==, stage->weight_bytes);
}

/* All layers come, two lie there, and the tables stay. */
static void weights_that_do_not_fit_are_streamed_layer_by_layer(void) {
    g_auto(Setting) setting = streamed(GPU_POLICY "offload: host\ncolocated: {tp: 1}\n");
    const StagePlan *stage = &setting.plan->replicas[0].stages[0];
    double norm_bytes = 4096 * 2;

    g_assert_cmpfloat_with_epsilon(stage->weight_bytes,
                                   32 * LAYER_BYTES + 2 * TABLE_BYTES + norm_bytes, 1);
    g_assert_cmpfloat_with_epsilon(stage->stream.bytes, 32 * LAYER_BYTES, 1);
    g_assert_cmpfloat_with_epsilon(stage->bill.weights,
                                   2 * LAYER_BYTES + 2 * TABLE_BYTES + norm_bytes, 1);
    double room = 8e9 - 0.1e9 - stage->bill.weights;
    g_assert_cmpuint(setting.plan->replicas[0].kv_tokens, ==, (guint64)(room / 524288));
}

static const struct {
    const char *name, *policy;
    guint stages;
    double bytes_per_s;
    gboolean overlaps;
} rates[] = {
    {"pinned", "offload: host\ncolocated: {tp: 1}\n", 1, 12e9, TRUE},
    {"pageable", "offload: host\nhost_transfer: pageable\ncolocated: {tp: 1}\n", 1, 5e9, FALSE},
    {"disk", "offload: disk\ncolocated: {tp: 1}\n", 1, 2e9, TRUE},
    /* three replicas of one node read from its disks */
    {"shared-disk", "offload: disk\ncolocated: {tp: 1, dp: 3}\n", 1, 2e9 / 3, TRUE},
};

static void streams_go_at_the_rate_of_their_tier(gconstpointer data) {
    gsize i = (gsize)GPOINTER_TO_UINT(data);
    g_autofree char *text = g_strconcat(GPU_POLICY, rates[i].policy, NULL);
    g_auto(Setting) setting = streamed(text);

    for (guint replica = 0; replica < setting.plan->n_replicas; replica++) {
        const WeightStream *stream = &setting.plan->replicas[replica].stages[0].stream;
        g_assert_cmpfloat_with_epsilon(stream->bytes_per_s, rates[i].bytes_per_s, 1e-3);
        g_assert_cmpint(stream->overlaps, ==, rates[i].overlaps);
        g_assert_cmpfloat(weight_stream_seconds(stream), ==, stream->bytes / stream->bytes_per_s);
    }
}

/* Clusters of the MT-3000 stream as well; a pipeline has its layers on each. */
static void clusters_stream_too(void) {
    Platform platform = machine;
    platform.cluster.ddr_usable_bytes = 4e9;
    platform.host = (HostSpec){100e9, 6e9, 3e9, 2e9};
    g_auto(Setting) setting =
        setting_on("mode: colocated\nmax_context: 256\noffload: disk\ncolocated: {pp: 2}\n",
                   &llama_2_7b, &platform);
    g_assert_no_error(setting.error);
    for (guint stage = 0; stage < 2; stage++) {
        const WeightStream *stream = &setting.plan->replicas[0].stages[stage].stream;
        g_assert_cmpfloat_with_epsilon(stream->bytes, 16 * LAYER_BYTES, 1);
        g_assert_cmpfloat(stream->bytes_per_s, ==, 1e9);
    }
}

/* A batch on its own is in one stage at a time: the disk is that stage's. Over two nodes, each of
 * which holds two of four stages, two batches may still meet on one. */
static void a_disk_serves_the_stages_that_compute(void) {
    static const struct {
        const char *policy;
        guint gpus_per_node;
        double bytes_per_s;
    } rows[] = {
        {"colocated: {pp: 2, micro_batches: 1}\n", 4, 2e9},
        {"colocated: {pp: 2, micro_batches: 1, dp: 2}\n", 4, 1e9},
        {"colocated: {pp: 4, micro_batches: 2}\n", 4, 1e9},
        {"colocated: {pp: 4, micro_batches: 1}\n", 2, 2e9},
        {"colocated: {pp: 4, micro_batches: 2}\n", 2, 1e9},
        {"colocated: {tp: 2, pp: 2, micro_batches: 1}\n", 4, 1e9},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        Platform platform = small_gpus();
        platform.clusters_per_processor = rows[i].gpus_per_node;
        platform.cluster.ddr_usable_bytes = 2.5e9;
        g_autofree char *text =
            g_strconcat("mode: colocated\nmax_context: 256\noffload: disk\n", rows[i].policy, NULL);
        g_auto(Setting) setting = setting_on(text, &llama_2_7b, &platform);
        g_assert_no_error(setting.error);
        g_assert_cmpfloat(setting.plan->replicas[0].stages[0].stream.bytes, >, 0);
        g_assert_cmpfloat(setting.plan->replicas[0].stages[0].stream.bytes_per_s, ==,
                          rows[i].bytes_per_s);
    }
}

static const struct {
    const char *name, *policy, *message;
} refused[] = {
    {"offload_none", "colocated: {tp: 1}\n",
     "p.yaml:5:12: colocated with tp=1 pp=1 does not fit: stage 0 asks for weights 13.48 GB + KV "
     "0.5369 GB (1 × 1024 tokens) + overhead 0.1 GB = 14.11 GB of 8 GB usable per GPU; "
     "smallest that fits: tp=2 pp=1; 'offload: host' would stream its layers"},
    {"no_room_even_then", "offload: host\nkv_reservation: max_context\ncolocated: {slots: 64}\n",
     "p.yaml:7:12: colocated with tp=1 pp=1 does not fit: stage 0 asks for weights, all but two "
     "layers streamed, 1.334 GB + KV 34.36 GB (64 × 1024 tokens) + overhead 0.1 GB = 35.79 GB of 8 "
     "GB usable per GPU; smallest that fits: tp=8 pp=1"},
    {"loading", "offload: host\nstaging_copies: 3\ncolocated: {tp: 1}\n",
     "p.yaml:6:17: out of memory: loading holds 3 copies of the 13.48 GB of weights of node 0, "
     "40.43 GB, and its host has 30 GB"},
    {"loading_what_fits", "staging_copies: 3\ncolocated: {tp: 4}\n",
     "p.yaml:5:17: out of memory: loading holds 3 copies of the 13.48 GB of weights of node 0, "
     "40.44 GB, and its host has 30 GB"},
    {"streaming", "offload: host\ncolocated: {dp: 3}\n",
     "p.yaml:5:10: out of memory: node 0 streams 38.86 GB of weights from its host, which has 30 "
     "GB"},
};

static void is_refused(gconstpointer data) {
    gsize i = (gsize)GPOINTER_TO_UINT(data);
    Platform platform = small_gpus();
    g_autofree char *text = g_strconcat(GPU_POLICY, refused[i].policy, NULL);
    g_auto(Setting) setting = setting_on(text, &llama_2_7b, &platform);

    g_assert_null(setting.plan);
    g_assert_cmpstr(setting.error->message, ==, refused[i].message);
}

static void a_host_must_be_known(void) {
    Platform platform = small_gpus();
    platform.host = (HostSpec){0};
    g_auto(Setting) offload =
        setting_on(GPU_POLICY "offload: host\ncolocated: {tp: 1}\n", &llama_2_7b, &platform);
    g_assert_cmpstr(offload.error->message, ==,
                    "p.yaml:5:10: 'offload' needs 'host' of the platform, and 'gpus' says nothing "
                    "of it");
    g_auto(Setting) copies =
        setting_on(GPU_POLICY "staging_copies: 1\ncolocated: {tp: 4}\n", &llama_2_7b, &platform);
    g_assert_cmpstr(copies.error->message, ==,
                    "p.yaml:5:17: 'staging_copies' needs 'host' of the platform, and 'gpus' says "
                    "nothing of it");
}

/* What is made for DSPs is refused, where it is asked for. */
static void gpus_do_not_run_what_is_made_for_dsps(void) {
    static const struct {
        const char *policy, *message;
    } cases[] = {
        {"mode: colocated\nattention: mt\n",
         "p.yaml:2:12: 'attention: mt' is for clusters of DSPs; on platform 'gpus', which is of "
         "kind 'gpu', it must be 'flash' or 'unfused'"},
        {"mode: colocated\nfusion: on\n",
         "p.yaml:2:9: 'fusion: on' is for clusters of DSPs; on platform 'gpus', which is of kind "
         "'gpu', it must be 'off'"},
        {"mode: colocated\noperators: reference\n",
         "p.yaml:2:12: 'operators: reference' is for clusters of DSPs; on platform 'gpus', which "
         "is "
         "of kind 'gpu', it must be 'optimised'"},
        {"mode: colocated\ngrain: operator\n",
         "p.yaml:2:8: 'grain: operator' is for clusters of DSPs; on platform 'gpus', which is of "
         "kind 'gpu', it must be 'step'"},
    };
    Platform platform = small_gpus();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(Setting) setting = setting_on(cases[i].policy, &llama_2_7b, &platform);
        g_assert_null(setting.plan);
        g_assert_cmpstr(setting.error->message, ==, cases[i].message);
    }
}

/* More ranks than KV heads: each head lies on several GPUs, whole. Clusters of the MT-3000 refuse.
 */
static void gpus_may_share_kv_heads(void) {
    static const Model grouped = {.name = "grouped",
                                  .hidden = 4096,
                                  .layers = 32,
                                  .heads = 32,
                                  .kv_heads = 2,
                                  .head_dim = 128,
                                  .ffn = 14336,
                                  .vocab = 32000,
                                  .max_context = 4096,
                                  .data_type = DATA_TYPE_FP16};
    Platform platform = small_gpus();
    g_auto(Setting) shared = setting_on(GPU_POLICY "colocated: {tp: 8}\n", &grouped, &platform);
    g_assert_no_error(shared.error);
    const ReplicaPlan *replica = &shared.plan->replicas[0];
    double room = replica->stages[0].bill.kv, token_bytes = 32 * 2 * 128 * 2; /* of one head */
    g_assert_cmpuint(replica->kv_tokens, ==, (guint64)(room / token_bytes));
    g_auto(Setting) cached =
        setting_on(GPU_POLICY "colocated: {tp: 8, prefix_cache: lru, prefix_cache_bytes: 1 GB}\n",
                   &grouped, &platform);
    g_assert_no_error(cached.error);
    g_assert_cmpfloat(cached.plan->replicas[0].stages[0].bill.prefix_cache, ==, 0.5e9);
    platform.cluster.ddr_usable_bytes = 2e9;
    g_auto(Setting) tight = setting_on(GPU_POLICY "colocated: {tp: 4}\n", &grouped, &platform);
    g_assert_true(g_str_has_suffix(tight.error->message, "smallest that fits: tp=8 pp=1; 'offload: "
                                                         "host' would stream its layers"));
    g_auto(Setting) clusters =
        setting_on("mode: colocated\ncolocated: {tp: 4}\n", &grouped, &machine);
    g_assert_cmpstr(clusters.error->message, ==,
                    "p.yaml:2:17: tp 4 does not divide the 2 KV heads of model 'grouped'; the next "
                    "smaller that works is 2");
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/weight_stream/weights_that_fit_rest", weights_that_fit_rest);
    g_test_add_func("/weight_stream/weights_that_do_not_fit_are_streamed_layer_by_layer",
                    weights_that_do_not_fit_are_streamed_layer_by_layer);
    for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
        g_autofree char *path = g_strconcat("/weight_stream/rate/", rates[i].name, NULL);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), streams_go_at_the_rate_of_their_tier);
    }
    g_test_add_func("/weight_stream/a_disk_serves_the_stages_that_compute",
                    a_disk_serves_the_stages_that_compute);
    g_test_add_func("/weight_stream/clusters_stream_too", clusters_stream_too);
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *path = g_strconcat("/weight_stream/refused/", refused[i].name, NULL);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), is_refused);
    }
    g_test_add_func("/weight_stream/a_host_must_be_known", a_host_must_be_known);
    g_test_add_func("/weight_stream/gpus_do_not_run_what_is_made_for_dsps",
                    gpus_do_not_run_what_is_made_for_dsps);
    g_test_add_func("/weight_stream/gpus_may_share_kv_heads", gpus_may_share_kv_heads);
    return g_test_run();
}
