#include "analysis/timeline/trace_tee.h"
#include "trace_fixture.h"

static TraceSink *tee_of(GString *first, gboolean first_fails, GString *second) {
    GPtrArray *sinks = g_ptr_array_new_with_free_func((GDestroyNotify)trace_sink_free);
    g_ptr_array_add(sinks, text_sink_new(first, first_fails));
    g_ptr_array_add(sinks, text_sink_new(second, FALSE));
    return trace_tee_new(sinks);
}

static void test_all_get_the_same(void) {
    g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(TraceSink) tee = tee_of(first, FALSE, second);
    name_lanes(tee);
    put_slice(tee, 1, 1, "prefill", 0, 10);
    g_assert_true(trace_sink_finish(tee, &error));
    g_assert_no_error(error);
    g_assert_true(g_str_has_suffix(first->str, "process 4 system\nX prefill 1.1 0\nfinished\n"));
    g_assert_cmpstr(first->str, ==, second->str);
}

static void test_one_that_fails_does_not_keep_others_open(void) {
    g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(TraceSink) tee = tee_of(first, TRUE, second);
    g_assert_false(trace_sink_finish(tee, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC);
    g_assert_cmpstr(second->str, ==, "finished\n");
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace_tee/all_get_the_same", test_all_get_the_same);
    g_test_add_func("/trace_tee/one_that_fails_does_not_keep_others_open",
                    test_one_that_fails_does_not_keep_others_open);
    return g_test_run();
}
