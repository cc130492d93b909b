#include "analysis/commands/catalogue.h"
#include "analysis/commands/operator_options.h"
#include "analysis/operators/mesh_plot.h"
#include "analysis/operators/mesh_report.h"
#include "analysis/operators/sweep.h"
#include "analysis/output/gnuplot.h"
#include "analysis/output/output_folder.h"
#include "analysis/timeline/mesh_timeline.h"
#include "workloads/input_error.h"
#include <stdio.h>
#include <string.h>

#define WHO "infergrid operator"
#define SIZE_MAX_COUNT 16777216 /* products of three stay exact in a double */
#define SPEC_OFFSET(member) G_STRUCT_OFFSET(MeshRunSpec, member)
#define BIT(kind) (1u << (kind))

/* Besides a bit for each MeshOperator one for whatever has a K-tree. */
#define HAS_TREE BIT(N_MESH_OPERATORS)
#define PRODUCTS                                                                                   \
    (BIT(MESH_OPERATOR_MESHGEMM) | BIT(MESH_OPERATOR_CANNON) | BIT(MESH_OPERATOR_SUMMA) |          \
     BIT(MESH_OPERATOR_ALLGATHER) | BIT(MESH_OPERATOR_TRANSPOSED))
#define VECTOR_PRODUCTS                                                                            \
    (BIT(MESH_OPERATOR_MESHGEMV) | BIT(MESH_OPERATOR_GEMV_PIPELINE) | BIT(MESH_OPERATOR_GEMV_RING))
#define REDUCE BIT(MESH_OPERATOR_ALL_REDUCE)

static const SizeOption size_options[] = {
    {"-M", PRODUCTS, OPTION_OFFSET(m), SPEC_OFFSET(m), NULL, 1, SIZE_MAX_COUNT, DIMENSION_COUNT},
    {"-K", PRODUCTS | VECTOR_PRODUCTS, OPTION_OFFSET(k), SPEC_OFFSET(k), SIZE_LEFT_OPEN, 1,
     SIZE_MAX_COUNT, DIMENSION_COUNT},
    {"-N", PRODUCTS | VECTOR_PRODUCTS, OPTION_OFFSET(n), SPEC_OFFSET(n), SIZE_LEFT_OPEN, 1,
     SIZE_MAX_COUNT, DIMENSION_COUNT},
    {"--elements", REDUCE, OPTION_OFFSET(elements), SPEC_OFFSET(elements), NULL, 1, SIZE_MAX_COUNT,
     DIMENSION_COUNT},
    {"--k", HAS_TREE, OPTION_OFFSET(k_tree), SPEC_OFFSET(k_tree), SIZE_LEFT_OPEN, 0, 0,
     DIMENSION_COUNT},
};

static const KindOption kind_options[] = {
    {"--algorithm", OPTION_OFFSET(algorithm), FALSE, REDUCE},
    {"--no-broadcast", OPTION_OFFSET(no_broadcast), TRUE, REDUCE | VECTOR_PRODUCTS},
    {"--routing", OPTION_OFFSET(routing), FALSE,
     BIT(MESH_OPERATOR_SUMMA) | BIT(MESH_OPERATOR_ALLGATHER)},
    {"--every-step", OPTION_OFFSET(every_step), TRUE, PRODUCTS},
    {"--heads", OPTION_OFFSET(heads), FALSE, 0},
    {"--kv-heads", OPTION_OFFSET(kv_heads), FALSE, 0},
    {"--head-dim", OPTION_OFFSET(head_dim), FALSE, 0},
    {"--new", OPTION_OFFSET(new_tokens), FALSE, 0},
    {"--past", OPTION_OFFSET(past_tokens), FALSE, 0},
    {"--batch", OPTION_OFFSET(batch), FALSE, 0},
    {"--ranks", OPTION_OFFSET(ranks), FALSE, 0},
    {"--bytes", OPTION_OFFSET(bytes), FALSE, 0},
    {"--blocks", OPTION_OFFSET(blocks), FALSE, 0},
    {"--variant", OPTION_OFFSET(variant), FALSE, 0},
    {"--untiled", OPTION_OFFSET(untiled), TRUE, 0},
    {"--causal", OPTION_OFFSET(causal), TRUE, 0},
};

/* The bits of everything that a run is. */
static guint kinds_of(const MeshRunSpec *spec) {
    gboolean tree = spec->kind == MESH_OPERATOR_MESHGEMV ||
                    spec->kind == MESH_OPERATOR_TRANSPOSED ||
                    (spec->kind == MESH_OPERATOR_ALL_REDUCE && spec->algorithm == MESH_REDUCE_TREE);

    return BIT(spec->kind) | (tree ? HAS_TREE : 0);
}

static gboolean usage_is_right(const OperatorOptions *options, guint kinds, GError **error) {
    for (gsize i = 0; i < G_N_ELEMENTS(size_options); i++) {
        const SizeOption *size = &size_options[i];
        KindOption option = {size->shown, size->option, FALSE, size->kinds};
        if (!operator_option_fits(options, &option, kinds, error))
            return FALSE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(kind_options); i++)
        if (!operator_option_fits(options, &kind_options[i], kinds, error))
            return FALSE;
    if (!options->full || !options->folded)
        return TRUE;
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                        WHO ": options '--full' and '--folded' exclude each other");
    return FALSE;
}

/* --- reading the operators */

static gboolean set_error(GError **error, InputErrorCode code, char *message) {
    g_autofree char *owned = message;

    g_set_error_literal(error, INPUT_ERROR, (gint)code, owned);
    return FALSE;
}

static gboolean kind_parse(const char *word, const Platform *platform, guint *kind,
                           GError **error) {
    for (guint i = 0; i < N_MESH_OPERATORS; i++)
        if (strcmp(mesh_operator_names[i], word) == 0) {
            *kind = i;
            return TRUE;
        }
    g_autofree char *all = g_strjoinv(", ", (char **)mesh_operator_names);
    return set_error(error, INPUT_ERROR_CONFLICT,
                     g_strdup_printf(WHO ": '%s' does not run on the mesh of '%s'; expected one "
                                         "of: %s",
                                     word, platform->name, all));
}

/* A list of guint; of one family, so that all have the same sizes and figures. */
static GArray *kinds_read(const OperatorOptions *options, const Platform *platform,
                          GError **error) {
    g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(guint));
    g_auto(GStrv) words = g_strsplit(options->kind, ",", -1);

    for (char **word = words; *word != NULL; word++) {
        guint kind = 0;
        if (!kind_parse(*word, platform, &kind, error))
            return NULL;
        g_array_append_val(kinds, kind);
        guint first = g_array_index(kinds, guint, 0);
        if (mesh_operator_family((MeshOperator)kind) == mesh_operator_family((MeshOperator)first))
            continue;
        set_error(error, INPUT_ERROR_CONFLICT,
                  g_strdup_printf(WHO ": '%s' and '%s' have different sizes and cannot be swept "
                                      "together",
                                  words[0], *word));
        return NULL;
    }
    return g_steal_pointer(&kinds);
}

static gboolean side_parse(const char *text, guint *side) {
    guint64 value = 0;

    if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXUINT16, &value, NULL))
        return FALSE;
    *side = (guint)value;
    return TRUE;
}

/* "720" or "750x994". */
static gboolean grid_parse(const char *text, MeshGrid *grid, GError **error) {
    g_auto(GStrv) sides = g_strsplit(text, "x", -1);
    guint n = g_strv_length(sides);

    if (n >= 1 && n <= 2 && side_parse(sides[0], &grid->columns) &&
        side_parse(sides[n - 1], &grid->rows))
        return TRUE;
    return set_error(error, INPUT_ERROR_VALUE,
                     g_strdup_printf("--grid: expected a number of cores such as '720' or columns "
                                     "and rows such as '750x994', not '%s'",
                                     text));
}

static GArray *grids_read(const OperatorOptions *options, GError **error) {
    g_autoptr(GArray) grids = g_array_new(FALSE, FALSE, sizeof(MeshGrid));

    if (options->grid == NULL) {
        set_error(error, INPUT_ERROR_MISSING,
                  g_strdup_printf(WHO ": %s needs option '--grid'", options->kind));
        return NULL;
    }
    g_auto(GStrv) parts = g_strsplit(options->grid, ",", -1);
    for (char **part = parts; *part != NULL; part++) {
        MeshGrid grid = {0, 0};
        if (!grid_parse(g_strstrip(*part), &grid, error))
            return NULL;
        g_array_append_val(grids, grid);
    }
    return g_steal_pointer(&grids);
}

static gboolean base_read(const OperatorOptions *options, MeshRunSpec *base, GError **error) {
    static const char *const types[N_DATA_TYPES + 1] = {"fp16", "bf16", "fp32", NULL};
    static const SizeOption seed = {.shown = "--seed", .dimension = DIMENSION_COUNT};
    const char *dtype = options->dtype == NULL ? "fp16" : options->dtype;
    const char *how = options->routing == NULL ? "auto" : options->routing;
    int type = sweep_choose("--dtype", "data type", dtype, types, error);
    int routing =
        type < 0 ? -1 : sweep_choose("--routing", "routing", how, mesh_routing_names, error);

    if (routing < 0)
        return FALSE;
    *base = (MeshRunSpec){.no_broadcast = options->no_broadcast,
                          .routing = (MeshRouting)routing,
                          .type = (DataType)type,
                          .full = options->full || (options->verify && !options->folded),
                          .every_step = options->every_step,
                          .verify = options->verify,
                          .seed = 1};
    return options->seed == NULL || sweep_size_parse(&seed, options->seed, &base->seed, error);
}

/* A spec for each operator and, of all-reduces, each algorithm. */
static GArray *bases_read(const OperatorOptions *options, const Platform *platform,
                          GError **error) {
    const char *words = options->algorithm == NULL ? "tree" : options->algorithm;
    g_autoptr(GArray) kinds = kinds_read(options, platform, error);
    g_autoptr(GArray) algorithms =
        kinds == NULL ? NULL
                      : sweep_choices("--algorithm", "algorithm", words, mesh_reduce_names, error);
    MeshRunSpec base;

    if (algorithms == NULL || !base_read(options, &base, error))
        return NULL;
    GArray *bases = g_array_new(FALSE, FALSE, sizeof(MeshRunSpec));
    g_array_append_val(bases, base);
    bases = sweep_multiply(bases, SPEC_OFFSET(kind), kinds, WHO, error);
    return bases == NULL ? NULL
                         : sweep_multiply(bases, SPEC_OFFSET(algorithm), algorithms, WHO, error);
}

/* Sizes that were left open: a square matrix; two levels of a tree, but one where the sums of a
 * step should stay out of the next one's way. */
static gboolean spec_complete(MeshRunSpec *spec, const OperatorOptions *options, GError **error) {
    if (options->k_tree == NULL && (kinds_of(spec) & HAS_TREE) != 0)
        spec->k_tree =
            MIN(spec->kind == MESH_OPERATOR_TRANSPOSED ? 1 : 2, MAX(mesh_run_most_levels(spec), 1));
    if (spec->kind == MESH_OPERATOR_ALL_REDUCE)
        return TRUE;
    if (spec->k == 0)
        spec->k = spec->m;
    if (spec->k == 0)
        return set_error(error, INPUT_ERROR_MISSING,
                         g_strdup_printf(WHO ": %s needs option '-K'", options->kind));
    if (spec->n == 0)
        spec->n = spec->k;
    return TRUE;
}

static GArray *specs_expand(const OperatorOptions *options, const GArray *bases,
                            const GArray *grids, GError **error) {
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(MeshRunSpec));
    SizeTable table = {WHO, options->kind, size_options, G_N_ELEMENTS(size_options), options};

    for (guint i = 0; i < bases->len; i++) {
        const MeshRunSpec *base = &g_array_index(bases, MeshRunSpec, i);
        GArray *one = g_array_new(FALSE, FALSE, sizeof(MeshRunSpec));
        g_array_append_vals(one, base, 1);
        one = sweep_expand(one, &table, kinds_of(base), error);
        one = one == NULL ? NULL : sweep_multiply(one, SPEC_OFFSET(grid), grids, WHO, error);
        if (one == NULL)
            return NULL;
        g_array_append_vals(all, one->data, one->len);
        g_array_unref(one);
    }
    return g_steal_pointer(&all);
}

/* Whether a timeline can show it; 'crowded': it had too many events. */
static gboolean is_small(const MeshRunSpec *spec, gboolean crowded, GError **error) {
    if (!crowded && (guint64)spec->grid.columns * spec->grid.rows <= MESH_EVENTS_CORES_MAX)
        return TRUE;
    return set_error(error, INPUT_ERROR_CONFLICT,
                     g_strdup_printf("--timeline: shows at most %d cores and %d stretches of their "
                                     "time, which %u × %u cores exceed",
                                     MESH_EVENTS_CORES_MAX, MESH_EVENTS_MAX, spec->grid.columns,
                                     spec->grid.rows));
}

static GArray *specs_read(const OperatorOptions *options, const Platform *platform,
                          GError **error) {
    g_autoptr(GArray) bases = bases_read(options, platform, error);
    guint kinds = 0;

    if (bases == NULL)
        return NULL;
    for (guint i = 0; i < bases->len; i++)
        kinds |= kinds_of(&g_array_index(bases, MeshRunSpec, i));
    if (!usage_is_right(options, kinds, error))
        return NULL;
    g_autoptr(GArray) grids = grids_read(options, error);
    g_autoptr(GArray) specs = grids == NULL ? NULL : specs_expand(options, bases, grids, error);
    if (specs == NULL || !operator_timeline_fits(options, specs->len, error))
        return NULL;
    if (options->timeline.files != NULL &&
        !is_small(&g_array_index(specs, MeshRunSpec, 0), FALSE, error))
        return NULL;
    for (guint i = 0; i < specs->len; i++) {
        MeshRunSpec *spec = &g_array_index(specs, MeshRunSpec, i);
        spec->heat = specs->len == 1 && options->output != NULL;
        spec->events = specs->len == 1 && operator_wants_events(options);
        if (!spec_complete(spec, options, error) || !mesh_run_check(spec, platform, error))
            return NULL;
    }
    return g_steal_pointer(&specs);
}

/* --- telling what was found */

static OperatorAnswer answer_of(const MeshPicture *picture, const Platform *platform) {
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)facts_free);
    gboolean right = TRUE;

    for (gsize i = 0; i < picture->n; i++) {
        g_ptr_array_add(all, mesh_report(&picture->specs[i], &picture->results[i], platform));
        right &= picture->results[i].check.worst <= 1;
    }
    OperatorAnswer answer = operator_answer_new(all, picture->title);
    answer.right = right;
    return answer;
}

/* Without gnuplot there is no picture; the figures are worth having all the same. */
static gboolean heat_write(OutputFolder *folder, const MeshPicture *picture, GError **error) {
    g_autofree char *path = output_folder_file(folder, "heatmap.svg");
    g_autoptr(GError) missing = NULL;

    if (gnuplot_possible(path, "--output", WHO, &missing))
        return mesh_plot_heat(picture, path, error);
    fprintf(stderr, "%s; heatmap.svg is left out\n", missing->message);
    return TRUE;
}

/* Of a mesh that is small enough to have kept its events; of others --output has none. 'folder' may
 * be NULL. */
static gboolean timeline_write(const OperatorOptions *options, const OutputFolder *folder,
                               const MeshPicture *picture, const OperatorAnswer *answer,
                               double end_s, GError **error) {
    const MeshRunSpec *spec = &picture->specs[0];
    const MeshRunResult *result = &picture->results[0];
    TraceWindow window = timeline_settings_window(&options->timeline);
    g_autoptr(TraceSink) sink = NULL;

    if (result->events == NULL)
        return options->timeline.files == NULL || is_small(spec, TRUE, error);
    sink = operator_timeline_open(options, answer, folder, end_s, error);
    if (sink == NULL)
        return FALSE;
    mesh_timeline_put(spec, result, &window, sink);
    return trace_sink_finish(sink, error);
}

static gboolean files_write(const OperatorOptions *options, const MeshPicture *picture,
                            const OperatorAnswer *answer, double end_s, GError **error) {
    const MeshRunSpec *first = &picture->specs[0];
    g_autoptr(OutputFolder) folder = NULL;

    return operator_folder_open(options, answer, &folder, error) &&
           (!first->heat || heat_write(folder, picture, error)) &&
           (!first->events || timeline_write(options, folder, picture, answer, end_s, error)) &&
           (folder == NULL || output_folder_commit(folder, error));
}

static int tell(const OperatorOptions *options, const MeshPicture *picture,
                const Platform *platform) {
    g_auto(OperatorAnswer) answer = answer_of(picture, platform);
    g_autoptr(GError) error = NULL;

    double seconds = picture->results[0].totals.cycles / platform->mesh.clock_hz;

    if (!files_write(options, picture, &answer, seconds, &error))
        return catalogue_fail(error);
    if (options->plot != NULL && !mesh_plot_sweep(picture, options->plot, &error))
        return catalogue_fail(error);
    return operator_answer_print(&answer, options);
}

static char *title_of(const MeshRunSpec *spec, gsize n, const Platform *platform) {
    if (n > 1)
        return g_strdup_printf("cycles on %s, %s", platform->name, data_type_name(spec->type));
    return g_strdup_printf("%s on %u × %u cores of %s", mesh_operator_names[spec->kind],
                           spec->grid.columns, spec->grid.rows, platform->name);
}

static int run_all(const OperatorOptions *options, const GArray *specs, const Platform *platform) {
    g_autoptr(GError) error = NULL;
    g_autofree MeshRunResult *results = g_new0(MeshRunResult, specs->len);
    const MeshRunSpec *first = &g_array_index(specs, MeshRunSpec, 0);
    g_autofree char *title = title_of(first, specs->len, platform);
    MeshPicture picture = {title, first, results, specs->len};

    if (!mesh_run_all(first, specs->len, platform, results, &error))
        return catalogue_fail(error);
    int status = tell(options, &picture, platform);
    for (guint i = 0; i < specs->len; i++)
        mesh_run_result_clear(&results[i]);
    return status;
}

static gboolean plot_is_possible(const OperatorOptions *options, GError **error) {
    if (options->plot == NULL)
        return TRUE;
    if (options->force || !g_file_test(options->plot, G_FILE_TEST_EXISTS))
        return gnuplot_possible(options->plot, "--plot", WHO, error);
    return set_error(error, INPUT_ERROR_CONFLICT,
                     g_strdup_printf("'%s' exists (use --force to replace it)", options->plot));
}

int operator_mesh_command(const OperatorOptions *options, const Platform *platform) {
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) specs =
        plot_is_possible(options, &error) ? specs_read(options, platform, &error) : NULL;

    return specs == NULL ? catalogue_fail(error) : run_all(options, specs, platform);
}
