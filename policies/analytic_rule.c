#include "policies/analytic_rule.h"

#include "policies/memory_bill.h"
#include "workloads/input_error.h"
#include <math.h>

static double data_bytes(const AnalyticInputs *inputs) {
    return data_type_bytes(inputs->model->data_type);
}

/* S_max */
static double context_tokens(const AnalyticInputs *inputs) {
    return inputs->switches.context == ANALYTIC_CONTEXT_MODEL
               ? (double)inputs->model->max_context
               : inputs->prompt_tokens + inputs->output_tokens;
}

/* D_emb of eq. 13 and 15 */
static double kv_width(const AnalyticInputs *inputs) {
    const Model *model = inputs->model;
    return inputs->switches.kv_width == ANALYTIC_KV_HEADS
               ? (double)(model->kv_heads * model->head_dim)
               : (double)model->hidden;
}

/* Model_size */
static double model_bytes(const AnalyticInputs *inputs) {
    return (double)model_parameters(inputs->model) * data_bytes(inputs);
}

/* K and V of one request at S_max in one layer: S_max · 2 · D_size · D_emb. */
static double request_kv(const AnalyticInputs *inputs) {
    return context_tokens(inputs) * 2 * data_bytes(inputs) * kv_width(inputs);
}

/* Eq. 12: Model_size / PP_P */
static double prefill_weights(const AnalyticInputs *inputs, guint64 pp) {
    return model_bytes(inputs) / (double)pp;
}

/* Eq. 13: B_micro · S_max · 2 · D_size · D_emb */
static double prefill_kv(const AnalyticInputs *inputs) {
    return (double)inputs->policy->prefill.micro_batch * request_kv(inputs);
}

/* Eq. 14: Model_size / (TP · PP_D) */
static double decode_weights(const AnalyticInputs *inputs, guint64 tp, guint64 pp) {
    return model_bytes(inputs) / (double)(tp * pp);
}

/* Eq. 15: B_micro · S_max · 2 · D_size · D_emb · L / TP */
static double decode_kv(const AnalyticInputs *inputs, guint64 tp) {
    return (double)inputs->policy->decode.slots * request_kv(inputs) *
           (double)inputs->model->layers / (double)tp;
}

/* Eq. 16: Params + KV + Overhead < what is usable */
static gboolean bill_fits(const AnalyticBill *bill) {
    return bill->weights + bill->kv + bill->overhead < bill->usable;
}

/* Eq. 17 for one of a layer's two all-reduces (its 2): B_micro · D_emb · D_size · (TP − 1). */
static double all_reduce_bytes(const AnalyticInputs *inputs, guint64 tp) {
    return (double)inputs->policy->decode.slots * (double)inputs->model->hidden *
           data_bytes(inputs) * (double)(tp - 1);
}

static double all_reduce_s(const AnalyticInputs *inputs, guint64 tp) {
    const Platform *platform = inputs->platform;
    const LinkSpec *link =
        tp <= platform->clusters_per_processor ? &platform->network.local : &platform->network.port;
    const LinkSpec *reached = &platform->network.all_reduce;
    double bytes_per_s =
        reached->bytes_per_s > 0 ? MIN(reached->bytes_per_s, link->bytes_per_s) : link->bytes_per_s;
    return all_reduce_bytes(inputs, tp) / bytes_per_s + reached->latency_s;
}

/* The longer of arithmetic and memory traffic, on one cluster. */
static double roofline_s(const AnalyticInputs *inputs, double macs, double bytes) {
    double peak = platform_peak_macs(inputs->platform, inputs->model->data_type);
    return MAX(macs / peak, bytes / inputs->platform->cluster.ddr_bytes_per_s);
}

/* What passes through a layer: rows of activations, and for how many tokens of K and V. */
typedef struct LayerLoad {
    double rows;       /* tokens */
    double kv_read;    /* tokens of KV that memory is read for, over the batch */
    double kv_compute; /* tokens of KV that each row meets */
} LayerLoad;

/* Rows are read and written. */
static double norm_s(const AnalyticInputs *inputs, const LayerLoad *load) {
    double elements = load->rows * (double)inputs->model->hidden;
    return roofline_s(inputs, elements, 2 * elements * data_bytes(inputs));
}

/* Q, K, V, the scores, their product with V, and the output projection. */
static double attention_s(const AnalyticInputs *inputs, const LayerLoad *load) {
    const Model *model = inputs->model;
    double heads = (double)(model->heads * model->head_dim);
    double kv_heads = (double)(model->kv_heads * model->head_dim);
    double weights = 2 * (heads + kv_heads) * (double)model->hidden;
    double projections = roofline_s(inputs, load->rows * weights, weights * data_bytes(inputs));
    double macs = load->rows * load->kv_compute * 2 * heads;
    return projections +
           roofline_s(inputs, macs, load->kv_read * 2 * kv_heads * data_bytes(inputs));
}

/* Gate, up and down. */
static double feed_forward_s(const AnalyticInputs *inputs, const LayerLoad *load) {
    double weights = 3 * (double)(inputs->model->ffn * inputs->model->hidden);
    return roofline_s(inputs, load->rows * weights, weights * data_bytes(inputs));
}

/* Eq. 18: T_norm + T_self_attention + T_norm + T_ffn */
static double single_cluster_s(const AnalyticLayer *layer) {
    return layer->norm + layer->attention + layer->norm + layer->feed_forward;
}

/* Eq. 19: T_norm + T_self_attention / TP + T_norm + T_ffn / TP + 2 · T_all_reduce
 * + 2 · T_launch_group */
static double tp_cluster_s(const AnalyticLayer *layer, guint64 tp) {
    return layer->norm + layer->attention / (double)tp + layer->norm +
           layer->feed_forward / (double)tp + 2 * layer->all_reduce + 2 * layer->launch;
}

static AnalyticLayer layer_times(const AnalyticInputs *inputs, const LayerLoad *load, guint64 tp) {
    AnalyticLayer layer = {.norm = norm_s(inputs, load),
                           .attention = attention_s(inputs, load),
                           .feed_forward = feed_forward_s(inputs, load)};
    if (tp > 1) {
        layer.all_reduce = all_reduce_s(inputs, tp);
        layer.launch = inputs->platform->hthreads.launch_group_s;
    }
    layer.total = tp > 1 ? tp_cluster_s(&layer, tp) : single_cluster_s(&layer);
    return layer;
}

/* A prefill micro-batch: whole prompts, each row meeting those before it and itself. */
static LayerLoad prefill_load(const AnalyticInputs *inputs) {
    double rows = (double)inputs->policy->prefill.micro_batch * inputs->prompt_tokens;
    return (LayerLoad){
        .rows = rows, .kv_read = rows, .kv_compute = (inputs->prompt_tokens + 1) / 2};
}

/* A decode micro-batch halfway through its outputs. */
static LayerLoad decode_load(const AnalyticInputs *inputs) {
    double requests = (double)inputs->policy->decode.slots;
    double context = inputs->prompt_tokens + inputs->output_tokens / 2;
    return (LayerLoad){.rows = requests, .kv_read = requests * context, .kv_compute = context};
}

static guint64 ceiling(double ratio) {
    return (guint64)ceil(ratio);
}

/* PP_P: the smallest that fits, or 0. */
static guint64 smallest_prefill_pp(const AnalyticInputs *inputs, AnalyticBill *bill) {
    for (guint64 pp = 1; pp <= inputs->model->layers; pp++) {
        bill->weights = prefill_weights(inputs, pp);
        bill->kv = prefill_kv(inputs);
        if (bill_fits(bill))
            return pp;
    }
    return 0;
}

/* PP_D: the smallest that fits beside 'tp', or 0. */
static guint64 smallest_decode_pp(const AnalyticInputs *inputs, guint64 tp, AnalyticBill *bill) {
    for (guint64 pp = 1; pp <= inputs->model->layers; pp++) {
        bill->weights = decode_weights(inputs, tp, pp);
        bill->kv = decode_kv(inputs, tp);
        if (bill_fits(bill))
            return pp;
    }
    return 0;
}

/* T_p: rounds of micro-batches, each L / PP_P layers in every stage. */
static double prefill_s(const AnalyticPlan *plan, guint64 layers) {
    return (double)plan->prefill_rounds * (double)layers / (double)plan->prefill_pp *
           plan->prefill_layer.total;
}

/* T_d: PP_D micro-batches are in flight, so all of B is a token further after L layers. */
static double decode_s(const AnalyticPlan *plan, guint64 layers, double output_tokens) {
    return MAX(output_tokens - 1, 0) * (double)layers * plan->decode_layer.total;
}

/* Eq. 20: DP_P · PP_P + TP_D · PP_D + B_P */
static guint64 pool_clusters(const AnalyticPlan *plan) {
    return plan->prefill_dp * plan->prefill_pp + plan->tp * plan->pp + plan->buffer;
}

/* max(T_p / DP_P, T_d) */
static double pool_s(const AnalyticPlan *plan) {
    return MAX(plan->prefill_s / (double)plan->prefill_dp, plan->decode_s);
}

/* Eq. 22: Clu_pool · max(T_p / DP_P, T_d), for each of the B requests. Of whole pools each stands
 * for its share of all clusters. */
static double request_cost(const AnalyticPlan *plan, const AnalyticInputs *inputs) {
    double clusters = inputs->switches.pools == ANALYTIC_POOLS_WHOLE
                          ? (double)inputs->clusters / (double)plan->pools
                          : (double)plan->pool;
    return clusters * pool_s(plan) / (double)plan->batch;
}

/* Eq. 21 with whole pools: Clu_total / Clu_pool · B · outputs / max(T_p / DP_P, T_d) */
static double throughput(const AnalyticPlan *plan, double output_tokens) {
    return (double)plan->pools * (double)plan->batch * output_tokens / pool_s(plan);
}

/* Everything that follows from TP_D but for DP_P. FALSE when nothing fits. */
static gboolean plan_for_tp(const AnalyticInputs *inputs, guint64 tp, AnalyticPlan *plan) {
    const Model *model = inputs->model;
    plan->tp = tp;
    plan->micro_batch = inputs->policy->decode.slots;
    plan->pp = smallest_decode_pp(inputs, tp, &plan->decode);
    if (plan->pp == 0)
        return FALSE;
    LayerLoad load = decode_load(inputs);
    plan->decode_layer = layer_times(inputs, &load, tp);
    plan->batch = plan->pp * plan->micro_batch;
    plan->buffer_bytes = (double)plan->batch * request_kv(inputs) * (double)model->layers;
    plan->buffer =
        MAX(ceiling(plan->buffer_bytes / (plan->decode.usable - plan->decode.overhead)), 1);
    plan->prefill_rounds =
        (plan->batch + plan->prefill_micro_batch - 1) / plan->prefill_micro_batch;
    plan->prefill_s = prefill_s(plan, model->layers);
    plan->decode_s = decode_s(plan, model->layers, inputs->output_tokens);
    return TRUE;
}

/* Takes 'candidate' with the best DP_P that the clusters have room for, if it beats 'best'; of
 * equals the first stays. */
static void improve(AnalyticPlan *best, AnalyticPlan candidate, const AnalyticInputs *inputs) {
    for (guint64 dp = 1;; dp++) {
        candidate.prefill_dp = dp;
        candidate.pool = pool_clusters(&candidate);
        if (candidate.pool > inputs->clusters)
            return;
        candidate.pools = inputs->clusters / candidate.pool;
        candidate.cost = request_cost(&candidate, inputs);
        if (best->tp == 0 || candidate.cost < best->cost)
            *best = candidate;
        if (candidate.prefill_s / (double)dp <= candidate.decode_s)
            return; /* decode paces it: more would only cost */
    }
}

/* Every micro-batch for which the smallest PP_D beside 'tp' has room. FALSE when there is none. */
static gboolean improve_by_micro_batch(AnalyticPlan *best, AnalyticPlan candidate,
                                       const AnalyticInputs *inputs, guint64 tp) {
    Policy policy = *inputs->policy;
    AnalyticInputs trial = *inputs;
    guint64 pp = 0;
    trial.policy = &policy;
    for (policy.decode.slots = 1; plan_for_tp(&trial, tp, &candidate); policy.decode.slots++) {
        if (pp > 0 && candidate.pp > pp)
            break;
        pp = candidate.pp;
        improve(best, candidate, inputs);
    }
    return pp > 0;
}

/* FALSE when nothing fits beside 'tp'. */
static gboolean improve_by_tp(AnalyticPlan *best, AnalyticPlan candidate,
                              const AnalyticInputs *inputs, guint64 tp) {
    if (!memory_bill_tp_divides(inputs->model, tp))
        return FALSE;
    if (inputs->switches.micro_batch == ANALYTIC_MICRO_BATCH_RULE)
        return improve_by_micro_batch(best, candidate, inputs, tp);
    if (!plan_for_tp(inputs, tp, &candidate))
        return FALSE;
    improve(best, candidate, inputs);
    return TRUE;
}

static void write_point(AnalyticPlan *plan) {
    const struct {
        const char *key;
        guint64 value;
    } rows[] = {
        {"pools", plan->pools},
        {"prefill.pp", plan->prefill_pp},
        {"prefill.micro_batch", plan->prefill_micro_batch},
        {"buffer.clusters", plan->buffer},
        {"decode.tp", plan->tp},
        {"decode.pp", plan->pp},
        {"decode.slots", plan->micro_batch},
        {"prefill.dp", plan->prefill_dp},
        {"decode.dp", 1},
    };
    plan->point.settings = g_new0(char *, G_N_ELEMENTS(rows) + 1);
    plan->point.clusters = plan->pools * plan->pool;
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        plan->point.settings[i] =
            g_strdup_printf("policy.%s=%" G_GUINT64_FORMAT, rows[i].key, rows[i].value);
}

static gboolean rule_applies(const AnalyticInputs *inputs, GError **error) {
    gboolean pbd = inputs->policy->mode == MODE_PBD;
    if (pbd && inputs->platform->kind == DEVICE_MT3000)
        return TRUE;
    if (pbd) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "the paper's rule plans platforms of kind 'mt3000', and '%s' is of kind '%s'",
                    inputs->platform->name, platform_kind_name(inputs->platform->kind));
        return FALSE;
    }
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "the paper's rule plans mode 'pbd', and this is '%s'",
                policy_mode_names.names[inputs->policy->mode]);
    return FALSE;
}

/* What does not depend on TP_D. FALSE when prefill does not fit. */
static gboolean plan_open(const AnalyticInputs *inputs, AnalyticPlan *plan) {
    const AnalyticBill empty = {.overhead = inputs->policy->overhead_bytes,
                                .usable = inputs->platform->cluster.ddr_usable_bytes};
    *plan = (AnalyticPlan){.context_tokens = context_tokens(inputs),
                           .kv_width = kv_width(inputs),
                           .model_bytes = model_bytes(inputs),
                           .prefill_micro_batch = inputs->policy->prefill.micro_batch,
                           .prefill = empty,
                           .decode = empty};
    LayerLoad load = prefill_load(inputs);
    plan->prefill_layer = layer_times(inputs, &load, 1);
    plan->prefill_pp = smallest_prefill_pp(inputs, &plan->prefill);
    return plan->prefill_pp > 0;
}

static gboolean nothing_fits(const AnalyticInputs *inputs, guint64 clusters, const char *pool,
                             GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "the paper's rule finds no plan for model '%s' on %" G_GUINT64_FORMAT
                " clusters: %s",
                inputs->model->name, clusters, pool);
    return FALSE;
}

gboolean analytic_rule(const AnalyticInputs *inputs, AnalyticPlan *plan, GError **error) {
    AnalyticInputs all = *inputs;
    if (all.clusters == 0)
        all.clusters = platform_clusters(inputs->platform);
    guint64 clusters = all.clusters;
    AnalyticPlan open;
    gboolean any = FALSE;
    *plan = (AnalyticPlan){0};
    if (!rule_applies(inputs, error))
        return FALSE;
    if (!plan_open(inputs, &open))
        return nothing_fits(inputs, clusters,
                            "prefill's micro-batch does not fit a cluster (eq. 12, 13 and 16)",
                            error);
    for (guint64 tp = 1; tp <= MIN(clusters, inputs->model->kv_heads); tp *= 2) {
        if (improve_by_tp(plan, open, &all, tp))
            any = TRUE;
    }
    if (plan->tp == 0)
        return nothing_fits(inputs, clusters,
                            any ? "no pool is so small (eq. 20)"
                                : "decode's micro-batch fits no TP and PP (eq. 14 to 16)",
                            error);
    plan->tokens_per_s = throughput(plan, inputs->output_tokens);
    write_point(plan);
    return TRUE;
}

void analytic_plan_clear(AnalyticPlan *plan) {
    g_clear_pointer(&plan->point.settings, g_strfreev);
}
