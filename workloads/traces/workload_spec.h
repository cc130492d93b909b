/* The 'workload' section as a struct, and the tables that read and print it. Which keys belong to
 * the section depends on choices within it (trace or synthetic, the process of arrivals, the
 * distributions), so a table is put together for the choices made. */
#ifndef WORKLOADS_TRACES_WORKLOAD_SPEC_H
#define WORKLOADS_TRACES_WORKLOAD_SPEC_H

#include "workloads/request_source.h"
#include "workloads/traces/synthetic.h"
#include "workloads/traces/trace_format.h"

typedef enum { WORKLOAD_TRACE, WORKLOAD_SYNTHETIC, N_WORKLOAD_KINDS } WorkloadKind;

/* A slice is taken in this order: start and duration, on the trace's own dates before scaling;
 * rows with nothing to serve; skip and count. Time 0 is then 'start', or with 'skip' the date of
 * the first request served. */
typedef struct TraceSpec {
    char *path;  /* absolute */
    char *shown; /* as found from the section's folder: names the file in messages */
    TraceFormatKind format;
    gboolean sort;
    double start_s;
    double duration_s; /* 0: to the end */
    guint64 skip;
    guint64 count; /* 0: all */
} TraceSpec;

struct WorkloadSpec {
    WorkloadKind kind;
    TraceSpec trace;
    SyntheticSpec synthetic;
    double time_scale; /* arrival dates (and thinking times) are multiplied by it; > 0 */
    guint64 max_prompt_tokens, max_output_tokens; /* caps; 0: none */
};

/* Sets the choices of 'spec' from the section, and checks that no key stands with a choice that it
 * does not belong to. */
gboolean workload_choose(const YamlNode *section, WorkloadSpec *spec, GError **error);

/* The YamlFields that belong to the choices made in 'spec'. */
typedef struct WorkloadTable WorkloadTable;
WorkloadTable *workload_table_new(const WorkloadSpec *spec);
void workload_table_free(WorkloadTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WorkloadTable, workload_table_free)
const YamlField *workload_table_fields(const WorkloadTable *table, gsize *n_fields);

#endif
