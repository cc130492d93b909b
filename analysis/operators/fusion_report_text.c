#include "analysis/operators/fusion_report_rows.h"
#include "workloads/units.h"

static char *bytes_text(double bytes) {
    return units_format_brief(bytes, DIMENSION_BYTES);
}

static void add_head(GString *out, const FusionReport *report) {
    const FusionQuestion *question = &report->question;
    char threshold[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(threshold, sizeof threshold, "%.1f", fusion_report_threshold(report));
    g_string_append_printf(
        out,
        "%s on %s: a layer for one request of %u new token%s in a context of %u, %s, tp %u\n"
        "An operator has high density (*) when it multiplies and accumulates; from %s MAC for\n"
        "each off-chip byte on the DSPs, not the memory, set the pace.\n",
        question->model->name, question->platform->name, question->tokens,
        question->tokens == 1 ? "" : "s", question->context,
        data_type_name(question->model->data_type), question->tp, threshold);
}

static char *unit_operators(const FusionReport *report, const FusedUnit *unit) {
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < unit->n_ops; i++) {
        const Op *op = &op_list_get(report->list, unit->ops[i])->op;
        g_string_append_printf(text, "%s%s%s", i > 0 ? " + " : "", op->name,
                               op->macs > 0 ? "*" : "");
    }
    return g_string_free(text, FALSE);
}

/* "30.72 kB  47%" */
static void add_tier(GString *out, double bytes, double capacity_bytes) {
    g_autofree char *text = bytes_text(bytes);
    g_string_append_printf(out, " %9s %3.0f%%", text, 100 * bytes / capacity_bytes);
}

static void add_unit(GString *out, const FusionReport *report, guint index) {
    const FusedUnit *unit = fusion_unit(report->on, index);
    const ClusterSpec *cluster = &report->question.platform->cluster;
    g_autofree char *operators = unit_operators(report, unit);
    g_string_append_printf(out, "%4u", index + 1);
    if (unit->on_network) {
        g_string_append_printf(out, "%85s  %s\n", "network", operators);
        return;
    }
    g_autofree char *apart = bytes_text(unit->bytes_apart);
    g_autofree char *fused = bytes_text(unit->bytes_fused);
    g_string_append_printf(out, " %4" G_GUINT64_FORMAT, unit->rows);
    add_tier(out, unit->on_chip.sm_bytes, cluster->sm_bytes);
    add_tier(out, unit->on_chip.am_bytes, cluster->am_bytes);
    add_tier(out, unit->on_chip.gsm_bytes, cluster->gsm_bytes);
    g_string_append_printf(out, " %9s %9s %4" G_GUINT64_FORMAT " %3" G_GUINT64_FORMAT, apart, fused,
                           fusion_report_launches_apart(report, unit),
                           fusion_report_launches_fused(unit));
    g_string_append_printf(out, " %6.1f", fusion_report_intensity(unit->macs, unit->bytes_fused));
    g_string_append_printf(out, "  %s%s\n", operators, unit->fits ? "" : " (does not fit)");
}

static void add_units(GString *out, const FusionReport *report) {
    const ClusterSpec *cluster = &report->question.platform->cluster;
    g_autofree char *sm = bytes_text(cluster->sm_bytes);
    g_autofree char *am = bytes_text(cluster->am_bytes);
    g_autofree char *gsm = bytes_text(cluster->gsm_bytes);
    g_string_append_printf(out, "\nFusion units\n%4s %4s %14s %14s %14s %19s %8s\n", "", "", "SM",
                           "AM", "GSM", "off-chip bytes", "launches");
    g_string_append_printf(out, "%4s %4s %9s     %9s     %9s     %9s %9s %4s %3s %6s  %s\n", "unit",
                           "rows", sm, am, gsm, "apart", "fused", "from", "to", "MAC/B",
                           "operators");
    for (guint i = 0; i < report->on->units->len; i++) {
        add_unit(out, report, i);
    }
}

static char *barrier_text(const FusionBarrier *barrier) {
    static const char *const reasons[N_BARRIER_KINDS] = {
        [BARRIER_NETWORK] = "goes over the network",
        [BARRIER_LOW] = "no operator of high density in either unit",
        [BARRIER_HEADS] = "one is handed out by heads, the other is not",
        [BARRIER_KEPT] = "is needed after the layer",
        [BARRIER_SHARED] = "other units read it too",
        [BARRIER_ORDER] = "the unit would wait for itself",
        [BARRIER_SM] = "SM",
        [BARRIER_AM] = "AM",
        [BARRIER_GSM] = "GSM",
    };
    if (barrier->capacity_bytes == 0) {
        return g_strdup(reasons[barrier->kind]);
    }
    g_autofree char *asked = bytes_text(barrier->asked_bytes);
    g_autofree char *there = bytes_text(barrier->capacity_bytes);
    return g_strdup_printf("would take %s of %s, which has %s", asked, reasons[barrier->kind],
                           there);
}

static void add_boundaries(GString *out, const FusionReport *report) {
    g_string_append(out, "\nWhat passes between units, and why\n");
    for (guint i = 0; i < report->boundaries->len; i++) {
        const FusionBoundary *boundary = &g_array_index(report->boundaries, FusionBoundary, i);
        g_autofree char *reason = barrier_text(&boundary->barrier);
        g_autofree char *edge =
            g_strdup_printf("%s -> %s", op_list_get(report->list, boundary->producer)->op.name,
                            op_list_get(report->list, boundary->reader)->op.name);
        g_string_append_printf(out, "  %-34s %s\n", edge, reason);
    }
}

static void add_bytes_row(GString *out, const FusionReport *report, const char *label,
                          double bytes) {
    g_autofree char *layer = bytes_text(bytes);
    g_autofree char *model = bytes_text(bytes * (double)report->question.model->layers);
    g_string_append_printf(out, "  %-34s %12s %12s\n", label, layer, model);
}

static void add_totals(GString *out, const FusionReport *report) {
    double apart = fusion_report_bytes_apart(report), fused = fusion_report_bytes_fused(report);
    g_autofree char *layers =
        g_strdup_printf("%" G_GUINT64_FORMAT " layers", report->question.model->layers);
    g_string_append_printf(out, "\n%-36s %12s %12s\n", "Off-chip bytes, each tensor once",
                           "a layer", layers);
    add_bytes_row(out, report, "operators apart", apart);
    add_bytes_row(out, report, "fused", fused);
    add_bytes_row(out, report, "saved", apart - fused);
    FusionLaunches rows[FUSION_LAUNCH_SETTINGS];
    fusion_report_launches(report, rows);
    g_string_append_printf(out, "\n%-36s %12s %12s %12s\n", "Launches", "a layer", layers,
                           "they last");
    for (guint i = 0; i < FUSION_LAUNCH_SETTINGS; i++) {
        g_autofree char *label =
            g_strdup_printf("launch: %s, fusion: %s", rows[i].launch, rows[i].fusion);
        g_autofree char *seconds = units_format_brief(rows[i].model_s, DIMENSION_SECONDS);
        g_string_append_printf(out, "  %-34s %12" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT "%13s\n",
                               label, rows[i].layer, rows[i].model, seconds);
    }
}

static void add_load(GString *out, const DspLoad *load) {
    g_string_append_printf(out, " %8" G_GUINT64_FORMAT " %6" G_GUINT64_FORMAT " %5.1f %%",
                           load->busiest_dsps, load->rounds, 100 * load->busy);
}

static void add_loads(GString *out, const FusionReport *report) {
    g_string_append_printf(
        out,
        "\nDSP load of attention: %" G_GUINT64_FORMAT " heads in row blocks of %" G_GUINT64_FORMAT
        " on %" G_GUINT64_FORMAT " DSPs, a block a DSP and round\n",
        report->load_heads, report->load_rows, report->question.platform->cluster.dsps);
    g_string_append_printf(out, "%12s %10s %23s %23s\n", "", "", "a launch a head",
                           "unified, at best");
    g_string_append_printf(out, "%12s %10s %8s %6s %7s %8s %6s %7s\n", "new tokens", "row blocks",
                           "DSPs", "rounds", "busy", "DSPs", "rounds", "busy");
    for (guint i = 0; i < report->loads->len; i++) {
        const FusionLoad *load = &g_array_index(report->loads, FusionLoad, i);
        g_string_append_printf(out, "%12" G_GUINT64_FORMAT " %10" G_GUINT64_FORMAT, load->tokens,
                               load->row_blocks);
        add_load(out, &load->by_head);
        add_load(out, &load->unified);
        g_string_append_c(out, '\n');
    }
}

char *fusion_report_text(const FusionReport *report) {
    GString *out = g_string_new(NULL);
    add_head(out, report);
    add_units(out, report);
    add_boundaries(out, report);
    add_totals(out, report);
    if (report->load_heads > 0) {
        add_loads(out, report);
    }
    return g_string_free(out, FALSE);
}
