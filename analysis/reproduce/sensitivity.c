#include "analysis/reproduce/sensitivity.h"

#include "platforms/plausible.h"
#include "workloads/input_error.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static void end_clear(SensitivityEnd *end) {
    g_free(end->value);
    g_free(end->refused);
}

static void row_clear(gpointer data) {
    SensitivityRow *row = data;

    g_free(row->machine);
    g_free(row->key);
    g_free(row->shipped);
    end_clear(&row->low);
    end_clear(&row->high);
}

void sensitivity_free(SensitivityTable *table) {
    if (table == NULL)
        return;
    g_array_unref(table->rows);
    g_free(table);
}

static SensitivityOutcome outcome_of(const Reproduction *reproduction) {
    SensitivityOutcome outcome = {.error = reproduction_error_of(&reproduction, 1)};

    reproduction_count_claims(reproduction, &outcome.claims, &outcome.kept);
    return outcome;
}

/* --- what moves most */

/* NaN counts for nothing. */
static double span(double shipped, double low, double high) {
    return fmax(shipped, fmax(low, high)) - fmin(shipped, fmin(low, high));
}

double sensitivity_move(const SensitivityTable *table, const SensitivityRow *row) {
    return span(table->shipped.error.median, row->low.outcome.error.median,
                row->high.outcome.error.median);
}

static gint by_move(gconstpointer a, gconstpointer b, gpointer data) {
    const SensitivityRow *first = a, *second = b;
    const SensitivityTable *table = data;
    double x = sensitivity_move(table, first), y = sensitivity_move(table, second);

    if (x == y || isnan(x) || isnan(y)) {
        x = span(table->shipped.error.worst, first->low.outcome.error.worst,
                 first->high.outcome.error.worst);
        y = span(table->shipped.error.worst, second->low.outcome.error.worst,
                 second->high.outcome.error.worst);
    }
    if (x == y || isnan(x) || isnan(y))
        return g_strcmp0(first->machine, second->machine) != 0
                   ? g_strcmp0(first->machine, second->machine)
                   : g_strcmp0(first->key, second->key);
    return x > y ? -1 : 1;
}

/* --- simulating */

typedef struct Asking {
    const TableKind *kind;
    const ReproduceSetup *setup;
    const Reproduction *known;
    guint done, n; /* simulations of the table */
} Asking;

static void show_progress(const Asking *asking, const SensitivityRow *row, const char *value) {
    if (!asking->setup->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s, %u of %u: %s at %s", asking->kind->name, asking->done + 1,
                asking->n, row->key, value);
}

static void clear_progress(const Asking *asking) {
    if (!asking->setup->quiet && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

/* A machine that cannot be, or cannot serve the table, is an answer too. */
static gboolean ask(Asking *asking, SensitivityRow *row, SensitivityEnd *end, GError **error) {
    g_autofree char *setting = g_strdup_printf("platform.%s=%s", row->key, end->value);
    MachineChange change = {row->machine, setting, asking->known};
    ReproduceSetup setup = *asking->setup;
    g_autoptr(GError) failure = NULL;

    show_progress(asking, row, end->value);
    setup.quiet = TRUE;
    setup.change = &change;
    g_autoptr(Reproduction) changed = reproduction_make(asking->kind, &setup, &failure);
    asking->done++;
    if (changed != NULL) {
        end->outcome = outcome_of(changed);
        row->moves |= !reproduction_is_same(asking->known, changed);
        return TRUE;
    }
    if (failure->domain != INPUT_ERROR) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return FALSE;
    }
    row->moves = TRUE;
    end->refused = g_strdup(failure->message);
    end->outcome.error.median = end->outcome.error.worst = NAN;
    return TRUE;
}

static gboolean add_numbers(SensitivityTable *table, const Platform *machine, GError **error) {
    g_autoptr(GArray) ranges = plausible_ranges(machine, error);

    for (guint i = 0; ranges != NULL && i < ranges->len; i++) {
        const PlausibleRange *range = &g_array_index(ranges, PlausibleRange, i);
        SensitivityRow row = {.machine = g_strdup(machine->name),
                              .key = g_strdup(range->key),
                              .shipped = g_strdup(range->shipped),
                              .low = {.value = g_strdup(range->low)},
                              .high = {.value = g_strdup(range->high)}};
        g_array_append_val(table->rows, row);
    }
    return ranges != NULL;
}

static gboolean ask_all(SensitivityTable *table, Asking *asking, GError **error) {
    gboolean done = TRUE;

    asking->n = 2 * table->rows->len;
    for (guint i = 0; done && i < table->rows->len; i++) {
        SensitivityRow *row = &g_array_index(table->rows, SensitivityRow, i);
        done = ask(asking, row, &row->low, error) && ask(asking, row, &row->high, error);
    }
    clear_progress(asking);
    return done;
}

SensitivityTable *sensitivity_new(const TableKind *kind, const ReproduceSetup *setup,
                                  GError **error) {
    g_autoptr(SensitivityTable) table = g_new0(SensitivityTable, 1);
    g_autoptr(GPtrArray) machines = reproduction_machines(kind, setup, error);
    g_autoptr(Reproduction) known = machines == NULL ? NULL : reproduction_make(kind, setup, error);
    Asking asking = {.kind = kind, .setup = setup, .known = known};

    table->name = kind->name;
    table->title = kind->title;
    table->rows = g_array_new(FALSE, FALSE, sizeof(SensitivityRow));
    g_array_set_clear_func(table->rows, row_clear);
    if (known == NULL)
        return NULL;
    table->shipped = outcome_of(known);
    for (guint i = 0; i < machines->len; i++)
        if (!add_numbers(table, g_ptr_array_index(machines, i), error))
            return NULL;
    if (!ask_all(table, &asking, error))
        return NULL;
    g_array_sort_with_data(table->rows, by_move, table);
    return g_steal_pointer(&table);
}
