/* The ascending order of doubles, for g_array_sort and qsort. */
#ifndef ANALYSIS_DOUBLE_ORDER_H
#define ANALYSIS_DOUBLE_ORDER_H

#include <glib.h>

/* Of two const double *, neither of them NaN: below, at or above 0. */
gint double_order(gconstpointer a, gconstpointer b);

#endif
