#include "analysis/operators/mesh_numbers.h"

#include "actors/kernels/kernels.h"
#include "analysis/operators/operator_numbers.h"
#include "policies/mesh/reduce_tree.h"
#include "workloads/input_error.h"
#include "workloads/random.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

#define HALF_UNIT 0x1p-11
#define HALF_TINY 0x1p-24 /* the smallest step of a half */

struct MeshNumbers {
    const MeshRunSpec *spec;
    OperatorSpec product_spec;
    OperatorNumbers *product; /* NULL: an all-reduce */
    const void *a, *b;
    void *c;
    void *b_transposed;           /* dist-GEMM-T; owned */
    guint cores;                  /* all-reduce */
    float **vectors, **originals; /* a core each */
    guint roundings;              /* of what a core adds, to FP16; the last one is of the sum */
};

static gboolean is_product(const MeshRunSpec *spec) {
    return mesh_operator_family((MeshOperator)spec->kind) != MESH_FAMILY_REDUCE;
}

/* A product with a vector is one of a single row. */
static OperatorSpec product_of(const MeshRunSpec *spec) {
    gboolean matrices = mesh_operator_family((MeshOperator)spec->kind) == MESH_FAMILY_GEMM;

    return (OperatorSpec){
        .kind = OPERATOR_GEMM,
        .gemm = {.m = matrices ? spec->m : 1, .n = spec->n, .k = spec->k, .type = spec->type},
        .verify = TRUE,
        .seed = spec->seed};
}

gboolean mesh_numbers_possible(const MeshRunSpec *spec, GError **error) {
    OperatorSpec product = product_of(spec);
    double cores = (double)spec->grid.columns * spec->grid.rows;
    double reduce_bytes = 3 * cores * (double)spec->elements * sizeof(float);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    if (is_product(spec))
        return operator_numbers_possible(&product, error);
    if (spec->type == DATA_TYPE_BF16) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "--verify: numbers are computed in 'fp16' and 'fp32', not in 'bf16'");
        return FALSE;
    }
    if (reduce_bytes <= memory / 2)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "--verify: the vectors take %.0f bytes, more than half of the %.0f of this machine",
                reduce_bytes, memory);
    return FALSE;
}

static void *transposed(const void *from, const MeshRunSpec *spec) {
    gsize bytes = data_type_bytes(spec->type);
    char *to = g_malloc(spec->k * spec->n * bytes);

    for (guint64 row = 0; row < spec->k; row++)
        for (guint64 column = 0; column < spec->n; column++)
            memcpy(to + (column * spec->k + row) * bytes,
                   (const char *)from + (row * spec->n + column) * bytes, bytes);
    return to;
}

static void product_operands(MeshNumbers *numbers) {
    GemmOptions operands = {0};

    numbers->product_spec = product_of(numbers->spec);
    numbers->product = operator_numbers_new(&numbers->product_spec, NULL);
    g_assert(numbers->product != NULL); /* mesh_numbers_possible said so */
    operator_numbers_gemm(numbers->product, &operands);
    operator_numbers_rounded(numbers->product, MAX(numbers->roundings, 1) - 1);
    if (numbers->spec->kind == MESH_OPERATOR_TRANSPOSED)
        numbers->b_transposed = transposed(operands.w, numbers->spec);
    numbers->a = operands.x;
    numbers->b = numbers->b_transposed == NULL ? operands.w : numbers->b_transposed;
    numbers->c = operands.y;
}

static void reduce_operands(MeshNumbers *numbers) {
    const MeshRunSpec *spec = numbers->spec;

    numbers->cores = spec->grid.columns * spec->grid.rows;
    numbers->vectors = g_new0(float *, numbers->cores);
    numbers->originals = g_new0(float *, numbers->cores);
    for (guint core = 0; core < numbers->cores; core++) {
        g_autofree char *purpose = g_strdup_printf("core %u", core);
        RandomStream stream = random_stream(spec->seed, purpose);
        float *values = g_new(float, spec->elements);

        for (guint64 i = 0; i < spec->elements; i++)
            values[i] = (float)((double)random_bits(&stream) * 0x1p-31 - 1);
        numbers->originals[core] = values;
        numbers->vectors[core] = g_memdup2(values, spec->elements * sizeof(float));
    }
}

static guint roundings_of(const MeshRunSpec *spec) {
    MeshGemm gemm = {
        .kind = (MeshGemmKind)spec->kind, .k_tree = (guint)spec->k_tree, .type = spec->type};
    MeshReduce sums = {
        .kind = mesh_operator_reduce(spec), .k = (guint)spec->k_tree, .type = spec->type};

    switch (mesh_operator_family((MeshOperator)spec->kind)) {
    case MESH_FAMILY_GEMM:
        return mesh_gemm_roundings(&gemm, spec->grid.columns);
    case MESH_FAMILY_GEMV:
        return mesh_reduce_roundings(&sums, spec->grid.rows);
    default:
        return mesh_reduce_roundings(&sums, spec->grid.columns);
    }
}

MeshNumbers *mesh_numbers_new(const MeshRunSpec *spec) {
    MeshNumbers *numbers = g_new0(MeshNumbers, 1);

    numbers->spec = spec;
    numbers->roundings = roundings_of(spec);
    if (is_product(spec))
        product_operands(numbers);
    else
        reduce_operands(numbers);
    return numbers;
}

void mesh_numbers_free(MeshNumbers *numbers) {
    if (numbers == NULL)
        return;
    operator_numbers_free(numbers->product);
    g_free(numbers->b_transposed);
    for (guint core = 0; core < numbers->cores; core++) {
        g_free(numbers->vectors[core]);
        g_free(numbers->originals[core]);
    }
    g_free(numbers->vectors);
    g_free(numbers->originals);
    g_free(numbers);
}

void mesh_numbers_product(MeshNumbers *numbers, const void **a, const void **b, void **c) {
    *a = numbers->a;
    *b = numbers->b;
    *c = numbers->c;
}

float *const *mesh_numbers_vectors(MeshNumbers *numbers) {
    return numbers->vectors;
}

/* The column of the cores that have the sum; G_MAXUINT: all have it. */
static guint root_of(const MeshRunSpec *spec) {
    if (!spec->no_broadcast || spec->algorithm == MESH_REDUCE_RING)
        return G_MAXUINT;
    g_autoptr(ReduceTree) tree = spec->algorithm == MESH_REDUCE_TREE
                                     ? reduce_tree_k(spec->grid.columns, (guint)spec->k_tree)
                                     : reduce_tree_chain(spec->grid.columns);
    return tree->root;
}

/* Element 'i' of all cores of a row. */
static void check_element(const MeshNumbers *numbers, guint row, guint64 i, OperatorCheck *check) {
    const MeshRunSpec *spec = numbers->spec;
    guint columns = spec->grid.columns, first = row * columns, root = root_of(spec);
    double sum = 0, magnitude = 0;

    for (guint x = 0; x < columns; x++) {
        sum += (double)numbers->originals[first + x][i];
        magnitude += fabs((double)numbers->originals[first + x][i]);
    }
    guint before = numbers->roundings > 0 ? numbers->roundings - 1 : 0;
    double bound = operator_sum_bound(columns, magnitude, before) + G_MINDOUBLE;
    if (spec->type == DATA_TYPE_FP16)
        bound = bound * (1 + HALF_UNIT) + HALF_UNIT * fabs(sum) + HALF_TINY;
    for (guint x = 0; x < columns; x++)
        if (root == G_MAXUINT || x == root)
            operator_check_note(check, fabs((double)numbers->vectors[first + x][i] - sum), bound);
}

OperatorCheck mesh_numbers_check(MeshNumbers *numbers) {
    const MeshRunSpec *spec = numbers->spec;

    if (numbers->product != NULL)
        return operator_numbers_check(numbers->product, NULL);
    guint holders = root_of(spec) == G_MAXUINT ? numbers->cores : spec->grid.rows;
    OperatorCheck check = {.elements = holders * spec->elements};
    for (guint row = 0; row < spec->grid.rows; row++)
        for (guint64 i = 0; i < spec->elements; i++)
            check_element(numbers, row, i, &check);
    return check;
}
