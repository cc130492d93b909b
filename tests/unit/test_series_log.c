#include "analysis/run/series_log.h"

#include <glib/gstdio.h>

static void test_rows_hold_the_state_and_the_rate_since_the_row_before(void) {
    static const SimulationSample samples[] = {
        {.time_s = 0, .arrived = 3, .waiting = 3},
        {.time_s = 0.5,
         .arrived = 9,
         .completed = 1,
         .rejected = 2,
         .waiting = 3,
         .prefilling = 4,
         .buffered = 5,
         .pulling = 6,
         .running = 7,
         .generated_tokens = 40,
         .buffer_bytes = 1.5e9,
         .kv_bytes = 2.25,
         .paused_pools = 1},
        {.time_s = 1, .arrived = 9, .completed = 7, .rejected = 2, .generated_tokens = 65},
    };
    static const char *const lines[] = {
        "time_s,arrived,completed,rejected,waiting,prefilling,buffered,pulling,running,"
        "generated_tokens,output_tokens_per_s,buffer_bytes,kv_bytes,paused_pools",
        "0.000000000,3,0,0,3,0,0,0,0,0,0,0,0,0",
        "0.500000000,9,1,2,3,4,5,6,7,40,80,1500000000,2.25,1",
        "1.000000000,9,7,2,0,0,0,0,0,65,50,0,0,0",
        "",
    };
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_strdup_printf("%s/series-%p.csv", g_get_tmp_dir(), (void *)&error);
    g_autofree char *text = NULL;
    g_autoptr(SeriesLog) log = series_log_new(path, &error);
    g_assert_no_error(error);
    Observer *observer = series_log_observer(log);
    for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
        observer->notify(observer, &(Event){.kind = EVENT_ARRIVED});
        observer->sample(observer, &samples[i]);
    }
    g_assert_true(series_log_finish(log, &error));
    g_assert_true(g_file_get_contents(path, &text, NULL, &error));
    g_remove(path);
    g_auto(GStrv) found = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(found), ==, G_N_ELEMENTS(lines));
    for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
        g_assert_cmpstr(found[i], ==, lines[i]);
}

static void test_unwritable_path_is_an_error(void) {
    g_autoptr(GError) error = NULL;
    g_assert_null(series_log_new("/nowhere/series.csv", &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/series_log/rows_hold_the_state_and_the_rate_since_the_row_before",
                    test_rows_hold_the_state_and_the_rate_since_the_row_before);
    g_test_add_func("/series_log/unwritable_path_is_an_error", test_unwritable_path_is_an_error);
    return g_test_run();
}
