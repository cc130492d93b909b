#include "analysis/run/numbers.h"

#include "analysis/run/wafer_numbers.h"
#include <unistd.h>

/* Of the machine's memory, what weights may take: KV, files and other programs need some too. */
#define WEIGHTS_SHARE 0.75

static double weights_limit_bytes(void) {
    return WEIGHTS_SHARE * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static gboolean refuse_idle_keys(const YamlNode *section, GError **error) {
    static const char *const keys[] = {"checkpoint", "top_k", "temperature"};
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        const YamlNode *node = section != NULL ? yaml_get(section, keys[i]) : NULL;
        if (node != NULL) {
            return yaml_error(node, INPUT_ERROR_CONFLICT, error, "'%s' needs 'numerics: true'",
                              keys[i]);
        }
    }
    return TRUE;
}

/* A cached prefix is only a count of tokens: there is no KV to compute with. */
static gboolean prefix_cache_is_off(const Policy *policy, const YamlNode *place, GError **error) {
    PrefixCacheKind kind =
        policy->mode == MODE_PBD ? policy->prefill.prefix_cache : policy->decode.prefix_cache;
    return kind == PREFIX_CACHE_OFF ||
           yaml_error(place, INPUT_ERROR_CONFLICT, error, "numerics need 'prefix_cache: off'");
}

static gboolean mode_is_computable(const Experiment *experiment, const YamlNode *place,
                                   GError **error) {
    const Model *model = experiment->model;
    guint64 tp = experiment->policy->decode.tp;
    if (experiment->policy->mode == MODE_WAFER) {
        return wafer_numbers_check(experiment->policy, model, place, error);
    }
    return tp <= model->kv_heads ||
           yaml_error(place, INPUT_ERROR_CONFLICT, error,
                      "numerics need a KV head for each of the %" G_GUINT64_FORMAT
                      " ranks, and model '%s' has %" G_GUINT64_FORMAT,
                      tp, model->name, model->kv_heads);
}

static gboolean model_is_computable(const Model *model, const YamlNode *place, GError **error) {
    g_autoptr(GError) cause = NULL;
    return checkpoint_check(model, weights_limit_bytes(), &cause) ||
           yaml_error(place, INPUT_ERROR_CONFLICT, error, "%s", cause->message);
}

/* A path in a file starts from its folder, one on the command line from the current folder. */
static gboolean find_checkpoint(Experiment *experiment, const YamlNode *node, const char *folder,
                                GError **error) {
    OutputSpec *output = &experiment->output;
    gboolean plain =
        node->line == 0 || g_path_is_absolute(output->checkpoint) || g_str_equal(folder, ".");
    experiment->checkpoint_shown =
        plain ? g_strdup(output->checkpoint) : g_build_filename(folder, output->checkpoint, NULL);
    if (!g_file_test(experiment->checkpoint_shown, G_FILE_TEST_EXISTS)) {
        return yaml_error(node, INPUT_ERROR_MISSING, error,
                          "no file or folder '%s' for 'checkpoint'", output->checkpoint);
    }
    g_free(output->checkpoint);
    output->checkpoint = g_canonicalize_filename(experiment->checkpoint_shown, NULL);
    return TRUE;
}

gboolean numbers_resolve(Experiment *experiment, const ExperimentFile *file, GError **error) {
    const YamlNode *section = file->sections[SECTION_OUTPUT];
    if (!experiment->output.numerics) {
        return refuse_idle_keys(section, error);
    }
    const YamlNode *place = yaml_get(section, "numerics");
    return mode_is_computable(experiment, place, error) &&
           prefix_cache_is_off(experiment->policy, place, error) &&
           model_is_computable(experiment->model, place, error) &&
           (experiment->output.checkpoint == NULL ||
            find_checkpoint(experiment, yaml_get(section, "checkpoint"),
                            file->folders[SECTION_OUTPUT], error));
}

Checkpoint *numbers_weights(const Experiment *experiment, GError **error) {
    if (experiment->checkpoint_shown == NULL) {
        return checkpoint_seeded(experiment->model, experiment->seed);
    }
    return checkpoint_load(experiment->checkpoint_shown, experiment->model, weights_limit_bytes(),
                           error);
}

NumericsSetup numbers_setup(const Experiment *experiment, const Checkpoint *weights) {
    const OutputSpec *output = &experiment->output;
    Sampling sampling = {.top_k = MAX(output->top_k, 1),
                         .temperature = output->temperature > 0 ? (float)output->temperature : 1,
                         .seed = experiment->seed};
    return (NumericsSetup){.checkpoint = weights, .seed = experiment->seed, .sampling = sampling};
}
