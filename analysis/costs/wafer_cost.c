#include "analysis/costs/wafer_cost.h"

#include "analysis/campaign/child.h"
#include "analysis/costs/wafer_cache.h"
#include "analysis/costs/wafer_job.h"
#include "platforms/mesh_cycles.h"
#include "policies/mesh/tiles.h"
#include "policies/mesh/wafer_regions.h"
#include "workloads/input_error.h"
#include <string.h>

#define DEFAULT_K_TREE 2 /* WaferLLM 6.2 */

struct WaferCosts {
    const Platform *platform;
    GHashTable *known;  /* WaferJobKey → WaferJobCycles */
    GHashTable *listed; /* WaferJobKey; what is in 'jobs' */
    GArray *jobs;       /* WaferJob: not known yet, in the order in which they were listed */
    guint simulations;
    char *cache; /* the file where what is known is kept; NULL: nowhere */
};

WaferCosts *wafer_costs_new(const Platform *platform) {
    WaferCosts *costs = g_new0(WaferCosts, 1);

    costs->platform = platform;
    costs->known = g_hash_table_new_full(wafer_job_key_hash, wafer_job_key_equal, g_free, g_free);
    costs->listed = g_hash_table_new_full(wafer_job_key_hash, wafer_job_key_equal, g_free, NULL);
    costs->jobs = g_array_new(FALSE, FALSE, sizeof(WaferJob));
    return costs;
}

void wafer_costs_free(WaferCosts *costs) {
    if (costs == NULL)
        return;
    g_hash_table_unref(costs->known);
    g_hash_table_unref(costs->listed);
    g_array_unref(costs->jobs);
    g_free(costs->cache);
    g_free(costs);
}

void wafer_costs_keep(WaferCosts *costs) {
    g_assert(costs->cache == NULL);
    costs->cache = wafer_cache_path(&costs->platform->mesh);
    if (costs->cache != NULL)
        wafer_cache_read(costs->cache, costs->known);
}

guint wafer_costs_simulations(const WaferCosts *costs) {
    return costs->simulations;
}

/* --- simulating what is listed */

static const MeshSpec *mesh_of(const WaferCosts *costs) {
    return &costs->platform->mesh;
}

static gboolean work(gpointer data, gsize index, GByteArray *reply, GError **error) {
    const WaferCosts *costs = data;
    const WaferJob *job = &g_array_index(costs->jobs, WaferJob, index);
    WaferJobCycles cycles;

    if (!wafer_job_run(job, mesh_of(costs), &cycles, error))
        return FALSE;
    g_byte_array_append(reply, (const guint8 *)&cycles, sizeof cycles);
    return TRUE;
}

static gboolean take(gpointer data, gsize index, const GByteArray *reply, GError **error) {
    WaferCosts *costs = data;
    WaferJobKey key = wafer_job_key(&g_array_index(costs->jobs, WaferJob, index));
    gsize at = 0;
    WaferJobCycles cycles;

    (void)error;
    gboolean read = child_reply_read(reply, &at, &cycles, sizeof cycles);
    g_assert(read);
    g_hash_table_insert(costs->known, g_memdup2(&key, sizeof key),
                        g_memdup2(&cycles, sizeof cycles));
    return TRUE;
}

gboolean wafer_costs_fill(WaferCosts *costs, GError **error) {
    ChildJobs jobs = {.n = costs->jobs->len, .data = costs, .work = work, .take = take};
    gboolean filled = child_run_all(&jobs, error);

    costs->simulations += costs->jobs->len;
    if (costs->cache != NULL && jobs.n > 0)
        wafer_cache_write(costs->cache, costs->known);
    g_array_set_size(costs->jobs, 0);
    g_hash_table_remove_all(costs->listed);
    return filled;
}

/* --- sums of what is known */

/* A sum under way; where a simulation is missing, it is listed. */
typedef struct Sum {
    WaferCosts *costs;
    double cycles;
    guint missing;
} Sum;

/* NULL, and listed, where it is missing. */
static const WaferJobCycles *known_cycles(Sum *sum, const WaferJob *job) {
    WaferCosts *costs = sum->costs;
    WaferJobKey key = wafer_job_key(job);
    const WaferJobCycles *cycles = g_hash_table_lookup(costs->known, &key);

    if (cycles != NULL)
        return cycles;
    sum->missing++;
    if (!g_hash_table_contains(costs->listed, &key)) {
        g_hash_table_add(costs->listed, g_memdup2(&key, sizeof key));
        g_array_append_val(costs->jobs, *job);
    }
    return NULL;
}

static void sum_job(Sum *sum, const WaferJob *job, double times) {
    const WaferJobCycles *cycles = known_cycles(sum, job);

    if (cycles != NULL)
        sum->cycles += times * cycles->fixed;
}

static void sum_op(Sum *sum, const WaferOp *op, DataType type, double times) {
    const MeshSpec *mesh = mesh_of(sum->costs);

    if (!wafer_op_needs_engine(op)) {
        sum->cycles += times * wafer_op_run(op, type, mesh, NULL);
        return;
    }
    WaferJob job = wafer_job_operator(op, type);
    const WaferJobCycles *cycles = known_cycles(sum, &job);
    if (cycles != NULL)
        sum->cycles += times * wafer_job_op_cycles(op, cycles, mesh);
}

static void sum_list(Sum *sum, GArray *ops, DataType type, double times) {
    for (guint i = 0; i < ops->len; i++)
        sum_op(sum, &g_array_index(ops, WaferOp, i), type, times);
    g_array_unref(ops);
}

/* What may be asked for, each with its own description. */
typedef enum { ASK_DECODE, ASK_PREFILL, ASK_TRANSITION, ASK_GEMV } Asked;
typedef struct Question {
    Asked asked;
    union {
        const WaferPoint *point;
        const WaferTransition *transition;
        const WaferGemv *gemv;
    };
} Question;

static WaferPlan plan_of(const WaferPoint *point) {
    return (WaferPlan){.model = point->model,
                       .columns = point->grid,
                       .rows = point->grid,
                       .system = point->system,
                       .k_tree = point->k_tree == 0 ? DEFAULT_K_TREE : point->k_tree};
}

/* A token's K and V on a core. */
static guint64 shift_wavelets(const MeshSpec *mesh, const WaferPoint *point) {
    const Model *model = point->model;
    guint64 elements = 2 * tile_largest(model->kv_heads * model->head_dim, point->grid);

    return mesh_wavelets(mesh, model->data_type, elements);
}

/* All rows at once, each to the one above it, over one link. */
static double shift_cycles(const MeshSpec *mesh, const WaferPoint *point) {
    return (double)shift_wavelets(mesh, point) + mesh->hop_cycles;
}

static double turn_of_list(GArray *ops, DataType type, const MeshSpec *mesh) {
    double cycles = 0;

    for (guint i = 0; i < ops->len; i++)
        cycles += wafer_op_turn_cycles(&g_array_index(ops, WaferOp, i), type, mesh);
    g_array_unref(ops);
    return cycles;
}

double wafer_turn_cycles(const MeshSpec *mesh, const WaferPoint *point) {
    const Model *model = point->model;
    guint n_regions = MAX(point->regions, 1);
    WaferRegions regions = {(guint)mesh->columns, (guint)mesh->rows, point->grid, n_regions};
    WaferPlan plan = plan_of(point);
    double cycles = 0, layers = 0;

    for (guint region = 0; region < n_regions; region++)
        if (wafer_regions_turns(&regions, region))
            layers += (double)tile_size(model->layers, n_regions, region);
    if (layers == 0)
        return 0;
    cycles += layers * turn_of_list(wafer_layer_decode(&plan, 1), model->data_type, mesh);
    if (point->kv_shift)
        cycles += layers * wafer_op_crossing_cycles(point->grid, shift_wavelets(mesh, point), mesh);
    if (point->with_head && wafer_regions_turns(&regions, n_regions - 1))
        cycles += turn_of_list(wafer_head(&plan), model->data_type, mesh);
    return cycles;
}

/* One layer after another, before its loops. */
static void sum_layers_in(Sum *sum, const WaferPoint *point) {
    WaferMove move = {.model = point->model, .prefill_grid = point->grid};
    WaferJob job = wafer_job_move(WAFER_JOB_LAYER_IN, &move);

    sum_job(sum, &job, point->outside);
}

static void sum_point(Sum *sum, const WaferPoint *point, gboolean decode) {
    const Model *model = point->model;
    WaferPlan plan = plan_of(point);
    DataType type = model->data_type;
    GArray *layer = decode ? wafer_layer_decode(&plan, point->tokens)
                           : wafer_layer_prefill(&plan, point->tokens);

    sum_list(sum, layer, type, (double)model->layers);
    if (!decode && point->outside > 0)
        sum_layers_in(sum, point);
    if (decode && point->kv_shift)
        sum->cycles += (double)model->layers * shift_cycles(mesh_of(sum->costs), point);
    if (decode && point->turns)
        sum->cycles += wafer_turn_cycles(mesh_of(sum->costs), point);
    if (point->with_head)
        sum_list(sum, wafer_head(&plan), type, 1);
    if (point->regions < 2)
        return;
    WaferMove move = {.model = model, .decode_grid = point->grid, .regions = point->regions};
    WaferJob job = wafer_job_move(WAFER_JOB_HAND_OVERS, &move);
    sum_job(sum, &job, decode ? 1 : (double)point->tokens);
}

static void sum_transition(Sum *sum, const WaferTransition *transition) {
    WaferMove move = {.model = transition->model,
                      .prefill_grid = transition->prefill_grid,
                      .decode_grid = transition->decode_grid,
                      .regions = MAX(transition->regions, 1),
                      .tokens = transition->tokens,
                      .outside = transition->outside};
    WaferJob job = wafer_job_move(WAFER_JOB_TRANSITION, &move);

    sum_job(sum, &job, 1);
}

static void sum_gemv(Sum *sum, const WaferGemv *gemv) {
    WaferOp op = {.columns = gemv->grid,
                  .rows = gemv->grid,
                  .k_tree = gemv->k_tree == 0 ? DEFAULT_K_TREE : gemv->k_tree,
                  .k = gemv->k,
                  .n = gemv->n};
    WaferJob job = {.kind = WAFER_JOB_GEMV, .type = gemv->type, .op = op};

    sum_job(sum, &job, 1);
}

static Sum sum_of(WaferCosts *costs, const Question *question) {
    Sum sum = {.costs = costs};

    if (question->asked == ASK_TRANSITION)
        sum_transition(&sum, question->transition);
    else if (question->asked == ASK_GEMV)
        sum_gemv(&sum, question->gemv);
    else
        sum_point(&sum, question->point, question->asked == ASK_DECODE);
    return sum;
}

/* --- what can be simulated at all */

static gboolean grid_fits(const WaferCosts *costs, guint grid, guint regions, GError **error) {
    const MeshSpec *mesh = mesh_of(costs);
    WaferRegions places = {(guint)mesh->columns, (guint)mesh->rows, grid, MAX(regions, 1)};

    if (grid > 0 && grid <= mesh->columns && grid <= mesh->rows)
        return wafer_regions_check(&places, error);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                "a grid of %u × %u cores is not within the wafer's %" G_GUINT64_FORMAT
                " × %" G_GUINT64_FORMAT,
                grid, grid, mesh->columns, mesh->rows);
    return FALSE;
}

static gboolean point_can_be(const WaferCosts *costs, const WaferPoint *point, GError **error) {
    WaferPlan plan = plan_of(point);

    if (point->tokens == 0) {
        g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                            "a wafer works on one token at least, not on none");
        return FALSE;
    }
    return grid_fits(costs, point->grid, point->regions, error) && wafer_plan_check(&plan, error);
}

static gboolean can_be(const WaferCosts *costs, const Question *question, GError **error) {
    const WaferTransition *transition = question->transition;

    if (question->asked == ASK_GEMV)
        return grid_fits(costs, question->gemv->grid, 1, error);
    if (question->asked == ASK_TRANSITION)
        return grid_fits(costs, transition->prefill_grid, 1, error) &&
               grid_fits(costs, transition->decode_grid, transition->regions, error);
    return point_can_be(costs, question->point, error);
}

static void want(WaferCosts *costs, Question question) {
    if (can_be(costs, &question, NULL))
        sum_of(costs, &question);
}

static double ask(WaferCosts *costs, Question question, GError **error) {
    if (!can_be(costs, &question, error))
        return -1;
    Sum sum = sum_of(costs, &question);
    if (sum.missing > 0 && !wafer_costs_fill(costs, error))
        return -1;
    return sum.missing > 0 ? sum_of(costs, &question).cycles : sum.cycles;
}

void wafer_costs_want_decode(WaferCosts *costs, const WaferPoint *point) {
    want(costs, (Question){ASK_DECODE, .point = point});
}

void wafer_costs_want_prefill(WaferCosts *costs, const WaferPoint *point) {
    want(costs, (Question){ASK_PREFILL, .point = point});
}

void wafer_costs_want_transition(WaferCosts *costs, const WaferTransition *transition) {
    want(costs, (Question){ASK_TRANSITION, .transition = transition});
}

void wafer_costs_want_gemv(WaferCosts *costs, const WaferGemv *gemv) {
    want(costs, (Question){ASK_GEMV, .gemv = gemv});
}

double wafer_decode_cycles(WaferCosts *costs, const WaferPoint *point, GError **error) {
    return ask(costs, (Question){ASK_DECODE, .point = point}, error);
}

double wafer_prefill_cycles(WaferCosts *costs, const WaferPoint *point, GError **error) {
    return ask(costs, (Question){ASK_PREFILL, .point = point}, error);
}

double wafer_transition_cycles(WaferCosts *costs, const WaferTransition *transition,
                               GError **error) {
    return ask(costs, (Question){ASK_TRANSITION, .transition = transition}, error);
}

double wafer_gemv_cycles(WaferCosts *costs, const WaferGemv *gemv, GError **error) {
    return ask(costs, (Question){ASK_GEMV, .gemv = gemv}, error);
}

double wafer_region_bubbles(guint regions) {
    return regions < 2 ? 0 : (regions - 1.0) / regions;
}
