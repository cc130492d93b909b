#include "analysis/costs/wafer_cost.h"
#include "analysis/run/summary_rows.h"
#include "policies/mesh/wafer_regions.h"

static void add_count(SummarySection *section, const char *key, const char *label, guint64 count) {
    summary_value_add(section, label,
                      (SummaryCell){.key = key, .form = FORM_COUNT, .count = count});
}

static void add_share(SummarySection *section, const char *key, const char *label, double part,
                      double whole) {
    CellForm form = whole > 0 ? FORM_SHARE : FORM_NONE;
    summary_value_add(section, label,
                      (SummaryCell){.key = key, .form = form, .number = part / whole});
}

static void add_rate(SummarySection *section, const char *key, const char *label, double tokens,
                     double seconds) {
    CellForm form = seconds > 0 ? FORM_REAL : FORM_NONE;
    summary_value_add(
        section, label,
        (SummaryCell){.key = key, .form = form, .number = tokens / seconds, .unit = "tokens/s"});
}

/* Throughput per request (WaferLLM 7.1): its tokens over the time that a wafer works on it, and
 * the rate at which one follows the other once it has begun. */
static void add_tpr(SummarySection *section, const MetricsWindow *whole) {
    Histogram *const *latencies = whole->latencies;
    double served_s = (double)whole->requests * (histogram_mean(latencies[LATENCY_E2E]) -
                                                 histogram_mean(latencies[LATENCY_QUEUEING]));
    gboolean paced = histogram_count(latencies[LATENCY_TPOT]) > 0;
    add_rate(section, "tpr_tokens_per_s", "TPR, with its prompt", (double)whole->output_tokens,
             served_s);
    add_rate(section, "tpr_generating_tokens_per_s", "TPR, generating (1 / TPOT)", 1,
             paced ? histogram_mean(latencies[LATENCY_TPOT]) : 0);
}

/* "number 3", or "none"; the text is the caller's. */
static char *turning_text(const WaferRegions *regions) {
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint region = 0; region < regions->regions; region++)
        if (wafer_regions_turns(regions, region))
            g_string_append_printf(text, "%s%u", text->len == 0 ? "number " : ", ", region + 1);
    return g_strdup(text->len == 0 ? "none" : text->str);
}

/* Regions cut by an end of the wafer, and what of each generated token's time that is. */
static void add_turns(SummarySection *section, const Experiment *experiment) {
    const WaferSpec *spec = &experiment->plan->wafer.spec;
    const MeshSpec *mesh = &experiment->platform->mesh;
    WaferRegions regions = {(guint)mesh->columns, (guint)mesh->rows, (guint)spec->decode_grid,
                            (guint)spec->regions};
    WaferPoint point = {.model = experiment->model,
                        .system = spec->system,
                        .grid = regions.side,
                        .k_tree = (guint)spec->k_tree,
                        .with_head = TRUE,
                        .regions = regions.regions,
                        .kv_shift = spec->kv == KV_SHIFT};
    summary_value_add(section, "  that turn at the wafer's end",
                      (SummaryCell){.key = "regions_that_turn",
                                    .form = FORM_TEXT,
                                    .text = turning_text(&regions)});
    summary_value_add(section, "    which costs a token",
                      (SummaryCell){.key = "turn_s_per_token",
                                    .form = FORM_SECONDS,
                                    .number = wafer_turn_cycles(mesh, &point) / mesh->clock_hz});
}

/* Over the rows of cores, of the request that was spread most unevenly. */
static void add_kv(SummarySection *section, const WaferUse *use, const Ledger *ledger) {
    summary_value_add(section, "  new KV goes by",
                      (SummaryCell){.key = "kv_rule",
                                    .form = FORM_TEXT,
                                    .text = g_strdup(kv_rule_names[use->spec.kv])});
    summary_value_add(section, "  KV of the fullest row over the mean",
                      (SummaryCell){.key = "kv_skew",
                                    .form = ledger->kv_skew > 0 ? FORM_REAL : FORM_NONE,
                                    .number = ledger->kv_skew});
    add_count(section, "kv_moves", "  tokens' KV passed up a row", ledger->kv_moves);
}

static void add_busy(SummarySection *section, const Ledger *ledger) {
    double busy_s = 0, transition_s = 0;
    for (guint i = 0; i < ledger->n_replicas; i++) {
        busy_s += ledger->replicas[i].stages[0].busy_s;
        transition_s += ledger->replicas[i].stages[0].transition_s;
    }
    add_share(section, "transition_share", "transitions, of busy time", transition_s, busy_s);
}

/* What the cores took that computed the tokens, one request after another; the run's own times are
 * the paper's plan, in which heads are divided too. */
static void add_on_cores(SummarySection *section, const WaferNumbers *numbers) {
    if (numbers == NULL)
        return;
    const struct {
        const char *key, *label;
        double seconds;
    } rows[] = {
        {"cores_prefill_s", "computed core by core, prompts",
         wafer_numbers_prefill_seconds(numbers)},
        {"cores_decode_s", "  all other tokens", wafer_numbers_decode_seconds(numbers)},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        summary_value_add(
            section, rows[i].label,
            (SummaryCell){.key = rows[i].key, .form = FORM_SECONDS, .number = rows[i].seconds});
}

/* The pairs of grids that were tried, the chosen one first. */
static void add_pairs(SummaryRows *rows, const GArray *pairs) {
    if (pairs == NULL)
        return;
    SummarySection *section =
        summary_section_add(rows, "wafer_grids", "Grids tried, for requests of mean lengths");
    section->array = TRUE;
    for (guint i = 0; i < pairs->len; i++) {
        const WaferCandidate *pair = &g_array_index(pairs, WaferCandidate, i);
        SummaryRow *row = summary_row_add(section, NULL, i == 0 ? "chosen" : "runner-up");
        const SummaryCell cells[] = {
            {"prefill_grid", "prefill", FORM_COUNT, .count = pair->prefill_grid},
            {"regions", "regions", FORM_COUNT, .count = pair->regions},
            {"decode_grid", "decode", FORM_COUNT, .count = pair->decode_grid},
            {"prefill_s", "prompt", FORM_SECONDS, .number = pair->prefill_s},
            {"transition_s", "turn", FORM_SECONDS, .number = pair->transition_s},
            {"decode_s", "a token", FORM_SECONDS, .number = pair->decode_s},
            {"request_s", "request", FORM_SECONDS, .number = pair->request_s},
        };
        for (guint j = 0; j < G_N_ELEMENTS(cells); j++)
            summary_cell_add(row, cells[j]);
    }
}

void summary_wafers_add(SummaryRows *rows, const SummaryInput *input) {
    const WaferUse *use = &input->experiment->plan->wafer;
    if (use->spec.decode_grid == 0)
        return;
    SummarySection *section = summary_section_add(rows, "wafers", "Wafers");
    double regions = (double)use->spec.regions;
    add_count(section, "prefill_grid", "prefill grid, cores a side", use->spec.prefill_grid);
    add_count(section, "outside_layers", "  layers below it, moved in", use->outside_layers);
    add_count(section, "decode_grid", "decode grid, cores a side", use->spec.decode_grid);
    add_count(section, "regions", "  regions of it", use->spec.regions);
    add_share(section, "region_bubble_share", "  idle, of their time", regions - 1, regions);
    add_turns(section, input->experiment);
    add_count(section, "row_tokens", "  tokens that a row of cores holds", use->row_tokens);
    add_kv(section, use, input->ledger);
    add_busy(section, input->ledger);
    add_tpr(section, metrics_whole(input->metrics));
    summary_value_add(section, "grain of the phases' times",
                      (SummaryCell){.key = "phase_times",
                                    .form = FORM_TEXT,
                                    .text = g_strdup("folded operators; moves at phase grain")});
    add_on_cores(section, input->on_cores);
    add_pairs(rows, input->experiment->wafer_pairs);
}
