#include "analysis/costs/wafer_tune.h"

#include <math.h>

#define GRID_STEP 30
#define COARSE 4 /* every fourth at first */
#define KEPT 2   /* of each phase, for pairs */

/* A grid of one phase. */
typedef struct GridTime {
    guint grid, regions;
    double seconds; /* of the prompt, or of a token */
} GridTime;

/* One phase: its candidates and those of them that have been simulated. */
typedef struct Phase {
    const WaferTuneInput *input;
    gboolean decode;
    GArray *grids; /* guint: those that fit, ascending */
    gboolean *known;
    GArray *times; /* GridTime, quickest first */
} Phase;

guint32 wafer_tune_mean(guint64 tokens, guint64 requests) {
    return (guint32)MAX((tokens + requests / 2) / requests, 1);
}

static WaferNeed need_of(const WaferTuneInput *input, guint grid) {
    WaferNeed need = {input->model, input->mesh, input->spec, input->max_context};

    need.spec.prefill_grid = need.spec.decode_grid = grid;
    return need;
}

/* Regions that the grid needs, 0 where it does not fit; prompts need none. */
static guint fits(const Phase *phase, guint grid, GError **error) {
    WaferNeed need = need_of(phase->input, grid);
    WaferUse use = {0};

    if (!phase->decode)
        return wafer_use_prefill(&need, &use, error) ? 1 : 0;
    return wafer_use_decode(&need, &use, error) ? (guint)use.spec.regions : 0;
}

/* Layers that rest below a grid that computes prompts. */
static guint outside_layers(const WaferTuneInput *input, guint grid) {
    WaferNeed need = need_of(input, grid);
    WaferUse use = {0};

    return wafer_use_prefill(&need, &use, NULL) ? (guint)use.outside_layers : 0;
}

/* The grid that is given, or those that may be chosen. An error where none fits: of the largest. */
static gboolean list_grids(Phase *phase, GError **error) {
    const WaferTuneInput *input = phase->input;
    guint given = (guint)(phase->decode ? input->spec.decode_grid : input->spec.prefill_grid);
    guint largest = (guint)MIN(input->mesh->columns, input->mesh->rows);

    for (guint grid = GRID_STEP; given == 0 && grid < largest; grid += GRID_STEP)
        if (fits(phase, grid, NULL) > 0)
            g_array_append_val(phase->grids, grid);
    guint last = given > 0 ? given : largest;
    if (fits(phase, last, phase->grids->len == 0 ? error : NULL) > 0)
        g_array_append_val(phase->grids, last);
    return phase->grids->len > 0;
}

static WaferPoint point_of(const Phase *phase, guint grid) {
    const WaferTuneInput *input = phase->input;
    WaferSpec spec = input->spec;
    spec.decode_grid = grid;
    guint64 context =
        wafer_use_even_context(&spec, input->mean_prompt, (input->mean_output + 1) / 2);

    return (WaferPoint){.model = input->model,
                        .system = input->spec.system,
                        .grid = grid,
                        .tokens = phase->decode ? context : input->mean_prompt,
                        .k_tree = (guint)input->spec.k_tree,
                        .with_head = TRUE,
                        .regions = phase->decode ? fits(phase, grid, NULL) : 1,
                        .outside = phase->decode ? 0 : outside_layers(input, grid),
                        .turns = phase->decode,
                        .kv_shift = phase->decode && spec.kv == KV_SHIFT};
}

static int quicker(gconstpointer a, gconstpointer b) {
    const GridTime *first = a, *second = b;

    if (first->seconds != second->seconds)
        return first->seconds < second->seconds ? -1 : 1;
    return (first->grid > second->grid) - (first->grid < second->grid);
}

/* Simulates the grids at 'indices' that are within and not known yet. */
static gboolean simulate(Phase *phase, const GArray *indices, GError **error) {
    WaferCosts *costs = phase->input->costs;

    for (guint i = 0; i < indices->len; i++) {
        guint index = g_array_index(indices, guint, i);
        WaferPoint point = point_of(phase, g_array_index(phase->grids, guint, index));
        if (phase->decode)
            wafer_costs_want_decode(costs, &point);
        else
            wafer_costs_want_prefill(costs, &point);
    }
    if (!wafer_costs_fill(costs, error))
        return FALSE;
    for (guint i = 0; i < indices->len; i++) {
        guint index = g_array_index(indices, guint, i);
        WaferPoint point = point_of(phase, g_array_index(phase->grids, guint, index));
        double cycles = phase->decode ? wafer_decode_cycles(costs, &point, error)
                                      : wafer_prefill_cycles(costs, &point, error);
        if (cycles < 0)
            return FALSE;
        GridTime time = {point.grid, point.regions, cycles / phase->input->mesh->clock_hz};
        g_array_append_val(phase->times, time);
        phase->known[index] = TRUE;
    }
    g_array_sort(phase->times, quicker);
    return TRUE;
}

/* Every fourth grid, the largest included. */
static GArray *coarse_indices(const Phase *phase) {
    GArray *indices = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint index = (phase->grids->len - 1) % COARSE; index < phase->grids->len; index += COARSE)
        g_array_append_val(indices, index);
    return indices;
}

static guint index_of(const Phase *phase, guint grid) {
    guint index = 0;

    while (g_array_index(phase->grids, guint, index) != grid)
        index++;
    return index;
}

/* What lies between the best grid and the next ones that are known. */
static GArray *fine_indices(const Phase *phase) {
    GArray *indices = g_array_new(FALSE, FALSE, sizeof(guint));
    guint best = index_of(phase, g_array_index(phase->times, GridTime, 0).grid);
    guint first = best >= COARSE ? best - COARSE + 1 : 0;

    for (guint index = first; index < MIN(best + COARSE, phase->grids->len); index++)
        if (!phase->known[index])
            g_array_append_val(indices, index);
    return indices;
}

static gboolean tune_phase(Phase *phase, GError **error) {
    if (!list_grids(phase, error))
        return FALSE;
    phase->known = g_new0(gboolean, phase->grids->len);
    g_autoptr(GArray) coarse = coarse_indices(phase);
    if (!simulate(phase, coarse, error))
        return FALSE;
    g_autoptr(GArray) fine = fine_indices(phase);
    return simulate(phase, fine, error);
}

static WaferTransition transition_of(const WaferTuneInput *input, const WaferCandidate *candidate) {
    return (WaferTransition){.model = input->model,
                             .prefill_grid = candidate->prefill_grid,
                             .decode_grid = candidate->decode_grid,
                             .tokens = input->mean_prompt,
                             .regions = candidate->regions,
                             .outside = outside_layers(input, candidate->prefill_grid)};
}

static GArray *list_pairs(const Phase phases[2]) {
    GArray *pairs = g_array_new(FALSE, FALSE, sizeof(WaferCandidate));

    for (guint i = 0; i < MIN(phases[0].times->len, KEPT); i++)
        for (guint j = 0; j < MIN(phases[1].times->len, KEPT); j++) {
            const GridTime *prefill = &g_array_index(phases[0].times, GridTime, i);
            const GridTime *decode = &g_array_index(phases[1].times, GridTime, j);
            WaferCandidate pair = {.prefill_grid = prefill->grid,
                                   .decode_grid = decode->grid,
                                   .regions = decode->regions,
                                   .prefill_s = prefill->seconds,
                                   .decode_s = decode->seconds};
            g_array_append_val(pairs, pair);
        }
    return pairs;
}

static int better(gconstpointer a, gconstpointer b) {
    const WaferCandidate *first = a, *second = b;

    if (first->request_s != second->request_s)
        return first->request_s < second->request_s ? -1 : 1;
    if (first->prefill_grid != second->prefill_grid)
        return first->prefill_grid < second->prefill_grid ? -1 : 1;
    return first->decode_grid < second->decode_grid ? -1 : 1;
}

static gboolean time_pairs(const WaferTuneInput *input, GArray *pairs, GError **error) {
    for (guint i = 0; i < pairs->len; i++) {
        WaferTransition transition = transition_of(input, &g_array_index(pairs, WaferCandidate, i));
        wafer_costs_want_transition(input->costs, &transition);
    }
    if (!wafer_costs_fill(input->costs, error))
        return FALSE;
    for (guint i = 0; i < pairs->len; i++) {
        WaferCandidate *pair = &g_array_index(pairs, WaferCandidate, i);
        WaferTransition transition = transition_of(input, pair);
        double cycles = wafer_transition_cycles(input->costs, &transition, error);
        if (cycles < 0)
            return FALSE;
        pair->transition_s = cycles / input->mesh->clock_hz;
        pair->request_s =
            pair->prefill_s + pair->transition_s + (input->mean_output - 1) * pair->decode_s;
    }
    g_array_sort(pairs, better);
    return TRUE;
}

static void phase_clear(Phase *phase) {
    g_array_unref(phase->grids);
    g_array_unref(phase->times);
    g_free(phase->known);
}

GArray *wafer_tune(const WaferTuneInput *input, GError **error) {
    Phase phases[2] = {{.input = input}, {.input = input, .decode = TRUE}};
    g_autoptr(GArray) pairs = NULL;

    for (guint i = 0; i < 2; i++) {
        phases[i].grids = g_array_new(FALSE, FALSE, sizeof(guint));
        phases[i].times = g_array_new(FALSE, FALSE, sizeof(GridTime));
    }
    if (tune_phase(&phases[0], error) && tune_phase(&phases[1], error)) {
        pairs = list_pairs(phases);
        if (!time_pairs(input, pairs, error))
            g_clear_pointer(&pairs, g_array_unref);
    }
    phase_clear(&phases[0]);
    phase_clear(&phases[1]);
    return g_steal_pointer(&pairs);
}
