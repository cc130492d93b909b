/* Where bounds do not tell candidates apart, short runs put them in order: the first requests of
 * the workload, then more of them for the better quarter. No candidate is left out for it. */
#include "analysis/search/search_private.h"

#include <math.h>

#define LEAST_REQUESTS 32 /* of a slice: with fewer a machine hardly fills */

/* Of the workload's requests one in so many, for a quarter of the candidates of the one before. */
static const guint parts[] = {64, 16};

typedef struct Slice {
    const SearchSetup *setup;
    CampaignRun *runs; /* a run a candidate of 'indices' */
    const SearchResult *result;
    const SearchTwins *twins;
    const GArray *indices;
} Slice;

static char *slice_setting(const Experiment *experiment, guint64 requests) {
    gboolean trace = workload_trace_path(experiment->workload) != NULL;

    return g_strdup_printf("workload.%s=%" G_GUINT64_FORMAT, trace ? "count" : "synthetic.requests",
                           requests);
}

static const char **slice_settings(const SearchSetup *setup, const Candidate *candidate,
                                   const char *slice) {
    g_autofree const char **settings = search_settings(setup, candidate->point);
    GPtrArray *all = g_ptr_array_new();

    for (const char **setting = settings; *setting != NULL; setting++)
        g_ptr_array_add(all, (gpointer)*setting);
    g_ptr_array_add(all, (gpointer)slice);
    g_ptr_array_add(all, NULL);
    return (const char **)g_ptr_array_free(all, FALSE);
}

/* Sound runs that keep the limits first, then sound ones, then the others. */
static guint class_of(const Slice *slice, const Outcome *outcome) {
    if (outcome->status != OUTCOME_OK)
        return 2;
    return objectives_broken_limit(slice->setup->objectives, outcome->figures) == NULL ? 0 : 1;
}

static gint by_slice(gconstpointer a, gconstpointer b, gpointer data) {
    const Slice *slice = data;
    guint first = *(const guint *)a, second = *(const guint *)b;
    const Outcome *one = &slice->runs[first].outcome, *other = &slice->runs[second].outcome;
    guint one_class = class_of(slice, one), other_class = class_of(slice, other);

    if (one_class != other_class)
        return one_class < other_class ? -1 : 1;
    int order = objectives_order(slice->setup->objectives, one->figures, other->figures);
    return order != 0 ? order
                      : search_twins_order(slice->twins, slice->result,
                                           g_array_index(slice->indices, gsize, first),
                                           g_array_index(slice->indices, gsize, second));
}

/* Puts the indices in order, best first. */
static void order(const Slice *slice, GArray *indices) {
    g_autofree guint *places = g_new(guint, indices->len);
    g_autofree gsize *sorted = g_new(gsize, indices->len);

    for (guint i = 0; i < indices->len; i++)
        places[i] = i;
    g_qsort_with_data(places, (gint)indices->len, sizeof(guint), by_slice, (gpointer)slice);
    for (guint i = 0; i < indices->len; i++)
        sorted[i] = g_array_index(indices, gsize, places[i]);
    for (guint i = 0; i < indices->len; i++)
        g_array_index(indices, gsize, i) = sorted[i];
}

static gboolean run_slice(const SearchSetup *setup, SearchResult *result, const SearchTwins *twins,
                          GArray *indices, const char *setting, GError **error) {
    g_autofree CampaignRun *runs = g_new0(CampaignRun, indices->len);
    Slice slice = {setup, runs, result, twins, indices};

    for (guint i = 0; i < indices->len; i++)
        runs[i].overrides = (char **)slice_settings(
            setup, &result->candidates[g_array_index(indices, gsize, i)], setting);
    gboolean done = campaign_run(setup->campaign, runs, indices->len, "order", error);
    if (done)
        order(&slice, indices);
    for (guint i = 0; i < indices->len; i++) {
        if (done && runs[i].outcome.status == OUTCOME_OK)
            result->events += runs[i].outcome.figures[FIGURE_EVENTS];
        outcome_clear(&runs[i].outcome);
        g_free(runs[i].overrides);
    }
    return done;
}

gboolean search_slices_order(const SearchSetup *setup, SearchResult *result,
                             const SearchTwins *twins, GArray *indices, guint *places,
                             GError **error) {
    g_autoptr(Experiment) own = campaign_experiment(setup->campaign, setup->settings, NULL);
    const Experiment *experiment = own == NULL ? campaign_base(setup->campaign) : own;
    guint of_all = indices->len;

    for (guint part = 0; part < G_N_ELEMENTS(parts) && indices->len > 0; part++) {
        guint64 requests = experiment->facts.requests / parts[part];
        g_autofree char *setting = slice_setting(experiment, requests);
        if (requests < LEAST_REQUESTS)
            continue;
        search_progress_begin(setup->progress, NULL); /* a slice's figures are no best */
        if (!run_slice(setup, result, twins, indices, setting, error))
            return FALSE;
        search_progress_begin(setup->progress, setup->objectives);
        for (guint i = 0; i < indices->len; i++)
            places[g_array_index(indices, gsize, i)] = i;
        g_array_set_size(indices, (of_all + 3) / 4);
    }
    return TRUE;
}
