#include "analysis/reproduce/wafer_reproduction.h"

#include "analysis/reproduce/wafer_table_rows.h"
#include <math.h>
#include <string.h>

const char *const wafer_table_names[] = {
    "wafer-table2", "wafer-table3", "wafer-table4", "wafer-table5",
    "wafer-table6", "wafer-table7", "wafer-table8", NULL};
const char *const wafer_quantity_names[] = {"tokens/s", "tokens", "ms", "energy ratio",
                                            "shift/concat"};
static const char *const files[N_WAFER_TABLES] = {
    "waferllm/table2_end_to_end.csv",    "waferllm/table3_prefill.csv",
    "waferllm/table4_decode.csv",        "waferllm/table5_kv_capacity.csv",
    "waferllm/table6_gemv.csv",          "waferllm/table7_prefill_energy.csv",
    "waferllm/table8_decode_energy.csv",
};

static void row_clear(gpointer data) {
    WaferRow *row = data;

    g_free(row->model);
    g_free(row->system);
    g_free(row->setting);
    g_free(row->detail);
}

static gboolean fill_rows(WaferTableBuilder *builder, GArray *rows, GError **error) {
    builder->rows = rows;
    g_array_set_size(rows, 0);
    for (guint i = 0; i < reference_table_rows(builder->reference); i++) {
        wafer_table_add(builder, i);
        if (builder->error == NULL)
            continue;
        g_propagate_error(error, g_steal_pointer(&builder->error));
        return FALSE;
    }
    return TRUE;
}

/* Twice through the rows: once to list what is to be simulated, then, all of it being known, to
 * take it. */
static gboolean simulate(WaferReproduction *reproduction, WaferTableBuilder *builder,
                         GError **error) {
    builder->listing = TRUE;
    if (!fill_rows(builder, reproduction->rows, error) || !wafer_costs_fill(builder->costs, error))
        return FALSE;
    builder->listing = FALSE;
    return fill_rows(builder, reproduction->rows, error);
}

WaferReproduction *wafer_reproduction_new(WaferTable table, const Platform *platform,
                                          GError **error) {
    g_autoptr(WaferReproduction) reproduction = g_new0(WaferReproduction, 1);
    g_autoptr(ReferenceTable) reference = reference_table_load(files[table], error);
    g_autoptr(WaferCosts) costs = wafer_costs_new(platform);
    g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func((GDestroyNotify)model_free);
    WaferTableBuilder builder = {.table = table,
                                 .platform = platform,
                                 .reference = reference,
                                 .costs = costs,
                                 .models = models};

    reproduction->table = table;
    reproduction->rows = g_array_new(FALSE, TRUE, sizeof(WaferRow));
    g_array_set_clear_func(reproduction->rows, row_clear);
    if (reference == NULL || !simulate(reproduction, &builder, error))
        return NULL;
    reproduction->simulations = wafer_costs_simulations(costs);
    return g_steal_pointer(&reproduction);
}

void wafer_reproduction_free(WaferReproduction *reproduction) {
    if (reproduction == NULL)
        return;
    g_array_unref(reproduction->rows);
    g_free(reproduction);
}

double wafer_row_error(const WaferRow *row) {
    return row->simulated / row->published - 1;
}

/* --- summary */

static gboolean counts(const WaferRow *row) {
    return !row->calibrated && !isnan(row->simulated);
}

static gboolean same_group(const WaferErrors *errors, const WaferRow *row) {
    return errors->quantity == row->quantity && strcmp(errors->system, row->system) == 0;
}

static gint compare_doubles(gconstpointer a, gconstpointer b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void summarise(WaferErrors *errors, const GArray *rows) {
    g_autoptr(GArray) magnitudes = g_array_new(FALSE, FALSE, sizeof(double));

    for (guint i = 0; i < rows->len; i++) {
        const WaferRow *row = &g_array_index(rows, WaferRow, i);
        double magnitude = fabs(wafer_row_error(row));
        if (counts(row) && same_group(errors, row))
            g_array_append_val(magnitudes, magnitude);
    }
    guint n = errors->rows = magnitudes->len;
    g_array_sort(magnitudes, compare_doubles);
    errors->worst = g_array_index(magnitudes, double, n - 1);
    errors->median = (g_array_index(magnitudes, double, (n - 1) / 2) +
                      g_array_index(magnitudes, double, n / 2)) /
                     2;
}

static gboolean has_group(const GArray *all, const WaferRow *row) {
    for (guint i = 0; i < all->len; i++)
        if (same_group(&g_array_index(all, WaferErrors, i), row))
            return TRUE;
    return FALSE;
}

GArray *wafer_reproduction_errors(const WaferReproduction *reproduction) {
    GArray *all = g_array_new(FALSE, FALSE, sizeof(WaferErrors));

    for (guint i = 0; i < reproduction->rows->len; i++) {
        const WaferRow *row = &g_array_index(reproduction->rows, WaferRow, i);
        if (!counts(row) || has_group(all, row))
            continue;
        WaferErrors errors = {.system = row->system, .quantity = row->quantity};
        summarise(&errors, reproduction->rows);
        g_array_append_val(all, errors);
    }
    return all;
}
