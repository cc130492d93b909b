#include "analysis/capacity/capacity.h"

#include "analysis/capacity/capacity_private.h"
#include <math.h>
#include <string.h>

const char *const capacity_unit_names[N_CAPACITY_UNITS + 1] = {[UNITS_PROCESSORS] = "processors",
                                                               [UNITS_CLUSTERS] = "clusters",
                                                               [UNITS_WAFERS] = "wafers",
                                                               [UNITS_GPUS] = "gpus",
                                                               [UNITS_NODES] = "nodes"};

gboolean capacity_units_fit(CapacityUnits units, const Platform *platform) {
    static const DeviceKind kinds[N_CAPACITY_UNITS] = {[UNITS_PROCESSORS] = DEVICE_MT3000,
                                                       [UNITS_CLUSTERS] = DEVICE_MT3000,
                                                       [UNITS_WAFERS] = DEVICE_WAFER,
                                                       [UNITS_GPUS] = DEVICE_GPU,
                                                       [UNITS_NODES] = DEVICE_GPU};

    return kinds[units] == platform->kind;
}

CapacityUnits capacity_units_of(const Platform *platform) {
    static const CapacityUnits units[] = {[DEVICE_MT3000] = UNITS_PROCESSORS,
                                          [DEVICE_WAFER] = UNITS_WAFERS,
                                          [DEVICE_GPU] = UNITS_GPUS};

    return units[platform->kind];
}

char *capacity_size_text(CapacityUnits units, guint64 size) {
    const char *name = capacity_unit_names[units];

    return g_strdup_printf("%" G_GUINT64_FORMAT " %.*s", size,
                           (int)strlen(name) - (size == 1 ? 1 : 0), name);
}

static void free_relief(gpointer data) {
    CapacityRelief *relief = data;

    for (guint i = 0; i < PRESSED_LOADS; i++)
        capacity_point_free(relief->points[i]);
    g_free(relief);
}

static void free_cause(gpointer data) {
    CapacityCause *cause = data;

    g_free(cause->text);
    g_free(cause);
}

void capacity_free(Capacity *capacity) {
    if (capacity == NULL)
        return;
    g_ptr_array_unref(capacity->sizes);
    g_ptr_array_unref(capacity->loads);
    g_ptr_array_unref(capacity->seeds);
    g_ptr_array_unref(capacity->reliefs);
    g_ptr_array_unref(capacity->causes);
    g_free(capacity);
}

double capacity_offered_rate(const Experiment *experiment) {
    const WorkloadFacts *facts = &experiment->facts;

    return facts->closed_loop || facts->last_arrival_s <= 0
               ? NAN
               : (double)facts->requests / facts->last_arrival_s;
}

static Capacity *capacity_new(const CapacitySetup *setup) {
    const Experiment *base = campaign_base(setup->campaign);
    Capacity *capacity = g_new0(Capacity, 1);

    capacity->sizes = capacity_points_new();
    capacity->loads = capacity_points_new();
    capacity->seeds = capacity_points_new();
    capacity->reliefs = g_ptr_array_new_with_free_func(free_relief);
    capacity->causes = g_ptr_array_new_with_free_func(free_cause);
    capacity->size_search = (BisectionResult){.first = NO_PLACE, .exception = NO_PLACE};
    capacity->knee = NO_PLACE;
    capacity->curve = slo_has_limits(&base->slo) ? FIGURE_GOODPUT : FIGURE_THROUGHPUT;
    capacity->rate_per_s = capacity_offered_rate(base);
    capacity->highest_load = capacity->lowest_broken = NAN;
    capacity->bottleneck = -1;
    return capacity;
}

/* --- sizes */

typedef struct SizeSearch {
    const CapacitySetup *setup;
    Capacity *capacity;
} SizeSearch;

/* A machine without any plan fails; why is kept. */
static CapacityPoint *size_point(const CapacitySetup *setup, guint64 size, GError **error) {
    g_auto(GStrv) settings = capacity_machine_settings(setup, size);
    g_autofree char *label = capacity_size_text(setup->units, size);
    g_autoptr(GError) empty = NULL;
    g_autoptr(SearchSpace) space = capacity_space(setup, size, &empty);
    PointSearch search = {.space = space,
                          .objectives = setup->targets,
                          .settings = settings,
                          .label = label,
                          .size = size,
                          .load = 1};

    if (space != NULL)
        return capacity_search_seeds(setup, &search, error);
    CapacityPoint *point = capacity_point_new(size, 1, NULL);
    point->reason = g_strdup(empty->message);
    return point;
}

static gboolean size_probe(gpointer data, gsize place, gboolean *holds, GError **error) {
    const SizeSearch *search = data;
    const CapacitySetup *setup = search->setup;
    CapacityPoint *point = size_point(setup, setup->from + place * setup->step, error);

    if (point == NULL)
        return FALSE;
    g_ptr_array_add(search->capacity->sizes, point);
    *holds = point->holds;
    return TRUE;
}

static gint by_size(gconstpointer a, gconstpointer b) {
    const CapacityPoint *first = *(CapacityPoint *const *)a, *second = *(CapacityPoint *const *)b;

    return first->size < second->size ? -1 : first->size > second->size;
}

/* The best of what larger machines reach; NaN: nothing. */
static double best_behind(const Capacity *capacity, guint place) {
    double best = NAN;

    for (guint i = place + 1; i < capacity->sizes->len; i++) {
        const CapacityPoint *point = capacity->sizes->pdata[i];
        double value = point->figures[capacity->curve];
        if (!isnan(value) && !(best >= value))
            best = value;
    }
    return best;
}

static gsize knee_of(const Capacity *capacity, double gain) {
    for (guint i = 0; i + 1 < capacity->sizes->len; i++) {
        const CapacityPoint *point = capacity->sizes->pdata[i];
        double value = point->figures[capacity->curve];
        if (best_behind(capacity, i) < value * (1 + gain))
            return i;
    }
    return NO_PLACE;
}

static gboolean find_size(const CapacitySetup *setup, Capacity *capacity, GError **error) {
    SizeSearch search = {setup, capacity};
    Bisection bisection = {.n = (gsize)((setup->to - setup->from) / setup->step + 1),
                           .probe = size_probe,
                           .data = &search};

    if (!bisection_run(&bisection, &capacity->size_search, error))
        return FALSE;
    g_ptr_array_sort(capacity->sizes, by_size);
    guint64 size = setup->from + capacity->size_search.first * setup->step;
    for (guint i = 0; i < capacity->sizes->len && capacity->size_search.first != NO_PLACE; i++) {
        const CapacityPoint *point = capacity->sizes->pdata[i];
        if (point->size == size)
            capacity->chosen = point;
    }
    capacity->knee = knee_of(capacity, setup->knee_gain);
    return TRUE;
}

/* Where the largest machine has no plan, none has: fewer clusters leave fewer plans. */
static gboolean largest_has_plans(const CapacitySetup *setup, GError **error) {
    g_autoptr(SearchSpace) space = capacity_space(setup, setup->to, error);

    return space != NULL;
}

Capacity *capacity_smallest(const CapacitySetup *setup, GError **error) {
    g_autoptr(Capacity) capacity = capacity_new(setup);

    if (!largest_has_plans(setup, error) || !find_size(setup, capacity, error))
        return NULL;
    gboolean done = capacity->chosen == NULL ? capacity_causes(setup, capacity, error)
                                             : capacity_seeds(setup, capacity, error) &&
                                                   capacity_loads(setup, capacity, error) &&
                                                   capacity_bottleneck(setup, capacity, error);
    return done ? g_steal_pointer(&capacity) : NULL;
}

/* --- the highest load of one machine */

static CapacityPoint *own_plan(const CapacitySetup *setup, const Capacity *capacity, double load,
                               GError **error) {
    const Experiment *base = campaign_base(setup->campaign);
    CapacityPoint *point = capacity_point_new(0, load, capacity_load_settings(base, load));

    (void)capacity;
    point->plan = search_plan_text(base->policy);
    if (capacity_simulate(setup, &point, 1, "highest load", error))
        return point;
    capacity_point_free(point);
    return NULL;
}

static CapacityPoint *any_plan(const CapacitySetup *setup, const Capacity *capacity, double load,
                               GError **error) {
    g_auto(GStrv) settings = capacity_load_settings(campaign_base(setup->campaign), load);
    g_autofree char *label = g_strdup_printf("load %.3g", load);
    g_autoptr(SearchSpace) space = capacity_space(setup, 0, error);
    PointSearch search = {.space = space,
                          .objectives = setup->targets,
                          .settings = settings,
                          .label = label,
                          .load = load};

    (void)capacity;
    return space == NULL ? NULL : capacity_search(setup, &search, error);
}

/* The plan of the highest load, and what holds it back there. */
static void choose_by_load(Capacity *capacity) {
    for (guint i = 0; i < capacity->loads->len; i++) {
        const CapacityPoint *point = capacity->loads->pdata[i];
        if (point->load <= capacity->highest_load && point->load >= capacity->highest_load)
            capacity->chosen = point;
    }
}

Capacity *capacity_highest_load(const CapacitySetup *setup, GError **error) {
    g_autoptr(Capacity) capacity = capacity_new(setup);

    if (!capacity_bisect_load(setup, capacity, setup->own_plan ? own_plan : any_plan, error))
        return NULL;
    choose_by_load(capacity);
    gboolean done = capacity->chosen == NULL ? capacity_causes(setup, capacity, error)
                                             : capacity_bottleneck(setup, capacity, error);
    return done ? g_steal_pointer(&capacity) : NULL;
}
