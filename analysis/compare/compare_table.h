/* A comparison as text, for people and for programs. */
#ifndef ANALYSIS_COMPARE_TABLE_H
#define ANALYSIS_COMPARE_TABLE_H

#include "analysis/compare/comparison.h"

/* For people: what differs, figures with what is better and worse in words, paired requests. Of
 * two folders a line has the difference too; of more, a line has as many as fit into 100 columns,
 * and the table begins anew for those that follow. Figures that are 0 in all are counted, not
 * shown. Caller frees. */
char *compare_table(const Comparison *comparison);

/* All figures, those that are 0 too, differences and verdicts; caller frees. JSON as an object, CSV
 * as a row for each figure and folder. What does not exist is null, and an empty cell. */
char *compare_json(const Comparison *comparison);
char *compare_csv(const Comparison *comparison);

#endif
