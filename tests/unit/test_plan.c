#include "tests/unit/plan_setting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Model llama_2_70b = {.name = "llama-2-70b",
                                  .hidden = 8192,
                                  .layers = 80,
                                  .heads = 64,
                                  .kv_heads = 8,
                                  .head_dim = 128,
                                  .ffn = 28672,
                                  .vocab = 32000,
                                  .max_context = 4096,
                                  .data_type = DATA_TYPE_FP16};
/* Everything that is odd at once: tied, biased, layers that no degree divides. */
static const Model odd = {.name = "odd",
                          .hidden = 64,
                          .layers = 7,
                          .heads = 8,
                          .kv_heads = 4,
                          .head_dim = 8,
                          .ffn = 160,
                          .vocab = 1000,
                          .max_context = 256,
                          .tied_embeddings = TRUE,
                          .qkv_bias = TRUE,
                          .data_type = DATA_TYPE_FP32};

/* Σ over stages of the weights of one rank. */
static double stages_weights(const Model *model, guint pp, guint tp) {
    double bytes = 0;
    guint first = 0;
    for (guint left = pp; left > 0; left--) {
        guint layers = ((guint)model->layers - first + left - 1) / left;
        bytes += plan_stage_weight_bytes(model, first, layers, tp);
        first += layers;
    }
    return bytes;
}

/* However it is cut, the stages together hold each parameter once; a tied table lies at both
 * ends. */
static void stages_hold_the_whole_model(void) {
    const Model *const models[] = {&llama_2_7b, &llama_2_70b, &odd};
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        const Model *model = models[i];
        double whole = (double)model_parameters(model) * data_type_bytes(model->data_type);
        double table =
            (double)model_embedding_parameters(model) * data_type_bytes(model->data_type);
        for (guint pp = 1; pp <= model->layers; pp++) {
            double twice = pp > 1 && model->tied_embeddings ? table : 0;
            g_assert_cmpfloat(stages_weights(model, pp, 1), ==, whole + twice);
        }
    }
}

/* All ranks together hold norms and biases once each, and every matrix once. */
static void ranks_replicate_norms_and_biases_only(void) {
    const Model *const models[] = {&llama_2_7b, &llama_2_70b, &odd};
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        const Model *model = models[i];
        guint64 biases =
            model->qkv_bias ? (model->heads + 2 * model->kv_heads) * model->head_dim : 0;
        guint64 replicated = model->layers * (2 * model->hidden + biases) + model->hidden;
        for (guint tp = 1; tp <= 4; tp *= 2) {
            double whole = (double)model_parameters(model) + (double)((tp - 1) * replicated);
            g_assert_cmpfloat(tp * stages_weights(model, 1, tp), ==,
                              whole * data_type_bytes(model->data_type));
        }
    }
}

static void a_width_that_does_not_divide_is_rounded_up(void) {
    Model narrow = odd, wide = odd;
    narrow.ffn = 161;
    wide.ffn = 162;
    g_assert_cmpfloat(plan_stage_weight_bytes(&narrow, 1, 2, 2), ==,
                      plan_stage_weight_bytes(&wide, 1, 2, 2));
}

static void llama_2_7b_fits_one_cluster(void) {
    g_auto(Setting) setting = setting_of("mode: colocated", &llama_2_7b);
    const ReplicaPlan *replica = &setting.plan->replicas[0];
    const MemoryBill *bill = &replica->stages[0].bill;
    g_assert_cmpfloat(bill->weights, ==, 13476831232.0); /* 6,738,415,616 parameters */
    g_assert_cmpfloat(bill->usable, ==, 20e9);
    g_assert_cmpfloat(bill->overhead, ==, 0.1e9);
    g_assert_cmpfloat(bill->kv, ==, 20e9 - 13476831232.0 - 0.1e9);
    g_assert_cmpfloat(replica->kv_bytes_per_token, ==, 524288);
    g_assert_cmpuint(replica->kv_tokens, ==, 12251); /* 6,423,168,768 / 524,288 */
    g_assert_cmpuint(setting.plan->max_context, ==, 4096);
}

/* The capacity for every TP × PP: as many tokens as fit every stage, and one more would not. */
static void assert_capacity(const Model *model, const ReplicaPlan *replica) {
    gboolean tight = FALSE;
    guint next_layer = 0;
    for (guint i = 0; i < replica->n_stages; i++) {
        const StagePlan *stage = &replica->stages[i];
        g_assert_cmpuint(stage->first_layer, ==, next_layer);
        next_layer += stage->layers;
        double token = stage->layers * (double)model_kv_bytes_per_token_layer(model);
        double weights =
            plan_stage_weight_bytes(model, stage->first_layer, stage->layers, stage->tp);
        double room = stage->tp * (20e9 - weights - 0.1e9);
        g_assert_cmpfloat_with_epsilon(stage->tp * stage->bill.kv, room, 1);
        g_assert_cmpfloat((double)replica->kv_tokens * token, <=, room);
        tight = tight || (double)(replica->kv_tokens + 1) * token > room;
    }
    g_assert_true(tight);
    g_assert_cmpuint(next_layer, ==, model->layers);
}

static void capacity_follows_from_tp_and_pp(void) {
    guint64 last = 0;
    for (guint pp = 1; pp <= 4; pp *= 2) {
        for (guint tp = 1; tp <= 8; tp *= 2) {
            g_autofree char *text =
                g_strdup_printf("{mode: colocated, colocated: {tp: %u, pp: %u}}", tp, pp);
            g_auto(Setting) setting = setting_of(text, &llama_2_7b);
            assert_capacity(&llama_2_7b, &setting.plan->replicas[0]);
            g_assert_cmpuint(setting.plan->clusters_used, ==, tp * pp);
            if (pp == 1) /* twice the memory for the same weights: more than twice the room */
                g_assert_cmpuint(setting.plan->replicas[0].kv_tokens, >, 2 * last);
            last = setting.plan->replicas[0].kv_tokens;
        }
    }
}

static void uneven_layers_go_to_the_first_stages(void) {
    g_auto(Setting) setting = setting_of("{mode: colocated, colocated: {pp: 5}}", &odd);
    const guint layers[] = {2, 2, 1, 1, 1}, first[] = {0, 2, 4, 5, 6};
    for (guint i = 0; i < 5; i++) {
        g_assert_cmpuint(setting.plan->replicas[0].stages[i].layers, ==, layers[i]);
        g_assert_cmpuint(setting.plan->replicas[0].stages[i].first_layer, ==, first[i]);
    }
    assert_capacity(&odd, &setting.plan->replicas[0]);
    g_auto(Setting) seven = setting_of("{mode: colocated, colocated: {pp: 3}}", &llama_2_7b);
    g_assert_cmpuint(seven.plan->replicas[0].stages[0].layers, ==, 11);
    g_assert_cmpuint(seven.plan->replicas[0].stages[2].layers, ==, 10);
    assert_capacity(&llama_2_7b, &seven.plan->replicas[0]);
}

/* Eq. 13: KV of one layer while whole prompts pass; of all the stage's layers when it stays. */
static void prefill_asks_by_what_must_stay(void) {
    static const struct {
        const char *prefill;
        double layers, requests;
    } rows[] = {{"{micro_batch: 3}", 1, 3},
                {"{micro_batch: 1, pp: 2}", 1, 1},
                {"{micro_batch: 2, chunk_tokens: 512}", 32, 2},
                {"{pp: 2, chunk_tokens: 512}", 16, 1},
                {"{pp: 4, prefix_cache: lru, prefix_cache_bytes: 8 GB}", 8, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strdup_printf("{mode: pbd, prefill: %s}", rows[i].prefill);
        g_auto(Setting) setting = setting_of(text, &llama_2_7b);
        const MemoryBill *bill = &setting.plan->replicas[0].stages[0].bill;
        g_assert_cmpint(setting.plan->replicas[0].role, ==, ROLE_PREFILL);
        g_assert_cmpfloat(bill->kv, ==, rows[i].requests * 4096 * 16384 * rows[i].layers);
        double cache = setting.policy->prefill.prefix_cache_bytes;
        g_assert_cmpfloat(bill->prefix_cache, ==, cache * rows[i].layers / 32);
        g_assert_cmpuint(setting.plan->replicas[0].kv_tokens, ==, 0);
    }
}

/* Eq. 12, 14: Model_size / (TP · PP). Eq. 13, 15: D_emb is the hidden width, so that 70B's KV is
 * eight times as large as its eight KV heads make it. */
static void the_paper_s_formulas_are_as_printed(void) {
    g_auto(Setting) setting = setting_of("{mode: pbd, kv_formula: paper, prefill: {pp: 8, "
                                         "micro_batch: 2}, decode: {tp: 8, pp: 2}}",
                                         &llama_2_70b);
    double size = 2.0 * 68976648192.0;
    const MemoryBill *prefill = &setting.plan->replicas[0].stages[7].bill;
    g_assert_cmpfloat(prefill->weights, ==, size / 8);
    g_assert_cmpfloat(prefill->kv, ==, 2.0 * 4096 * 2 * 2 * 8192);
    const ReplicaPlan *decode = &setting.plan->replicas[1];
    g_assert_cmpfloat(decode->stages[1].bill.weights, ==, size / 16);
    double room = 20e9 - size / 16 - 0.1e9;
    /* Eq. 15 for B_micro · S_max = tokens / PP: PP micro-batches are in flight. */
    double token = 2.0 * 2 * 8192 * 80 / 8 / 2;
    g_assert_cmpuint(decode->kv_tokens, ==, (guint64)floor(room / token));
    g_assert_cmpfloat(decode->kv_bytes_per_token, ==, 2.0 * 2 * 8 * 128 * 80);

    g_auto(Setting) exact =
        setting_of("{mode: colocated, colocated: {tp: 8, pp: 2}}", &llama_2_70b);
    double ratio = (double)exact.plan->replicas[0].kv_tokens / (double)decode->kv_tokens;
    g_assert_cmpfloat_with_epsilon(ratio, 8, 0.02);
}

static void a_prefix_cache_leaves_less_for_kv(void) {
    g_auto(Setting) with = setting_of("{mode: colocated, colocated: {tp: 2, pp: 2, prefix_cache: "
                                      "lru, prefix_cache_bytes: 4 GB}}",
                                      &llama_2_7b);
    g_auto(Setting) without =
        setting_of("{mode: colocated, colocated: {tp: 2, pp: 2}}", &llama_2_7b);
    const MemoryBill *bill = &with.plan->replicas[0].stages[1].bill;
    g_assert_cmpfloat(bill->prefix_cache, ==, 1e9);
    g_assert_cmpfloat(bill->kv, ==, without.plan->replicas[0].stages[1].bill.kv - 1e9);
    guint64 lost = without.plan->replicas[0].kv_tokens - with.plan->replicas[0].kv_tokens;
    g_assert_cmpuint(lost, ==, 7629); /* 4 GB of 524,288 bytes a token: 7629.4 */
}

static void max_context_reservation_asks_for_every_slot(void) {
    const char *text = "{mode: colocated, max_context: %d, kv_reservation: max_context, "
                       "colocated: {slots: 4, tp: 2, pp: 2}}";
    g_autofree char *fits = g_strdup_printf(text, 4096);
    g_auto(Setting) setting = setting_of(fits, &llama_2_7b);
    g_assert_cmpuint(setting.plan->replicas[0].kv_tokens, >=, 4 * 2 * 4096);
    g_autoptr(GString) more = g_string_new(fits);
    g_string_replace(more, "slots: 4", "slots: 32", 0);
    g_auto(Setting) refused = setting_on(more->str, &llama_2_7b, &machine);
    g_assert_error(refused.error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_nonnull(strstr(refused.error->message, "(64 × 4096 tokens)"));
}

/* Whatever the memory, the shape that a refusal names is planned, and none before it is. */
static void what_is_said_to_fit_does(void) {
    for (double usable = 6e9; usable < 60e9; usable += 3.1e9) {
        Platform platform = machine;
        platform.cluster.ddr_usable_bytes = usable;
        g_auto(Setting) tried = setting_on("mode: colocated", &llama_2_70b, &platform);
        g_assert_error(tried.error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
        const char *said = strstr(tried.error->message, "smallest that fits: ");
        g_assert_nonnull(said);
        guint tp, pp;
        g_assert_cmpint(sscanf(said, "smallest that fits: tp=%u pp=%u", &tp, &pp), ==, 2);
        for (guint stages = 1; stages <= 32; stages++) {
            for (guint ranks = 1; ranks <= 8 && ranks * stages <= tp * pp; ranks *= 2) {
                if (ranks * stages == tp * pp && stages > pp)
                    continue;
                g_autofree char *text = g_strdup_printf(
                    "{mode: colocated, colocated: {tp: %u, pp: %u}}", ranks, stages);
                g_auto(Setting) again = setting_on(text, &llama_2_70b, &platform);
                g_assert_cmpint(again.plan != NULL, ==, ranks == tp && stages == pp);
            }
        }
    }
}

typedef struct Refused {
    const char *name, *text;
    const Model *model;
    double usable_bytes;
    const char *message;
} Refused;

static const Refused refused[] = {
    {"context_over_the_model_s", "mode: pbd\nmax_context: 8192", &llama_2_7b, 20e9,
     "p.yaml:2:14: max_context 8192 exceeds the 4096 tokens of model 'llama-2-7b'"},
    {"tp_does_not_divide_heads", "mode: pbd\ndecode: {tp: 5}", &llama_2_7b, 20e9,
     "p.yaml:2:14: tp 5 does not divide the 32 heads of model 'llama-2-7b'; the next smaller that "
     "works is 4"},
    {"tp_over_kv_heads", "mode: colocated\ncolocated: {tp: 16}", &llama_2_70b, 20e9,
     "p.yaml:2:17: tp 16 does not divide the 8 KV heads of model 'llama-2-70b'; the next smaller "
     "that works is 8"},
    {"decode_stages_over_layers", "mode: pbd\ndecode: {pp: 33}", &llama_2_7b, 20e9,
     "p.yaml:2:14: pp 33 exceeds the 32 layers of model 'llama-2-7b'"},
    {"prefill_stages_over_layers", "mode: pbd\nprefill: {pp: 33}", &llama_2_7b, 20e9,
     "p.yaml:2:15: pp 33 exceeds the 32 layers of model 'llama-2-7b'"},
    {"too_many_clusters",
     "mode: pbd\npools: 3\nprefill: {dp: 2, pp: 2}\nbuffer: {clusters: 3}\ndecode: {tp: 2, pp: 2}",
     &llama_2_7b, 20e9,
     "p.yaml:1:1: the plan needs 33 clusters and platform 'toy' has 32: 3 × (prefill dp 2 · pp 2 + "
     "decode dp 1 · tp 2 · pp 2 + buffer 3)"},
    {"too_many_colocated", "mode: colocated\ncolocated: {dp: 9, tp: 4}", &llama_2_7b, 20e9,
     "p.yaml:1:1: the plan needs 36 clusters and platform 'toy' has 32: 1 × (colocated dp 9 · tp 4 "
     "· pp 1)"},
    {"cache_smaller_than_a_block",
     "mode: colocated\ncolocated: {prefix_cache: lru, prefix_cache_bytes: 100 MB}", &llama_2_7b,
     20e9,
     "p.yaml:2:52: prefix_cache_bytes 100 MB holds no block of 512 tokens, which takes 268.4 MB in "
     "model 'llama-2-7b'"},
    {"memory_70b_on_one", "mode: colocated\ncolocated: {slots: 2}", &llama_2_70b, 20e9,
     "p.yaml:2:12: colocated with tp=1 pp=1 does not fit: stage 0 asks for weights 138 GB + KV "
     "1.342 GB (1 × 4096 tokens) + overhead 0.1 GB = 139.4 GB of 20 GB usable per cluster; "
     "smallest that fits: tp=8 pp=1"},
    {"memory_decode", "mode: pbd\ndecode: {tp: 2, dp: 2}\nprefill: {pp: 8}", &llama_2_70b, 20e9,
     "p.yaml:2:9: decode with tp=2 pp=1 does not fit: stage 0 asks for weights 68.98 GB + KV "
     "0.6711 GB (1 × 4096 tokens) + overhead 0.1 GB = 69.75 GB of 20 GB usable per cluster; "
     "smallest that fits: tp=8 pp=1"},
    {"memory_prefill", "mode: pbd\ndecode: {tp: 8}", &llama_2_70b, 20e9,
     "p.yaml:1:1: prefill with pp=1 does not fit: stage 0 asks for weights 138 GB + KV 0.01678 GB "
     "(1 × 4096 tokens) + overhead 0.1 GB = 138.1 GB of 20 GB usable per cluster; smallest that "
     "fits: pp=8"},
    {"memory_prefix_cache",
     "mode: colocated\ncolocated: {prefix_cache: lru, prefix_cache_bytes: 6 GB}", &llama_2_7b, 20e9,
     "p.yaml:2:12: colocated with tp=1 pp=1 does not fit: stage 0 asks for weights 13.48 GB + KV "
     "2.147 GB (1 × 4096 tokens) + prefix cache 6 GB + overhead 0.1 GB = 21.72 GB of 20 GB usable "
     "per cluster; smallest that fits: tp=2 pp=1"},
    {"memory_shorter_context_would_fit", "mode: colocated\npools: 32", &llama_2_7b, 15e9,
     "p.yaml:1:1: colocated with tp=1 pp=1 does not fit: stage 0 asks for weights 13.48 GB + KV "
     "2.147 GB (1 × 4096 tokens) + overhead 0.1 GB = 15.72 GB of 15 GB usable per cluster; "
     "smallest that fits: none on this platform (policy.max_context ≤ 2714 would, with tp=1 "
     "pp=1)"},
    {"memory_no_clusters_left", "mode: pbd\ndecode: {tp: 4, dp: 4}\nprefill: {pp: 8}", &llama_2_70b,
     20e9,
     "p.yaml:2:9: decode with tp=4 pp=1 does not fit: stage 0 asks for weights 34.49 GB + KV "
     "0.3355 GB (1 × 4096 tokens) + overhead 0.1 GB = 34.93 GB of 20 GB usable per cluster; "
     "smallest that fits: none on this platform"},
    {"memory_hopeless", "mode: colocated", &llama_2_70b, 1e9,
     "p.yaml:1:1: colocated with tp=1 pp=1 does not fit: stage 0 asks for weights 138 GB + KV "
     "1.342 GB (1 × 4096 tokens) + overhead 0.1 GB = 139.4 GB of 1 GB usable per cluster; "
     "smallest that fits: none on this platform"},
};

static void is_refused(gconstpointer data) {
    const Refused *row = data;
    Platform platform = machine;
    platform.cluster.ddr_usable_bytes = row->usable_bytes;
    g_auto(Setting) setting = setting_on(row->text, row->model, &platform);
    g_assert_null(setting.plan);
    g_assert_error(setting.error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_cmpstr(setting.error->message, ==, row->message);
}

static void the_context_that_is_said_to_fit_does(void) {
    Platform platform = machine;
    platform.cluster.ddr_usable_bytes = 15e9;
    g_auto(Setting) most =
        setting_on("{mode: colocated, pools: 32, max_context: 2714}", &llama_2_7b, &platform);
    g_assert_no_error(most.error);
    g_auto(Setting) more =
        setting_on("{mode: colocated, pools: 32, max_context: 2715}", &llama_2_7b, &platform);
    g_assert_null(more.plan);
}

static char *comments(const Setting *setting, const Model *model) {
    GString *out = g_string_new(NULL);
    plan_write_comments(setting->plan, setting->policy, model, out);
    return g_string_free(out, FALSE);
}

static void the_bill_is_written_as_comments(void) {
    g_auto(Setting) pbd =
        setting_of("{mode: pbd, pools: 2, prefill: {dp: 2}, buffer: {clusters: 2}, decode: {tp: 2, "
                   "pp: 4}}",
                   &llama_2_7b);
    g_autofree char *text = comments(&pbd, &llama_2_7b);
    g_assert_cmpstr(
        text, ==,
        "# plan: 24 of 32 clusters in 2 pools; max_context 4096 tokens\n"
        "# kv_formula exact: D_emb = kv_heads * head_dim = 4096, 524288 bytes of KV a token\n"
        "# prefill: 2 replicas a pool, each with 1 stage\n"
        "#   stage 0: 32 layers on 1 cluster, each with weights 13.48 GB + KV 67.11 MB + overhead "
        "100 MB of 20 GB usable\n"
        "# buffer: 2 clusters a pool, room for KV 39.8 GB: 75912 tokens\n"
        "# decode: 1 replica a pool, each with 4 stages\n"
        "#   stage 0: 8 layers on 2 clusters, each with weights 1.75 GB + room for KV 18.15 GB + "
        "overhead 100 MB of 20 GB usable\n"
        "#   stages 1-2: 8 layers on 2 clusters, each with weights 1.619 GB + room for KV 18.28 GB "
        "+ overhead 100 MB of 20 GB usable\n"
        "#   stage 3: 8 layers on 2 clusters, each with weights 1.75 GB + room for KV 18.15 GB + "
        "overhead 100 MB of 20 GB usable\n"
        "#   KV capacity: 276943 tokens a replica, 276943 a pool; requests at max_context a "
        "replica: 67 (slots: 32)\n");
}

static void the_paper_s_formula_is_named(void) {
    g_auto(Setting) setting =
        setting_of("{mode: colocated, kv_formula: paper, colocated: {tp: 8}}", &llama_2_70b);
    g_autofree char *text = comments(&setting, &llama_2_70b);
    g_assert_cmpstr(text, ==,
                    "# plan: 8 of 32 clusters in 1 pool; max_context 4096 tokens\n"
                    "# kv_formula paper: D_emb = hidden = 8192, 2621440 bytes of KV a token\n"
                    "# colocated: 1 replica a pool, each with 1 stage\n"
                    "#   stage 0: 80 layers on 8 clusters, each with weights 17.24 GB + room for "
                    "KV 2.656 GB + overhead 100 MB of 20 GB usable\n"
                    "#   KV capacity: 8104 tokens a replica, 8104 a pool; requests at max_context "
                    "a replica: 1 (slots: 8)\n");
}

/* 70B in seven stages: even shares fit, 12 of its 80 layers would not. KV is that of its KV heads.
 */
static void even_shares_with_kv_heads(void) {
    g_auto(Setting) setting =
        setting_of("{mode: pbd, kv_formula: paper_kv_heads, prefill: {pp: 7}, "
                   "decode: {tp: 8, pp: 1}}",
                   &llama_2_70b);
    g_assert_cmpfloat(setting.plan->replicas[0].stages[0].bill.weights, ==,
                      2.0 * 68976648192.0 / 7);
    double room = 20e9 - 2.0 * 68976648192.0 / 8 - 0.1e9;
    g_assert_cmpuint(setting.plan->replicas[1].kv_tokens, ==,
                     (guint64)floor(room / (2.0 * 2 * 1024 * 80 / 8)));
    g_autofree char *text = comments(&setting, &llama_2_70b);
    g_assert_nonnull(strstr(text,
                            "# kv_formula paper_kv_heads: D_emb = kv_heads * head_dim = 1024, "
                            "327680 bytes of KV a token\n"));
}

int main(int argc, char **argv) {
    static const struct {
        const char *path;
        GTestFunc test;
    } tests[] = {
        {"/plan/weights/stages_hold_the_whole_model", stages_hold_the_whole_model},
        {"/plan/weights/ranks_replicate_norms_and_biases_only",
         ranks_replicate_norms_and_biases_only},
        {"/plan/weights/a_width_that_does_not_divide_is_rounded_up",
         a_width_that_does_not_divide_is_rounded_up},
        {"/plan/memory/llama_2_7b_fits_one_cluster", llama_2_7b_fits_one_cluster},
        {"/plan/memory/capacity_follows_from_tp_and_pp", capacity_follows_from_tp_and_pp},
        {"/plan/memory/uneven_layers_go_to_the_first_stages", uneven_layers_go_to_the_first_stages},
        {"/plan/memory/prefill_asks_by_what_must_stay", prefill_asks_by_what_must_stay},
        {"/plan/memory/the_paper_s_formulas_are_as_printed", the_paper_s_formulas_are_as_printed},
        {"/plan/memory/even_shares_with_kv_heads", even_shares_with_kv_heads},
        {"/plan/memory/a_prefix_cache_leaves_less_for_kv", a_prefix_cache_leaves_less_for_kv},
        {"/plan/memory/max_context_reservation_asks_for_every_slot",
         max_context_reservation_asks_for_every_slot},
        {"/plan/memory/what_is_said_to_fit_does", what_is_said_to_fit_does},
        {"/plan/memory/the_context_that_is_said_to_fit_does", the_context_that_is_said_to_fit_does},
        {"/plan/comments/the_bill_is_written_as_comments", the_bill_is_written_as_comments},
        {"/plan/comments/the_paper_s_formula_is_named", the_paper_s_formula_is_named},
    };
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].path, tests[i].test);
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *path = g_strconcat("/plan/refused/", refused[i].name, NULL);
        g_test_add_data_func(path, &refused[i], is_refused);
    }
    return g_test_run();
}
