/* The paper's rule against the same equations written out a second time, over every plan there is,
 * and against numbers worked out by hand. */
#include "policies/analytic_rule.h"

#include <math.h>

/* The dimensions of the paper's models. */
static const Model models[] = {
    {.name = "7B",
     .hidden = 4096,
     .layers = 32,
     .heads = 32,
     .kv_heads = 32,
     .head_dim = 128,
     .ffn = 11008,
     .vocab = 32000,
     .max_context = 4096,
     .data_type = DATA_TYPE_FP16},
    {.name = "13B",
     .hidden = 5120,
     .layers = 40,
     .heads = 40,
     .kv_heads = 40,
     .head_dim = 128,
     .ffn = 13824,
     .vocab = 32000,
     .max_context = 4096,
     .data_type = DATA_TYPE_FP16},
    {.name = "30B",
     .hidden = 6656,
     .layers = 60,
     .heads = 52,
     .kv_heads = 52,
     .head_dim = 128,
     .ffn = 17920,
     .vocab = 32000,
     .max_context = 2048,
     .data_type = DATA_TYPE_FP16},
    {.name = "70B",
     .hidden = 8192,
     .layers = 80,
     .heads = 64,
     .kv_heads = 8,
     .head_dim = 128,
     .ffn = 28672,
     .vocab = 32000,
     .max_context = 4096,
     .data_type = DATA_TYPE_FP16},
};

/* MT-3000 processors of 4 clusters. */
static const Platform machine = {
    .name = "MT-3000",
    .nodes = 18,
    .processors_per_node = 1,
    .clusters_per_processor = 4,
    .cluster = {.peak_fp16_macs_per_s = 8.2944e12,
                .ddr_usable_bytes = 20e9,
                .ddr_bytes_per_s = 30e9},
    .hthreads = {.launch_group_s = 78e-6},
    .network = {.local = {.bytes_per_s = 5e9}, .port = {.bytes_per_s = 1e9}},
};

static const Policy policy = {.mode = MODE_PBD,
                              .overhead_bytes = 0.1e9,
                              .prefill = {.micro_batch = 2},
                              .decode = {.slots = 24}};

static AnalyticInputs inputs_of(guint model, guint64 clusters) {
    return (AnalyticInputs){.model = &models[model],
                            .platform = &machine,
                            .policy = &policy,
                            .prompt_tokens = 512,
                            .output_tokens = 128,
                            .clusters = clusters};
}

/* What the equations give for one choice, written out from the paper a second time. */
typedef struct Oracle {
    gboolean fits;
    guint64 batch, buffer, pool;
    double prefill_s, decode_s, cost;
} Oracle;

/* On one cluster: bytes of weights and multiply-accumulates for each row. */
static double matrix_s(double parameters, double rows) {
    return fmax(parameters * 2 / 30e9, parameters * rows / 8.2944e12);
}

/* Eq. 18: seconds of a layer without TP in its two halves, norms apart. */
static double attention_oracle(const Model *model, double rows, double kv_read, double kv_each) {
    double q = (double)model->heads * 128, kv = (double)model->kv_heads * 128;
    double scores = fmax(kv_read * kv * 2 * 2 / 30e9, rows * kv_each * q * 2 / 8.2944e12);
    return matrix_s((double)model->hidden * (q + kv + kv + q), rows) + scores;
}

static double feed_forward_oracle(const Model *model, double rows) {
    return matrix_s((double)model->hidden * (double)model->ffn * 3, rows);
}

static double norms_oracle(const Model *model, double rows) {
    return 2 * rows * (double)model->hidden * 2 * 2 / 30e9;
}

/* Eq. 18 and 19 of a decode step of 'slots' requests at 512 + 64 tokens. */
static double decode_layer_oracle(const Model *model, double slots, double tp) {
    double shared =
        attention_oracle(model, slots, slots * 576, 576) + feed_forward_oracle(model, slots);
    double link = tp <= 4 ? 5e9 : 1e9;
    double sums = tp > 1 ? 2 * (slots * (double)model->hidden * 2 * (tp - 1) / link) : 0;
    return norms_oracle(model, slots) + shared / tp + sums + (tp > 1 ? 2 * 78e-6 : 0);
}

static double prefill_layer_oracle(const Model *model) {
    return norms_oracle(model, 1024) + attention_oracle(model, 1024, 1024, 256.5) +
           feed_forward_oracle(model, 1024);
}

/* A choice of TP_D, PP_D, PP_P, DP_P and a micro-batch for a model and the bytes that a token's K
 * or V has. */
typedef struct Choice {
    const Model *model;
    double context, kv_width;
    guint64 slots;
    guint64 tp, pp, prefill_pp, prefill_dp;
    guint64 whole; /* clusters that whole pools share; 0: as many pools as there is room for */
} Choice;

static Oracle oracle(const Choice *choice) {
    const Model *model = choice->model;
    double size = 2 * (double)model_parameters(model), layers = (double)model->layers;
    double token = 4 * choice->kv_width, tp = (double)choice->tp;
    double slots = (double)choice->slots;
    double decode = size / tp / (double)choice->pp + slots * choice->context * token * layers / tp;
    double prefill = size / (double)choice->prefill_pp + 2 * choice->context * token;
    Oracle found = {.fits = decode + 0.1e9 < 20e9 && prefill + 0.1e9 < 20e9,
                    .batch = choice->pp * choice->slots};
    double batch = (double)found.batch;
    found.buffer = (guint64)ceil(batch * choice->context * token * layers / 19.9e9);
    found.pool = choice->prefill_dp * choice->prefill_pp + choice->tp * choice->pp + found.buffer;
    found.prefill_s =
        ceil(batch / 2) * layers / (double)choice->prefill_pp * prefill_layer_oracle(model);
    found.decode_s = 127 * layers * decode_layer_oracle(model, slots, tp);
    double pace = fmax(found.prefill_s / (double)choice->prefill_dp, found.decode_s);
    double share = (double)found.pool;
    if (choice->whole >= found.pool)
        share = (double)choice->whole / (double)(choice->whole / found.pool);
    found.cost = share * pace / batch;
    return found;
}

/* The smallest PP_D and PP_P that fit. FALSE when none do. */
static gboolean fewest_stages(Choice *choice) {
    guint64 layers = choice->model->layers;
    choice->prefill_pp = layers;
    choice->pp = 1;
    while (choice->pp < layers && !oracle(choice).fits)
        choice->pp++;
    if (!oracle(choice).fits)
        return FALSE;
    choice->prefill_pp = 1;
    while (!oracle(choice).fits)
        choice->prefill_pp++;
    return TRUE;
}

/* As deep as for one request, and no deeper. */
static gboolean fits_beside(Choice choice, guint64 slots) {
    Choice one = choice;
    one.slots = 1;
    choice.slots = slots;
    return fewest_stages(&one) && fewest_stages(&choice) && choice.pp == one.pp;
}

/* Eq. 22's minimum over all TP_D and DP_P. 'tp' stays 0 when nothing fits. */
static Choice best_choice(Choice choice, guint64 clusters) {
    const Model *model = choice.model;
    Choice best = choice;
    double least = INFINITY;
    for (guint64 tp = 1; tp <= model->kv_heads; tp *= 2) {
        choice.tp = tp;
        choice.prefill_dp = 1;
        if (model->heads % tp != 0 || model->kv_heads % tp != 0 || !fewest_stages(&choice))
            continue;
        for (; choice.prefill_dp <= clusters; choice.prefill_dp++) {
            Oracle found = oracle(&choice);
            if (found.pool > clusters || found.cost >= least * (1 - 1e-12))
                continue;
            least = found.cost;
            best = choice;
        }
    }
    return best;
}

/* … and over all micro-batches, with the fewest stages that hold any. */
static Choice best_of_all_micro_batches(Choice choice, guint64 clusters) {
    Choice best = choice;
    double least = INFINITY;
    for (guint64 tp = 1; tp <= choice.model->kv_heads; tp *= 2) {
        choice.tp = tp;
        if (choice.model->heads % tp != 0 || choice.model->kv_heads % tp != 0)
            continue;
        for (choice.slots = 1; fits_beside(choice, choice.slots); choice.slots++) {
            fewest_stages(&choice);
            for (choice.prefill_dp = 1; choice.prefill_dp <= clusters; choice.prefill_dp++) {
                Oracle found = oracle(&choice);
                if (found.pool > clusters || found.cost >= least * (1 - 1e-12))
                    continue;
                least = found.cost;
                best = choice;
            }
        }
    }
    if (least == INFINITY)
        best.tp = 0;
    return best;
}

static void assert_near(double value, double expected) {
    g_assert_cmpfloat_with_epsilon(value / expected, 1, 1e-9);
}

static void assert_plan(const AnalyticPlan *plan, const Choice *choice, guint64 clusters) {
    Oracle found = oracle(choice);
    g_assert_cmpuint(plan->tp, ==, choice->tp);
    g_assert_cmpuint(plan->pp, ==, choice->pp);
    g_assert_cmpuint(plan->prefill_pp, ==, choice->prefill_pp);
    g_assert_cmpuint(plan->prefill_dp, ==, choice->prefill_dp);
    g_assert_cmpuint(plan->batch, ==, found.batch);
    g_assert_cmpuint(plan->buffer, ==, found.buffer);
    g_assert_cmpuint(plan->pool, ==, found.pool);
    g_assert_cmpuint(plan->pools, ==, clusters / found.pool);
    g_assert_cmpuint(plan->point.clusters, ==, plan->pools * plan->pool);
    assert_near(plan->prefill_s, found.prefill_s);
    assert_near(plan->decode_s, found.decode_s);
    assert_near(plan->cost, found.cost);
    g_assert_cmpuint(plan->micro_batch, ==, choice->slots);
    /* Eq. 21: tokens of a request over its cluster-seconds, on the clusters of whole pools. */
    double paid = choice->whole > 0 ? (double)clusters : (double)plan->point.clusters;
    assert_near(plan->tokens_per_s, paid * 128 / found.cost);
}

static void the_rule_minimises_equation_22(void) {
    guint refused = 0, chosen = 0;
    for (guint model = 0; model < G_N_ELEMENTS(models); model++) {
        for (guint64 clusters = 4; clusters <= 72; clusters += 4) {
            for (guint reading = 0; reading < 4; reading++) {
                AnalyticInputs inputs = inputs_of(model, clusters);
                inputs.switches.context = reading & 1;
                inputs.switches.kv_width = reading >> 1;
                Choice all = {.model = &models[model],
                              .slots = 24,
                              .context = reading & 1 ? (double)models[model].max_context : 640,
                              .kv_width = (double)(reading & 2 ? models[model].kv_heads * 128
                                                               : models[model].hidden)};
                Choice best = best_choice(all, clusters);
                g_auto(AnalyticPlan) plan = {0};
                g_autoptr(GError) error = NULL;
                gboolean found = analytic_rule(&inputs, &plan, &error);
                g_assert_cmpint(found, ==, best.tp > 0);
                refused += !found;
                chosen += found;
                if (found)
                    assert_plan(&plan, &best, clusters);
            }
        }
    }
    g_assert_cmpuint(refused, >, 20);
    g_assert_cmpuint(chosen, >, 100);
}

/* Micro-batches by the rule, whole pools, KV of the KV heads: as table V is planned. */
static void the_rule_minimises_over_micro_batches_and_whole_pools(void) {
    for (guint model = 0; model < G_N_ELEMENTS(models); model++) {
        for (guint64 clusters = 12; clusters <= 72; clusters += 20) {
            AnalyticInputs inputs = inputs_of(model, clusters);
            inputs.switches = (AnalyticSwitches){.kv_width = ANALYTIC_KV_HEADS,
                                                 .micro_batch = ANALYTIC_MICRO_BATCH_RULE,
                                                 .pools = ANALYTIC_POOLS_WHOLE};
            Choice all = {.model = &models[model],
                          .context = 640,
                          .kv_width = (double)models[model].kv_heads * 128,
                          .whole = clusters};
            Choice best = best_of_all_micro_batches(all, clusters);
            g_auto(AnalyticPlan) plan = {0};
            g_autoptr(GError) error = NULL;
            gboolean found = analytic_rule(&inputs, &plan, &error);
            g_assert_cmpint(found, ==, best.tp > 0);
            if (found)
                assert_plan(&plan, &best, clusters);
        }
    }
}

/* 7B on 32 clusters, each number with a pocket calculator. */
static void llama_2_7b_by_hand(void) {
    AnalyticInputs inputs = inputs_of(0, 32);
    g_auto(AnalyticPlan) plan = {0};
    g_assert_true(analytic_rule(&inputs, &plan, NULL));
    g_assert_cmpfloat(plan.model_bytes, ==, 13476831232.0);
    g_assert_cmpfloat(plan.context_tokens, ==, 640);
    g_assert_cmpfloat(plan.kv_width, ==, 4096);
    g_assert_cmpfloat(plan.prefill.weights, ==, 13476831232.0); /* eq. 12, PP_P 1 */
    g_assert_cmpfloat(plan.prefill.kv, ==, 20971520);           /* eq. 13: 2 · 640 · 16384 */
    g_assert_cmpfloat(plan.decode.weights, ==, 3369207808.0);   /* eq. 14, TP 4, PP 1 */
    g_assert_cmpfloat(plan.decode.kv, ==, 2013265920.0);        /* eq. 15: 24 · 640 · 2^19 / 4 */
    g_assert_cmpfloat(plan.buffer_bytes, ==, 8053063680.0);     /* 24 · 640 · 2^19 */
    g_assert_cmpuint(plan.pool, ==, 6);                         /* eq. 20: 1 · 1 + 4 · 1 + 1 */
    g_assert_cmpuint(plan.pools, ==, 5);                        /* 32 / 6 */
    g_assert_cmpuint(plan.prefill_rounds, ==, 12);              /* 24 / 2 */
    const AnalyticLayer *layer = &plan.decode_layer;
    assert_near(layer->norm, 1.31072e-5);              /* 24 · 4096 · 2 · 2 B / 30 GB/s */
    assert_near(layer->attention, 0.0120236714666667); /* 134217728 B + 226492416 B */
    assert_near(layer->feed_forward, 0.0090177536);    /* 270532608 B */
    assert_near(layer->all_reduce, 1.179648e-4);       /* eq. 17: 24 · 4096 · 2 · 3 B / 5 GB/s */
    g_assert_cmpfloat(layer->launch, ==, 78e-6);
    assert_near(layer->total, 0.00567850026666667); /* eq. 19 */
    assert_near(plan.decode_s, 23.0774250837333);   /* 127 · 32 layers */
    assert_near(plan.tokens_per_s, 5 * 24 * 128 / 23.0774250837333);
}

/* Sizes of the others: Model_size, TP_D, PP_D, PP_P, buffer, pool and pools. */
static void larger_models_by_hand(void) {
    static const struct {
        guint64 clusters, tp, pp, prefill_pp, buffer, pool, pools;
        double bytes, decode_kv;
    } rows[] = {
        {40, 4, 1, 2, 1, 7, 5, 26031728640.0, 3145728000.0},
        {64, 4, 2, 4, 3, 15, 4, 65057887232.0, 6134169600.0},
        {72, 4, 4, 7, 9, 32, 2, 137953296384.0, 10066329600.0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        AnalyticInputs inputs = inputs_of(i + 1, rows[i].clusters);
        g_auto(AnalyticPlan) plan = {0};
        g_assert_true(analytic_rule(&inputs, &plan, NULL));
        g_assert_cmpfloat(plan.model_bytes, ==, rows[i].bytes);
        g_assert_cmpfloat(plan.decode.kv, ==, rows[i].decode_kv);
        g_assert_cmpuint(plan.tp, ==, rows[i].tp);
        g_assert_cmpuint(plan.pp, ==, rows[i].pp);
        g_assert_cmpuint(plan.prefill_pp, ==, rows[i].prefill_pp);
        g_assert_cmpuint(plan.buffer, ==, rows[i].buffer);
        g_assert_cmpuint(plan.pool, ==, rows[i].pool);
        g_assert_cmpuint(plan.pools, ==, rows[i].pools);
    }
}

static void the_point_is_what_set_takes(void) {
    AnalyticInputs inputs = inputs_of(0, 32);
    g_auto(AnalyticPlan) plan = {0};
    g_assert_true(analytic_rule(&inputs, &plan, NULL));
    g_autofree char *text = g_strjoinv(" ", plan.point.settings);
    g_assert_cmpstr(text, ==,
                    "policy.pools=5 policy.prefill.pp=1 policy.prefill.micro_batch=2 "
                    "policy.buffer.clusters=1 policy.decode.tp=4 policy.decode.pp=1 "
                    "policy.decode.slots=24 policy.prefill.dp=1 policy.decode.dp=1");
    g_assert_cmpuint(plan.point.clusters, ==, 30);
}

/* The machine of the platform is taken where no number of clusters is given. */
static void no_clusters_are_the_platform_s(void) {
    AnalyticInputs given = inputs_of(3, 72), open = inputs_of(3, 0);
    g_auto(AnalyticPlan) first = {0};
    g_auto(AnalyticPlan) second = {0};
    g_assert_true(analytic_rule(&given, &first, NULL));
    g_assert_true(analytic_rule(&open, &second, NULL));
    g_assert_cmpuint(first.point.clusters, ==, second.point.clusters);
    g_assert_cmpfloat(first.tokens_per_s, ==, second.tokens_per_s);
}

static void what_cannot_be_is_refused(void) {
    static const Policy colocated = {.mode = MODE_COLOCATED, .decode = {.slots = 8}};
    static const Policy crowd = {
        .mode = MODE_PBD, .prefill = {.micro_batch = 4000}, .decode = {.slots = 8}};
    static const struct {
        const Policy *policy;
        guint model;
        guint64 clusters;
        AnalyticContext context;
        const char *message;
    } rows[] = {
        {&colocated, 0, 32, 0, "the paper's rule plans mode 'pbd', and this is 'colocated'"},
        {&policy, 0, 2, 0,
         "the paper's rule finds no plan for model '7B' on 2 clusters: no pool is so small (eq. "
         "20)"},
        {&policy, 3, 72, ANALYTIC_CONTEXT_MODEL,
         "the paper's rule finds no plan for model '70B' on 72 clusters: decode's micro-batch fits "
         "no TP and PP (eq. 14 to 16)"},
        {&crowd, 0, 32, 0,
         "the paper's rule finds no plan for model '7B' on 32 clusters: prefill's micro-batch does "
         "not fit a cluster (eq. 12, 13 and 16)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        AnalyticInputs inputs = inputs_of(rows[i].model, rows[i].clusters);
        inputs.policy = rows[i].policy;
        inputs.switches.context = rows[i].context;
        g_auto(AnalyticPlan) plan = {0};
        g_autoptr(GError) error = NULL;
        g_assert_false(analytic_rule(&inputs, &plan, &error));
        g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
        g_assert_cmpstr(error->message, ==, rows[i].message);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analytic_rule/the_rule_minimises_equation_22",
                    the_rule_minimises_equation_22);
    g_test_add_func("/analytic_rule/the_rule_minimises_over_micro_batches_and_whole_pools",
                    the_rule_minimises_over_micro_batches_and_whole_pools);
    g_test_add_func("/analytic_rule/llama_2_7b_by_hand", llama_2_7b_by_hand);
    g_test_add_func("/analytic_rule/larger_models_by_hand", larger_models_by_hand);
    g_test_add_func("/analytic_rule/the_point_is_what_set_takes", the_point_is_what_set_takes);
    g_test_add_func("/analytic_rule/no_clusters_are_the_platform_s",
                    no_clusters_are_the_platform_s);
    g_test_add_func("/analytic_rule/what_cannot_be_is_refused", what_cannot_be_is_refused);
    return g_test_run();
}
