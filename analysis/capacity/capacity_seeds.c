/* A synthetic load is another one under every seed: a plan is to hold its targets under more than
 * the one that it was found with. */
#include "analysis/capacity/capacity_private.h"

#define NO_SEED G_MAXUINT64

static guint64 own_seed(const CapacitySetup *setup) {
    return campaign_base(setup->campaign)->seed;
}

/* Caller frees with g_strfreev. */
static char **seed_settings(guint64 seed) {
    char **settings = g_new0(char *, 2);

    settings[0] = g_strdup_printf("seed=%" G_GUINT64_FORMAT, seed);
    return settings;
}

/* The plan of 'point' under each other seed, simulated. NULL on error; caller frees. */
static GPtrArray *under_seeds(const CapacitySetup *setup, const CapacityPoint *point,
                              GError **error) {
    g_autoptr(GPtrArray) points = capacity_points_new();

    for (guint64 i = 1; i <= setup->seeds; i++) {
        g_auto(GStrv) seed = seed_settings(own_seed(setup) + i);
        CapacityPoint *other = capacity_point_with(point, 1, seed);
        other->seed = own_seed(setup) + i;
        g_ptr_array_add(points, other);
    }
    if (!capacity_simulate(setup, (CapacityPoint *const *)points->pdata, points->len, "other seeds",
                           error))
        return NULL;
    return g_steal_pointer(&points);
}

/* Counts the seeds that hold, and finds the first seed under which the plan breaks a target;
 * NO_SEED: none. */
static gboolean first_broken(const CapacitySetup *setup, CapacityPoint *point, guint64 *seed,
                             GError **error) {
    g_autoptr(GPtrArray) points = under_seeds(setup, point, error);

    if (points == NULL)
        return FALSE;
    *seed = point->holds ? NO_SEED : own_seed(setup);
    point->seeds_asked = points->len;
    point->seeds_held = 0;
    for (guint i = 0; i < points->len; i++) {
        const CapacityPoint *other = points->pdata[i];
        point->seeds_held += other->holds ? 1 : 0;
        if (!other->holds && *seed == NO_SEED)
            *seed = other->seed;
    }
    return TRUE;
}

/* The plan that a search finds under a seed, simulated under the experiment's own; NULL without an
 * error where none holds there. */
static CapacityPoint *found_under(const CapacitySetup *setup, const PointSearch *search,
                                  guint64 seed, GError **error) {
    g_auto(GStrv) setting = seed_settings(seed);
    g_auto(GStrv) settings = capacity_join(search->settings, setting);
    PointSearch seeded = *search;

    seeded.settings = settings;
    seeded.strict = TRUE;
    if (search->space->points->len == 0)
        return NULL;
    g_autoptr(CapacityPoint) found = capacity_search(setup, &seeded, error);
    if (found == NULL || !found->holds)
        return NULL;
    char *const *plan = found->settings + g_strv_length(settings);
    CapacityPoint *point =
        capacity_point_new(search->size, search->load, capacity_join(search->settings, plan));
    point->plan = g_strdup(found->plan);
    point->candidates = found->candidates;
    point->simulated = found->simulated;
    if (capacity_simulate(setup, &point, 1, search->label, error))
        return point;
    capacity_point_free(point);
    return NULL;
}

/* Takes the plan of a point out of those that are left to try. */
static void give_up(GPtrArray *plans, const PointSearch *search, const CapacityPoint *point) {
    char *const *plan = point->settings + g_strv_length(search->settings);

    for (guint i = 0; i < plans->len; i++) {
        const SearchPoint *known = plans->pdata[i];
        if (g_strv_equal((const char *const *)known->settings, (const char *const *)plan)) {
            g_ptr_array_remove_index(plans, i);
            return;
        }
    }
}

/* Keeps in '*best' the one of both that holds under more seeds; takes 'point'. */
static void keep_better(CapacityPoint **best, CapacityPoint *point) {
    guint seeds = point->seeds_held + (point->holds ? 1 : 0);
    gboolean better = *best == NULL || seeds > (*best)->seeds_held + ((*best)->holds ? 1 : 0);

    if (*best != NULL) {
        point->candidates = (*best)->candidates = MAX(point->candidates, (*best)->candidates);
        point->simulated = (*best)->simulated += point->simulated;
    }
    capacity_point_free(better ? *best : point);
    if (better)
        *best = point;
}

CapacityPoint *capacity_search_seeds(const CapacitySetup *setup, const PointSearch *search,
                                     GError **error) {
    g_autoptr(CapacityPoint) best = NULL;
    CapacityPoint *point = capacity_search(setup, search, error);
    g_autoptr(GPtrArray) plans = g_ptr_array_new();
    SearchSpace left = {.points = plans};
    PointSearch rest = *search;
    GError *failure = NULL;
    guint64 seed = NO_SEED;

    rest.space = &left;
    g_ptr_array_extend(plans, search->space->points, NULL, NULL); /* which owns them */
    if (point == NULL || !point->holds || setup->seeds == 0)
        return point;
    do {
        gboolean tried = first_broken(setup, point, &seed, &failure);
        give_up(plans, search, point);
        keep_better(&best, point);
        if (!tried || seed == NO_SEED)
            break;
        point = found_under(setup, &rest, seed, &failure);
    } while (point != NULL);
    best->holds = seed == NO_SEED;
    if (failure == NULL)
        return g_steal_pointer(&best);
    g_propagate_error(error, failure);
    return NULL;
}

gboolean capacity_seeds(const CapacitySetup *setup, Capacity *capacity, GError **error) {
    GPtrArray *points = under_seeds(setup, capacity->chosen, error);

    if (points == NULL)
        return FALSE;
    g_ptr_array_unref(capacity->seeds);
    capacity->seeds = points;
    return TRUE;
}
