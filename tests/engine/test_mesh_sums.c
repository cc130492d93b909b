/* The numbers that sums over a mesh's lines leave on its cores, against sums in double. */
#include "actors/mesh/mesh_reduce.h"
#include "policies/mesh/reduce_tree.h"
#include "tests/engine/child.h"
#include "tests/engine/mesh_fixture.h"
#include <math.h>
#include <string.h>

typedef struct Trial {
    MeshReduce reduce;
    guint n, lines;
    gboolean whole;  /* numbers */
    double relative; /* error allowed, of the sum of magnitudes */
} Trial;

static guint core_index(const Trial *trial, guint line, guint along) {
    return trial->reduce.along_y ? along * trial->lines + line : line * trial->n + along;
}

static MeshSetup setup_of(const Trial *trial, const MeshSpec *spec) {
    gboolean along_y = trial->reduce.along_y;

    return (MeshSetup){.spec = spec,
                       .columns = along_y ? trial->lines : trial->n,
                       .rows = along_y ? trial->n : trial->lines,
                       .algorithm = "sums"};
}

static gboolean prepare_reduce(Mesh *mesh, gpointer data, GError **error) {
    return mesh_reduce_start(mesh, data, error);
}

/* All vectors, one after another, in the order of the cores. */
static float *draw(const Trial *trial, GRand *random) {
    gsize n = (gsize)trial->n * trial->lines * trial->reduce.elements;
    float *all = child_shared(n * sizeof *all);

    for (gsize i = 0; i < n; i++)
        all[i] = trial->whole ? (float)g_rand_int_range(random, -40, 41)
                              : (float)g_rand_double_range(random, -1, 1);
    return all;
}

static guint root_of(const Trial *trial) {
    g_autoptr(ReduceTree) tree = reduce_tree_k(trial->n, MAX(trial->reduce.k, 1));
    return trial->reduce.kind == MESH_REDUCE_TREE ? tree->root : 0;
}

static void check_element(const Trial *trial, const float *before, const float *after,
                          const guint place[2]) {
    guint64 elements = trial->reduce.elements, element = place[1];
    gboolean all = !trial->reduce.no_broadcast || trial->reduce.kind == MESH_REDUCE_RING;
    double sum = 0, size = 0;

    for (guint i = 0; i < trial->n; i++) {
        double value = before[core_index(trial, place[0], i) * elements + element];
        sum += value;
        size += fabs(value);
    }
    for (guint i = 0; i < trial->n; i++) {
        gsize at = core_index(trial, place[0], i) * elements + element;
        if (all || i == root_of(trial))
            g_assert_cmpfloat(fabs(after[at] - sum), <=, trial->relative * size);
        else
            g_assert_cmpfloat(after[at], ==, before[at]); /* not touched */
    }
}

static void check(Trial *trial, GRand *random) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = setup_of(trial, &spec);
    guint64 elements = trial->reduce.elements;
    gsize n = (gsize)trial->n * trial->lines;
    float *vectors = draw(trial, random);
    g_autofree float *before = g_memdup2(vectors, n * elements * sizeof *vectors);
    g_autofree float **of_core = g_new(float *, n);

    for (gsize i = 0; i < n; i++)
        of_core[i] = vectors + i * elements;
    trial->reduce.values = of_core;
    MeshFound *found = mesh_child_run(&setup, prepare_reduce, &trial->reduce);
    g_assert_cmpstr(found->error, ==, "");
    for (guint line = 0; line < trial->lines; line++)
        for (guint element = 0; element < elements; element++)
            check_element(trial, before, vectors, (guint[]){line, element});
    mesh_found_free(found);
}

/* Whole numbers come out exactly on every core, for any number of cores, vectors that do not divide
 * by them, and any K, on rows and on columns, several at once. */
static void test_exact(void) {
    static const guint sizes[] = {1, 2, 3, 4, 5, 8, 9};
    static const guint ks[] = {1, 2, 3, 50};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
            for (gsize k = 0; k < (kind == MESH_REDUCE_TREE ? G_N_ELEMENTS(ks) : 2); k++) {
                Trial trial = {.reduce = {.kind = kind,
                                          .k = ks[k],
                                          .along_y = k % 2,
                                          .elements = k == 0 ? 11 : 2,
                                          .type = i % 2 ? DATA_TYPE_FP16 : DATA_TYPE_FP32,
                                          .no_broadcast = (i + k) % 3 == 0},
                               .n = sizes[i],
                               .lines = 1 + i % 3,
                               .whole = TRUE};
                check(&trial, random);
            }
}

/* Others to within the rounding of n additions in FP32, and of so many messages to the type. */
static void test_bounds(void) {
    static const struct {
        DataType type;
        double rounding;
    } types[] = {{DATA_TYPE_FP32, 0}, {DATA_TYPE_FP16, 0x1p-11}, {DATA_TYPE_BF16, 0x1p-8}};
    g_autoptr(GRand) random = g_rand_new_with_seed(2);

    for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
            Trial trial = {.reduce = {.kind = kind, .k = 2, .elements = 33, .type = types[i].type},
                           .n = 13,
                           .lines = 2};
            guint roundings = mesh_reduce_roundings(&trial.reduce, trial.n);
            trial.relative = 13 * 0x1p-24 + 1.1 * roundings * types[i].rounding;
            check(&trial, random);
        }
}

/* What is sent has the type's precision, not only the sum: a chain whose far end has 1 and all
 * others a quarter of the step above 1 stays at 1 in FP16, where in FP32 it would grow. */
static void test_partial_sums_are_rounded(void) {
    static const MeshReduceKind chains[] = {MESH_REDUCE_CHAIN, MESH_REDUCE_PIPELINE,
                                            MESH_REDUCE_FABRIC};
    MeshSpec spec = mesh_fixture_spec();

    for (gsize i = 0; i < G_N_ELEMENTS(chains); i++)
        for (guint half = 0; half < 2; half++) {
            float *values = child_shared(9 * sizeof *values), *of_core[9];
            for (guint core = 0; core < 9; core++) {
                of_core[core] = &values[core];
                values[core] = core == 8 ? 1 : 0x1p-12F;
            }
            Trial trial = {.reduce = {.kind = chains[i],
                                      .elements = 1,
                                      .type = half ? DATA_TYPE_FP16 : DATA_TYPE_FP32,
                                      .values = of_core},
                           .n = 9,
                           .lines = 1};
            MeshSetup setup = setup_of(&trial, &spec);
            MeshFound *found = mesh_child_run(&setup, prepare_reduce, &trial.reduce);
            g_assert_cmpfloat(values[0], ==, half ? 1 : 1 + 0x1p-9F);
            mesh_found_free(found);
        }
}

/* In a longer body: sums of sums of sums, by every kind in turn, along both axes. */
typedef struct Weave {
    MeshReducer *reducers[2][N_MESH_REDUCE_KINDS]; /* along X, along Y */
    float *vectors;
    guint running;
} Weave;

enum { WEAVE_COLUMNS = 3, WEAVE_ROWS = 4, WEAVE_ELEMENTS = 5 };

static void weave_main(MeshCore *core) {
    Weave *weave = core->data;
    float *vector = weave->vectors + mesh_core_index(core) * WEAVE_ELEMENTS;

    for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++)
        for (guint axis = 0; axis < 2; axis++) {
            mesh_reducer_run(weave->reducers[axis][kind], core, vector);
            for (guint i = 0; i < WEAVE_ELEMENTS; i++) /* all have the same; back to what was */
                vector[i] /= (float)(axis ? WEAVE_ROWS : WEAVE_COLUMNS);
        }
    if (--weave->running > 0)
        return;
    for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++)
        for (guint axis = 0; axis < 2; axis++)
            mesh_reducer_free(weave->reducers[axis][kind]);
}

static gboolean prepare_weave(Mesh *mesh, gpointer data, GError **error) {
    Weave *weave = data;

    for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++)
        for (guint axis = 0; axis < 2; axis++) {
            MeshReduce reduce = {.kind = kind,
                                 .k = 2,
                                 .along_y = axis,
                                 .elements = WEAVE_ELEMENTS,
                                 .type = DATA_TYPE_FP32};
            weave->reducers[axis][kind] = mesh_reducer_new(mesh, &reduce, error);
            g_assert_nonnull(weave->reducers[axis][kind]);
        }
    for (guint i = 0; i < mesh_n_cores(mesh); i++) {
        mesh_nth_core(mesh, i)->data = weave;
        weave->running++;
        mesh_core_start(mesh_nth_core(mesh, i), weave_main);
    }
    return TRUE;
}

static void test_in_a_longer_body(void) {
    guint n = WEAVE_COLUMNS * WEAVE_ROWS;
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = {.spec = &spec,
                       .columns = WEAVE_COLUMNS,
                       .rows = WEAVE_ROWS,
                       .unlimited = TRUE,
                       .algorithm = "weave"};
    Weave weave = {.vectors = child_shared(n * WEAVE_ELEMENTS * sizeof(float))};

    for (guint core = 0; core < n; core++)
        for (guint i = 0; i < WEAVE_ELEMENTS; i++)
            weave.vectors[core * WEAVE_ELEMENTS + i] = (float)(core * 12 * (i + 1));
    MeshFound *found = mesh_child_run(&setup, prepare_weave, &weave);
    mesh_assert_accounted(found);
    for (guint core = 0; core < n; core++)
        for (guint i = 0; i < WEAVE_ELEMENTS; i++) /* the mean of all at the start */
            g_assert_cmpfloat(weave.vectors[core * WEAVE_ELEMENTS + i], ==,
                              (float)((n - 1) * 6 * (i + 1)));
    mesh_found_free(found);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_sums/exact", test_exact);
    g_test_add_func("/mesh_sums/bounds", test_bounds);
    g_test_add_func("/mesh_sums/partial_sums", test_partial_sums_are_rounded);
    g_test_add_func("/mesh_sums/in_a_longer_body", test_in_a_longer_body);
    return g_test_run();
}
