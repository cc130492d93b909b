/* The values of a trace row as text: token counts, seconds, wall-clock dates. Each returns FALSE
 * where the text is not entirely such a value; 'text' is NUL-terminated and 'length' bytes long
 * (a NUL within is then refused). */
#ifndef WORKLOADS_TRACES_TRACE_VALUES_H
#define WORKLOADS_TRACES_TRACE_VALUES_H

#include <glib.h>

#define TRACE_MAX_TOKENS 2147483647u /* 2^31 − 1 */
#define TRACE_MAX_SECONDS 1e12       /* 31,700 years: beyond it a date is a mistake */
#define TICKS_PER_S 10000000         /* 100 ns: the seven decimals of the Azure traces */

/* Digits alone, at most 'max'. */
gboolean trace_value_count(const char *text, gsize length, guint64 max, guint64 *value);

/* A number ≥ 0 such as "4.314579" or "1e3", correctly rounded; no sign, NaN, infinity or hex. */
gboolean trace_value_decimal(const char *text, gsize length, double *value);

/* "2023-11-16 18:15:46.6805900", also with a T, with no to seven decimals, and with Z or an offset
 * such as +00:00 at the end: exact, in ticks of 100 ns since year 1. */
gboolean trace_value_timestamp(const char *text, gsize length, gint64 *ticks);

#endif
