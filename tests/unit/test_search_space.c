/* Spaces against every plan made by plan_new one by one, the section's errors, and what is
 * written. */
#include "policies/search_space.h"
#include "tests/unit/plan_setting.h"

#include <string.h>

static SearchSpec *spec_of(const char *text) {
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_text(text, "s.yaml", &error);
    g_assert_no_error(error);
    SearchSpec *spec = search_spec_read(section, &error);
    g_assert_no_error(error);
    return spec;
}

static Policy *policy_of(const char *text) {
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_text(text, "p.yaml", &error);
    g_assert_no_error(error);
    Policy *policy = policy_read(section, &error);
    g_assert_no_error(error);
    return policy;
}

/* --- against plan_new, one by one */

enum { POOLS, PREFILL_PP, MICRO_BATCH, BUFFER, TP, PP, SLOTS, PREFILL_DP, DP, N_KEYS };
static const char *const key_names[N_KEYS] = {
    "pools",     "prefill.pp",   "prefill.micro_batch", "buffer.clusters", "decode.tp",
    "decode.pp", "decode.slots", "prefill.dp",          "decode.dp"};
static const guint64 most_values[N_KEYS] = {2, 9, 40, 3, 5, 9, 40, 4, 6};

/* Values of every key, ascending; plans are numbered with the last key running fastest. */
typedef struct Lists {
    guint64 values[N_KEYS][3];
    guint n[N_KEYS];
} Lists;

typedef struct Tried {
    guint64 at[N_KEYS];
    PruneRule broken; /* N_PRUNE_RULES: kept */
    guint64 clusters;
} Tried;

static Lists lists_random(GRand *random) {
    Lists lists = {0};
    for (guint key = 0; key < N_KEYS; key++) {
        guint n = (guint)g_rand_int_range(random, 1, key == DP || key == TP ? 4 : 3);
        guint64 last = 0;
        for (guint i = 0; i < n && last < most_values[key]; i++) {
            gint32 most = (gint32)most_values[key] + 1;
            last = (guint64)g_rand_int_range(random, (gint32)last + 1, most);
            lists.values[key][lists.n[key]++] = last;
        }
    }
    return lists;
}

static char *lists_section(const Lists *lists, gboolean use_all) {
    static const char *const groups[] = {"", "prefill", "buffer", "decode"};
    GString *text = g_string_new(use_all ? "use_all: true\n" : "use_all: false\n");
    for (guint group = 0; group < G_N_ELEMENTS(groups); group++) {
        if (group > 0)
            g_string_append_printf(text, "%s:\n", groups[group]);
        for (guint key = 0; key < N_KEYS; key++) {
            const char *dot = strchr(key_names[key], '.');
            gsize length = dot == NULL ? 0 : (gsize)(dot - key_names[key]);
            if (length != strlen(groups[group]) ||
                strncmp(key_names[key], groups[group], length) != 0)
                continue;
            g_string_append_printf(text, "%s%s: [", group > 0 ? "  " : "",
                                   dot == NULL ? key_names[key] : dot + 1);
            for (guint i = lists->n[key]; i-- > 0;) /* in whatever order */
                g_string_append_printf(text, "%" G_GUINT64_FORMAT "%s", lists->values[key][i],
                                       i > 0 ? ", " : "]\n");
        }
    }
    return g_string_free(text, FALSE);
}

static void apply(Policy *policy, const guint64 *at) {
    policy->pools = at[POOLS];
    policy->prefill.pp = at[PREFILL_PP];
    policy->prefill.micro_batch = at[MICRO_BATCH];
    policy->prefill.dp = at[PREFILL_DP];
    policy->buffer.clusters = at[BUFFER];
    policy->decode.tp = at[TP];
    policy->decode.pp = at[PP];
    policy->decode.slots = at[SLOTS];
    policy->decode.dp = at[DP];
}

/* The machine, the model and the policy of one comparison. */
typedef struct Scene {
    Model model;
    Platform platform;
    Policy *policy;
    guint64 clusters; /* bound */
} Scene;

/* Which rule plan_new complains of. */
static PruneRule rule_of(const GError *error) {
    static const struct {
        const char *part;
        PruneRule rule;
    } rows[] = {{"does not divide", PRUNED_TP},
                {" layers of model", PRUNED_LAYERS},
                {"the plan needs", PRUNED_CLUSTERS},
                {"does not fit", PRUNED_MEMORY}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strstr(error->message, rows[i].part) != NULL)
            return rows[i].rule;
    g_error("no rule in '%s'", error->message);
}

static Tried try(const Scene *scene, const YamlNode *place, const guint64 *at) {
    Policy policy = *scene->policy;
    Tried tried = {.broken = N_PRUNE_RULES};
    g_autoptr(GError) error = NULL;
    apply(&policy, at);
    memcpy(tried.at, at, sizeof tried.at);
    g_autoptr(Plan) plan = plan_new(&policy, &scene->model, &scene->platform, place, &error);
    if (plan == NULL)
        tried.broken = rule_of(error);
    else
        tried.clusters = plan->clusters_used;
    return tried;
}

/* The same split with more of some replicas and no fewer of any. */
static gboolean outgrows(const Tried *large, const Tried *small) {
    gboolean more = FALSE;
    for (guint key = 0; key < N_KEYS; key++) {
        gboolean replicas = key == POOLS || key == PREFILL_DP || key == DP;
        if (replicas ? large->at[key] < small->at[key] : large->at[key] != small->at[key])
            return FALSE;
        more = more || large->at[key] > small->at[key];
    }
    return more;
}

static void mark_idle(GArray *all) {
    for (guint i = 0; i < all->len; i++) {
        Tried *small = &g_array_index(all, Tried, i);
        for (guint j = i + 1; j < all->len && small->broken == N_PRUNE_RULES; j++) {
            const Tried *large = &g_array_index(all, Tried, j);
            gboolean possible = large->broken == N_PRUNE_RULES || large->broken == PRUNED_IDLE;
            if (possible && outgrows(large, small))
                small->broken = PRUNED_IDLE;
        }
    }
}

static GArray *try_all(const Scene *scene, const Lists *lists, gboolean use_all) {
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Tried));
    g_autoptr(YamlNode) place = yaml_mapping_new("test");
    guint total = 1;
    for (guint key = 0; key < N_KEYS; key++)
        total *= lists->n[key];
    for (guint number = 0; number < total; number++) {
        guint64 at[N_KEYS];
        guint rest = number;
        for (guint key = N_KEYS; key-- > 0; rest /= lists->n[key])
            at[key] = lists->values[key][rest % lists->n[key]];
        Tried tried = try(scene, place, at);
        g_array_append_val(all, tried);
    }
    if (use_all)
        mark_idle(all);
    return all;
}

static char *settings_of(const Tried *tried) {
    GString *text = g_string_new(NULL);
    for (guint key = 0; key < N_KEYS; key++)
        g_string_append_printf(text, "%spolicy.%s=%" G_GUINT64_FORMAT, key > 0 ? " " : "",
                               key_names[key], tried->at[key]);
    return g_string_free(text, FALSE);
}

/* The space holds the plans that are kept, in order, and counts the others. */
static void assert_space(const SearchSpace *space, const GArray *all) {
    guint64 pruned[N_PRUNE_RULES + 1] = {0};
    for (guint i = 0; i < all->len; i++) {
        const Tried *tried = &g_array_index(all, Tried, i);
        if (tried->broken == N_PRUNE_RULES) {
            g_assert_cmpuint(pruned[N_PRUNE_RULES], <, space->points->len);
            const SearchPoint *point = g_ptr_array_index(space->points, pruned[N_PRUNE_RULES]);
            g_autofree char *expected = settings_of(tried);
            g_autofree char *text = g_strjoinv(" ", point->settings);
            g_assert_cmpstr(text, ==, expected);
            g_assert_cmpuint(point->clusters, ==, tried->clusters);
        }
        pruned[tried->broken]++;
    }
    for (PruneRule rule = 0; rule < N_PRUNE_RULES; rule++)
        g_assert_cmpuint(space->pruned[rule], ==, pruned[rule]);
    g_assert_cmpuint(space->points->len, ==, pruned[N_PRUNE_RULES]);
    g_assert_cmpuint(space->enumerated, ==, all->len);
}

/* Small and odd: every rule is broken by some plans and kept by others. */
static Scene scene_random(GRand *random) {
    static const guint64 heads[] = {8, 12, 24}, layers[] = {4, 7, 8};
    Scene scene = {.model = llama_2_7b, .platform = machine};
    guint64 kv_heads = heads[g_rand_int_range(random, 0, 3)];
    scene.model.kv_heads = kv_heads;
    scene.model.heads = kv_heads * (guint64)g_rand_int_range(random, 1, 3);
    scene.model.layers = layers[g_rand_int_range(random, 0, 3)];
    scene.platform.nodes = (guint64)g_rand_int_range(random, 1, 12);
    scene.platform.cluster.ddr_usable_bytes = g_rand_double_range(random, 0.8e9, 4e9);
    scene.policy = policy_of(g_rand_boolean(random)
                                 ? "{mode: pbd, kv_reservation: max_context, max_context: 1000}"
                                 : "{mode: pbd, kv_formula: paper, prefill: {chunk_tokens: 64}}");
    return scene;
}

static void a_space_is_what_plan_new_accepts(void) {
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    guint64 seen[N_PRUNE_RULES + 1] = {0};
    for (guint round = 0; round < 300; round++) {
        Scene scene = scene_random(random);
        Lists lists = lists_random(random);
        gboolean use_all = g_rand_boolean(random);
        g_autofree char *section = lists_section(&lists, use_all);
        g_autoptr(SearchSpec) spec = spec_of(section);
        g_autoptr(GArray) all = try_all(&scene, &lists, use_all);
        g_autoptr(GError) error = NULL;
        g_autoptr(SearchSpace) space =
            search_space_new(spec, scene.policy, &scene.model, &scene.platform, 0, &error);
        gboolean any = FALSE;
        for (guint i = 0; i < all->len; i++)
            any = any || g_array_index(all, Tried, i).broken == N_PRUNE_RULES;
        g_assert_cmpint(space != NULL, ==, any);
        if (space != NULL)
            assert_space(space, all);
        for (guint i = 0; i < all->len; i++)
            seen[g_array_index(all, Tried, i).broken]++;
        policy_free(scene.policy);
    }
    for (guint i = 0; i <= N_PRUNE_RULES; i++)
        if (i != PRUNED_CONFLICT)
            g_assert_cmpuint(seen[i], >, 100);
}

/* --- by hand */

typedef struct Counted {
    const char *name, *policy, *section;
    guint64 clusters; /* bound */
    guint64 enumerated;
    guint64 pruned[N_PRUNE_RULES];
    const char *first, *last; /* settings */
} Counted;

/* Llama-2 7B on 32 clusters of 20 GB. */
static const Counted counted[] = {
    {"degrees",
     "mode: colocated",
     "{use_all: false, colocated: {tp: [1, 3, 4], pp: [1, 33], slots: 8, dp: 1:9:4}}",
     0,
     18, /* tp 3: 6 fall; pp 33: 3 each of the two; tp 4 dp 9 wants 36 clusters */
     {[PRUNED_TP] = 6, [PRUNED_LAYERS] = 6, [PRUNED_CLUSTERS] = 1},
     "policy.colocated.tp=1 policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.dp=1",
     "policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.dp=5"},
    {"idle",
     "mode: colocated",
     "{colocated: {tp: [1, 4], pp: 1, slots: 8, dp: [1, 5, 9]}}",
     0,
     6,
     {[PRUNED_CLUSTERS] = 1, [PRUNED_IDLE] = 3}, /* 9 × 1 and 5 × 4 are left */
     "policy.colocated.tp=1 policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.dp=9",
     "policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.dp=5"},
    {"a_bound_below_the_machine",
     "mode: colocated",
     "{clusters: 12, use_all: false, colocated: {tp: 4, pp: 1, slots: 8, dp: 1:8}}",
     0,
     8,
     {[PRUNED_CLUSTERS] = 5},
     "policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.dp=1",
     "policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.dp=3"},
    {"a_bound_of_the_caller",
     "mode: colocated",
     "{clusters: 12, colocated: {tp: 4, pp: 1, slots: 8, dp: 1:8}}",
     9,
     8,
     {[PRUNED_CLUSTERS] = 6, [PRUNED_IDLE] = 1},
     "policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.dp=2",
     "policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.dp=2"},
    {"rules_of_serving",
     "{mode: colocated, kv_reservation: on_demand}",
     "{routing: [shortest_queue, round_robin], placement: [spread, packed], colocated: {tp: 4, pp: "
     "1, slots: 8, dp: 8, batching: [static, continuous]}}",
     0,
     8,
     {[PRUNED_CONFLICT] = 4}, /* a static batch never preempts */
     "policy.placement=spread policy.routing=shortest_queue policy.colocated.tp=4 "
     "policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.batching=continuous "
     "policy.colocated.dp=8",
     "policy.placement=packed policy.routing=round_robin policy.colocated.tp=4 "
     "policy.colocated.pp=1 policy.colocated.slots=8 policy.colocated.batching=continuous "
     "policy.colocated.dp=8"},
    {"two_modes",
     "{mode: pbd, max_context: 1024}",
     "{modes: [pbd, colocated], prefill: {pp: 1, micro_batch: 1, dp: 12}, buffer: {clusters: 4}, "
     "decode: {tp: 4, pp: 1, slots: 8, dp: 1:4}, colocated: {tp: 4, pp: 1, slots: 8, dp: 1:8}}",
     0,
     12,
     {[PRUNED_IDLE] = 10},
     "policy.mode=pbd policy.prefill.pp=1 policy.prefill.micro_batch=1 policy.buffer.clusters=4 "
     "policy.decode.tp=4 policy.decode.pp=1 policy.decode.slots=8 policy.prefill.dp=12 "
     "policy.decode.dp=4",
     "policy.mode=colocated policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 "
     "policy.colocated.dp=8"},
    {"more_pools_are_more_replicas",
     "mode: colocated",
     "{pools: [1, 2, 4], colocated: {tp: 4, pp: 1, slots: 8, dp: [2, 3, 4]}}",
     0,
     9,
     /* 2 pools of 4 and 4 of 2 fill the machine; 4 of 3 and of 4 are too many */
     {[PRUNED_CLUSTERS] = 2, [PRUNED_IDLE] = 5},
     "policy.pools=2 policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 "
     "policy.colocated.dp=4",
     "policy.pools=4 policy.colocated.tp=4 policy.colocated.pp=1 policy.colocated.slots=8 "
     "policy.colocated.dp=2"},
};

static void is_counted(gconstpointer data) {
    const Counted *row = data;
    g_autoptr(Policy) policy = policy_of(row->policy);
    g_autoptr(SearchSpec) spec = spec_of(row->section);
    g_autoptr(GError) error = NULL;
    g_autoptr(SearchSpace) space =
        search_space_new(spec, policy, &llama_2_7b, &machine, row->clusters, &error);
    g_assert_no_error(error);
    guint64 kept = row->enumerated;
    for (PruneRule rule = 0; rule < N_PRUNE_RULES; rule++) {
        g_assert_cmpuint(space->pruned[rule], ==, row->pruned[rule]);
        kept -= row->pruned[rule];
    }
    g_assert_cmpuint(space->enumerated, ==, row->enumerated);
    g_assert_cmpuint(space->points->len, ==, kept);
    const SearchPoint *first = g_ptr_array_index(space->points, 0);
    const SearchPoint *last = g_ptr_array_index(space->points, kept - 1);
    g_autofree char *first_text = g_strjoinv(" ", first->settings);
    g_autofree char *last_text = g_strjoinv(" ", last->settings);
    g_assert_cmpstr(first_text, ==, row->first);
    g_assert_cmpstr(last_text, ==, row->last);
}

/* --- what --set makes of a point */

/* "policy.decode.tp=4" put into a policy section. */
static void set(YamlNode *section, const char *setting) {
    g_auto(GStrv) halves = g_strsplit(setting, "=", 2);
    g_auto(GStrv) path = g_strsplit(halves[0], ".", -1);
    guint last = g_strv_length(path) - 1;
    g_assert_cmpstr(path[0], ==, "policy");
    YamlNode *mapping = section;
    for (guint i = 1; i < last; i++) {
        YamlNode *inner = yaml_get(mapping, path[i]);
        if (inner == NULL) {
            inner = yaml_mapping_new("--set");
            yaml_put(mapping, path[i], inner);
        }
        mapping = inner;
    }
    yaml_put(mapping, path[last], yaml_scalar_new(halves[1], "--set"));
}

/* Every point, set on the text that the space was made from, is a plan of as many clusters. */
static void assert_points_plan(const SearchSpace *space, const char *text, const Model *model,
                               const Platform *platform) {
    for (guint i = 0; i < space->points->len; i++) {
        const SearchPoint *point = g_ptr_array_index(space->points, i);
        g_autoptr(GError) error = NULL;
        g_autoptr(YamlNode) section = yaml_load_text(text, "p.yaml", &error);
        for (char **setting = point->settings; *setting != NULL; setting++)
            set(section, *setting);
        g_autoptr(Policy) policy = policy_read(section, &error);
        g_assert_no_error(error);
        g_autoptr(Plan) plan = plan_new(policy, model, platform, section, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(plan->clusters_used, ==, point->clusters);
    }
}

static guint64 sum_of(const SearchSpace *space) {
    guint64 sum = space->points->len;
    for (PruneRule rule = 0; rule < N_PRUNE_RULES; rule++)
        sum += space->pruned[rule];
    return sum;
}

static gboolean has_point(const SearchSpace *space, const char *settings) {
    for (guint i = 0; i < space->points->len; i++) {
        const SearchPoint *point = g_ptr_array_index(space->points, i);
        g_autofree char *text = g_strjoinv(" ", point->settings);
        if (strcmp(text, settings) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Without a section: every mode's degrees from the model and the machine, and the policy's own. */
static void no_section_is_a_space_too(void) {
    static const char demo[] = "{mode: pbd, max_context: 2048, prefill: {dp: 6}, buffer: "
                               "{clusters: 2}, decode: {tp: 4, dp: 6, slots: 24}}";
    g_autoptr(Policy) policy = policy_of(demo);
    g_autoptr(SearchSpec) spec = search_spec_read(NULL, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(SearchSpace) space = search_space_new(spec, policy, &llama_2_7b, &machine, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(sum_of(space), ==, space->enumerated);
    g_assert_cmpuint(space->points->len, >, 500);
    g_assert_cmpuint(space->pruned[PRUNED_TP], ==, 0); /* only divisors are tried */
    g_assert_cmpuint(space->pruned[PRUNED_LAYERS], ==, 0);
    g_assert_true(has_point(space, "policy.prefill.pp=1 policy.prefill.micro_batch=1 "
                                   "policy.buffer.clusters=2 policy.decode.tp=4 "
                                   "policy.decode.pp=1 policy.decode.slots=24 "
                                   "policy.prefill.dp=6 policy.decode.dp=6"));
    assert_points_plan(space, demo, &llama_2_7b, &machine);
    for (guint i = 0; i < space->points->len; i++) {
        const SearchPoint *point = g_ptr_array_index(space->points, i);
        g_assert_cmpuint(point->clusters, <=, 32);
    }
}

static void modes_change_as_an_option_changes_them(void) {
    static const char text[] = "{mode: pbd, max_context: 2048, prefill: {dp: 6}, decode: {tp: 4}}";
    g_autoptr(Policy) policy = policy_of(text);
    g_autoptr(SearchSpec) spec =
        spec_of("{modes: [colocated, pbd], colocated: {batching: [static, continuous]}}");
    g_autoptr(GError) error = NULL;
    g_autoptr(SearchSpace) space = search_space_new(spec, policy, &llama_2_7b, &machine, 8, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(sum_of(space), ==, space->enumerated);
    assert_points_plan(space, text, &llama_2_7b, &machine);
}

/* --- what is refused */

typedef struct RefusedSpace {
    const char *name, *policy, *section, *message;
} RefusedSpace;

static const RefusedSpace refused[] = {
    {"all_by_one_rule", "mode: colocated", "colocated: {tp: [3, 5], pp: 1, slots: 8, dp: [1, 2]}",
     "s.yaml:1:1: the search space is empty: of 4 plans all 4 break rule 'tp' (TP does not divide "
     "the model's heads or KV heads)"},
    {"by_several_rules", "mode: colocated",
     "colocated: {tp: [3, 4], pp: [1, 40], slots: 8, dp: [9, 10]}",
     "s.yaml:1:1: the search space is empty: of 8 plans 4 break rule 'tp' (TP does not divide the "
     "model's heads or KV heads), 2 break rule 'layers' (more stages than the model has layers), "
     "and the last 2 break rule 'clusters' (more clusters than there are)"},
    {"memory_last", "{mode: colocated, kv_reservation: max_context}",
     "colocated: {tp: 4, pp: 1, slots: 64, dp: [1, 9]}",
     "s.yaml:1:1: the search space is empty: of 2 plans 1 break rule 'clusters' (more clusters "
     "than there are), and the last 1 break rule 'memory' (weights or one request do not fit)"},
    {"conflict", "{mode: colocated, kv_reservation: on_demand}",
     "colocated: {tp: 4, pp: 1, slots: 8, dp: 1, batching: static}",
     "s.yaml:1:1: the search space is empty: of 1 plans all 1 break rule 'conflict' (the policy "
     "refuses these values together)"},
    {"a_group_of_another_mode", "mode: colocated", "decode: {tp: 4}",
     "s.yaml:1:14: 'decode.tp' belongs to mode 'pbd', which is not searched"},
    {"wafers_where_there_are_none", "mode: pbd", "modes: [pbd, wafer]",
     "s.yaml:1:1: mode 'wafer' is not for platform 'toy', which is of clusters"},
    {"too_many_splits", "mode: pbd",
     "{decode: {slots: 1:4096, tp: 1:4096}, prefill: {micro_batch: 1:4096}}",
     "s.yaml:1:1: 7.6e+15 plans of mode 'pbd' are too many to search: bound more of the policy's "
     "keys"},
};

static void space_is_refused(gconstpointer data) {
    const RefusedSpace *row = data;
    g_autoptr(Policy) policy = policy_of(row->policy);
    g_autoptr(SearchSpec) spec = spec_of(row->section);
    g_autoptr(GError) error = NULL;
    g_autoptr(SearchSpace) space = search_space_new(spec, policy, &llama_2_7b, &machine, 0, &error);
    g_assert_null(space);
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_cmpstr(error->message, ==, row->message);
}

/* A space without a section has no place to point at. */
static void an_empty_default_space_says_why(void) {
    Platform tiny = machine;
    tiny.cluster.ddr_usable_bytes = 0.2e9;
    g_autoptr(Policy) policy = policy_of("mode: colocated");
    g_autoptr(SearchSpec) spec = search_spec_read(NULL, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(search_space_new(spec, policy, &llama_2_7b, &tiny, 0, &error));
    g_assert_true(g_str_has_prefix(error->message, "the search space is empty: of "));
    g_assert_nonnull(strstr(error->message, " break rule 'memory' "));
}

static const struct {
    const char *text;
    InputErrorCode code;
    const char *message;
} wrong_sections[] = {
    {"[tp]", INPUT_ERROR_VALUE, "s.yaml:1:1: expected a mapping, not a sequence"},
    {"budget: 10", INPUT_ERROR_UNKNOWN, "s.yaml:1:1: unknown key 'budget'"},
    {"placment: packed", INPUT_ERROR_UNKNOWN,
     "s.yaml:1:1: unknown key 'placment' (did you mean 'placement'?)"},
    {"decode: 4", INPUT_ERROR_VALUE, "s.yaml:1:9: expected a mapping for 'decode', not '4'"},
    {"buffer: {dp: 4}", INPUT_ERROR_UNKNOWN, "s.yaml:1:10: unknown key 'dp'"},
    {"decode: {tp: }", INPUT_ERROR_VALUE,
     "s.yaml:1:14: expected a whole number for 'tp', not nothing"},
    {"decode: {tp: [1, {}]}", INPUT_ERROR_VALUE,
     "s.yaml:1:18: expected a value or a range for 'tp', not a mapping"},
    {"decode: {tp: {from: 1}}", INPUT_ERROR_VALUE,
     "s.yaml:1:14: expected a value, a range or a list for 'tp', not a mapping"},
    {"decode: {tp: 0:4}", INPUT_ERROR_VALUE,
     "s.yaml:1:14: 'tp' must lie between 1 and 4096, not 0"},
    {"decode: {tp: 1:x}", INPUT_ERROR_VALUE,
     "s.yaml:1:14: expected a whole number for 'tp', not 'x'"},
    {"wafer: {dp: all}", INPUT_ERROR_VALUE,
     "s.yaml:1:13: expected a whole number for 'dp', not 'all'"},
    {"objectives: {cost: 1}", INPUT_ERROR_VALUE,
     "s.yaml:1:13: expected a list of names for 'objectives', not a mapping"},
    {"objectives: [[cost]]", INPUT_ERROR_VALUE,
     "s.yaml:1:14: expected the name of an objective for 'objectives', not a sequence"},
    {"modes: []", INPUT_ERROR_VALUE, "s.yaml:1:8: the list of 'modes' is empty"},
    {"modes: [pbd, pbd]", INPUT_ERROR_DUPLICATE,
     "s.yaml:1:14: 'pbd' gives a value of 'modes' that is there already"},
    {"use_all: perhaps", INPUT_ERROR_VALUE,
     "s.yaml:1:10: expected true or false for 'use_all', not 'perhaps'"},
};

static void sections_are_refused_at_the_node(void) {
    for (guint i = 0; i < G_N_ELEMENTS(wrong_sections); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(YamlNode) section = yaml_load_text(wrong_sections[i].text, "s.yaml", &error);
        g_assert_no_error(error);
        g_autoptr(SearchSpec) spec = search_spec_read(section, &error);
        g_assert_null(spec);
        g_assert_error(error, INPUT_ERROR, (int)wrong_sections[i].code);
        g_assert_cmpstr(error->message, ==, wrong_sections[i].message);
    }
}

/* --- what is read and written */

static char *written(const SearchSpec *spec) {
    GString *out = g_string_new(NULL);
    search_spec_write(spec, 2, out);
    return g_string_free(out, FALSE);
}

static void what_is_written_reads_the_same(void) {
    g_autoptr(SearchSpec) spec = spec_of(
        "{method: exhaustive, objectives: [goodput, energy_per_token], clusters: 64, use_all: "
        "false, analytic: {context: model, kv_width: kv_heads}, modes: [pbd, wafer], pools: 1:3, "
        "placement: spread, prefill: {dp: [8, 1:6:2], chunk_tokens: [512, 0]}, decode: {tp: 4}, "
        "wafer: {prefill_grid: [660, auto], system: [t10], dp: 2}}");
    g_autofree char *text = written(spec);
    g_assert_cmpstr(text, ==,
                    "  method: exhaustive\n"
                    "  clusters: 64\n"
                    "  use_all: false\n"
                    "  analytic:\n"
                    "    context: model\n"
                    "    kv_width: kv_heads\n"
                    "  objectives: [goodput, energy_per_token]\n"
                    "  modes: [pbd, wafer]\n"
                    "  pools: [1, 2, 3]\n"
                    "  placement: [spread]\n"
                    "  prefill:\n"
                    "    chunk_tokens: [0, 512]\n"
                    "    dp: [1, 3, 5, 8]\n"
                    "  decode:\n"
                    "    tp: [4]\n"
                    "  wafer:\n"
                    "    prefill_grid: [auto, 660]\n"
                    "    system: [t10]\n"
                    "    dp: [2]\n");
    g_autoptr(SearchSpec) again = spec_of(text);
    g_autofree char *second = written(again);
    g_assert_cmpstr(second, ==, text);
    g_assert_cmpint(search_spec_method(spec), ==, SEARCH_EXHAUSTIVE);
    g_assert_cmpint(search_spec_analytic(spec).context, ==, ANALYTIC_CONTEXT_MODEL);
    g_assert_cmpint(search_spec_analytic(spec).kv_width, ==, ANALYTIC_KV_HEADS);
}

static void objectives_keep_their_places(void) {
    g_autoptr(SearchSpec) spec = spec_of("objectives: [goodput,\n  speed]");
    const GPtrArray *objectives = search_spec_objectives(spec);
    g_assert_cmpuint(objectives->len, ==, 2);
    g_autoptr(GError) error = NULL;
    yaml_error(g_ptr_array_index(objectives, 1), INPUT_ERROR_UNKNOWN, &error, "unknown '%s'",
               ((const YamlNode *)g_ptr_array_index(objectives, 1))->text);
    g_assert_cmpstr(error->message, ==, "s.yaml:2:3: unknown 'speed'");
}

static void no_section_is_written_as_none(void) {
    g_autoptr(SearchSpec) spec = search_spec_read(NULL, NULL);
    g_autofree char *text = written(spec);
    const GPtrArray *objectives = search_spec_objectives(spec);
    g_assert_cmpstr(text, ==, "");
    g_assert_cmpint(search_spec_method(spec), ==, SEARCH_GUIDED);
    g_assert_cmpuint(objectives->len, ==, 1);
    g_assert_cmpstr(((const YamlNode *)g_ptr_array_index(objectives, 0))->text, ==, "throughput");
}

int main(int argc, char **argv) {
    static const struct {
        const char *path;
        GTestFunc test;
    } tests[] = {
        {"/search_space/a_space_is_what_plan_new_accepts", a_space_is_what_plan_new_accepts},
        {"/search_space/no_section_is_a_space_too", no_section_is_a_space_too},
        {"/search_space/modes_change_as_an_option_changes_them",
         modes_change_as_an_option_changes_them},
        {"/search_space/an_empty_default_space_says_why", an_empty_default_space_says_why},
        {"/search_space/sections_are_refused_at_the_node", sections_are_refused_at_the_node},
        {"/search_space/what_is_written_reads_the_same", what_is_written_reads_the_same},
        {"/search_space/objectives_keep_their_places", objectives_keep_their_places},
        {"/search_space/no_section_is_written_as_none", no_section_is_written_as_none},
    };
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].path, tests[i].test);
    for (guint i = 0; i < G_N_ELEMENTS(counted); i++) {
        g_autofree char *path = g_strconcat("/search_space/counted/", counted[i].name, NULL);
        g_test_add_data_func(path, &counted[i], is_counted);
    }
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *path = g_strconcat("/search_space/refused/", refused[i].name, NULL);
        g_test_add_data_func(path, &refused[i], space_is_refused);
    }
    return g_test_run();
}
