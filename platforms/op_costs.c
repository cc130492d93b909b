#include "platforms/op_costs.h"

#include <math.h>

#define PICOSECONDS 1e12

struct OpCosts {
    OpModes modes;
    GPtrArray *tables; /* OpCostTable */
    GPtrArray *units;  /* ModelUnits */
    WaferTimes *wafer; /* NULL: none */
};

OpCostTable *op_cost_table_new(const OpCostKey *key) {
    OpCostTable *table = g_new0(OpCostTable, 1);

    table->key = *key;
    table->points = g_array_new(FALSE, FALSE, sizeof(OpCostPoint));
    table->rounds = g_array_new(FALSE, FALSE, sizeof(OpCostRound));
    return table;
}

OpCostTable *op_cost_table_copy(const OpCostTable *table) {
    OpCostTable *copy = g_memdup2(table, sizeof *table);

    copy->points = g_array_copy(table->points);
    copy->rounds = g_array_copy(table->rounds);
    return copy;
}

void op_cost_table_free(OpCostTable *table) {
    if (!table)
        return;
    g_array_unref(table->points);
    g_array_unref(table->rounds);
    g_free(table);
}

void op_cost_table_add(OpCostTable *table, guint32 rows, guint32 context, double seconds) {
    OpCostPoint point = {rows, context, (guint64)llround(seconds * PICOSECONDS)};

    g_array_append_val(table->points, point);
}

static void free_table(gpointer table) {
    op_cost_table_free(table);
}

static void free_units(gpointer units) {
    model_units_free(units);
}

OpCosts *op_costs_new(OpModes modes) {
    OpCosts *costs = g_new(OpCosts, 1);

    *costs = (OpCosts){.modes = modes,
                       .tables = g_ptr_array_new_with_free_func(free_table),
                       .units = g_ptr_array_new_with_free_func(free_units)};
    return costs;
}

void op_costs_free(OpCosts *costs) {
    if (!costs)
        return;
    g_ptr_array_unref(costs->tables);
    g_ptr_array_unref(costs->units);
    wafer_times_free(costs->wafer);
    g_free(costs);
}

void op_costs_take_wafer(OpCosts *costs, WaferTimes *times) {
    g_assert(costs->wafer == NULL);
    costs->wafer = times;
}

const WaferTimes *op_costs_wafer(const OpCosts *costs) {
    return costs->wafer;
}

OpModes op_costs_modes(const OpCosts *costs) {
    return costs->modes;
}

void op_costs_add_units(OpCosts *costs, ModelUnits *units) {
    g_ptr_array_add(costs->units, units);
}

const ModelUnits *op_costs_units(const OpCosts *costs, const Model *model, guint tp) {
    for (guint i = 0; i < costs->units->len; i++) {
        const ModelUnits *units = g_ptr_array_index(costs->units, i);
        if (units->model == model && units->tp == tp)
            return units;
    }
    g_assert_not_reached();
}

void op_costs_add(OpCosts *costs, OpCostTable *table) {
    g_ptr_array_add(costs->tables, table);
}

guint op_costs_tables(const OpCosts *costs) {
    return costs->tables->len;
}

const OpCostTable *op_costs_table(const OpCosts *costs, guint index) {
    return g_ptr_array_index(costs->tables, index);
}

gboolean op_cost_same_operator(const OpCostKey *a, const OpCostKey *b) {
    return a->family == b->family && a->type == b->type && a->outputs == b->outputs &&
           a->inputs == b->inputs && a->x_on_chip == b->x_on_chip && a->y_on_chip == b->y_on_chip &&
           a->heads == b->heads && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
           a->attention == b->attention;
}

OpCostKey op_cost_key(const Op *op, OpAttention attention) {
    if (op->kind == OP_LINEAR)
        return (OpCostKey){.family = OP_COST_LINEAR,
                           .type = op->data_type,
                           .outputs = op->n,
                           .inputs = op->k,
                           .x_on_chip = op->bytes_in == 0,
                           .y_on_chip = op->bytes_out == 0};
    g_assert(op->kind == OP_ATTENTION);
    return (OpCostKey){.family = op->m == 1 ? OP_COST_DECODE : OP_COST_PREFILL,
                       .type = op->data_type,
                       .heads = op->heads,
                       .kv_heads = op->kv_heads,
                       .head_dim = op->k,
                       .attention = op->apart ? OP_ATTENTION_UNFUSED : attention};
}

/* The table that covers 'where', or the last one of the operator, or NULL. */
static const OpCostTable *find_table(const OpCosts *costs, const OpCostKey *key, guint64 where) {
    const OpCostTable *last = NULL;

    for (guint i = 0; i < costs->tables->len; i++) {
        const OpCostTable *table = op_costs_table(costs, i);
        if (!op_cost_same_operator(&table->key, key))
            continue;
        last = table;
        if (where <= table->key.to)
            break;
    }
    return last;
}

static const OpCostPoint *point_at(const OpCostTable *table, guint index) {
    return &g_array_index(table->points, OpCostPoint, index);
}

static double seconds_of(const OpCostPoint *point) {
    return (double)point->picoseconds / PICOSECONDS;
}

static gboolean comes_after(const OpCostPoint *point, guint32 rows, double context) {
    return point->rows > rows || (point->rows == rows && (double)point->context > context);
}

/* The first point from 'begin' that comes after (rows, context). */
static guint first_after(const OpCostTable *table, guint begin, guint32 rows, double context) {
    guint end = table->points->len;

    while (begin < end) {
        guint middle = begin + (end - begin) / 2;
        if (comes_after(point_at(table, middle), rows, context))
            end = middle;
        else
            begin = middle + 1;
    }
    return begin;
}

static double between(double x, double x0, double y0, double x1, double y1) {
    return x0 == x1 ? y0 : y0 + (y1 - y0) * ((x - x0) / (x1 - x0));
}

/* On the line of points of 'rows', which there is, at a context that it covers. */
static double on_line(const OpCostTable *table, guint32 rows, double context) {
    guint next = first_after(table, 0, rows, context);

    g_assert(next > 0);
    const OpCostPoint *low = point_at(table, next - 1);
    g_assert(low->rows == rows);
    if ((double)low->context == context)
        return seconds_of(low);
    g_assert(next < table->points->len);
    const OpCostPoint *high = point_at(table, next);
    g_assert(high->rows == rows);
    return between(context, low->context, seconds_of(low), high->context, seconds_of(high));
}

static double linear_in_table(const OpCostTable *table, guint64 rows) {
    guint next = first_after(table, 0, (guint32)rows, 0);

    g_assert(next > 0);
    const OpCostPoint *low = point_at(table, next - 1);
    if (low->rows == rows)
        return seconds_of(low);
    g_assert(next < table->points->len);
    const OpCostPoint *high = point_at(table, next);
    return between((double)rows, low->rows, seconds_of(low), high->rows, seconds_of(high));
}

static double linear_seconds(const OpCostTable *table, guint64 rows) {
    if (rows <= table->key.to)
        return linear_in_table(table, rows);
    g_assert(table->period > 0);
    guint64 period = (guint64)table->period, to = table->key.to;
    guint64 blocks = (rows - to + period - 1) / period;
    double block_s = linear_in_table(table, to) - linear_in_table(table, to - period);
    return linear_in_table(table, rows - blocks * period) + (double)blocks * block_s;
}

/* The line of 'rows' at a context that may lie before its first point (it begins where the new
 * tokens are all there is): there in proportion. */
static double on_line_or_before(const OpCostTable *table, guint32 rows, double context) {
    const OpCostPoint *first = point_at(table, first_after(table, 0, rows - 1, INFINITY));

    g_assert(first->rows == rows);
    if (context >= (double)first->context)
        return on_line(table, rows, context);
    return seconds_of(first) * context / (double)first->context;
}

/* At one context, between the lines of new tokens on both sides. The whole prompt, whose past is
 * empty, is the last line that there can be. */
static double between_lines(const OpCostTable *table, double rows, double context) {
    guint next = first_after(table, 0, (guint32)floor(rows), INFINITY);

    g_assert(next > 0);
    guint32 low = point_at(table, next - 1)->rows;
    double low_s = on_line_or_before(table, low, context);
    if ((double)low == rows || next == table->points->len)
        return low_s;
    guint32 high = point_at(table, next)->rows;
    if ((double)high > context)
        return between(rows, low, low_s, context, on_line(table, 0, context));
    return between(rows, low, low_s, high, on_line_or_before(table, high, context));
}

static OpCostRound round_at(const OpCostTable *table, double context) {
    const OpCostRound *rounds = (const OpCostRound *)(const void *)table->rounds->data;
    guint n = table->rounds->len, i = 0;

    g_assert(n > 0);
    while (i + 2 < n && (double)rounds[i + 1].context < context)
        i++;
    if (n == 1)
        return rounds[0];
    const OpCostRound *a = &rounds[i], *b = &rounds[i + 1];
    return (OpCostRound){
        .fixed_s = between(context, a->context, a->fixed_s, b->context, b->fixed_s),
        .per_token_s = between(context, a->context, a->per_token_s, b->context, b->per_token_s)};
}

/* The rounds before those that have lines, of which number i (from 1) sees past + i · period
 * tokens. */
static double rounds_before(const OpCostTable *table, double n, double past, double context) {
    OpCostRound one = round_at(table, context);
    double tokens = n * past + table->period * n * (n + 1) / 2;

    return n * one.fixed_s + one.per_token_s * tokens;
}

/* Blocks of rows fit by the context of the operator, and so do rounds. */
static double rounds_seconds(const OpCostTable *table, double rows, double past) {
    double context = rows + past;
    double before = ceil(rows / table->period) - table->lined_rounds;

    if (before <= 0)
        return past == 0 ? on_line(table, 0, context) : between_lines(table, rows, context);
    return between_lines(table, rows - before * table->period, context) +
           rounds_before(table, before, past, context);
}

/* The first round pays what the operator pays once; the others take what they take behind a full
 * one. */
static double sum_of_rounds(const OpCosts *costs, const OpCostTable *table, double rows,
                            double past) {
    const OpCostKey *key = &table->key;
    double period = table->period, rounds = ceil(rows / period), seconds = 0;

    if (rounds <= 1)
        return past == 0 ? on_line(table, 0, rows) : between_lines(table, rows, rows + past);
    for (guint64 round = 1; (double)round < rounds; round++) {
        double sees = past + (double)round * period;
        const OpCostTable *seen = find_table(costs, key, (guint64)ceil(sees));
        seconds += between_lines(seen, floor(round == 1 ? period : 2 * period), sees);
    }
    return seconds + between_lines(table, rows - (rounds - 2) * period, rows + past);
}

double op_costs_seconds(const OpCosts *costs, const Op *op) {
    OpCostKey key = op_cost_key(op, costs->modes.attention);
    gboolean linear = op->kind == OP_LINEAR;
    const OpCostTable *table = find_table(costs, &key, linear ? op->m : op->n);

    g_assert(table != NULL && op->m >= 1);
    if (linear)
        return linear_seconds(table, op->m);
    g_assert(op->n <= table->key.to);
    if (op->m == 1)
        return on_line(table, 1, (double)op->n);
    double rows = (double)op->m, past = (double)(op->n - op->m);
    return table->additive ? sum_of_rounds(costs, table, rows, past)
                           : rounds_seconds(table, rows, past);
}
