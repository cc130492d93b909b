/* Attention against THInfer's table IX. */
#include "actors/engine.h"
#include "tests/engine/attention_fixture.h"
#include "tests/engine/child.h"
#include <math.h>
#include <stdlib.h>

typedef struct Cell {
    AttentionShape shape;
    double published_s, simulated_s, wall_s;
} Cell;
#define N_LENGTHS 8
#define N_CELLS (6 * N_LENGTHS)

static AttentionVariant variant_named(const char *name) {
    for (guint i = 0; i < G_N_ELEMENTS(attention_names); i++)
        if (g_str_equal(name, attention_names[i]))
            return (AttentionVariant)i;
    g_assert_not_reached();
}

static guint read_table(Cell *cells) {
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "analysis", "reference",
                                                  "table9_attention.csv", NULL);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(g_strstrip(text), "\n", -1);
    g_auto(GStrv) lengths = NULL;
    guint n = 0;

    for (guint i = 0; lines[i] != NULL; i++) {
        if (lines[i][0] == '#')
            continue;
        g_auto(GStrv) fields = g_strsplit(lines[i], ",", -1);
        g_assert_cmpuint(g_strv_length(fields), ==, 2 + N_LENGTHS);
        if (lengths == NULL) {
            lengths = g_steal_pointer(&fields);
            continue;
        }
        for (guint column = 2; column < 2 + N_LENGTHS; column++)
            cells[n++] = (Cell){.shape = attention_table_shape(
                                    variant_named(fields[0]), g_ascii_strtoull(fields[1], NULL, 10),
                                    g_ascii_strtoull(lengths[column], NULL, 10)),
                                .published_s = g_ascii_strtod(fields[column], NULL) * 1e-3};
    }
    return n;
}

/* MT and Flash run in one launch, which the caller pays. */
static void simulate_table(const ChildJob *job) {
    Cell *cells = job->data;
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (guint i = 0; i < N_CELLS; i++) {
        gint64 start_us = g_get_monotonic_time();
        double start_s = engine_now();
        if (cells[i].shape.variant != ATTENTION_UNFUSED)
            cluster_launch(cluster);
        attention_run_well(cluster, &cells[i].shape, ATTENTION_GRAIN_STAGE);
        cells[i].simulated_s = engine_now() - start_s;
        cells[i].wall_s = (double)(g_get_monotonic_time() - start_us) * 1e-6;
    }
}

static gboolean calibrated(const Cell *cell) {
    guint64 tokens = cell->shape.new_tokens;
    return cell->shape.variant == ATTENTION_MT && (tokens == 512 || tokens == 1536);
}

static double relative_error(const Cell *cell) {
    return cell->simulated_s / cell->published_s - 1;
}

static int compare_doubles(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median_of(double *values, guint n) {
    qsort(values, n, sizeof *values, compare_doubles);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static void test_table_ix_is_predicted_within_the_aims(void) {
    Cell *cells = child_shared(N_CELLS * sizeof *cells);
    double predicted[N_CELLS], measured_s = 0, simulated_s = 0, wall_s = 0;
    guint n = 0;

    g_assert_cmpuint(read_table(cells), ==, N_CELLS);
    child_run(simulate_table, cells);
    for (guint i = 0; i < N_CELLS; i++) {
        const AttentionShape *shape = &cells[i].shape;
        g_test_message("%-7s %d heads, S %4d: %8.2f ms published, %8.2f simulated, %+6.1f %%%s, "
                       "%.0f ms of wall time",
                       attention_names[shape->variant], (int)shape->heads, (int)shape->new_tokens,
                       cells[i].published_s * 1e3, cells[i].simulated_s * 1e3,
                       relative_error(&cells[i]) * 100,
                       calibrated(&cells[i]) ? " (calibrated)" : "", cells[i].wall_s * 1e3);
        wall_s += cells[i].wall_s;
        if (calibrated(&cells[i])) {
            measured_s += cells[i].published_s;
            simulated_s += cells[i].simulated_s;
        } else {
            predicted[n++] = fabs(relative_error(&cells[i]));
        }
    }
    double median = median_of(predicted, n);
    g_test_message("median %.3f, worst %.3f, calibrated sum %+.4f, %.2f s of wall time", median,
                   predicted[n - 1], simulated_s / measured_s - 1, wall_s);
    g_assert_cmpuint(n, ==, N_CELLS - 4);
    g_assert_cmpfloat(fabs(simulated_s / measured_s - 1), <, 2e-3);
    g_assert_cmpfloat(median, <=, 0.10);
    g_assert_cmpfloat(predicted[n - 1], <=, 0.27);
}

static void test_mt_is_faster_than_flash_and_flash_than_unfused(void) {
    Cell *cells = child_shared(N_CELLS * sizeof *cells);

    read_table(cells);
    child_run(simulate_table, cells);
    for (guint i = 0; i < 2 * N_LENGTHS; i++) {
        const Cell *unfused = &cells[i], *mt = unfused + 2 * N_LENGTHS, *flash = mt + 2 * N_LENGTHS;
        g_assert_cmpint(mt->shape.variant, ==, ATTENTION_MT);
        g_assert_cmpint(flash->shape.variant, ==, ATTENTION_FLASH);
        g_assert_cmpfloat(mt->simulated_s, <, flash->simulated_s);
        g_assert_cmpfloat(flash->simulated_s, <, unfused->simulated_s);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/attention/table_ix", test_table_ix_is_predicted_within_the_aims);
    g_test_add_func("/attention/orderings", test_mt_is_faster_than_flash_and_flash_than_unfused);
    return g_test_run();
}
