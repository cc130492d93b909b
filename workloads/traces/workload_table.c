#include "workloads/traces/workload_spec.h"

#include "workloads/traces/trace_values.h"

#include <stddef.h>

/* A key and the variants of its mapping in which it may stand (a bit each). */
typedef struct VariantField {
    guint variants;
    YamlField field;
} VariantField;

/* A mapping whose keys depend on the value of one of them, the selector. */
typedef struct VariantMapping {
    const char *selector;
    YamlEnum names; /* of the variants */
    const VariantField *fields;
    gsize n_fields;
} VariantMapping;

#define ALL G_MAXUINT
#define IN(variant) (1u << (variant))
#define MAX_REQUESTS 1e12
#define MAX_USERS 1e9
#define MAX_WAIT_S (10000.0 * 86400)
#define MAX_FACTOR 1e9 /* of the scales and rates: beyond it a value is a mistake */

#define COUNT(name, type, member)                                                                  \
    .key = (name), .kind = YAML_FIELD_COUNT, .dimension = DIMENSION_COUNT,                         \
    .offset = offsetof(type, member)
#define REAL(name, unit, type, member)                                                             \
    .key = (name), .kind = YAML_FIELD_REAL, .dimension = (unit), .offset = offsetof(type, member)
#define CHOICE(name, choices, type, member)                                                        \
    .key = (name), .kind = YAML_FIELD_ENUM, .names = YAML_ENUM_OF(choices),                        \
    .offset = offsetof(type, member)

static const char *const process_names[N_ARRIVAL_PROCESSES] = {"batch", "constant", "poisson",
                                                               "gamma", "closed_loop"};
static const char *const think_names[N_THINK_KINDS] = {"exponential", "fixed"};
static const char *const distribution_names[N_LENGTH_DISTRIBUTIONS] = {"fixed", "uniform",
                                                                       "lognormal", "zipf"};
static const char *const kind_names[N_WORKLOAD_KINDS] = {"trace", "synthetic"};

static const VariantField arrival_fields[] = {
    {ALL, {CHOICE("process", process_names, ArrivalSpec, process), .help = "when requests arrive"}},
    {IN(ARRIVALS_CONSTANT) | IN(ARRIVALS_POISSON) | IN(ARRIVALS_GAMMA),
     {REAL("rate", DIMENSION_HERTZ, ArrivalSpec, rate_per_s), .min = YAML_ABOVE_ZERO,
      .max = MAX_FACTOR, .help = "requests per unit of time, in the mean"}},
    {IN(ARRIVALS_GAMMA),
     {REAL("cv", DIMENSION_NONE, ArrivalSpec, cv), .min = 0.01, .max = 100,
      .help = "standard deviation / mean of the gaps; 1 is Poisson, above it bursty"}},
    {IN(ARRIVALS_CLOSED_LOOP),
     {COUNT("users", ArrivalSpec, users), .min = 1, .max = MAX_USERS,
      .help = "users, each with one request at a time"}},
    {IN(ARRIVALS_CLOSED_LOOP),
     {REAL("think_time", DIMENSION_SECONDS, ArrivalSpec, think_time_s), .fallback = "0 s",
      .max = MAX_WAIT_S, .help = "mean time from an answer's end to the next request"}},
    {IN(ARRIVALS_CLOSED_LOOP),
     {CHOICE("think", think_names, ArrivalSpec, think), .fallback = "exponential",
      .help = "distribution of the think time"}},
};

static const VariantField length_fields[] = {
    {ALL,
     {CHOICE("distribution", distribution_names, LengthSpec, distribution),
      .help = "how many tokens"}},
    {IN(LENGTHS_FIXED),
     {COUNT("tokens", LengthSpec, tokens), .min = 1, .max = TRACE_MAX_TOKENS,
      .help = "the same for every request"}},
    {IN(LENGTHS_UNIFORM),
     {COUNT("min", LengthSpec, min), .min = 1, .max = TRACE_MAX_TOKENS, .help = "tokens"}},
    {IN(LENGTHS_UNIFORM),
     {COUNT("max", LengthSpec, max), .min = 1, .max = TRACE_MAX_TOKENS,
      .help = "tokens, inclusive"}},
    {IN(LENGTHS_LOGNORMAL),
     {REAL("mean", DIMENSION_NONE, LengthSpec, mean), .min = 1, .max = 1e6,
      .help = "tokens in the mean"}},
    {IN(LENGTHS_LOGNORMAL),
     {REAL("cv", DIMENSION_NONE, LengthSpec, cv), .fallback = YAML_OPTIONAL, .min = YAML_ABOVE_ZERO,
      .max = 10, .help = "standard deviation / mean"}},
    {IN(LENGTHS_LOGNORMAL),
     {REAL("sigma", DIMENSION_NONE, LengthSpec, sigma), .fallback = YAML_OPTIONAL,
      .min = YAML_ABOVE_ZERO, .max = 2.5, .help = "instead of cv: of the logarithm"}},
    {IN(LENGTHS_ZIPF),
     {REAL("exponent", DIMENSION_NONE, LengthSpec, exponent), .min = 0, .max = 10,
      .help = "a length of k tokens has a probability in proportion to k^-exponent"}},
    {IN(LENGTHS_ZIPF),
     {COUNT("min", LengthSpec, min), .fallback = "1", .min = 1, .max = LENGTHS_MAX_ZIPF,
      .help = "tokens"}},
    {IN(LENGTHS_ZIPF),
     {COUNT("max", LengthSpec, max), .min = 1, .max = LENGTHS_MAX_ZIPF,
      .help = "tokens, inclusive"}},
};

static const VariantField workload_fields[] = {
    {IN(WORKLOAD_TRACE),
     {.key = "trace",
      .kind = YAML_FIELD_STRING,
      .offset = offsetof(WorkloadSpec, trace.path),
      .help = "file of requests: beside the experiment or among the shipped ones"}},
    {IN(WORKLOAD_TRACE),
     {.key = "format",
      .kind = YAML_FIELD_ENUM,
      .offset = offsetof(WorkloadSpec, trace.format),
      .fallback = "auto",
      .names = {trace_format_names, N_TRACE_FORMATS},
      .help = "of the trace; auto finds it by the header"}},
    {IN(WORKLOAD_TRACE),
     {.key = "sort",
      .kind = YAML_FIELD_BOOL,
      .offset = offsetof(WorkloadSpec, trace.sort),
      .fallback = "false",
      .help = "sort by date (holds the trace in memory)"}},
    {IN(WORKLOAD_TRACE),
     {REAL("start", DIMENSION_SECONDS, WorkloadSpec, trace.start_s), .fallback = "0 s",
      .max = MAX_WAIT_S, .help = "where the slice begins, in the trace's own time"}},
    {IN(WORKLOAD_TRACE),
     {REAL("duration", DIMENSION_SECONDS, WorkloadSpec, trace.duration_s),
      .fallback = YAML_OPTIONAL, .min = YAML_ABOVE_ZERO, .max = MAX_WAIT_S,
      .help = "how long the slice is, in the trace's own time; absent: to the end"}},
    {IN(WORKLOAD_TRACE),
     {COUNT("skip", WorkloadSpec, trace.skip), .fallback = "0",
      .help = "requests of the slice to pass over first"}},
    {IN(WORKLOAD_TRACE),
     {COUNT("count", WorkloadSpec, trace.count), .fallback = "0",
      .help = "requests to serve at most; 0: all"}},
    {IN(WORKLOAD_SYNTHETIC),
     {.key = "synthetic",
      .kind = YAML_FIELD_SECTION,
      .offset = offsetof(WorkloadSpec, synthetic),
      .help = "requests drawn from the experiment's seed"}},
    {ALL,
     {REAL("time_scale", DIMENSION_NONE, WorkloadSpec, time_scale), .fallback = "1",
      .min = YAML_ABOVE_ZERO, .max = MAX_FACTOR,
      .help = "arrival dates and think times are multiplied by it; 0.5 doubles the rate"}},
    {ALL,
     {COUNT("max_prompt_tokens", WorkloadSpec, max_prompt_tokens), .fallback = "0",
      .max = TRACE_MAX_TOKENS, .help = "longer prompts are cut to it; 0: none"}},
    {ALL,
     {COUNT("max_output_tokens", WorkloadSpec, max_output_tokens), .fallback = "0",
      .max = TRACE_MAX_TOKENS, .help = "longer outputs are cut to it; 0: none"}},
};

static const VariantMapping arrival_mapping = {"process", YAML_ENUM_OF(process_names),
                                               arrival_fields, G_N_ELEMENTS(arrival_fields)};
static const VariantMapping length_mapping = {"distribution", YAML_ENUM_OF(distribution_names),
                                              length_fields, G_N_ELEMENTS(length_fields)};
static const VariantMapping workload_mapping = {NULL, YAML_ENUM_OF(kind_names), workload_fields,
                                                G_N_ELEMENTS(workload_fields)};

/* The fields of one variant, as an array for the YAML reader. */
static GArray *fields_of(const VariantMapping *mapping, guint variant) {
    GArray *fields = g_array_new(FALSE, FALSE, sizeof(YamlField));
    for (gsize i = 0; i < mapping->n_fields; i++) {
        if (mapping->fields[i].variants & IN(variant))
            g_array_append_val(fields, mapping->fields[i].field);
    }
    return fields;
}

struct WorkloadTable {
    GArray *top, *synthetic, *arrivals, *prompt, *output; /* YamlField */
};

static YamlField section_field(const char *key, gsize offset, const GArray *fields) {
    return (YamlField){.key = key,
                       .kind = YAML_FIELD_SECTION,
                       .offset = offset,
                       .fields = (const YamlField *)(gpointer)fields->data,
                       .n_fields = fields->len};
}

WorkloadTable *workload_table_new(const WorkloadSpec *spec) {
    WorkloadTable *table = g_new0(WorkloadTable, 1);
    const SyntheticSpec *synthetic = &spec->synthetic;
    table->arrivals = fields_of(&arrival_mapping, synthetic->arrivals.process);
    table->prompt = fields_of(&length_mapping, synthetic->prompt.distribution);
    table->output = fields_of(&length_mapping, synthetic->output.distribution);
    const YamlField synthetic_fields[] = {
        {COUNT("requests", SyntheticSpec, requests), .min = 1, .max = MAX_REQUESTS},
        section_field("arrivals", offsetof(SyntheticSpec, arrivals), table->arrivals),
        section_field("prompt", offsetof(SyntheticSpec, prompt), table->prompt),
        section_field("output", offsetof(SyntheticSpec, output), table->output),
    };
    table->synthetic = g_array_new(FALSE, FALSE, sizeof(YamlField));
    g_array_append_vals(table->synthetic, synthetic_fields, G_N_ELEMENTS(synthetic_fields));
    table->top = fields_of(&workload_mapping, spec->kind);
    for (guint i = 0; i < table->top->len; i++) {
        YamlField *field = &g_array_index(table->top, YamlField, i);
        if (field->kind == YAML_FIELD_SECTION)
            *field = section_field(field->key, field->offset, table->synthetic);
    }
    return table;
}

void workload_table_free(WorkloadTable *table) {
    if (!table)
        return;
    g_array_unref(table->top);
    g_array_unref(table->synthetic);
    g_array_unref(table->arrivals);
    g_array_unref(table->prompt);
    g_array_unref(table->output);
    g_free(table);
}

const YamlField *workload_table_fields(const WorkloadTable *table, gsize *n_fields) {
    *n_fields = table->top->len;
    return (const YamlField *)(gpointer)table->top->data;
}

/* The variants in which 'key' may stand; 0 for a key that is unknown to the mapping. */
static guint variants_of(const VariantMapping *mapping, const char *key) {
    guint variants = 0;
    for (gsize i = 0; i < mapping->n_fields; i++) {
        if (g_str_equal(mapping->fields[i].field.key, key))
            variants |= mapping->fields[i].variants;
    }
    return variants;
}

/* Known keys must belong to the variant; unknown ones are left to the reader of the table. */
static gboolean keys_belong(const VariantMapping *mapping, const YamlNode *node, guint variant,
                            GError **error) {
    for (guint i = 0; i < node->keys->len; i++) {
        const YamlNode *key = node->keys->pdata[i];
        guint variants = variants_of(mapping, key->text);
        if (variants != 0 && !(variants & IN(variant)))
            return yaml_error(key, INPUT_ERROR_CONFLICT, error, "'%s' does not belong to %s%s'%s'",
                              key->text, mapping->selector ? mapping->selector : "",
                              mapping->selector ? " " : "", mapping->names.names[variant]);
    }
    return TRUE;
}

/* Reads the selector of the mapping under 'key', if it is there at all. */
static gboolean choose(const VariantMapping *mapping, const YamlNode *parent, const char *key,
                       int *variant, GError **error) {
    const YamlNode *node = yaml_get(parent, key);
    if (!node)
        return TRUE;
    if (!yaml_expect(node, YAML_MAPPING, NULL, error))
        return FALSE;
    const YamlNode *selector = yaml_get(node, mapping->selector);
    if (!selector)
        return yaml_error(node, INPUT_ERROR_MISSING, error, "missing key '%s' in '%s'",
                          mapping->selector, key);
    return yaml_read_enum(selector, mapping->names, variant, error) &&
           keys_belong(mapping, node, (guint)*variant, error);
}

gboolean workload_choose(const YamlNode *section, WorkloadSpec *spec, GError **error) {
    if (!yaml_expect(section, YAML_MAPPING, NULL, error))
        return FALSE;
    const YamlNode *synthetic = yaml_get(section, "synthetic");
    if (!synthetic && !yaml_get(section, "trace"))
        return yaml_error(section, INPUT_ERROR_MISSING, error,
                          "missing key 'trace' or 'synthetic' in 'workload'");
    spec->kind = synthetic ? WORKLOAD_SYNTHETIC : WORKLOAD_TRACE;
    if (!keys_belong(&workload_mapping, section, spec->kind, error))
        return FALSE;
    if (!synthetic)
        return TRUE;
    int process = 0, prompt = 0, output = 0;
    if (!yaml_expect(synthetic, YAML_MAPPING, NULL, error) ||
        !choose(&arrival_mapping, synthetic, "arrivals", &process, error) ||
        !choose(&length_mapping, synthetic, "prompt", &prompt, error) ||
        !choose(&length_mapping, synthetic, "output", &output, error))
        return FALSE;
    spec->synthetic.arrivals.process = (ArrivalProcess)process;
    spec->synthetic.prompt.distribution = (LengthDistribution)prompt;
    spec->synthetic.output.distribution = (LengthDistribution)output;
    return TRUE;
}
