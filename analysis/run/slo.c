#include "analysis/run/slo.h"

static const YamlField limit_fields[] = {
    {.key = "limit",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(SloLimit, limit_s),
     .dimension = DIMENSION_SECONDS,
     .min = 1e-9,
     .help = "longest latency that is still good"},
    {.key = "percentile",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(SloLimit, percentile),
     .fallback = "0.99",
     .dimension = DIMENSION_NONE,
     .min = 0,
     .max = 1,
     .help = "share of the requests that must keep the limit"},
};

#define LIMIT(name, text)                                                                          \
    {                                                                                              \
        .key = #name, .kind = YAML_FIELD_SECTION, .offset = offsetof(Slo, name),                   \
        .fallback = YAML_OPTIONAL, .fields = limit_fields, .n_fields = G_N_ELEMENTS(limit_fields), \
        .help = (text)                                                                             \
    }
static const YamlField slo_fields[] = {
    LIMIT(ttft, "time to first token"),
    LIMIT(tpot, "mean time between output tokens"),
    LIMIT(e2e, "arrival to last token"),
};

static const YamlField output_fields[] = {
    {.key = "warmup",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(OutputSpec, warmup_s),
     .fallback = "0 s",
     .dimension = DIMENSION_SECONDS,
     .help = "arrivals before it are left out of the steady-state window"},
    {.key = "cooldown",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(OutputSpec, cooldown_s),
     .fallback = "0 s",
     .dimension = DIMENSION_SECONDS,
     .help = "arrivals within it of the last one are left out too"},
    {.key = "series_interval",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(OutputSpec, series_interval_s),
     .fallback = "1 s",
     .dimension = DIMENSION_SECONDS,
     .min = 1e-6,
     .help = "simulated time between two rows of series.csv"},
    {.key = "numerics",
     .kind = YAML_FIELD_BOOL,
     .offset = offsetof(OutputSpec, numerics),
     .fallback = YAML_OPTIONAL,
     .help = "stages compute their layers, and requests get real tokens"},
    {.key = "checkpoint",
     .kind = YAML_FIELD_STRING,
     .offset = offsetof(OutputSpec, checkpoint),
     .fallback = YAML_OPTIONAL,
     .help = "weights, a safetensors file or a folder of them; drawn from the seed when absent"},
    {.key = "top_k",
     .kind = YAML_FIELD_COUNT,
     .offset = offsetof(OutputSpec, top_k),
     .fallback = YAML_OPTIONAL,
     .min = 1,
     .help = "tokens are drawn from so many largest logits; 1, the default: the largest"},
    {.key = "temperature",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(OutputSpec, temperature),
     .fallback = YAML_OPTIONAL,
     .dimension = DIMENSION_NONE,
     .min = YAML_ABOVE_ZERO,
     .help = "what logits are divided by before the draw; 1 when absent"},
};

gboolean slo_read(const YamlNode *section, Slo *slo, GError **error) {
    *slo = (Slo){0};
    return yaml_read_fields(section, slo_fields, G_N_ELEMENTS(slo_fields), slo, error);
}

void slo_write(const Slo *slo, guint indent, GString *out) {
    gboolean empty = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(slo_fields); i++) {
        const YamlField *field = &slo_fields[i];
        const SloLimit *limit = (const SloLimit *)((const char *)slo + field->offset);
        if (limit->limit_s <= 0)
            continue;
        empty = FALSE;
        g_string_append_printf(out, "%*s%s:\n", (int)indent, "", field->key);
        yaml_write_fields(out, indent + 2, field->fields, field->n_fields, limit);
    }
    if (empty)
        g_string_append_printf(out, "%*s{}\n", (int)indent, "");
}

gboolean slo_has_limits(const Slo *slo) {
    return slo->ttft.limit_s > 0 || slo->tpot.limit_s > 0 || slo->e2e.limit_s > 0;
}

gboolean output_spec_read(const YamlNode *section, OutputSpec *output, GError **error) {
    *output = (OutputSpec){0};
    return yaml_read_fields(section, output_fields, G_N_ELEMENTS(output_fields), output, error);
}

void output_spec_clear(OutputSpec *output) {
    yaml_fields_clear(output_fields, G_N_ELEMENTS(output_fields), output);
}

void output_spec_write(const OutputSpec *output, guint indent, GString *out) {
    yaml_write_fields(out, indent, output_fields, G_N_ELEMENTS(output_fields), output);
}
