#include "policies/search_bounds.h"

#include "policies/memory_bill.h"

#define MOST_SPLITS 5e7 /* walked one by one; some seconds */
#define MOST_POINTS 5000000

static const struct {
    const char *name, *meaning;
} rules[N_PRUNE_RULES] = {
    [PRUNED_TP] = {"tp", "TP does not divide the model's heads or KV heads"},
    [PRUNED_LAYERS] = {"layers", "more stages than the model has layers"},
    [PRUNED_CLUSTERS] = {"clusters", "more clusters than there are"},
    [PRUNED_MEMORY] = {"memory", "weights or one request do not fit"},
    [PRUNED_IDLE] = {"idle", "there is room for one more replica"},
    [PRUNED_CONFLICT] = {"conflict", "the policy refuses these values together"},
};

const char *prune_rule_name(PruneRule rule) {
    return rules[rule].name;
}

/* One searched dimension of the plans of a mode. */
typedef struct Axis {
    SearchDimensionKind kind;
    GArray *values;  /* guint64 */
    char **settings; /* the text of each; the strings are the space's */
    gpointer slot;   /* in the walk's policy */
    gboolean is_name;
} Axis;

/* Whether the shapes of one part of a plan fit the memory, by the indices of its axes. */
typedef enum { FIT_UNKNOWN, FIT_YES, FIT_NO } Fit;

typedef struct Walk {
    SearchSpace *space;
    const SearchSpec *spec;
    BillInputs inputs;        /* of 'policy' */
    Policy policy;            /* the plan that is looked at */
    guint64 clusters;         /* that it may take at most */
    const char *mode_setting; /* or NULL */
    Axis axes[N_SEARCH_DIMENSIONS];
    guint index[N_SEARCH_DIMENSIONS]; /* of each axis's value in 'policy' */
    guint n_axes, n_split;            /* those after n_split are the replicas of a pool */
    guint8 *fits[PART_DECODE + 1];    /* Fit, by part_index */
    gboolean too_many;
} Walk;

static gsize axis_size(const Axis *axis) {
    return axis->values->len;
}

static void axis_apply(Walk *walk, guint axis, guint index) {
    const Axis *at = &walk->axes[axis];
    guint64 value = g_array_index(at->values, guint64, index);
    if (at->is_name)
        *(int *)at->slot = (int)value;
    else
        *(guint64 *)at->slot = value;
    walk->index[axis] = index;
}

static void axis_add(Walk *walk, SearchDimensionKind kind, GArray *values) {
    const SearchDimension *dimension = &search_dimensions[kind];
    Axis *axis = &walk->axes[walk->n_axes++];
    gsize offset;
    const YamlField *field =
        policy_field(walk->policy.mode, dimension->group, dimension->key, &offset);
    *axis = (Axis){.kind = kind,
                   .values = values,
                   .settings = g_new(char *, values->len),
                   .slot = (char *)&walk->policy + offset,
                   .is_name = field->kind == YAML_FIELD_ENUM};
    const char *group = dimension->group == NULL ? "" : dimension->group;
    for (guint i = 0; i < values->len; i++) {
        guint64 value = g_array_index(values, guint64, i);
        g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, value);
        g_autofree char *text =
            g_strdup_printf("policy.%s%s%s=%s", group, group[0] == '\0' ? "" : ".", dimension->key,
                            value < field->names.n_names ? field->names.names[value] : number);
        axis->settings[i] = g_string_chunk_insert_const(walk->space->texts, text);
    }
}

/* Clu_pool of THInfer eq. 20, over all pools, with DP_D decode replicas. */
static guint64 clusters_of(const Policy *policy) {
    if (policy->mode == MODE_WAFER)
        return policy->pools * policy->wafer.dp;
    guint64 pool = policy->decode.dp * policy->decode.tp * policy->decode.pp;
    if (policy->mode == MODE_PBD)
        pool += policy->prefill.dp * policy->prefill.pp + policy->buffer.clusters;
    return policy->pools * pool;
}

/* What check_batching and check_micro_batches of policy_read.c refuse. */
static gboolean conflicts(const Policy *policy) {
    if (policy->decode.micro_batches > policy->decode.pp)
        return TRUE;
    return policy->decode.batching != BATCHING_CONTINUOUS &&
           (policy->kv_reservation == KV_RESERVE_ON_DEMAND || policy->decode.chunk_tokens > 0);
}

/* The first rule that holds for every number of replicas and is broken, or N_PRUNE_RULES. */
static PruneRule broken_by_split(const Walk *walk) {
    const Policy *policy = &walk->policy;
    const Model *model = walk->inputs.model;
    if (conflicts(policy))
        return PRUNED_CONFLICT;
    if (!memory_bill_tp_works(&walk->inputs, policy->decode.tp))
        return PRUNED_TP;
    gboolean deep = policy->mode == MODE_PBD && policy->prefill.pp > model->layers;
    return deep || policy->decode.pp > model->layers ? PRUNED_LAYERS : N_PRUNE_RULES;
}

/* A number for the values of one part's axes, replicas apart; 'n' (may be NULL): how many numbers
 * there are. */
static gsize part_index(const Walk *walk, SearchPart part, gsize *n) {
    gsize index = 0, count = 1;
    for (guint i = 0; i < walk->n_split; i++) {
        if (search_dimensions[walk->axes[i].kind].part != part)
            continue;
        index = index * axis_size(&walk->axes[i]) + walk->index[i];
        count *= axis_size(&walk->axes[i]);
    }
    if (n != NULL)
        *n = count;
    return index;
}

/* Grids that are left open are chosen later, among those that fit. */
static gboolean wafer_fits(const BillInputs *inputs) {
    WaferNeed need = {.model = inputs->model,
                      .mesh = &inputs->platform->mesh,
                      .spec = inputs->policy->wafer,
                      .max_context = inputs->max_context};
    WaferUse use = {0};
    return (need.spec.prefill_grid == 0 || wafer_use_prefill(&need, &use, NULL)) &&
           (need.spec.decode_grid == 0 || wafer_use_decode(&need, &use, NULL));
}

static gboolean part_fits(Walk *walk, SearchPart part, ReplicaShape shape) {
    guint8 *fit = &walk->fits[part][part_index(walk, part, NULL)];
    if (*fit == FIT_UNKNOWN) {
        gboolean fits = walk->policy.mode == MODE_WAFER ? wafer_fits(&walk->inputs)
                                                        : memory_bill_fits(&walk->inputs, &shape);
        *fit = fits ? FIT_YES : FIT_NO;
    }
    return *fit == FIT_YES;
}

static gboolean split_fits(Walk *walk) {
    const Policy *policy = &walk->policy;
    ReplicaShape decode = {.role = policy->mode == MODE_PBD ? ROLE_DECODE : ROLE_COLOCATED,
                           .tp = (guint)policy->decode.tp,
                           .pp = (guint)policy->decode.pp};
    ReplicaShape prefill = {.role = ROLE_PREFILL, .tp = 1, .pp = (guint)policy->prefill.pp};
    return part_fits(walk, PART_DECODE, decode) &&
           (policy->mode != MODE_PBD || part_fits(walk, PART_PREFILL, prefill));
}

static void keep(Walk *walk) {
    SearchSpace *space = walk->space;
    if (space->points->len == MOST_POINTS) {
        walk->too_many = TRUE;
        return;
    }
    gsize most = walk->n_axes + 2;
    SearchPoint *point = g_malloc(sizeof *point + most * sizeof(char *));
    point->settings = (char **)(point + 1);
    point->clusters = clusters_of(&walk->policy);
    guint n = 0;
    if (walk->mode_setting != NULL)
        point->settings[n++] = (char *)walk->mode_setting;
    for (guint i = 0; i < walk->n_axes; i++)
        point->settings[n++] = walk->axes[i].settings[walk->index[i]];
    point->settings[n] = NULL;
    g_ptr_array_add(space->points, point);
}

/* Whether the next larger number of replicas of an axis has room too. */
static gboolean has_room(Walk *walk, guint axis) {
    guint index = walk->index[axis];
    if (!search_dimensions[walk->axes[axis].kind].replicas ||
        index + 1 == axis_size(&walk->axes[axis]))
        return FALSE;
    axis_apply(walk, axis, index + 1);
    gboolean room = clusters_of(&walk->policy) <= walk->clusters;
    axis_apply(walk, axis, index);
    return room;
}

static gboolean is_idle(Walk *walk) {
    for (guint i = 0; i < walk->n_axes; i++)
        if (has_room(walk, i))
            return TRUE;
    return FALSE;
}

/* How many values of an ascending axis leave the plan within the clusters. */
static guint values_within(Walk *walk, guint axis) {
    guint low = 0, high = (guint)axis_size(&walk->axes[axis]);
    while (low < high) {
        guint middle = low + (high - low) / 2;
        axis_apply(walk, axis, middle);
        if (clusters_of(&walk->policy) <= walk->clusters)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The innermost axis: its values within the clusters come first, and of them only the last can be
 * without room for one more. */
static void walk_last(Walk *walk, gboolean fits) {
    guint axis = walk->n_axes - 1;
    guint64 *pruned = walk->space->pruned;
    guint n = (guint)axis_size(&walk->axes[axis]), within = values_within(walk, axis);
    pruned[PRUNED_CLUSTERS] += n - within;
    if (!fits) {
        pruned[PRUNED_MEMORY] += within;
        return;
    }
    guint first = walk->spec->use_all && within > 0 ? within - 1 : 0;
    pruned[PRUNED_IDLE] += first;
    for (guint i = first; i < within; i++) {
        axis_apply(walk, axis, i);
        if (walk->spec->use_all && is_idle(walk))
            pruned[PRUNED_IDLE]++;
        else
            keep(walk);
    }
}

static void walk_replicas(Walk *walk, guint axis, gboolean fits) {
    if (axis + 1 == walk->n_axes) {
        walk_last(walk, fits);
        return;
    }
    for (guint i = 0; i < axis_size(&walk->axes[axis]); i++) {
        axis_apply(walk, axis, i);
        walk_replicas(walk, axis + 1, fits);
    }
}

static double plans_from(const Walk *walk, guint first, guint end) {
    double plans = 1;
    for (guint i = first; i < end; i++)
        plans *= (double)axis_size(&walk->axes[i]);
    return plans;
}

static void walk_split(Walk *walk, guint axis) {
    if (axis < walk->n_split) {
        for (guint i = 0; i < axis_size(&walk->axes[axis]) && !walk->too_many; i++) {
            axis_apply(walk, axis, i);
            walk_split(walk, axis + 1);
        }
        return;
    }
    PruneRule broken = broken_by_split(walk);
    if (broken == N_PRUNE_RULES) {
        walk_replicas(walk, walk->n_split, split_fits(walk));
        return;
    }
    walk->space->pruned[broken] += (guint64)plans_from(walk, walk->n_split, walk->n_axes);
}

static gboolean space_error(const YamlNode *place, GError **error, const char *message) {
    if (place != NULL)
        return yaml_error(place, INPUT_ERROR_CONFLICT, error, "%s", message);
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, message);
    return FALSE;
}

/* Sets up the axes of one mode: splits first, then replicas. */
static void walk_open(Walk *walk, const BoundInputs *bounds) {
    for (guint replicas = 0; replicas <= 1; replicas++) {
        for (SearchDimensionKind kind = 0; kind < N_SEARCH_DIMENSIONS; kind++) {
            gboolean last = search_dimensions[kind].replicas && kind != DIM_POOLS;
            if (!search_dimension_in(kind, walk->policy.mode) || last != (replicas == 1))
                continue;
            GArray *values = search_bounds(bounds, kind);
            if (values != NULL)
                axis_add(walk, kind, values);
        }
        if (replicas == 0)
            walk->n_split = walk->n_axes;
    }
    for (SearchPart part = 0; part < G_N_ELEMENTS(walk->fits); part++) {
        gsize n;
        part_index(walk, part, &n);
        walk->fits[part] = g_new0(guint8, n);
    }
}

static void walk_close(Walk *walk) {
    for (guint i = 0; i < walk->n_axes; i++) {
        g_array_unref(walk->axes[i].values);
        g_free(walk->axes[i].settings);
    }
    for (guint i = 0; i < G_N_ELEMENTS(walk->fits); i++)
        g_free(walk->fits[i]);
}

static gboolean walk_is_short(const Walk *walk, GError **error) {
    if (!walk->too_many && plans_from(walk, 0, walk->n_axes - 1) <= MOST_SPLITS)
        return TRUE;
    g_autofree char *message = g_strdup_printf(
        "%.3g plans of mode '%s' are too many to search: bound more of the policy's keys",
        plans_from(walk, 0, walk->n_axes), policy_mode_names.names[walk->policy.mode]);
    return space_error(walk->spec->place, error, message);
}

/* Enumerates the plans of the mode of 'policy'. */
static gboolean add_mode(SearchSpace *space, const BoundInputs *bounds, GError **error) {
    const Policy *policy = bounds->policy;
    Walk walk = {.space = space,
                 .spec = bounds->spec,
                 .policy = *policy,
                 .clusters = bounds->clusters,
                 .inputs = {.model = bounds->model,
                            .platform = bounds->platform,
                            .max_context = policy->max_context > 0 ? policy->max_context
                                                                   : bounds->model->max_context}};
    walk.inputs.policy = &walk.policy;
    if (bounds->spec->modes != NULL) {
        g_autofree char *setting =
            g_strconcat("policy.mode=", policy_mode_names.names[policy->mode], NULL);
        walk.mode_setting = g_string_chunk_insert_const(space->texts, setting);
    }
    walk_open(&walk, bounds);
    gboolean right = walk_is_short(&walk, error);
    if (right) {
        space->enumerated += (guint64)plans_from(&walk, 0, walk.n_axes);
        walk_split(&walk, 0);
        right = walk_is_short(&walk, error);
    }
    walk_close(&walk);
    return right;
}

/* Bounds of a group that no plan of the searched modes has. */
static gboolean groups_are_used(const SearchSpec *spec, const GArray *modes, GError **error) {
    for (SearchDimensionKind kind = 0; kind < N_SEARCH_DIMENSIONS; kind++) {
        gboolean used = spec->places[kind] == NULL;
        for (guint i = 0; i < modes->len; i++)
            used = used || search_dimension_in(kind, (ServingMode)g_array_index(modes, guint64, i));
        if (!used)
            return yaml_error(spec->places[kind], INPUT_ERROR_CONFLICT, error,
                              "'%s.%s' belongs to mode '%s', which is not searched",
                              search_dimensions[kind].group, search_dimensions[kind].key,
                              policy_mode_names.names[search_dimensions[kind].mode]);
    }
    return TRUE;
}

/* "no plan is left of 96: 32 by rule 'tp' (…), and the last 64 by rule 'memory' (…)" */
static gboolean is_not_empty(const SearchSpace *space, const SearchSpec *spec, GError **error) {
    static const PruneRule order[] = {PRUNED_CONFLICT, PRUNED_TP, PRUNED_LAYERS, PRUNED_CLUSTERS,
                                      PRUNED_MEMORY};
    if (space->points->len > 0)
        return TRUE;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "the search space is empty: of %" G_GUINT64_FORMAT " plans",
                    space->enumerated);
    guint64 left = space->enumerated;
    for (guint i = 0; i < G_N_ELEMENTS(order) && left > 0; i++) {
        guint64 pruned = space->pruned[order[i]];
        if (pruned == 0)
            continue;
        const char *before = left == space->enumerated ? "" : ",";
        const char *last = pruned < left ? "" : before[0] == '\0' ? " all" : " and the last";
        g_string_append_printf(text, "%s%s %" G_GUINT64_FORMAT " break rule '%s' (%s)", before,
                               last, pruned, rules[order[i]].name, rules[order[i]].meaning);
        left -= pruned;
    }
    return space_error(spec->place, error, text->str);
}

/* Wafers serve in a mode of their own, and nothing else does. */
static gboolean modes_are_possible(const SearchSpec *spec, const GArray *modes,
                                   const Platform *platform, GError **error) {
    for (guint i = 0; i < modes->len; i++) {
        ServingMode mode = (ServingMode)g_array_index(modes, guint64, i);
        if ((mode == MODE_WAFER) == (platform->kind == DEVICE_WAFER))
            continue;
        g_autofree char *message = g_strdup_printf(
            "mode '%s' is not for platform '%s', which is of %s", policy_mode_names.names[mode],
            platform->name, platform_elements_name(platform->kind, 0));
        return space_error(spec->place, error, message);
    }
    return TRUE;
}

static GArray *searched_modes(const SearchSpec *spec, const Policy *base) {
    if (spec->modes != NULL)
        return g_array_ref(spec->modes);
    GArray *modes = g_array_new(FALSE, FALSE, sizeof(guint64));
    guint64 mode = base->mode;
    g_array_append_val(modes, mode);
    return modes;
}

static SearchSpace *space_alloc(void) {
    SearchSpace *space = g_new0(SearchSpace, 1);
    space->points = g_ptr_array_new_with_free_func(g_free);
    space->texts = g_string_chunk_new(4096);
    return space;
}

SearchSpace *search_space_new(const SearchSpec *spec, const Policy *base, const Model *model,
                              const Platform *platform, guint64 clusters, GError **error) {
    g_autoptr(GArray) modes = searched_modes(spec, base);
    if (!modes_are_possible(spec, modes, platform, error) || !groups_are_used(spec, modes, error))
        return NULL;
    g_autoptr(SearchSpace) space = space_alloc();
    guint64 most = platform_clusters(platform);
    most = clusters > 0 ? MIN(most, clusters) : most;
    most = spec->clusters > 0 ? MIN(most, spec->clusters) : most;
    for (guint i = 0; i < modes->len; i++) {
        ServingMode mode = (ServingMode)g_array_index(modes, guint64, i);
        g_autoptr(Policy) policy = search_policy_in(base, mode, platform->kind, error);
        BoundInputs bounds = {spec, policy, model, platform, most};
        if (policy == NULL || !add_mode(space, &bounds, error))
            return NULL;
    }
    return is_not_empty(space, spec, error) ? g_steal_pointer(&space) : NULL;
}

void search_space_free(SearchSpace *space) {
    if (space == NULL)
        return;
    g_ptr_array_unref(space->points);
    g_string_chunk_free(space->texts);
    g_free(space);
}
