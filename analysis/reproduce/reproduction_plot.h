/* Simulated over published as a picture: the figures themselves, both logarithmic, with the
 * diagonal, and beside it how many times too large they are; a band of 20 % to either side, and a
 * symbol for each table. Drawn by gnuplot. */
#ifndef ANALYSIS_REPRODUCTION_PLOT_H
#define ANALYSIS_REPRODUCTION_PLOT_H

#include "analysis/reproduce/reproduction.h"

/* Into 'path' (.svg or .pdf), which appears whole or not at all. 'all': Reproduction *; tables that
 * follow from others are left out, as are cells without two numbers and contradicted ones. */
gboolean reproduction_plot(const GPtrArray *all, const char *path, GError **error);

#endif
