/* The report of a search: what the plans trade against each other, and all that is known of each.
 */
#ifndef ANALYSIS_REPORT_SEARCH_H
#define ANALYSIS_REPORT_SEARCH_H

#include "analysis/search/search_report.h"

/* 'best' is the best plan's experiment, or NULL where there is none. */
gboolean report_search_write(const SearchReport *report, const char *best, const char *path,
                             GError **error);

#endif
