#include "analysis/search/search_private.h"

#include <math.h>
#include <string.h>

const char *candidate_fate_name(CandidateFate fate) {
    static const char *const names[N_FATES] = {
        [FATE_RANKED] = "ranked",      [FATE_LIMIT] = "limit",   [FATE_BOUND] = "bound",
        [FATE_REFUSED] = "refused",    [FATE_BROKEN] = "broken", [FATE_UNNEEDED] = "unneeded",
        [FATE_ELSEWHERE] = "elsewhere"};

    return names[fate];
}

void search_result_free(SearchResult *result) {
    if (result == NULL)
        return;
    for (gsize i = 0; i < result->n; i++) {
        outcome_clear(&result->candidates[i].outcome);
        g_free(result->candidates[i].plan);
    }
    g_free(result->candidates);
    g_free(result->ranking);
    g_free(result->front);
    g_free(result);
}

static SearchResult *result_new(const SearchSetup *setup) {
    const GPtrArray *points = setup->space->points;
    SearchResult *result = g_new0(SearchResult, 1);

    result->n = points->len;
    result->candidates = g_new0(Candidate, result->n);
    result->ranking = g_new0(gsize, result->n);
    result->front = g_new0(gsize, result->n);
    result->best = NO_CANDIDATE;
    for (gsize i = 0; i < result->n; i++) {
        Candidate *candidate = &result->candidates[i];
        candidate->point = points->pdata[i];
        candidate->fate = FATE_UNNEEDED;
        candidate->by = NO_CANDIDATE;
        outcome_init(&candidate->outcome);
        for (guint f = 0; f < N_FIGURES; f++)
            candidate->best_figures[f] = NAN;
    }
    return result;
}

const char **search_settings(const SearchSetup *setup, const SearchPoint *point) {
    GPtrArray *all = g_ptr_array_new();

    for (guint i = 0; setup->settings != NULL && setup->settings[i] != NULL; i++)
        g_ptr_array_add(all, (gpointer)setup->settings[i]);
    for (guint i = 0; point->settings[i] != NULL; i++)
        g_ptr_array_add(all, point->settings[i]);
    g_ptr_array_add(all, NULL);
    return (const char **)g_ptr_array_free(all, FALSE);
}

/* --- progress */

struct SearchProgress {
    const Objectives *objectives; /* of the search under way */
    double best[N_FIGURES];
    gboolean found;
};

SearchProgress *search_progress_new(void) {
    return g_new0(SearchProgress, 1);
}

void search_progress_free(SearchProgress *progress) {
    g_free(progress);
}

void search_progress_begin(SearchProgress *progress, const Objectives *objectives) {
    if (progress == NULL)
        return;
    progress->objectives = objectives;
    progress->found = FALSE;
}

char *search_progress_best(gpointer data, const CampaignRun *run) {
    SearchProgress *progress = data;
    const double *figures = run->outcome.figures;

    if (progress->objectives == NULL || run->outcome.status != OUTCOME_OK ||
        objectives_broken_limit(progress->objectives, figures) != NULL)
        return NULL;
    Figure figure = progress->objectives->figures[0];
    if (progress->found && objective_compare(figure, figures[figure], progress->best[figure]) >= 0)
        return NULL;
    memcpy(progress->best, figures, sizeof progress->best);
    progress->found = TRUE;
    g_autofree char *value = objective_text(figure, figures[figure]);
    return g_strdup_printf("best: %s", value);
}

/* --- simulating */

/* A run that was cut has made the bound better, to one that is left out. */
static void take_cut(SearchResult *result, Candidate *candidate) {
    const double *figures = candidate->outcome.figures;

    result->cut++;
    result->events += figures[FIGURE_EVENTS];
    search_bound_by(candidate, figures);
    candidate->cut = TRUE;
}

static void take(const SearchSetup *setup, SearchResult *result, Candidate *candidate,
                 CampaignRun *run) {
    candidate->under_way = FALSE;
    outcome_clear(&candidate->outcome);
    candidate->outcome = run->outcome;
    outcome_init(&run->outcome);
    if (campaign_run_is_elsewhere(&(CampaignRun){.outcome = candidate->outcome})) {
        candidate->fate = FATE_ELSEWHERE;
        return;
    }
    result->simulated++;
    if (candidate->outcome.status == OUTCOME_CUT) {
        take_cut(result, candidate);
        return;
    }
    if (candidate->outcome.status != OUTCOME_OK) {
        candidate->fate = candidate->outcome.status == OUTCOME_REFUSED ? FATE_REFUSED : FATE_BROKEN;
        return;
    }
    result->events += candidate->outcome.figures[FIGURE_EVENTS];
    candidate->fate = objectives_broken_limit(setup->objectives, candidate->outcome.figures) == NULL
                          ? FATE_RANKED
                          : FATE_LIMIT;
}

CampaignRun *search_runs_new(const SearchSetup *setup, const SearchResult *result,
                             const GArray *indices, const SearchPoint *beside, gsize *n) {
    *n = indices->len + (beside == NULL ? 0 : 1);
    CampaignRun *runs = g_new0(CampaignRun, *n);

    for (gsize i = 0; i < *n; i++) {
        const SearchPoint *point =
            i == indices->len ? beside : result->candidates[g_array_index(indices, gsize, i)].point;
        runs[i].overrides = (char **)search_settings(setup, point);
        runs[i].aside = i == indices->len;
    }
    return runs;
}

void search_runs_free(CampaignRun *runs, gsize n) {
    for (gsize i = 0; i < n; i++) {
        outcome_clear(&runs[i].outcome);
        g_free(runs[i].overrides);
    }
    g_free(runs);
}

void search_take_round(const SearchSetup *setup, SearchResult *result, const GArray *indices,
                       CampaignRun *runs, const SearchTwins *twins) {
    for (guint i = 0; i < indices->len; i++) {
        gsize index = g_array_index(indices, gsize, i);
        take(setup, result, &result->candidates[index], &runs[i]);
        if (twins != NULL)
            search_twins_fill(twins, result, index);
        if (result->candidates[index].outcome.status == OUTCOME_CUT) {
            outcome_clear(&result->candidates[index].outcome);
            outcome_init(&result->candidates[index].outcome);
        }
    }
    result->rounds++;
    search_rank(setup, result);
}

char *search_label(const SearchSetup *setup, const char *what) {
    return setup->label == NULL ? g_strdup(what) : g_strdup_printf("%s, %s", setup->label, what);
}

/* --- exhaustive */

static gboolean search_exhaustively(const SearchSetup *setup, SearchResult *result,
                                    GError **error) {
    g_autofree char *label = search_label(setup, "exhaustive");
    g_autoptr(GArray) indices = g_array_new(FALSE, FALSE, sizeof(gsize));
    gsize n;

    for (gsize i = 0; i < result->n; i++)
        g_array_append_val(indices, i);
    CampaignRun *runs = search_runs_new(setup, result, indices, setup->beside, &n);
    gboolean done = campaign_run(setup->campaign, runs, n, label, error);
    if (done)
        search_take_round(setup, result, indices, runs, NULL);
    search_runs_free(runs, n);
    return done;
}

SearchResult *search_run(const SearchSetup *setup, GError **error) {
    g_autoptr(SearchResult) result = result_new(setup);
    gboolean done = TRUE;

    search_progress_begin(setup->progress, setup->objectives);
    if (setup->method == SEARCH_EXHAUSTIVE)
        done = search_exhaustively(setup, result, error);
    if (setup->method == SEARCH_GUIDED)
        done = search_guided(setup, result, error);
    search_progress_begin(setup->progress, NULL);
    if (!done)
        return NULL;
    for (gsize i = 0; i < result->n; i++)
        result->fates[result->candidates[i].fate]++;
    return g_steal_pointer(&result);
}

/* --- a plan in words */

static void add_degree(GString *out, const char *name, guint64 degree) {
    if (degree > 1)
        g_string_append_printf(out, " %s%" G_GUINT64_FORMAT, name, degree);
}

char *search_plan_text(const Policy *policy) {
    GString *out = g_string_new(NULL);
    const DecodeSpec *decode = &policy->decode;

    if (policy->pools > 1)
        g_string_append_printf(out, "%" G_GUINT64_FORMAT " pools: ", policy->pools);
    if (policy->mode == MODE_PBD) {
        g_string_append_printf(out, "prefill %" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT,
                               policy->prefill.dp, policy->prefill.pp);
        add_degree(out, "batch", policy->prefill.micro_batch);
        add_degree(out, "chunk", policy->prefill.chunk_tokens);
        g_string_append_printf(out, ", buffer %" G_GUINT64_FORMAT ", ", policy->buffer.clusters);
    }
    g_string_append_printf(out, "%s tp%" G_GUINT64_FORMAT, policy_decode_key(policy->mode),
                           decode->tp);
    add_degree(out, "pp", decode->pp);
    g_string_append_printf(out, " dp%" G_GUINT64_FORMAT ", slots %" G_GUINT64_FORMAT, decode->dp,
                           decode->slots);
    if (policy->mode == MODE_COLOCATED && decode->chunk_tokens > 0)
        g_string_append_printf(out, ", chunk %" G_GUINT64_FORMAT, decode->chunk_tokens);
    return g_string_free(out, FALSE);
}
