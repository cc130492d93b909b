/* Private to cost_fill: tables of operator costs from the cache, or from children that simulate
 * them. */
#ifndef ANALYSIS_COST_TABLES_H
#define ANALYSIS_COST_TABLES_H

#include "analysis/costs/cost_fill.h"

/* Adds the tables of 'keys' (OpCostKey), in their order. */
gboolean cost_tables_get(const GArray *keys, const CostFillInput *input, OpCosts *costs,
                         GError **error);

#endif
