#include "analysis/run/summary_rows.h"

#include <math.h>
#include <string.h>

#define LABEL_WIDTH 30 /* of "label  value unit" */
#define NUMBER_WIDTH 12
#define ROW_LABEL_WIDTH 15 /* of a row of columns */
#define COLUMN_WIDTH 10
#define LINE_WIDTH 80

/* At most four significant digits, never an exponent above. Caller frees. */
static char *format_real(double value) {
    static const struct {
        double from;
        const char *format;
    } forms[] = {{1000, "%.0f"}, {100, "%.1f"}, {10, "%.2f"}, {1, "%.3f"}, {0, "%.4g"}};
    char text[G_ASCII_DTOSTR_BUF_SIZE + 310];
    guint form = 0;
    while (form + 1 < G_N_ELEMENTS(forms) && fabs(value) < forms[form].from)
        form++;
    return g_strdup(g_ascii_formatd(text, sizeof text, forms[form].format, value));
}

static char *with_unit(double value, const char *unit) {
    g_autofree char *number = format_real(value);
    return unit == NULL ? g_steal_pointer(&number) : g_strdup_printf("%s %s", number, unit);
}

static char *format_joules(double joules) {
    static const struct {
        double from, joules;
        const char *unit;
    } units[] = {{3.6e6, 3.6e6, "kWh"}, {1e3, 1e3, "kJ"}, {0, 1, "J"}};
    guint i = 0;
    while (i + 1 < G_N_ELEMENTS(units) && joules < units[i].from)
        i++;
    return with_unit(joules / units[i].joules, units[i].unit);
}

static char *format_count(guint64 count, const char *unit) {
    return g_strdup_printf("%" G_GUINT64_FORMAT "%s%s", count, unit != NULL ? " " : "",
                           unit != NULL ? unit : "");
}

static char *format_share(double share) {
    char text[G_ASCII_DTOSTR_BUF_SIZE + 310];
    return g_strconcat(g_ascii_formatd(text, sizeof text, "%.1f", 100 * share), " %", NULL);
}

char *summary_cell_format(const SummaryCell *cell) {
    switch (cell->form) {
    case FORM_COUNT:
        return format_count(cell->count, cell->unit);
    case FORM_REAL:
        return with_unit(cell->number, cell->unit);
    case FORM_SECONDS:
        return units_format_brief(cell->number, DIMENSION_SECONDS);
    case FORM_BYTES:
        return units_format_brief(cell->number, DIMENSION_BYTES);
    case FORM_JOULES:
        return format_joules(cell->number);
    case FORM_SHARE:
        return format_share(cell->number);
    case FORM_BOOL:
        return g_strdup(cell->count != 0 ? "yes" : "no");
    case FORM_TEXT:
        return g_strdup(cell->text);
    case FORM_NONE:
        return g_strdup("-");
    }
    g_assert_not_reached();
}

/* "  label            number unit": numbers end and units begin in the same column. */
static void print_value(GString *out, const SummaryRow *row) {
    const SummaryCell *cell = &g_array_index(row->cells, SummaryCell, 0);
    g_autofree char *text = summary_cell_format(cell);
    if (cell->form == FORM_TEXT) {
        g_string_append_printf(out, "  %-*s %s\n", LABEL_WIDTH, row->label, text);
        return;
    }
    char *unit = strchr(text, ' ');
    if (unit != NULL)
        *unit++ = '\0';
    g_string_append_printf(out, "  %-*s %*s%s%s\n", LABEL_WIDTH, row->label, NUMBER_WIDTH, text,
                           unit != NULL ? " " : "", unit != NULL ? unit : "");
}

/* The headings of a row's columns; its empty result stands for a row that has none. */
static char *headings_of(const SummaryRow *row) {
    GString *line = g_string_new(NULL);
    for (guint i = 0; i < row->cells->len; i++) {
        const SummaryCell *cell = &g_array_index(row->cells, SummaryCell, i);
        if (cell->heading != NULL)
            g_string_append_printf(line, "%*s", COLUMN_WIDTH, cell->heading);
    }
    return g_string_free(line, FALSE);
}

static void print_columns(GString *out, const SummaryRow *row) {
    g_string_append_printf(out, "  %-*s", ROW_LABEL_WIDTH, row->label);
    for (guint i = 0; i < row->cells->len; i++) {
        const SummaryCell *cell = &g_array_index(row->cells, SummaryCell, i);
        g_autofree char *text = summary_cell_format(cell);
        if (cell->heading != NULL)
            g_string_append_printf(out, "%*s", COLUMN_WIDTH, text);
    }
    g_string_append_c(out, '\n');
}

static void print_section(GString *out, const SummarySection *section) {
    g_autofree char *headings = g_strdup("");
    g_string_append_printf(out, "\n%s\n", section->title);
    for (guint i = 0; i < section->rows->len; i++) {
        const SummaryRow *row = section->rows->pdata[i];
        if (row->label == NULL)
            continue;
        g_autofree char *own = headings_of(row);
        if (*own != '\0' && strcmp(own, headings) != 0)
            g_string_append_printf(out, "  %-*s%s\n", ROW_LABEL_WIDTH, "", own);
        if (*own != '\0')
            print_columns(out, row);
        else
            print_value(out, row);
        g_free(headings);
        headings = g_steal_pointer(&own);
    }
}

static gboolean section_shown(const SummarySection *section) {
    if (section->title == NULL)
        return FALSE;
    for (guint i = 0; i < section->rows->len; i++)
        if (((const SummaryRow *)section->rows->pdata[i])->label != NULL)
            return TRUE;
    return FALSE;
}

/* Words of 'text' in lines of at most LINE_WIDTH. */
static void print_wrapped(GString *out, const char *text) {
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    glong width = 0;
    for (guint i = 0; words[i] != NULL; i++) {
        glong word = g_utf8_strlen(words[i], -1);
        gboolean breaks = width > 0 && width + 1 + word > LINE_WIDTH;
        if (width > 0)
            g_string_append(out, breaks ? "\n    " : " ");
        width = (breaks ? 4 : width > 0 ? width + 1 : 0) + word;
        g_string_append(out, words[i]);
    }
    g_string_append_c(out, '\n');
}

static void print_head(GString *out, const SummaryInput *input) {
    static const char *const partial[] = {
        [OUTCOME_FINISHED] = NULL,
        [OUTCOME_INTERRUPTED] = "PARTIAL: interrupted; what follows is the part up to then",
        [OUTCOME_DEADLOCK] = "PARTIAL: deadlocked; what follows is the part up to then",
        [OUTCOME_SOURCE_FAILED] = "PARTIAL: the trace went bad; what follows is the part up to it",
    };
    const Experiment *experiment = input->experiment;
    g_autofree char *plan = summary_plan_line(experiment);
    if (partial[input->outcome] != NULL)
        g_string_append_printf(out, "%s\n", partial[input->outcome]);
    print_wrapped(out, plan);
    g_autofree char *extent = summary_extent_line(experiment);
    g_string_append_printf(out, "%s\n", extent);
}

char *summary_table(const SummaryInput *input) {
    g_autoptr(SummaryRows) rows = summary_rows_new(input);
    GString *out = g_string_new(NULL);
    print_head(out, input);
    for (guint i = 0; i < rows->sections->len; i++)
        if (section_shown(rows->sections->pdata[i]))
            print_section(out, rows->sections->pdata[i]);
    return g_string_free(out, FALSE);
}
