#include "platforms/wafer_times.h"

#include <math.h>

#define PICOSECOND 1e-12

typedef struct Point {
    guint32 tokens;
    double seconds;
} Point;

struct WaferTimes {
    GArray *phases[N_WAFER_PHASES]; /* Point, by tokens */
    guint32 concat_rows;            /* 0: new tokens are spread evenly */
};

WaferTimes *wafer_times_new(void) {
    WaferTimes *times = g_new0(WaferTimes, 1);

    for (WaferPhase phase = 0; phase < N_WAFER_PHASES; phase++)
        times->phases[phase] = g_array_new(FALSE, FALSE, sizeof(Point));
    return times;
}

void wafer_times_free(WaferTimes *times) {
    if (times == NULL)
        return;
    for (WaferPhase phase = 0; phase < N_WAFER_PHASES; phase++)
        g_array_unref(times->phases[phase]);
    g_free(times);
}

void wafer_times_add(WaferTimes *times, WaferPhase phase, guint32 tokens, double seconds) {
    GArray *points = times->phases[phase];
    Point point = {.tokens = tokens, .seconds = round(seconds / PICOSECOND) * PICOSECOND};

    g_assert(points->len == 0 || g_array_index(points, Point, points->len - 1).tokens < tokens);
    g_array_append_val(points, point);
}

guint wafer_times_points(const WaferTimes *times, WaferPhase phase) {
    return times->phases[phase]->len;
}

/* The first point that is not before 'tokens'. */
static guint find(const GArray *points, guint32 tokens) {
    guint low = 0, high = points->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(points, Point, middle).tokens < tokens)
            low = middle + 1;
        else
            high = middle;
    }
    g_assert(low < points->len);
    return low;
}

double wafer_times_seconds(const WaferTimes *times, WaferPhase phase, guint32 tokens) {
    const GArray *points = times->phases[phase];
    guint index = find(points, tokens);
    const Point *after = &g_array_index(points, Point, index);

    if (after->tokens == tokens)
        return after->seconds;
    g_assert(index > 0);
    const Point *before = after - 1;
    double share = (double)(tokens - before->tokens) / (double)(after->tokens - before->tokens);
    return before->seconds + share * (after->seconds - before->seconds);
}

void wafer_times_concat(WaferTimes *times, guint32 rows) {
    times->concat_rows = rows;
}

/* Of a prompt the upper rows have one token more (kv_ledger.h). */
guint32 wafer_times_decode_key(const WaferTimes *times, guint32 prompt, guint32 context) {
    g_assert(context > prompt);
    return times->concat_rows == 0 ? context : prompt / times->concat_rows + (context - prompt);
}

/* The slowest row is the fullest: as if all were. */
double wafer_times_decode_seconds(const WaferTimes *times, guint32 key) {
    return wafer_times_seconds(times, WAFER_DECODE,
                               times->concat_rows == 0 ? key : key * times->concat_rows);
}
