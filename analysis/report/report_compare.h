/* The report of a comparison: what was set differently, what became better and worse, the
 * distributions of latencies over each other, and the same requests one by one. */
#ifndef ANALYSIS_REPORT_COMPARE_H
#define ANALYSIS_REPORT_COMPARE_H

#include "analysis/compare/comparison.h"

gboolean report_compare_write(const Comparison *comparison, const char *path, GError **error);

#endif
