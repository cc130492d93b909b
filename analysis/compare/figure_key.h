/* What the name of a figure in summary.json tells of it: keys carry their units, so that figures
 * which are added there can be compared without being named here. Only which way is better has to
 * be known. Keys are whole: "whole.ttft.p99_s". */
#ifndef ANALYSIS_FIGURE_KEY_H
#define ANALYSIS_FIGURE_KEY_H

#include "analysis/run/summary_rows.h"

typedef enum { DIRECTION_NONE, DIRECTION_LARGER, DIRECTION_SMALLER } FigureDirection;

/* How its values are shown; FORM_NONE: a plain number, or anything that is no number. */
CellForm figure_key_form(const char *key);
/* Static text for FORM_REAL ("tokens/s"), else NULL. */
const char *figure_key_unit(const char *key);
/* Which values are better, as objectives and targets have it (analysis/run/outcome.h) where they
 * know the figure; DIRECTION_NONE: neither. */
FigureDirection figure_key_direction(const char *key);
/* It is compared elsewhere: a setting, with the experiment; energy, in joules. */
gboolean figure_key_is_repeated(const char *key);
/* "TTFT p99", without the section that it stands in, and the section's title, "Whole run". Callers
 * free. */
char *figure_key_label(const char *key);
char *figure_key_title(const char *key);
gboolean figure_key_same_section(const char *key, const char *other);

#endif
