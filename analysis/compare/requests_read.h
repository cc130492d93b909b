/* requests.csv read back: what each request asked for and what it got. */
#ifndef ANALYSIS_REQUESTS_READ_H
#define ANALYSIS_REQUESTS_READ_H

#include <glib.h>

/* Those of LatencyKind that users feel: TTFT, TPOT and E2E, its first ones. */
#define N_SERVED_LATENCIES 3

typedef struct ServedRow {
    guint64 id;
    guint64 prompt_tokens, output_tokens;
    double arrival_s;
    gboolean completed;
    double latencies_s[N_SERVED_LATENCIES]; /* NaN: it has none */
    guint64 line;                           /* of the file */
} ServedRow;

/* Rows by id, ServedRow; caller frees. Columns are found by their names. Wrong values, ids that
 * stand twice and rows that are cut off are an INPUT_ERROR at their place; NULL then. */
GArray *requests_read(const char *path, GError **error);

#endif
