/* A CSV file with a header (RFC 4180, read with libcsv): rows whose fields are asked for by column
 * name. A row is one line; a quoted field may hold commas and quotes, but no line end. */
#ifndef WORKLOADS_TRACES_CSV_TABLE_H
#define WORKLOADS_TRACES_CSV_TABLE_H

#include "workloads/traces/line_reader.h"

#define CSV_TABLE_SLOTS 8 /* columns that one reader may bind */

typedef struct CsvTable CsvTable;

/* Reads the header from 'lines' (borrowed; must outlive the table). */
CsvTable *csv_table_new(LineReader *lines, GError **error);
void csv_table_free(CsvTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CsvTable, csv_table_free)

gboolean csv_table_has(const CsvTable *table, const char *column);
/* "'a', 'b', 'c'": the header, for messages. Caller frees. */
char *csv_table_columns(const CsvTable *table);

/* Lets 'slot' stand for 'column' in what follows. An absent or doubled column is an error. */
gboolean csv_table_bind(CsvTable *table, guint slot, const char *column, GError **error);

/* Goes to the next row. FALSE at the end, or on an error (then it is set): another number of
 * fields than the header's, a quote that is astray or not closed. */
gboolean csv_table_next(CsvTable *table, GError **error);

/* The field of a bound slot in the current row, without quotes and outer blanks; NUL-terminated. */
const GString *csv_table_field(const CsvTable *table, guint slot);

/* Sets 'error' at the field's place: "path:line:column: expected WHAT, found 'text'". FALSE. */
gboolean csv_table_field_error(const CsvTable *table, guint slot, const char *what, GError **error);
/* The byte of the current line where the slot's field begins. */
gsize csv_table_field_offset(const CsvTable *table, guint slot);

#endif
