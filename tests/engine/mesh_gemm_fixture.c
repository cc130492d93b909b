#include "tests/engine/mesh_gemm_fixture.h"

#include "actors/kernels/kernels.h"
#include "actors/mesh/mesh_alone.h"
#include "tests/engine/child.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef INFERGRID_CBLAS
#include <cblas.h>
#endif

MeshSpec gemm_trial_spec(void) {
    return (MeshSpec){.columns = 4096,
                      .rows = 4096,
                      .clock_hz = 1e9,
                      .sram_bytes = 65536,
                      .usable_bytes = 65536,
                      .wavelet_bytes = 4,
                      .hop_cycles = 1,
                      .relay_cycles = 16,
                      .ramp_cycles = 2,
                      .issue_cycles = 6,
                      .fp16 = {.lanes = 8, .cycles = 2},
                      .fp32 = {.lanes = 1, .cycles = 1},
                      .routing_paths = 24,
                      .step_cycles = 10};
}

MeshSpec gemm_trial_quick_spec(void) {
    MeshSpec spec = gemm_trial_spec();

    spec.issue_cycles = spec.step_cycles = 0;
    spec.fp16 = (VectorSpec){.lanes = 64, .cycles = 0.03125};
    return spec;
}

MeshSpec gemm_trial_wafer(void) {
    g_autofree char *path =
        g_test_build_filename(G_TEST_DIST, "..", "platforms", "wse2.yaml", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_file(path, &error);

    g_assert_no_error(error);
    yaml_remove(section, "version"); /* of the file, not of the section */
    g_autoptr(Platform) platform = platform_read(section, &error);
    g_assert_no_error(error);
    return platform->mesh;
}

static gboolean prepare(Mesh *mesh, gpointer data, GError **error) {
    const GemmTrial *trial = data;

    if (trial->prepare)
        return trial->prepare(mesh, trial->data, error);
    if (trial->gemv)
        return mesh_gemv_start(mesh, trial->gemv, error);
    return mesh_gemm_start(mesh, &trial->gemm, error);
}

static void look(Mesh *mesh, GemmSeen *seen) {
    seen->totals = mesh_totals(mesh);
    seen->n_cores = mesh_n_cores(mesh);
    for (guint i = 0; i < MIN(seen->n_cores, GEMM_TRIAL_CORES); i++) {
        const MeshCore *core = mesh_nth_core(mesh, i);
        GemmCoreSeen *of = &seen->cores[i];
        *of = (GemmCoreSeen){.end = core->end_cycles,
                             .compute = core->compute_cycles,
                             .communication = core->communication_cycles,
                             .wait = core->wait_cycles,
                             .peak_bytes = core->peak_bytes,
                             .x = core->x,
                             .y = core->y,
                             .hops = core->hops,
                             .stages = core->stages,
                             .paths = core->paths,
                             .sent_wavelets = core->sent_wavelets};
        for (guint side = 0; side < 4; side++)
            of->links[side] = mesh_link_wavelets(mesh, core->x, core->y, side);
    }
}

static void run_in_child(const GemmTrial *trial, GemmSeen *seen) {
    MeshSetup setup = {.spec = &trial->spec,
                       .columns = trial->columns,
                       .rows = trial->rows,
                       .folded = trial->folded,
                       .unlimited = trial->unlimited,
                       .algorithm = trial->gemv ? "meshgemv" : mesh_gemm_names[trial->gemm.kind]};
    g_autoptr(GError) error = NULL;
    g_autoptr(Mesh) mesh = mesh_alone_run(&setup, prepare, (gpointer)trial, &error);

    if (mesh)
        look(mesh, seen);
    else
        g_strlcpy(seen->error, error->message, sizeof seen->error);
}

GemmSeen *gemm_trial_run(const GemmTrial *trial) {
    GemmSeen *shared = child_shared(sizeof *shared);
    pid_t pid = fork();

    if (pid == 0) {
        run_in_child(trial, shared);
        exit(EXIT_SUCCESS);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    g_assert_cmpint(status, ==, 0);
    GemmSeen *seen = g_memdup2(shared, sizeof *shared);
    munmap(shared, sizeof *shared);
    return seen;
}

const GemmCoreSeen *gemm_seen_core(const GemmSeen *seen, guint64 x, guint64 y) {
    for (guint i = 0; i < MIN(seen->n_cores, GEMM_TRIAL_CORES); i++)
        if (seen->cores[i].x == x && seen->cores[i].y == y)
            return &seen->cores[i];
    g_assert_not_reached();
}

static void *random_matrix(GRand *random, guint64 n, DataType type) {
    guint16 *halves = child_shared(n * sizeof(float));
    float *floats = (float *)halves;

    for (guint64 i = 0; i < n; i++) {
        float value = (float)g_rand_double_range(random, -1, 1);
        if (type == DATA_TYPE_FP16)
            halves[i] = fp16_from_float(value);
        else
            floats[i] = value;
    }
    return halves;
}

GemmOperands gemm_operands_new(const MeshGemm *gemm) {
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)(gemm->m + 3 * gemm->k + 5 * gemm->n));
    GemmOperands operands = {
        gemm->m, gemm->k, gemm->n, gemm->type, gemm->kind == MESH_GEMM_TRANSPOSED,
        NULL,    NULL,    NULL,    1};

    operands.a = random_matrix(random, gemm->m * gemm->k, gemm->type);
    operands.b = random_matrix(random, gemm->k * gemm->n, gemm->type);
    operands.c = child_shared(gemm->m * gemm->n * sizeof(float));
    return operands;
}

void gemm_operands_give(const GemmOperands *operands, MeshGemm *gemm) {
    gemm->a = operands->a;
    gemm->b = operands->b;
    gemm->c = operands->c;
    memset(operands->c, 0, operands->m * operands->n * sizeof(float));
}

static double *doubles_new(const void *values, guint64 n, DataType type) {
    double *doubles = g_new(double, n);

    for (guint64 i = 0; i < n; i++)
        doubles[i] = type == DATA_TYPE_FP16 ? (double)fp16_to_float(((const guint16 *)values)[i])
                                            : (double)((const float *)values)[i];
    return doubles;
}

static void multiply(const GemmOperands *operands, const double *a, const double *b, double *c) {
    int m = (int)operands->m, k = (int)operands->k, n = (int)operands->n;
#ifdef INFERGRID_CBLAS
    cblas_dgemm(CblasRowMajor, CblasNoTrans, operands->transposed ? CblasTrans : CblasNoTrans, m, n,
                k, 1, a, k, b, operands->transposed ? k : n, 0, c, n);
#else
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int p = 0; p < k; p++)
                c[i * n + j] += a[i * k + p] * b[operands->transposed ? j * k + p : p * n + j];
        }
#endif
}

static void make_positive(double *values, guint64 n) {
    for (guint64 i = 0; i < n; i++)
        values[i] = fabs(values[i]);
}

/* |x − product| ≤ k · 2^-24 · Σ|a·b| for any order of summing k terms in FP32 (the sum is at most
 * k, the operands being within ±1); half a unit in the last place more when rounded to FP16, and
 * as much of all magnitudes (and of at most k tiny ones) for every rounding before. */
guint64 gemm_operands_wrong(const GemmOperands *operands) {
    guint64 n = operands->m * operands->n, wrong = 0;
    double k = (double)operands->k, before = operands->roundings - 1;
    g_autofree double *a = doubles_new(operands->a, operands->m * operands->k, operands->type);
    g_autofree double *b = doubles_new(operands->b, operands->k * operands->n, operands->type);
    g_autofree double *c = doubles_new(operands->c, n, operands->type);
    g_autofree double *wanted = g_new(double, n), *sizes = g_new(double, n);

    multiply(operands, a, b, wanted);
    make_positive(a, operands->m * operands->k);
    make_positive(b, operands->k * operands->n);
    multiply(operands, a, b, sizes);
    for (guint64 i = 0; i < n; i++) {
        double bound = k * ldexp(1, -24) * k;
        if (operands->type == DATA_TYPE_FP16)
            bound = bound * (1 + ldexp(1, -11)) + ldexp(1, -11) * fabs(wanted[i]) +
                    before * ldexp(1.01, -11) * sizes[i] + (before > 0 ? k + 1 : 1) * ldexp(1, -25);
        wrong += !(fabs(c[i] - wanted[i]) <= bound);
    }
    return wrong;
}
