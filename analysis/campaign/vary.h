/* What a sweep varies, from the command line: keys of the experiment, each with the values that it
 * takes, and the product of them all. */
#ifndef ANALYSIS_VARY_H
#define ANALYSIS_VARY_H

#include "analysis/campaign/campaign.h"

#define VARY_RUNS_MAX 100000

typedef struct VaryKey {
    char *key;     /* "policy.decode.tp" */
    char **values; /* at least one, all different; "4", "100 ms" */
} VaryKey;

/* Reads texts "KEY=A,B,C" or "KEY=FROM:TO:STEP" (NULL-terminated; numbers, or quantities that all
 * have the same unit; TO is included where STEP meets it). An array of VaryKey in their order,
 * which frees them; NULL and an INPUT_ERROR when there is none, for an empty list or range, a key
 * or value that stands twice, and products of more than VARY_RUNS_MAX. */
GPtrArray *vary_parse(const char *const *texts, GError **error);

/* Loads the base with each value by itself (of long lists the first hundred), or else beside the
 * first or the last values of the other keys. FALSE and the experiment's error where none of these
 * exists, as for an unknown key; a value that only does not go together with the rest is no error.
 */
gboolean vary_check(const GPtrArray *keys, const CampaignSetup *setup, const Experiment *base,
                    GError **error);

gsize vary_runs(const GPtrArray *keys);
/* The value of a key in a run of the product; the last key changes fastest. Borrowed. */
const char *vary_value(const GPtrArray *keys, gsize run, guint key);
/* The overrides "KEY=VALUE" of a run, by the order of keys. Caller frees. */
char **vary_overrides(const GPtrArray *keys, gsize run);

/* The index of the key that 'word' names, in full or by its end after a dot ("decode.tp"); −1 when
 * there is none, −2 when there are several. */
int vary_find(const GPtrArray *keys, const char *word);

#endif
