/* Numbers as text, fast and independent of the locale: what the CSV and JSON files are made of.
 * Every function writes at 'out' (NUMBER_TEXT_MAX bytes of room), adds no NUL, and returns the
 * place behind the last character. */
#ifndef ANALYSIS_NUMBER_TEXT_H
#define ANALYSIS_NUMBER_TEXT_H

#include <glib.h>

#define NUMBER_TEXT_MAX 40

char *number_text_count(char *out, guint64 value);

/* Seconds with nine decimals, correctly rounded from the double's exact value (ties to even, as
 * printf does). Finite, and below 1e18 in magnitude. */
char *number_text_seconds(char *out, double seconds);

/* The nearest number of 1/1024 microseconds. Readers of traces add dates and durations as doubles
 * of microseconds; of these, sums and differences are exact for a hundred days. */
gint64 number_ticks(gint64 nanoseconds);
/* Such ticks as microseconds, exactly, with at least three decimals: "1234.5673828125". */
char *number_text_micros(char *out, gint64 ticks);

/* The shortest decimal that reads back as the same double, as JSON has it; "null" for NaN and
 * infinity, which JSON does not know. */
char *number_text_shortest(char *out, double value);

/* Seconds rounded to whole nanoseconds, the same way as number_text_seconds. Below 9e9 seconds. */
gint64 number_nanoseconds(double seconds);

#endif
