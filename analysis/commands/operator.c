#include "analysis/block_timeline.h"
#include "analysis/commands/catalogue.h"
#include "analysis/operator_report.h"
#include "analysis/output_folder.h"
#include "workloads/experiment_file.h"
#include "workloads/input_error.h"
#include <stdio.h>
#include <string.h>

#define SIZE_MAX_COUNT 16777216 /* products of three stay exact in a double */
#define SWEEP_MAX 10000
/* Attention that is more blocks than this is simulated stage by stage. */
#define BLOCK_GRAIN_MAX 100000.0

typedef struct OperatorOptions {
    char *kind;
    char *platform;
    char *m, *k, *n;
    char *heads, *kv_heads, *head_dim, *new_tokens, *past_tokens, *batch;
    char *ranks, *bytes;
    char *dtype, *blocks, *variant, *seed;
    gboolean untiled, causal;
    gboolean verify;
    char *output;
    gboolean force, json;
} OperatorOptions;

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(OperatorOptions, member)
#define SPEC_OFFSET(member) G_STRUCT_OFFSET(OperatorSpec, member)
#define SAME_AS_HEADS "heads"

/* A size of an operator: lists of them are swept. */
typedef struct SizeOption {
    const char *shown;
    OperatorKind kind;
    gsize option, target;
    const char *fallback; /* NULL: must be given */
    guint64 min, max;
    Dimension dimension;
} SizeOption;

static const SizeOption size_options[] = {
    {"-M", OPERATOR_GEMM, OPTION_OFFSET(m), SPEC_OFFSET(gemm.m), NULL, 1, SIZE_MAX_COUNT,
     DIMENSION_COUNT},
    {"-K", OPERATOR_GEMM, OPTION_OFFSET(k), SPEC_OFFSET(gemm.k), NULL, 1, SIZE_MAX_COUNT,
     DIMENSION_COUNT},
    {"-N", OPERATOR_GEMM, OPTION_OFFSET(n), SPEC_OFFSET(gemm.n), NULL, 1, SIZE_MAX_COUNT,
     DIMENSION_COUNT},
    {"--heads", OPERATOR_ATTENTION, OPTION_OFFSET(heads), SPEC_OFFSET(attention.heads), "32", 1,
     65536, DIMENSION_COUNT},
    {"--kv-heads", OPERATOR_ATTENTION, OPTION_OFFSET(kv_heads), SPEC_OFFSET(attention.kv_heads),
     SAME_AS_HEADS, 1, 65536, DIMENSION_COUNT},
    {"--head-dim", OPERATOR_ATTENTION, OPTION_OFFSET(head_dim), SPEC_OFFSET(attention.head_dim),
     "128", 1, 65536, DIMENSION_COUNT},
    {"--new", OPERATOR_ATTENTION, OPTION_OFFSET(new_tokens), SPEC_OFFSET(attention.new_tokens),
     NULL, 1, SIZE_MAX_COUNT, DIMENSION_COUNT},
    {"--past", OPERATOR_ATTENTION, OPTION_OFFSET(past_tokens), SPEC_OFFSET(attention.past_tokens),
     "0", 0, SIZE_MAX_COUNT, DIMENSION_COUNT},
    {"--batch", OPERATOR_ATTENTION, OPTION_OFFSET(batch), SPEC_OFFSET(attention.batch), "1", 1,
     65536, DIMENSION_COUNT},
    {"--ranks", OPERATOR_ALL_REDUCE, OPTION_OFFSET(ranks), SPEC_OFFSET(ranks), NULL, 2, 0,
     DIMENSION_COUNT},
    {"--bytes", OPERATOR_ALL_REDUCE, OPTION_OFFSET(bytes), SPEC_OFFSET(bytes), NULL, 4,
     G_GUINT64_CONSTANT(1) << 40, DIMENSION_BYTES},
};

/* Options that are not sizes and belong to one or two kinds. */
static const struct {
    const char *shown;
    gsize option;
    gboolean flag;
    gboolean of[N_OPERATOR_KINDS];
} kind_options[] = {
    {"--untiled", OPTION_OFFSET(untiled), TRUE, {[OPERATOR_GEMM] = TRUE}},
    {"--blocks", OPTION_OFFSET(blocks), FALSE, {[OPERATOR_GEMM] = TRUE}},
    {"--causal", OPTION_OFFSET(causal), TRUE, {[OPERATOR_ATTENTION] = TRUE}},
    {"--variant", OPTION_OFFSET(variant), FALSE, {[OPERATOR_ATTENTION] = TRUE}},
    {"--dtype", OPTION_OFFSET(dtype), FALSE, {[OPERATOR_GEMM] = TRUE, [OPERATOR_ATTENTION] = TRUE}},
};

static const char *text_at(const OperatorOptions *options, gsize offset) {
    return *(char *const *)(const void *)((const char *)options + offset);
}

static gboolean flag_at(const OperatorOptions *options, gsize offset) {
    return *(const gboolean *)(const void *)((const char *)options + offset);
}

static gboolean not_of_kind(const char *shown, const OperatorOptions *options, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "infergrid operator: option '%s' says nothing about %s", shown, options->kind);
    return FALSE;
}

static gboolean usage_is_right(const OperatorOptions *options, OperatorKind kind, GError **error) {
    for (gsize i = 0; i < G_N_ELEMENTS(size_options); i++)
        if (size_options[i].kind != kind && text_at(options, size_options[i].option) != NULL)
            return not_of_kind(size_options[i].shown, options, error);
    for (gsize i = 0; i < G_N_ELEMENTS(kind_options); i++) {
        gsize offset = kind_options[i].option;
        gboolean given =
            kind_options[i].flag ? flag_at(options, offset) : text_at(options, offset) != NULL;
        if (given && !kind_options[i].of[kind])
            return not_of_kind(kind_options[i].shown, options, error);
    }
    if (!options->force || options->output != NULL)
        return TRUE;
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                        "infergrid operator: option '--force' needs '--output'");
    return FALSE;
}

/* The index of 'word' in a NULL-terminated list; −1 and an error that names the option, what it
 * chooses, the near miss and all there are. */
static int choose(const char *option, const char *what, const char *word, const char *const *names,
                  GError **error) {
    guint n = g_strv_length((char **)names);

    for (guint i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return (int)i;
    g_autofree char *hint = near_miss_hint(word, names, n);
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN,
                "%s: unknown %s '%s'%s; expected one of: %s", option, what, word, hint, all);
    return -1;
}

static gboolean size_parse(const SizeOption *size, const char *text, guint64 *value,
                           GError **error) {
    double number = 0;
    const char *expected = units_parse(text, size->dimension, &number);

    if (expected != NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s: expected %s, not '%s'", size->shown,
                    expected, text);
        return FALSE;
    }
    if (number < (double)size->min || (size->max > 0 && number > (double)size->max)) {
        gboolean low = number < (double)size->min;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "%s: must be at %s %" G_GUINT64_FORMAT ", not %s", size->shown,
                    low ? "least" : "most", low ? size->min : size->max, text);
        return FALSE;
    }
    *value = (guint64)number;
    return TRUE;
}

/* "1024,2048": the values of a size. */
static GArray *sizes_parse(const SizeOption *size, const char *text, GError **error) {
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(guint64));
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);

    for (char **part = parts; *part != NULL; part++) {
        guint64 value;
        if (!size_parse(size, g_strstrip(*part), &value, error))
            return NULL;
        g_array_append_val(values, value);
    }
    return g_steal_pointer(&values);
}

/* Puts each of the values into a copy of every spec; the later an option in the table, the faster
 * its value changes. Takes 'specs' over. */
static GArray *specs_multiply(GArray *specs, const SizeOption *size, const GArray *values) {
    GArray *product = g_array_new(FALSE, FALSE, sizeof(OperatorSpec));

    for (guint i = 0; i < specs->len; i++)
        for (guint j = 0; j < values->len; j++) {
            OperatorSpec spec = g_array_index(specs, OperatorSpec, i);
            *(guint64 *)(void *)((char *)&spec + size->target) = g_array_index(values, guint64, j);
            g_array_append_val(product, spec);
        }
    g_array_unref(specs);
    return product;
}

static gboolean size_is_missing(const SizeOption *size, const OperatorOptions *options,
                                GError **error) {
    if (text_at(options, size->option) != NULL || size->fallback != NULL)
        return FALSE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "infergrid operator: %s needs option '%s'",
                options->kind, size->shown);
    return TRUE;
}

static gboolean too_many(guint64 runs, GError **error) {
    if (runs <= SWEEP_MAX)
        return FALSE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                "infergrid operator: the lists make %" G_GUINT64_FORMAT " operators, more than %d",
                runs, SWEEP_MAX);
    return TRUE;
}

/* All operators of the product of the lists; OperatorSpec. */
static GArray *specs_expand(const OperatorOptions *options, const OperatorSpec *base,
                            GError **error) {
    g_autoptr(GArray) specs = g_array_new(FALSE, FALSE, sizeof(OperatorSpec));

    g_array_append_val(specs, *base);
    for (gsize i = 0; i < G_N_ELEMENTS(size_options); i++) {
        const SizeOption *size = &size_options[i];
        const char *text = text_at(options, size->option);
        if (size->kind != base->kind)
            continue;
        if (size_is_missing(size, options, error))
            return NULL;
        if (text == NULL && strcmp(size->fallback, SAME_AS_HEADS) == 0)
            continue;
        g_autoptr(GArray) values = sizes_parse(size, text == NULL ? size->fallback : text, error);
        if (values == NULL || too_many((guint64)specs->len * values->len, error))
            return NULL;
        specs = specs_multiply(g_steal_pointer(&specs), size, values);
    }
    return g_steal_pointer(&specs);
}

static gboolean base_read(const OperatorOptions *options, OperatorKind kind, OperatorSpec *spec,
                          GError **error) {
    static const char *const types[N_DATA_TYPES + 1] = {"fp16", "bf16", "fp32", NULL};
    static const SizeOption seed = {.shown = "--seed", .dimension = DIMENSION_COUNT};
    const char *dtype = options->dtype == NULL ? "fp16" : options->dtype;
    const char *variant = options->variant == NULL ? "mt" : options->variant;
    int type = choose("--dtype", "data type", dtype, types, error);
    int chosen =
        type < 0 ? -1 : choose("--variant", "variant", variant, operator_variant_names, error);

    if (chosen < 0)
        return FALSE;
    *spec = (OperatorSpec){.kind = kind,
                           .transfers = options->untiled ? GEMM_UNTILED : GEMM_TILED,
                           .launch = TRUE,
                           .verify = options->verify,
                           .seed = 1};
    spec->gemm.type = spec->attention.type = (DataType)type;
    spec->attention.variant = (AttentionVariant)chosen;
    spec->attention.causal = options->causal;
    return options->seed == NULL || size_parse(&seed, options->seed, &spec->seed, error);
}

static double attention_block_count(const AttentionShape *shape, const AttentionBlocks *blocks) {
    double context = (double)(shape->past_tokens + shape->new_tokens);

    return 2 * (double)blocks->waves * (double)blocks->rounds *
           (context / (double)blocks->columns + 1);
}

static gboolean attention_complete(OperatorSpec *spec, const Platform *platform, GError **error) {
    AttentionShape *shape = &spec->attention;
    AttentionBlocks blocks;

    if (shape->kv_heads == 0)
        shape->kv_heads = shape->heads;
    if (shape->heads % shape->kv_heads != 0) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "--kv-heads: %" G_GUINT64_FORMAT " do not divide the %" G_GUINT64_FORMAT
                    " of '--heads'",
                    shape->kv_heads, shape->heads);
        return FALSE;
    }
    if (!attention_shape_check(shape, error))
        return FALSE;
    AttentionProblem problem = attention_problem(shape);
    if (!attention_blocks(&problem, attention_score_place(shape->variant), &platform->cluster,
                          &blocks, error))
        return FALSE;
    spec->grain = attention_block_count(shape, &blocks) <= BLOCK_GRAIN_MAX ? ATTENTION_GRAIN_BLOCK
                                                                           : ATTENTION_GRAIN_STAGE;
    return TRUE;
}

static gboolean gemm_complete(OperatorSpec *spec, const Platform *platform, gboolean best) {
    spec->blocks =
        best ? gemm_blocks_search(&spec->gemm, platform).best : gemm_blocks_paper(spec->gemm.type);
    return TRUE;
}

static gboolean ring_complete(const OperatorSpec *spec, const Platform *platform, GError **error) {
    guint clusters = platform_clusters(platform);

    if (spec->ranks <= clusters)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "--ranks: must be at most %u, the clusters of '%s', not %" G_GUINT64_FORMAT,
                clusters, platform->name, spec->ranks);
    return FALSE;
}

/* What depends on the platform and on more than one option. */
static gboolean spec_complete(OperatorSpec *spec, const Platform *platform, gboolean best,
                              GError **error) {
    switch (spec->kind) {
    case OPERATOR_GEMM:
        return gemm_complete(spec, platform, best);
    case OPERATOR_ATTENTION:
        return attention_complete(spec, platform, error);
    default:
        return ring_complete(spec, platform, error);
    }
}

static GArray *specs_read(const OperatorOptions *options, OperatorKind kind,
                          const Platform *platform, GError **error) {
    static const char *const choices[] = {"paper", "best", NULL};
    const char *blocks = options->blocks == NULL ? "paper" : options->blocks;
    int choice = choose("--blocks", "choice of blocks", blocks, choices, error);
    OperatorSpec base;

    if (choice < 0 || !base_read(options, kind, &base, error))
        return NULL;
    g_autoptr(GArray) specs = specs_expand(options, &base, error);
    for (guint i = 0; specs != NULL && i < specs->len; i++) {
        OperatorSpec *spec = &g_array_index(specs, OperatorSpec, i);
        spec->events = specs->len == 1 && options->output != NULL;
        if (!spec_complete(spec, platform, choice == 1, error))
            return NULL;
    }
    return g_steal_pointer(&specs);
}

/* The texts of all runs. */
typedef struct Answer {
    char *table; /* of one operator; NULL of several */
    char *json, *csv;
    gboolean right; /* all numbers that were checked are */
} Answer;

static void answer_clear(Answer *answer) {
    g_free(answer->table);
    g_free(answer->json);
    g_free(answer->csv);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_clear)

static Answer answer_new(const GArray *specs, const OperatorResult *results,
                         const Platform *platform) {
    Answer answer = {.right = TRUE};
    g_autoptr(GString) json = g_string_new(specs->len > 1 ? "[\n" : ""), csv = g_string_new(NULL);

    for (guint i = 0; i < specs->len; i++) {
        const OperatorSpec *spec = &g_array_index(specs, OperatorSpec, i);
        g_autoptr(Facts) facts = operator_report(spec, &results[i], platform);
        g_autofree char *header = facts_csv_header(facts), *row = facts_csv_row(facts);
        g_autofree char *object = facts_json(facts);

        answer.right &= results[i].check.worst <= 1;
        g_string_append_printf(csv, "%s%s", i == 0 ? header : "", row);
        g_string_append_printf(json, "%s%s", i == 0 ? "" : ",\n", g_strchomp(object));
        if (specs->len == 1) {
            g_autofree char *table = facts_table(facts);
            answer.table = g_strdup_printf("%s on a cluster of %s\n%s",
                                           operator_kind_names[spec->kind], platform->name, table);
        }
    }
    g_string_append(json, specs->len > 1 ? "\n]\n" : "\n");
    answer.json = g_string_free(g_steal_pointer(&json), FALSE);
    answer.csv = g_string_free(g_steal_pointer(&csv), FALSE);
    return answer;
}

static gboolean files_write(OutputFolder *folder, const GArray *specs,
                            const OperatorResult *results, const Answer *answer, GError **error) {
    g_autofree char *timeline = output_folder_file(folder, "timeline.json");

    return output_folder_write(folder, "result.json", answer->json, error) &&
           output_folder_write(folder, "result.csv", answer->csv, error) &&
           (specs->len > 1 || block_timeline_write(&g_array_index(specs, OperatorSpec, 0),
                                                   &results[0], timeline, error)) &&
           output_folder_commit(folder, error);
}

static int tell(const OperatorOptions *options, const GArray *specs, const OperatorResult *results,
                const Answer *answer) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OutputFolder) folder = NULL;

    if (options->output != NULL) {
        folder = output_folder_open(options->output, options->force, &error);
        if (folder == NULL || !files_write(folder, specs, results, answer, &error))
            return catalogue_fail(error);
    }
    const char *text = options->json           ? answer->json
                       : answer->table != NULL ? answer->table
                                               : answer->csv;
    int status = catalogue_print(text);
    if (answer->right)
        return status;
    fprintf(stderr, "infergrid operator: computed numbers differ from the reference by more than "
                    "their bound\n");
    return EXIT_UNFINISHED;
}

static int run_all(const OperatorOptions *options, const GArray *specs, const Platform *platform) {
    g_autoptr(GError) error = NULL;
    g_autofree OperatorResult *results = g_new0(OperatorResult, specs->len);
    const OperatorSpec *first = &g_array_index(specs, OperatorSpec, 0);

    if (!operator_run_all(first, specs->len, platform, results, &error))
        return catalogue_fail(error);
    g_auto(Answer) answer = answer_new(specs, results, platform);
    int status = tell(options, specs, results, &answer);
    for (guint i = 0; i < specs->len; i++)
        operator_result_clear(&results[i]);
    return status;
}

static int operator_command(const void *target) {
    const OperatorOptions *options = target;
    const char *name = options->platform == NULL ? "mt3000" : options->platform;
    g_autoptr(GError) error = NULL;
    int kind = choose("OPERATOR", "operator", options->kind, operator_kind_names, &error);

    if (kind < 0 || !catalogue_check_environment(&error) ||
        !usage_is_right(options, (OperatorKind)kind, &error))
        return catalogue_fail(error);
    g_autoptr(YamlNode) section = section_load(SECTION_PLATFORM, name, "--platform", &error);
    g_autoptr(Platform) platform = section == NULL ? NULL : platform_read(section, &error);
    if (platform == NULL)
        return catalogue_fail(error);
    g_autoptr(GArray) specs = specs_read(options, (OperatorKind)kind, platform, &error);
    return specs == NULL ? catalogue_fail(error) : run_all(options, specs, platform);
}

static const Argument operator_arguments[] = {
    {"OPERATOR", OPTION_OFFSET(kind), TRUE, operator_kind_names, "gemm, attention or allreduce"},
};

static const Option operator_options[] = {
    {"platform", 'p', OPTION_TEXT, OPTION_OFFSET(platform), "PLATFORM", "mt3000",
     "the machine, a YAML file or the name of a shipped one"},
    {"rows", 'M', OPTION_TEXT, OPTION_OFFSET(m), "M", "gemm needs it",
     "gemm: rows of X and Y; like every size, a list such as 1024,2048 is swept"},
    {"inputs", 'K', OPTION_TEXT, OPTION_OFFSET(k), "K", "gemm needs it",
     "gemm: columns of X and rows of W"},
    {"outputs", 'N', OPTION_TEXT, OPTION_OFFSET(n), "N", "gemm needs it",
     "gemm: columns of W and Y"},
    {"blocks", 'b', OPTION_TEXT, OPTION_OFFSET(blocks), "CHOICE", "paper",
     "gemm: blocks as in the paper, or the best of a search"},
    {"untiled", 0, OPTION_FLAG, OPTION_OFFSET(untiled), NULL, "off",
     "gemm: move Y2 whole at the end of a pass instead of in tiles along it"},
    {"heads", 0, OPTION_TEXT, OPTION_OFFSET(heads), "HEADS", "32", "attention: heads of Q"},
    {"kv-heads", 0, OPTION_TEXT, OPTION_OFFSET(kv_heads), "HEADS", "as many as heads",
     "attention: heads of K and V, which must divide those of Q"},
    {"head-dim", 0, OPTION_TEXT, OPTION_OFFSET(head_dim), "SIZE", "128",
     "attention: elements of a head"},
    {"new", 0, OPTION_TEXT, OPTION_OFFSET(new_tokens), "TOKENS", "attention needs it",
     "attention: rows of Q of each head; 1 in decode"},
    {"past", 0, OPTION_TEXT, OPTION_OFFSET(past_tokens), "TOKENS", "0",
     "attention: tokens of K and V before the new ones"},
    {"batch", 0, OPTION_TEXT, OPTION_OFFSET(batch), "REQUESTS", "1",
     "attention: requests of this shape"},
    {"variant", 0, OPTION_TEXT, OPTION_OFFSET(variant), "VARIANT", "mt",
     "attention: mt, flash or unfused"},
    {"causal", 0, OPTION_FLAG, OPTION_OFFSET(causal), NULL, "off",
     "attention: a token sees itself and those before it"},
    {"ranks", 0, OPTION_TEXT, OPTION_OFFSET(ranks), "RANKS", "allreduce needs it",
     "allreduce: clusters in the ring, from cluster 0 on"},
    {"bytes", 0, OPTION_TEXT, OPTION_OFFSET(bytes), "BYTES", "allreduce needs it",
     "allreduce: the vector of each rank, such as '64 kB'"},
    {"dtype", 0, OPTION_TEXT, OPTION_OFFSET(dtype), "TYPE", "fp16",
     "gemm, attention: fp16, bf16 or fp32"},
    {"verify", 'v', OPTION_FLAG, OPTION_OFFSET(verify), NULL, "off",
     "compute real numbers along the way and hold them against a double-precision reference; the "
     "exit status is 1 when they are further off than their bound"},
    {"seed", 0, OPTION_TEXT, OPTION_OFFSET(seed), "SEED", "1", "of the numbers"},
    {"output", 'o', OPTION_DIRECTORY, OPTION_OFFSET(output), "DIR", "print only",
     "write result.json, result.csv and, for a single operator, timeline.json (blocks and "
     "transfers, for Perfetto) into a new folder"},
    {"force", 'f', OPTION_FLAG, OPTION_OFFSET(force), NULL, "off",
     "replace the folder of --output if it is there"},
    {"json", 'j', OPTION_FLAG, OPTION_OFFSET(json), NULL, "off",
     "print JSON instead of a table or, for a sweep, CSV"},
};

const Command command_operator = {
    .name = "operator",
    .summary = "simulate one operator, block by block",
    .description =
        "Simulates one operator alone on a cluster (allreduce: on a ring of clusters) from its "
        "blocks, transfers and thread-group launches, and prints latency, rate and share of peak, "
        "what bounds it, bytes for each kind of transfer and tier, and its blocks against the "
        "capacities. Rates count multiply-accumulates, not floating-point operations. Lists of "
        "sizes are swept, all with all, and printed as CSV.",
    .arguments = operator_arguments,
    .n_arguments = G_N_ELEMENTS(operator_arguments),
    .options = operator_options,
    .n_options = G_N_ELEMENTS(operator_options),
    .target_size = sizeof(OperatorOptions),
    .example = "  # a Linear operator, its blocks as a timeline, its numbers checked\n"
               "  infergrid operator gemm -M 2048 -K 4096 -N 4096 --verify -o results/gemm\n"
               "  # how decode attention grows with the context\n"
               "  infergrid operator attention --new 1 --past 1023,2047,4095 --batch 16\n",
    .run = operator_command,
};
