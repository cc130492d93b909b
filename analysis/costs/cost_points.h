/* The points of a table of operator costs: which ones make its times linear in between, and what
 * they take, simulated. The choice follows from what the operators' schedules add up to without an
 * engine; the times do not. */
#ifndef ANALYSIS_COST_POINTS_H
#define ANALYSIS_COST_POINTS_H

#include "platforms/op_costs.h"

/* Appends the tables (OpCostKey) that cover an operator up to 'most' rows (LINEAR) or contexts. A
 * table is the same whatever 'most' asked for it. FALSE and an error when attention over so many
 * tokens fits no memory. */
gboolean cost_points_tables(const OpCostKey *key, guint64 most, const Platform *platform,
                            GArray *keys, GError **error);

/* What the schedule of the table's largest operator adds up to, in seconds: files whose times are
 * of another schedule are told by it. */
double cost_points_mark(const OpCostKey *key, const Platform *platform);

/* Fills a table; starts the engine, so once a process. NULL and an error when an operator does not
 * fit the memories. */
OpCostTable *cost_points_simulate(const OpCostKey *key, const Platform *platform, GError **error);

#endif
