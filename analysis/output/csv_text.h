/* Cells of CSV as this program writes it (RFC 4180), appended to a line that is being made. */
#ifndef ANALYSIS_CSV_TEXT_H
#define ANALYSIS_CSV_TEXT_H

#include <glib.h>

/* In quotes where they are needed. */
void csv_text_cell(GString *out, const char *text);
/* The shortest decimals that read back to the same double; nothing where it is not finite. */
void csv_text_number(GString *out, double value);

#endif
