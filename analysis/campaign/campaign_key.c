#include "analysis/campaign/campaign_key.h"

#include "actors/simulation.h"
#include "analysis/run/outcome.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEY_DIGITS 32
#define SHARD_DIGITS 8

struct CampaignKeys {
    const Experiment *base;
    const char *identity, *path;
    const char *const *overrides;
    GHashTable *meanings; /* an override → what it says, both owned: few are ever different */
};

/* Of the file's bytes. NULL and an error when it cannot be read. Caller frees. */
static char *file_digest(const char *path, GError **error) {
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    FILE *file = fopen(path, "rb");
    guint8 buffer[65536];
    gsize n;

    while (file != NULL && (n = fread(buffer, 1, sizeof buffer, file)) > 0)
        g_checksum_update(checksum, buffer, (gssize)n);
    gboolean failed = file == NULL || ferror(file);
    int code = errno;
    if (file != NULL)
        fclose(file);
    if (!failed)
        return g_strdup(g_checksum_get_string(checksum));
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s: cannot read: %s", path,
                g_strerror(code));
    return NULL;
}

/* The resolved experiment with its trace's bytes in place of the trace's path. Caller frees. */
static char *meaning_of(const Experiment *experiment, GError **error) {
    const char *trace = workload_trace_path(experiment->workload);
    g_autofree char *text = experiment_write_run(experiment);
    g_autofree char *digest = trace == NULL ? NULL : file_digest(trace, error);

    if (trace == NULL)
        return g_steal_pointer(&text);
    if (digest == NULL)
        return NULL;
    g_auto(GStrv) around = g_strsplit(text, trace, -1);
    return g_strjoinv(digest, around);
}

char *campaign_identity(const Experiment *base, GError **error) {
    g_autofree char *meaning = meaning_of(base, error);
    g_autofree char *engine = simulation_engine_version();

    if (meaning == NULL)
        return NULL;
    g_autofree char *all = g_strdup_printf("infergrid %s\nSimGrid %s\nfigures %d\n%s",
                                           INFERGRID_VERSION, engine, N_FIGURES, meaning);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, all, -1);
}

CampaignKeys *campaign_keys_new(const Experiment *base, const char *identity, const char *path,
                                const char *const *overrides) {
    CampaignKeys *keys = g_new(CampaignKeys, 1);

    *keys =
        (CampaignKeys){.base = base, .identity = identity, .path = path, .overrides = overrides};
    keys->meanings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return keys;
}

void campaign_keys_free(CampaignKeys *keys) {
    if (keys == NULL)
        return;
    g_hash_table_unref(keys->meanings);
    g_free(keys);
}

/* The kind of the file that an override's value names; NULL when it is no name of a file. */
static const char *kind_of_file(const char *override, const char *value) {
    static const struct {
        const char *path, *kind;
    } files[] = {{"platform=", "platforms"},
                 {"platform.base=", "platforms"},
                 {"model=", "models"},
                 {"model.base=", "models"},
                 {"workload.trace=", "traces"},
                 {"workload=", "experiments"},
                 {"workload.base=", "experiments"},
                 {"policy=", "experiments"},
                 {"policy.base=", "experiments"},
                 {"slo=", "experiments"},
                 {"output=", "experiments"}};

    for (guint i = 0; i < G_N_ELEMENTS(files); i++)
        if (strlen(files[i].path) == (gsize)(value - override) &&
            g_str_has_prefix(override, files[i].path))
            return files[i].kind;
    return NULL;
}

/* The campaign's overrides and one more. NULL-terminated; caller frees the array only. */
static const char **with_override(const CampaignKeys *keys, const char *override) {
    GPtrArray *all = g_ptr_array_new();

    for (guint i = 0; keys->overrides != NULL && keys->overrides[i] != NULL; i++)
        g_ptr_array_add(all, (gpointer)keys->overrides[i]);
    g_ptr_array_add(all, (gpointer) override);
    g_ptr_array_add(all, NULL);
    return (const char **)g_ptr_array_free(all, FALSE);
}

/* What the file says where the experiment stands by itself with it, through all files that it
 * names; else the bytes of the file, if it is found. */
static char *meaning_of_file(const CampaignKeys *keys, const char *override, const char *name,
                             const char *kind) {
    g_autofree const char **overrides = with_override(keys, override);
    g_autoptr(Experiment) experiment =
        experiment_load_beside(keys->base, keys->path, overrides, NULL);
    char *meaning = experiment == NULL ? NULL : meaning_of(experiment, NULL);

    if (meaning != NULL)
        return meaning;
    g_autofree char *found = data_file_find(name, NULL, kind);
    char *digest = found == NULL ? NULL : file_digest(found, NULL);
    return digest == NULL ? g_strdup("") : digest;
}

/* Borrowed. */
static const char *meaning_of_override(CampaignKeys *keys, const char *override) {
    const char *known = g_hash_table_lookup(keys->meanings, override);

    if (known != NULL)
        return known;
    const char *equals = strchr(override, '=');
    const char *value = equals == NULL ? override : equals + 1;
    const char *kind = kind_of_file(override, value);
    char *meaning = kind == NULL ? g_strdup("") : meaning_of_file(keys, override, value, kind);
    g_hash_table_insert(keys->meanings, g_strdup(override), meaning);
    return meaning;
}

static void checksum_add(GChecksum *checksum, const char *text) {
    g_checksum_update(checksum, (const guchar *)text, (gssize)strlen(text) + 1);
}

char *campaign_key(CampaignKeys *keys, const char *const *overrides) {
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);

    checksum_add(checksum, keys->identity);
    for (guint i = 0; overrides != NULL && overrides[i] != NULL; i++) {
        checksum_add(checksum, overrides[i]);
        checksum_add(checksum, meaning_of_override(keys, overrides[i]));
    }
    return g_strndup(g_checksum_get_string(checksum), KEY_DIGITS);
}

char *campaign_key_watched(const char *key, const char *watch) {
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);

    checksum_add(checksum, key);
    checksum_add(checksum, watch);
    return g_strndup(g_checksum_get_string(checksum), KEY_DIGITS);
}

guint campaign_key_shard(const char *key, guint shards) {
    g_autofree char *digits = g_strndup(key, SHARD_DIGITS);

    return (guint)(g_ascii_strtoull(digits, NULL, 16) % shards);
}
