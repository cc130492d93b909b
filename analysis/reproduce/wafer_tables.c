/* WaferLLM's tables of whole models on a wafer. Where a ratio to GPUs is published, the GPUs' time
 * is the published one and is said to be. */
#include "analysis/costs/wafer_cost.h"
#include "analysis/reproduce/reproduction_tables.h"
#include "policies/mesh/kv_ledger.h"
#include "policies/mesh/wafer_memory.h"
#include "policies/mesh/wafer_regions.h"
#include "policies/wafer_use.h"
#include "workloads/experiment_file.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

#define TABLE_TOKENS 4096u /* of prompts in tables 3 and 7, of context in 4 and 8 */
#define PREFILL_GRID 720   /* of tables 7 and 8, whose figures are those of 3 and 4 */
#define DECODE_GRID 420
#define GEMV_GRID 750u /* the largest square: table 6 does not say */
/* An A100 SXM's board power; the published ratios follow from it and 15 kW (37.5 times as much). */
#define GPU_WATTS 400.0

#define WAFERLLM "WaferLLM"

static const char *const repeated = "tokens/s are those of tables 3 and 4, where they are compared";
static const char *const prompt_length = "published, a prompt of 2048 tokens takes 0.9 to 1.0 of "
                                         "the time of one of 4096; simulated, what "
                                         "moves grows with the prompt";
static const char *const published_gpu = "the GPUs' time is the published one, at 400 W each";
static const char *const whole_models = "layers only, as in the published kernels: no final norm, "
                                        "no LM head, no shift of KV";
static const char *const phases = "layers only, as in the published kernels: no final norm, no LM "
                                  "head, no shift of KV, no weights moved in from beside the grid";

typedef struct Builder {
    TableBuild *build;
    WaferCosts *costs;
    GPtrArray *models; /* Model *, as they were asked for */
    gboolean listing;  /* costs are wanted, not asked: simulated figures mean nothing yet */
    gboolean prefill;  /* of the two phases that have a table each */
    GError *error;     /* the first one */
} Builder;

/* A published model, how it is shipped, and its grids in table 2. */
typedef struct PublishedModel {
    const char *name, *shipped;
    guint prefill_grid, decode_grid;
} PublishedModel;

static const PublishedModel published_models[] = {
    {"LLaMA3-8B", "llama-3-8b", 660, 360},
    {"LLaMA2-13B", "llama-2-13b", 750, 375},
    {"QWen2-72B", "qwen2-72b", 0, 0},
};

static const struct {
    const char *name;
    WaferSystem system;
} systems[] = {{"WaferLLM", WAFER_WAFERLLM}, {"T10", WAFER_T10}, {"Ladder", WAFER_LADDER}};

/* --- the line */

static const char *text(Builder *builder, guint line, const char *column) {
    const char *word = builder->error != NULL ? NULL
                                              : reference_table_text(builder->build->reference,
                                                                     line, column, &builder->error);
    return word == NULL ? "" : word;
}

static double number(Builder *builder, guint line, const char *column) {
    double value = 0;

    if (builder->error == NULL)
        reference_table_number(builder->build->reference, line, column, &value, &builder->error);
    return value;
}

static const PublishedModel *published_model(const char *name) {
    for (gsize i = 0; i < G_N_ELEMENTS(published_models); i++)
        if (strcmp(published_models[i].name, name) == 0)
            return &published_models[i];
    return NULL;
}

static const Model *load_model(Builder *builder, const PublishedModel *published) {
    for (guint i = 0; i < builder->models->len; i++) {
        const Model *known = g_ptr_array_index(builder->models, i);
        if (strcmp(known->name, published->shipped) == 0)
            return known;
    }
    g_autoptr(YamlNode) section =
        section_load(SECTION_MODEL, published->shipped, "--model", &builder->error);
    Model *model = section == NULL ? NULL : model_read(section, &builder->error);
    if (model != NULL)
        g_ptr_array_add(builder->models, model);
    return model;
}

/* The line's model; NULL with the builder's error. */
static const Model *line_model(Builder *builder, guint line, const PublishedModel **published) {
    const char *name = text(builder, line, "model");
    const PublishedModel *known = published_model(name);

    if (builder->error != NULL)
        return NULL;
    if (known == NULL) {
        g_set_error(&builder->error, INPUT_ERROR, INPUT_ERROR_UNKNOWN,
                    "infergrid reproduce: no shipped model stands for '%s' of the reference data",
                    name);
        return NULL;
    }
    *published = known;
    return load_model(builder, known);
}

static gboolean find_system(const char *name, WaferSystem *system) {
    for (gsize i = 0; i < G_N_ELEMENTS(systems); i++)
        if (strcmp(systems[i].name, name) == 0) {
            *system = systems[i].system;
            return TRUE;
        }
    return FALSE;
}

/* --- simulated figures; zero where they are only listed */

static double seconds(const Builder *builder, double cycles) {
    return cycles / builder->build->platform->mesh.clock_hz;
}

static double decode_s(Builder *builder, const WaferPoint *point) {
    if (builder->error != NULL)
        return 0;
    if (!builder->listing)
        return seconds(builder, wafer_decode_cycles(builder->costs, point, &builder->error));
    wafer_costs_want_decode(builder->costs, point);
    return 0;
}

static double prefill_s(Builder *builder, const WaferPoint *point) {
    if (builder->error != NULL)
        return 0;
    if (!builder->listing)
        return seconds(builder, wafer_prefill_cycles(builder->costs, point, &builder->error));
    wafer_costs_want_prefill(builder->costs, point);
    return 0;
}

static double transition_s(Builder *builder, const WaferTransition *transition) {
    if (builder->error != NULL)
        return 0;
    if (!builder->listing)
        return seconds(builder,
                       wafer_transition_cycles(builder->costs, transition, &builder->error));
    wafer_costs_want_transition(builder->costs, transition);
    return 0;
}

static double gemv_s(Builder *builder, guint64 n) {
    WaferGemv gemv = {.grid = GEMV_GRID, .k = n, .n = n, .type = DATA_TYPE_FP16};

    if (builder->error != NULL)
        return 0;
    if (!builder->listing)
        return seconds(builder, wafer_gemv_cycles(builder->costs, &gemv, &builder->error));
    wafer_costs_want_gemv(builder->costs, &gemv);
    return 0;
}

/* --- cells */

/* A cell of line 'line', with the model and the published figure under 'column'. */
static ReproducedCell cell_of(Builder *builder, guint line, const char *series, const char *column,
                              const char *unit) {
    return (ReproducedCell){.series = series,
                            .row = text(builder, line, "model"),
                            .unit = unit,
                            .published = number(builder, line, column),
                            .simulated = NAN};
}

static const char *to_gpus(Builder *builder, guint line) {
    guint gpus = (guint)number(builder, line, "gpus");

    return reproduction_text(builder->build->reproduction, "to %u A100%s", gpus,
                             gpus == 1 ? "" : "s");
}

static void add(Builder *builder, ReproducedCell cell) {
    Reproduction *reproduction = builder->build->reproduction;

    cell.series = reproduction_text(reproduction, "%s", cell.series);
    cell.row = reproduction_text(reproduction, "%s", cell.row);
    reproduction_add(reproduction, cell);
}

/* The energy of GPUs over that of a wafer in 'wafer_s'. */
static ReproducedCell energy_cell(Builder *builder, guint line, double gpu_j, double wafer_s) {
    ReproducedCell cell = cell_of(builder, line, WAFERLLM, "energy_ratio", "energy ratio");

    cell.column = to_gpus(builder, line);
    cell.simulated = gpu_j / (builder->build->platform->power.cluster_busy_watts * wafer_s);
    cell.note = published_gpu;
    return cell;
}

/* --- table 2 */

/* Published plans count cores by area; where a region has to turn at the wafer's end to fit, its
 * sums along the columns would take longer, which the published times leave no room for. */
static char *turns_text(const Builder *builder, const WaferPoint *point, guint64 outputs) {
    const MeshSpec *mesh = &builder->build->platform->mesh;
    WaferRegions regions = {(guint)mesh->columns, (guint)mesh->rows, point->grid, point->regions};
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint region = 0; region < point->regions; region++)
        if (wafer_regions_turns(&regions, region))
            g_string_append_printf(text, "%s%u", text->len == 0 ? "; region " : ", ", region + 1);
    if (text->len > 0)
        g_string_append_printf(text,
                               " turns at the wafer's end and counts as flat: its turn (%.4f s, "
                               "charged in serving) is left out",
                               seconds(builder, wafer_turn_cycles(mesh, point) * (double)outputs));
    return g_strdup(text->str);
}

/* Layers for which the grid of prompts has no room; none of a wafer where it could not be. */
static guint outside_layers(const Builder *builder, const WaferPoint *point,
                            const PublishedModel *published) {
    WaferNeed need = {
        .model = point->model,
        .mesh = &builder->build->platform->mesh,
        .spec = {.prefill_grid = published->prefill_grid, .system = point->system, .k_tree = 2},
        .max_context = point->tokens};
    WaferUse use = {0};

    return wafer_use_prefill(&need, &use, NULL) ? (guint)use.outside_layers : 0;
}

/* Prompt, the move between the grids, and every token at its own context; what that is made of is
 * the cell's detail. */
static double end_to_end_s(Builder *builder, const PublishedModel *published, WaferPoint point,
                           guint64 outputs, ReproducedCell *cell) {
    guint64 inputs = point.tokens;
    WaferLayout layout = {.model = point.model,
                          .columns = published->decode_grid,
                          .rows = published->decode_grid,
                          .split = WAFER_EVEN_LAYERS};
    guint regions =
        wafer_memory_smallest_regions(&layout, builder->build->platform->mesh.usable_bytes, 0);
    WaferTransition transition = {point.model,
                                  published->prefill_grid,
                                  published->decode_grid,
                                  inputs,
                                  regions,
                                  outside_layers(builder, &point, published)};
    double decode = 0;

    point.grid = published->prefill_grid;
    point.outside = transition.outside;
    double prefill = prefill_s(builder, &point), move = transition_s(builder, &transition);
    point.grid = published->decode_grid;
    point.regions = regions;
    for (guint64 i = 1; i <= outputs; i++) {
        point.tokens = inputs + i;
        decode += decode_s(builder, &point);
    }
    g_autofree char *turns = turns_text(builder, &point, outputs);
    if (point.system == WAFER_WAFERLLM)
        cell->detail = reproduction_text(
            builder->build->reproduction,
            "prefill %.4f s with %u layers from below its grid, transition %.6f s, decode %.4f s "
            "on %u regions, which are idle %.0f %% of it%s",
            prefill, point.outside, move, decode, regions, 100 * wafer_region_bubbles(regions),
            turns);
    return prefill + move + decode;
}

static void add_end_to_end(Builder *builder, guint line) {
    const PublishedModel *published = NULL;
    const Model *model = line_model(builder, line, &published);
    double inputs = number(builder, line, "input"), outputs = number(builder, line, "output");
    ReproducedCell cell =
        cell_of(builder, line, text(builder, line, "system"), "tokens_per_s", "tokens/s");
    WaferPoint point = {.model = model, .tokens = (guint64)inputs};

    if (!find_system(cell.series, &point.system) || builder->error != NULL)
        return;
    cell.column = reproduction_text(builder->build->reproduction, "%.0f, %.0f", inputs, outputs);
    cell.note = point.system == WAFER_WAFERLLM ? NULL : prompt_length;
    cell.simulated = outputs / end_to_end_s(builder, published, point, (guint64)outputs, &cell);
    add(builder, cell);
}

/* --- tables 3 and 4, 7 and 8 */

/* A phase on a grid, seconds a token. */
static double token_s(Builder *builder, const WaferPoint *point) {
    if (builder->error != NULL)
        return 0;
    return builder->prefill ? prefill_s(builder, point) / TABLE_TOKENS : decode_s(builder, point);
}

/* The grids of LLaMA3-8B under WaferLLM are what step_cycles and layer_cycles were calibrated on.
 */
static guint calibration(const PublishedModel *published, WaferSystem system) {
    return published == &published_models[0] && system == WAFER_WAFERLLM ? CELL_CALIBRATED : 0;
}

static void add_phase(Builder *builder, guint line) {
    const PublishedModel *published = NULL;
    const Model *model = line_model(builder, line, &published);
    guint grid = (guint)number(builder, line, "grid");
    ReproducedCell cell =
        cell_of(builder, line, text(builder, line, "system"), "tokens_per_s", "tokens/s");
    WaferPoint point = {.model = model, .grid = grid, .tokens = TABLE_TOKENS};

    if (!find_system(cell.series, &point.system) || builder->error != NULL)
        return;
    cell.column = reproduction_text(builder->build->reproduction, "%u x %u", grid, grid);
    cell.marks = calibration(published, point.system);
    cell.simulated = 1 / token_s(builder, &point);
    add(builder, cell);
}

static void add_phase_energy(Builder *builder, guint line) {
    const PublishedModel *published = NULL;
    const Model *model = line_model(builder, line, &published);
    double gpu_j =
        number(builder, line, "gpus") * GPU_WATTS / number(builder, line, "gpu_tokens_per_s");
    WaferPoint point = {.model = model,
                        .grid = builder->prefill ? PREFILL_GRID : DECODE_GRID,
                        .tokens = TABLE_TOKENS};
    ReproducedCell cell = energy_cell(builder, line, gpu_j, token_s(builder, &point));

    cell.marks = calibration(published, point.system);
    add(builder, cell);
}

/* --- table 6 */

static void add_gemv(Builder *builder, guint line) {
    Reproduction *reproduction = builder->build->reproduction;
    double n = number(builder, line, "n"), gpu_ms = number(builder, line, "gpu_ms");
    gboolean first = line == 0 || number(builder, line - 1, "n") != n;
    double wafer_s = gemv_s(builder, (guint64)n);
    ReproducedCell cell = {.series = WAFERLLM,
                           .row = reproduction_text(reproduction, "GEMV %.0f", n),
                           .column =
                               reproduction_text(reproduction, "%u x %u", GEMV_GRID, GEMV_GRID),
                           .unit = "ms",
                           .published = number(builder, line, "wafer_ms"),
                           .simulated = 1000 * wafer_s};

    if (first)
        reproduction_add(reproduction, cell);
    cell.column = to_gpus(builder, line);
    cell.unit = "energy ratio";
    cell.published = number(builder, line, "energy_ratio");
    cell.simulated = number(builder, line, "gpus") * GPU_WATTS * gpu_ms / 1000 /
                     (builder->build->platform->power.cluster_busy_watts * wafer_s);
    cell.note = published_gpu;
    reproduction_add(reproduction, cell);
}

/* --- table 5 */

/* As many regions of the decode grid as the wafer has cores for. */
static WaferLayout kv_layout(const Builder *builder, const PublishedModel *published,
                             const Model *model) {
    guint grid = published->decode_grid;

    return (WaferLayout){
        .model = model,
        .columns = grid,
        .rows = grid,
        .regions = wafer_memory_regions_by_area(&builder->build->platform->mesh, grid, grid),
        .split = WAFER_EVEN_LAYERS};
}

static guint64 longest_output(const Builder *builder, const WaferLayout *layout, KvRule rule) {
    KvLedgerSetup setup = {
        .rule = rule,
        .rows = layout->rows,
        .room_bytes = wafer_memory_kv_room(layout, builder->build->platform->mesh.usable_bytes, 0),
        .token_bytes = wafer_memory_kv_bytes(layout)};

    return kv_ledger_capacity(&setup).new_tokens;
}

/* Outputs by concat of the same model, as published; 0 when there are none. */
static double published_concat(Builder *builder, const char *model) {
    for (guint i = 0; i < reference_table_rows(builder->build->reference); i++)
        if (strcmp(text(builder, i, "model"), model) == 0 &&
            strcmp(text(builder, i, "rule"), "concat") == 0)
            return number(builder, i, "tokens");
    return 0;
}

/* Outputs by shift over those by concat. */
static void add_ratio(Builder *builder, const WaferLayout *layout, ReproducedCell shift) {
    double concat = published_concat(builder, shift.row);

    if (concat <= 0)
        return;
    shift.series = "shift over concat";
    shift.unit = "times";
    shift.published /= concat;
    shift.simulated /= (double)longest_output(builder, layout, KV_CONCAT);
    shift.note = NULL;
    add(builder, shift);
}

static void add_kv(Builder *builder, guint line) {
    const PublishedModel *published = NULL;
    const Model *model = line_model(builder, line, &published);
    const char *rule = text(builder, line, "rule");

    if (builder->error != NULL || published == NULL)
        return;
    KvRule kind = strcmp(rule, kv_rule_names[KV_SHIFT]) == 0 ? KV_SHIFT : KV_CONCAT;
    WaferLayout layout = kv_layout(builder, published, model);
    guint grid = published->decode_grid;
    ReproducedCell cell = cell_of(builder, line, rule, "tokens", "tokens");
    cell.column = reproduction_text(builder->build->reproduction, "%u x %u, R = %u", grid, grid,
                                    layout.regions);
    cell.simulated = (double)longest_output(builder, &layout, kind);
    if (published == &published_models[0])
        cell.note = "published: what R = 6 regions would hold, more cores than a program has of "
                    "the wafer; simulated: the 5 that fit";
    add(builder, cell);
    if (kind == KV_SHIFT)
        add_ratio(builder, &layout, cell);
}

/* --- a table */

typedef void (*AddLine)(Builder *builder, guint line);

static gboolean fill_cells(Builder *builder, AddLine add_line, GError **error) {
    g_array_set_size(builder->build->reproduction->cells, 0);
    for (guint i = 0; i < reference_table_rows(builder->build->reference); i++)
        add_line(builder, i);
    if (builder->error == NULL)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&builder->error));
    return FALSE;
}

/* Twice through the lines: once to list what is to be simulated, then, all of it being known, to
 * take it. */
static gboolean fill(TableBuild *build, AddLine add_line, gboolean prefill, GError **error) {
    g_autoptr(WaferCosts) costs = wafer_costs_new(build->platform);
    g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func((GDestroyNotify)model_free);
    Builder builder = {build, costs, models, TRUE, prefill, NULL};

    wafer_costs_keep(costs);
    if (!fill_cells(&builder, add_line, error) || !wafer_costs_fill(costs, error))
        return FALSE;
    builder.listing = FALSE;
    return fill_cells(&builder, add_line, error);
}

static void remark(TableBuild *build, const char *text) {
    g_ptr_array_add(build->reproduction->remarks, (gpointer)text);
}

gboolean build_wafer_end_to_end(TableBuild *build, GError **error) {
    remark(build, whole_models);
    return fill(build, add_end_to_end, TRUE, error);
}

gboolean build_wafer_prefill(TableBuild *build, GError **error) {
    remark(build, phases);
    return fill(build, add_phase, TRUE, error);
}

gboolean build_wafer_decode(TableBuild *build, GError **error) {
    remark(build, phases);
    return fill(build, add_phase, FALSE, error);
}

gboolean build_wafer_kv(TableBuild *build, GError **error) {
    return fill(build, add_kv, FALSE, error);
}

gboolean build_wafer_gemv(TableBuild *build, GError **error) {
    return fill(build, add_gemv, FALSE, error);
}

gboolean build_wafer_prefill_energy(TableBuild *build, GError **error) {
    remark(build, phases);
    remark(build, repeated);
    return fill(build, add_phase_energy, TRUE, error);
}

gboolean build_wafer_decode_energy(TableBuild *build, GError **error) {
    remark(build, phases);
    remark(build, repeated);
    return fill(build, add_phase_energy, FALSE, error);
}
