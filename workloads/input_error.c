#include "workloads/input_error.h"

#include <string.h>

#define NEAR_MISS_MAX_DISTANCE 2

G_DEFINE_QUARK(input - error - quark, input_error)

static guint min3(guint a, guint b, guint c) {
    return MIN(MIN(a, b), c);
}

/* Insertions, deletions, substitutions and swaps of neighbours between two words, by rows: 'rows'
 * holds the last two rows and the one being filled, of b's length + 1 each. */
static guint edit_distance(const char *a, const char *b) {
    gsize width = strlen(b) + 1;
    g_autofree guint *rows = g_new(guint, 3 * width);
    guint *before_last = rows, *last = rows + width, *row = rows + 2 * width;
    for (gsize j = 0; j < width; j++)
        row[j] = (guint)j;
    for (gsize i = 1; a[i - 1] != '\0'; i++) {
        guint *oldest = before_last;
        before_last = last;
        last = row;
        row = oldest;
        row[0] = (guint)i;
        for (gsize j = 1; j < width; j++) {
            guint substitute = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min3(last[j] + 1, row[j - 1] + 1, substitute);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = MIN(row[j], before_last[j - 2] + 1);
        }
    }
    return row[width - 1];
}

const char *near_miss(const char *word, const char *const *candidates, gsize n_candidates) {
    const char *nearest = NULL;
    gsize length = strlen(word);
    gsize limit = MIN(NEAR_MISS_MAX_DISTANCE + 1, length);
    for (gsize i = 0; i < n_candidates; i++) {
        gsize other = strlen(candidates[i]);
        if (MAX(length, other) - MIN(length, other) >= limit)
            continue;
        guint distance = edit_distance(word, candidates[i]);
        if (distance < limit) {
            nearest = candidates[i];
            limit = distance;
        }
    }
    return nearest;
}

char *near_miss_hint(const char *word, const char *const *candidates, gsize n_candidates) {
    const char *nearest = near_miss(word, candidates, n_candidates);
    return nearest == NULL ? g_strdup("") : g_strdup_printf(" (did you mean '%s'?)", nearest);
}
