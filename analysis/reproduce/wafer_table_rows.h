/* How each published table's figures are simulated; only for wafer_reproduction.c. */
#ifndef ANALYSIS_WAFER_TABLE_ROWS_H
#define ANALYSIS_WAFER_TABLE_ROWS_H

#include "analysis/costs/wafer_cost.h"
#include "analysis/reproduce/reference_table.h"
#include "analysis/reproduce/wafer_reproduction.h"

typedef struct WaferTableBuilder {
    WaferTable table;
    const Platform *platform;
    const ReferenceTable *reference;
    WaferCosts *costs;
    GPtrArray *models; /* Model *, as they were asked for */
    gboolean listing;  /* costs are wanted, not asked: simulated figures mean nothing yet */
    GArray *rows;      /* WaferRow */
    GError *error;     /* the first one */
} WaferTableBuilder;

/* Adds what line 'line' of the reference says. Sets builder->error where that cannot be. */
void wafer_table_add(WaferTableBuilder *builder, guint line);

#endif
