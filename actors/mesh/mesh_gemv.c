#include "actors/mesh/mesh_gemv.h"

#include "actors/kernels/kernels.h"
#include "policies/mesh/reduce_tree.h"
#include "policies/mesh/tiles.h"
#include "workloads/input_error.h"
#include <string.h>

/* What the cores share; the last of them to end frees it. */
typedef struct GemvRun {
    Mesh *mesh;
    const MeshSetup *setup;
    const MeshGemv *gemv;
    MeshReducer *reducer;
    guint64 columns; /* the longest part of n, and so of a sum */
    guint teller;    /* the row whose cores write y */
    guint running;
} GemvRun;

static guint k_tree_of(const MeshGemv *gemv) {
    return gemv->k_tree ? gemv->k_tree : 2;
}

static guint root_of(const MeshSetup *setup, const MeshGemv *gemv) {
    if (gemv->reduce != MESH_REDUCE_TREE)
        return 0;
    g_autoptr(ReduceTree) tree = reduce_tree_k(setup->rows, k_tree_of(gemv));
    return tree->root;
}

static guint teller_of(const MeshSetup *setup, const MeshGemv *gemv) {
    guint root = root_of(setup, gemv), last = setup->rows - 1;

    if (gemv->no_broadcast)
        return root;
    return root == last ? 0 : last;
}

static float *load(const void *from, DataType type, gsize offset, gsize n) {
    float *values = g_new(float, MAX(n, 1));

    if (type == DATA_TYPE_FP16)
        fp16_to_floats(values, (const guint16 *)from + offset, n);
    else
        memcpy(values, (const float *)from + offset, n * sizeof *values);
    return values;
}

/* The core's part of the sums over its rows of B, padded with zeros. */
static float *local_product(const GemvRun *run, const MeshCore *core) {
    const MeshGemv *gemv = run->gemv;
    guint64 row = tile_begin(gemv->k, run->setup->rows, core->y);
    guint64 rows = tile_size(gemv->k, run->setup->rows, core->y);
    guint64 column = tile_begin(gemv->n, run->setup->columns, core->x);
    guint64 columns = tile_size(gemv->n, run->setup->columns, core->x);
    g_autofree float *x = load(gemv->x, gemv->type, row, rows);
    float *sums = g_new0(float, run->columns);

    for (guint64 i = 0; i < rows; i++) {
        g_autofree float *b = load(gemv->b, gemv->type, (row + i) * gemv->n + column, columns);
        for (guint64 j = 0; j < columns; j++)
            sums[j] += x[i] * b[j];
    }
    return sums;
}

static void store(const GemvRun *run, const MeshCore *core, const float *sums) {
    const MeshGemv *gemv = run->gemv;
    guint64 column = tile_begin(gemv->n, run->setup->columns, core->x);
    guint64 columns = tile_size(gemv->n, run->setup->columns, core->x);

    if (gemv->type == DATA_TYPE_FP16)
        fp16_from_floats((guint16 *)gemv->y + column, sums, columns);
    else
        memcpy((float *)gemv->y + column, sums, columns * sizeof *sums);
}

/* Of a folded mesh only column 0, which stands for all, is summed. */
static gboolean is_summed(const GemvRun *run, const MeshCore *core) {
    return !run->setup->folded || core->x == 0;
}

static void run_free(GemvRun *run) {
    mesh_reducer_free(run->reducer);
    g_free(run);
}

static guint64 columns_of(const GemvRun *run, const MeshCore *core) {
    return run->setup->folded && core->x == 0
               ? run->columns
               : tile_size(run->gemv->n, run->setup->columns, core->x);
}

static guint64 rows_of(const GemvRun *run, const MeshCore *core) {
    return run->setup->folded && core->y == 0 && core->x > 0
               ? tile_largest(run->gemv->k, run->setup->rows)
               : tile_size(run->gemv->k, run->setup->rows, core->y);
}

static void gemv_body(MeshCore *core) {
    GemvRun *run = core->data;
    const MeshGemv *gemv = run->gemv;
    g_autofree float *sums = gemv->x ? local_product(run, core) : NULL;

    mesh_compute(core, mesh_gemv_cycles(run->setup->spec, gemv->type, rows_of(run, core),
                                        columns_of(run, core)));
    if (is_summed(run, core))
        mesh_reducer_run(run->reducer, core, sums);
    if (sums && core->y == run->teller)
        store(run, core, sums);
    if (--run->running == 0)
        run_free(run);
}

static gboolean check(const MeshSetup *setup, const MeshGemv *gemv, GError **error) {
    if (gemv->k == 0 || gemv->n == 0) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "'%s' needs k and n of at least 1",
                    setup->algorithm);
        return FALSE;
    }
    if (gemv->x && gemv->type == DATA_TYPE_BF16) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "'%s' multiplies numbers in 'fp16' and 'fp32', not in 'bf16', which has times "
                    "only",
                    setup->algorithm);
        return FALSE;
    }
    if (gemv->x && setup->folded) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "'%s' multiplies numbers on the full mesh only, not on a folded one",
                    setup->algorithm);
        return FALSE;
    }
    return TRUE;
}

/* Its parts of x and B, and of y in FP32. */
static gboolean hold(const GemvRun *run, MeshCore *core, GError **error) {
    guint64 rows = rows_of(run, core), columns = columns_of(run, core);
    double operands = (double)(rows * (1 + columns) * data_type_bytes(run->gemv->type));

    return mesh_hold(core, operands + (double)(run->columns * sizeof(float)), error);
}

static gboolean set_up(GemvRun *run, GError **error) {
    const MeshGemv *gemv = run->gemv;
    MeshReduce reduce = {.kind = gemv->reduce,
                         .k = k_tree_of(gemv),
                         .along_y = TRUE,
                         .no_broadcast = gemv->no_broadcast,
                         .elements = run->columns,
                         .type = gemv->type};

    for (guint i = 0; i < mesh_n_cores(run->mesh); i++)
        if (!hold(run, mesh_nth_core(run->mesh, i), error))
            return FALSE;
    run->reducer = mesh_reducer_new(run->mesh, &reduce, error);
    return run->reducer != NULL;
}

gboolean mesh_gemv_start(Mesh *mesh, const MeshGemv *gemv, GError **error) {
    const MeshSetup *setup = mesh_setup(mesh);

    if (!check(setup, gemv, error))
        return FALSE;
    GemvRun *run = g_new0(GemvRun, 1);
    *run = (GemvRun){.mesh = mesh,
                     .setup = setup,
                     .gemv = gemv,
                     .columns = tile_largest(gemv->n, setup->columns),
                     .teller = teller_of(setup, gemv),
                     .running = mesh_n_cores(mesh)};
    if (!set_up(run, error)) {
        run_free(run);
        return FALSE;
    }
    for (guint i = 0; i < mesh_n_cores(mesh); i++) {
        MeshCore *core = mesh_nth_core(mesh, i);
        core->data = run;
        mesh_core_start(core, gemv_body);
    }
    return TRUE;
}

double mesh_gemv_kernel_cycles(const MeshSetup *setup, const MeshGemv *gemv) {
    return mesh_gemv_cycles(setup->spec, gemv->type, tile_largest(gemv->k, setup->rows),
                            tile_largest(gemv->n, setup->columns));
}
