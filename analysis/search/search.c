#include "analysis/search/search_private.h"

#include <math.h>
#include <string.h>

/* Candidates of a round, after which is decided what is left out, while the next rounds are under
 * way already, so that no worker waits for a long run: few of a small space, and never so many that
 * much is simulated in vain; and one until the first has ended, which may end the others early. */
#define ROUND_LEAST 2
#define ROUND_MOST 4
#define ROUND_PARTS 40
#define ROUNDS_AHEAD 2
#define TIED_MOST 16 /* that need no slices to be put in order */

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

/* A run for each of 'indices', and behind them that of 'beside', where there is one: '*n' in all.
 */
static CampaignRun *runs_of(const SearchSetup *setup, const SearchResult *result,
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

static void runs_free(CampaignRun *runs, gsize n) {
    for (gsize i = 0; i < n; i++) {
        outcome_clear(&runs[i].outcome);
        g_free(runs[i].overrides);
    }
    g_free(runs);
}

/* Ranks all that is known with these runs of the candidates of 'indices'. 'twins' may be NULL. */
static void take_round(const SearchSetup *setup, SearchResult *result, const GArray *indices,
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

/* "16 clusters, round 3". Caller frees. */
static char *label_of(const SearchSetup *setup, const char *what) {
    return setup->label == NULL ? g_strdup(what) : g_strdup_printf("%s, %s", setup->label, what);
}

/* --- exhaustive */

static gboolean search_exhaustively(const SearchSetup *setup, SearchResult *result,
                                    GError **error) {
    g_autofree char *label = label_of(setup, "exhaustive");
    g_autoptr(GArray) indices = g_array_new(FALSE, FALSE, sizeof(gsize));
    gsize n;

    for (gsize i = 0; i < result->n; i++)
        g_array_append_val(indices, i);
    CampaignRun *runs = runs_of(setup, result, indices, setup->beside, &n);
    gboolean done = campaign_run(setup->campaign, runs, n, label, error);
    if (done)
        take_round(setup, result, indices, runs, NULL);
    runs_free(runs, n);
    return done;
}

/* --- guided */

/* Leaves out what no simulation can bring onto the front. A plan that beats the bound beats all
 * that the candidate can reach, so the front and the best stay what they would be with it. */
static void discard(const SearchSetup *setup, SearchResult *result) {
    double optimistic[N_FIGURES];

    for (gsize i = 0; i < result->n; i++) {
        Candidate *candidate = &result->candidates[i];
        if (candidate->fate != FATE_UNNEEDED || candidate->under_way)
            continue;
        search_optimistic(candidate->best_figures, optimistic);
        if (search_breaks_limit(setup->objectives, optimistic))
            candidate->fate = FATE_BOUND;
        for (gsize j = 0; j < result->n_front && candidate->fate == FATE_UNNEEDED; j++) {
            const Candidate *other = &result->candidates[result->front[j]];
            if (!search_beats(setup, other, other->outcome.figures, candidate, optimistic))
                continue;
            candidate->fate = FATE_BOUND;
            candidate->by = result->front[j];
        }
    }
}

typedef struct Picking {
    const SearchSetup *setup;
    const SearchResult *result;
    const SearchTwins *twins;
    const guint *places;  /* a candidate, where bounds are equal */
    const double *values; /* optimistic ones, of each objective a candidate */
    guint objective;      /* that orders; the others follow */
} Picking;

/* The optimistic values of all objectives, candidate by candidate. Caller frees. */
static double *values_of(const SearchSetup *setup, const SearchResult *result) {
    guint n = setup->objectives->n;
    double *values = g_new(double, result->n *n), optimistic[N_FIGURES];

    for (gsize i = 0; i < result->n; i++) {
        search_optimistic(result->candidates[i].best_figures, optimistic);
        for (guint o = 0; o < n; o++)
            values[i * n + o] = optimistic[setup->objectives->figures[o]];
    }
    return values;
}

static int by_objective(const Picking *picking, guint objective, gsize first, gsize second) {
    const Objectives *objectives = picking->setup->objectives;

    return objective_compare(objectives->figures[objective],
                             picking->values[first * objectives->n + objective],
                             picking->values[second * objectives->n + objective]);
}

static gint by_bound(gconstpointer a, gconstpointer b, gpointer data) {
    const Picking *picking = data;
    gsize first = *(const gsize *)a, second = *(const gsize *)b;
    guint place = picking->places[first], other = picking->places[second];
    int order = by_objective(picking, picking->objective, first, second);

    if (order == 0 && place != other)
        return place < other ? -1 : 1;
    for (guint o = 0; o < picking->setup->objectives->n && order == 0; o++)
        order = by_objective(picking, o, first, second);
    return order != 0 ? order : search_twins_order(picking->twins, picking->result, first, second);
}

static GArray *left_over(const SearchResult *result) {
    GArray *left = g_array_new(FALSE, FALSE, sizeof(gsize));

    for (gsize i = 0; i < result->n; i++)
        if (result->candidates[i].fate == FATE_UNNEEDED && !result->candidates[i].under_way)
            g_array_append_val(left, i);
    return left;
}

/* The next round: the most promising by their bounds, in turn for each objective, but for those
 * whose figures one under way may tell. They are under way from here on. */
static GArray *pick(const SearchSetup *setup, const SearchResult *result, const SearchTwins *twins,
                    const guint *places) {
    guint n = setup->objectives->n;
    g_autofree double *values = values_of(setup, result);
    Picking picking = {setup, result, twins, places, values, 0};
    GArray *round = g_array_new(FALSE, FALSE, sizeof(gsize));
    g_autoptr(GPtrArray) orders = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

    for (picking.objective = 0; picking.objective < n; picking.objective++) {
        GArray *order = left_over(result);
        g_array_sort_with_data(order, by_bound, &picking);
        g_ptr_array_add(orders, order);
    }
    guint left = ((GArray *)orders->pdata[0])->len;
    guint most =
        result->rounds == 0 ? 1 : (guint)CLAMP(result->n / ROUND_PARTS, ROUND_LEAST, ROUND_MOST);
    for (guint i = 0; i < left * n && round->len < most; i++) {
        gsize index = g_array_index((GArray *)orders->pdata[i % n], gsize, i / n);
        Candidate *candidate = &result->candidates[index];
        if (candidate->under_way || search_twins_wait(twins, result, index))
            continue;
        candidate->under_way = TRUE;
        g_array_append_val(round, index);
    }
    return round;
}

/* The candidates that share the best bound of the first objective. */
static GArray *tied(const SearchSetup *setup, const SearchResult *result) {
    Figure figure = setup->objectives->figures[0];
    GArray *left = left_over(result), *same = g_array_new(FALSE, FALSE, sizeof(gsize));
    double optimistic[N_FIGURES], best = NAN;

    for (guint i = 0; i < left->len; i++) {
        gsize index = g_array_index(left, gsize, i);
        search_optimistic(result->candidates[index].best_figures, optimistic);
        int order = objective_compare(figure, optimistic[figure], best);
        if (order < 0) {
            g_array_set_size(same, 0);
            best = optimistic[figure];
        }
        if (order <= 0)
            g_array_append_val(same, index);
    }
    g_array_unref(left);
    return same;
}

/* Where bounds do not tell the most promising apart, slices of the workload do. */
static gboolean order_tied(const SearchSetup *setup, SearchResult *result, const SearchTwins *twins,
                           guint *places, GError **error) {
    g_autoptr(GArray) same = tied(setup, result);

    return same->len <= TIED_MOST || search_slices_order(setup, result, twins, same, places, error);
}

typedef struct GuidedRound {
    GArray *indices;
    CampaignRun *runs; /* of them, and maybe one more */
    gsize n;
    SearchCutoff *cutoff;
} GuidedRound;

static void guided_round_free(gpointer data) {
    GuidedRound *round = data;

    runs_free(round->runs, round->n);
    g_array_unref(round->indices);
    search_cutoff_free(round->cutoff);
    g_free(round);
}

typedef struct Guiding {
    const SearchSetup *setup;
    SearchResult *result;
    const SearchTwins *twins;
    guint *places;
    PlanBounds *bounds;
    const SearchPoint *beside; /* to go with the next round; NULL: none */
    GQueue rounds;             /* under way: GuidedRound, owned */
} Guiding;

static CampaignRun *guided_next(gpointer data, gsize *n) {
    Guiding *guiding = data;
    SearchResult *result = guiding->result;

    discard(guiding->setup, result);
    g_autoptr(GArray) round = pick(guiding->setup, result, guiding->twins, guiding->places);
    if (round->len == 0)
        return NULL;
    GuidedRound *next = g_new(GuidedRound, 1);
    *next = (GuidedRound){.cutoff = search_cutoff_new(guiding->setup, guiding->bounds, result)};
    next->runs = runs_of(guiding->setup, result, round, guiding->beside, &next->n);
    for (gsize i = 0; i < round->len; i++)
        next->runs[i].watch = search_cutoff_watch(next->cutoff);
    next->indices = g_steal_pointer(&round);
    guiding->beside = NULL;
    *n = next->n;
    g_queue_push_tail(&guiding->rounds, next);
    return next->runs;
}

static void guided_take(gpointer data, CampaignRun *runs, gsize n) {
    Guiding *guiding = data;
    GuidedRound *round = g_queue_pop_head(&guiding->rounds);

    (void)n;
    take_round(guiding->setup, guiding->result, round->indices, runs, guiding->twins);
    guided_round_free(round);
}

static gboolean search_guided(const SearchSetup *setup, SearchResult *result, GError **error) {
    g_autofree guint *places = g_new0(guint, result->n);
    g_autofree char *label = label_of(setup, "guided");
    g_autoptr(SearchTwins) twins = search_twins_new(setup, result);
    gboolean wanted[N_FIGURES] = {FALSE};
    objectives_figures(setup->objectives, wanted);
    g_autoptr(PlanBounds) bounds = search_bounds_fill(setup, result, wanted, error);
    Guiding guiding = {setup, result, twins, places, bounds, setup->beside, G_QUEUE_INIT};
    CampaignRounds rounds = {ROUNDS_AHEAD, guided_next, guided_take, &guiding};

    if (bounds == NULL)
        return FALSE;
    discard(setup, result);
    if (!order_tied(setup, result, twins, places, error))
        return FALSE;
    gboolean done = campaign_run_rounds(setup->campaign, &rounds, label, error);
    g_queue_clear_full(&guiding.rounds, guided_round_free);
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
