/* Private to cost_points: tables of attention, of one new token and of prompts. */
#ifndef ANALYSIS_COST_ATTENTION_H
#define ANALYSIS_COST_ATTENTION_H

#include "actors/cluster/cluster.h"
#include "platforms/op_costs.h"

/* Called from an actor. FALSE and an error when an operator does not fit. */
gboolean cost_attention_fill(OpCostTable *table, Cluster *cluster, GError **error);

/* See cost_points_tables. */
gboolean cost_attention_tables(const OpCostKey *key, guint64 most, const Platform *platform,
                               GArray *keys, GError **error);

#endif
