#include "workloads/experiment_file.h"
#include "workloads/traces/workload_spec.h"

#include <string.h>

/* Finds the trace: 'path' becomes absolute, so that the resolved section works from anywhere. */
static gboolean find_trace(TraceSpec *trace, const YamlNode *node, const char *folder,
                           GError **error) {
    gboolean typed = node->line == 0; /* on the command line, so from the current folder */
    trace->shown = data_file_find(trace->path, typed ? "." : folder, "traces");
    if (!trace->shown)
        return yaml_error(node, INPUT_ERROR_MISSING, error, "no file '%s' for 'trace'",
                          trace->path);
    g_autofree char *absolute = g_canonicalize_filename(trace->shown, NULL);
    g_free(trace->path);
    trace->path = g_steal_pointer(&absolute);
    return TRUE;
}

static gboolean check_lengths(const LengthSpec *lengths, const YamlNode *node, GError **error) {
    gboolean ranged =
        lengths->distribution == LENGTHS_UNIFORM || lengths->distribution == LENGTHS_ZIPF;
    if (ranged && lengths->min > lengths->max)
        return yaml_error(yaml_get(node, "max"), INPUT_ERROR_CONFLICT, error,
                          "'max' is below 'min' (%" G_GUINT64_FORMAT ")", lengths->min);
    if (lengths->distribution != LENGTHS_LOGNORMAL)
        return TRUE;
    const YamlNode *cv = yaml_get(node, "cv"), *sigma = yaml_get(node, "sigma");
    if (cv && sigma)
        return yaml_error(sigma, INPUT_ERROR_CONFLICT, error,
                          "'cv' and 'sigma' both state the spread; give one");
    if (!cv && !sigma)
        return yaml_error(node, INPUT_ERROR_MISSING, error, "missing key 'cv' or 'sigma' in '%s'",
                          node->key);
    return TRUE;
}

static gboolean check_synthetic(const SyntheticSpec *spec, const YamlNode *node, GError **error) {
    return check_lengths(&spec->prompt, yaml_get(node, "prompt"), error) &&
           check_lengths(&spec->output, yaml_get(node, "output"), error);
}

WorkloadSpec *workload_read(const YamlNode *section, const char *folder, GError **error) {
    g_autoptr(WorkloadSpec) spec = g_new0(WorkloadSpec, 1);
    if (!workload_choose(section, spec, error))
        return NULL;
    g_autoptr(WorkloadTable) table = workload_table_new(spec);
    gsize n_fields;
    const YamlField *fields = workload_table_fields(table, &n_fields);
    if (!yaml_read_fields(section, fields, n_fields, spec, error))
        return NULL;
    gboolean sound = spec->kind == WORKLOAD_TRACE
                         ? find_trace(&spec->trace, yaml_get(section, "trace"), folder, error)
                         : check_synthetic(&spec->synthetic, yaml_get(section, "synthetic"), error);
    return sound ? g_steal_pointer(&spec) : NULL;
}

void workload_spec_free(WorkloadSpec *spec) {
    if (!spec)
        return;
    g_free(spec->trace.path);
    g_free(spec->trace.shown);
    g_free(spec);
}

void workload_write(const WorkloadSpec *spec, guint indent, GString *out) {
    g_autoptr(WorkloadTable) table = workload_table_new(spec);
    gsize n_fields;
    const YamlField *fields = workload_table_fields(table, &n_fields);
    yaml_write_fields(out, indent, fields, n_fields, spec);
}

const char *workload_trace_path(const WorkloadSpec *spec) {
    return spec->kind == WORKLOAD_TRACE ? spec->trace.path : NULL;
}

double workload_time_scale(const WorkloadSpec *spec) {
    return spec->time_scale;
}
