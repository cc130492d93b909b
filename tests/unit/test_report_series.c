#include "analysis/report/report_series.h"

#include <math.h>
#include <string.h>

/* One prefill stage and two decode stages. */
static StagePlan stages[] = {{.tp = 1}, {.tp = 2}, {.tp = 2}};
static ReplicaPlan replicas[] = {{.role = ROLE_PREFILL, .n_stages = 1, .stages = stages},
                                 {.role = ROLE_DECODE, .n_stages = 2, .stages = stages + 1}};
static const Plan plan = {.n_replicas = 2, .replicas = replicas};

typedef struct Books {
    StageTotals stages[3];
    ReplicaTotals replicas[2];
    Ledger ledger;
} Books;

static void books_open(Books *books) {
    memset(books, 0, sizeof *books);
    books->replicas[0] = (ReplicaTotals){.n_stages = 1, .stages = books->stages};
    books->replicas[1] = (ReplicaTotals){.n_stages = 2, .stages = books->stages + 1};
    books->ledger = (Ledger){.n_replicas = 2, .replicas = books->replicas};
}

/* Takes all samples that are due before 'until_s', as the simulation does. */
static guint take_until(ReportSeries *series, double until_s, guint64 waiting) {
    Observer *observer = report_series_observer(series);
    guint taken = 0;
    while (observer->next_sample_s < until_s) {
        double date_s = observer->next_sample_s;
        observer->sample(observer, &(SimulationSample){.time_s = date_s, .waiting = waiting});
        g_assert_cmpfloat(observer->next_sample_s, >, date_s);
        taken++;
    }
    return taken;
}

/* From microseconds to years: never more samples than a page can show, never fewer than half. */
static void test_samples_are_bounded_however_long_the_run(void) {
    static const double ends_s[] = {1e-3, 1, 647.7, 86400, 1e8};
    for (guint i = 0; i < G_N_ELEMENTS(ends_s); i++) {
        Books books;
        books_open(&books);
        ReportSeries *series = report_series_new(&plan, &books.ledger);
        g_assert_cmpuint(take_until(series, ends_s[i], 1), <, 50 * REPORT_SAMPLES_MAX);
        books.ledger.end_s = ends_s[i];
        report_series_finish(series);
        guint n = report_series_count(series);
        g_assert_cmpuint(n, <=, REPORT_SAMPLES_MAX + 1);
        g_assert_cmpuint(n, >=, REPORT_SAMPLES_MAX / 2);
        for (guint k = 1; k < n; k++)
            g_assert_cmpfloat(report_series_span_s(series, k), >, 0);
        g_assert_cmpfloat(report_series_at(series, 0)->state.time_s, ==, 0);
        g_assert_cmpfloat(report_series_at(series, n - 1)->state.time_s, ==, ends_s[i]);
        report_series_free(series);
    }
}

/* A step of ten seconds is booked at its end: its time belongs to the ten seconds before, and all
 * of it is there. */
static void test_busy_time_is_where_it_was(void) {
    Books books;
    books_open(&books);
    ReportSeries *series = report_series_new(&plan, &books.ledger);
    take_until(series, 20, 0);
    books.stages[1].busy_s = 10; /* from 10 to 20 */
    take_until(series, 30, 0);
    books.ledger.end_s = 30;
    report_series_finish(series);
    double busy_s = 0, outside_s = 0;
    for (guint i = 1; i < report_series_count(series); i++) {
        double share = report_series_busy(series, i, 1, 0);
        double date_s = report_series_middle_s(series, i);
        g_assert_cmpfloat(share, >=, 0);
        g_assert_cmpfloat(share, <=, 1);
        busy_s += share * report_series_span_s(series, i);
        if (date_s < 9.5 || date_s > 20.5)
            outside_s += share * report_series_span_s(series, i);
        g_assert_cmpfloat(report_series_busy(series, i, 0, 0), ==, 0);
        g_assert_cmpfloat(report_series_busy(series, i, 1, 1), ==, 0);
    }
    g_assert_cmpfloat_with_epsilon(busy_s, 10, 1e-9);
    g_assert_cmpfloat(outside_s, ==, 0);
    report_series_free(series);
}

/* A run that ends before anything was sampled, and one without any time. */
static void test_runs_without_samples(void) {
    Books books;
    books_open(&books);
    ReportSeries *series = report_series_new(&plan, &books.ledger);
    report_series_finish(series);
    g_assert_cmpuint(report_series_count(series), ==, 1);
    report_series_free(series);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report_series/samples_are_bounded_however_long_the_run",
                    test_samples_are_bounded_however_long_the_run);
    g_test_add_func("/report_series/busy_time_is_where_it_was", test_busy_time_is_where_it_was);
    g_test_add_func("/report_series/runs_without_samples", test_runs_without_samples);
    return g_test_run();
}
