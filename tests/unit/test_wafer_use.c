#include "policies/mesh/kv_ledger.h"
#include "policies/plan.h"

#include <math.h>
#include <string.h>

static const Model llama_3_8b = {.name = "llama-3-8b",
                                 .hidden = 4096,
                                 .layers = 32,
                                 .heads = 32,
                                 .kv_heads = 8,
                                 .head_dim = 128,
                                 .ffn = 14336,
                                 .vocab = 128256,
                                 .max_context = 8192,
                                 .data_type = DATA_TYPE_FP16};
static const Model llama_2_13b = {.name = "llama-2-13b",
                                  .hidden = 5120,
                                  .layers = 40,
                                  .heads = 40,
                                  .kv_heads = 40,
                                  .head_dim = 128,
                                  .ffn = 13824,
                                  .vocab = 32000,
                                  .max_context = 4096,
                                  .data_type = DATA_TYPE_FP16};

/* Four wafers of the size of a WSE-2. */
static const Platform wafers = {.name = "wse2",
                                .kind = DEVICE_WAFER,
                                .nodes = 4,
                                .processors_per_node = 1,
                                .clusters_per_processor = 1,
                                .mesh = {.columns = 750, .rows = 994, .usable_bytes = 44976}};
static const Platform clusters = {.name = "toy",
                                  .nodes = 2,
                                  .processors_per_node = 4,
                                  .clusters_per_processor = 4,
                                  .cluster = {.ddr_usable_bytes = 20e9}};

typedef struct Planned {
    Plan *plan;
    GError *error;
} Planned;

static void planned_clear(Planned *planned) {
    g_clear_pointer(&planned->plan, plan_free);
    g_clear_error(&planned->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Planned, planned_clear)

static Planned plan_of(const char *text, const Model *model, const Platform *platform) {
    Planned planned = {0};
    g_autoptr(YamlNode) section = yaml_load_text(text, "p.yaml", &planned.error);
    g_assert_no_error(planned.error);
    g_autoptr(Policy) policy = policy_read(section, platform->kind, &planned.error);
    g_assert_no_error(planned.error);
    planned.plan = plan_new(policy, model, platform, section, &planned.error);
    return planned;
}

/* 12² + 12·3·2 + 12² + 3·12·40 elements and two norms of 12 in a layer; 11 layers in the fullest of
 * three regions, and 2 · 3 elements a token in each of them. */
static void a_core_holds_its_tiles(void) {
    g_auto(Planned) planned = plan_of("{mode: wafer, wafer: {prefill_grid: 660, decode_grid: 360}}",
                                      &llama_3_8b, &wafers);
    g_assert_no_error(planned.error);
    const WaferUse *use = &planned.plan->wafer;
    double layer = 2 * (144 + 72 + 144 + 3 * 480 + 24);
    g_assert_cmpuint(use->spec.regions, ==, 3);
    g_assert_cmpfloat(use->weight_bytes, ==, 11 * layer);
    g_assert_cmpfloat(use->kv_token_bytes, ==, 11 * 2 * 3 * 2);
    g_assert_cmpuint(use->row_tokens, ==, (guint64)((44976 - 11 * layer) / 132));
    const ReplicaPlan *replica = &planned.plan->replicas[0];
    g_assert_cmpuint(replica->kv_tokens, ==, 360 * use->row_tokens);
    g_assert_cmpint(replica->role, ==, ROLE_COLOCATED);
    g_assert_cmpuint(replica->n_stages, ==, 1);
    g_assert_cmpuint(planned.plan->n_replicas, ==, 4); /* all wafers */
    for (guint i = 0; i < 4; i++)
        g_assert_cmpuint(planned.plan->replicas[i].stages[0].clusters[0], ==, i);
}

/* Table 5's grid of LLaMA2-13B: five regions of 375 × 375, about 16 tokens a row. */
static void the_published_grid_of_13b_fits_in_five_regions(void) {
    g_auto(Planned) planned =
        plan_of("{mode: wafer, wafer: {prefill_grid: 750, decode_grid: 375, dp: 1}}", &llama_2_13b,
                &wafers);
    g_assert_no_error(planned.error);
    g_assert_cmpuint(planned.plan->wafer.spec.regions, ==, 5);
    g_assert_cmpuint(planned.plan->wafer.row_tokens, ==, 15);
    /* 4 · 7² + 3 · 7 · 19 elements and two norms of 7 in a layer on 750 × 750; K and V of 6 tokens
     * and 7 elements in 40 layers; the down projection's tiles of 6 × 19, 19 × 7 and 6 × 7. */
    const WaferUse *use = &planned.plan->wafer;
    double layer = 2 * (196 + 399 + 14), kv = 2 * 2 * 40 * 6 * 7, buffers = 2 * (2 * 247 + 42);
    double fitting = floor((44976 - kv - buffers) / layer);
    g_assert_cmpfloat(use->prefill_bytes, ==, fitting * layer + kv + buffers);
    g_assert_cmpuint(use->outside_layers, ==, 40 - (guint64)fitting + 1);
    g_assert_cmpfloat(use->outside_bytes, ==,
                      (double)use->outside_layers * 2 * (4 * 21 * 7 + 3 * 21 * 19 + 2 * 21));
    g_assert_cmpuint(planned.plan->n_replicas, ==, 1);
}

/* The fewest regions that do, and no fewer. */
static void regions_left_open_are_the_fewest(void) {
    for (guint context = 500; context <= 8000; context += 1500) {
        g_autofree char *open = g_strdup_printf(
            "{mode: wafer, max_context: %u, wafer: {prefill_grid: 660, decode_grid: 330}}",
            context);
        g_auto(Planned) planned = plan_of(open, &llama_3_8b, &wafers);
        g_assert_no_error(planned.error);
        guint regions = (guint)planned.plan->wafer.spec.regions;
        g_assert_cmpuint(wafer_use_tokens(&planned.plan->wafer), >=, context);
        g_autofree char *fewer =
            g_strdup_printf("{mode: wafer, max_context: %u, wafer: {prefill_grid: 660, "
                            "decode_grid: 330, regions: %u}}",
                            context, regions - 1);
        g_auto(Planned) refused = plan_of(fewer, &llama_3_8b, &wafers);
        g_assert_error(refused.error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    }
}

static void concat_fills_the_last_row(void) {
    WaferUse use = {.spec = {.decode_grid = 100, .kv = KV_CONCAT}, .row_tokens = 20};
    g_assert_true(wafer_use_holds(&use, 1000, 10));
    g_assert_false(wafer_use_holds(&use, 1000, 11));
    g_assert_true(wafer_use_holds(&use, 1001, 10)); /* the last row has no more than before */
    g_assert_false(wafer_use_holds(&use, 1100, 10));
    use.spec.kv = KV_SHIFT;
    g_assert_true(wafer_use_holds(&use, 1000, 1000));
    g_assert_false(wafer_use_holds(&use, 1000, 1001));
}

/* The closed forms against a ledger filled token by token. */
static void kv_lies_as_a_ledger_says(void) {
    for (KvRule rule = 0; rule < N_KV_RULES; rule++)
        for (guint rows = 1; rows <= 9; rows += 2)
            for (guint64 prompt = 1; prompt <= 40; prompt += 13) {
                WaferSpec spec = {.decode_grid = rows, .kv = rule};
                KvLedgerSetup setup = {rule, rows, 1e9, 1, prompt};
                g_autoptr(KvLedger) ledger = kv_ledger_new(&setup);
                guint64 moves = 0;
                guint moved = 0;
                for (guint64 generated = 1; generated <= 30; generated++, moves += moved) {
                    WaferKv kv = wafer_use_kv(&spec, prompt, generated - 1);
                    double fullest = 0;
                    for (guint row = 0; row < rows; row++)
                        fullest = MAX(fullest, kv_ledger_row_bytes(ledger, row));
                    g_assert_cmpuint(kv.fullest_row, ==, (guint64)fullest);
                    g_assert_cmpfloat(kv.skew, ==, kv_ledger_skew(ledger));
                    g_assert_cmpuint(kv.moves, ==, moves);
                    g_assert_true(kv_ledger_add(ledger, &moved));
                }
            }
}

typedef struct Refused {
    const char *name, *text;
    const Model *model;
    const Platform *platform;
    const char *message;
} Refused;

static const Refused refused[] = {
    {"wafers_on_clusters", "mode: wafer\nwafer: {prefill_grid: 8, decode_grid: 8}", &llama_3_8b,
     &clusters, "p.yaml:1:7: mode 'wafer' needs a platform of kind 'wafer', which 'toy' is not"},
    {"clusters_on_wafers", "mode: pbd", &llama_3_8b, &wafers,
     "p.yaml:1:7: mode 'pbd' is not for platform 'wse2', which is of kind 'wafer': its mode is "
     "'wafer'"},
    {"prefill_grid_too_wide", "mode: wafer\nwafer: {prefill_grid: 751, decode_grid: 360}",
     &llama_3_8b, &wafers,
     "p.yaml:2:23: a grid of 751 × 751 cores is not within the wafer's 750 × 994"},
    {"decode_grid_too_wide", "mode: wafer\nwafer: {prefill_grid: 660, decode_grid: 800}",
     &llama_3_8b, &wafers,
     "p.yaml:2:41: a grid of 800 × 800 cores is not within the wafer's 750 × 994"},
    {"prompt_does_not_fit", "mode: wafer\nwafer: {prefill_grid: 150, decode_grid: 360}",
     &llama_3_8b, &wafers,
     "p.yaml:2:23: a prompt of 8192 tokens on 150 × 150 cores does not fit: a layer's weights "
     "20.16 kB + KV 49.28 kB + buffers 34.95 kB = 104.4 kB of 44.98 kB usable per core"},
    {"layers_beside_the_prompts_grid_do_not_fit",
     "mode: wafer\nwafer: {prefill_grid: 450, decode_grid: 375}", &llama_2_13b, &wafers,
     "p.yaml:2:23: during prompts 450 × 450 cores hold 5 of 40 layers, and the 750 × 544 below "
     "them do not hold the others: weights 60.9 kB of 44.98 kB usable per core, and embedding and "
     "LM head of 655.4 MB"},
    {"weights_do_not_fit", "mode: wafer\nwafer: {prefill_grid: 750, decode_grid: 700}",
     &llama_2_13b, &wafers,
     "p.yaml:2:41: model 'llama-2-13b' in 1 region of 700 × 700 cores, of which the wafer has room "
     "for 1, does not fit: weights 60.16 kB + KV 7.68 kB (4096 tokens) = 67.84 kB of 44.98 kB "
     "usable per core"},
    {"tables_do_not_fit", "mode: wafer\nwafer: {prefill_grid: 660, decode_grid: 375, regions: 5}",
     &llama_3_8b, &wafers,
     "p.yaml:2:41: embedding and LM head take 2.101 GB, and the 42375 cores beside 5 regions of "
     "375 × 375 hold 1.906 GB"},
    {"too_many_regions", "mode: wafer\nwafer: {prefill_grid: 660, decode_grid: 360, regions: 6}",
     &llama_3_8b, &wafers,
     "p.yaml:2:41: 6 regions of 360 × 360 cores do not fit the wafer's 750 × 994, which hold 5"},
    {"too_many_wafers",
     "mode: wafer\npools: 2\nwafer: {prefill_grid: 660, decode_grid: 360, dp: 3}", &llama_3_8b,
     &wafers, "p.yaml:3:50: the plan needs 6 wafers (pools 2 × dp 3) and platform 'wse2' has 4"},
    {"more_pools_than_wafers",
     "mode: wafer\npools: 5\nwafer: {prefill_grid: 660, decode_grid: 360}", &llama_3_8b, &wafers,
     "p.yaml:3:8: the plan needs 5 wafers (pools 5 × dp 1) and platform 'wse2' has 4"},
    {"context_over_the_model_s",
     "mode: wafer\nmax_context: 9000\nwafer: {prefill_grid: 660, "
     "decode_grid: 360}",
     &llama_3_8b, &wafers,
     "p.yaml:2:14: max_context 9000 exceeds the 8192 tokens of model 'llama-3-8b'"},
};

static void is_refused(gconstpointer data) {
    const Refused *row = data;
    g_auto(Planned) planned = plan_of(row->text, row->model, row->platform);
    g_assert_null(planned.plan);
    g_assert_error(planned.error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_cmpstr(planned.error->message, ==, row->message);
}

/* One more token of context than a refusal names would be refused again; as many would not. */
static void what_is_said_to_fit_does(void) {
    g_auto(Planned) refusal = plan_of(
        "{mode: wafer, wafer: {prefill_grid: 660, decode_grid: 360, regions: 3, kv: concat}, "
        "max_context: 8192}",
        &llama_3_8b, &wafers);
    g_assert_no_error(refusal.error);
    Platform tight = wafers;
    tight.mesh.usable_bytes = 41000;
    g_auto(Planned) planned =
        plan_of("{mode: wafer, wafer: {prefill_grid: 660, decode_grid: 360, regions: 3}}",
                &llama_3_8b, &tight);
    g_assert_error(planned.error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    const char *said = strstr(planned.error->message, "policy.max_context ≤ ");
    g_assert_nonnull(said);
    guint64 longest = g_ascii_strtoull(said + strlen("policy.max_context ≤ "), NULL, 10);
    for (guint i = 0; i < 2; i++) {
        g_autofree char *text =
            g_strdup_printf("{mode: wafer, max_context: %" G_GUINT64_FORMAT
                            ", wafer: {prefill_grid: 660, decode_grid: 360, regions: 3}}",
                            longest + i);
        g_auto(Planned) again = plan_of(text, &llama_3_8b, &tight);
        g_assert_cmpint(again.plan != NULL, ==, i == 0);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wafer_use/a_core_holds_its_tiles", a_core_holds_its_tiles);
    g_test_add_func("/wafer_use/the_published_grid_of_13b_fits_in_five_regions",
                    the_published_grid_of_13b_fits_in_five_regions);
    g_test_add_func("/wafer_use/regions_left_open_are_the_fewest",
                    regions_left_open_are_the_fewest);
    g_test_add_func("/wafer_use/concat_fills_the_last_row", concat_fills_the_last_row);
    g_test_add_func("/wafer_use/kv_lies_as_a_ledger_says", kv_lies_as_a_ledger_says);
    g_test_add_func("/wafer_use/what_is_said_to_fit_does", what_is_said_to_fit_does);
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *path = g_strconcat("/wafer_use/refused/", refused[i].name, NULL);
        g_test_add_data_func(path, &refused[i], is_refused);
    }
    return g_test_run();
}
