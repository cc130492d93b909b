#include "analysis/output/gnuplot.h"

#include "analysis/output/number_text.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#define PIXELS_A_CM 62.5 /* the same picture twice as large for a screen */

static gboolean is_pdf(const char *path) {
    return g_str_has_suffix(path, ".pdf");
}

gboolean gnuplot_possible(const char *path, const char *option, const char *who, GError **error) {
    g_autofree char *gnuplot = g_find_program_in_path("gnuplot");

    if (!is_pdf(path) && !g_str_has_suffix(path, ".svg")) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "%s: expected a file that ends in .svg or .pdf, not '%s'", option, path);
        return FALSE;
    }
    if (gnuplot != NULL)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                "%s: gnuplot, which draws the picture, is not installed (Debian: gnuplot-nox)",
                who);
    return FALSE;
}

void gnuplot_begin(GString *out, const GnuplotPicture *picture, const char *output) {
    char width[G_ASCII_DTOSTR_BUF_SIZE], height[G_ASCII_DTOSTR_BUF_SIZE];
    gboolean pdf = is_pdf(picture->path);
    double scale = pdf ? 1 : PIXELS_A_CM;
    const char *unit = pdf ? "cm" : "";

    g_ascii_formatd(width, sizeof width, pdf ? "%.2f" : "%.0f", picture->width_cm * scale);
    g_ascii_formatd(height, sizeof height, pdf ? "%.2f" : "%.0f", picture->height_cm * scale);
    g_string_append_printf(out, "set encoding utf8\nset terminal %s size %s%s,%s%s font %s\n",
                           pdf ? "pdfcairo" : "svg", width, unit, height, unit,
                           pdf ? "'Helvetica,8'" : "'Helvetica,14' dynamic background rgb 'white'");
    g_string_append(out, "set output ");
    gnuplot_text(out, output);
    g_string_append_c(out, '\n');
}

void gnuplot_number(GString *out, double value) {
    char text[NUMBER_TEXT_MAX];

    if (isfinite(value))
        g_string_append_len(out, text, number_text_shortest(text, value) - text);
    else
        g_string_append(out, "NaN");
}

void gnuplot_text(GString *out, const char *text) {
    g_auto(GStrv) parts = g_strsplit(text, "'", -1);
    g_autofree char *doubled = g_strjoinv("''", parts);

    g_string_append_printf(out, "'%s'", doubled);
}

const char *gnuplot_colour(guint index) {
    static const char *const colours[] = {"#4477AA", "#EE6677", "#228833",
                                          "#AA3377", "#CCBB44", "#66CCEE"};

    return colours[index % G_N_ELEMENTS(colours)];
}

static gboolean set_failure(GError **error, const char *what, const char *path) {
    int code = errno;

    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot %s '%s': %s", what,
                path, g_strerror(code));
    return FALSE;
}

/* A script in a file: a pipe would break where gnuplot gives up early. */
static gboolean run(const char *script, GError **error) {
    g_autofree char *path = NULL, *complaint = NULL;
    int status = 0;
    int file = g_file_open_tmp("infergrid-XXXXXX.gnuplot", &path, error);

    if (file < 0)
        return FALSE;
    close(file);
    char *words[] = {(char *)"gnuplot", path, NULL};
    gboolean ran = g_file_set_contents(path, script, -1, error) &&
                   g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                                NULL, NULL, NULL, &complaint, &status, error);
    g_unlink(path);
    if (!ran || g_spawn_check_wait_status(status, NULL))
        return ran;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "gnuplot failed: %s",
                g_strstrip(complaint));
    return FALSE;
}

gboolean gnuplot_draw(const char *path,
                      char *(*script)(gconstpointer data, const char *path, const char *output),
                      gconstpointer data, GError **error) {
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *temporary = g_build_filename(folder, ".picture-XXXXXX", NULL);
    int file =
        g_mkdir_with_parents(folder, 0777) == 0 ? g_mkstemp_full(temporary, O_RDWR, 0666) : -1;

    if (file < 0)
        return set_failure(error, "make a file in", folder);
    close(file);
    g_autofree char *text = script(data, path, temporary);
    gboolean drawn = run(text, error);
    if (drawn && g_rename(temporary, path) == 0)
        return TRUE;
    if (drawn)
        set_failure(error, "make", path);
    g_unlink(temporary);
    return FALSE;
}
