#include "analysis/report/report_html.h"
#include "analysis/report/report_page.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

typedef struct Written {
    char *folder, *path, *text;
} Written;

static void written_clear(Written *written) {
    g_remove(written->path);
    g_rmdir(written->folder);
    g_free(written->folder);
    g_free(written->path);
    g_free(written->text);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Written, written_clear)

static Written write_page(ReportPage *page) {
    g_autoptr(GError) error = NULL;
    Written written = {.folder = g_dir_make_tmp("report-XXXXXX", &error)};
    written.path = g_build_filename(written.folder, "page.html", NULL);
    g_assert_true(report_page_write(page, written.path, &error));
    g_assert_no_error(error);
    g_assert_true(g_file_get_contents(written.path, &written.text, NULL, &error));
    return written;
}

static guint occurrences(const char *text, const char *word) {
    guint n = 0;
    while ((text = strstr(text, word)) != NULL) {
        text += strlen(word);
        n++;
    }
    return n;
}

/* Whatever a name holds, it ends no script and begins no element. */
static void test_nothing_in_the_data_ends_its_script(void) {
    const char *nasty = "</script><img src=x onerror=alert(1)>{{library}} \"quoted\" \\ & <!--";
    if (!report_html_built()) {
        g_test_skip("built without reports");
        return;
    }
    g_autoptr(ReportPage) page = report_page_new(nasty, nasty);
    report_page_section(page, "one", nasty, nasty);
    report_page_tile(page, nasty, nasty, NULL, NULL);
    report_page_text(page, nasty, nasty);
    g_auto(Written) written = write_page(page);
    g_assert_cmpuint(occurrences(written.text, "</script"), ==, 3); /* data, library, script */
    g_assert_cmpuint(occurrences(written.text, "<img src=x"), ==, 0);
    g_assert_cmpuint(occurrences(written.text, "Apache Software Foundation"), >=, 2);
    g_assert_nonnull(strstr(written.text, "\\u003c/script>\\u003cimg"));
    g_assert_nonnull(strstr(written.text, "<title>&lt;/script&gt;"));
    g_assert_cmpuint(occurrences(written.text, "{{library}}"), >, 0); /* in the data, untouched */
}

static void test_a_chart_is_its_data(void) {
    if (!report_html_built()) {
        g_test_skip("built without reports");
        return;
    }
    g_autoptr(ReportPage) page = report_page_new("title", "subtitle");
    report_page_section(page, "one", "One", NULL);
    ReportChart *chart = report_chart_new("c", "C", REPORT_AXIS("x", REPORT_UNIT_SECONDS),
                                          REPORT_AXIS_FROM_ZERO("y", REPORT_UNIT_BYTES));
    report_chart_series(chart, "s", REPORT_LINE, "decode");
    report_chart_point(chart, 0.1234567, 2, NULL);
    report_chart_point(chart, 1, NAN, NULL);
    report_chart_point(chart, 2, INFINITY, "here");
    report_chart_mark(chart, 'x', 1.5, "limit");
    report_chart_summary(chart, "%u points", 3u);
    report_page_chart(page, chart);
    g_auto(Written) written = write_page(page);
    g_assert_nonnull(strstr(written.text, "[[0.123457,2],[1,null],[2,null]]"));
    g_assert_nonnull(strstr(written.text, "[\"\",\"\",\"here\"]"));
    g_assert_nonnull(strstr(written.text, "\"summary\": \"3 points\""));
}

/* Of many points and rows the first are shown, and how many there are is told. */
static void test_a_page_is_bounded(void) {
    static const char *const columns[] = {"column", NULL}, *const row[] = {"cell", NULL};
    if (!report_html_built()) {
        g_test_skip("built without reports");
        return;
    }
    g_autoptr(ReportPage) page = report_page_new("title", "subtitle");
    g_autoptr(GPtrArray) rows = g_ptr_array_new();
    ReportChart *chart = report_chart_new("c", "C", REPORT_AXIS("x", REPORT_UNIT_NONE),
                                          REPORT_AXIS("y", REPORT_UNIT_NONE));
    report_page_section(page, "one", "One", NULL);
    report_chart_series(chart, "s", REPORT_POINTS, "0");
    for (guint i = 0; i < REPORT_POINTS_MAX + 3; i++)
        report_chart_point(chart, i, 7.5, "label");
    report_page_chart(page, chart);
    for (guint i = 0; i < REPORT_ROWS_MAX + 2; i++)
        g_ptr_array_add(rows, (gpointer)row);
    report_page_table(page, "rows", columns, rows, FALSE);
    g_auto(Written) written = write_page(page);
    g_assert_cmpuint(occurrences(written.text, ",7.5]"), ==, REPORT_POINTS_MAX);
    g_assert_cmpuint(occurrences(written.text, "\"label\""), >=, REPORT_POINTS_MAX);
    g_assert_nonnull(strstr(written.text, "\"note\": \"3 more points are not shown.\""));
    g_assert_cmpuint(occurrences(written.text, "\"cell\""), ==, REPORT_ROWS_MAX);
    g_assert_nonnull(strstr(written.text, "\"rows; the first 1000 of 1002\""));
}

static void test_a_path_that_cannot_be_written(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(ReportPage) page = report_page_new("title", "subtitle");
    report_page_section(page, "one", "One", NULL);
    g_assert_false(report_page_write(page, "/dev/null/page.html", &error));
    g_assert_nonnull(error);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report_page/nothing_in_the_data_ends_its_script",
                    test_nothing_in_the_data_ends_its_script);
    g_test_add_func("/report_page/a_chart_is_its_data", test_a_chart_is_its_data);
    g_test_add_func("/report_page/a_page_is_bounded", test_a_page_is_bounded);
    g_test_add_func("/report_page/a_path_that_cannot_be_written",
                    test_a_path_that_cannot_be_written);
    return g_test_run();
}
