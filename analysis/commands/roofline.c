#include "analysis/commands/catalogue.h"
#include "analysis/operators/operator_report.h"
#include "analysis/operators/roofline_plot.h"
#include "platforms/device.h"
#include "policies/fusion_units.h"
#include "workloads/experiment_file.h"
#include "workloads/input_error.h"
#include "workloads/op_graph.h"
#include <string.h>

#define TOKENS_MAX 1048576
#define SERIES_MAX 6

typedef struct RooflineOptions {
    char *platform, *model;
    char *tokens, *past;
    char *output;
    gboolean force;
} RooflineOptions;

/* The operators that are drawn, and what was found of each. */
typedef struct Drawing {
    const Platform *platform;
    const Model *model;
    guint32 past;
    GArray *ops;       /* Op */
    GArray *specs;     /* OperatorSpec, of them */
    GArray *points;    /* RooflinePoint */
    GPtrArray *series; /* char *, NULL-terminated once complete */
    GPtrArray *bounds; /* static texts, by point */
    GStringChunk *names;
} Drawing;

static void drawing_clear(Drawing *drawing) {
    g_array_unref(drawing->ops);
    g_array_unref(drawing->specs);
    g_array_unref(drawing->points);
    g_ptr_array_unref(drawing->series);
    g_ptr_array_unref(drawing->bounds);
    g_string_chunk_free(drawing->names);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Drawing, drawing_clear)

static gboolean count_parse(const char *option, const char *text, double min, guint32 *value,
                            GError **error) {
    double number = 0;
    const char *expected = units_parse(text, DIMENSION_COUNT, &number);

    if (expected != NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s: expected %s, not '%s'", option,
                    expected, text);
        return FALSE;
    }
    if (number < min || number > TOKENS_MAX) {
        gboolean low = number < min;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s: must be at %s %.0f, not %s", option,
                    low ? "least" : "most", low ? min : TOKENS_MAX, text);
        return FALSE;
    }
    *value = (guint32)number;
    return TRUE;
}

static OperatorSpec spec_of_linear(const Op *op) {
    return (OperatorSpec){.kind = OPERATOR_GEMM,
                          .gemm = {op->m, op->n, op->k, op->data_type},
                          .blocks = gemm_blocks_paper(op->data_type)};
}

static OperatorSpec spec_of_attention(const Op *op) {
    AttentionShape shape = {.heads = op->heads,
                            .kv_heads = op->kv_heads,
                            .head_dim = op->k,
                            .new_tokens = op->m,
                            .past_tokens = op->n - op->m,
                            .batch = 1,
                            .type = op->data_type,
                            .variant = ATTENTION_MT,
                            .causal = TRUE};

    return (OperatorSpec){
        .kind = OPERATOR_ATTENTION, .attention = shape, .grain = ATTENTION_GRAIN_STAGE};
}

/* Operators of one shape are one point: "q k v". FALSE when 'op' is the first of its shape. */
static gboolean joins_point(Drawing *drawing, const Op *op, guint series) {
    for (guint i = 0; i < drawing->points->len; i++) {
        RooflinePoint *point = &g_array_index(drawing->points, RooflinePoint, i);
        const OperatorSpec *spec = &g_array_index(drawing->specs, OperatorSpec, i);
        if (point->series != series || op->kind != OP_LINEAR || spec->kind != OPERATOR_GEMM ||
            spec->gemm.n != op->n || spec->gemm.k != op->k)
            continue;
        g_autofree char *names = g_strdup_printf("%s %s", point->name, op->name);
        point->name = g_string_chunk_insert_const(drawing->names, names);
        return TRUE;
    }
    return FALSE;
}

/* The Linear and attention operators of a layer for one request: a token that is decoded after
 * 'past', or a prompt of several. */
static void add_series(Drawing *drawing, guint32 tokens) {
    Segment segment = {tokens, tokens == 1 ? drawing->past : 0};
    BatchShape batch = {.segments = &segment, .n_segments = 1, .sampled = 1};
    FusionUnitsInput by_itself = {.model = drawing->model,
                                  .cluster = &drawing->platform->cluster,
                                  .tp = 1,
                                  .attention = drawing->platform->kind == DEVICE_GPU
                                                   ? ATTENTION_POLICY_FLASH
                                                   : ATTENTION_POLICY_MT};
    g_autoptr(ModelUnits) units = fusion_units_new(&by_itself);
    g_autoptr(OpGraph) graph = op_graph_layer(units, &batch);
    guint series = drawing->series->len;

    for (guint i = 0; i < graph->ops->len; i++) {
        const Op *op = &g_array_index(graph->ops, Op, i);
        gboolean linear = op->kind == OP_LINEAR;
        if ((!linear && op->kind != OP_ATTENTION) || joins_point(drawing, op, series))
            continue;
        OperatorSpec spec = linear ? spec_of_linear(op) : spec_of_attention(op);
        RooflinePoint point = {.name = op->name, .series = series};
        g_array_append_vals(drawing->ops, op, 1);
        g_array_append_val(drawing->specs, spec);
        g_array_append_val(drawing->points, point);
    }
    g_ptr_array_add(drawing->series, tokens == 1 ? g_strdup_printf("decode after %u", drawing->past)
                                                 : g_strdup_printf("prompt of %u", tokens));
}

static gboolean series_read(Drawing *drawing, const RooflineOptions *options, GError **error) {
    g_auto(GStrv) words = g_strsplit(options->tokens == NULL ? "1,512" : options->tokens, ",", -1);

    if (!count_parse("--past", options->past == NULL ? "1024" : options->past, 0, &drawing->past,
                     error))
        return FALSE;
    if (g_strv_length(words) > SERIES_MAX) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "--tokens: at most %d of them fit a "
                    "picture, not %u",
                    SERIES_MAX, g_strv_length(words));
        return FALSE;
    }
    for (char **word = words; *word != NULL; word++) {
        guint32 tokens;
        if (!count_parse("--tokens", g_strstrip(*word), 1, &tokens, error))
            return FALSE;
        add_series(drawing, tokens);
    }
    g_ptr_array_add(drawing->series, NULL);
    return TRUE;
}

static double macs_of(const OperatorSpec *spec) {
    const GemmShape *shape = &spec->gemm;

    return spec->kind == OPERATOR_ATTENTION
               ? attention_macs(&spec->attention)
               : (double)shape->m * (double)shape->n * (double)shape->k;
}

static void add_found(Drawing *drawing, guint i, double macs_per_byte, double macs_per_s,
                      const char *bound) {
    RooflinePoint *point = &g_array_index(drawing->points, RooflinePoint, i);

    point->macs_per_byte = macs_per_byte;
    point->macs_per_s = macs_per_s;
    g_ptr_array_add(drawing->bounds, (gpointer)bound);
}

/* On a GPU the cost model says what each takes. */
static void estimate(Drawing *drawing) {
    g_autoptr(OpCosts) costs = op_costs_new((OpModes){.attention = OP_ATTENTION_FLASH});
    DeviceModel device = device_model(drawing->platform, costs);

    for (guint i = 0; i < drawing->ops->len; i++) {
        UnitCost cost = device.class->op_cost(&device, &g_array_index(drawing->ops, Op, i));
        gboolean memory = cost.memory_s / drawing->platform->gpu.bandwidth_share >= cost.seconds;
        add_found(drawing, i, cost.macs / cost.memory_bytes, cost.macs / cost.seconds,
                  memory ? "memory" : operator_bound_name(BOUND_COMPUTE));
    }
}

static gboolean simulate(Drawing *drawing, GError **error) {
    guint n = drawing->specs->len;
    g_autofree OperatorResult *results = g_new(OperatorResult, n);
    const OperatorSpec *specs = &g_array_index(drawing->specs, OperatorSpec, 0);

    if (!operator_run_all(specs, n, drawing->platform, results, error))
        return FALSE;
    for (guint i = 0; i < n; i++) {
        OperatorTimes times = operator_times(&results[i].counts, &drawing->platform->cluster);

        add_found(drawing, i, macs_of(&specs[i]) / operator_ddr_bytes(&results[i].counts),
                  macs_of(&specs[i]) / results[i].seconds,
                  operator_bound_name(operator_bound(&times)));
        operator_result_clear(&results[i]);
    }
    return TRUE;
}

/* The points as CSV, with the share of the roof above each. */
static char *points_text(const Drawing *drawing) {
    GString *out = g_string_new("operator,tokens,mac_per_byte,gmac_per_s,roof_share,bound\n");
    double peak = platform_peak_macs(drawing->platform, drawing->model->data_type);

    for (guint i = 0; i < drawing->points->len; i++) {
        const RooflinePoint *point = &g_array_index(drawing->points, RooflinePoint, i);
        double roof = MIN(peak, point->macs_per_byte * drawing->platform->cluster.ddr_bytes_per_s);
        char intensity[G_ASCII_DTOSTR_BUF_SIZE], rate[G_ASCII_DTOSTR_BUF_SIZE],
            share[G_ASCII_DTOSTR_BUF_SIZE];

        g_string_append_printf(
            out, "%s,%s,%s,%s,%s,%s\n", point->name,
            (const char *)g_ptr_array_index(drawing->series, point->series),
            g_ascii_formatd(intensity, sizeof intensity, "%.4g", point->macs_per_byte),
            g_ascii_formatd(rate, sizeof rate, "%.4g", point->macs_per_s / 1e9),
            g_ascii_formatd(share, sizeof share, "%.3f", point->macs_per_s / roof),
            (const char *)g_ptr_array_index(drawing->bounds, i));
    }
    return g_string_free(out, FALSE);
}

static int draw(const Drawing *drawing, const char *path) {
    g_autoptr(GError) error = NULL;
    gboolean gpu = drawing->platform->kind == DEVICE_GPU;
    g_autofree char *title = g_strdup_printf("%s, a layer on one %s of %s", drawing->model->name,
                                             gpu ? "GPU" : "cluster", drawing->platform->name);
    Roofline roofline = {
        .title = title,
        .peak_macs_per_s = platform_peak_macs(drawing->platform, drawing->model->data_type),
        .memory = gpu ? "memory" : "DDR",
        .bytes_per_s = drawing->platform->cluster.ddr_bytes_per_s,
        .series = (const char *const *)drawing->series->pdata,
        .points = &g_array_index(drawing->points, RooflinePoint, 0),
        .n_points = drawing->points->len,
    };
    g_autofree char *text = points_text(drawing);

    if (!roofline_plot(&roofline, path, &error))
        return catalogue_fail(error);
    return catalogue_print(text);
}

static gboolean usage_is_right(const RooflineOptions *options, GError **error) {
    if (options->model == NULL || options->output == NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                    "infergrid roofline: missing option '--%s'",
                    options->model == NULL ? "model" : "output");
        return FALSE;
    }
    if (options->force || !g_file_test(options->output, G_FILE_TEST_EXISTS))
        return roofline_plot_possible(options->output, error);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "'%s' exists (use --force to replace it)",
                options->output);
    return FALSE;
}

static int roofline_run(const void *target) {
    const RooflineOptions *options = target;
    const char *machine = options->platform == NULL ? "mt3000" : options->platform;
    g_autoptr(GError) error = NULL;

    if (!usage_is_right(options, &error) || !catalogue_check_environment(&error))
        return catalogue_fail(error);
    g_autoptr(YamlNode) platform_node =
        section_load(SECTION_PLATFORM, machine, "--platform", &error);
    g_autoptr(Platform) platform =
        platform_node == NULL ? NULL : platform_read(platform_node, &error);
    g_autoptr(YamlNode) model_node =
        platform == NULL ? NULL : section_load(SECTION_MODEL, options->model, "--model", &error);
    g_autoptr(Model) model = model_node == NULL ? NULL : model_read(model_node, &error);
    gboolean gpu = platform != NULL && platform->kind == DEVICE_GPU;
    if (model == NULL || !(gpu ? catalogue_check_dense("roofline", model, &error)
                               : catalogue_check_clusters("roofline", platform, model, &error)))
        return catalogue_fail(error);
    g_auto(Drawing) drawing = {.platform = platform,
                               .model = model,
                               .ops = g_array_new(FALSE, FALSE, sizeof(Op)),
                               .specs = g_array_new(FALSE, FALSE, sizeof(OperatorSpec)),
                               .points = g_array_new(FALSE, FALSE, sizeof(RooflinePoint)),
                               .series = g_ptr_array_new_with_free_func(g_free),
                               .bounds = g_ptr_array_new(),
                               .names = g_string_chunk_new(256)};
    if (!series_read(&drawing, options, &error) || (!gpu && !simulate(&drawing, &error)))
        return catalogue_fail(error);
    if (gpu)
        estimate(&drawing);
    return draw(&drawing, options->output);
}

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(RooflineOptions, member)

static const Option roofline_options[] = {
    {"platform", 'p', OPTION_TEXT, OPTION_OFFSET(platform), "PLATFORM", "mt3000",
     "the machine, a YAML file or the name of a shipped one"},
    {"model", 'm', OPTION_TEXT, OPTION_OFFSET(model), "MODEL", "none, it must be given",
     "the model, a config.json or the name of a shipped one"},
    {"tokens", 0, OPTION_TEXT, OPTION_OFFSET(tokens), "LIST", "1,512",
     "new tokens of a request, one set of points each: 1 is a decode step, more are a prompt"},
    {"past", 0, OPTION_TEXT, OPTION_OFFSET(past), "TOKENS", "1024",
     "tokens before the one that is decoded"},
    {"output", 'o', OPTION_TEXT, OPTION_OFFSET(output), "FILE", "none, it must be given",
     "the picture, .svg or .pdf"},
    {"force", 'f', OPTION_FLAG, OPTION_OFFSET(force), NULL, "off",
     "replace the picture if it is there"},
};

const Command command_roofline = {
    .name = "roofline",
    .summary = "draw a layer's operators on a device's roofline",
    .description =
        "Simulates the Linear and attention operators of one layer on one cluster, without "
        "launches, and draws their rates over their multiply-accumulates per byte of DDR, under "
        "the device's peak and the slope of its DDR; on a GPU, takes them from its cost model. "
        "Prints the points as CSV. Needs gnuplot.",
    .options = roofline_options,
    .n_options = G_N_ELEMENTS(roofline_options),
    .target_size = sizeof(RooflineOptions),
    .example = "  infergrid roofline --model llama-2-7b --tokens 1,512 -o roofline.svg\n",
    .run = roofline_run,
};
