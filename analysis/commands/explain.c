#include "analysis/commands/catalogue.h"
#include "analysis/operators/fusion_report.h"
#include "analysis/operators/plmr.h"
#include "workloads/experiment_file.h"

#define MOST_TOKENS 1000000000 /* as in policies */
#define MOST_RANKS 4096
#define MOST_SIDE 65535

typedef struct ExplainOptions {
    char *topic;
    char *model, *platform;
    char *tokens, *context, *tp;
    char *grid;
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
           files_read(options, explained, error) &&
           catalogue_check_clusters("explain", explained->platform, explained->model, error) &&
           counts_agree(explained, error);
}

static int explain_fusion(const ExplainOptions *options) {
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

static int explain_plmr(const ExplainOptions *options) {
    const char *name = options->platform == NULL ? "wse2" : options->platform;
    guint64 n = 8;
    g_autoptr(GError) error = NULL;
    if (!count_read("grid", options->grid, MOST_SIDE, &n, &error)) {
        return catalogue_fail(error);
    }
    g_autoptr(YamlNode) section = section_load(SECTION_PLATFORM, name, "--platform", &error);
    g_autoptr(Platform) platform = section == NULL ? NULL : platform_read(section, &error);
    g_autoptr(PlmrTable) table =
        platform == NULL ? NULL : plmr_table_new(platform, (guint)n, &error);
    if (table == NULL) {
        return catalogue_fail(error);
    }
    g_autofree char *text = options->json ? plmr_table_json(table) : plmr_table_text(table);
    return catalogue_print(text);
}

/* Options of one topic say nothing about the other. */
static gboolean topic_fits(const ExplainOptions *options, gboolean plmr, GError **error) {
    const struct {
        const char *shown, *value;
        gboolean plmr;
    } given[] = {{"--model", options->model, FALSE},
                 {"--tokens", options->tokens, FALSE},
                 {"--context", options->context, FALSE},
                 {"--tp", options->tp, FALSE},
                 {"--grid", options->grid, TRUE}};
    for (gsize i = 0; i < G_N_ELEMENTS(given); i++) {
        if (given[i].value != NULL && given[i].plmr != plmr) {
            g_autofree char *message = g_strdup_printf("option '%s' says nothing about %s",
                                                       given[i].shown, options->topic);
            return refuse(error, INPUT_ERROR_CONFLICT, message);
        }
    }
    return TRUE;
}

static int explain_run(const void *target) {
    const ExplainOptions *options = target;
    gboolean plmr = g_str_equal(options->topic, "plmr");
    g_autoptr(GError) error = NULL;
    if (!catalogue_check_environment(&error) || !topic_fits(options, plmr, &error)) {
        return catalogue_fail(error);
    }
    return plmr ? explain_plmr(options) : explain_fusion(options);
}

static const char *const topics[] = {"fusion", "plmr", NULL};

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(ExplainOptions, member)

static const Argument explain_arguments[] = {
    {"TOPIC", OPTION_OFFSET(topic), TRUE, topics,
     "what to explain; fusion: the units that a layer's operators form, and their launches; plmr: "
     "which products and sums over a wafer's mesh keep its limits"},
};

static const Option explain_options[] = {
    {"model", 'm', OPTION_TEXT, OPTION_OFFSET(model), "MODEL", "llama-2-7b",
     "the model, a config.json, or the name of a shipped one"},
    {"platform", 'p', OPTION_TEXT, OPTION_OFFSET(platform), "PLATFORM", "mt3000; plmr: wse2",
     "the machine, a YAML file, or the name of a shipped one"},
    {"tokens", 'n', OPTION_TEXT, OPTION_OFFSET(tokens), "N", "1024",
     "the request's new tokens: its prompt, a chunk of it, or 1 in decode"},
    {"context", 'c', OPTION_TEXT, OPTION_OFFSET(context), "C", "as many as --tokens",
     "its tokens after the step, those in the KV cache included"},
    {"tp", 0, OPTION_TEXT, OPTION_OFFSET(tp), "T", "1", "clusters that share the layer"},
    {"grid", 'g', OPTION_TEXT, OPTION_OFFSET(grid), "N", "8",
     "plmr: count on N × N cores, and for their growth on two or four times as many a side"},
    {"json", 'j', OPTION_FLAG, OPTION_OFFSET(json), NULL, "off",
     "print everything as JSON instead of tables"},
};

const Command command_explain = {
    .name = "explain",
    .summary = "show how operators fuse and launch, or keep a mesh's limits",
    .description =
        "Gathers the operators of one layer into fusion units by arithmetic density, data "
        "dependency and room on chip, and prints the units with what they take of each memory, "
        "the off-chip bytes and launches that they save, why each unit ends where it does, and "
        "how busy a launch for each head or one for all keeps the DSPs. Or simulates products and "
        "sums over the cores of a mesh, of two sizes and without its limits, and prints what each "
        "needs of routing paths, hops, routing stages and bytes, how that grows, and whether it "
        "keeps the limits on latency (L), memory (M) and routing (R) of a PLMR device.",
    .arguments = explain_arguments,
    .n_arguments = G_N_ELEMENTS(explain_arguments),
    .options = explain_options,
    .n_options = G_N_ELEMENTS(explain_options),
    .target_size = sizeof(ExplainOptions),
    .example = "  # a prompt of 2048 tokens, and one decode step after it\n"
               "  infergrid explain fusion --model llama-3-8b --tokens 2048\n"
               "  infergrid explain fusion --model llama-3-8b --tokens 1 --context 2049\n"
               "  # what MeshGEMM and K-trees are good for\n"
               "  infergrid explain plmr --platform wse2 --grid 8\n",
    .run = explain_run,
};
