#include "analysis/bounds/bound_rates.h"

#include <math.h>

struct TpRates {
    guint tp;
    OpModes modes;
    DeviceModel device; /* and model, of the latest plan */
    const Model *model;
    /* double by rows, not a number where not asked yet */
    GArray *layer, *embedding, *head;
    GArray *least_layer, *least_embedding; /* by rows, the least a row up to them */
    GArray *prompt;                        /* attention by prompt tokens */
    GArray *answer;                        /* by context: the sum over 1 … context */
};

struct BoundRates {
    GPtrArray *ranks; /* TpRates * */
};

static void tp_rates_free(gpointer data) {
    TpRates *rates = data;
    GArray *arrays[] = {rates->layer,           rates->embedding, rates->head,  rates->least_layer,
                        rates->least_embedding, rates->prompt,    rates->answer};

    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    g_free(rates);
}

BoundRates *bound_rates_new(void) {
    BoundRates *rates = g_new0(BoundRates, 1);

    rates->ranks = g_ptr_array_new_with_free_func(tp_rates_free);
    return rates;
}

void bound_rates_free(BoundRates *rates) {
    if (rates == NULL)
        return;
    g_ptr_array_unref(rates->ranks);
    g_free(rates);
}

static GArray *doubles(void) {
    return g_array_new(FALSE, FALSE, sizeof(double));
}

static TpRates *tp_rates_new(OpModes modes, guint tp) {
    TpRates *rates = g_new0(TpRates, 1);
    double none = 0;

    *rates = (TpRates){.tp = tp, .modes = modes};
    rates->layer = doubles();
    rates->embedding = doubles();
    rates->head = doubles();
    rates->least_layer = doubles();
    rates->least_embedding = doubles();
    rates->prompt = doubles();
    rates->answer = doubles();
    g_array_append_val(rates->answer, none);
    return rates;
}

static gboolean same_modes(OpModes a, OpModes b) {
    return a.reference == b.reference && a.attention == b.attention &&
           a.launch_each == b.launch_each && a.kv_concat == b.kv_concat &&
           a.layer_overhead_s == b.layer_overhead_s;
}

TpRates *bound_rates_of(BoundRates *rates, const DeviceModel *device, const Model *model,
                        guint tp) {
    OpModes modes = op_costs_modes(device->costs);
    TpRates *found = NULL;

    for (guint i = 0; i < rates->ranks->len && found == NULL; i++) {
        TpRates *known = rates->ranks->pdata[i];
        if (known->tp == tp && same_modes(known->modes, modes))
            found = known;
    }
    if (found == NULL) {
        found = tp_rates_new(modes, tp);
        g_ptr_array_add(rates->ranks, found);
    }
    found->device = *device;
    found->model = model;
    return found;
}

static double graph_seconds(const DeviceModel *device, OpGraph *taken) {
    g_autoptr(OpGraph) graph = taken;
    double seconds = 0;

    for (guint i = 0; i < graph->units->len; i++)
        seconds +=
            device->class->unit_cost(device, &g_array_index(graph->units, FusionUnit, i)).seconds;
    return seconds;
}

static double layer_seconds(const TpRates *rates, guint32 rows) {
    return graph_seconds(&rates->device,
                         device_layer_shared(&rates->device, rates->model, rows, rates->tp));
}

static double embedding_seconds(const TpRates *rates, guint32 rows) {
    Segment all = {.new_tokens = rows};
    BatchShape batch = {.segments = &all, .n_segments = 1};

    return graph_seconds(&rates->device, op_graph_embedding(rates->model, &batch));
}

static double head_seconds(const TpRates *rates, guint32 rows) {
    BatchShape batch = {.sampled = rows};

    return graph_seconds(&rates->device,
                         device_head(&rates->device, rates->model, &batch, rates->tp));
}

static double attention_seconds(const TpRates *rates, guint32 new_tokens, guint32 past) {
    const ModelUnits *units = op_costs_units(rates->device.costs, rates->model, rates->tp);

    return device_attention(&rates->device, units, (Segment){new_tokens, past}).seconds;
}

static double prompt_seconds(const TpRates *rates, guint32 tokens) {
    return attention_seconds(rates, tokens, 0);
}

typedef double (*Seconds)(const TpRates *rates, guint32 rows);

/* The value for 'rows' from 'memo', computed when it is met first. */
static double remembered(const TpRates *rates, GArray *memo, guint32 rows, Seconds compute) {
    double unknown = NAN;

    while (memo->len <= rows)
        g_array_append_val(memo, unknown);
    double *entry = &g_array_index(memo, double, rows);
    if (isnan(*entry))
        *entry = compute(rates, rows);
    return *entry;
}

double tp_rates_layer(TpRates *rates, guint32 rows) {
    return remembered(rates, rates->layer, rows, layer_seconds);
}

double tp_rates_embedding(TpRates *rates, guint32 rows) {
    return remembered(rates, rates->embedding, rows, embedding_seconds);
}

double tp_rates_head(TpRates *rates, guint32 rows) {
    return remembered(rates, rates->head, rows, head_seconds);
}

/* The least value / rows up to 'rows', as a table that grows. */
static double least(TpRates *rates, GArray *memo, guint64 rows,
                    double (*value)(TpRates *rates, guint32 rows)) {
    double start = INFINITY;

    if (rows > BOUND_ROWS_MAX)
        return 0;

    if (memo->len == 0)
        g_array_append_val(memo, start);
    while (memo->len <= rows) {
        guint32 row = memo->len;
        double each = MIN(g_array_index(memo, double, row - 1), value(rates, row) / (double)row);
        g_array_append_val(memo, each);
    }
    return g_array_index(memo, double, (guint)rows);
}

double tp_rates_least_layer(TpRates *rates, guint64 rows) {
    return least(rates, rates->least_layer, rows, tp_rates_layer);
}

double tp_rates_least_embedding(TpRates *rates, guint64 rows) {
    return least(rates, rates->least_embedding, rows, tp_rates_embedding);
}

double tp_rates_prompt_attention(TpRates *rates, guint32 prompt) {
    return remembered(rates, rates->prompt, prompt, prompt_seconds);
}

double tp_rates_answer_attention(TpRates *rates, guint32 prompt, guint32 output) {
    GArray *sums = rates->answer;
    guint32 last = prompt + output - 1;

    while (sums->len <= last) {
        double sum =
            g_array_index(sums, double, sums->len - 1) + attention_seconds(rates, 1, sums->len - 1);
        g_array_append_val(sums, sum);
    }
    return g_array_index(sums, double, last) - g_array_index(sums, double, prompt);
}

double tp_rates_least_answer_attention(TpRates *rates, guint32 from, guint32 to) {
    double least_s = INFINITY;

    for (guint32 past = from; past + 1 < to; past++)
        least_s = MIN(least_s, tp_rates_answer_attention(rates, past, 2));
    return isinf(least_s) ? 0 : least_s;
}
