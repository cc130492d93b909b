/* Our GEMM against OpenBLAS's sgemm on one thread, in one run: only the ratio means something on
 * another machine. Prints lines of "name value unit". */
#include "actors/kernels/gemm_micro.h"
#include "workloads/random.h"

#include <cblas.h>
#include <stdio.h>

/* OpenBLAS's own; another CBLAS may lack it. */
void openblas_set_num_threads(int threads) __attribute__((weak));

enum { REPEATS = 9 };

typedef struct Problem {
    GemmSize size;
    float *a, *b, *c;
    guint16 *a_f16, *b_f16;
} Problem;

static void run_ours_f32(const Problem *problem) {
    gemm_f32(&problem->size, problem->a, problem->b, problem->c, FALSE);
}

static void run_ours_f16(const Problem *problem) {
    gemm_f16(&problem->size, problem->a_f16, problem->b_f16, problem->c, FALSE);
}

static void run_cblas(const Problem *problem) {
    const GemmSize *size = &problem->size;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)size->m, (int)size->n, (int)size->k,
                1, problem->a, (int)size->lda, problem->b, (int)size->ldb, 0, problem->c,
                (int)size->ldc);
}

static const struct {
    const char *name;
    void (*run)(const Problem *problem);
} contestants[] = {
    {"gemm_f32", run_ours_f32}, {"gemm_f16", run_ours_f16}, {"cblas_sgemm", run_cblas}};
enum { CBLAS = G_N_ELEMENTS(contestants) - 1 };

static float *random_floats(RandomStream *stream, gsize n) {
    float *values = g_new(float, n);
    for (gsize i = 0; i < n; i++)
        values[i] = (float)random_uniform(stream) - 0.5f;
    return values;
}

static guint16 *to_f16(const float *values, gsize n) {
    guint16 *out = g_new(guint16, n);
    fp16_from_floats(out, values, n);
    return out;
}

/* The contestants take turns, so that a slow spell of the machine meets all; the fastest counts. */
static void compare(const Problem *problem) {
    const GemmSize *size = &problem->size;
    gint64 best[G_N_ELEMENTS(contestants)];
    for (gsize i = 0; i < G_N_ELEMENTS(contestants); i++)
        best[i] = G_MAXINT64;
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (gsize i = 0; i < G_N_ELEMENTS(contestants); i++) {
            gint64 start = g_get_monotonic_time();
            contestants[i].run(problem);
            best[i] = MIN(best[i], g_get_monotonic_time() - start);
        }
    double macs = (double)size->m * (double)size->n * (double)size->k;
    for (gsize i = 0; i < G_N_ELEMENTS(contestants); i++) {
        g_autofree char *name =
            g_strdup_printf("%s %zux%zux%zu", contestants[i].name, size->m, size->n, size->k);
        printf("%-58s %12.2f GMAC/s\n", name, macs / (double)best[i] / 1e3);
        if (i != CBLAS)
            printf("%s%-*s %12.3f ratio\n", name, (int)(58 - strlen(name)), " against cblas_sgemm",
                   (double)best[CBLAS] / (double)best[i]);
    }
}

int main(void) {
    static const gsize shapes[][3] = {
        {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {1000, 777, 1301}};
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    printf("# micro kernel %s\n", gemm_micro(0)->name);
    RandomStream stream = random_stream(1, "bench_gemm");
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        gsize m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
        g_autofree float *a = random_floats(&stream, m * k), *b = random_floats(&stream, k * n),
                         *c = g_new0(float, m *n);
        g_autofree guint16 *a_f16 = to_f16(a, m * k), *b_f16 = to_f16(b, k * n);
        compare(&(Problem){{m, n, k, k, n, n}, a, b, c, a_f16, b_f16});
    }
    return 0;
}
