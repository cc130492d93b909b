#include "analysis/commands/catalogue.h"
#include "analysis/fusion_report.h"
#include "workloads/experiment_file.h"

#define MOST_TOKENS 1000000000 /* as in policies */
#define MOST_RANKS 4096

typedef struct ExplainOptions {
    char *topic;
    char *model, *platform;
    char *tokens, *context, *tp;
    gboolean json;
} ExplainOptions;

/* What the command line asked for, read and checked. */
typedef struct Explained {
    Model *model;
    Platform *platform;
    guint64 tokens, context, tp;
} Explained;

static void explained_clear(Explained *explained) {
    g_clear_pointer(&explained->model, model_free);
    g_clear_pointer(&explained->platform, platform_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Explained, explained_clear)

static gboolean refuse(GError **error, InputErrorCode code, const char *message) {
    g_set_error(error, INPUT_ERROR, (gint)code, "infergrid explain: %s", message);
    return FALSE;
}

static gboolean count_read(const char *option, const char *text, guint64 most, guint64 *count,
                           GError **error) {
    double value = 0;
    if (text == NULL) {
        return TRUE;
    }
    if (units_parse(text, DIMENSION_COUNT, &value) == NULL && value >= 1 && value <= (double)most) {
        *count = (guint64)value;
        return TRUE;
    }
    g_autofree char *message =
        g_strdup_printf("--%s: expected a whole number from 1 to %" G_GUINT64_FORMAT ", not '%s'",
                        option, most, text);
    return refuse(error, INPUT_ERROR_VALUE, message);
}

static gboolean files_read(const ExplainOptions *options, Explained *explained, GError **error) {
    const char *model = options->model == NULL ? "llama-2-7b" : options->model;
    const char *platform = options->platform == NULL ? "mt3000" : options->platform;
    g_autoptr(YamlNode) model_section = section_load(SECTION_MODEL, model, "--model", error);
    if (model_section == NULL || (explained->model = model_read(model_section, error)) == NULL) {
        return FALSE;
    }
    g_autoptr(YamlNode) platform_section =
        section_load(SECTION_PLATFORM, platform, "--platform", error);
    return platform_section != NULL &&
           (explained->platform = platform_read(platform_section, error)) != NULL;
}

/* Counts that are each right but do not go together, or not with the model. */
static gboolean counts_agree(const Explained *explained, GError **error) {
    const Model *model = explained->model;
    g_autofree char *message = NULL;
    if (explained->context < explained->tokens) {
        message = g_strdup_printf("--context %" G_GUINT64_FORMAT
                                  " is less than the %" G_GUINT64_FORMAT " new tokens in it",
                                  explained->context, explained->tokens);
    } else if (explained->context > model->max_context) {
        message = g_strdup_printf("a context of %" G_GUINT64_FORMAT
                                  " exceeds the %" G_GUINT64_FORMAT " tokens of '%s'",
                                  explained->context, model->max_context, model->name);
    } else if (model->heads % explained->tp != 0 || model->kv_heads % explained->tp != 0) {
        message =
            g_strdup_printf("--tp %" G_GUINT64_FORMAT " does not divide the %" G_GUINT64_FORMAT
                            " heads and %" G_GUINT64_FORMAT " KV heads of '%s'",
                            explained->tp, model->heads, model->kv_heads, model->name);
    }
    return message == NULL || refuse(error, INPUT_ERROR_CONFLICT, message);
}

static gboolean explained_read(const ExplainOptions *options, Explained *explained,
                               GError **error) {
    explained->tokens = 1024;
    explained->tp = 1;
    if (!count_read("tokens", options->tokens, MOST_TOKENS, &explained->tokens, error)) {
        return FALSE;
    }
    explained->context = explained->tokens;
    return count_read("context", options->context, MOST_TOKENS, &explained->context, error) &&
           count_read("tp", options->tp, MOST_RANKS, &explained->tp, error) &&
           files_read(options, explained, error) && counts_agree(explained, error);
}

static int explain_run(const void *target) {
    const ExplainOptions *options = target;
    g_auto(Explained) explained = {0};
    g_autoptr(GError) error = NULL;
    if (!explained_read(options, &explained, &error)) {
        return catalogue_fail(error);
    }
    FusionQuestion question = {.model = explained.model,
                               .platform = explained.platform,
                               .tokens = (guint32)explained.tokens,
                               .context = (guint32)explained.context,
                               .tp = (guint)explained.tp};
    g_autoptr(FusionReport) report = fusion_report_new(&question);
    g_autofree char *text = options->json ? fusion_report_json(report) : fusion_report_text(report);
    return catalogue_print(text);
}

static const char *const topics[] = {"fusion", NULL};

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(ExplainOptions, member)

static const Argument explain_arguments[] = {
    {"TOPIC", OPTION_OFFSET(topic), TRUE, topics,
     "what to explain; fusion: the units that a layer's operators form, and their launches"},
};

static const Option explain_options[] = {
    {"model", 'm', OPTION_TEXT, OPTION_OFFSET(model), "MODEL", "llama-2-7b",
     "the model, a config.json, or the name of a shipped one"},
    {"platform", 'p', OPTION_TEXT, OPTION_OFFSET(platform), "PLATFORM", "mt3000",
     "the machine, a YAML file, or the name of a shipped one"},
    {"tokens", 'n', OPTION_TEXT, OPTION_OFFSET(tokens), "N", "1024",
     "the request's new tokens: its prompt, a chunk of it, or 1 in decode"},
    {"context", 'c', OPTION_TEXT, OPTION_OFFSET(context), "C", "as many as --tokens",
     "its tokens after the step, those in the KV cache included"},
    {"tp", 0, OPTION_TEXT, OPTION_OFFSET(tp), "T", "1", "clusters that share the layer"},
    {"json", 'j', OPTION_FLAG, OPTION_OFFSET(json), NULL, "off",
     "print everything as JSON instead of tables"},
};

const Command command_explain = {
    .name = "explain",
    .summary = "show how operators fuse, fit on chip and launch",
    .description =
        "Gathers the operators of one layer into fusion units by arithmetic density, data "
        "dependency and room on chip, and prints the units with what they take of each memory, "
        "the off-chip bytes and launches that they save, why each unit ends where it does, and "
        "how busy a launch for each head or one for all keeps the DSPs.",
    .arguments = explain_arguments,
    .n_arguments = G_N_ELEMENTS(explain_arguments),
    .options = explain_options,
    .n_options = G_N_ELEMENTS(explain_options),
    .target_size = sizeof(ExplainOptions),
    .example = "  # a prompt of 2048 tokens, and one decode step after it\n"
               "  infergrid explain fusion --model llama-3-8b --tokens 2048\n"
               "  infergrid explain fusion --model llama-3-8b --tokens 1 --context 2049\n",
    .run = explain_run,
};
