/* The method that simulates only what may be the best: bounds, rounds, runs ended early. */
#include "analysis/search/search_private.h"

#include <math.h>

/* Candidates of a round, after which is decided what is left out, while the next rounds are under
 * way already, so that no worker waits for a long run: few of a small space, and never so many that
 * much is simulated in vain; and one until the first has ended, which may end the others early. */
#define ROUND_LEAST 2
#define ROUND_MOST 4
#define ROUND_PARTS 40
#define ROUNDS_AHEAD 2
#define TIED_MOST 16 /* that need no slices to be put in order */

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
    gsize n = setup->objectives->n, n_values = result->n * n;
    double *values = g_new(double, n_values), optimistic[N_FIGURES];

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

    search_runs_free(round->runs, round->n);
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
    next->runs = search_runs_new(guiding->setup, result, round, guiding->beside, &next->n);
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
    search_take_round(guiding->setup, guiding->result, round->indices, runs, guiding->twins);
    guided_round_free(round);
}

gboolean search_guided(const SearchSetup *setup, SearchResult *result, GError **error) {
    g_autofree guint *places = g_new0(guint, result->n);
    g_autofree char *label = search_label(setup, "guided");
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
