/* Pictures drawn by gnuplot: what their scripts have in common, and running them. */
#ifndef ANALYSIS_GNUPLOT_H
#define ANALYSIS_GNUPLOT_H

#include <glib.h>

typedef struct GnuplotPicture {
    const char *path; /* its extension says what it is: .svg or .pdf */
    double width_cm, height_cm;
} GnuplotPicture;

/* FALSE and an INPUT_ERROR for other extensions (the message names 'option') and when gnuplot is
 * not installed (it names 'who', "infergrid roofline"). */
gboolean gnuplot_possible(const char *path, const char *option, const char *who, GError **error);

/* The head of a script that draws into 'output'. */
void gnuplot_begin(GString *out, const GnuplotPicture *picture, const char *output);
/* A number that reads back exactly; NaN where it is not finite. */
void gnuplot_number(GString *out, double value);
void gnuplot_text(GString *out, const char *text); /* in quotes */
/* A colour of Paul Tol's bright scheme, told apart by colour-blind readers and in print; they
 * repeat after six. Static text, "#4477AA". */
const char *gnuplot_colour(guint index);

/* Draws what script(data, path, output) says, freed here, into 'path', which appears whole or not
 * at all; its folder is made. */
gboolean gnuplot_draw(const char *path,
                      char *(*script)(gconstpointer data, const char *path, const char *output),
                      gconstpointer data, GError **error);

#endif
