#include "policies/policy.h"

#include <string.h>

#define GB 1e9

static Policy *read_text_on(DeviceKind kind, const char *text, GError **error) {
    g_autoptr(YamlNode) section = yaml_load_text(text, "p.yaml", error);
    return section != NULL ? policy_read(section, kind, error) : NULL;
}

static Policy *read_text(const char *text, GError **error) {
    return read_text_on(DEVICE_MT3000, text, error);
}

static void pbd_defaults(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) policy = read_text("mode: pbd", &error);
    g_assert_no_error(error);
    g_assert_cmpint(policy->mode, ==, MODE_PBD);
    g_assert_cmpuint(policy->pools, ==, 1);
    g_assert_cmpint(policy->placement, ==, PLACEMENT_PACKED);
    g_assert_cmpint(policy->grain, ==, GRAIN_STEP);
    g_assert_cmpuint(policy->max_context, ==, 0);
    g_assert_cmpint(policy->kv_reservation, ==, KV_RESERVE_OUTPUT);
    g_assert_cmpint(policy->kv_formula, ==, KV_FORMULA_EXACT);
    g_assert_cmpfloat(policy->overhead_bytes, ==, 0.1 * GB);
    g_assert_cmpint(policy->routing, ==, ROUTING_LEAST_LOADED);
    g_assert_cmpint(policy->admission, ==, ADMISSION_FCFS);
    g_assert_cmpint(policy->operators, ==, OPERATORS_OPTIMISED);
    g_assert_cmpint(policy->fusion, ==, FUSION_ON);
    g_assert_cmpint(policy->attention, ==, ATTENTION_POLICY_MT);
    g_assert_cmpint(policy->launch, ==, LAUNCH_UNIFIED);
    g_assert_cmpuint(policy->prefill.dp, ==, 1);
    g_assert_cmpuint(policy->prefill.pp, ==, 1);
    g_assert_cmpuint(policy->prefill.micro_batch, ==, 1);
    g_assert_cmpuint(policy->prefill.chunk_tokens, ==, 0);
    g_assert_cmpint(policy->prefill.prefix_cache, ==, PREFIX_CACHE_OFF);
    g_assert_cmpuint(policy->buffer.clusters, ==, 1);
    g_assert_cmpint(policy->buffer.backpressure, ==, BACKPRESSURE_WATERMARK);
    g_assert_cmpfloat(policy->buffer.high_watermark, ==, 0.9);
    g_assert_cmpfloat(policy->buffer.low_watermark, ==, 0.7);
    g_assert_cmpuint(policy->decode.tp, ==, 1);
    g_assert_cmpuint(policy->decode.pp, ==, 1);
    g_assert_cmpuint(policy->decode.dp, ==, 1);
    g_assert_cmpuint(policy->decode.slots, ==, 8);
    g_assert_cmpint(policy->decode.batching, ==, BATCHING_CONTINUOUS);
    g_assert_cmpuint(policy->decode.chunk_tokens, ==, 0);
}

static void colocated_reads_into_decode(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) policy = read_text("mode: colocated\n"
                                         "admission: shortest_prompt\n"
                                         "routing: round_robin\n"
                                         "overhead: 256 MiB\n"
                                         "colocated:\n"
                                         "  tp: 4\n"
                                         "  pp: 2\n"
                                         "  dp: 3\n"
                                         "  slots: 64\n"
                                         "  chunk_tokens: 512\n"
                                         "  prefix_cache: lru\n"
                                         "  prefix_cache_bytes: 2 GB\n",
                                         &error);
    g_assert_no_error(error);
    g_assert_cmpint(policy->mode, ==, MODE_COLOCATED);
    g_assert_cmpint(policy->admission, ==, ADMISSION_SHORTEST_PROMPT);
    g_assert_cmpint(policy->routing, ==, ROUTING_ROUND_ROBIN);
    g_assert_cmpfloat(policy->overhead_bytes, ==, 256.0 * 1024 * 1024);
    g_assert_cmpuint(policy->decode.tp, ==, 4);
    g_assert_cmpuint(policy->decode.pp, ==, 2);
    g_assert_cmpuint(policy->decode.dp, ==, 3);
    g_assert_cmpuint(policy->decode.slots, ==, 64);
    g_assert_cmpint(policy->decode.batching, ==, BATCHING_CONTINUOUS);
    g_assert_cmpuint(policy->decode.chunk_tokens, ==, 512);
    g_assert_cmpuint(policy->decode.max_batch_tokens, ==, 8192);
    g_assert_cmpint(policy->decode.prefix_cache, ==, PREFIX_CACHE_LRU);
    g_assert_cmpfloat(policy->decode.prefix_cache_bytes, ==, 2 * GB);
    g_assert_cmpuint(policy->buffer.clusters, ==, 0);
    g_assert_cmpuint(policy->prefill.dp, ==, 0);
}

static void static_is_synchronous(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) fixed = read_text("{mode: colocated, colocated: {batching: static}}", &error);
    g_assert_no_error(error);
    g_assert_cmpint(fixed->decode.batching, ==, BATCHING_SYNCHRONOUS);
    g_autoptr(Policy) paper = read_text("{mode: pbd, decode: {batching: synchronous}}", &error);
    g_assert_no_error(error);
    g_assert_cmpint(paper->decode.batching, ==, BATCHING_SYNCHRONOUS);
}

static void the_switches_of_the_operators_are_read(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) policy =
        read_text("{mode: pbd, operators: reference, fusion: off, attention: flash, "
                  "launch: per_operator}",
                  &error);
    g_assert_no_error(error);
    g_assert_cmpint(policy->operators, ==, OPERATORS_REFERENCE);
    g_assert_cmpint(policy->fusion, ==, FUSION_OFF);
    g_assert_cmpint(policy->attention, ==, ATTENTION_POLICY_FLASH);
    g_assert_cmpint(policy->launch, ==, LAUNCH_PER_OPERATOR);
}

/* Left out, they are what runs there; written, they are what is written. */
static void kernels_default_to_what_they_run_on(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) left_out = read_text_on(DEVICE_GPU, "mode: pbd", &error);
    g_assert_no_error(error);
    g_assert_cmpint(left_out->fusion, ==, FUSION_OFF);
    g_assert_cmpint(left_out->attention, ==, ATTENTION_POLICY_FLASH);
    g_assert_cmpint(left_out->launch, ==, LAUNCH_PER_OPERATOR);
    g_assert_cmpint(left_out->operators, ==, OPERATORS_OPTIMISED);
    g_autoptr(Policy) written = read_text_on(
        DEVICE_GPU, "{mode: pbd, fusion: on, attention: unfused, launch: unified}", &error);
    g_assert_no_error(error);
    g_assert_cmpint(written->fusion, ==, FUSION_ON);
    g_assert_cmpint(written->attention, ==, ATTENTION_POLICY_UNFUSED);
    g_assert_cmpint(written->launch, ==, LAUNCH_UNIFIED);
    g_autoptr(Policy) dsps = read_text("mode: pbd", &error);
    g_assert_no_error(error);
    g_assert_cmpint(dsps->fusion, ==, FUSION_ON);
    g_assert_cmpint(dsps->attention, ==, ATTENTION_POLICY_MT);
    g_assert_cmpint(dsps->launch, ==, LAUNCH_UNIFIED);
}

static void what_frameworks_do_is_read_and_left_out_when_they_do_not(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) policy = read_text(
        "{mode: colocated, kv_cache: concat, layer_overhead: 120 us, offload: disk, "
        "host_transfer: pageable, staging_copies: 2, colocated: {pp: 4, micro_batches: 1}}",
        &error);
    g_assert_no_error(error);
    g_assert_cmpint(policy->kv_cache, ==, KV_CACHE_CONCAT);
    g_assert_cmpfloat_with_epsilon(policy->layer_overhead_s, 120e-6, 1e-18);
    g_assert_cmpint(policy->offload, ==, OFFLOAD_DISK);
    g_assert_cmpint(policy->host_transfer, ==, HOST_TRANSFER_PAGEABLE);
    g_assert_cmpuint(policy->staging_copies, ==, 2);
    g_assert_cmpuint(policy_micro_batches(&policy->decode, 4), ==, 1);

    g_autoptr(Policy) plain = read_text("{mode: colocated, colocated: {pp: 4}}", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(policy_micro_batches(&plain->decode, 4), ==, 4);
    g_autoptr(GString) printed = g_string_new(NULL);
    policy_write(plain, 0, printed);
    static const char *const keys[] = {"kv_cache",      "layer_overhead", "offload",
                                       "host_transfer", "staging_copies", "micro_batches"};
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        g_assert_null(strstr(printed->str, keys[i]));
}

static void a_wafer_is_a_replica_with_one_slot(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) policy = read_text("mode: wafer", &error);
    g_assert_no_error(error);
    g_assert_cmpint(policy->mode, ==, MODE_WAFER);
    g_assert_cmpuint(policy->wafer.prefill_grid, ==, 0); /* auto */
    g_assert_cmpuint(policy->wafer.decode_grid, ==, 0);
    g_assert_cmpint(policy->wafer.system, ==, WAFER_WAFERLLM);
    g_assert_cmpint(policy->wafer.kv, ==, KV_SHIFT);
    g_assert_cmpuint(policy->wafer.k_tree, ==, 2);
    g_assert_cmpuint(policy->wafer.dp, ==, 0); /* all */
    g_assert_cmpuint(policy->decode.tp, ==, 1);
    g_assert_cmpuint(policy->decode.pp, ==, 1);
    g_assert_cmpuint(policy->decode.slots, ==, 1);
    g_assert_cmpint(policy->decode.batching, ==, BATCHING_CONTINUOUS);
    g_assert_cmpint(policy->grain, ==, GRAIN_STEP);
}

static void a_wafer_s_grids_are_read(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) policy =
        read_text("{mode: wafer, routing: round_robin, wafer: {prefill_grid: 660, decode_grid: "
                  "auto, regions: 5, system: t10, kv: concat, k_tree: 3, dp: 4}}",
                  &error);
    g_assert_no_error(error);
    g_assert_cmpuint(policy->wafer.prefill_grid, ==, 660);
    g_assert_cmpuint(policy->wafer.decode_grid, ==, 0);
    g_assert_cmpuint(policy->wafer.regions, ==, 5);
    g_assert_cmpint(policy->wafer.system, ==, WAFER_T10);
    g_assert_cmpint(policy->wafer.kv, ==, KV_CONCAT);
    g_assert_cmpuint(policy->wafer.k_tree, ==, 3);
    g_assert_cmpuint(policy->wafer.dp, ==, 4);
    g_assert_cmpuint(policy->decode.dp, ==, 4);
    g_assert_cmpint(policy->routing, ==, ROUTING_ROUND_ROBIN);
}

static char *write_text(const Policy *policy) {
    GString *out = g_string_new(NULL);
    policy_write(policy, 0, out);
    return g_string_free(out, FALSE);
}

static void what_is_written_reads_back_the_same(void) {
    static const char *const texts[] = {
        "mode: pbd",
        "mode: colocated",
        "{mode: pbd, operators: reference, fusion: off, attention: unfused, launch: per_operator}",
        "{mode: pbd, buffer: {high_watermark: 0.8, low_watermark: 0.8}}",
        "{mode: colocated, pools: 2, colocated: {batching: static, slots: 3}}",
        "{mode: pbd, kv_reservation: on_demand, kv_formula: paper, placement: spread, "
        "grain: operator, max_context: 2048, overhead: 1.5 GiB, "
        "prefill: {chunk_tokens: 256, prefix_cache: lru, prefix_cache_bytes: 3 GB}, "
        "buffer: {clusters: 3, backpressure: off, high_watermark: 0.5, low_watermark: 0.25}, "
        "decode: {tp: 2, pp: 3, dp: 4, slots: 5}}",
        "mode: wafer",
        "{mode: wafer, pools: 2, max_context: 4096, kv_reservation: max_context, wafer: "
        "{prefill_grid: 660, decode_grid: auto, system: ladder, kv: concat, k_tree: 4, dp: 3}}",
    };
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Policy) first = read_text(texts[i], &error);
        g_assert_no_error(error);
        g_autofree char *written = write_text(first);
        g_autoptr(Policy) second = read_text(written, &error);
        g_assert_no_error(error);
        g_autofree char *again = write_text(second);
        g_assert_cmpstr(again, ==, written);
        g_assert_cmpmem(first, sizeof *first, second, sizeof *second);
    }
}

typedef struct BadText {
    const char *name, *text, *message;
    InputErrorCode code;
} BadText;

static const BadText bad_texts[] = {
    {"not_a_mapping", "pbd", "p.yaml:1:1: expected a mapping, not 'pbd'", INPUT_ERROR_VALUE},
    {"no_mode", "pools: 2", "p.yaml:1:1: missing key 'mode'", INPUT_ERROR_MISSING},
    {"no_mode_beside_colocated", "colocated: {tp: 2}", "p.yaml:1:1: missing key 'mode'",
     INPUT_ERROR_MISSING},
    {"mode_misspelt", "mod: pbd", "p.yaml:1:1: unknown key 'mod' (did you mean 'mode'?)",
     INPUT_ERROR_UNKNOWN},
    {"mode_unknown", "mode: pdb",
     "p.yaml:1:7: unknown mode 'pdb' (did you mean 'pbd'?); expected 'pbd', 'colocated' or "
     "'wafer'",
     INPUT_ERROR_UNKNOWN},
    {"buffer_in_colocated", "mode: colocated\nbuffer:\n  clusters: 2",
     "p.yaml:2:1: 'buffer' belongs to mode 'pbd', and this is 'colocated'", INPUT_ERROR_CONFLICT},
    {"prefill_in_colocated", "mode: colocated\nprefill: {}",
     "p.yaml:2:1: 'prefill' belongs to mode 'pbd', and this is 'colocated'", INPUT_ERROR_CONFLICT},
    {"decode_in_colocated", "decode: {tp: 2}\nmode: colocated",
     "p.yaml:1:1: 'decode' belongs to mode 'pbd', and this is 'colocated'", INPUT_ERROR_CONFLICT},
    {"colocated_in_pbd", "mode: pbd\ncolocated: {tp: 2}",
     "p.yaml:2:1: 'colocated' belongs to mode 'colocated', and this is 'pbd'",
     INPUT_ERROR_CONFLICT},
    {"wafer_in_colocated", "mode: colocated\nwafer: {}",
     "p.yaml:2:1: 'wafer' belongs to mode 'wafer', and this is 'colocated'", INPUT_ERROR_CONFLICT},
    {"decode_in_wafer", "mode: wafer\ndecode: {tp: 2}",
     "p.yaml:2:1: 'decode' belongs to mode 'pbd', and this is 'wafer'", INPUT_ERROR_CONFLICT},
    {"no_mode_beside_wafer", "wafer: {dp: 2}", "p.yaml:1:1: missing key 'mode'",
     INPUT_ERROR_MISSING},
    {"fusion_in_wafer", "mode: wafer\nfusion: off",
     "p.yaml:2:1: 'fusion' is about clusters, and in mode 'wafer' there are none",
     INPUT_ERROR_CONFLICT},
    {"grid_misspelt", "mode: wafer\nwafer: {prefil_grid: 660}",
     "p.yaml:2:9: unknown key 'prefil_grid' (did you mean 'prefill_grid'?)", INPUT_ERROR_UNKNOWN},
    {"grid_atuo", "mode: wafer\nwafer: {decode_grid: atuo}",
     "p.yaml:2:22: expected 'auto' or a whole number for 'decode_grid', not 'atuo' (did you mean "
     "'auto'?)",
     INPUT_ERROR_VALUE},
    {"grid_half", "mode: wafer\nwafer: {decode_grid: 359.5}",
     "p.yaml:2:22: expected 'auto' or a whole number for 'decode_grid', not '359.5'",
     INPUT_ERROR_VALUE},
    {"grid_list", "mode: wafer\nwafer: {decode_grid: [360]}",
     "p.yaml:2:22: expected 'auto' or a whole number for 'decode_grid', not a sequence",
     INPUT_ERROR_VALUE},
    {"grid_of_two", "mode: wafer\nwafer: {prefill_grid: 2}",
     "p.yaml:2:23: 'prefill_grid' must lie between 3 and 10000, not 2", INPUT_ERROR_VALUE},
    {"no_wafers", "mode: wafer\nwafer: {dp: 0}",
     "p.yaml:2:13: 'dp' must lie between 1 and 1000000, not 0", INPUT_ERROR_VALUE},
    {"no_k", "mode: wafer\nwafer: {k_tree: 0}",
     "p.yaml:2:17: 'k_tree' must lie between 1 and 64, not 0", INPUT_ERROR_VALUE},
    {"system_misspelt", "mode: wafer\nwafer: {system: waferlm}",
     "p.yaml:2:17: unknown system 'waferlm' (did you mean 'waferllm'?); expected 'waferllm', "
     "'t10' or 'ladder'",
     INPUT_ERROR_UNKNOWN},
    {"no_pool", "mode: pbd\npools: 0", "p.yaml:2:8: 'pools' must lie between 1 and 1000000, not 0",
     INPUT_ERROR_VALUE},
    {"no_tp", "mode: pbd\ndecode:\n  tp: 0", "p.yaml:3:7: 'tp' must lie between 1 and 4096, not 0",
     INPUT_ERROR_VALUE},
    {"no_pp", "mode: pbd\nprefill: {pp: 0}", "p.yaml:2:15: 'pp' must lie between 1 and 4096, not 0",
     INPUT_ERROR_VALUE},
    {"no_buffer", "mode: pbd\nbuffer: {clusters: 0}",
     "p.yaml:2:20: 'clusters' must lie between 1 and 1000000, not 0", INPUT_ERROR_VALUE},
    {"chunks_belong_to_colocated", "mode: pbd\ndecode: {chunk_tokens: 256}",
     "p.yaml:2:10: unknown key 'chunk_tokens'", INPUT_ERROR_UNKNOWN},
    {"routing_misspelt", "mode: pbd\nrouting: least_loadd",
     "p.yaml:2:10: unknown routing 'least_loadd' (did you mean 'least_loaded'?); expected "
     "'round_robin', 'least_loaded' or 'shortest_queue'",
     INPUT_ERROR_UNKNOWN},
    {"launch_with_a_dash", "mode: pbd\nlaunch: per-operator",
     "p.yaml:2:9: unknown launch 'per-operator' (did you mean 'per_operator'?); expected "
     "'per_operator' or 'unified'",
     INPUT_ERROR_UNKNOWN},
    {"fusion_true", "mode: pbd\nfusion: true",
     "p.yaml:2:9: unknown fusion 'true'; expected 'off' or 'on'", INPUT_ERROR_UNKNOWN},
    {"static_in_pbd", "mode: pbd\ndecode: {batching: static}",
     "p.yaml:2:20: unknown batching 'static'; expected 'synchronous' or 'continuous'",
     INPUT_ERROR_UNKNOWN},
    {"overhead_without_unit", "mode: pbd\noverhead: 0.1",
     "p.yaml:2:11: expected a size such as '16 GiB' for 'overhead', not '0.1'", INPUT_ERROR_VALUE},
    {"watermark_over_one", "mode: pbd\nbuffer: {high_watermark: 1.5}",
     "p.yaml:2:26: 'high_watermark' must be above 0 and at most 1, not 1.5", INPUT_ERROR_VALUE},
    {"watermark_zero", "mode: pbd\nbuffer: {high_watermark: 0}",
     "p.yaml:2:26: 'high_watermark' must be above 0 and at most 1, not 0", INPUT_ERROR_VALUE},
    {"low_over_high", "mode: pbd\nbuffer: {high_watermark: 0.5, low_watermark: 0.6}",
     "p.yaml:2:46: 'low_watermark' 0.6 exceeds 'high_watermark' 0.5", INPUT_ERROR_CONFLICT},
    {"high_under_default_low", "mode: pbd\nbuffer: {high_watermark: 0.5}",
     "p.yaml:2:26: 'low_watermark' 0.7 exceeds 'high_watermark' 0.5", INPUT_ERROR_CONFLICT},
    {"cache_without_bytes", "mode: pbd\nprefill: {prefix_cache: lru}",
     "p.yaml:2:25: 'prefix_cache: lru' needs 'prefix_cache_bytes' above 0", INPUT_ERROR_CONFLICT},
    {"bytes_without_cache", "mode: pbd\nprefill: {prefix_cache_bytes: 1 GB}",
     "p.yaml:2:31: 'prefix_cache_bytes' needs 'prefix_cache: lru'", INPUT_ERROR_CONFLICT},
    {"colocated_cache_without_bytes",
     "mode: colocated\ncolocated: {prefix_cache: lru, prefix_cache_bytes: 0 B}",
     "p.yaml:2:27: 'prefix_cache: lru' needs 'prefix_cache_bytes' above 0", INPUT_ERROR_CONFLICT},
    {"on_demand_and_synchronous",
     "mode: pbd\nkv_reservation: on_demand\ndecode: {batching: synchronous}",
     "p.yaml:2:17: 'kv_reservation: on_demand' needs 'decode.batching: continuous': a batch that "
     "runs to its end has no place for a preempted request",
     INPUT_ERROR_CONFLICT},
    {"on_demand_and_static",
     "mode: colocated\nkv_reservation: on_demand\ncolocated: {batching: static}",
     "p.yaml:2:17: 'kv_reservation: on_demand' needs 'colocated.batching: continuous': a batch "
     "that runs to its end has no place for a preempted request",
     INPUT_ERROR_CONFLICT},
    {"kv_cache_misspelt", "mode: pbd\nkv_cache: conact",
     "p.yaml:2:11: unknown kv_cache 'conact' (did you mean 'concat'?); expected 'in_place' or "
     "'concat'",
     INPUT_ERROR_UNKNOWN},
    {"offload_misspelt", "mode: pbd\nofload: host",
     "p.yaml:2:1: unknown key 'ofload' (did you mean 'offload'?)", INPUT_ERROR_UNKNOWN},
    {"overhead_of_a_layer_in_bytes", "mode: pbd\nlayer_overhead: 1 kB",
     "p.yaml:2:17: expected a duration such as '2 ms' for 'layer_overhead', not '1 kB'",
     INPUT_ERROR_VALUE},
    {"overhead_of_a_layer_negative", "mode: pbd\nlayer_overhead: -1 us",
     "p.yaml:2:17: 'layer_overhead' must lie between 0 s and 1 h, not -1 us", INPUT_ERROR_VALUE},
    {"micro_batches_beyond_pp", "mode: colocated\ncolocated: {pp: 2, micro_batches: 3}",
     "p.yaml:2:35: micro_batches 3 exceeds the 2 stages ('pp') that they travel through",
     INPUT_ERROR_CONFLICT},
    {"micro_batches_without_stages", "mode: colocated\ncolocated: {micro_batches: 2}",
     "p.yaml:2:28: micro_batches 2 exceeds the 1 stage ('pp') that they travel through",
     INPUT_ERROR_CONFLICT},
    {"micro_batches_of_decode", "mode: pbd\ndecode: {pp: 2, micro_batches: 1}",
     "p.yaml:2:17: unknown key 'micro_batches'", INPUT_ERROR_UNKNOWN},
    {"concat_operator_by_operator", "mode: pbd\ngrain: operator\nkv_cache: concat",
     "p.yaml:3:11: 'kv_cache' needs 'grain: step': at grain 'operator' nothing but kernels and "
     "transfers between them takes time",
     INPUT_ERROR_CONFLICT},
    {"offload_on_wafers", "mode: wafer\noffload: host",
     "p.yaml:2:1: 'offload' is about clusters, and in mode 'wafer' there are none",
     INPUT_ERROR_CONFLICT},
    {"chunks_and_static", "mode: colocated\ncolocated: {batching: static, chunk_tokens: 256}",
     "p.yaml:2:45: 'chunk_tokens' needs 'colocated.batching: continuous': a static batch never "
     "mixes prompts with decoding",
     INPUT_ERROR_CONFLICT},
};

static void is_refused(gconstpointer data) {
    const BadText *row = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(Policy) policy = read_text(row->text, &error);
    g_assert_null(policy);
    g_assert_error(error, INPUT_ERROR, (gint)row->code);
    g_assert_cmpstr(error->message, ==, row->message);
}

static void a_place_is_the_nearest_thing_written(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_text("mode: pbd\ndecode: {tp: 2}", "p.yaml", &error);
    g_assert_no_error(error);
    const YamlNode *decode = yaml_get(section, "decode");
    g_assert_true(policy_place(section, NULL, NULL) == section);
    g_assert_true(policy_place(section, "decode", NULL) == decode);
    g_assert_true(policy_place(section, "decode", "tp") == yaml_get(decode, "tp"));
    g_assert_true(policy_place(section, "decode", "pp") == decode);
    g_assert_true(policy_place(section, "prefill", "tp") == section);
    g_assert_true(policy_place(section, "mode", NULL) == yaml_get(section, "mode"));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy_read/pbd_defaults", pbd_defaults);
    g_test_add_func("/policy_read/colocated_reads_into_decode", colocated_reads_into_decode);
    g_test_add_func("/policy_read/static_is_synchronous", static_is_synchronous);
    g_test_add_func("/policy_read/the_switches_of_the_operators_are_read",
                    the_switches_of_the_operators_are_read);
    g_test_add_func("/policy_read/kernels_default_to_what_they_run_on",
                    kernels_default_to_what_they_run_on);
    g_test_add_func("/policy_read/what_frameworks_do_is_read_and_left_out_when_they_do_not",
                    what_frameworks_do_is_read_and_left_out_when_they_do_not);
    g_test_add_func("/policy_read/a_wafer_is_a_replica_with_one_slot",
                    a_wafer_is_a_replica_with_one_slot);
    g_test_add_func("/policy_read/a_wafer_s_grids_are_read", a_wafer_s_grids_are_read);
    g_test_add_func("/policy_read/what_is_written_reads_back_the_same",
                    what_is_written_reads_back_the_same);
    g_test_add_func("/policy_read/a_place_is_the_nearest_thing_written",
                    a_place_is_the_nearest_thing_written);
    for (guint i = 0; i < G_N_ELEMENTS(bad_texts); i++) {
        g_autofree char *path = g_strconcat("/policy_read/refused/", bad_texts[i].name, NULL);
        g_test_add_data_func(path, &bad_texts[i], is_refused);
    }
    return g_test_run();
}
