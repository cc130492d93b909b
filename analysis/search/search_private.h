/* Private to search: what its parts share. */
#ifndef ANALYSIS_SEARCH_PRIVATE_H
#define ANALYSIS_SEARCH_PRIVATE_H

#include "analysis/bounds/plan_bound.h"
#include "analysis/search/search.h"

/* --- simulating */

/* A run for each of 'indices' (gsize), and behind them that of 'beside', where it is not NULL: '*n'
 * in all. Free with search_runs_free. */
CampaignRun *search_runs_new(const SearchSetup *setup, const SearchResult *result,
                             const GArray *indices, const SearchPoint *beside, gsize *n);
void search_runs_free(CampaignRun *runs, gsize n);
/* Which candidates are the same run but for slots that none of its requests wait for. */
typedef struct SearchTwins SearchTwins;
/* Ranks all that is known with these runs of the candidates of 'indices', whose outcomes it takes.
 * 'twins' may be NULL. */
void search_take_round(const SearchSetup *setup, SearchResult *result, const GArray *indices,
                       CampaignRun *runs, const SearchTwins *twins);
/* "16 clusters, guided". Caller frees. */
char *search_label(const SearchSetup *setup, const char *what);

gboolean search_guided(const SearchSetup *setup, SearchResult *result, GError **error);

/* --- what guided searches are made of */

/* Fills the candidates' best_figures, of which those in 'wanted' matter (N_FIGURES; NULL: all), and
 * their plans in words; those whose experiment cannot be are FATE_REFUSED. NULL on error. Caller
 * frees. */
PlanBounds *search_bounds_fill(const SearchSetup *setup, SearchResult *result,
                               const gboolean *wanted, GError **error);

/* Whether a plan with these figures leaves no place on the front for another with those. */
gboolean search_beats(const SearchSetup *setup, const Candidate *first, const double *a,
                      const Candidate *second, const double *b);

/* Ranks what is FATE_RANKED: ranking, ranks, best and front. */
void search_rank(const SearchSetup *setup, SearchResult *result);

SearchTwins *search_twins_new(const SearchSetup *setup, const SearchResult *result);
void search_twins_free(SearchTwins *twins);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchTwins, search_twins_free)
/* Which of two to simulate first where nothing else tells: below 0 the first. Who could do the
 * whole workload at once sooner; of those that may be the same run the one with the most slots,
 * whose bounds are the others' too; else in order. */
int search_twins_order(const SearchTwins *twins, const SearchResult *result, gsize first,
                       gsize second);
/* A candidate that may be the same run is under way. */
gboolean search_twins_wait(const SearchTwins *twins, const SearchResult *result, gsize index);
/* Gives the figures of candidate 'index', which was simulated, to those that are the same run, and
 * the bounds of one that was cut to those of fewer slots, whose run is the same so far. */
void search_twins_fill(const SearchTwins *twins, SearchResult *result, gsize index);

/* Short runs of the candidates in 'indices' (gsize; changed), whose 'places' (an entry a candidate)
 * then grow from the most to the least promising. Without effect on short workloads. */
gboolean search_slices_order(const SearchSetup *setup, SearchResult *result,
                             const SearchTwins *twins, GArray *indices, guint *places,
                             GError **error);

/* Fills 'figures' with 'best_figures', where what is unknown is as good as can be. */
void search_optimistic(const double *best_figures, double *figures);
/* Bounds that a run has shown, where they say more than those that are known. */
void search_bound_by(Candidate *candidate, const double *figures);
/* Whether optimistic figures break a limit on the side on which the true ones are worse. */
gboolean search_breaks_limit(const Objectives *objectives, const double *optimistic);

/* Ends a run once it is proven that it cannot come onto the front as it is now. */
typedef struct SearchCutoff SearchCutoff;
/* Borrows setup and bounds. NULL as long as nothing is on the front: all runs tell something. */
SearchCutoff *search_cutoff_new(const SearchSetup *setup, PlanBounds *bounds,
                                const SearchResult *result);
void search_cutoff_free(SearchCutoff *cutoff);
const CampaignWatch *search_cutoff_watch(const SearchCutoff *cutoff); /* borrowed; NULL for NULL */

/* For progress: what 'best' is from here on. */
void search_progress_begin(SearchProgress *progress, const Objectives *objectives);

#endif
