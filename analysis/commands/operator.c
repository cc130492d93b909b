#include "analysis/commands/catalogue.h"
#include "analysis/commands/operator_options.h"
#include "analysis/operators/mesh_run.h"
#include "analysis/operators/operator_report.h"
#include "analysis/operators/sweep.h"
#include "analysis/output/output_folder.h"
#include "analysis/timeline/block_timeline.h"
#include "workloads/experiment_file.h"
#include "workloads/input_error.h"
#include <stdio.h>
#include <string.h>

#define SIZE_MAX_COUNT 16777216 /* products of three stay exact in a double */
/* Attention that is more blocks than this is simulated stage by stage. */
#define BLOCK_GRAIN_MAX 100000.0

#define SPEC_OFFSET(member) G_STRUCT_OFFSET(OperatorSpec, member)
#define BIT(kind) (1u << (kind))

static const SizeOption size_options[] = {
    {"-M", BIT(OPERATOR_GEMM), OPTION_OFFSET(m), SPEC_OFFSET(gemm.m), NULL, 1, SIZE_MAX_COUNT,
     DIMENSION_COUNT},
    {"-K", BIT(OPERATOR_GEMM), OPTION_OFFSET(k), SPEC_OFFSET(gemm.k), NULL, 1, SIZE_MAX_COUNT,
     DIMENSION_COUNT},
    {"-N", BIT(OPERATOR_GEMM), OPTION_OFFSET(n), SPEC_OFFSET(gemm.n), NULL, 1, SIZE_MAX_COUNT,
     DIMENSION_COUNT},
    {"--heads", BIT(OPERATOR_ATTENTION), OPTION_OFFSET(heads), SPEC_OFFSET(attention.heads), "32",
     1, 65536, DIMENSION_COUNT},
    {"--kv-heads", BIT(OPERATOR_ATTENTION), OPTION_OFFSET(kv_heads),
     SPEC_OFFSET(attention.kv_heads), SIZE_LEFT_OPEN, 1, 65536, DIMENSION_COUNT},
    {"--head-dim", BIT(OPERATOR_ATTENTION), OPTION_OFFSET(head_dim),
     SPEC_OFFSET(attention.head_dim), "128", 1, 65536, DIMENSION_COUNT},
    {"--new", BIT(OPERATOR_ATTENTION), OPTION_OFFSET(new_tokens), SPEC_OFFSET(attention.new_tokens),
     NULL, 1, SIZE_MAX_COUNT, DIMENSION_COUNT},
    {"--past", BIT(OPERATOR_ATTENTION), OPTION_OFFSET(past_tokens),
     SPEC_OFFSET(attention.past_tokens), "0", 0, SIZE_MAX_COUNT, DIMENSION_COUNT},
    {"--batch", BIT(OPERATOR_ATTENTION), OPTION_OFFSET(batch), SPEC_OFFSET(attention.batch), "1", 1,
     65536, DIMENSION_COUNT},
    {"--ranks", BIT(OPERATOR_ALL_REDUCE), OPTION_OFFSET(ranks), SPEC_OFFSET(ranks), NULL, 2, 0,
     DIMENSION_COUNT},
    {"--bytes", BIT(OPERATOR_ALL_REDUCE), OPTION_OFFSET(bytes), SPEC_OFFSET(bytes), NULL, 4,
     G_GUINT64_CONSTANT(1) << 40, DIMENSION_BYTES},
};

/* Options that are not sizes and belong to one or two kinds. */
static const KindOption kind_options[] = {
    {"--untiled", OPTION_OFFSET(untiled), TRUE, BIT(OPERATOR_GEMM)},
    {"--blocks", OPTION_OFFSET(blocks), FALSE, BIT(OPERATOR_GEMM)},
    {"--causal", OPTION_OFFSET(causal), TRUE, BIT(OPERATOR_ATTENTION)},
    {"--variant", OPTION_OFFSET(variant), FALSE, BIT(OPERATOR_ATTENTION)},
    {"--dtype", OPTION_OFFSET(dtype), FALSE, BIT(OPERATOR_GEMM) | BIT(OPERATOR_ATTENTION)},
    {"--grid", OPTION_OFFSET(grid), FALSE, 0},
    {"--elements", OPTION_OFFSET(elements), FALSE, 0},
    {"--algorithm", OPTION_OFFSET(algorithm), FALSE, 0},
    {"--k", OPTION_OFFSET(k_tree), FALSE, 0},
    {"--routing", OPTION_OFFSET(routing), FALSE, 0},
    {"--full", OPTION_OFFSET(full), TRUE, 0},
    {"--folded", OPTION_OFFSET(folded), TRUE, 0},
    {"--no-broadcast", OPTION_OFFSET(no_broadcast), TRUE, 0},
    {"--every-step", OPTION_OFFSET(every_step), TRUE, 0},
    {"--plot", OPTION_OFFSET(plot), FALSE, 0},
};

gboolean operator_option_fits(const OperatorOptions *options, const KindOption *option, guint kinds,
                              GError **error) {
    gboolean given = option->flag ? sweep_flag_at(options, option->option)
                                  : sweep_text_at(options, option->option) != NULL;

    if (!given || (option->kinds & kinds) != 0)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "infergrid operator: option '%s' says nothing about %s", option->shown,
                options->kind);
    return FALSE;
}

static gboolean usage_is_right(const OperatorOptions *options, OperatorKind kind, GError **error) {
    for (gsize i = 0; i < G_N_ELEMENTS(size_options); i++) {
        const SizeOption *size = &size_options[i];
        KindOption option = {size->shown, size->option, FALSE, size->kinds};
        if (!operator_option_fits(options, &option, BIT(kind), error))
            return FALSE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(kind_options); i++)
        if (!operator_option_fits(options, &kind_options[i], BIT(kind), error))
            return FALSE;
    return TRUE;
}

static gboolean base_read(const OperatorOptions *options, OperatorKind kind, OperatorSpec *spec,
                          GError **error) {
    static const char *const types[N_DATA_TYPES + 1] = {"fp16", "bf16", "fp32", NULL};
    static const SizeOption seed = {.shown = "--seed", .dimension = DIMENSION_COUNT};
    const char *dtype = options->dtype == NULL ? "fp16" : options->dtype;
    const char *variant = options->variant == NULL ? "mt" : options->variant;
    int type = sweep_choose("--dtype", "data type", dtype, types, error);
    int chosen = type < 0
                     ? -1
                     : sweep_choose("--variant", "variant", variant, operator_variant_names, error);

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
    return options->seed == NULL || sweep_size_parse(&seed, options->seed, &spec->seed, error);
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
    int choice = sweep_choose("--blocks", "choice of blocks", blocks, choices, error);
    OperatorSpec base;

    if (choice < 0 || !base_read(options, kind, &base, error))
        return NULL;
    SizeTable table = {"infergrid operator", options->kind, size_options,
                       G_N_ELEMENTS(size_options), options};
    GArray *one = g_array_new(FALSE, FALSE, sizeof(OperatorSpec));
    g_array_append_val(one, base);
    g_autoptr(GArray) specs = sweep_expand(one, &table, BIT(kind), error);
    if (specs == NULL || !operator_timeline_fits(options, specs->len, error))
        return NULL;
    for (guint i = 0; i < specs->len; i++) {
        OperatorSpec *spec = &g_array_index(specs, OperatorSpec, i);
        spec->events = specs->len == 1 && operator_wants_events(options);
        if (!spec_complete(spec, platform, choice == 1, error))
            return NULL;
    }
    return g_steal_pointer(&specs);
}

void operator_answer_clear(OperatorAnswer *answer) {
    g_free(answer->table);
    g_free(answer->json);
    g_free(answer->csv);
}

OperatorAnswer operator_answer_new(const GPtrArray *facts, const char *title) {
    OperatorAnswer answer = {.right = TRUE};
    gboolean several = facts->len > 1;
    g_autoptr(GString) json = g_string_new(several ? "[\n" : ""), csv = g_string_new(NULL);

    for (guint i = 0; i < facts->len; i++) {
        const Facts *one = g_ptr_array_index(facts, i);
        g_autofree char *header = facts_csv_header(one), *row = facts_csv_row(one);
        g_autofree char *object = facts_json(one);

        g_string_append_printf(csv, "%s%s", i == 0 ? header : "", row);
        g_string_append_printf(json, "%s%s", i == 0 ? "" : ",\n", g_strchomp(object));
    }
    if (!several) {
        g_autofree char *table = facts_table(g_ptr_array_index(facts, 0));
        answer.table = g_strdup_printf("%s\n%s", title, table);
    }
    g_string_append(json, several ? "\n]\n" : "\n");
    answer.json = g_string_free(g_steal_pointer(&json), FALSE);
    answer.csv = g_string_free(g_steal_pointer(&csv), FALSE);
    return answer;
}

int operator_answer_print(const OperatorAnswer *answer, const OperatorOptions *options) {
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

static OperatorAnswer answer_of(const GArray *specs, const OperatorResult *results,
                                const Platform *platform) {
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)facts_free);
    const OperatorSpec *first = &g_array_index(specs, OperatorSpec, 0);
    g_autofree char *title =
        g_strdup_printf("%s on a cluster of %s", operator_kind_names[first->kind], platform->name);

    for (guint i = 0; i < specs->len; i++)
        g_ptr_array_add(
            all, operator_report(&g_array_index(specs, OperatorSpec, i), &results[i], platform));
    OperatorAnswer answer = operator_answer_new(all, title);
    for (guint i = 0; i < specs->len; i++)
        answer.right &= results[i].check.worst <= 1;
    return answer;
}

/* 'folder' may be NULL. */
static gboolean timeline_write(const OperatorOptions *options, const OutputFolder *folder,
                               const OperatorSpec *spec, const OperatorResult *result,
                               const OperatorAnswer *answer, GError **error) {
    TraceWindow window = timeline_settings_window(&options->timeline);
    g_autoptr(TraceSink) sink =
        operator_timeline_open(options, answer, folder, result->seconds, error);

    if (sink == NULL)
        return FALSE;
    block_timeline_put(spec, result, &window, sink);
    return trace_sink_finish(sink, error);
}

static gboolean files_write(const OperatorOptions *options, const GArray *specs,
                            const OperatorResult *results, const OperatorAnswer *answer,
                            GError **error) {
    const OperatorSpec *first = &g_array_index(specs, OperatorSpec, 0);
    g_autoptr(OutputFolder) folder = NULL;

    return operator_folder_open(options, answer, &folder, error) &&
           (!first->events || timeline_write(options, folder, first, &results[0], answer, error)) &&
           (folder == NULL || output_folder_commit(folder, error));
}

static int tell(const OperatorOptions *options, const GArray *specs, const OperatorResult *results,
                const OperatorAnswer *answer) {
    g_autoptr(GError) error = NULL;

    if (!files_write(options, specs, results, answer, &error))
        return catalogue_fail(error);
    return operator_answer_print(answer, options);
}

static int run_all(const OperatorOptions *options, const GArray *specs, const Platform *platform) {
    g_autoptr(GError) error = NULL;
    g_autofree OperatorResult *results = g_new0(OperatorResult, specs->len);
    const OperatorSpec *first = &g_array_index(specs, OperatorSpec, 0);

    if (!operator_run_all(first, specs->len, platform, results, &error))
        return catalogue_fail(error);
    g_auto(OperatorAnswer) answer = answer_of(specs, results, platform);
    int status = tell(options, specs, results, &answer);
    for (guint i = 0; i < specs->len; i++)
        operator_result_clear(&results[i]);
    return status;
}

static gboolean kind_is_elsewhere(const OperatorOptions *options, const Platform *platform,
                                  GError **error) {
    g_autofree char *all = g_strjoinv(", ", (char **)operator_kind_names);

    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "infergrid operator: '%s' does not run on the clusters of '%s'; expected one of: "
                "%s, or a wafer after '--platform'",
                options->kind, platform->name, all);
    return FALSE;
}

static gboolean kind_read(const OperatorOptions *options, const Platform *platform,
                          OperatorKind *kind, GError **error) {
    for (guint i = 0; operator_kind_names[i] != NULL; i++)
        if (strcmp(operator_kind_names[i], options->kind) == 0) {
            *kind = (OperatorKind)i;
            return TRUE;
        }
    return kind_is_elsewhere(options, platform, error);
}

static int operator_command(const void *target) {
    const OperatorOptions *options = target;
    const char *name = options->platform == NULL ? "mt3000" : options->platform;
    g_autoptr(GError) error = NULL;
    OperatorKind kind;

    if (!catalogue_check_environment(&error) || !operator_files_are_right(options, &error))
        return catalogue_fail(error);
    g_autoptr(YamlNode) section = section_load(SECTION_PLATFORM, name, "--platform", &error);
    g_autoptr(Platform) platform = section == NULL ? NULL : platform_read(section, &error);
    if (platform == NULL)
        return catalogue_fail(error);
    if (platform->kind == DEVICE_WAFER)
        return operator_mesh_command(options, platform);
    if (platform->kind == DEVICE_GPU) {
        g_set_error(&error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "infergrid operator: '%s' is of kind 'gpu', whose operators follow from its "
                    "roofline: infergrid roofline shows them",
                    platform->name);
        return catalogue_fail(error);
    }
    if (!kind_read(options, platform, &kind, &error) || !usage_is_right(options, kind, &error))
        return catalogue_fail(error);
    g_autoptr(GArray) specs = specs_read(options, kind, platform, &error);
    return specs == NULL ? catalogue_fail(error) : run_all(options, specs, platform);
}

/* Of clusters and of meshes; 'allreduce' is a word of both. */
static const char *const operator_words[] = {
    "gemm",           "attention",   "allreduce", "meshgemm",      "cannon",    "summa",
    "allgather-gemm", "dist-gemm-t", "meshgemv",  "gemv-pipeline", "gemv-ring", NULL};

static const Argument operator_arguments[] = {
    {"OPERATOR", OPTION_OFFSET(kind), TRUE, operator_words,
     "gemm, attention or allreduce on clusters; allreduce and the others on a wafer, where a list "
     "such as meshgemm,cannon is swept"},
};

const Command command_operator = {
    .name = "operator",
    .summary = "simulate one operator, block by block",
    .description =
        "Simulates one operator alone on a cluster (allreduce: on a ring of clusters) from its "
        "blocks, transfers and thread-group launches, and prints latency, rate and share of peak, "
        "what bounds it, bytes for each kind of transfer and tier, and its blocks against the "
        "capacities; or, on a wafer, over the cores of its mesh from their kernels and messages, "
        "with cycles split into computing, communicating and waiting, hops, routing stages, "
        "routing "
        "paths and bytes held. Rates count multiply-accumulates, not floating-point operations. "
        "Lists of sizes are swept, all with all, and printed as CSV.",
    .arguments = operator_arguments,
    .n_arguments = G_N_ELEMENTS(operator_arguments),
    .lists = TRUE,
    .options = operator_options,
    .n_options = N_OPERATOR_OPTIONS,
    .target_size = sizeof(OperatorOptions),
    .example = "  # a Linear operator, its blocks as a timeline, its numbers checked\n"
               "  infergrid operator gemm -M 2048 -K 4096 -N 4096 --verify -o results/gemm\n"
               "  # the first millisecond of its transfers, for Perfetto and for ViTE\n"
               "  infergrid operator gemm -M 2048 -K 4096 -N 4096 --timeline gemm.json.gz \\\n"
               "      --timeline gemm.paje --window ':1 ms' --lanes transfers\n"
               "  # how decode attention grows with the context\n"
               "  infergrid operator attention --new 1 --past 1023,2047,4095 --batch 16\n"
               "  # a product over a wafer's cores, and three ways to compute it over four grids\n"
               "  infergrid operator meshgemm --platform wse2 --grid 720 -M 8192\n"
               "  infergrid operator meshgemm,cannon,summa --platform wse2 -M 2048,4096,8192 \\\n"
               "      --grid 360,480,600,720 --plot figure9.svg\n"
               "  # sums of 4 elements over rows of 8 cores, each core's numbers checked\n"
               "  infergrid operator allreduce --platform wse2 --grid 8 --elements 4 --verify\n",
    .run = operator_command,
};
