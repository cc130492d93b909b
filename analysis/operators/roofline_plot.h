/* A roofline as a picture: attained rate over operational intensity, both logarithmic, under the
 * roof of a device (Williams, Waterman & Patterson 2009). Drawn by gnuplot. */
#ifndef ANALYSIS_ROOFLINE_PLOT_H
#define ANALYSIS_ROOFLINE_PLOT_H

#include <glib.h>

/* An operator under the roof. Points of one name have one colour, points of one series one shape.
 */
typedef struct RooflinePoint {
    const char *name; /* "q k v" …; borrowed */
    guint series;
    double macs_per_byte; /* of off-chip memory */
    double macs_per_s;
} RooflinePoint;

typedef struct Roofline {
    const char *title;
    double peak_macs_per_s;
    const char *memory;        /* what off-chip memory is called: "DDR" */
    double bytes_per_s;        /* of it */
    const char *const *series; /* their names, NULL-terminated */
    const RooflinePoint *points;
    gsize n_points;
} Roofline;

/* The kind of picture that a path's extension asks for: svg or pdf. FALSE and an error for others,
 * and when gnuplot is not installed. */
gboolean roofline_plot_possible(const char *path, GError **error);
/* Draws into 'path', which appears whole or not at all. */
gboolean roofline_plot(const Roofline *roofline, const char *path, GError **error);
/* The gnuplot script that draws it. Caller frees. */
char *roofline_script(const Roofline *roofline, const char *path, const char *output);

#endif
