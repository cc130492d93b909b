#include "analysis/campaign/sweep_plot.h"

#include "analysis/output/gnuplot.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

/* As wide as a column of a paper. */
#define WIDTH_CM 8.8
#define HEIGHT_CM 6.6

static const int shapes[] = {7, 5, 9, 11, 13, 15};

/* --- what is asked */

static gboolean wrong(const char *text, GError **error, const char *what, const char *word) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN, "--plot %s: %s '%s'", text, what, word);
    return FALSE;
}

static gboolean key_find(const char *text, const GPtrArray *keys, const char *word, int *key,
                         GError **error) {
    *key = vary_find(keys, word);
    if (*key >= 0)
        return TRUE;
    return wrong(text, error, *key == -1 ? "no option '--vary' has the key" : "several keys end in",
                 word);
}

static gboolean figure_of(const char *text, const char *word, Figure *figure, GError **error) {
    const char *names[N_FIGURES];

    for (guint i = 0; i < N_FIGURES; i++) {
        const FigureInfo *info = figure_info((Figure)i);
        names[i] = info->name;
        if (strcmp(info->name, word) == 0 || strcmp(info->column, word) == 0) {
            *figure = (Figure)i;
            return TRUE;
        }
    }
    g_autofree char *hint = near_miss_hint(word, names, N_FIGURES);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN, "--plot %s: unknown figure '%s'%s", text,
                word, hint);
    return FALSE;
}

gboolean sweep_plot_parse(const char *text, const GPtrArray *keys, SweepPlot *plot,
                          GError **error) {
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    guint n = g_strv_length(words);

    if (n != 2 && n != 3) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "--plot: expected X,Y or X,Y,SERIES, not '%s'", text);
        return FALSE;
    }
    for (guint i = 0; i < n; i++)
        g_strstrip(words[i]);
    plot->series = -1;
    if (!key_find(text, keys, words[0], &plot->x, error) ||
        !figure_of(text, words[1], &plot->y, error) ||
        (n == 3 && !key_find(text, keys, words[2], &plot->series, error)))
        return FALSE;
    if (plot->x == plot->series)
        return wrong(text, error, "X and SERIES are the same key", words[0]);
    return TRUE;
}

/* --- drawing */

typedef struct Drawing {
    const SweepPlot *plot;
    const SweepResult *result;
    char **xs;           /* the values of X, borrowed */
    char **lines;        /* the values of SERIES, borrowed; NULL: one line */
    guint n_xs, n_lines; /* at least 1 line */
    const char *unit;    /* of X, when it is numbers; NULL: words */
} Drawing;

static const VaryKey *key_of(const Drawing *drawing, int key) {
    return drawing->result->keys->pdata[key];
}

/* The unit that all texts have behind a number, or NULL. Borrowed from the first. */
static const char *unit_of(char **texts) {
    const char *unit = NULL;

    for (char **text = texts; *text != NULL; text++) {
        char *end;
        g_ascii_strtod(*text, &end);
        if (end == *text || (unit != NULL && strcmp(end, unit) != 0))
            return NULL;
        unit = end;
    }
    return unit;
}

static Drawing drawing_of(const SweepPlot *plot, const SweepResult *result) {
    Drawing drawing = {.plot = plot, .result = result, .n_lines = 1};

    drawing.xs = key_of(&drawing, plot->x)->values;
    drawing.n_xs = g_strv_length(drawing.xs);
    drawing.unit = unit_of(drawing.xs);
    if (plot->series >= 0) {
        drawing.lines = key_of(&drawing, plot->series)->values;
        drawing.n_lines = g_strv_length(drawing.lines);
    }
    return drawing;
}

/* The best of the runs at this place of this line; NaN where none is ok. */
static double best_of(const Drawing *drawing, guint line, guint x) {
    const SweepPlot *plot = drawing->plot;
    const SweepResult *result = drawing->result;
    gboolean larger = figure_info(plot->y)->larger_is_better;
    gsize n = vary_runs(result->keys);
    double best = NAN;

    for (gsize run = 0; run < n; run++) {
        double y = result->runs[run].outcome.figures[plot->y];
        if (isnan(y) || vary_value(result->keys, run, (guint)plot->x) != drawing->xs[x] ||
            (drawing->lines != NULL &&
             vary_value(result->keys, run, (guint)plot->series) != drawing->lines[line]))
            continue;
        if (isnan(best) || (larger ? y > best : y < best))
            best = y;
    }
    return best;
}

static double place_of(const Drawing *drawing, guint x) {
    return drawing->unit == NULL ? x : g_ascii_strtod(drawing->xs[x], NULL);
}

/* "ttft_p99 (s)", "goodput (share)": a column's name with what is behind the figure's as unit. */
static char *label_of(Figure figure) {
    const FigureInfo *info = figure_info(figure);
    gsize length = strlen(info->name);
    g_autofree char *name = g_strdelimit(g_strdup(info->name), "_", ' ');

    if (strlen(info->column) == length)
        return g_steal_pointer(&name);
    g_autofree char *unit = g_strdelimit(g_strdup(info->column + length + 1), "_", ' ');
    return g_strdup_printf("%s (%s)", name, unit);
}

static void append_words(GString *out, const Drawing *drawing) {
    g_string_append(out, "set xtics (");
    for (guint i = 0; i < drawing->n_xs; i++) {
        g_string_append(out, i == 0 ? "" : ", ");
        gnuplot_text(out, drawing->xs[i]);
        g_string_append_printf(out, " %u", i);
    }
    g_string_append(out, ") noenhanced\n");
}

static void append_axes(GString *out, const Drawing *drawing) {
    g_autofree char *y = label_of(drawing->plot->y);
    const char *key = key_of(drawing, drawing->plot->x)->key;
    const char *unit = drawing->unit == NULL ? "" : drawing->unit;
    g_autofree char *x = g_strconcat(key, *unit == '\0' ? "" : " (", unit + strspn(unit, " "),
                                     *unit == '\0' ? "" : ")", NULL);
    double low = INFINITY, high = -INFINITY;

    for (guint i = 0; i < drawing->n_xs; i++) {
        low = MIN(low, place_of(drawing, i));
        high = MAX(high, place_of(drawing, i));
    }
    double room = high > low ? 0.05 * (high - low) : 1;
    g_string_append(out, "set xrange [");
    gnuplot_number(out, low - room);
    g_string_append_c(out, ':');
    gnuplot_number(out, high + room);
    g_string_append(out, "]\nset yrange [0:*]\nset grid lc rgb '#dddddd'\nset tics nomirror\n"
                         "set border 3\nset xlabel ");
    gnuplot_text(out, x);
    g_string_append(out, " noenhanced\nset ylabel ");
    gnuplot_text(out, y);
    g_string_append(out, " noenhanced\nset key outside top center horizontal samplen 1.5\n");
    if (drawing->unit == NULL)
        append_words(out, drawing);
}

static void append_lines(GString *out, const Drawing *drawing) {
    for (guint i = 0; i < drawing->n_lines; i++) {
        g_string_append_printf(
            out, "%s'-' using 1:2 with linespoints lw 2 pt %d ps 0.7 lc rgb '%s' ",
            i == 0 ? "plot " : ", \\\n  ", shapes[i % G_N_ELEMENTS(shapes)], gnuplot_colour(i));
        if (drawing->lines == NULL) {
            g_string_append(out, "notitle");
            continue;
        }
        const char *key = key_of(drawing, drawing->plot->series)->key;
        const char *dot = strrchr(key, '.');
        g_autofree char *title =
            g_strdup_printf("%s %s", dot == NULL ? key : dot + 1, drawing->lines[i]);
        g_string_append(out, "title ");
        gnuplot_text(out, title);
        g_string_append(out, " noenhanced");
    }
    g_string_append_c(out, '\n');
}

char *sweep_plot_script(const SweepPlot *plot, const SweepResult *result, const char *path,
                        const char *output) {
    Drawing drawing = drawing_of(plot, result);
    GnuplotPicture picture = {path, WIDTH_CM, HEIGHT_CM};
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &picture, output);
    append_axes(out, &drawing);
    append_lines(out, &drawing);
    for (guint line = 0; line < drawing.n_lines; line++) {
        for (guint x = 0; x < drawing.n_xs; x++) {
            gnuplot_number(out, place_of(&drawing, x));
            g_string_append_c(out, ' ');
            gnuplot_number(out, best_of(&drawing, line, x));
            g_string_append_c(out, '\n');
        }
        g_string_append(out, "e\n");
    }
    return g_string_free(out, FALSE);
}

typedef struct Script {
    const SweepPlot *plot;
    const SweepResult *result;
} Script;

static char *script_of(gconstpointer data, const char *path, const char *output) {
    const Script *script = data;

    return sweep_plot_script(script->plot, script->result, path, output);
}

gboolean sweep_plot_draw(const SweepPlot *plot, const SweepResult *result, const char *path,
                         GError **error) {
    Script script = {plot, result};

    return gnuplot_draw(path, script_of, &script, error);
}
