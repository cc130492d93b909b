/* A sweep drawn by gnuplot: a figure over a varied key, a line for each value of another. */
#ifndef ANALYSIS_SWEEP_PLOT_H
#define ANALYSIS_SWEEP_PLOT_H

#include "analysis/campaign/sweep_report.h"

typedef struct SweepPlot {
    int x;      /* a key */
    int series; /* a key; −1: one line */
    Figure y;
} SweepPlot;

/* Reads "X,Y" or "X,Y,SERIES": keys in full or by their ends, a figure by its name or column. FALSE
 * and an INPUT_ERROR for names that do not exist or that fit several keys. */
gboolean sweep_plot_parse(const char *text, const GPtrArray *keys, SweepPlot *plot, GError **error);

/* Where other keys vary too, each point is the best of their values. Values of X are places on an
 * axis when all are numbers with one unit, else words in their order. Runs that are not ok leave
 * gaps. 'path' ends in .svg or .pdf. */
gboolean sweep_plot_draw(const SweepPlot *plot, const SweepResult *result, const char *path,
                         GError **error);
/* Its script for gnuplot, which draws into 'output'. Caller frees. */
char *sweep_plot_script(const SweepPlot *plot, const SweepResult *result, const char *path,
                        const char *output);

#endif
