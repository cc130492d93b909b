/* Reproductions as a table, as CSV and as JSON, with their errors and claims summed up. Callers
 * free the texts. */
#ifndef ANALYSIS_REPRODUCTION_TEXT_H
#define ANALYSIS_REPRODUCTION_TEXT_H

#include "analysis/output/json_text.h"
#include "analysis/reproduce/reproduction.h"

/* One table: a line a cell, what its marks mean, errors and claims. */
char *reproduction_table(const Reproduction *reproduction);
/* All tables in a line each, their papers, and both together. 'all': Reproduction *. */
char *reproduction_overall(const GPtrArray *all);
/* A line a cell, of all tables. */
char *reproduction_csv(const GPtrArray *all);
/* A line a claim. */
char *reproduction_claims_csv(const GPtrArray *all);
char *reproduction_json(const GPtrArray *all);
/* The members of an object that is open: how many cells, their median error and the worst. */
void reproduction_json_summary(JsonText *json, const ErrorSummary *summary);

#endif
