#include "analysis/run/summary_rows.h"

#include <math.h>

static void row_free(gpointer data) {
    SummaryRow *row = data;
    for (guint i = 0; i < row->cells->len; i++)
        g_free(g_array_index(row->cells, SummaryCell, i).text);
    g_array_unref(row->cells);
    g_free(row->label);
    g_free(row);
}

static void section_free(gpointer data) {
    SummarySection *section = data;
    g_ptr_array_unref(section->rows);
    g_free(section->title);
    g_free(section);
}

void summary_rows_free(SummaryRows *rows) {
    if (rows == NULL)
        return;
    g_ptr_array_unref(rows->sections);
    g_free(rows);
}

SummarySection *summary_section_add(SummaryRows *rows, const char *key, const char *title) {
    SummarySection *section = g_new0(SummarySection, 1);
    section->key = key;
    section->title = g_strdup(title);
    section->rows = g_ptr_array_new_with_free_func(row_free);
    g_ptr_array_add(rows->sections, section);
    return section;
}

SummaryRow *summary_row_add(SummarySection *section, const char *key, const char *label) {
    SummaryRow *row = g_new0(SummaryRow, 1);
    row->key = key;
    row->label = g_strdup(label);
    row->cells = g_array_new(FALSE, FALSE, sizeof(SummaryCell));
    g_ptr_array_add(section->rows, row);
    return row;
}

void summary_cell_add(SummaryRow *row, SummaryCell cell) {
    g_array_append_val(row->cells, cell);
}

void summary_value_add(SummarySection *section, const char *label, SummaryCell cell) {
    summary_cell_add(summary_row_add(section, NULL, label), cell);
}

static void append_replicas(GString *line, const char *role, const DecodeSpec *spec) {
    g_string_append_printf(
        line, "%s tp %" G_GUINT64_FORMAT " pp %" G_GUINT64_FORMAT " dp %" G_GUINT64_FORMAT, role,
        spec->tp, spec->pp, spec->dp);
}

/* "2 wafers, prefill 660, decode 3 x 360 (waferllm)" */
static char *wafers_text(const Experiment *experiment) {
    const WaferSpec *spec = &experiment->plan->wafer.spec;
    guint wafers = experiment->plan->clusters_used;
    return g_strdup_printf("%u %s, prefill %" G_GUINT64_FORMAT ", decode %" G_GUINT64_FORMAT
                           " x %" G_GUINT64_FORMAT " (%s)",
                           wafers, platform_elements_name(DEVICE_WAFER, wafers), spec->prefill_grid,
                           spec->regions, spec->decode_grid, wafer_system_names[spec->system]);
}

static char *plan_text(const Experiment *experiment) {
    const Policy *policy = experiment->policy;
    if (policy->mode == MODE_WAFER)
        return wafers_text(experiment);
    GString *line = g_string_new(NULL);
    if (policy->pools > 1)
        g_string_append_printf(line, "%" G_GUINT64_FORMAT " x ", policy->pools);
    if (policy->mode == MODE_COLOCATED) {
        append_replicas(line, "colocated", &policy->decode);
        return g_string_free(line, FALSE);
    }
    g_string_append_printf(line,
                           "prefill dp %" G_GUINT64_FORMAT " pp %" G_GUINT64_FORMAT
                           " + buffer %" G_GUINT64_FORMAT " + ",
                           policy->prefill.dp, policy->prefill.pp, policy->buffer.clusters);
    append_replicas(line, "decode", &policy->decode);
    return g_string_free(line, FALSE);
}

char *summary_extent_line(const Experiment *experiment) {
    return g_strdup_printf(
        "%u of %u %s, %s grain, seed %" G_GUINT64_FORMAT, experiment->plan->clusters_used,
        platform_clusters(experiment->platform),
        platform_elements_name(experiment->platform->kind, platform_clusters(experiment->platform)),
        summary_grain_name(experiment->policy->grain), experiment->seed);
}

char *summary_plan_line(const Experiment *experiment) {
    g_autofree char *plan = plan_text(experiment);
    return g_strdup_printf("%s on %s: %s", experiment->model->name, experiment->platform->name,
                           plan);
}

static SummaryCell text_cell(const char *key, const char *text) {
    return (SummaryCell){.key = key, .form = FORM_TEXT, .text = g_strdup(text)};
}

static SummaryCell count_cell(const char *key, guint64 count) {
    return (SummaryCell){.key = key, .form = FORM_COUNT, .count = count};
}

static SummaryCell number_cell(const char *key, CellForm form, double number) {
    return (SummaryCell){.key = key, .form = form, .number = number};
}

const char *summary_grain_name(Grain grain) {
    static const char *const names[] = {[GRAIN_STEP] = "step", [GRAIN_OPERATOR] = "operator"};
    return names[grain];
}

static void add_head(SummaryRows *rows, const SummaryInput *input) {
    static const char *const outcomes[] = {[OUTCOME_FINISHED] = "finished",
                                           [OUTCOME_INTERRUPTED] = "interrupted",
                                           [OUTCOME_DEADLOCK] = "deadlock",
                                           [OUTCOME_SOURCE_FAILED] = "source_failed"};
    const Experiment *experiment = input->experiment;
    const Policy *policy = experiment->policy;
    g_autofree char *plan = plan_text(experiment);
    SummarySection *head = summary_section_add(rows, NULL, NULL);
    guint64 partial = input->outcome != OUTCOME_FINISHED ? 1 : 0;
    summary_value_add(head, NULL,
                      (SummaryCell){.key = "partial", .form = FORM_BOOL, .count = partial});
    summary_value_add(head, NULL, text_cell("outcome", outcomes[input->outcome]));
    SummarySection *simulated = summary_section_add(rows, "simulated", NULL);
    summary_value_add(simulated, NULL, text_cell("model", experiment->model->name));
    summary_value_add(simulated, NULL, text_cell("platform", experiment->platform->name));
    summary_value_add(simulated, NULL, text_cell("mode", policy_mode_names.names[policy->mode]));
    summary_value_add(simulated, NULL, text_cell("plan", plan));
    summary_value_add(simulated, NULL, text_cell("grain", summary_grain_name(policy->grain)));
    summary_value_add(simulated, NULL, count_cell("seed", experiment->seed));
    summary_value_add(simulated, NULL, count_cell("clusters", experiment->plan->clusters_used));
    summary_value_add(simulated, NULL,
                      count_cell("max_context_tokens", experiment->plan->max_context));
    summary_value_add(simulated, NULL, count_cell("steps", input->ledger->steps));
}

typedef struct CountRow {
    const char *key, *label;
    guint64 count;
    gboolean always; /* in the table even when it is 0 */
} CountRow;

static void add_counts(SummarySection *section, const CountRow *counts, gsize n) {
    for (gsize i = 0; i < n; i++) {
        gboolean shown = counts[i].always || counts[i].count > 0;
        summary_value_add(section, shown ? counts[i].label : NULL,
                          count_cell(counts[i].key, counts[i].count));
    }
}

static void add_workload(SummaryRows *rows, const WorkloadFacts *facts) {
    const CountRow counts[] = {
        {"rows", "rows read", facts->rows, FALSE},
        {"requests", "requests", facts->requests, TRUE},
        {"skipped_zero_output", "skipped: no output tokens", facts->skipped_outputs, FALSE},
        {"skipped_zero_prompt", "skipped: no prompt tokens", facts->skipped_prompts, FALSE},
        {"sliced", "outside the slice", facts->sliced, FALSE},
        {"capped", "cut to the length caps", facts->capped, FALSE},
        {"prompt_tokens", "prompt tokens", facts->prompt_tokens, TRUE},
        {"output_tokens", "output tokens", facts->output_tokens, TRUE},
    };
    SummarySection *section = summary_section_add(rows, "workload", "Workload");
    add_counts(section, counts, G_N_ELEMENTS(counts));
    summary_value_add(section, NULL,
                      (SummaryCell){.key = "closed_loop",
                                    .form = FORM_BOOL,
                                    .count = facts->closed_loop ? 1 : 0});
}

static void add_prefix_cache(SummarySection *section, const Ledger *ledger) {
    double rate = (double)ledger->prefix_hits / (double)MAX(ledger->prefix_blocks, 1);
    const CountRow counts[] = {
        {"prefix_blocks", "prefix blocks looked up", ledger->prefix_blocks, FALSE},
        {"prefix_hits", NULL, ledger->prefix_hits, FALSE},
        {"cached_prompt_tokens", "prompt tokens found in cache", ledger->cached_prompt_tokens,
         FALSE},
    };
    add_counts(section, counts, G_N_ELEMENTS(counts));
    gboolean used = ledger->prefix_blocks > 0;
    summary_value_add(section, used ? "prefix hit rate" : NULL,
                      number_cell("prefix_hit_rate", used ? FORM_SHARE : FORM_NONE, rate));
}

static void add_requests(SummaryRows *rows, const Ledger *ledger) {
    static const char *const keys[N_REJECT_REASONS] = {
        NULL, "rejected_context", "rejected_kv_capacity", "rejected_buffer_capacity"};
    static const char *const labels[N_REJECT_REASONS] = {NULL, "  longer than the context",
                                                         "  more KV than a replica holds",
                                                         "  more KV than a buffer holds"};
    SummarySection *section = summary_section_add(rows, "requests", "Requests");
    guint64 rejected = 0;
    for (guint i = 0; i < N_REJECT_REASONS; i++)
        rejected += ledger->rejected[i];
    const CountRow counts[] = {
        {"arrived", "arrived", ledger->arrived, TRUE},
        {"completed", "completed", ledger->completed, TRUE},
        {"dropped", "dropped", ledger->dropped, FALSE},
        {"rejected", "rejected", rejected, TRUE},
    };
    add_counts(section, counts, G_N_ELEMENTS(counts));
    for (guint i = REJECT_NONE + 1; i < N_REJECT_REASONS; i++)
        add_counts(section, &(CountRow){keys[i], labels[i], ledger->rejected[i], FALSE}, 1);
    add_counts(section, &(CountRow){"preemptions", "preemptions", ledger->preemptions, FALSE}, 1);
    add_prefix_cache(section, ledger);
}

/* mean, quantiles and maximum of one latency. */
static void add_latency(SummarySection *section, LatencyKind kind, Histogram *histogram) {
    static const char *const labels[N_LATENCIES] = {"TTFT", "TPOT", "E2E", "queueing"};
    static const struct {
        const char *key, *heading;
        double quantile;
    } quantiles[] = {{"p50_s", "p50", 0.5},
                     {"p90_s", "p90", 0.9},
                     {"p95_s", "p95", 0.95},
                     {"p99_s", "p99", 0.99},
                     {"max_s", "max", 1}};
    SummaryRow *row = summary_row_add(section, latency_name(kind), labels[kind]);
    CellForm form = histogram_count(histogram) > 0 ? FORM_SECONDS : FORM_NONE;
    SummaryCell cell = number_cell("mean_s", form, histogram_mean(histogram));
    cell.heading = "mean";
    summary_cell_add(row, cell);
    for (guint i = 0; i < G_N_ELEMENTS(quantiles); i++) {
        cell = number_cell(quantiles[i].key, form,
                           histogram_quantile(histogram, quantiles[i].quantile));
        cell.heading = quantiles[i].heading;
        summary_cell_add(row, cell);
    }
    summary_cell_add(row, count_cell("count", histogram_count(histogram)));
}

/* A limit, what its percentile came to, and whether enough requests kept it. */
static void add_verdict(SummarySection *section, LatencyKind kind, const MetricsWindow *window,
                        const SloLimit *limit) {
    static const char *const keys[N_LATENCIES] = {"ttft_limit", "tpot_limit", "e2e_limit", NULL};
    static const char *const labels[N_LATENCIES] = {"TTFT limit", "TPOT limit", "E2E limit", NULL};
    Histogram *histogram = window->latencies[kind];
    guint64 n = histogram_count(histogram);
    double share = n > 0 ? (double)window->met[kind] / (double)n : 1;
    SummaryCell cells[] = {
        number_cell("limit_s", FORM_SECONDS, limit->limit_s),
        number_cell("percentile", FORM_SHARE, limit->percentile),
        number_cell("value_s", n > 0 ? FORM_SECONDS : FORM_NONE,
                    histogram_quantile(histogram, limit->percentile)),
        number_cell("met_share", n > 0 ? FORM_SHARE : FORM_NONE, share),
        {.key = "met", .form = FORM_BOOL, .count = share >= limit->percentile ? 1 : 0},
    };
    static const char *const headings[] = {"limit", "for", "there", "within", "met"};
    SummaryRow *row = summary_row_add(section, keys[kind], labels[kind]);
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++) {
        cells[i].heading = headings[i];
        summary_cell_add(row, cells[i]);
    }
}

/* Goodput: throughput times the share of its requests that kept every limit, so that the two can
 * be compared in a window too, where requests are counted by arrival and throughput by completion.
 */
static void add_goodput(SummarySection *section, const MetricsWindow *window, const Slo *slo,
                        double throughput) {
    gboolean any = FALSE;
    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++)
        any = any || latency_limit(kind, slo) != NULL;
    if (!any)
        return;
    CellForm form = window->requests > 0 ? FORM_SHARE : FORM_NONE;
    double share = (double)window->good / (double)MAX(window->requests, 1);
    SummaryCell rate = number_cell("goodput_per_s", FORM_REAL, share * throughput);
    rate.unit = "requests/s";
    summary_value_add(section, "goodput", rate);
    summary_value_add(section, "requests within all limits",
                      number_cell("good_share", form, share));
    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++) {
        const SloLimit *limit = latency_limit(kind, slo);
        if (limit != NULL)
            add_verdict(section, kind, window, limit);
    }
}

/* Numerators of the throughputs of one span of time. */
typedef struct Work {
    double span_s;
    guint64 requests, output_tokens, total_tokens;
} Work;

/* Requests a second. */
static double work_throughput(const Work *work) {
    return work->span_s > 0 ? (double)work->requests / work->span_s : 0;
}

static void add_throughput(SummarySection *section, const Work *work) {
    const struct {
        const char *key, *label, *unit;
        guint64 amount;
    } rates[] = {
        {"request_throughput_per_s", "request throughput", "requests/s", work->requests},
        {"output_token_throughput_per_s", "output token throughput", "tokens/s",
         work->output_tokens},
        {"total_token_throughput_per_s", "total token throughput", "tokens/s", work->total_tokens},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
        CellForm form = work->span_s > 0 ? FORM_REAL : FORM_NONE;
        SummaryCell cell = number_cell(rates[i].key, form, (double)rates[i].amount / work->span_s);
        cell.unit = rates[i].unit;
        summary_value_add(section, rates[i].label, cell);
    }
}

static void add_latencies(SummarySection *section, const MetricsWindow *window) {
    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++)
        add_latency(section, kind, window->latencies[kind]);
}

static void add_whole(SummaryRows *rows, const SummaryInput *input) {
    const MetricsWindow *window = metrics_whole(input->metrics);
    const Ledger *ledger = input->ledger;
    Work work = {ledger->end_s, ledger->completed, ledger->output_tokens_done,
                 ledger->output_tokens_done + window->prompt_tokens};
    SummarySection *section = summary_section_add(rows, "whole", "Whole run");
    summary_value_add(section, "makespan", number_cell("makespan_s", FORM_SECONDS, ledger->end_s));
    summary_value_add(section, NULL, count_cell("output_tokens", ledger->output_tokens_done));
    add_throughput(section, &work);
    add_goodput(section, window, &input->experiment->slo, work_throughput(&work));
    add_latencies(section, window);
}

static void add_steady(SummaryRows *rows, const SummaryInput *input) {
    const MetricsWindow *window = metrics_steady(input->metrics);
    if (window == NULL)
        return;
    double span_s = MAX(window->to_s - window->from_s, 0);
    Work work = {span_s, window->completed_in_window, window->tokens_in_window,
                 window->tokens_in_window + window->prompt_tokens_in_window};
    SummarySection *section =
        summary_section_add(rows, "steady", "Steady state (requests that arrive within it)");
    summary_value_add(section, "from", number_cell("from_s", FORM_SECONDS, window->from_s));
    summary_value_add(section, "to", number_cell("to_s", FORM_SECONDS, window->to_s));
    summary_value_add(section, "requests", count_cell("requests", window->requests));
    if (window->requests == 0 || span_s == 0) {
        summary_value_add(section, "note",
                          text_cell("note", "the window is empty: no completed request arrived "
                                            "in it"));
        return;
    }
    add_throughput(section, &work);
    add_goodput(section, window, &input->experiment->slo, work_throughput(&work));
    add_latencies(section, window);
}

SummaryRows *summary_rows_new(const SummaryInput *input) {
    SummaryRows *rows = g_new0(SummaryRows, 1);
    rows->sections = g_ptr_array_new_with_free_func(section_free);
    add_head(rows, input);
    add_workload(rows, &input->experiment->facts);
    add_requests(rows, input->ledger);
    add_whole(rows, input);
    add_steady(rows, input);
    summary_resources_add(rows, input);
    summary_wafers_add(rows, input);
    summary_numbers_add(rows, input->numbers);
    return rows;
}
