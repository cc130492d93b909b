#include "analysis/capacity/capacity_private.h"
#include <math.h>

/* Loads of the search lie on a grid of equal ratios, fine enough to be called a percent apart, from
 * a sixty-fourth to sixty-four times the experiment's own. */
#define OCTAVES 6ul
#define PLACES_AN_OCTAVE 64ul
#define PLACES (2 * OCTAVES * PLACES_AN_OCTAVE + 1)
#define OWN_LOAD (OCTAVES * PLACES_AN_OCTAVE)

static double load_at(gsize place) {
    return exp2(((double)place - OWN_LOAD) / PLACES_AN_OCTAVE);
}

static gint by_load(gconstpointer a, gconstpointer b) {
    const CapacityPoint *first = *(CapacityPoint *const *)a, *second = *(CapacityPoint *const *)b;

    return first->load < second->load ? -1 : first->load > second->load;
}

typedef struct LoadSearch {
    const CapacitySetup *setup;
    Capacity *capacity;
    LoadProbe probe;
} LoadSearch;

/* The first place that breaks a target is looked for. */
static gboolean breaks(gpointer data, gsize place, gboolean *breaks_it, GError **error) {
    const LoadSearch *search = data;
    CapacityPoint *point = search->probe(search->setup, search->capacity, load_at(place), error);

    if (point == NULL)
        return FALSE;
    g_ptr_array_add(search->capacity->loads, point);
    *breaks_it = !point->holds;
    return TRUE;
}

/* In order, each load once. */
static void sort_loads(GPtrArray *loads) {
    g_ptr_array_sort(loads, by_load);
    for (guint i = loads->len; i-- > 1;) {
        const CapacityPoint *point = loads->pdata[i], *before = loads->pdata[i - 1];
        if (before->load >= point->load)
            g_ptr_array_remove_index(loads, i);
    }
}

/* From all loads that were asked, in order: those below the first broken one hold. */
static void sum_up(Capacity *capacity) {
    sort_loads(capacity->loads);
    for (guint i = 0; i < capacity->loads->len; i++) {
        const CapacityPoint *point = capacity->loads->pdata[i];
        gboolean broken_before = !isnan(capacity->lowest_broken);
        if (!point->holds && !broken_before)
            capacity->lowest_broken = point->load;
        if (point->holds && !broken_before)
            capacity->highest_load = point->load;
        capacity->loads_uneven |= point->holds && broken_before;
    }
}

gboolean capacity_bisect_load(const CapacitySetup *setup, Capacity *capacity, LoadProbe probe,
                              GError **error) {
    LoadSearch search = {setup, capacity, probe};
    Bisection bisection = {.n = PLACES, .start = OWN_LOAD, .probe = breaks, .data = &search};
    BisectionResult result;

    if (!bisection_run(&bisection, &result, error))
        return FALSE;
    sum_up(capacity);
    return TRUE;
}

/* --- of the chosen plan */

/* 'more' is owned by the point afterwards, behind the chosen plan's settings. */
static CapacityPoint *chosen_with(const Capacity *capacity, double load, char **more) {
    CapacityPoint *point = capacity_point_with(capacity->chosen, load, more);

    g_strfreev(more);
    return point;
}

static CapacityPoint *chosen_under(const CapacitySetup *setup, const Capacity *capacity,
                                   double load, GError **error) {
    const Experiment *base = campaign_base(setup->campaign);
    CapacityPoint *point = chosen_with(capacity, load, capacity_load_settings(base, load));

    if (capacity_simulate(setup, &point, 1, "highest load", error))
        return point;
    capacity_point_free(point);
    return NULL;
}

gboolean capacity_loads(const CapacitySetup *setup, Capacity *capacity, GError **error) {
    const Experiment *base = campaign_base(setup->campaign);

    if (isnan(capacity->rate_per_s))
        return TRUE;
    for (guint i = 0; i < setup->loads->len; i++) {
        double load = g_array_index(setup->loads, double, i);
        g_ptr_array_add(capacity->loads,
                        chosen_with(capacity, load, capacity_load_settings(base, load)));
    }
    return capacity_simulate(setup, (CapacityPoint *const *)capacity->loads->pdata,
                             capacity->loads->len, "headroom", error) &&
           capacity_bisect_load(setup, capacity, chosen_under, error);
}

/* --- the bottleneck: what, given twice, brings the broken figure nearest to its target */

typedef enum { TWICE_COUNT, TWICE_NETWORK, TWICE_WAFERS } ReliefKind;

static const struct {
    const char *resource, *change;
    ReliefKind kind;
    ServingMode mode;
    const char *group, *key; /* of the policy */
} reliefs[] = {
    {"prefill compute", "twice prefill.dp", TWICE_COUNT, MODE_PBD, "prefill", "dp"},
    {"decode bandwidth", "twice decode.dp", TWICE_COUNT, MODE_PBD, "decode", "dp"},
    {"buffer", "twice buffer.clusters", TWICE_COUNT, MODE_PBD, "buffer", "clusters"},
    {"decode slots", "twice decode.slots", TWICE_COUNT, MODE_PBD, "decode", "slots"},
    {"network", "twice its bandwidth", TWICE_NETWORK, MODE_PBD, NULL, NULL},
    {"replicas", "twice colocated.dp", TWICE_COUNT, MODE_COLOCATED, "colocated", "dp"},
    {"slots", "twice colocated.slots", TWICE_COUNT, MODE_COLOCATED, "colocated", "slots"},
    {"network", "twice its bandwidth", TWICE_NETWORK, MODE_COLOCATED, NULL, NULL},
    {"wafers", "twice as many", TWICE_WAFERS, MODE_WAFER, "wafer", "dp"},
};

/* A step reads its weights once, whatever it holds: with fewer slots than this its clusters wait
 * for memory, with more of them for multiply-accumulates. */
static gboolean decode_waits_for_memory(const Experiment *experiment) {
    const ClusterSpec *cluster = &experiment->platform->cluster;
    DataType type = experiment->model->data_type;
    double row_s = 1 / platform_peak_macs(experiment->platform, type);

    return (double)experiment->policy->decode.slots * row_s <
           data_type_bytes(type) / cluster->ddr_bytes_per_s;
}

static const char *resource_of(gsize kind, const Experiment *experiment) {
    gboolean decode = g_strcmp0(reliefs[kind].change, "twice decode.dp") == 0;

    return decode && !decode_waits_for_memory(experiment) ? "decode compute"
                                                          : reliefs[kind].resource;
}

static void add_bandwidth(GPtrArray *settings, const char *link, double bytes_per_s) {
    g_autofree char *value = units_format(2 * bytes_per_s, DIMENSION_BYTES_PER_S);

    g_ptr_array_add(settings, g_strdup_printf("platform.network.%s.bandwidth=%s", link, value));
}

static void add_network(GPtrArray *settings, const Platform *platform) {
    const NetworkSpec *network = &platform->network;

    add_bandwidth(settings, platform->kind == DEVICE_GPU ? "peer" : "local",
                  network->local.bytes_per_s);
    add_bandwidth(settings, "port", network->port.bytes_per_s);
    add_bandwidth(settings, "nic", network->nic.bytes_per_s);
    if (network->all_reduce.bytes_per_s > 0)
        add_bandwidth(settings, "all_reduce", network->all_reduce.bytes_per_s);
    if (network->topology == NETWORK_FAT_TREE)
        add_bandwidth(settings, "uplink", network->uplink.bytes_per_s);
}

/* The settings of a relief, with as much more machine as it takes; NULL: there is nothing to give
 * twice. */
static char **relief_settings(gsize kind, const Experiment *experiment) {
    const Policy *policy = experiment->policy;
    const char *machine = reliefs[kind].mode == MODE_WAFER ? "wafers" : "nodes";
    guint64 count = 0;
    gsize offset;

    if (reliefs[kind].group != NULL &&
        policy_field(policy->mode, reliefs[kind].group, reliefs[kind].key, &offset) != NULL)
        count = *(const guint64 *)((const char *)policy + offset);
    if (count == 0 && reliefs[kind].kind == TWICE_COUNT)
        return NULL;
    GPtrArray *settings = g_ptr_array_new();
    if (count > 0)
        g_ptr_array_add(settings,
                        g_strdup_printf("policy.%s.%s=%" G_GUINT64_FORMAT, reliefs[kind].group,
                                        reliefs[kind].key, 2 * count));
    if (reliefs[kind].kind == TWICE_NETWORK)
        add_network(settings, experiment->platform);
    else
        g_ptr_array_add(settings, g_strdup_printf("platform.%s=%" G_GUINT64_FORMAT, machine,
                                                  2 * experiment->platform->nodes));
    g_ptr_array_add(settings, NULL);
    return (char **)g_ptr_array_free(settings, FALSE);
}

/* Of the lowest load that breaks a target. */
static const double pressed[PRESSED_LOADS] = {1.1, 1.2, 1.3, 1.4, 1.5};

/* 'settings' (NULL: none) on top of the chosen plan's, under each of the loads. */
static CapacityRelief *relief_new(const CapacitySetup *setup, const Capacity *capacity,
                                  char *const *settings) {
    CapacityRelief *relief = g_new0(CapacityRelief, 1);

    relief->closed = NAN;
    for (guint i = 0; i < PRESSED_LOADS; i++) {
        double load = pressed[i] * capacity->lowest_broken;
        g_auto(GStrv) more = capacity_load_settings(campaign_base(setup->campaign), load);
        relief->points[i] = chosen_with(capacity, load, capacity_join(more, settings));
    }
    return relief;
}

static void add_reliefs(const CapacitySetup *setup, Capacity *capacity, const Experiment *chosen) {
    g_ptr_array_add(capacity->reliefs, relief_new(setup, capacity, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(reliefs); i++) {
        if (reliefs[i].mode != chosen->policy->mode)
            continue;
        g_auto(GStrv) settings = relief_settings(i, chosen);
        if (settings == NULL)
            continue;
        CapacityRelief *relief = relief_new(setup, capacity, settings);
        relief->resource = resource_of(i, chosen);
        relief->change = reliefs[i].change;
        g_ptr_array_add(capacity->reliefs, relief);
    }
}

static double sum_of(const CapacityRelief *relief, Figure figure) {
    double sum = 0;

    for (guint i = 0; i < PRESSED_LOADS; i++)
        sum += relief->points[i]->figures[figure];
    return sum;
}

/* The first target that the heaviest of the loads breaks. */
static const FigureLimit *broken_target(const CapacitySetup *setup, const CapacityRelief *none) {
    const CapacityPoint *heaviest = none->points[PRESSED_LOADS - 1];

    return heaviest->reason != NULL ? NULL
                                    : objectives_broken_limit(setup->targets, heaviest->figures);
}

#define LEAST_CLOSED 0.1

static void judge(const CapacitySetup *setup, Capacity *capacity) {
    const CapacityRelief *none = capacity->reliefs->pdata[0];
    double most = LEAST_CLOSED;

    capacity->pressed = broken_target(setup, none);
    for (guint i = 1; capacity->pressed != NULL && i < capacity->reliefs->len; i++) {
        CapacityRelief *relief = capacity->reliefs->pdata[i];
        double from = sum_of(none, capacity->pressed->figure);
        relief->closed = (sum_of(relief, capacity->pressed->figure) - from) /
                         (PRESSED_LOADS * capacity->pressed->value - from);
        if (!(relief->closed > most))
            continue;
        most = relief->closed;
        capacity->bottleneck = (gssize)i;
    }
}

gboolean capacity_bottleneck(const CapacitySetup *setup, Capacity *capacity, GError **error) {
    if (isnan(capacity->lowest_broken))
        return TRUE;
    g_autoptr(Experiment) chosen = campaign_experiment(
        setup->campaign, (const char *const *)capacity->chosen->settings, error);
    if (chosen == NULL)
        return FALSE;
    add_reliefs(setup, capacity, chosen);
    g_autoptr(GPtrArray) points = g_ptr_array_new();
    for (guint i = 0; i < capacity->reliefs->len; i++)
        for (guint j = 0; j < PRESSED_LOADS; j++)
            g_ptr_array_add(points, ((CapacityRelief *)capacity->reliefs->pdata[i])->points[j]);
    if (!capacity_simulate(setup, (CapacityPoint *const *)points->pdata, points->len, "bottleneck",
                           error))
        return FALSE;
    judge(setup, capacity);
    return TRUE;
}
