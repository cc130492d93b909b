#include "analysis/run/request_log.h"
#include "served_request_fixture.h"

#include <glib/gstdio.h>
#include <string.h>

static const char header[] =
    "id,status,reason,pool,prefill_replica,decode_replica,prompt_tokens,output_tokens,"
    "generated_tokens,cached_tokens,preemptions,arrival_s,prefill_start_s,first_token_s,buffered_s,"
    "pull_start_s,decode_start_s,completed_s,queueing_s,ttft_s,tpot_s,e2e_s";

typedef struct Ending {
    EventKind kind;
    ServedRequest served;
    const char *row;
} Ending;

static char *log_path(void) {
    static guint n;
    return g_strdup_printf("%s/request-log-%p-%u.csv", g_get_tmp_dir(), (void *)&n, n++);
}

/* The lines of requests.csv after the endings. */
static char **log_lines(const Ending *endings, gsize n) {
    g_autoptr(GError) error = NULL;
    g_autofree char *path = log_path();
    g_autofree char *text = NULL;
    g_autoptr(RequestLog) log = request_log_new(path, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < n; i++)
        tell(request_log_observer(log), endings[i].kind, 99, &endings[i].served);
    g_assert_true(request_log_finish(log, &error));
    g_assert_true(g_file_get_contents(path, &text, NULL, &error));
    g_remove(path);
    return g_strsplit(text, "\n", -1);
}

static ServedRequest completed_request(void) {
    ServedRequest served = served_request(12, 0.1, 5);
    served.pool = 1;
    served.prefill_replica = 2;
    served.decode_replica = 3;
    served.cached_tokens = 64;
    served.generated = 5;
    served.preemptions = 1;
    served.prefill_start_s = 0.5;
    served.first_token_s = 1;
    served.buffered_s = 1.25;
    served.pull_start_s = 1.5;
    served.decode_start_s = 2;
    served.completed_s = 3;
    return served;
}

static ServedRequest rejected_request(void) {
    ServedRequest served = served_request(13, 2, 5000);
    served.rejected = REJECT_CONTEXT;
    return served;
}

static ServedRequest dropped_request(void) {
    ServedRequest served = served_request(14, 3, 9);
    served.pool = 0;
    served.prefill_replica = 0;
    served.prefill_start_s = 3;
    served.first_token_s = 4;
    served.generated = 1;
    return served;
}

static void test_a_row_for_each_kind_of_end(void) {
    const Ending endings[] = {
        {EVENT_COMPLETED, completed_request(),
         "12,completed,,1,2,3,100,5,5,64,1,0.100000000,0.500000000,1.000000000,1.250000000,"
         "1.500000000,2.000000000,3.000000000,0.400000000,0.900000000,0.500000000,2.900000000"},
        {EVENT_REJECTED, rejected_request(),
         "13,rejected,context,,,,100,5000,0,0,0,2.000000000,,,,,,,,,,"},
        {EVENT_DROPPED, dropped_request(),
         "14,dropped,,0,0,,100,9,1,0,0,3.000000000,3.000000000,4.000000000,,,,,0.000000000,"
         "1.000000000,,"},
    };
    g_auto(GStrv) lines = log_lines(endings, G_N_ELEMENTS(endings));
    g_auto(GStrv) columns = g_strsplit(header, ",", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, G_N_ELEMENTS(endings) + 2);
    g_assert_cmpstr(lines[0], ==, header);
    for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i + 1], ",", -1);
        g_assert_cmpstr(lines[i + 1], ==, endings[i].row);
        g_assert_cmpuint(g_strv_length(cells), ==, g_strv_length(columns));
    }
}

static void test_other_events_write_nothing(void) {
    Ending endings[N_EVENT_KINDS];
    guint n = 0;
    for (EventKind kind = 0; kind < N_EVENT_KINDS; kind++)
        if (kind != EVENT_COMPLETED && kind != EVENT_REJECTED && kind != EVENT_DROPPED)
            endings[n++] = (Ending){kind, completed_request(), NULL};
    g_auto(GStrv) lines = log_lines(endings, n);
    g_assert_cmpuint(g_strv_length(lines), ==, 2);
}

/* More than the buffer holds: no row may be lost or cut where it is flushed. */
static void test_many_rows_survive_the_buffer(void) {
    const guint n = 5000;
    g_autofree Ending *endings = g_new(Ending, n);
    for (guint i = 0; i < n; i++) {
        endings[i] = (Ending){EVENT_COMPLETED, completed_request(), NULL};
        endings[i].served.request.id = i;
    }
    g_auto(GStrv) lines = log_lines(endings, n);
    g_assert_cmpuint(g_strv_length(lines), ==, n + 2);
    for (guint i = 0; i < n; i++) {
        g_assert_cmpuint(g_ascii_strtoull(lines[i + 1], NULL, 10), ==, i);
        g_assert_true(g_str_has_suffix(lines[i + 1], ",2.900000000"));
    }
}

static void test_unwritable_path_is_an_error(void) {
    g_autoptr(GError) error = NULL;
    g_assert_null(request_log_new("/nowhere/requests.csv", &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
    g_assert_cmpstr(error->message, ==,
                    "cannot write '/nowhere/requests.csv': No such file or directory");
}

static void test_full_disk_is_reported_at_the_end(void) {
    g_autoptr(GError) error = NULL;
    if (!g_file_test("/dev/full", G_FILE_TEST_EXISTS)) {
        g_test_skip("no /dev/full");
        return;
    }
    g_autoptr(RequestLog) log = request_log_new("/dev/full", &error);
    g_assert_no_error(error);
    ServedRequest served = completed_request();
    tell(request_log_observer(log), EVENT_COMPLETED, 3, &served);
    g_assert_false(request_log_finish(log, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/request_log/a_row_for_each_kind_of_end", test_a_row_for_each_kind_of_end);
    g_test_add_func("/request_log/other_events_write_nothing", test_other_events_write_nothing);
    g_test_add_func("/request_log/many_rows_survive_the_buffer", test_many_rows_survive_the_buffer);
    g_test_add_func("/request_log/unwritable_path_is_an_error", test_unwritable_path_is_an_error);
    g_test_add_func("/request_log/full_disk_is_reported_at_the_end",
                    test_full_disk_is_reported_at_the_end);
    return g_test_run();
}
