#include "analysis/costs/wafer_job.h"

#include "actors/mesh/mesh_alone.h"
#include "actors/mesh/mesh_gemv.h"
#include "policies/mesh/tiles.h"
#include <string.h>

WaferJob wafer_job_operator(const WaferOp *op, DataType type) {
    WaferJobKind kind = op->kind == WAFER_REMOTE_LOADS    ? WAFER_JOB_READS
                        : op->kind == WAFER_TILE_EXCHANGE ? WAFER_JOB_EXCHANGE
                                                          : WAFER_JOB_OPERATOR;

    WaferJob job = {.kind = kind, .type = type, .op = *op};
    /* A folded loop goes by the largest tiles of A's rows, which never move: all that share them
     * are one. */
    if (op->kind == WAFER_GEMM_LOOP)
        job.op.m = tile_largest(op->m, op->rows) * op->rows;
    return job;
}

WaferJob wafer_job_move(WaferJobKind kind, const WaferMove *move) {
    WaferJob job = {
        .kind = kind, .type = move->model->data_type, .model = *move->model, .move = *move};

    job.move.model = NULL;
    job.move.spec = NULL;
    return job;
}

static WaferJobKey move_key(const WaferJob *job) {
    const Model *model = &job->model;
    const WaferMove *move = &job->move;

    return (WaferJobKey){{job->kind, job->type, model->hidden, model->layers, model->heads,
                          model->kv_heads, model->head_dim, model->ffn, model->experts,
                          move->prefill_grid, move->decode_grid, move->regions, move->tokens,
                          move->outside}};
}

/* Over a line it does not matter which way it goes, nor what is beside it. */
static WaferJobKey line_key(const WaferJob *job) {
    const WaferOp *op = &job->op;

    return (WaferJobKey){
        {job->kind, job->type, op->kind, op->along_y ? op->rows : op->columns, op->k_tree, op->n}};
}

WaferJobKey wafer_job_key(const WaferJob *job) {
    const WaferOp *op = &job->op;

    if (job->kind == WAFER_JOB_READS || job->kind == WAFER_JOB_EXCHANGE)
        return (WaferJobKey){{job->kind, job->type, op->columns, op->rows}};
    if (job->kind == WAFER_JOB_TRANSITION || job->kind == WAFER_JOB_LAYER_IN ||
        job->kind == WAFER_JOB_HAND_OVERS)
        return move_key(job);
    if (op->kind == WAFER_ALL_REDUCE)
        return line_key(job);
    return (WaferJobKey){{job->kind, job->type, op->kind, op->columns, op->rows, op->k_tree,
                          op->transposed ? 1 : 0, op->m, op->k, op->n, op->steps,
                          (guint64)op->a_bytes, (guint64)op->b_bytes, op->loads,
                          op->link_elements}};
}

guint wafer_job_key_hash(gconstpointer key) {
    const guint64 *words = ((const WaferJobKey *)key)->words;
    guint64 hash = 14695981039346656037u; /* FNV-1a, by words */

    for (gsize i = 0; i < WAFER_JOB_WORDS; i++)
        hash = (hash ^ words[i]) * 1099511628211u;
    return (guint)(hash ^ hash >> 32);
}

gboolean wafer_job_key_equal(gconstpointer a, gconstpointer b) {
    return memcmp(a, b, sizeof(WaferJobKey)) == 0;
}

static gboolean prepare_gemv(Mesh *mesh, gpointer data, GError **error) {
    return mesh_gemv_start(mesh, data, error);
}

static double gemv_cycles(const WaferJob *job, const MeshSpec *spec, GError **error) {
    const WaferOp *op = &job->op;
    MeshSetup setup = {.spec = spec,
                       .columns = op->columns,
                       .rows = op->rows,
                       .folded = TRUE,
                       .algorithm = "MeshGEMV"};
    MeshGemv gemv = {.k = op->k,
                     .n = op->n,
                     .type = job->type,
                     .reduce = MESH_REDUCE_TREE,
                     .k_tree = op->k_tree,
                     .no_broadcast = TRUE};
    g_autoptr(Mesh) mesh = mesh_alone_run(&setup, prepare_gemv, &gemv, error);

    return mesh == NULL ? -1 : mesh_totals(mesh).cycles;
}

static double move_cycles(const WaferJob *job, const MeshSpec *spec) {
    WaferMove move = job->move;
    double cycles = 0;

    move.model = &job->model;
    move.spec = spec;
    if (job->kind != WAFER_JOB_HAND_OVERS) {
        MeshPhaseCounts counts = job->kind == WAFER_JOB_TRANSITION ? wafer_move_transition(&move)
                                                                   : wafer_move_layer_in(&move);
        return mesh_phase_cycles(&counts, spec, FALSE);
    }
    for (guint region = 0; region + 1 < move.regions; region++) {
        MeshPhaseCounts counts = wafer_move_activations(&move, region, move.model->hidden);
        cycles += mesh_phase_cycles(&counts, spec, FALSE);
    }
    return cycles;
}

/* See wafer_op.c: two phases a step, each of hops · (alpha + beta) and, for every wavelet of the
 * tile, the busiest link's messages and the hops. */
static WaferJobCycles exchange_cycles(const WaferJob *job, const MeshSpec *spec) {
    MeshPhaseCounts counts = wafer_op_exchange(job->op.columns, job->op.rows, 1);

    return (WaferJobCycles){.fixed = 2.0 * counts.hops * (spec->hop_cycles + spec->relay_cycles),
                            .each = (double)(counts.link_messages + counts.hops)};
}

static double fixed_cycles(const WaferJob *job, const MeshSpec *spec, GError **error) {
    if (job->kind == WAFER_JOB_GEMV)
        return gemv_cycles(job, spec, error);
    if (job->kind == WAFER_JOB_OPERATOR)
        return wafer_op_run(&job->op, job->type, spec, error);
    return move_cycles(job, spec);
}

gboolean wafer_job_run(const WaferJob *job, const MeshSpec *spec, WaferJobCycles *cycles,
                       GError **error) {
    if (job->kind == WAFER_JOB_READS)
        *cycles = (WaferJobCycles){.each = wafer_op_read_cycles(job->op.columns, spec)};
    else if (job->kind == WAFER_JOB_EXCHANGE)
        *cycles = exchange_cycles(job, spec);
    else
        *cycles = (WaferJobCycles){.fixed = fixed_cycles(job, spec, error)};
    return cycles->fixed >= 0;
}

double wafer_job_op_cycles(const WaferOp *op, const WaferJobCycles *cycles, const MeshSpec *spec) {
    if (op->kind == WAFER_REMOTE_LOADS)
        return (double)op->loads * cycles->each;
    if (op->kind != WAFER_TILE_EXCHANGE)
        return cycles->fixed;
    double wavelets = wafer_op_wavelets(spec, op->a_bytes) + wafer_op_wavelets(spec, op->b_bytes);
    return op->steps * (cycles->fixed + wavelets * cycles->each);
}
