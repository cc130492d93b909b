#include "policies/memory_bill.h"
#include "policies/placement.h"
#include "policies/weight_stream.h"
#include "workloads/request_source.h"

const char *replica_role_name(ReplicaRole role) {
    static const char *const names[N_ROLES] = {
        [ROLE_PREFILL] = "prefill", [ROLE_DECODE] = "decode", [ROLE_COLOCATED] = "colocated"};
    return names[role];
}

/* A kind of replica that every pool has, and how many of it. */
typedef struct PoolPart {
    ReplicaShape shape;
    guint replicas;
} PoolPart;

/* What one pool is made of. Parts in the order of Plan.replicas. */
typedef struct PoolLayout {
    PoolPart parts[2];
    guint n_parts;
    guint buffers;
} PoolLayout;

static PoolLayout pool_layout(const Policy *policy) {
    PoolPart decode = {.shape = {.role = policy->mode == MODE_PBD ? ROLE_DECODE : ROLE_COLOCATED,
                                 .tp = (guint)policy->decode.tp,
                                 .pp = (guint)policy->decode.pp},
                       .replicas = (guint)policy->decode.dp};
    if (policy->mode != MODE_PBD)
        return (PoolLayout){.parts = {decode}, .n_parts = 1};
    PoolPart prefill = {.shape = {.role = ROLE_PREFILL, .tp = 1, .pp = (guint)policy->prefill.pp},
                        .replicas = (guint)policy->prefill.dp};
    return (PoolLayout){
        .parts = {prefill, decode}, .n_parts = 2, .buffers = (guint)policy->buffer.clusters};
}

static guint64 part_clusters(const PoolPart *part) {
    return (guint64)part->replicas * part->shape.tp * part->shape.pp;
}

/* Clu_pool = DP_P · PP_P + TP_D · PP_D + B_P, THInfer eq. 20, with DP_D decode replicas. */
static guint64 pool_clusters(const PoolLayout *layout) {
    guint64 clusters = layout->buffers;
    for (guint i = 0; i < layout->n_parts; i++)
        clusters += part_clusters(&layout->parts[i]);
    return clusters;
}

static gboolean check_context(const BillInputs *inputs, const YamlNode *place, GError **error) {
    const Model *model = inputs->model;
    if (inputs->max_context <= model->max_context)
        return TRUE;
    return yaml_error(policy_place(place, "max_context", NULL), INPUT_ERROR_CONFLICT, error,
                      "max_context %" G_GUINT64_FORMAT " exceeds the %" G_GUINT64_FORMAT
                      " tokens of model '%s'",
                      inputs->max_context, model->max_context, model->name);
}

/* The operator graphs of clusters know dense layers only. */
static gboolean check_dense(const BillInputs *inputs, const YamlNode *place, GError **error) {
    if (inputs->model->experts == 0 || inputs->platform->kind == DEVICE_WAFER)
        return TRUE;
    return yaml_error(place, INPUT_ERROR_CONFLICT, error,
                      "model '%s' has experts, which platform kind '%s' does not run",
                      inputs->model->name, platform_kind_name(inputs->platform->kind));
}

/* What is made for the DSPs of a cluster and their memories does not run on GPUs. */
static gboolean check_gpu(const BillInputs *inputs, const YamlNode *place, GError **error) {
    const Policy *policy = inputs->policy;
    const struct {
        const char *key, *value, *works;
        gboolean used;
    } keys[] = {
        {"attention", "mt", "'flash' or 'unfused'", policy->attention == ATTENTION_POLICY_MT},
        {"fusion", "on", "'off'", policy->fusion == FUSION_ON},
        {"operators", "reference", "'optimised'", policy->operators == OPERATORS_REFERENCE},
        {"grain", "operator", "'step'", policy->grain == GRAIN_OPERATOR},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys) && inputs->platform->kind == DEVICE_GPU; i++)
        if (keys[i].used)
            return yaml_error(
                policy_place(place, keys[i].key, NULL), INPUT_ERROR_CONFLICT, error,
                "'%s: %s' is for clusters of DSPs; on platform '%s', which is of kind "
                "'gpu', it must be %s",
                keys[i].key, keys[i].value, inputs->platform->name, keys[i].works);
    return TRUE;
}

static gboolean check_tp(const BillInputs *inputs, const YamlNode *place, GError **error) {
    const Policy *policy = inputs->policy;
    const Model *model = inputs->model;
    guint64 tp = policy->decode.tp;
    if (memory_bill_tp_works(inputs, tp))
        return TRUE;
    guint64 works = tp;
    while (!memory_bill_tp_works(inputs, works))
        works--;
    gboolean heads = model->heads % tp != 0;
    return yaml_error(policy_place(place, policy_decode_key(policy->mode), "tp"),
                      INPUT_ERROR_CONFLICT, error,
                      "tp %" G_GUINT64_FORMAT " does not divide the %" G_GUINT64_FORMAT
                      " %s of model '%s'; the next smaller that works is %" G_GUINT64_FORMAT,
                      tp, heads ? model->heads : model->kv_heads, heads ? "heads" : "KV heads",
                      model->name, works);
}

static const char *role_key(const Policy *policy, ReplicaRole role) {
    return role == ROLE_PREFILL ? "prefill" : policy_decode_key(policy->mode);
}

static gboolean check_stages(const BillInputs *inputs, const PoolLayout *layout,
                             const YamlNode *place, GError **error) {
    const Model *model = inputs->model;
    for (guint i = 0; i < layout->n_parts; i++) {
        const ReplicaShape *shape = &layout->parts[i].shape;
        if (shape->pp > model->layers)
            return yaml_error(policy_place(place, role_key(inputs->policy, shape->role), "pp"),
                              INPUT_ERROR_CONFLICT, error,
                              "pp %u exceeds the %" G_GUINT64_FORMAT " layers of model '%s'",
                              shape->pp, model->layers, model->name);
    }
    return TRUE;
}

/* "prefill dp 2 · pp 1 + buffer 1 + decode dp 1 · tp 4 · pp 2" */
static char *layout_text(const PoolLayout *layout) {
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < layout->n_parts; i++) {
        const PoolPart *part = &layout->parts[i];
        g_string_append_printf(text, "%s%s dp %u", i > 0 ? " + " : "",
                               replica_role_name(part->shape.role), part->replicas);
        if (part->shape.role != ROLE_PREFILL)
            g_string_append_printf(text, " · tp %u", part->shape.tp);
        g_string_append_printf(text, " · pp %u", part->shape.pp);
    }
    if (layout->buffers > 0)
        g_string_append_printf(text, " + buffer %u", layout->buffers);
    return g_string_free(text, FALSE);
}

static gboolean check_clusters(const BillInputs *inputs, const PoolLayout *layout,
                               const YamlNode *place, GError **error) {
    guint available = platform_clusters(inputs->platform);
    guint64 pools = inputs->policy->pools;
    guint64 needed = pools * pool_clusters(layout);
    if (needed <= available)
        return TRUE;
    g_autofree char *parts = layout_text(layout);
    return yaml_error(place, INPUT_ERROR_CONFLICT, error,
                      "the plan needs %" G_GUINT64_FORMAT " %s and platform '%s' has %u: "
                      "%" G_GUINT64_FORMAT " × (%s)",
                      needed, platform_elements_name(inputs->platform->kind, needed),
                      inputs->platform->name, available, pools, parts);
}

/* A cache that holds no block would never hit. */
static gboolean check_prefix_cache(const BillInputs *inputs, const PoolLayout *layout,
                                   const YamlNode *place, GError **error) {
    const Policy *policy = inputs->policy;
    ReplicaRole role = layout->parts[0].shape.role;
    double bytes = role == ROLE_PREFILL ? policy->prefill.prefix_cache_bytes
                                        : policy->decode.prefix_cache_bytes;
    double block = PREFIX_BLOCK_TOKENS * (double)model_kv_bytes_per_token(inputs->model);
    if (bytes == 0 || bytes >= block)
        return TRUE;
    g_autofree char *amount = units_format_brief(bytes, DIMENSION_BYTES);
    g_autofree char *least = units_format_brief(block, DIMENSION_BYTES);
    return yaml_error(policy_place(place, role_key(policy, role), "prefix_cache_bytes"),
                      INPUT_ERROR_CONFLICT, error,
                      "prefix_cache_bytes %s holds no block of %d tokens, which takes %s in "
                      "model '%s'",
                      amount, PREFIX_BLOCK_TOKENS, least, inputs->model->name);
}

static gboolean check_memory(const BillInputs *inputs, PoolLayout *layout, const YamlNode *place,
                             GError **error) {
    guint64 clusters = platform_clusters(inputs->platform) / inputs->policy->pools;
    for (guint i = 0; i < layout->n_parts; i++) {
        PoolPart *part = &layout->parts[i];
        if (memory_bill_fits(inputs, &part->shape))
            continue;
        guint64 others = pool_clusters(layout) - part_clusters(part);
        g_assert(part->replicas > 0);
        g_autofree char *refusal =
            memory_bill_refusal(inputs, &part->shape, (clusters - others) / part->replicas);
        return yaml_error(policy_place(place, role_key(inputs->policy, part->shape.role), NULL),
                          INPUT_ERROR_CONFLICT, error, "%s", refusal);
    }
    return TRUE;
}

static ReplicaPlan replica_new(const BillInputs *inputs, const ReplicaShape *shape) {
    ReplicaPlan replica = {.role = shape->role,
                           .n_stages = shape->pp,
                           .stages = g_new0(StagePlan, shape->pp),
                           .kv_bytes_per_token = (double)model_kv_bytes_per_token(inputs->model)};
    if (shape->role != ROLE_PREFILL)
        replica.kv_tokens = memory_bill_tokens(inputs, shape, NULL);
    for (guint i = 0; i < shape->pp; i++) {
        StageSpan span = stage_span((guint)inputs->model->layers, shape->pp, i);
        replica.stages[i] = (StagePlan){.first_layer = span.first_layer,
                                        .layers = span.layers,
                                        .tp = shape->tp,
                                        .clusters = g_new(guint, shape->tp),
                                        .weight_bytes = memory_bill_weights(inputs, shape, i),
                                        .bill = memory_bill_stage(inputs, shape, i),
                                        .stream = weight_stream_new(inputs, shape, i)};
    }
    return replica;
}

/* Appends the replicas of one pool, prefill first. */
static void add_replicas(Plan *plan, const BillInputs *inputs, const PoolLayout *layout,
                         guint pool) {
    for (guint i = 0; i < layout->n_parts; i++) {
        for (guint index = 0; index < layout->parts[i].replicas; index++) {
            ReplicaPlan *replica = &plan->replicas[plan->n_replicas++];
            *replica = replica_new(inputs, &layout->parts[i].shape);
            replica->pool = pool;
            replica->index = index;
        }
    }
}

/* Gives clusters to the replicas from 'first' on that are for prefill, or to those that are not. */
static void place_replicas(Plan *plan, Placement *placement, guint first, gboolean prefill) {
    for (guint i = first; i < plan->n_replicas; i++) {
        const ReplicaPlan *replica = &plan->replicas[i];
        if ((replica->role == ROLE_PREFILL) != prefill)
            continue;
        for (guint stage = 0; stage < replica->n_stages; stage++)
            placement_take(placement, replica->stages[stage].tp, replica->stages[stage].clusters);
    }
}

static void add_buffer(Plan *plan, const BillInputs *inputs, Placement *placement, guint pool) {
    BufferPlan *buffer = &plan->buffers[plan->n_buffers++];
    buffer->pool = pool;
    buffer->bytes = inputs->platform->cluster.ddr_usable_bytes - inputs->policy->overhead_bytes;
    placement_take(placement, 1, &buffer->cluster);
}

static Plan *build(const BillInputs *inputs, const PoolLayout *layout) {
    guint pools = (guint)inputs->policy->pools, replicas = 0;
    for (guint i = 0; i < layout->n_parts; i++)
        replicas += layout->parts[i].replicas;
    Plan *plan = g_new0(Plan, 1);
    plan->replicas = g_new0(ReplicaPlan, (gsize)pools * replicas);
    plan->buffers = g_new0(BufferPlan, (gsize)pools * layout->buffers);
    plan->clusters_used = (guint)(pools * pool_clusters(layout));
    plan->clusters_available = platform_clusters(inputs->platform);
    plan->kind = inputs->platform->kind;
    plan->max_context = inputs->max_context;

    g_autoptr(Placement) placement = placement_new(inputs->policy->placement, inputs->platform);
    for (guint pool = 0; pool < pools; pool++) {
        guint first = plan->n_replicas;
        add_replicas(plan, inputs, layout, pool);
        /* TP groups choose first, while whole processors are free. */
        place_replicas(plan, placement, first, FALSE);
        place_replicas(plan, placement, first, TRUE);
        for (guint i = 0; i < layout->buffers; i++)
            add_buffer(plan, inputs, placement, pool);
    }
    return plan;
}

/* Wafers serve by phases of their own, and nothing else does. */
static gboolean check_kind(const BillInputs *inputs, const YamlNode *place, GError **error) {
    const Platform *platform = inputs->platform;
    ServingMode mode = inputs->policy->mode;
    if ((mode == MODE_WAFER) == (platform->kind == DEVICE_WAFER))
        return TRUE;
    return yaml_error(
        policy_place(place, "mode", NULL), INPUT_ERROR_CONFLICT, error,
        mode == MODE_WAFER
            ? "mode '%s' needs a platform of kind 'wafer', which '%s' is not"
            : "mode '%s' is not for platform '%s', which is of kind 'wafer': its mode "
              "is 'wafer'",
        policy_mode_names.names[mode], platform->name);
}

static gboolean check_wafers(const BillInputs *inputs, guint64 dp, const YamlNode *place,
                             GError **error) {
    guint available = platform_clusters(inputs->platform);
    guint64 pools = inputs->policy->pools;
    if (dp >= 1 && pools * dp <= available)
        return TRUE;
    return yaml_error(policy_place(place, "wafer", "dp"), INPUT_ERROR_CONFLICT, error,
                      "the plan needs %" G_GUINT64_FORMAT " wafers (pools %" G_GUINT64_FORMAT
                      " × dp %" G_GUINT64_FORMAT ") and platform '%s' has %u",
                      pools * MAX(dp, 1), pools, MAX(dp, 1), inputs->platform->name, available);
}

/* The cause (taken over) at the grid that it speaks of. */
static gboolean grid_error(const YamlNode *place, const char *grid, GError *cause, GError **error) {
    yaml_error(policy_place(place, "wafer", grid), INPUT_ERROR_CONFLICT, error, "%s",
               cause->message);
    g_error_free(cause);
    return FALSE;
}

static gboolean use_wafers(const BillInputs *inputs, const YamlNode *place, WaferUse *use,
                           GError **error) {
    WaferNeed need = {.model = inputs->model,
                      .mesh = &inputs->platform->mesh,
                      .spec = inputs->policy->wafer,
                      .max_context = inputs->max_context};
    GError *cause = NULL;
    g_assert(need.spec.prefill_grid > 0 && need.spec.decode_grid > 0);
    if (!wafer_use_prefill(&need, use, &cause))
        return grid_error(place, "prefill_grid", cause, error);
    if (!wafer_use_decode(&need, use, &cause))
        return grid_error(place, "decode_grid", cause, error);
    return TRUE;
}

/* What the regions hold, all of their cores together. */
static void fill_wafer(ReplicaPlan *replica, const WaferUse *use) {
    double grid = (double)use->spec.decode_grid;
    double cores = (double)use->spec.regions * grid * grid;
    replica->kv_tokens = wafer_use_tokens(use);
    replica->stages[0].bill = (MemoryBill){
        .weights = cores * use->weight_bytes,
        .kv = cores * (use->usable_bytes - use->weight_bytes),
        .usable = cores * use->usable_bytes,
    };
}

static Plan *plan_wafers(const BillInputs *inputs, const YamlNode *place, GError **error) {
    Policy policy = *inputs->policy;
    BillInputs resolved = *inputs;
    WaferUse use = {0};
    if (policy.wafer.dp == 0)
        policy.wafer.dp = platform_clusters(inputs->platform) / policy.pools;
    policy.decode.dp = policy.wafer.dp;
    resolved.policy = &policy;
    if (!check_wafers(inputs, policy.wafer.dp, place, error) ||
        !use_wafers(inputs, place, &use, error))
        return NULL;
    PoolLayout layout = pool_layout(&policy);
    Plan *plan = build(&resolved, &layout);
    plan->wafer = use;
    plan->wafer.spec.dp = policy.wafer.dp;
    for (guint i = 0; i < plan->n_replicas; i++)
        fill_wafer(&plan->replicas[i], &use);
    return plan;
}

Plan *plan_new(const Policy *policy, const Model *model, const Platform *platform,
               const YamlNode *place, GError **error) {
    BillInputs inputs = {.policy = policy,
                         .model = model,
                         .platform = platform,
                         .max_context =
                             policy->max_context > 0 ? policy->max_context : model->max_context};
    if (!check_kind(&inputs, place, error) || !check_dense(&inputs, place, error) ||
        !check_context(&inputs, place, error))
        return NULL;
    if (policy->mode == MODE_WAFER)
        return plan_wafers(&inputs, place, error);
    PoolLayout layout = pool_layout(policy);
    if (!check_gpu(&inputs, place, error) || !weight_stream_check_host(&inputs, place, error))
        return NULL;
    if (!check_tp(&inputs, place, error) || !check_stages(&inputs, &layout, place, error) ||
        !check_clusters(&inputs, &layout, place, error) ||
        !check_prefix_cache(&inputs, &layout, place, error) ||
        !check_memory(&inputs, &layout, place, error))
        return NULL;
    g_autoptr(Plan) plan = build(&inputs, &layout);
    return weight_stream_complete(&inputs, plan, place, error) ? g_steal_pointer(&plan) : NULL;
}

gboolean plan_holds(const Plan *plan, guint64 prompt_tokens, guint64 output_tokens) {
    return plan->wafer.spec.decode_grid == 0 ||
           wafer_use_holds(&plan->wafer, prompt_tokens, output_tokens);
}

const char *plan_replica_name(const Plan *plan, const ReplicaPlan *replica) {
    return plan->wafer.spec.decode_grid > 0 ? "wafer" : replica_role_name(replica->role);
}

void plan_free(Plan *plan) {
    if (plan == NULL)
        return;
    for (guint i = 0; i < plan->n_replicas; i++) {
        for (guint stage = 0; stage < plan->replicas[i].n_stages; stage++)
            g_free(plan->replicas[i].stages[stage].clusters);
        g_free(plan->replicas[i].stages);
    }
    g_free(plan->replicas);
    g_free(plan->buffers);
    g_free(plan);
}
