#include "policies/backpressure.h"

/* What the rule says at each occupancy of a buffer of 1000 bytes, one after another. */
typedef struct Case {
    const char *name;
    BackpressureKind kind;
    double high, low;
    guint n;
    double occupied[8];
    gboolean paused[8];
} Case;

static const Case cases[] = {
    {"watermark/stops_at_high_and_resumes_at_low",
     BACKPRESSURE_WATERMARK,
     0.9,
     0.7,
     7,
     {0, 899, 900, 899, 701, 700, 899},
     {FALSE, FALSE, TRUE, TRUE, TRUE, FALSE, FALSE}},
    {"watermark/stays_stopped_between_the_marks",
     BACKPRESSURE_WATERMARK,
     0.9,
     0.7,
     4,
     {950, 800, 1000, 750},
     {TRUE, TRUE, TRUE, TRUE}},
    {"watermark/equal_marks_do_not_flutter",
     BACKPRESSURE_WATERMARK,
     0.5,
     0.5,
     6,
     {499, 500, 500, 500, 499, 500},
     {FALSE, TRUE, TRUE, TRUE, FALSE, TRUE}},
    {"watermark/low_at_zero_waits_until_empty",
     BACKPRESSURE_WATERMARK,
     1.0,
     0.0,
     5,
     {999, 1000, 1, 0, 999},
     {FALSE, TRUE, TRUE, FALSE, FALSE}},
    {"off/never_stops", BACKPRESSURE_OFF, 0.9, 0.7, 3, {0, 900, 1000}, {FALSE, FALSE, FALSE}},
};

static void pauses(gconstpointer data) {
    const Case *row = data;
    BufferSpec spec = {.clusters = 1,
                       .backpressure = row->kind,
                       .high_watermark = row->high,
                       .low_watermark = row->low};
    Backpressure rule = backpressure_new(&spec, 1000);
    g_assert_false(rule.paused);
    for (guint i = 0; i < row->n; i++) {
        gboolean before = rule.paused;
        gboolean changed = backpressure_update(&rule, row->occupied[i]);
        g_assert_cmpint(rule.paused, ==, row->paused[i]);
        g_assert_cmpint(changed, ==, before != rule.paused);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strconcat("/backpressure/", cases[i].name, NULL);
        g_test_add_data_func(path, &cases[i], pauses);
    }
    return g_test_run();
}
