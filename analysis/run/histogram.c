#include "analysis/run/histogram.h"

#include "analysis/output/double_order.h"
#include <math.h>
#include <stdlib.h>

/* Buckets [LOW · RATIO^i, LOW · RATIO^(i+1)): the geometric middle of one is within 0.05 % of
 * every value in it. Values below LOW count as zero, values above HIGH as the last bucket. */
#define RATIO 1.001
#define LOW 1e-9
#define HIGH 1e9

struct Histogram {
    guint64 count;
    double sum, lost; /* Neumaier's compensated sum */
    double min, max;
    double *values; /* exact range; NULL afterwards */
    gsize room;
    gboolean sorted;
    guint64 zeros; /* beyond it */
    guint64 *buckets;
    gsize n_buckets;
};

Histogram *histogram_new(void) {
    Histogram *histogram = g_new0(Histogram, 1);
    histogram->min = INFINITY;
    histogram->max = -INFINITY;
    return histogram;
}

void histogram_free(Histogram *histogram) {
    if (histogram == NULL)
        return;
    g_free(histogram->values);
    g_free(histogram->buckets);
    g_free(histogram);
}

static void bucket_add(Histogram *histogram, double value) {
    if (value < LOW) {
        histogram->zeros++;
        return;
    }
    gsize bucket = (gsize)(log(value / LOW) / log(RATIO));
    histogram->buckets[MIN(bucket, histogram->n_buckets - 1)]++;
}

static void turn_to_buckets(Histogram *histogram) {
    histogram->n_buckets = (gsize)ceil(log(HIGH / LOW) / log(RATIO));
    histogram->buckets = g_new0(guint64, histogram->n_buckets);
    for (guint64 i = 0; i < histogram->count; i++)
        bucket_add(histogram, histogram->values[i]);
    g_clear_pointer(&histogram->values, g_free);
}

static void sum_add(Histogram *histogram, double value) {
    double sum = histogram->sum + value;
    if (fabs(histogram->sum) >= fabs(value))
        histogram->lost += (histogram->sum - sum) + value;
    else
        histogram->lost += (value - sum) + histogram->sum;
    histogram->sum = sum;
}

static void exact_add(Histogram *histogram, double value) {
    if (histogram->count == histogram->room) {
        histogram->room = MIN(MAX(2 * histogram->room, 64), HISTOGRAM_EXACT_VALUES);
        histogram->values = g_renew(double, histogram->values, histogram->room);
    }
    histogram->values[histogram->count] = value;
    histogram->sorted = FALSE;
}

void histogram_add(Histogram *histogram, double value) {
    g_assert(value >= 0 && isfinite(value));
    if (histogram->count == HISTOGRAM_EXACT_VALUES)
        turn_to_buckets(histogram);
    if (histogram->count < HISTOGRAM_EXACT_VALUES)
        exact_add(histogram, value);
    else
        bucket_add(histogram, value);
    histogram->count++;
    sum_add(histogram, value);
    histogram->min = MIN(histogram->min, value);
    histogram->max = MAX(histogram->max, value);
}

guint64 histogram_count(const Histogram *histogram) {
    return histogram->count;
}

double histogram_mean(const Histogram *histogram) {
    if (histogram->count == 0)
        return 0;
    return (histogram->sum + histogram->lost) / (double)histogram->count;
}

double histogram_min(const Histogram *histogram) {
    return histogram->count > 0 ? histogram->min : 0;
}

double histogram_max(const Histogram *histogram) {
    return histogram->count > 0 ? histogram->max : 0;
}

/* The middle of the bucket that holds the value of 'rank' (from 0) in ascending order. */
static double bucket_value(const Histogram *histogram, guint64 rank) {
    if (rank == 0)
        return histogram->min;
    if (rank >= histogram->count - 1)
        return histogram->max;
    if (rank < histogram->zeros)
        return CLAMP(0, histogram->min, histogram->max);
    guint64 below = histogram->zeros;
    gsize bucket = 0;
    while (below + histogram->buckets[bucket] <= rank)
        below += histogram->buckets[bucket++];
    double middle = LOW * exp(((double)bucket + 0.5) * log(RATIO));
    return CLAMP(middle, histogram->min, histogram->max);
}

static double ranked_value(const Histogram *histogram, guint64 rank) {
    return histogram->values != NULL ? histogram->values[rank] : bucket_value(histogram, rank);
}

static void sort_values(Histogram *histogram) {
    if (histogram->values == NULL || histogram->sorted)
        return;
    qsort(histogram->values, histogram->count, sizeof(double), double_order);
    histogram->sorted = TRUE;
}

double histogram_quantile(Histogram *histogram, double q) {
    if (histogram->count == 0)
        return 0;
    sort_values(histogram);
    double place = CLAMP(q, 0, 1) * (double)(histogram->count - 1);
    guint64 rank = (guint64)place;
    double low = ranked_value(histogram, rank);
    double share = place - (double)rank;
    if (share <= 0)
        return low;
    return low + share * (ranked_value(histogram, rank + 1) - low);
}

guint64 histogram_count_up_to(Histogram *histogram, double value) {
    if (histogram->count == 0 || value < histogram->min)
        return 0;
    if (value >= histogram->max)
        return histogram->count;
    sort_values(histogram);
    guint64 low = 0, high = histogram->count;
    while (low < high) {
        guint64 middle = low + (high - low) / 2;
        if (ranked_value(histogram, middle) <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
