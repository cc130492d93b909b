/* Plans that differ in their slots alone. Where a simulation has not needed more slots than another
 * of them has, the other one is the same run, event by event: its figures are known. */
#include "analysis/search/search_private.h"

#include <string.h>

struct SearchTwins {
    guint *families; /* a candidate: equal for those that differ in slots alone */
    double *slots;   /* … */
    gsize n;
};

static gboolean is_slots(const char *setting) {
    return g_str_has_prefix(setting, "policy.decode.slots=") ||
           g_str_has_prefix(setting, "policy.colocated.slots=");
}

/* The settings without the slots, which are written to '*slots'. Caller frees. */
static char *family_of(const SearchPoint *point, double *slots) {
    GString *out = g_string_new(NULL);

    *slots = 0;
    for (char **setting = point->settings; *setting != NULL; setting++) {
        if (is_slots(*setting))
            *slots = g_ascii_strtod(strchr(*setting, '=') + 1, NULL);
        else
            g_string_append_printf(out, "%s\n", *setting);
    }
    return g_string_free(out, FALSE);
}

SearchTwins *search_twins_new(const SearchSetup *setup, const SearchResult *result) {
    /* Where a slot reserves the longest context, slots are a matter of memory too. */
    const Policy *policy = campaign_base(setup->campaign)->policy;
    gboolean alone = policy->kv_reservation == KV_RESERVE_MAX_CONTEXT;
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    SearchTwins *twins = g_new(SearchTwins, 1);

    *twins = (SearchTwins){g_new(guint, result->n), g_new(double, result->n), result->n};
    for (gsize i = 0; i < result->n; i++) {
        char *family = family_of(result->candidates[i].point, &twins->slots[i]);
        guint number = alone ? (guint)i + 1 : GPOINTER_TO_UINT(g_hash_table_lookup(known, family));
        twins->families[i] = number > 0 ? number : (guint)i + 1;
        g_hash_table_insert(known, family, GUINT_TO_POINTER(twins->families[i]));
    }
    return twins;
}

void search_twins_free(SearchTwins *twins) {
    if (twins == NULL)
        return;
    g_free(twins->families);
    g_free(twins->slots);
    g_free(twins);
}

int search_twins_order(const SearchTwins *twins, const SearchResult *result, gsize first,
                       gsize second) {
    double at_once_s = result->candidates[first].at_once_s;
    double other_s = result->candidates[second].at_once_s;

    if (at_once_s != other_s)
        return at_once_s < other_s ? -1 : 1;
    if (twins->families[first] != twins->families[second])
        return twins->families[first] < twins->families[second] ? -1 : 1;
    if (twins->slots[first] != twins->slots[second])
        return twins->slots[first] > twins->slots[second] ? -1 : 1;
    return first < second ? -1 : first > second;
}

gboolean search_twins_wait(const SearchTwins *twins, const SearchResult *result, gsize index) {
    for (gsize i = 0; i < twins->n; i++)
        if (i != index && twins->families[i] == twins->families[index] &&
            result->candidates[i].under_way)
            return TRUE;
    return FALSE;
}

/* The run is the same up to where the known one was cut, and bounds of more slots allow more. */
static void inherit_bounds(const SearchTwins *twins, SearchResult *result, gsize index,
                           Candidate *twin) {
    const Candidate *known = &result->candidates[index];

    if (twins->slots[twin - result->candidates] > twins->slots[index])
        return;
    search_bound_by(twin, known->outcome.figures);
}

void search_twins_fill(const SearchTwins *twins, SearchResult *result, gsize index) {
    const Candidate *known = &result->candidates[index];
    gboolean ended = known->fate == FATE_RANKED || known->fate == FATE_LIMIT;
    double needed = known->outcome.figures[FIGURE_SLOTS_NEEDED];

    /* NaN where there are no figures */
    if ((!ended && known->outcome.status != OUTCOME_CUT) || !(needed <= twins->slots[index]))
        return;
    for (gsize i = 0; i < twins->n; i++) {
        Candidate *twin = &result->candidates[i];
        if (i == index || twins->families[i] != twins->families[index] ||
            twins->slots[i] < needed || twin->fate != FATE_UNNEEDED || twin->under_way)
            continue;
        if (!ended) {
            inherit_bounds(twins, result, index, twin);
            continue;
        }
        memcpy(twin->outcome.figures, known->outcome.figures, sizeof twin->outcome.figures);
        twin->fate = known->fate;
        result->twins++;
    }
}
