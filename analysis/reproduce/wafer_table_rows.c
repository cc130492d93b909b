#include "analysis/reproduce/wafer_table_rows.h"

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

static const char *const not_simulated = "GPUs are not simulated";
static const char *const prompt_length = "published, a prompt of 2048 tokens takes 0.9 to 1.0 of "
                                         "the time of one of 4096; simulated, what "
                                         "moves grows with the prompt";
static const char *const published_gpu = "the GPUs' time is the published one, at 400 W each";

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

static const char *text(WaferTableBuilder *builder, guint line, const char *column) {
    const char *word = builder->error != NULL ? NULL
                                              : reference_table_text(builder->reference, line,
                                                                     column, &builder->error);
    return word == NULL ? "" : word;
}

static double number(WaferTableBuilder *builder, guint line, const char *column) {
    double value = 0;

    if (builder->error == NULL)
        reference_table_number(builder->reference, line, column, &value, &builder->error);
    return value;
}

static const PublishedModel *published_model(const char *name) {
    for (gsize i = 0; i < G_N_ELEMENTS(published_models); i++)
        if (strcmp(published_models[i].name, name) == 0)
            return &published_models[i];
    return NULL;
}

static const Model *load_model(WaferTableBuilder *builder, const PublishedModel *published) {
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
static const Model *line_model(WaferTableBuilder *builder, guint line,
                               const PublishedModel **published) {
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

static double seconds(const WaferTableBuilder *builder, double cycles) {
    return cycles / builder->platform->mesh.clock_hz;
}

static double decode_s(WaferTableBuilder *builder, const WaferPoint *point) {
    if (builder->error != NULL)
        return 0;
    if (!builder->listing)
        return seconds(builder, wafer_decode_cycles(builder->costs, point, &builder->error));
    wafer_costs_want_decode(builder->costs, point);
    return 0;
}

static double prefill_s(WaferTableBuilder *builder, const WaferPoint *point) {
    if (builder->error != NULL)
        return 0;
    if (!builder->listing)
        return seconds(builder, wafer_prefill_cycles(builder->costs, point, &builder->error));
    wafer_costs_want_prefill(builder->costs, point);
    return 0;
}

static double transition_s(WaferTableBuilder *builder, const WaferTransition *transition) {
    if (builder->error != NULL)
        return 0;
    if (!builder->listing)
        return seconds(builder,
                       wafer_transition_cycles(builder->costs, transition, &builder->error));
    wafer_costs_want_transition(builder->costs, transition);
    return 0;
}

static double gemv_s(WaferTableBuilder *builder, guint64 n) {
    WaferGemv gemv = {.grid = GEMV_GRID, .k = n, .n = n, .type = DATA_TYPE_FP16};

    if (builder->error != NULL)
        return 0;
    if (!builder->listing)
        return seconds(builder, wafer_gemv_cycles(builder->costs, &gemv, &builder->error));
    wafer_costs_want_gemv(builder->costs, &gemv);
    return 0;
}

/* --- rows */

static void add(WaferTableBuilder *builder, WaferRow row) {
    g_array_append_val(builder->rows, row);
}

/* GPUs alone, or next to what is said of a wafer. */
static void add_gpus(WaferTableBuilder *builder, const char *model, guint gpus, WaferRow row) {
    row.model = g_strdup(model);
    row.system = g_strdup_printf(gpus == 1 ? "%u A100" : "%u A100s", gpus);
    row.simulated = NAN;
    row.note = not_simulated;
    add(builder, row);
}

static void add_energy(WaferTableBuilder *builder, guint line, const char *model, double gpu_j,
                       double wafer_s) {
    guint gpus = (guint)number(builder, line, "gpus");
    double wafer_j = builder->platform->power.cluster_busy_watts * wafer_s;

    add(builder,
        (WaferRow){.model = g_strdup(model),
                   .system = g_strdup("WaferLLM"),
                   .setting = g_strdup_printf(gpus == 1 ? "to %u A100" : "to %u A100s", gpus),
                   .quantity = WAFER_ENERGY_RATIO,
                   .published = number(builder, line, "energy_ratio"),
                   .simulated = gpu_j / wafer_j,
                   .note = published_gpu});
}

/* Published plans count cores by area; where a region has to turn at the wafer's end to fit, its
 * sums along the columns would take longer, which the published times leave no room for. */
static char *turns_text(const WaferTableBuilder *builder, const WaferPoint *point,
                        guint64 outputs) {
    const MeshSpec *mesh = &builder->platform->mesh;
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
static guint outside_layers(const WaferTableBuilder *builder, const WaferPoint *point,
                            const PublishedModel *published) {
    WaferNeed need = {
        .model = point->model,
        .mesh = &builder->platform->mesh,
        .spec = {.prefill_grid = published->prefill_grid, .system = point->system, .k_tree = 2},
        .max_context = point->tokens};
    WaferUse use = {0};

    return wafer_use_prefill(&need, &use, NULL) ? (guint)use.outside_layers : 0;
}

/* Table 2: prompt, the move between the grids, and every token at its own context. */
static double end_to_end(WaferTableBuilder *builder, const PublishedModel *published,
                         WaferPoint point, guint64 outputs) {
    guint64 inputs = point.tokens;
    WaferLayout layout = {.model = point.model,
                          .columns = published->decode_grid,
                          .rows = published->decode_grid,
                          .split = WAFER_EVEN_LAYERS};
    guint regions = wafer_memory_smallest_regions(&layout, builder->platform->mesh.usable_bytes, 0);
    WaferTransition transition = {point.model,
                                  published->prefill_grid,
                                  published->decode_grid,
                                  inputs,
                                  regions,
                                  outside_layers(builder, &point, published)};
    double decode = 0;

    point.grid = published->prefill_grid;
    point.outside = transition.outside;
    double prefill = prefill_s(builder, &point);
    double move = transition_s(builder, &transition);
    point.grid = published->decode_grid;
    point.regions = regions;
    for (guint64 i = 1; i <= outputs; i++) {
        point.tokens = inputs + i;
        decode += decode_s(builder, &point);
    }
    WaferRow *row = &g_array_index(builder->rows, WaferRow, builder->rows->len - 1);
    g_autofree char *turns = turns_text(builder, &point, outputs);
    row->detail = g_strdup_printf("prefill %.4f s with %u layers from below its grid, transition "
                                  "%.6f s, decode %.4f s on %u regions, "
                                  "which are idle %.0f %% of it%s",
                                  prefill, point.outside, move, decode, regions,
                                  100 * wafer_region_bubbles(regions), turns);
    return prefill + move + decode;
}

static void add_end_to_end(WaferTableBuilder *builder, guint line) {
    const PublishedModel *published = NULL;
    const Model *model = line_model(builder, line, &published);
    double inputs = number(builder, line, "input"), outputs = number(builder, line, "output");
    WaferRow row = {.setting = g_strdup_printf("%.0f + %.0f tokens", inputs, outputs),
                    .published = number(builder, line, "tokens_per_s")};
    WaferPoint point = {.model = model, .tokens = (guint64)inputs};

    if (!find_system(text(builder, line, "system"), &point.system)) {
        add_gpus(builder, text(builder, line, "model"), (guint)number(builder, line, "gpus"), row);
        return;
    }
    row.model = g_strdup(text(builder, line, "model"));
    row.system = g_strdup(text(builder, line, "system"));
    row.note = point.system == WAFER_WAFERLLM ? NULL : prompt_length;
    add(builder, row);
    if (builder->error != NULL)
        return;
    double total = end_to_end(builder, published, point, (guint64)outputs);
    g_array_index(builder->rows, WaferRow, builder->rows->len - 1).simulated = outputs / total;
}

/* Tables 3 and 4. The grids of LLaMA3-8B under WaferLLM are what step_cycles and layer_cycles were
 * calibrated on. */
static void add_phase(WaferTableBuilder *builder, guint line) {
    const PublishedModel *published = NULL;
    const Model *model = line_model(builder, line, &published);
    gboolean prefill = builder->table == WAFER_TABLE_PREFILL;
    guint grid = (guint)number(builder, line, "grid");
    WaferRow row = {.published = number(builder, line, "tokens_per_s")};
    WaferPoint point = {.model = model, .grid = grid, .tokens = TABLE_TOKENS};

    if (!find_system(text(builder, line, "system"), &point.system)) {
        row.setting = g_strdup_printf("%u tokens", TABLE_TOKENS);
        add_gpus(builder, text(builder, line, "model"), (guint)number(builder, line, "gpus"), row);
        return;
    }
    row.model = g_strdup(text(builder, line, "model"));
    row.system = g_strdup(text(builder, line, "system"));
    row.setting = g_strdup_printf("%u x %u", grid, grid);
    row.calibrated =
        point.system == WAFER_WAFERLLM && strcmp(row.model, published_models[0].name) == 0;
    if (builder->error == NULL)
        row.simulated =
            prefill ? TABLE_TOKENS / prefill_s(builder, &point) : 1 / decode_s(builder, &point);
    add(builder, row);
}

/* Tables 7 and 8: a line is a number of GPUs; the wafer's own figure stands in each of a model's.
 */
static void add_phase_energy(WaferTableBuilder *builder, guint line) {
    const PublishedModel *published = NULL;
    const Model *model = line_model(builder, line, &published);
    gboolean prefill = builder->table == WAFER_TABLE_PREFILL_ENERGY;
    const char *name = text(builder, line, "model");
    gboolean first = line == 0 || strcmp(name, text(builder, line - 1, "model")) != 0;
    guint grid = prefill ? PREFILL_GRID : DECODE_GRID, gpus = (guint)number(builder, line, "gpus");
    double gpu_rate = number(builder, line, "gpu_tokens_per_s");
    WaferPoint point = {.model = model, .grid = grid, .tokens = TABLE_TOKENS};
    double token_s = 0;

    if (builder->error == NULL)
        token_s = prefill ? prefill_s(builder, &point) / TABLE_TOKENS : decode_s(builder, &point);
    gboolean calibrated = strcmp(name, published_models[0].name) == 0;
    if (first)
        add(builder, (WaferRow){.model = g_strdup(name),
                                .system = g_strdup("WaferLLM"),
                                .setting = g_strdup_printf("%u x %u", grid, grid),
                                .published = number(builder, line, "wafer_tokens_per_s"),
                                .simulated = 1 / token_s,
                                .calibrated = calibrated});
    WaferRow row = {.setting = g_strdup_printf("%u tokens", TABLE_TOKENS), .published = gpu_rate};
    add_gpus(builder, name, gpus, row);
    add_energy(builder, line, name, gpus * GPU_WATTS / gpu_rate, token_s);
    g_array_index(builder->rows, WaferRow, builder->rows->len - 1).calibrated = calibrated;
}

static void add_gemv(WaferTableBuilder *builder, guint line) {
    double n = number(builder, line, "n"), gpu_ms = number(builder, line, "gpu_ms");
    gboolean first = line == 0 || number(builder, line - 1, "n") != n;
    guint gpus = (guint)number(builder, line, "gpus");
    g_autofree char *name = g_strdup_printf("GEMV %.0f", n);
    double wafer_s = gemv_s(builder, (guint64)n);

    if (first)
        add(builder, (WaferRow){.model = g_strdup(name),
                                .system = g_strdup("WaferLLM"),
                                .setting = g_strdup_printf("%u x %u", GEMV_GRID, GEMV_GRID),
                                .quantity = WAFER_MILLISECONDS,
                                .published = number(builder, line, "wafer_ms"),
                                .simulated = 1000 * wafer_s});
    WaferRow row = {.setting = g_strdup("tensor-parallel"),
                    .quantity = WAFER_MILLISECONDS,
                    .published = gpu_ms};
    add_gpus(builder, name, gpus, row);
    add_energy(builder, line, name, gpus * GPU_WATTS * gpu_ms / 1000, wafer_s);
}

/* --- table 5 */

/* As many regions of the decode grid as the wafer has cores for. */
static WaferLayout kv_layout(const WaferTableBuilder *builder, const PublishedModel *published,
                             const Model *model) {
    guint grid = published->decode_grid;

    return (WaferLayout){.model = model,
                         .columns = grid,
                         .rows = grid,
                         .regions =
                             wafer_memory_regions_by_area(&builder->platform->mesh, grid, grid),
                         .split = WAFER_EVEN_LAYERS};
}

static guint64 longest_output(const WaferTableBuilder *builder, const WaferLayout *layout,
                              KvRule rule) {
    KvLedgerSetup setup = {
        .rule = rule,
        .rows = layout->rows,
        .room_bytes = wafer_memory_kv_room(layout, builder->platform->mesh.usable_bytes, 0),
        .token_bytes = wafer_memory_kv_bytes(layout)};

    return kv_ledger_capacity(&setup).new_tokens;
}

/* Outputs by concat of the same model, as published; 0 when there are none. */
static double published_concat(WaferTableBuilder *builder, const char *model) {
    for (guint i = 0; i < reference_table_rows(builder->reference); i++)
        if (strcmp(text(builder, i, "model"), model) == 0 &&
            strcmp(text(builder, i, "rule"), "concat") == 0)
            return number(builder, i, "tokens");
    return 0;
}

static void add_ratio(WaferTableBuilder *builder, const WaferLayout *layout,
                      const WaferRow *shift) {
    double concat = published_concat(builder, shift->model);
    double simulated = (double)longest_output(builder, layout, KV_CONCAT);

    if (concat > 0)
        add(builder, (WaferRow){.model = g_strdup(shift->model),
                                .system = g_strdup("ratio"),
                                .setting = g_strdup(shift->setting),
                                .quantity = WAFER_TOKEN_RATIO,
                                .published = shift->published / concat,
                                .simulated = shift->simulated / simulated});
}

static void add_kv(WaferTableBuilder *builder, guint line) {
    const PublishedModel *published = NULL;
    const Model *model = line_model(builder, line, &published);
    const char *rule = text(builder, line, "rule");

    if (builder->error != NULL || published == NULL)
        return;
    KvRule kind = strcmp(rule, kv_rule_names[KV_SHIFT]) == 0 ? KV_SHIFT : KV_CONCAT;
    WaferLayout layout = kv_layout(builder, published, model);
    guint grid = published->decode_grid;
    WaferRow row = {.model = g_strdup(published->name),
                    .system = g_strdup(rule),
                    .setting = g_strdup_printf("%u x %u, R = %u", grid, grid, layout.regions),
                    .quantity = WAFER_TOKENS,
                    .published = number(builder, line, "tokens"),
                    .simulated = (double)longest_output(builder, &layout, kind)};
    if (strcmp(published->name, published_models[0].name) == 0)
        row.note = "published: what R = 6 regions would hold, more cores than the wafer has; "
                   "simulated: the 5 that fit";
    add(builder, row);
    if (kind == KV_SHIFT)
        add_ratio(builder, &layout, &row);
}

void wafer_table_add(WaferTableBuilder *builder, guint line) {
    static void (*const adders[N_WAFER_TABLES])(WaferTableBuilder * builder, guint line) = {
        [WAFER_TABLE_END_TO_END] = add_end_to_end,
        [WAFER_TABLE_PREFILL] = add_phase,
        [WAFER_TABLE_DECODE] = add_phase,
        [WAFER_TABLE_KV] = add_kv,
        [WAFER_TABLE_GEMV] = add_gemv,
        [WAFER_TABLE_PREFILL_ENERGY] = add_phase_energy,
        [WAFER_TABLE_DECODE_ENERGY] = add_phase_energy,
    };

    adders[builder->table](builder, line);
}
