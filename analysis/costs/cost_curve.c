#include "analysis/costs/cost_curve.h"

#include <math.h>

#define TOLERANCE 0.002

typedef struct Curve {
    const GArray *x;
    const double *y;
    gboolean *kept;
} Curve;

static guint32 x_at(const GArray *x, guint index) {
    return g_array_index(x, guint32, index);
}

/* The point between two kept ones that strays farthest from their line, or 'low'. */
static guint farthest(const Curve *curve, guint low, guint high) {
    double x0 = x_at(curve->x, low), x1 = x_at(curve->x, high);
    double slope = (curve->y[high] - curve->y[low]) / (x1 - x0);
    double worst = TOLERANCE;
    guint found = low;

    for (guint i = low + 1; i < high; i++) {
        double line = curve->y[low] + slope * (x_at(curve->x, i) - x0);
        double strays = fabs(line - curve->y[i]) / curve->y[i];
        if (strays > worst) {
            worst = strays;
            found = i;
        }
    }
    return found;
}

/* Keeps both ends and what strays between them (Douglas & Peucker 1973). */
static void keep_between(const Curve *curve, guint low, guint high) {
    curve->kept[low] = curve->kept[high] = TRUE;
    guint middle = low < high ? farthest(curve, low, high) : low;
    if (middle == low)
        return;
    keep_between(curve, low, middle);
    keep_between(curve, middle, high);
}

void cost_curve_mark(const GArray *x, CostEstimate estimate, gconstpointer data, gboolean *kept) {
    g_autofree double *y = g_new(double, x->len);

    for (guint i = 0; i < x->len; i++)
        y[i] = estimate(data, x_at(x, i));
    if (x->len > 0)
        keep_between(&(Curve){x, y, kept}, 0, x->len - 1);
}

void cost_curve_keep(GArray *x, const gboolean *kept) {
    guint n = 0;

    for (guint i = 0; i < x->len; i++)
        if (kept[i])
            g_array_index(x, guint32, n++) = x_at(x, i);
    g_array_set_size(x, n);
}

void cost_curve_thin(GArray *x, CostEstimate estimate, gconstpointer data) {
    g_autofree gboolean *kept = g_new0(gboolean, x->len);

    cost_curve_mark(x, estimate, data, kept);
    cost_curve_keep(x, kept);
}

void cost_curve_add(GArray *x, CostRange range, guint64 value) {
    guint32 kept = (guint32)value;

    if (value >= range.from && value <= range.to)
        g_array_append_val(x, kept);
}

void cost_curve_add_run(GArray *x, CostRange range, guint64 start, guint64 n) {
    for (guint64 i = 1; i <= n; i++)
        cost_curve_add(x, range, start + i);
}

GArray *cost_curve_new(CostRange range) {
    GArray *x = g_array_new(FALSE, FALSE, sizeof(guint32));

    cost_curve_add(x, range, range.from);
    cost_curve_add(x, range, range.to);
    return x;
}

static gint by_value(gconstpointer a, gconstpointer b) {
    guint32 first = *(const guint32 *)a, second = *(const guint32 *)b;

    return (first > second) - (first < second);
}

void cost_curve_sort(GArray *x) {
    guint n = 0;

    g_array_sort(x, by_value);
    for (guint i = 0; i < x->len; i++)
        if (n == 0 || x_at(x, i) != x_at(x, n - 1))
            g_array_index(x, guint32, n++) = x_at(x, i);
    g_array_set_size(x, n);
}
