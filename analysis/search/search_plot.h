/* The pictures of a search: what the plans trade against each other, and what the best plan's
 * objective does when one setting changes. */
#ifndef ANALYSIS_SEARCH_PLOT_H
#define ANALYSIS_SEARCH_PLOT_H

#include "analysis/search/search_report.h"

/* The first objective over the second (over ttft_p99 where there is one only): simulated plans,
 * the front joined by a line, the analytic rule's plan. */
gboolean search_plot_pareto(const SearchReport *report, const char *path, GError **error);

/* A panel a setting: the first objective of the candidates that differ from the best plan in that
 * setting alone, replicas left out of the comparison where no such candidate exists; where one was
 * not simulated, its bound as a hollow point. */
gboolean search_plot_sensitivity(const SearchReport *report, const char *path, GError **error);

/* What the first objective is drawn over: the second, or else ttft_p99 or throughput. */
Figure search_plot_across(const Objectives *objectives);
/* Indices (gsize) of the ranked plans that no other one betters in these two figures, by the first.
 * Caller unrefs. */
GArray *search_plot_front(const SearchReport *report, Figure x, Figure y);

#endif
