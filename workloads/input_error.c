#include "workloads/input_error.h"

#include <string.h>

#define NEAR_MISS_MAX_DISTANCE 2

GQuark input_error_quark(void) {
    return g_quark_from_static_string("infergrid-input-error-quark");
}

/* Whether 'a' becomes 'b' by at most 'edits' insertions, deletions, substitutions and swaps of
 * neighbours. Equal beginnings never need an edit. */
static gboolean within_edits(const char *a, const char *b, guint edits) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b)
        return TRUE;
    if (edits == 0)
        return FALSE;
    gboolean both = *a != '\0' && *b != '\0';
    gboolean swapped = both && a[0] == b[1] && a[1] == b[0];
    return (both && within_edits(a + 1, b + 1, edits - 1)) ||
           (*a != '\0' && within_edits(a + 1, b, edits - 1)) ||
           (*b != '\0' && within_edits(a, b + 1, edits - 1)) ||
           (swapped && within_edits(a + 2, b + 2, edits - 1));
}

const char *near_miss(const char *word, const char *const *candidates, gsize n_candidates) {
    gsize length = strlen(word);
    for (guint edits = 0; edits <= NEAR_MISS_MAX_DISTANCE && edits < length; edits++)
        for (gsize i = 0; i < n_candidates; i++)
            if (within_edits(word, candidates[i], edits))
                return candidates[i];
    return NULL;
}

char *near_miss_hint(const char *word, const char *const *candidates, gsize n_candidates) {
    const char *nearest = near_miss(word, candidates, n_candidates);
    return nearest == NULL ? g_strdup("") : g_strdup_printf(" (did you mean '%s'?)", nearest);
}
