#include "analysis/compare/latency_spread.h"

#include "analysis/output/double_order.h"
#include <math.h>

#define STEPS_MAX 800 /* of a curve; more would not be seen */
#define WIDE 30       /* a logarithmic axis from this ratio of the largest to a small value, */
#define LONG_TAIL 5   /* or to what 95 % do not exceed */

static GArray *values_of(const GArray *requests, guint kind) {
    GArray *values = g_array_new(FALSE, FALSE, sizeof(double));

    for (guint i = 0; i < requests->len; i++) {
        const ServedRow *row = &g_array_index(requests, ServedRow, i);
        if (row->completed && !isnan(row->latencies_s[kind]))
            g_array_append_val(values, row->latencies_s[kind]);
    }
    g_array_sort(values, double_order);
    return values;
}

/* To the largest value; linear from 0, or from a little before the least value where all are far
 * from 0; logarithmic from about the smallest 2nd percentile where that would be too wide. */
static void find_range(LatencySpread *spread) {
    double small = INFINITY, high = 0, most = -INFINITY, least = INFINITY;

    for (guint i = 0; i < spread->n; i++) {
        const GArray *values = spread->values[i];
        if (values->len == 0)
            continue;
        least = MIN(least, g_array_index(values, double, 0));
        small = MIN(small, g_array_index(values, double, values->len / 50));
        high = MAX(high, g_array_index(values, double, (guint)(0.95 * (values->len - 1))));
        most = MAX(most, g_array_index(values, double, values->len - 1));
    }
    spread->logarithmic = least > 0 && (most > WIDE * small || most > LONG_TAIL * high);
    if (!isfinite(most)) {
        spread->least = spread->most = NAN;
        return;
    }
    spread->most = most;
    spread->least = spread->logarithmic ? MAX(least, 0.9 * small)
                    : 4 * least > most  ? MAX(0, least - 0.1 * (most - least))
                                        : 0;
}

LatencySpread *latency_spread_new(const Comparison *comparison, guint kind) {
    LatencySpread *spread = g_new0(LatencySpread, 1);

    *spread = (LatencySpread){.values = g_new(GArray *, comparison->n), .n = comparison->n};
    for (guint i = 0; i < spread->n; i++)
        spread->values[i] = values_of(comparison->folders[i]->requests, kind);
    find_range(spread);
    return spread;
}

void latency_spread_free(LatencySpread *spread) {
    if (spread == NULL)
        return;
    for (guint i = 0; i < spread->n; i++)
        g_array_unref(spread->values[i]);
    g_free(spread->values);
    g_free(spread);
}

static void put_point(GArray *curve, const GArray *ascending, guint rank, double share) {
    CurvePoint point = {g_array_index(ascending, double, rank), share};

    g_array_append_val(curve, point);
}

GArray *latency_curve(const GArray *ascending) {
    GArray *curve = g_array_new(FALSE, FALSE, sizeof(CurvePoint));
    guint steps = MIN(ascending->len, STEPS_MAX);

    if (steps > 0)
        put_point(curve, ascending, 0, 0);
    for (guint step = 0; step < steps; step++) {
        guint rank = (guint)((guint64)(step + 1) * ascending->len / steps) - 1;
        put_point(curve, ascending, rank, (rank + 1.0) / ascending->len);
    }
    return curve;
}
