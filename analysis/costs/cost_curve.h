/* Private to cost_points and cost_attention: which points of a curve carry it, when what is between
 * them is taken to be linear. */
#ifndef ANALYSIS_COST_CURVE_H
#define ANALYSIS_COST_CURVE_H

#include <glib.h>

typedef double (*CostEstimate)(gconstpointer data, guint32 x);

/* Of 'x' (guint32, ascending), both ends and as many as it takes for the estimate of all others to
 * stray by no more than 0.2 % from the line through their neighbours. They are kept in 'x'. */
void cost_curve_thin(GArray *x, CostEstimate estimate, gconstpointer data);
/* The same, only marked in 'kept', which is as long as 'x'. */
void cost_curve_mark(const GArray *x, CostEstimate estimate, gconstpointer data, gboolean *kept);
/* Removes what is not marked. */
void cost_curve_keep(GArray *x, const gboolean *kept);

/* Candidates within a range, to be sorted when all are there. */
typedef struct CostRange {
    guint64 from, to;
} CostRange;
GArray *cost_curve_new(CostRange range); /* with both ends, if there are any */
void cost_curve_add(GArray *x, CostRange range, guint64 value);
/* start + 1 … start + n */
void cost_curve_add_run(GArray *x, CostRange range, guint64 start, guint64 n);
void cost_curve_sort(GArray *x); /* and removes what is there twice */

#endif
