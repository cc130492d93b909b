/* Spaces against every plan made by plan_new one by one, and counts by hand. */
#include "tests/unit/search_setting.h"

#include <string.h>

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
        g_autoptr(Policy) policy = policy_read(section, platform->kind, &error);
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

int main(int argc, char **argv) {
    static const struct {
        const char *path;
        GTestFunc test;
    } tests[] = {
        {"/search_space/a_space_is_what_plan_new_accepts", a_space_is_what_plan_new_accepts},
        {"/search_space/no_section_is_a_space_too", no_section_is_a_space_too},
        {"/search_space/modes_change_as_an_option_changes_them",
         modes_change_as_an_option_changes_them},
    };
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].path, tests[i].test);
    for (guint i = 0; i < G_N_ELEMENTS(counted); i++) {
        g_autofree char *path = g_strconcat("/search_space/counted/", counted[i].name, NULL);
        g_test_add_data_func(path, &counted[i], is_counted);
    }
    return g_test_run();
}
