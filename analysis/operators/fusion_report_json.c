#include "analysis/operators/fusion_report_rows.h"
#include "analysis/output/json_text.h"

static void add_question(JsonText *json, const FusionReport *report) {
    const FusionQuestion *question = &report->question;
    json_text_string(json, "model", question->model->name);
    json_text_string(json, "platform", question->platform->name);
    json_text_count(json, "tokens", question->tokens);
    json_text_count(json, "context", question->context);
    json_text_count(json, "tp", question->tp);
    json_text_string(json, "data_type", data_type_name(question->model->data_type));
    json_text_count(json, "layers", question->model->layers);
    json_text_number(json, "compute_bound_from_macs_per_byte", fusion_report_threshold(report));
}

static void add_tiers(JsonText *json, const char *key, const GemmFootprint *bytes) {
    json_text_open(json, key, '{');
    json_text_number(json, "sm_bytes", bytes->sm_bytes);
    json_text_number(json, "am_bytes", bytes->am_bytes);
    json_text_number(json, "gsm_bytes", bytes->gsm_bytes);
    json_text_close(json, '}');
}

static void add_operator(JsonText *json, const FusionReport *report, guint index) {
    const Op *op = &op_list_get(report->list, index)->op;
    const FusedUnit *alone = fusion_unit(report->off, report->off->unit_of[index]);
    json_text_open(json, NULL, '{');
    json_text_string(json, "name", op->name);
    json_text_string(json, "kind", op_kind_name(op->kind));
    json_text_string(json, "density", alone->dense ? "high" : "low");
    json_text_number(json, "macs", op->macs);
    json_text_number(json, "offchip_bytes", alone->bytes_apart);
    json_text_number(json, "macs_per_byte", fusion_report_intensity(op->macs, alone->bytes_apart));
    json_text_close(json, '}');
}

static void add_unit(JsonText *json, const FusionReport *report, const FusedUnit *unit) {
    json_text_open(json, NULL, '{');
    json_text_open(json, "operators", '[');
    for (guint i = 0; i < unit->n_ops; i++) {
        add_operator(json, report, unit->ops[i]);
    }
    json_text_close(json, ']');
    json_text_bool(json, "network", unit->on_network);
    json_text_count(json, "rows", unit->rows);
    add_tiers(json, "on_chip", &unit->on_chip);
    json_text_bool(json, "fits", unit->fits);
    json_text_number(json, "macs", unit->macs);
    json_text_number(json, "macs_per_byte", fusion_report_intensity(unit->macs, unit->bytes_fused));
    json_text_number(json, "offchip_bytes_apart", unit->bytes_apart);
    json_text_number(json, "offchip_bytes_fused", unit->bytes_fused);
    json_text_count(json, "launches_apart", fusion_report_launches_apart(report, unit));
    json_text_count(json, "launches_fused", fusion_report_launches_fused(unit));
    json_text_close(json, '}');
}

static void add_units(JsonText *json, const FusionReport *report) {
    const ClusterSpec *cluster = &report->question.platform->cluster;
    GemmFootprint capacities = {cluster->sm_bytes, cluster->am_bytes, cluster->gsm_bytes};
    add_tiers(json, "capacities", &capacities);
    json_text_open(json, "units", '[');
    for (guint i = 0; i < report->on->units->len; i++) {
        add_unit(json, report, fusion_unit(report->on, i));
    }
    json_text_close(json, ']');
}

static void add_boundaries(JsonText *json, const FusionReport *report) {
    json_text_open(json, "boundaries", '[');
    for (guint i = 0; i < report->boundaries->len; i++) {
        const FusionBoundary *boundary = &g_array_index(report->boundaries, FusionBoundary, i);
        const FusionBarrier *barrier = &boundary->barrier;
        json_text_open(json, NULL, '{');
        json_text_string(json, "producer", op_list_get(report->list, boundary->producer)->op.name);
        json_text_string(json, "reader", op_list_get(report->list, boundary->reader)->op.name);
        json_text_string(json, "reason", barrier_kind_name(barrier->kind));
        if (barrier->capacity_bytes > 0) {
            json_text_number(json, "asked_bytes", barrier->asked_bytes);
            json_text_number(json, "capacity_bytes", barrier->capacity_bytes);
        }
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

static void add_totals(JsonText *json, const FusionReport *report) {
    double apart = fusion_report_bytes_apart(report), fused = fusion_report_bytes_fused(report);
    double layers = (double)report->question.model->layers;
    json_text_open(json, "offchip_bytes", '{');
    json_text_number(json, "layer_apart", apart);
    json_text_number(json, "layer_fused", fused);
    json_text_number(json, "layer_saved", apart - fused);
    json_text_number(json, "model_saved", (apart - fused) * layers);
    json_text_close(json, '}');
    FusionLaunches rows[FUSION_LAUNCH_SETTINGS];
    fusion_report_launches(report, rows);
    json_text_open(json, "launches", '[');
    for (guint i = 0; i < FUSION_LAUNCH_SETTINGS; i++) {
        json_text_open(json, NULL, '{');
        json_text_string(json, "launch", rows[i].launch);
        json_text_string(json, "fusion", rows[i].fusion);
        json_text_count(json, "layer", rows[i].layer);
        json_text_count(json, "model", rows[i].model);
        json_text_number(json, "layer_s", rows[i].layer_s);
        json_text_number(json, "model_s", rows[i].model_s);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

static void add_load(JsonText *json, const char *key, const DspLoad *load) {
    json_text_open(json, key, '{');
    json_text_count(json, "dsps", load->busiest_dsps);
    json_text_count(json, "rounds", load->rounds);
    json_text_number(json, "busy", load->busy);
    json_text_close(json, '}');
}

static void add_loads(JsonText *json, const FusionReport *report) {
    json_text_open(json, "dsp_load", '[');
    for (guint i = 0; i < report->loads->len; i++) {
        const FusionLoad *load = &g_array_index(report->loads, FusionLoad, i);
        json_text_open(json, NULL, '{');
        json_text_count(json, "tokens", load->tokens);
        json_text_count(json, "heads", report->load_heads);
        json_text_count(json, "row_blocks", load->row_blocks);
        add_load(json, "by_head", &load->by_head);
        add_load(json, "unified", &load->unified);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

char *fusion_report_json(const FusionReport *report) {
    JsonText json = json_text_new();
    json_text_open(&json, NULL, '{');
    add_question(&json, report);
    add_units(&json, report);
    add_boundaries(&json, report);
    add_totals(&json, report);
    add_loads(&json, report);
    json_text_close(&json, '}');
    return json_text_end(&json);
}
