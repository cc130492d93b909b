#include "analysis/operators/fusion_report_rows.h"

/* Sequences for which THInfer III.C.3 expects idle DSPs, and one that fills them: 64 rows on each
 * of 24. */
static const guint64 load_tokens[] = {1, 64, 128, 256, 512, 1024, 1536};

static void find_boundaries(FusionReport *report) {
    for (guint reader = 0; reader < report->list->ops->len; reader++) {
        const Operand *operands = op_list_operands(report->list, reader);
        for (guint j = 0; j < op_list_get(report->list, reader)->n_operands; j++) {
            guint producer = operands[j].producer;
            if (producer == OPERAND_OUTSIDE ||
                report->on->unit_of[producer] == report->on->unit_of[reader])
                continue;
            FusionBoundary boundary = {
                producer, reader, fusion_barrier(report->on, &report->on_input, producer, reader)};
            g_array_append_val(report->boundaries, boundary);
        }
    }
}

static void add_load(FusionReport *report, guint64 tokens) {
    guint64 dsps = report->question.platform->cluster.dsps;
    FusionLoad load = {.tokens = tokens,
                       .row_blocks = (tokens + report->load_rows - 1) / report->load_rows};
    load.by_head = fusion_dsp_load(report->load_heads, load.row_blocks, dsps, FALSE);
    load.unified = fusion_dsp_load(report->load_heads, load.row_blocks, dsps, TRUE);
    g_array_append_val(report->loads, load);
}

/* Of the unit that has heads to hand out: with the asked number of tokens among the usual ones. */
static void find_loads(FusionReport *report) {
    for (guint i = 0; i < report->on->units->len; i++) {
        const FusedUnit *unit = fusion_unit(report->on, i);
        if (unit->heads > report->load_heads) {
            report->load_heads = unit->heads;
            report->load_rows = unit->rows;
        }
    }
    guint64 asked = report->question.tokens;
    for (gsize i = 0; i < G_N_ELEMENTS(load_tokens); i++) {
        if (asked < load_tokens[i] && (i == 0 || asked > load_tokens[i - 1]))
            add_load(report, asked);
        add_load(report, load_tokens[i]);
    }
    if (asked > load_tokens[G_N_ELEMENTS(load_tokens) - 1])
        add_load(report, asked);
}

FusionReport *fusion_report_new(const FusionQuestion *question) {
    g_assert(question->tokens > 0 && question->context >= question->tokens);
    Segment segment = {.new_tokens = question->tokens,
                       .past_tokens = question->context - question->tokens};
    BatchShape batch = {.segments = &segment, .n_segments = 1, .sampled = 1};
    FusionReport *report = g_new0(FusionReport, 1);
    report->question = *question;
    report->list = op_list_layer(question->model, &batch, question->tp);
    report->on_input =
        (FusionInput){.list = report->list, .cluster = &question->platform->cluster, .fuse = TRUE};
    FusionInput off_input = report->on_input;
    off_input.fuse = FALSE;
    report->on = fusion_new(&report->on_input);
    report->off = fusion_new(&off_input);
    report->boundaries = g_array_new(FALSE, FALSE, sizeof(FusionBoundary));
    report->loads = g_array_new(FALSE, FALSE, sizeof(FusionLoad));
    find_boundaries(report);
    find_loads(report);
    return report;
}

void fusion_report_free(FusionReport *report) {
    if (report == NULL) {
        return;
    }
    g_array_unref(report->loads);
    g_array_unref(report->boundaries);
    fusion_free(report->off);
    fusion_free(report->on);
    op_list_free(report->list);
    g_free(report);
}

void fusion_report_launches(const FusionReport *report,
                            FusionLaunches launches[FUSION_LAUNCH_SETTINGS]) {
    const HthreadsSpec *hthreads = &report->question.platform->hthreads;
    double launch_s = hthreads->create_group_s + hthreads->launch_group_s;
    for (guint i = 0; i < FUSION_LAUNCH_SETTINGS; i++) {
        gboolean unified = i / 2 == 1, fused = i % 2 == 1;
        const Fusion *fusion = fused ? report->on : report->off;
        FusionLaunches *row = &launches[i];
        row->launch = unified ? "unified" : "per_operator";
        row->fusion = fused ? "on" : "off";
        row->layer = fusion_launches(fusion, unified, 1);
        row->model = fusion_launches(fusion, unified, report->question.model->layers);
        row->layer_s = (double)row->layer * launch_s;
        row->model_s = (double)row->model * launch_s;
    }
}

double fusion_report_bytes_apart(const FusionReport *report) {
    double bytes = 0;
    for (guint i = 0; i < report->on->units->len; i++) {
        bytes += fusion_unit(report->on, i)->bytes_apart;
    }
    return bytes;
}

double fusion_report_bytes_fused(const FusionReport *report) {
    double bytes = 0;
    for (guint i = 0; i < report->on->units->len; i++) {
        bytes += fusion_unit(report->on, i)->bytes_fused;
    }
    return bytes;
}

guint64 fusion_report_launches_apart(const FusionReport *report, const FusedUnit *unit) {
    guint64 launches = 0;
    for (guint i = 0; i < unit->n_ops; i++) {
        guint alone = report->off->unit_of[unit->ops[i]];
        launches += fusion_report_launches_fused(fusion_unit(report->off, alone));
    }
    return launches;
}

guint64 fusion_report_launches_fused(const FusedUnit *unit) {
    return unit->on_network ? 0 : unit->heads;
}

double fusion_report_intensity(double macs, double bytes) {
    return bytes > 0 ? macs / bytes : 0;
}

double fusion_report_threshold(const FusionReport *report) {
    const Platform *platform = report->question.platform;
    return platform_peak_macs(platform, report->question.model->data_type) /
           platform->cluster.ddr_bytes_per_s;
}
