#include "workloads/request_source.h"

#include "workloads/traces/trace_rows.h"
#include "workloads/traces/workload_spec.h"

struct RequestSource {
    const WorkloadSpec *spec; /* borrowed */
    TraceRows *trace;         /* one of the two */
    SyntheticRows *synthetic;
    gboolean to_the_end;  /* read what comes after the slice, too */
    guint64 n_candidates; /* rows of the slice before skip and count */
    guint64 n_served;
    double origin_s;     /* the trace's own date that becomes 0 */
    WorkloadFacts facts; /* of what was read so far */
};

void request_clear(Request *request) {
    g_clear_pointer(&request->prefix_blocks, g_free);
    request->n_blocks = 0;
}

RequestSource *request_source_open(const WorkloadSpec *spec, guint64 seed, GError **error) {
    gboolean synthetic = spec->kind == WORKLOAD_SYNTHETIC;
    const TraceSpec *trace = &spec->trace;
    TraceRows *rows =
        synthetic ? NULL : trace_rows_open(trace->shown, trace->format, trace->sort, error);
    if (!synthetic && !rows)
        return NULL;
    RequestSource *source = g_new0(RequestSource, 1);
    source->spec = spec;
    source->trace = rows;
    source->synthetic = synthetic ? synthetic_rows_new(&spec->synthetic, seed) : NULL;
    source->origin_s = trace->start_s;
    source->facts.closed_loop =
        synthetic && spec->synthetic.arrivals.process == ARRIVALS_CLOSED_LOOP;
    return source;
}

void request_source_free(RequestSource *source) {
    if (!source)
        return;
    trace_rows_free(source->trace);
    synthetic_rows_free(source->synthetic);
    g_free(source);
}

static gboolean cap(guint32 *tokens, guint64 most) {
    if (most == 0 || *tokens <= most)
        return FALSE;
    *tokens = (guint32)most;
    return TRUE;
}

/* Gives the request its number, cuts it to the caps, and counts it. */
static void serve(RequestSource *source, Request *request) {
    const WorkloadSpec *spec = source->spec;
    WorkloadFacts *facts = &source->facts;
    gboolean prompt_cut = cap(&request->prompt_tokens, spec->max_prompt_tokens);
    gboolean output_cut = cap(&request->output_tokens, spec->max_output_tokens);
    request->id = source->n_served++;
    facts->requests = source->n_served;
    facts->capped += prompt_cut || output_cut;
    facts->prompt_tokens += request->prompt_tokens;
    facts->output_tokens += request->output_tokens;
    facts->max_prompt_tokens = MAX(facts->max_prompt_tokens, request->prompt_tokens);
    facts->max_output_tokens = MAX(facts->max_output_tokens, request->output_tokens);
    facts->max_total_tokens =
        MAX(facts->max_total_tokens, request->prompt_tokens + request->output_tokens);
    facts->last_arrival_s = request->arrival_s;
}

/* The blocks of the prompt, cut as the prompt is. */
static void copy_blocks(Request *request, const TraceRow *row) {
    guint64 needed =
        ((guint64)request->prompt_tokens + PREFIX_BLOCK_TOKENS - 1) / PREFIX_BLOCK_TOKENS;
    request->n_blocks = (guint32)MIN(row->n_blocks, needed);
    request->prefix_blocks = g_memdup2(row->blocks, request->n_blocks * sizeof *row->blocks);
}

typedef enum { ROW_SERVED, ROW_PASSED_OVER, ROW_AFTER_SLICE } RowFate;

static RowFate judge(RequestSource *source, const TraceRow *row, double date_s) {
    const TraceSpec *trace = &source->spec->trace;
    WorkloadFacts *facts = &source->facts;
    facts->rows++;
    if (row->output_tokens == 0 || row->prompt_tokens == 0) {
        facts->skipped_outputs += row->output_tokens == 0;
        facts->skipped_prompts += row->output_tokens != 0;
        return ROW_PASSED_OVER;
    }
    gboolean after = (trace->count > 0 && source->n_served == trace->count) ||
                     (trace->duration_s > 0 && date_s - trace->start_s >= trace->duration_s);
    if (after || date_s < trace->start_s || source->n_candidates++ < trace->skip) {
        facts->sliced++;
        return after ? ROW_AFTER_SLICE : ROW_PASSED_OVER;
    }
    if (trace->skip > 0 && source->n_served == 0)
        source->origin_s = date_s;
    return ROW_SERVED;
}

static gboolean next_of_trace(RequestSource *source, Request *request, GError **error) {
    TraceRow row;
    double date_s;
    while (trace_rows_next(source->trace, &row, &date_s, error)) {
        RowFate fate = judge(source, &row, date_s);
        if (fate == ROW_AFTER_SLICE && !source->to_the_end)
            return FALSE;
        if (fate != ROW_SERVED)
            continue;
        *request = (Request){
            .arrival_s = (date_s - source->origin_s) * source->spec->time_scale,
            .prompt_tokens = row.prompt_tokens,
            .output_tokens = row.output_tokens,
        };
        serve(source, request);
        copy_blocks(request, &row);
        source->facts.has_prefixes |= request->n_blocks > 0;
        return TRUE;
    }
    return FALSE;
}

/* Hands out what the generator drew. */
static gboolean serve_synthetic(RequestSource *source, const SyntheticRow *row, double from_s,
                                Request *request) {
    *request = (Request){
        .arrival_s = from_s + row->arrival_s * source->spec->time_scale,
        .prompt_tokens = row->prompt_tokens,
        .output_tokens = row->output_tokens,
    };
    source->facts.rows++;
    serve(source, request);
    return TRUE;
}

gboolean request_source_next(RequestSource *source, Request *request, GError **error) {
    SyntheticRow row;
    if (source->trace)
        return next_of_trace(source, request, error);
    return synthetic_rows_next(source->synthetic, &row) &&
           serve_synthetic(source, &row, 0, request);
}

gboolean request_source_completed(RequestSource *source, double now_s, Request *request) {
    SyntheticRow row;
    return source->synthetic && synthetic_rows_after_end(source->synthetic, &row) &&
           serve_synthetic(source, &row, now_s, request);
}

static gboolean nothing_served(const TraceSpec *trace, const WorkloadFacts *facts, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                "%s:1:1: no request to serve in %" G_GUINT64_FORMAT " rows (%" G_GUINT64_FORMAT
                " without output, %" G_GUINT64_FORMAT " without prompt, %" G_GUINT64_FORMAT
                " outside the slice)",
                trace->shown, facts->rows, facts->skipped_outputs, facts->skipped_prompts,
                facts->sliced);
    return FALSE;
}

/* Reads all that there is; a closed loop is followed as if every request ended at once. */
static gboolean drain(RequestSource *source, GError **error) {
    GError *problem = NULL;
    Request request;
    source->to_the_end = TRUE;
    while (request_source_next(source, &request, &problem))
        request_clear(&request);
    if (problem) {
        g_propagate_error(error, problem);
        return FALSE;
    }
    while (request_source_completed(source, 0, &request))
        request_clear(&request);
    return source->n_served > 0 || nothing_served(&source->spec->trace, &source->facts, error);
}

gboolean workload_scan(const WorkloadSpec *spec, guint64 seed, WorkloadFacts *facts,
                       GError **error) {
    RequestSource *source = request_source_open(spec, seed, error);
    if (!source)
        return FALSE;
    gboolean sound = drain(source, error);
    *facts = source->facts;
    if (facts->closed_loop)
        facts->last_arrival_s = 0;
    request_source_free(source);
    return sound;
}
