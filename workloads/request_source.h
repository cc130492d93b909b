/* Where requests come from: a trace file, streamed, or a seeded generator. Memory does not grow
 * with the number of requests (but for sort: true, which must hold them all). */
#ifndef WORKLOADS_REQUEST_SOURCE_H
#define WORKLOADS_REQUEST_SOURCE_H

#include "workloads/yaml_reader.h"

/* A request as it arrives. */
typedef struct Request {
    guint64 id;             /* from 0 in order of arrival (closed loop: of issue) */
    double arrival_s;       /* from the start of the simulation */
    guint32 prompt_tokens;  /* ≥ 1 */
    guint32 output_tokens;  /* ≥ 1 */
    guint32 n_blocks;       /* prefix blocks of 512 prompt tokens, 0 where the trace has none */
    guint64 *prefix_blocks; /* their ids; owned by the request */
} Request;
void request_clear(Request *request); /* frees the blocks */

#define PREFIX_BLOCK_TOKENS 512 /* Mooncake traces: one hash id a block of 512 tokens */

/* The 'workload' section, read and validated. Opaque: readers of each format are private. Keys,
 * formats and slices are described in workloads/traces/README.md. 'folder' is where a relative
 * trace starts from; what is printed names it by its absolute path. */
typedef struct WorkloadSpec WorkloadSpec;
WorkloadSpec *workload_read(const YamlNode *section, const char *folder, GError **error);
void workload_spec_free(WorkloadSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WorkloadSpec, workload_spec_free)
void workload_write(const WorkloadSpec *spec, guint indent, GString *out);
/* The absolute path of its trace; NULL where requests are generated. Borrowed. */
const char *workload_trace_path(const WorkloadSpec *spec);
/* What its arrival dates are multiplied by. */
double workload_time_scale(const WorkloadSpec *spec);

/* What reading everything once finds; also proves that every row is valid, those after the slice
 * included, and that something is left to serve. */
typedef struct WorkloadFacts {
    guint64 requests;                     /* that will be served, after slicing */
    guint64 rows;                         /* data rows read */
    guint64 skipped_outputs;              /* rows with zero output tokens: nothing to generate */
    guint64 skipped_prompts;              /* rows with zero prompt tokens */
    guint64 sliced;                       /* rows outside start/duration/count */
    guint64 capped;                       /* requests whose lengths were cut to the caps */
    guint64 prompt_tokens, output_tokens; /* sums over the served requests */
    guint32 max_prompt_tokens, max_output_tokens, max_total_tokens;
    double last_arrival_s; /* 0 in a closed loop, where it is unknown */
    gboolean closed_loop;  /* arrivals depend on completions */
    gboolean has_prefixes;
} WorkloadFacts;
gboolean workload_scan(const WorkloadSpec *spec, guint64 seed, WorkloadFacts *facts,
                       GError **error);

/* Borrows 'spec', which must outlive the source. Reads no further than the slice goes. */
typedef struct RequestSource RequestSource;
RequestSource *request_source_open(const WorkloadSpec *spec, guint64 seed, GError **error);
void request_source_free(RequestSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RequestSource, request_source_free)

/* The next request in order of arrival. FALSE at the end, or on an error (then it is set). In a
 * closed loop this gives the first request of each user. The caller owns the request's blocks. */
gboolean request_source_next(RequestSource *source, Request *request, GError **error);

/* Closed loop: a request ended (completed, rejected, dropped) at 'now_s'; TRUE when its user sends
 * another, whose arrival (after the think time) is in 'request'. Always FALSE for open sources. */
gboolean request_source_completed(RequestSource *source, double now_s, Request *request);

#endif
