/* Ends runs of a guided search once they cannot come onto the front any more. */
#include "analysis/search/search_private.h"

#include "analysis/bounds/plan_watch.h"
#include "analysis/output/number_text.h"

/* To be raised whenever bounds change, as what came of a run that was cut is known by its watch. */
#define BOUNDS_REVISION 2U

struct SearchCutoff {
    CampaignWatch watch; /* borrows the cutoff */
    const SearchSetup *setup;
    PlanBounds *bounds;
    double (*front)[N_FIGURES]; /* what has to be beaten, or at least equalled in everything */
    gsize n;
};

static gboolean is_useless(gconstpointer data, const double *figures) {
    const SearchCutoff *cutoff = data;
    double optimistic[N_FIGURES];

    search_optimistic(figures, optimistic);
    if (search_breaks_limit(cutoff->setup->objectives, optimistic))
        return TRUE;
    for (gsize i = 0; i < cutoff->n; i++)
        if (objectives_compare(cutoff->setup->objectives, cutoff->front[i], optimistic) ==
            OBJECTIVES_BETTER)
            return TRUE;
    return FALSE;
}

static RunWatch *make(gconstpointer data, const Experiment *experiment, const OpCosts *costs) {
    const SearchCutoff *cutoff = data;

    return plan_watch_new(cutoff->bounds, experiment, costs, is_useless, cutoff);
}

/* "bounds 2: beat throughput 451.7 or 448.1, ttft_p99 2.1 or 1.9, goodput >= 99 %". Caller frees.
 */
static char *name_of(const SearchCutoff *cutoff) {
    const Objectives *objectives = cutoff->setup->objectives;
    GString *out = g_string_new(NULL);
    char number[NUMBER_TEXT_MAX];

    g_string_append_printf(out, "bounds %u: beat", BOUNDS_REVISION);
    for (guint o = 0; o < objectives->n; o++) {
        Figure figure = objectives->figures[o];
        g_string_append_printf(out, "%s %s", o == 0 ? "" : ",", figure_info(figure)->name);
        for (gsize i = 0; i < cutoff->n; i++) {
            char *end = number_text_shortest(number, cutoff->front[i][figure]);
            g_string_append(out, i == 0 ? " " : " or ");
            g_string_append_len(out, number, end - number);
        }
    }
    for (guint i = 0; i < objectives->limits->len; i++)
        g_string_append_printf(out, ", %s", g_array_index(objectives->limits, FigureLimit, i).text);
    return g_string_free(out, FALSE);
}

SearchCutoff *search_cutoff_new(const SearchSetup *setup, PlanBounds *bounds,
                                const SearchResult *result) {
    if (result->n_front == 0)
        return NULL;
    SearchCutoff *cutoff = g_new(SearchCutoff, 1);
    *cutoff = (SearchCutoff){.setup = setup, .bounds = bounds, .n = result->n_front};
    cutoff->front = g_malloc_n(result->n_front, sizeof *cutoff->front);
    for (gsize i = 0; i < result->n_front; i++)
        memcpy(cutoff->front[i], result->candidates[result->front[i]].outcome.figures,
               sizeof *cutoff->front);
    cutoff->watch = (CampaignWatch){
        .name = name_of(cutoff), .is_useless = is_useless, .make = make, .data = cutoff};
    return cutoff;
}

void search_cutoff_free(SearchCutoff *cutoff) {
    if (cutoff == NULL)
        return;
    g_free(cutoff->front);
    g_free((char *)cutoff->watch.name);
    g_free(cutoff);
}

const CampaignWatch *search_cutoff_watch(const SearchCutoff *cutoff) {
    return cutoff == NULL ? NULL : &cutoff->watch;
}
