/* A table of published figures: a CSV of analysis/reference, whose comment lines ('#') say where it
 * is from, and whose columns are asked for by name. */
#ifndef ANALYSIS_REFERENCE_TABLE_H
#define ANALYSIS_REFERENCE_TABLE_H

#include <glib.h>

typedef struct ReferenceTable ReferenceTable;

/* 'name' within the reference folder, "waferllm/table3_prefill.csv". INPUT_ERROR when it is not
 * there, has no row or has rows of another length than the header. */
ReferenceTable *reference_table_load(const char *name, GError **error);
void reference_table_free(ReferenceTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReferenceTable, reference_table_free)

guint reference_table_rows(const ReferenceTable *table);
/* The name of a column, from 0; NULL behind the last. Borrowed. */
const char *reference_table_column(const ReferenceTable *table, guint column);
/* NULL and INPUT_ERROR when there is no such column. Borrowed. */
const char *reference_table_text(const ReferenceTable *table, guint row, const char *column,
                                 GError **error);
/* A number of at least 0. */
gboolean reference_table_number(const ReferenceTable *table, guint row, const char *column,
                                double *value, GError **error);
/* Sets 'error' to "file:line:1: what"; returns FALSE. */
gboolean reference_table_error(const ReferenceTable *table, guint row, GError **error,
                               const char *what);

#endif
