/* Private to search: what its parts share. */
#ifndef ANALYSIS_SEARCH_PRIVATE_H
#define ANALYSIS_SEARCH_PRIVATE_H

#include "analysis/search/search.h"

/* Fills the candidates' best_figures; those whose experiment cannot be are FATE_REFUSED. */
gboolean search_bounds_fill(const SearchSetup *setup, SearchResult *result, GError **error);

/* The order of the ranking between two candidates with the figures 'a' and 'b': below 0 when the
 * first comes before the second. */
int search_order(const SearchSetup *setup, const Candidate *first, const double *a,
                 const Candidate *second, const double *b);
/* Whether a plan with these figures leaves no place on the front for another with those. */
gboolean search_beats(const SearchSetup *setup, const Candidate *first, const double *a,
                      const Candidate *second, const double *b);

/* Ranks what is FATE_RANKED: ranking, ranks, best and front. */
void search_rank(const SearchSetup *setup, SearchResult *result);

/* Short runs of the candidates in 'indices' (gsize; changed), whose 'places' (an entry a candidate)
 * then grow from the most to the least promising. Without effect on short workloads. */
gboolean search_slices_order(const SearchSetup *setup, SearchResult *result, GArray *indices,
                             guint *places, GError **error);

/* Which candidates are the same run but for slots that none of its requests wait for. */
typedef struct SearchTwins SearchTwins;
SearchTwins *search_twins_new(const SearchSetup *setup, const SearchResult *result);
void search_twins_free(SearchTwins *twins);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchTwins, search_twins_free)
/* A candidate that may be the same run is under way. */
gboolean search_twins_wait(const SearchTwins *twins, const SearchResult *result, gsize index);
/* Gives the figures of candidate 'index', which was simulated, to those that are the same run. */
void search_twins_fill(const SearchTwins *twins, SearchResult *result, gsize index);

/* best_figures with what is unknown as good as can be. */
void search_optimistic(const Candidate *candidate, double *figures);

/* For progress: what 'best' is from here on. */
void search_progress_begin(SearchProgress *progress, const Objectives *objectives);

#endif
