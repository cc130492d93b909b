/* The best plan of a space: all of them simulated, or those that no proof leaves out, or the one
 * that the analytic rule names. */
#ifndef ANALYSIS_SEARCH_H
#define ANALYSIS_SEARCH_H

#include "analysis/campaign/campaign.h"
#include "analysis/search/objective.h"
#include "policies/search_space.h"

typedef enum {
    FATE_RANKED,
    FATE_LIMIT,     /* simulated; breaks a limit of the objectives */
    FATE_BOUND,     /* not simulated: even its optimistic bound is no better than what 'by' reaches,
                       or breaks a limit ('by' is NO_CANDIDATE) */
    FATE_REFUSED,   /* it does not fit after all; the outcome says why */
    FATE_BROKEN,    /* deadlock, crash, timeout; the outcome says why */
    FATE_UNNEEDED,  /* not simulated: the method is analytic */
    FATE_ELSEWHERE, /* in another shard */
    N_FATES
} CandidateFate;
const char *candidate_fate_name(CandidateFate fate); /* "ranked", "limit", "bound" … */

#define NO_CANDIDATE G_MAXSIZE

typedef struct Candidate {
    const SearchPoint *point; /* borrowed from the space */
    char *plan;               /* in words, as search_plan_text has it; NULL: not told */
    CandidateFate fate;
    gsize by;        /* FATE_BOUND: the index of the candidate that beats it, or NO_CANDIDATE */
    Outcome outcome; /* with figures where it was simulated and is sound */
    double best_figures[N_FIGURES]; /* no simulation of it can be better than these; NaN: unknown.
                                       Exhaustive searches leave them all NaN */
    double at_once_s;               /* the least time for the whole workload at once; 0: unknown */
    guint rank;                     /* of FATE_RANKED, from 1; 0: none */
    gboolean under_way;             /* being simulated */
    gboolean cut;                   /* simulated until what its run had shown beat its bound */
    gboolean on_front;              /* no other one is better in all objectives */
} Candidate;

/* Best first: by the first objective, then by the others in their order, then fewer clusters, then
 * the order of enumeration. A plan is on the front when no other is at least as good in every
 * objective and either better in one or before it in that order. */
typedef struct SearchResult {
    Candidate *candidates; /* in enumeration order */
    gsize n;
    gsize *ranking; /* indices of the ranked ones, best first */
    gsize n_ranked;
    gsize best;   /* an index, or NO_CANDIDATE */
    gsize *front; /* indices, in the order of the ranking; with one objective the best alone */
    gsize n_front;
    guint64 fates[N_FATES];
    gsize simulated; /* to the end, or cut */
    gsize cut;
    gsize twins; /* not simulated, but the same run as one that was: only slots that none of its
                    requests waited for differ */
    guint rounds;
    double
        events; /* engine operations of what this search simulated, known and cut ones included */
} SearchResult;
void search_result_free(SearchResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchResult, search_result_free)

/* The best so far, for a campaign's line of progress: make it before the campaign and set
 * CampaignSetup.best = search_progress_best, .data = the progress. */
typedef struct SearchProgress SearchProgress;
SearchProgress *search_progress_new(void);
void search_progress_free(SearchProgress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchProgress, search_progress_free)
char *search_progress_best(gpointer progress, const CampaignRun *run);

typedef struct SearchSetup {
    Campaign *campaign;
    const SearchSpace *space; /* must outlive the result */
    const Objectives *objectives;
    SearchMethod method;
    /* Of every candidate, before its own settings: "platform.nodes=8"; NULL: none. */
    const char *const *settings;
    /* Of no candidate, but simulated with the first round where there is one, so that the campaign
     * knows what came of it when it is asked; NULL: none. */
    const SearchPoint *beside;
    SearchProgress *progress; /* that the campaign was made with, or NULL */
    const char *label;        /* heads the lines of progress ("16 clusters"), or NULL */
} SearchSetup;

/* Guided finds the same best plan and the same front as exhaustive; it never simulates more of
 * them, but for slices of long workloads that put them in order where bounds do not. What
 * it decides does not depend on the number of workers. FALSE where campaign_run fails. Candidates
 * that fail are no error: see 'best'. NULL on error. */
SearchResult *search_run(const SearchSetup *setup, GError **error);

/* The settings of a candidate with the search's own before them; the strings are borrowed, caller
 * frees the array only. NULL-terminated. */
const char **search_settings(const SearchSetup *setup, const SearchPoint *point);

/* A plan in few words: "prefill 2x1, buffer 1, decode tp4 dp2, slots 32", from the experiment that
 * the settings make. Caller frees. */
char *search_plan_text(const Policy *policy);

#endif
