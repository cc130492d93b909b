#include "policies/memory_bill.h"

#include <math.h>

StageSpan stage_span(guint layers, guint pp, guint stage) {
    guint even = layers / pp, longer = layers % pp;
    return (StageSpan){.first_layer = stage * even + MIN(stage, longer),
                       .layers = even + (stage < longer)};
}

static guint64 divide_up(guint64 count, guint64 by) {
    return (count + by - 1) / by;
}

/* Parameters of a layer's matrices on one of 'tp' ranks: Q, K, V and the output projection by
 * heads, gate, up and down by width. */
static guint64 layer_matrix_parameters(const Model *model, guint tp) {
    guint64 heads = divide_up(model->heads, tp), kv_heads = divide_up(model->kv_heads, tp);
    guint64 attention = 2 * (heads + kv_heads) * model->head_dim;
    guint64 feed_forward = 3 * divide_up(model->ffn, tp);
    return model->hidden * (attention + feed_forward);
}

/* Of one layer on one rank. Norms and biases are small, and every rank holds them whole. */
static guint64 layer_rank_parameters(const Model *model, guint tp) {
    guint64 replicated = model_layer_parameters(model) - layer_matrix_parameters(model, 1);
    return layer_matrix_parameters(model, tp) + replicated;
}

double plan_stage_weight_bytes(const Model *model, guint first_layer, guint layers, guint tp) {
    guint64 parameters = layers * layer_rank_parameters(model, tp);
    guint64 table = divide_up(model->vocab, tp) * model->hidden;
    gboolean first = first_layer == 0, last = first_layer + layers == model->layers;
    if (first)
        parameters += table;
    if (last)
        parameters += model_head_parameters(model) - model_embedding_parameters(model); /* norm */
    if (last && !(first && model->tied_embeddings))
        parameters += table;
    return (double)parameters * data_type_bytes(model->data_type);
}

/* Weights of one rank. Paper: Model_size / (TP · PP), THInfer eq. 12 and 14. */
static double stage_weights(const BillInputs *inputs, const ReplicaShape *shape, StageSpan span) {
    const Model *model = inputs->model;
    if (inputs->policy->kv_formula == KV_FORMULA_EXACT)
        return plan_stage_weight_bytes(model, span.first_layer, span.layers, shape->tp);
    double size = (double)model_parameters(model) * data_type_bytes(model->data_type);
    return size / (shape->tp * (double)shape->pp);
}

/* Layers that must be there at once when they are streamed: one computes, the next comes. */
#define STREAMED_LAYERS 2

/* Bytes of one layer's weights on one rank. Paper: an even share of all. */
static double layer_weights(const BillInputs *inputs, const ReplicaShape *shape, StageSpan span) {
    if (inputs->policy->kv_formula == KV_FORMULA_PAPER)
        return stage_weights(inputs, shape, span) / span.layers;
    return (double)layer_rank_parameters(inputs->model, shape->tp) *
           data_type_bytes(inputs->model->data_type);
}

double memory_bill_weights(const BillInputs *inputs, const ReplicaShape *shape, guint stage) {
    return stage_weights(inputs, shape, stage_span((guint)inputs->model->layers, shape->pp, stage));
}

double memory_bill_streamed(const BillInputs *inputs, const ReplicaShape *shape, guint stage) {
    StageSpan span = stage_span((guint)inputs->model->layers, shape->pp, stage);
    return shape->streamed ? span.layers * layer_weights(inputs, shape, span) : 0;
}

/* Of a rank's weights, what lies on the device at any time. */
static double resident_weights(const BillInputs *inputs, const ReplicaShape *shape,
                               StageSpan span) {
    double weights = stage_weights(inputs, shape, span);
    if (!shape->streamed || span.layers <= STREAMED_LAYERS)
        return weights;
    return weights - (span.layers - STREAMED_LAYERS) * layer_weights(inputs, shape, span);
}

/* K and V of one token in one layer: 2 · D_size · D_emb of THInfer eq. 13 and 15, where D_emb is
 * kv_heads · head_dim, and in the printed form hidden. */
static double layer_kv_bytes(const BillInputs *inputs) {
    const Model *model = inputs->model;
    if (inputs->policy->kv_formula != KV_FORMULA_PAPER)
        return (double)model_kv_bytes_per_token_layer(model);
    return 2.0 * data_type_bytes(model->data_type) * (double)model->hidden;
}

/* Layers of a stage whose KV stays. Eq. 13 has no L: without chunks and cache a layer's KV leaves
 * a prefill stage as soon as it is computed. Eq. 15 has L for PP micro-batches: L/PP for each. */
static double kept_layers(const BillInputs *inputs, const ReplicaShape *shape, StageSpan span) {
    const PrefillSpec *prefill = &inputs->policy->prefill;
    if (shape->role == ROLE_PREFILL && prefill->chunk_tokens == 0 &&
        prefill->prefix_cache == PREFIX_CACHE_OFF)
        return 1;
    if (inputs->policy->kv_formula == KV_FORMULA_EXACT)
        return span.layers;
    return (double)inputs->model->layers / shape->pp;
}

/* Ranks that divide the KV among them; where there are more, several hold the same head's. */
static double kv_parts(const BillInputs *inputs, const ReplicaShape *shape) {
    return (double)MIN(shape->tp, inputs->model->kv_heads);
}

/* On one rank. */
static double token_kv_bytes(const BillInputs *inputs, const ReplicaShape *shape, StageSpan span) {
    return layer_kv_bytes(inputs) * kept_layers(inputs, shape, span) / kv_parts(inputs, shape);
}

/* A replica's cache lies where the KV of its blocks does: by layers and ranks. */
static double prefix_cache_share(const BillInputs *inputs, const ReplicaShape *shape,
                                 StageSpan span) {
    double bytes = shape->role == ROLE_PREFILL ? inputs->policy->prefill.prefix_cache_bytes
                                               : inputs->policy->decode.prefix_cache_bytes;
    return bytes * span.layers / (double)inputs->model->layers / kv_parts(inputs, shape);
}

MemoryBill memory_bill_stage(const BillInputs *inputs, const ReplicaShape *shape, guint stage) {
    StageSpan span = stage_span((guint)inputs->model->layers, shape->pp, stage);
    MemoryBill bill = {.weights = resident_weights(inputs, shape, span),
                       .prefix_cache = prefix_cache_share(inputs, shape, span),
                       .overhead = inputs->policy->overhead_bytes,
                       .usable = inputs->platform->cluster.ddr_usable_bytes};
    if (shape->role == ROLE_PREFILL)
        bill.kv = (double)memory_bill_requests(inputs, shape->role, shape->pp) *
                  (double)inputs->max_context * token_kv_bytes(inputs, shape, span);
    else
        bill.kv = bill.usable - bill.weights - bill.prefix_cache - bill.overhead;
    return bill;
}

guint64 memory_bill_tokens(const BillInputs *inputs, const ReplicaShape *shape, guint *tightest) {
    guint64 fewest = G_MAXUINT64;
    for (guint stage = 0; stage < shape->pp; stage++) {
        StageSpan span = stage_span((guint)inputs->model->layers, shape->pp, stage);
        MemoryBill bill = memory_bill_stage(inputs, shape, stage);
        double room = bill.usable - bill.weights - bill.prefix_cache - bill.overhead;
        guint64 tokens = (guint64)MAX(floor(room / token_kv_bytes(inputs, shape, span)), 0);
        if (tokens >= fewest)
            continue;
        fewest = tokens;
        if (tightest != NULL)
            *tightest = stage;
    }
    return fewest;
}

guint64 memory_bill_requests(const BillInputs *inputs, ReplicaRole role, guint pp) {
    const Policy *policy = inputs->policy;
    if (role == ROLE_PREFILL)
        return policy->prefill.micro_batch;
    return policy->kv_reservation == KV_RESERVE_MAX_CONTEXT
               ? policy->decode.slots * policy_micro_batches(&policy->decode, pp)
               : 1;
}

guint64 memory_bill_largest_context(const BillInputs *inputs, const ReplicaShape *shape) {
    return memory_bill_tokens(inputs, shape, NULL) /
           memory_bill_requests(inputs, shape->role, shape->pp);
}

gboolean memory_bill_fits(const BillInputs *inputs, ReplicaShape *shape) {
    if (memory_bill_largest_context(inputs, shape) >= inputs->max_context)
        return TRUE;
    if (inputs->policy->offload == OFFLOAD_NONE)
        return FALSE;
    shape->streamed = TRUE;
    return memory_bill_largest_context(inputs, shape) >= inputs->max_context;
}

gboolean memory_bill_tp_divides(const Model *model, guint64 tp) {
    return model->heads % tp == 0 && model->kv_heads % tp == 0;
}

gboolean memory_bill_tp_works(const BillInputs *inputs, guint64 tp) {
    const Model *model = inputs->model;
    if (memory_bill_tp_divides(model, tp))
        return TRUE;
    return inputs->platform->kind == DEVICE_GPU && inputs->policy->mode == MODE_COLOCATED &&
           model->heads % tp == 0 && tp % model->kv_heads == 0;
}

/* The first shape that fits, by TP · PP and then PP; otherwise the one with room for the longest
 * context, which is returned. */
static guint64 smallest_shape(const BillInputs *inputs, guint64 max_clusters, ReplicaShape *shape) {
    const Model *model = inputs->model;
    guint64 most_tp = shape->role == ROLE_PREFILL ? 1 : model->heads;
    guint64 most = MIN(max_clusters, most_tp * model->layers);
    guint64 longest = 0;
    for (guint64 product = 1; product <= most && longest < inputs->max_context; product++) {
        for (guint64 pp = 1; pp <= MIN(product, model->layers); pp++) {
            guint64 tp = product / pp;
            if (product % pp != 0 || tp > most_tp || !memory_bill_tp_works(inputs, tp))
                continue;
            ReplicaShape candidate = {shape->role, (guint)tp, (guint)pp, shape->streamed};
            guint64 context = memory_bill_largest_context(inputs, &candidate);
            if (context <= longest)
                continue;
            longest = context;
            *shape = candidate;
            if (longest >= inputs->max_context)
                break;
        }
    }
    return longest;
}

char *memory_bill_bytes(double bytes) {
    return g_strdup_printf("%.4g GB", bytes / 1e9);
}

static void append_degrees(GString *text, const ReplicaShape *shape) {
    if (shape->role != ROLE_PREFILL)
        g_string_append_printf(text, "tp=%u ", shape->tp);
    g_string_append_printf(text, "pp=%u", shape->pp);
}

static void append_term(GString *text, const char *name, double bytes) {
    g_autofree char *amount = memory_bill_bytes(bytes);
    g_string_append_printf(text, "%s %s", name, amount);
}

/* "weights 13.48 GB + KV 2.147 GB (1 × 4096 tokens) + overhead 0.1 GB = … of 20 GB …" */
static void append_bill(GString *text, const BillInputs *inputs, const ReplicaShape *shape,
                        guint stage) {
    StageSpan span = stage_span((guint)inputs->model->layers, shape->pp, stage);
    MemoryBill bill = memory_bill_stage(inputs, shape, stage);
    guint64 requests = memory_bill_requests(inputs, shape->role, shape->pp);
    double asked =
        (double)requests * (double)inputs->max_context * token_kv_bytes(inputs, shape, span);
    append_term(text, shape->streamed ? "weights, all but two layers streamed," : "weights",
                bill.weights);
    append_term(text, " + KV", asked);
    g_string_append_printf(text, " (%" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT " tokens)",
                           requests, inputs->max_context);
    if (bill.prefix_cache > 0)
        append_term(text, " + prefix cache", bill.prefix_cache);
    append_term(text, " + overhead", bill.overhead);
    append_term(text, " =", bill.weights + asked + bill.prefix_cache + bill.overhead);
    append_term(text, " of", bill.usable);
    g_string_append_printf(text, " usable per %s",
                           platform_elements_name(inputs->platform->kind, 1));
}

static gboolean would_stream(const BillInputs *inputs, const ReplicaShape *shape) {
    ReplicaShape streamed = *shape;
    streamed.streamed = TRUE;
    return inputs->policy->offload == OFFLOAD_NONE && inputs->platform->host.memory_bytes > 0 &&
           memory_bill_largest_context(inputs, &streamed) >= inputs->max_context;
}

char *memory_bill_refusal(const BillInputs *inputs, const ReplicaShape *shape,
                          guint64 max_clusters) {
    guint tightest = 0;
    memory_bill_tokens(inputs, shape, &tightest);
    GString *text = g_string_new(replica_role_name(shape->role));
    g_string_append(text, " with ");
    append_degrees(text, shape);
    g_string_append_printf(text, " does not fit: stage %u asks for ", tightest);
    append_bill(text, inputs, shape, tightest);

    ReplicaShape better = *shape;
    guint64 longest = smallest_shape(inputs, max_clusters, &better);
    g_string_append(text, "; smallest that fits: ");
    if (longest < inputs->max_context)
        g_string_append(text, "none on this platform");
    if (longest > 0 && longest < inputs->max_context)
        g_string_append_printf(text, " (policy.max_context ≤ %" G_GUINT64_FORMAT " would, with ",
                               longest);
    if (longest > 0)
        append_degrees(text, &better);
    if (longest > 0 && longest < inputs->max_context)
        g_string_append(text, ")");
    if (would_stream(inputs, shape))
        g_string_append(text, "; 'offload: host' would stream its layers");
    return g_string_free(text, FALSE);
}
