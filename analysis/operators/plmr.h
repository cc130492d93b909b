/* Which products and sums over a mesh comply with a PLMR device (WaferLLM figures 6 and 8), from
 * what simulations of them count: each is run on N × N cores and on a larger grid (products: twice
 * the side, sums: four times), with tiles of one size and nothing being refused, and how a count
 * grows with N is read off the two. */
#ifndef ANALYSIS_PLMR_H
#define ANALYSIS_PLMR_H

#include "platforms/platform.h"

typedef struct PlmrTable PlmrTable;
/* Runs the simulations. INPUT_ERROR when the platform is no wafer or N is out of range. */
PlmrTable *plmr_table_new(const Platform *platform, guint n, GError **error);
void plmr_table_free(PlmrTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlmrTable, plmr_table_free)

/* Callers free. */
char *plmr_table_text(const PlmrTable *table);
char *plmr_table_json(const PlmrTable *table);

/* "O(1)", "O(sqrt N)", "O(N)" or "O(N^1.5)" of a count 'near' on N and 'far' on so many times N;
 * "none" where both are 0. Caller frees. */
char *plmr_growth(double near, double far, guint times);

#endif
