#include "policies/wafer_use.h"

#include "policies/mesh/kv_ledger.h"
#include "policies/mesh/tiles.h"
#include "policies/mesh/wafer_memory.h"
#include "policies/mesh/wafer_regions.h"
#include "workloads/input_error.h"
#include <math.h>

static gboolean grid_is_within(const WaferNeed *need, guint64 grid, GError **error) {
    const MeshSpec *mesh = need->mesh;
    WaferPlan plan = {.model = need->model,
                      .columns = (guint)grid,
                      .rows = (guint)grid,
                      .system = need->spec.system,
                      .k_tree = (guint)need->spec.k_tree};
    if (grid <= mesh->columns && grid <= mesh->rows)
        return wafer_plan_check(&plan, error);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "a grid of %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT
                " cores is not within the wafer's %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT,
                grid, grid, mesh->columns, mesh->rows);
    return FALSE;
}

/* "39.6 kB" */
static char *bytes_text(double bytes) {
    return units_format_brief(bytes, DIMENSION_BYTES);
}

/* --- prompts */

/* The prompt's K and V of all layers, their tokens along Y and their width along X. */
static double prompt_kv_bytes(const WaferNeed *need, guint grid) {
    const Model *model = need->model;
    guint64 width = tile_largest(model->kv_heads * model->head_dim, grid);
    guint64 tokens = tile_largest(need->max_context, grid);
    return (double)(2 * model->layers * tokens * width) * data_type_bytes(model->data_type);
}

/* What a prompt takes of a core of its grid. */
typedef struct PromptBill {
    double layer, kv, buffers;
} PromptBill;

static gboolean refuse_prompt(const WaferNeed *need, const PromptBill *bill, GError **error) {
    guint64 grid = need->spec.prefill_grid;
    g_autofree char *weights_text = bytes_text(bill->layer), *kv_text = bytes_text(bill->kv);
    g_autofree char *buffers_text = bytes_text(bill->buffers);
    g_autofree char *all = bytes_text(bill->layer + bill->kv + bill->buffers);
    g_autofree char *usable = bytes_text(need->mesh->usable_bytes);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "a prompt of %" G_GUINT64_FORMAT " tokens on %" G_GUINT64_FORMAT
                " × %" G_GUINT64_FORMAT " cores does not fit: a layer's weights %s + KV %s + "
                "buffers %s = %s of %s usable per core",
                need->max_context, grid, grid, weights_text, kv_text, buffers_text, all, usable);
    return FALSE;
}

static double table_bytes(const Model *model) {
    guint64 tables = model->tied_embeddings ? 1 : 2;
    return (double)(tables * model_embedding_parameters(model)) * data_type_bytes(model->data_type);
}

/* The last layers, where they do not all fit the grid, and the tables. */
static gboolean rest_fits(const WaferNeed *need, WaferUse *use, GError **error) {
    const MeshSpec *mesh = need->mesh;
    guint64 grid = need->spec.prefill_grid, layers = need->model->layers;
    guint columns = (guint)mesh->columns, rows = (guint)(mesh->rows - grid);
    WaferLayout layout = {need->model, columns, MAX(rows, 1), 1, WAFER_WHOLE_LAYERS};
    double bytes = (double)use->outside_layers * wafer_memory_layer_bytes(&layout);
    double cores = (double)(mesh->columns * mesh->rows), usable = mesh->usable_bytes;
    double left = cores * usable - (double)(grid * grid) * use->prefill_bytes -
                  bytes * (double)columns * rows;
    use->outside_bytes = bytes;
    if ((use->outside_layers == 0 || rows > 0) && bytes <= usable &&
        table_bytes(need->model) <= left)
        return TRUE;
    g_autofree char *bytes_each = bytes_text(bytes), *usable_text = bytes_text(usable);
    g_autofree char *tables = bytes_text(table_bytes(need->model));
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "during prompts %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT
                " cores hold %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                " layers, and the %u × %u below them do not hold the others: weights %s of %s "
                "usable per core, and embedding and LM head of %s",
                grid, grid, layers - use->outside_layers, layers, columns, rows, bytes_each,
                usable_text, tables);
    return FALSE;
}

gboolean wafer_use_prefill(const WaferNeed *need, WaferUse *use, GError **error) {
    guint grid = (guint)need->spec.prefill_grid;
    if (!grid_is_within(need, grid, error))
        return FALSE;
    WaferLayout layout = {need->model, grid, grid, 1, WAFER_WHOLE_LAYERS};
    PromptBill bill = {wafer_memory_layer_bytes(&layout), prompt_kv_bytes(need, grid),
                       wafer_memory_prefill_bytes(need->model, grid, grid, need->max_context)};
    double room = need->mesh->usable_bytes - bill.kv - bill.buffers;
    guint64 layers = need->model->layers;
    if (room < bill.layer)
        return refuse_prompt(need, &bill, error);
    guint64 fitting = MIN((guint64)floor(room / bill.layer), layers);
    use->spec.prefill_grid = grid;
    use->usable_bytes = need->mesh->usable_bytes;
    use->outside_layers = fitting == layers ? 0 : layers - (fitting - 1);
    use->prefill_bytes = (double)fitting * bill.layer + bill.kv + bill.buffers;
    return rest_fits(need, use, error);
}

/* --- generation */

static WaferRegions regions_of(const WaferNeed *need, guint regions) {
    return (WaferRegions){(guint)need->mesh->columns, (guint)need->mesh->rows,
                          (guint)need->spec.decode_grid, regions};
}

static WaferLayout layout_of(const WaferNeed *need, guint regions) {
    guint grid = (guint)need->spec.decode_grid;
    return (WaferLayout){need->model, grid, grid, regions, WAFER_WHOLE_LAYERS};
}

/* Most regions that the wafer has room for and the model layers for. */
static guint most_regions(const WaferNeed *need) {
    WaferRegions regions = regions_of(need, 1);
    return (guint)MIN(wafer_regions_room(&regions), need->model->layers);
}

static void fill_memory(const WaferNeed *need, guint regions, WaferUse *use) {
    WaferLayout layout = layout_of(need, regions);
    use->spec = need->spec;
    use->spec.regions = regions;
    use->usable_bytes = need->mesh->usable_bytes;
    use->weight_bytes = wafer_memory_weight_bytes(&layout);
    use->kv_token_bytes = wafer_memory_kv_bytes(&layout);
    double room = wafer_memory_kv_room(&layout, use->usable_bytes, 0);
    use->row_tokens = (guint64)floor(room / use->kv_token_bytes);
}

/* Embedding and LM head lie in the cores that no region takes. */
static gboolean tables_fit(const WaferNeed *need, guint regions, GError **error) {
    const Model *model = need->model;
    const MeshSpec *mesh = need->mesh;
    double bytes = table_bytes(model);
    guint64 grid = need->spec.decode_grid;
    double left = (double)(mesh->columns * mesh->rows - regions * grid * grid);
    if (bytes <= left * mesh->usable_bytes)
        return TRUE;
    g_autofree char *asked = bytes_text(bytes), *room = bytes_text(left * mesh->usable_bytes);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "embedding and LM head take %s, and the %.0f cores beside %u region%s of "
                "%" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT " hold %s",
                asked, left, regions, regions == 1 ? "" : "s", grid, grid, room);
    return FALSE;
}

/* A prompt of max_context − 1 tokens and one more. */
static gboolean holds_one(const WaferNeed *need, const WaferUse *use) {
    return wafer_use_holds(use, need->max_context - 1, 1);
}

static gboolean refuse(const WaferNeed *need, const WaferUse *use, GError **error) {
    guint64 grid = use->spec.decode_grid, longest = wafer_use_tokens(use);
    double kv = (double)tile_largest(need->max_context, (guint)grid) * use->kv_token_bytes;
    g_autofree char *weights = bytes_text(use->weight_bytes), *kv_text = bytes_text(kv);
    g_autofree char *all = bytes_text(use->weight_bytes + kv);
    g_autofree char *usable = bytes_text(use->usable_bytes);
    g_autofree char *hint =
        longest > 1 ? g_strdup_printf("; policy.max_context ≤ %" G_GUINT64_FORMAT " would", longest)
                    : g_strdup("");
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "model '%s' in %" G_GUINT64_FORMAT " region%s of %" G_GUINT64_FORMAT
                " × %" G_GUINT64_FORMAT " cores, of which the wafer has room for %u, does not fit: "
                "weights %s + KV %s (%" G_GUINT64_FORMAT " tokens) = %s of %s usable per core%s",
                need->model->name, use->spec.regions, use->spec.regions == 1 ? "" : "s", grid, grid,
                most_regions(need), weights, kv_text, need->max_context, all, usable, hint);
    return FALSE;
}

static gboolean decode_with(const WaferNeed *need, guint regions, WaferUse *use, GError **error) {
    WaferRegions places = regions_of(need, regions);
    if (!wafer_regions_check(&places, error))
        return FALSE;
    fill_memory(need, regions, use);
    return tables_fit(need, regions, error) && (holds_one(need, use) || refuse(need, use, error));
}

gboolean wafer_use_decode(const WaferNeed *need, WaferUse *use, GError **error) {
    if (!grid_is_within(need, need->spec.decode_grid, error))
        return FALSE;
    guint most = most_regions(need);
    if (need->spec.regions > need->model->layers) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "regions %" G_GUINT64_FORMAT " exceed the %" G_GUINT64_FORMAT
                    " layers of model '%s'",
                    need->spec.regions, need->model->layers, need->model->name);
        return FALSE;
    }
    if (need->spec.regions > 0)
        return decode_with(need, (guint)need->spec.regions, use, error);
    for (guint regions = 1; regions < most; regions++)
        if (decode_with(need, regions, use, NULL))
            return TRUE;
    return decode_with(need, most, use, error);
}

guint64 wafer_use_tokens(const WaferUse *use) {
    return use->row_tokens * use->spec.decode_grid;
}

/* With t tokens there, t mod rows rows have one more than the others; a new token is passed up to
 * the first that has not: rows − 1 − t mod rows moves. Σ of them for all t below 'tokens'. */
static guint64 moves_below(guint64 tokens, guint64 rows) {
    guint64 rest = tokens % rows;
    return tokens / rows * (rows * (rows - 1) / 2) + rest * (rows - 1) - rest * (rest - 1) / 2;
}

WaferKv wafer_use_kv(const WaferSpec *spec, guint64 prompt_tokens, guint64 generated_tokens) {
    guint64 rows = spec->decode_grid, all = prompt_tokens + generated_tokens;
    WaferKv kv = {.skew = 1};
    if (spec->kv == KV_SHIFT) {
        kv.fullest_row = tile_largest(all, (guint)rows);
        kv.moves = moves_below(all, rows) - moves_below(prompt_tokens, rows);
    } else {
        kv.fullest_row =
            MAX(tile_largest(prompt_tokens, (guint)rows), prompt_tokens / rows + generated_tokens);
    }
    if (all > 0)
        kv.skew = (double)(kv.fullest_row * rows) / (double)all;
    return kv;
}

guint64 wafer_use_even_context(const WaferSpec *spec, guint64 prompt_tokens,
                               guint64 generated_tokens) {
    if (spec->kv == KV_SHIFT)
        return prompt_tokens + generated_tokens;
    return wafer_use_kv(spec, prompt_tokens, generated_tokens).fullest_row * spec->decode_grid;
}

gboolean wafer_use_holds(const WaferUse *use, guint64 prompt_tokens, guint64 output_tokens) {
    return wafer_use_kv(&use->spec, prompt_tokens, output_tokens).fullest_row <= use->row_tokens;
}
