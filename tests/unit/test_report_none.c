/* A build without reports, which this program holds of report_html.c (see tests/CMakeLists.txt). */
#include "analysis/report/report_html.h"
#include "analysis/report/report_page.h"
#include "workloads/input_error.h"

static void test_it_says_what_to_do(void) {
    g_autoptr(GError) error = NULL;
    g_assert_false(report_html_built());
    g_assert_false(report_possible("page.html", "infergrid simulate", &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_cmpstr(error->message, ==,
                    "infergrid simulate: option '--report': this infergrid was built without "
                    "reports; install nodejs and npm, run .ci/setup, configure and build again");
}

static void test_it_writes_nothing(void) {
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "no-report-here.html", NULL);
    g_assert_false(report_html_write(path, "title", "{}", &error));
    g_assert_nonnull(error);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report_none/it_says_what_to_do", test_it_says_what_to_do);
    g_test_add_func("/report_none/it_writes_nothing", test_it_writes_nothing);
    return g_test_run();
}
