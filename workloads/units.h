/* Quantities with units, both ways: "30 GB/s" to 3e10 and back. One table of units serves every
 * input file and option. Decimal prefixes k M G T P and binary Ki Mi Gi Ti are known where they
 * make sense; a quantity without its unit is an error, a bare number is right only for
 * DIMENSION_NONE and DIMENSION_COUNT. */
#ifndef WORKLOADS_UNITS_H
#define WORKLOADS_UNITS_H

#include <glib.h>

typedef enum {
    DIMENSION_NONE,           /* a plain number: a factor, a share ("0.9" or "90 %") */
    DIMENSION_COUNT,          /* a whole number */
    DIMENSION_SECONDS,        /* ns us ms s min h d */
    DIMENSION_BYTES,          /* B kB MB GB TB KiB MiB GiB TiB */
    DIMENSION_BYTES_PER_S,    /* B/s … TB/s, GiB/s, and bits: Mb/s Gb/s */
    DIMENSION_HERTZ,          /* Hz kHz MHz GHz; also "/s" and "/min" for request rates */
    DIMENSION_MACS_PER_S,     /* MAC/s … TMAC/s: multiply-accumulates */
    DIMENSION_FLOPS_PER_S,    /* FLOP/s … TFLOP/s */
    DIMENSION_WATTS,          /* mW W kW */
    DIMENSION_JOULES_PER_BYTE /* pJ/B nJ/B */
} Dimension;

/* Reads 'text' in 'dimension' into SI (seconds, bytes, bytes/s, Hz, W, …).
 * Returns NULL on success, otherwise what was expected, e.g. "a duration such as '2 ms'" (static
 * text). NaN, infinity and trailing text are refused; the sign and range are the caller's. */
const char *units_parse(const char *text, Dimension dimension, double *value);

/* The shortest text that units_parse reads back to the very same double, with the largest prefix
 * that keeps it exact ("30 GB/s", "84 us", "0.9"). Caller frees. */
char *units_format(double value, Dimension dimension);

/* For people: at most four significant digits and a fitting prefix ("1.234 GB"). Caller frees. */
char *units_format_brief(double value, Dimension dimension);

#endif
