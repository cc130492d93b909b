/* A report as data: sections of tiles, charts, tables and texts, which report.js draws in the order
 * in which they are added here. What a chart shows, and in which units, is said here and nowhere
 * else; the script knows no chart by name. */
#ifndef ANALYSIS_REPORT_PAGE_H
#define ANALYSIS_REPORT_PAGE_H

#include <glib.h>

/* How a value is written: seconds as "12 ms", bytes as "1.2 GB" … Static texts that report.js
 * knows. */
#define REPORT_UNIT_NONE ""
#define REPORT_UNIT_SECONDS "s"
#define REPORT_UNIT_BYTES "B"
#define REPORT_UNIT_BYTES_PER_S "B/s"
#define REPORT_UNIT_WATTS "W"
#define REPORT_UNIT_JOULES "J"
#define REPORT_UNIT_PERCENT "%" /* values of 0 … 100 */
#define REPORT_UNIT_TOKENS_PER_S "tokens/s"

/* A page opens quickly however many plans it is about: of a series so many points and of a table so
 * many rows are shown, the first ones, and that there are more is told. */
#define REPORT_POINTS_MAX 5000
#define REPORT_ROWS_MAX 1000

typedef enum {
    REPORT_LINE,
    REPORT_DASHED, /* a line to compare with */
    REPORT_AREA,   /* stacked on the areas before it */
    REPORT_BARS,   /* over x; of one width */
    REPORT_POINTS,
    REPORT_FAINT, /* many points in the background */
    REPORT_LINE_AND_POINTS,
    REPORT_STAR, /* few points that stand out */
} ReportStyle;

typedef struct ReportAxis {
    const char *name, *unit;
    gboolean from_zero;
    gboolean logarithmic; /* then all its values are above 0 */
} ReportAxis;
#define REPORT_AXIS(NAME, UNIT) ((ReportAxis){.name = NAME, .unit = UNIT})
#define REPORT_AXIS_FROM_ZERO(NAME, UNIT)                                                          \
    ((ReportAxis){.name = NAME, .unit = UNIT, .from_zero = TRUE})

typedef struct ReportChart ReportChart;
/* 'id' is unique on its page. The chart is freed by report_page_chart. */
ReportChart *report_chart_new(const char *id, const char *title, ReportAxis x, ReportAxis y);
/* A second axis of values on the right, for the series added after it. */
void report_chart_right_axis(ReportChart *chart, ReportAxis y);
/* One sentence with figures, for those who do not see the picture. printf's format. */
void report_chart_summary(ReportChart *chart, const char *format, ...) G_GNUC_PRINTF(2, 3);
void report_chart_note(ReportChart *chart, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Names along x instead of numbers: points' x are then their places from 0. Copied. */
void report_chart_category(ReportChart *chart, const char *name);
void report_chart_full_width(ReportChart *chart);
/* Begins a series; the points that follow are its. Colours are named by what they stand for, the
 * same in every chart: "prefill", "decode", "waiting" …, or else "0" … "6". Texts are copied. */
void report_chart_series(ReportChart *chart, const char *name, ReportStyle style,
                         const char *colour);
/* 'label' is shown with the point, lines ended by '\n'; or NULL. Values that are not finite leave a
 * gap. */
void report_chart_point(ReportChart *chart, double x, double y, const char *label);
/* A line across the chart at a value of axis 'x' or 'y'. */
void report_chart_mark(ReportChart *chart, char axis, double value, const char *label);

typedef struct ReportPage ReportPage;
ReportPage *report_page_new(const char *title, const char *subtitle);
void report_page_free(ReportPage *page);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportPage, report_page_free)

/* What is added next stands in this section. 'note' may be NULL. */
void report_page_section(ReportPage *page, const char *id, const char *title, const char *note);
/* A headline figure. 'state' is "good", "bad" or NULL. */
void report_page_tile(ReportPage *page, const char *label, const char *value, const char *note,
                      const char *state);
void report_page_chart(ReportPage *page, ReportChart *chart); /* takes the chart */
/* A table: its columns' names, and rows of so many texts. NULL-terminated arrays; 'rows' holds
 * char **. 'folded': behind its title until it is opened. */
void report_page_table(ReportPage *page, const char *title, const char *const *columns,
                       const GPtrArray *rows, gboolean folded);
void report_page_text(ReportPage *page, const char *title, const char *text);
/* An item that is JSON already, an object with at least "kind". */
void report_page_item(ReportPage *page, const char *json);

/* Writes the page with everything it needs into one HTML file, which appears whole or not at all;
 * folders above it are made. */
gboolean report_page_write(ReportPage *page, const char *path, GError **error);

/* FALSE and an INPUT_ERROR where this program was built without reports, or 'path' is no name for
 * one. 'command' begins the message: "infergrid simulate". */
gboolean report_possible(const char *path, const char *command, GError **error);

#endif
