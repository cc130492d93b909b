/* The cells of a table that are serving experiments, simulated as serving_spec.h says. */
#ifndef ANALYSIS_SERVING_TABLE_H
#define ANALYSIS_SERVING_TABLE_H

#include "analysis/reproduce/reproduction_tables.h"

/* Adds the cells of the spec 'name', simulated in processes of their own. A plan that memory does
 * not suffice for is an outcome; any other refusal is an INPUT_ERROR at the spec's place. */
gboolean serving_table_build(const char *name, TableBuild *build, GError **error);
/* Adds to 'machines' (Platform *, owned) those of the spec's experiments that are not among them.
 */
gboolean serving_table_machines(const char *name, const ReferenceTable *reference,
                                GPtrArray *machines, GError **error);

#endif
