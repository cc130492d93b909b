#include "analysis/search/search_private.h"

#include <math.h>
#include <stdlib.h>

static int by_place(const Candidate *a, const Candidate *b) {
    if (a->point->clusters != b->point->clusters)
        return a->point->clusters < b->point->clusters ? -1 : 1;
    return a < b ? -1 : a > b; /* both in one array, in enumeration order */
}

gboolean search_beats(const SearchSetup *setup, const Candidate *first, const double *a,
                      const Candidate *second, const double *b) {
    Comparison comparison = objectives_compare(setup->objectives, a, b);

    return comparison == OBJECTIVES_BETTER ||
           (comparison == OBJECTIVES_EQUAL && by_place(first, second) < 0);
}

void search_optimistic(const double *best_figures, double *figures) {
    for (Figure figure = 0; figure < N_FIGURES; figure++) {
        double unknown = figure_info(figure)->larger_is_better ? INFINITY : -INFINITY;
        figures[figure] = isnan(best_figures[figure]) ? unknown : best_figures[figure];
    }
}

void search_bound_by(Candidate *candidate, const double *figures) {
    for (Figure figure = 0; figure < N_FIGURES; figure++) {
        double *known = &candidate->best_figures[figure];
        gboolean bound = figure != FIGURE_EVENTS && figure != FIGURE_SLOTS_NEEDED;
        if (bound && !isnan(figures[figure]) &&
            (isnan(*known) || objective_compare(figure, figures[figure], *known) > 0))
            *known = figures[figure];
    }
}

gboolean search_breaks_limit(const Objectives *objectives, const double *optimistic) {
    for (guint i = 0; i < objectives->limits->len; i++) {
        const FigureLimit *limit = &g_array_index(objectives->limits, FigureLimit, i);
        gboolean same_side = limit->at_most != figure_info(limit->figure)->larger_is_better;
        if ((same_side || limit->figure == FIGURE_CLUSTERS) &&
            !figure_limit_kept(limit, optimistic))
            return TRUE;
    }
    return FALSE;
}

typedef struct Ranking {
    const SearchSetup *setup;
    const SearchResult *result;
} Ranking;

static gint by_figures(gconstpointer a, gconstpointer b, gpointer data) {
    const Ranking *ranking = data;
    const Candidate *first = &ranking->result->candidates[*(const gsize *)a];
    const Candidate *second = &ranking->result->candidates[*(const gsize *)b];

    int order = objectives_order(ranking->setup->objectives, first->outcome.figures,
                                 second->outcome.figures);
    return order != 0 ? order : by_place(first, second);
}

static gboolean is_beaten(const SearchSetup *setup, const SearchResult *result, gsize index) {
    const Candidate *candidate = &result->candidates[index];

    for (gsize i = 0; i < result->n_front; i++) {
        const Candidate *other = &result->candidates[result->front[i]];
        if (search_beats(setup, other, other->outcome.figures, candidate,
                         candidate->outcome.figures))
            return TRUE;
    }
    return FALSE;
}

/* Who beats a plan comes before it in the ranking, and is on the front or beaten by one that is. */
static void find_front(const SearchSetup *setup, SearchResult *result) {
    result->n_front = 0;
    for (gsize i = 0; i < result->n_ranked; i++) {
        gsize index = result->ranking[i];
        result->candidates[index].on_front = !is_beaten(setup, result, index);
        if (result->candidates[index].on_front)
            result->front[result->n_front++] = index;
    }
}

void search_rank(const SearchSetup *setup, SearchResult *result) {
    Ranking ranking = {setup, result};

    result->n_ranked = 0;
    for (gsize i = 0; i < result->n; i++)
        if (result->candidates[i].fate == FATE_RANKED)
            result->ranking[result->n_ranked++] = i;
    if (result->n_ranked > 0)
        g_qsort_with_data(result->ranking, (gint)result->n_ranked, sizeof(gsize), by_figures,
                          &ranking);
    for (gsize i = 0; i < result->n_ranked; i++)
        result->candidates[result->ranking[i]].rank = (guint)i + 1;
    result->best = result->n_ranked > 0 ? result->ranking[0] : NO_CANDIDATE;
    find_front(setup, result);
}
