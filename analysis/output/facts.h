/* Figures as one list that is printed three ways: a table for people, JSON, and a row of CSV. Keys
 * carry their units and are the same in JSON and CSV. */
#ifndef ANALYSIS_FACTS_H
#define ANALYSIS_FACTS_H

#include "workloads/units.h"

typedef struct Facts Facts;
Facts *facts_new(void);
void facts_free(Facts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Facts, facts_free)

/* Begins a group: a heading of the table (NULL: none) and an object of the JSON (NULL: the
 * outermost one). Texts are copied, here and below. */
void facts_group(Facts *facts, const char *key, const char *title);

/* A figure. 'label' NULL: it does not stand in the table; 'key' NULL: in the table alone. Keys are
 * unique in the whole list. */
void facts_text(Facts *facts, const char *key, const char *label, const char *text);
void facts_count(Facts *facts, const char *key, const char *label, guint64 count);
/* In SI; not finite: null, an empty cell, or "-". */
void facts_quantity(Facts *facts, const char *key, const char *label, double value,
                    Dimension dimension);
void facts_share(Facts *facts, const char *key, const char *label, double share); /* as percent */
/* With its own text in the table. */
void facts_number(Facts *facts, const char *key, const char *label, double value, const char *text);
/* A line of the table alone. */
void facts_note(Facts *facts, const char *label, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Callers free. */
char *facts_table(const Facts *facts);
char *facts_json(const Facts *facts);
char *facts_csv_header(const Facts *facts); /* with the newline */
char *facts_csv_row(const Facts *facts);

#endif
