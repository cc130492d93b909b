#include "policies/search_bounds.h"

#include "policies/memory_bill.h"

#define LEAST_TP_REACH 8 /* ranks that are tried even where a node holds fewer clusters */
#define MOST_REPLICAS 4096

static void add(GArray *values, guint64 value) {
    g_array_append_val(values, value);
}

static void add_tp(const BoundInputs *inputs, GArray *values) {
    const Platform *platform = inputs->platform;
    BillInputs bill = {.policy = inputs->policy, .model = inputs->model, .platform = platform};
    guint64 node = platform->processors_per_node * platform->clusters_per_processor;
    guint64 most = MIN(inputs->clusters, MAX(node, LEAST_TP_REACH));
    for (guint64 tp = 1; tp <= most; tp *= 2)
        if (memory_bill_tp_works(&bill, tp))
            add(values, tp);
}

static void add_pp(const BoundInputs *inputs, GArray *values) {
    guint64 layers = inputs->model->layers;
    for (guint64 pp = 1; pp <= MIN(layers, inputs->clusters); pp++)
        if (layers % pp == 0)
            add(values, pp);
}

static void add_dp(const BoundInputs *inputs, GArray *values) {
    for (guint64 dp = 1; dp <= MIN(inputs->clusters, MOST_REPLICAS); dp++)
        add(values, dp);
}

static void add_micro_batch(const BoundInputs *inputs G_GNUC_UNUSED, GArray *values) {
    add(values, 1);
    add(values, 4);
}

static void add_buffer(const BoundInputs *inputs G_GNUC_UNUSED, GArray *values) {
    for (guint64 clusters = 1; clusters <= 4; clusters *= 2)
        add(values, clusters);
}

static void add_slots(const BoundInputs *inputs G_GNUC_UNUSED, GArray *values) {
    for (guint64 slots = 8; slots <= 64; slots *= 2)
        add(values, slots);
}

static void add_k(const BoundInputs *inputs G_GNUC_UNUSED, GArray *values) {
    for (guint64 k = 1; k <= 3; k++)
        add(values, k);
}

typedef void (*AddBounds)(const BoundInputs *inputs, GArray *values);
static const AddBounds adders[N_SEARCH_DIMENSIONS] = {
    [DIM_PREFILL_PP] = add_pp,          [DIM_PREFILL_MICRO_BATCH] = add_micro_batch,
    [DIM_BUFFER_CLUSTERS] = add_buffer, [DIM_DECODE_TP] = add_tp,
    [DIM_DECODE_PP] = add_pp,           [DIM_DECODE_SLOTS] = add_slots,
    [DIM_COLOCATED_TP] = add_tp,        [DIM_COLOCATED_PP] = add_pp,
    [DIM_COLOCATED_SLOTS] = add_slots,  [DIM_WAFER_K_TREE] = add_k,
    [DIM_PREFILL_DP] = add_dp,          [DIM_DECODE_DP] = add_dp,
    [DIM_COLOCATED_DP] = add_dp,        [DIM_WAFER_DP] = add_dp,
};

/* Into its place among ascending ones. */
static void insert(GArray *values, guint64 value) {
    guint place = 0;
    while (place < values->len && g_array_index(values, guint64, place) < value)
        place++;
    if (place == values->len || g_array_index(values, guint64, place) != value)
        g_array_insert_val(values, place, value);
}

static guint64 own_value(const BoundInputs *inputs, SearchDimensionKind kind) {
    const SearchDimension *dimension = &search_dimensions[kind];
    gsize offset;
    const YamlField *field =
        policy_field(inputs->policy->mode, dimension->group, dimension->key, &offset);
    g_assert(field != NULL && field->kind == YAML_FIELD_COUNT);
    return *(const guint64 *)((const char *)inputs->policy + offset);
}

GArray *search_bounds(const BoundInputs *inputs, SearchDimensionKind kind) {
    if (inputs->spec->values[kind] != NULL)
        return g_array_ref(inputs->spec->values[kind]);
    if (adders[kind] == NULL)
        return NULL;
    GArray *values = g_array_new(FALSE, FALSE, sizeof(guint64));
    adders[kind](inputs, values);
    if (!search_dimensions[kind].replicas)
        insert(values, own_value(inputs, kind));
    return values;
}

Policy *search_policy_in(const Policy *base, ServingMode mode, DeviceKind kind, GError **error) {
    g_autoptr(GString) text = g_string_new(NULL);
    policy_write(base, 0, text);
    g_autoptr(YamlNode) section = yaml_load_text(text->str, "policy", error);
    if (section == NULL)
        return NULL;
    /* As an option would set it: what belongs to another mode falls away. */
    yaml_put(section, "mode", yaml_scalar_new(policy_mode_names.names[mode], "search"));
    return policy_read(section, kind, error);
}
