#include "workloads/traces/synthetic.h"

struct SyntheticRows {
    SyntheticSpec spec;
    Arrivals arrivals;
    LengthSampler *prompts, *outputs;
    guint64 n_outside; /* requests that arrive from outside: all, or one a user */
    guint64 n_out;     /* given so far */
};

SyntheticRows *synthetic_rows_new(const SyntheticSpec *spec, guint64 seed) {
    SyntheticRows *rows = g_new0(SyntheticRows, 1);
    gboolean closed = spec->arrivals.process == ARRIVALS_CLOSED_LOOP;
    rows->spec = *spec;
    rows->n_outside = closed ? MIN(spec->requests, spec->arrivals.users) : spec->requests;
    arrivals_init(&rows->arrivals, &spec->arrivals, seed);
    rows->prompts = length_sampler_new(&spec->prompt, seed, "prompts");
    rows->outputs = length_sampler_new(&spec->output, seed, "outputs");
    return rows;
}

void synthetic_rows_free(SyntheticRows *rows) {
    if (!rows)
        return;
    length_sampler_free(rows->prompts);
    length_sampler_free(rows->outputs);
    g_free(rows);
}

static void draw_lengths(SyntheticRows *rows, SyntheticRow *row) {
    row->prompt_tokens = length_sampler_draw(rows->prompts);
    row->output_tokens = length_sampler_draw(rows->outputs);
    rows->n_out++;
}

gboolean synthetic_rows_next(SyntheticRows *rows, SyntheticRow *row) {
    if (rows->arrivals.n == rows->n_outside)
        return FALSE;
    row->arrival_s = arrivals_next_s(&rows->arrivals);
    draw_lengths(rows, row);
    return TRUE;
}

gboolean synthetic_rows_after_end(SyntheticRows *rows, SyntheticRow *row) {
    /* Users whose first request is yet to come keep their share of the total. */
    guint64 reserved = rows->n_outside - rows->arrivals.n;
    if (rows->spec.arrivals.process != ARRIVALS_CLOSED_LOOP ||
        rows->n_out + reserved >= rows->spec.requests)
        return FALSE;
    row->arrival_s = arrivals_think_s(&rows->arrivals);
    draw_lengths(rows, row);
    return TRUE;
}
