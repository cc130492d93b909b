#include "analysis/compare/compare_table.h"

#include "analysis/compare/compare_text.h"
#include <math.h>
#include <string.h>

#define LABEL_WIDTH 30 /* with the two blanks before it */
#define VALUE_WIDTH 10
#define PERCENT_WIDTH 8     /* " +99.9 %" */
#define DELTA_WIDTH 12      /* with two folders alone, and wider percents */
#define FOLDERS_IN_A_LINE 3 /* beside the first one: 100 columns */

/* --- the parts */

static void append_folders(GString *out, const Comparison *comparison) {
    for (guint at = 0; at < comparison->n; at++) {
        const ResultFolder *folder = comparison->folders[at];
        g_autofree char *letter = comparison_letter(at);
        gboolean finished = strcmp(folder->summary->outcome, "finished") == 0;
        g_string_append_printf(
            out, "%-3s%s\n   %s%s%s\n", letter, folder->path, folder->summary->simulated,
            finished ? "" : "; PARTIAL: ", finished ? "" : folder->summary->outcome);
    }
}

/* The letters of the folders that have the value which the one at 'from' is the first to have:
 * "A-C, F". */
static void append_owners(GString *text, const SettingChange *change, guint from) {
    const char *gap = "";

    for (guint i = from; i < change->n; i++) {
        guint last = i;
        if (g_strcmp0(change->values[from], change->values[i]) != 0)
            continue;
        while (last + 1 < change->n &&
               g_strcmp0(change->values[from], change->values[last + 1]) == 0)
            last++;
        g_autofree char *letter = comparison_letter(i);
        g_autofree char *last_letter = comparison_letter(last);
        g_string_append_printf(text, "%s%s", gap, letter);
        if (last > i)
            g_string_append_printf(text, "%s%s", last > i + 1 ? "-" : ", ", last_letter);
        gap = ", ";
        i = last;
    }
}

static gboolean is_first_owner(const SettingChange *change, guint at) {
    for (guint i = 0; i < at; i++)
        if (g_strcmp0(change->values[i], change->values[at]) == 0)
            return FALSE;
    return TRUE;
}

/* "4 -> 2" of two folders, "4 (A, C-E); 2 (B)" of more. */
static char *change_text(const SettingChange *change) {
    static const char absent[] = "absent";
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < change->n; i++) {
        const char *value = change->values[i] == NULL ? absent : change->values[i];
        if (change->n == 2) {
            g_string_append_printf(text, "%s%s", i == 0 ? "" : " -> ", value);
        } else if (is_first_owner(change, i)) {
            g_string_append_printf(text, "%s%s (", i == 0 ? "" : "; ", value);
            append_owners(text, change, i);
            g_string_append_c(text, ')');
        }
    }
    return g_string_free(text, FALSE);
}

static void append_changes(GString *out, const Comparison *comparison) {
    gsize width = LABEL_WIDTH - 3;

    g_string_append(out, "\nSettings that differ\n");
    if (comparison->changes->len == 0)
        g_string_append(out, "  none\n");
    for (guint i = 0; i < comparison->changes->len; i++) {
        const SettingChange *change = comparison->changes->pdata[i];
        width = MAX(width, strlen(change->key));
    }
    for (guint i = 0; i < comparison->changes->len; i++) {
        const SettingChange *change = comparison->changes->pdata[i];
        g_autofree char *text = change_text(change);
        g_string_append_printf(out, "  %-*s %s\n", (int)width, change->key, text);
    }
}

/* The others that stand in one line with the first. */
typedef struct Line {
    guint from, to;
    gboolean two; /* two folders in all: there is room for more */
} Line;

static void append_headings(GString *out, const char *key, const Line *line) {
    g_autofree char *title = figure_key_title(key);

    g_string_append_printf(out, "\n%-*s%*s", LABEL_WIDTH, title, VALUE_WIDTH, "A");
    for (guint at = line->from; at < line->to; at++) {
        g_autofree char *letter = comparison_letter(at);
        g_string_append_printf(out, "%*s", VALUE_WIDTH, letter);
        if (line->two)
            g_string_append_printf(out, "%*s%*s", DELTA_WIDTH, "delta", PERCENT_WIDTH + 2,
                                   "delta %");
        else
            g_string_append_printf(out, "%*s  ", PERCENT_WIDTH, "");
    }
    while (g_str_has_suffix(out->str, " "))
        g_string_truncate(out, out->len - 1);
    g_string_append_c(out, '\n');
}

static void append_other(GString *out, const ComparedFigure *figure, const Line *line, guint at) {
    g_autofree char *value = compared_figure_text(figure, at);
    g_autofree char *delta = compared_figure_delta_text(figure, at);
    g_autofree char *percent = compare_text_percent(compared_figure_percent(figure, at));
    Verdict verdict = compared_figure_verdict(figure, at);
    gboolean told = verdict == VERDICT_BETTER || verdict == VERDICT_WORSE;

    g_string_append_printf(out, "%*s", VALUE_WIDTH, value);
    if (line->two)
        g_string_append_printf(out, "%*s%*s  %s", DELTA_WIDTH, delta, PERCENT_WIDTH + 2, percent,
                               told ? verdict_name(verdict) : "");
    else
        g_string_append_printf(out, "%*s %c", PERCENT_WIDTH, percent,
                               told ? verdict_name(verdict)[0] : ' ');
}

static void append_row(GString *out, const ComparedFigure *figure, const Line *line) {
    g_autofree char *label = figure_key_label(figure->key);
    g_autofree char *first = compared_figure_text(figure, 0);

    g_string_append_printf(out, "  %-*s%*s", LABEL_WIDTH - 2, label, VALUE_WIDTH, first);
    for (guint at = line->from; at < line->to; at++)
        append_other(out, figure, line, at);
    while (g_str_has_suffix(out->str, " "))
        g_string_truncate(out, out->len - 1);
    g_string_append_c(out, '\n');
}

static void append_figures(GString *out, const Comparison *comparison, const Line *line) {
    const char *before = NULL;

    for (guint i = 0; i < comparison->figures->len; i++) {
        const ComparedFigure *figure = comparison->figures->pdata[i];
        if (!compared_figure_is_shown(figure))
            continue;
        if (before == NULL || !figure_key_same_section(before, figure->key))
            append_headings(out, figure->key, line);
        append_row(out, figure, line);
        before = figure->key;
    }
}

static void append_left_out(GString *out, const Comparison *comparison) {
    guint hidden = 0;

    for (guint i = 0; i < comparison->figures->len; i++)
        hidden += compared_figure_is_shown(comparison->figures->pdata[i]) ? 0 : 1;
    g_string_append_c(out, '\n');
    if (comparison->n > 2)
        g_string_append(out, "percent: difference from A; b: better than A, w: worse than A\n");
    if (hidden > 0)
        g_string_append_printf(out, "%u figures that are 0 or nothing in all are not shown\n",
                               hidden);
}

static void append_latencies(GString *out, const PairedRequests *paired) {
    static const char *const labels[N_SERVED_LATENCIES] = {"TTFT", "TPOT", "E2E"};

    g_string_append_printf(out, "  %-8s%9s%9s%9s%11s%11s%11s%11s\n", "", "faster", "slower", "same",
                           "median", "mean", "p5", "p95");
    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++) {
        const PairedLatency *latency = &paired->latencies[kind];
        const double seconds[] = {latency->median_s, latency->mean_s, latency->p5_s,
                                  latency->p95_s};
        g_string_append_printf(
            out, "  %-8s%9" G_GUINT64_FORMAT "%9" G_GUINT64_FORMAT "%9" G_GUINT64_FORMAT,
            labels[kind], latency->faster, latency->slower, latency->same);
        for (guint i = 0; i < G_N_ELEMENTS(seconds); i++) {
            g_autofree char *text = compare_text_seconds(seconds[i]);
            g_string_append_printf(out, "%11s", text);
        }
        g_string_append_c(out, '\n');
    }
}

static void append_paired(GString *out, const Comparison *comparison, guint at) {
    const PairedRequests *paired = comparison->paired[at];
    g_autofree char *letter = comparison_letter(at);

    if (paired->unlike != NULL) {
        g_string_append_printf(out, "\nRequests of A and %s are not paired: %s\n", letter,
                               paired->unlike);
        return;
    }
    g_string_append_printf(
        out, "\nPaired requests, %s less A: %" G_GUINT64_FORMAT " completed in both\n", letter,
        paired->completed);
    append_latencies(out, paired);
}

static void append_exceeding(GString *out, const Comparison *comparison) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    if (isnan(comparison->threshold))
        return;
    g_ascii_formatd(digits, sizeof digits, "%g", comparison->threshold);
    g_string_append_printf(out, "\nWorse than A by more than %s %%\n", digits);
    if (comparison_exceeding(comparison) == 0)
        g_string_append(out, "  none\n");
    for (guint at = 1; at < comparison->n; at++)
        for (guint i = 0; i < comparison->figures->len; i++) {
            const ComparedFigure *figure = comparison->figures->pdata[i];
            g_autofree char *letter = comparison_letter(at);
            g_autofree char *percent = compare_text_percent(compared_figure_percent(figure, at));
            if (comparison_exceeds(comparison, figure, at))
                g_string_append_printf(out, "  %-3s%-42s%s\n", letter, figure->key, percent);
        }
}

char *compare_table(const Comparison *comparison) {
    GString *out = g_string_new(NULL);

    append_folders(out, comparison);
    append_changes(out, comparison);
    for (guint from = 1; from < comparison->n; from += FOLDERS_IN_A_LINE) {
        Line line = {from, MIN(from + FOLDERS_IN_A_LINE, comparison->n), comparison->n == 2};
        append_figures(out, comparison, &line);
    }
    append_left_out(out, comparison);
    for (guint at = 1; at < comparison->n; at++)
        append_paired(out, comparison, at);
    append_exceeding(out, comparison);
    if (comparison->identical)
        g_string_append(out, "\nidentical: every setting, figure and request is the same\n");
    return g_string_free(out, FALSE);
}
