/* A table of serving experiments as data: which shipped experiment, with which settings, stands for
 * each line of a reference file. A YAML file of analysis/reference:
 *
 *     version: 1
 *     figure: tokens_per_s        # the column of the published figures; 'OOM' is one too
 *     unit: tokens/s
 *     margin: 20 %                # by what share figures must differ for their order to matter
 *     series: system              # the columns that tell lines apart: one,
 *     row: model                  # one,
 *     columns: [prompt]           # and any
 *     labels:                     # what values are called in the results
 *       DeepSpeed: DeepSpeed, 2 V100S
 *     cases:                      # each adds to the lines that it is about
 *       - cells: DeepSpeed *      # a pattern for the line's values in that order, blanks between
 *         experiment: deepspeed   # the shipped experiment
 *         measure: throughput     # throughput, decode_rate, prompt_rate or output_rate
 *         plan: rule              # the plan of THInfer's analytic rule; else (own) as it stands
 *         halve: [workload.synthetic.requests] # settings, until the plan fits; where one is at
 *                                              # 1 and it does not: out of memory
 *         set: [policy.prefill.dp=2]
 *       - {cells: DeepSpeed 7B *, mark: calibrated}
 *       - {cells: DeepSpeed 70B *, mark: contradicted, reason: "…"} # unexplained, chosen
 *
 * Later cases win; their settings add up. Lines that no case names an experiment for are not the
 * spec's. */
#ifndef ANALYSIS_SERVING_SPEC_H
#define ANALYSIS_SERVING_SPEC_H

#include "analysis/reproduce/reference_table.h"
#include "analysis/reproduce/reproduction.h"
#include "workloads/yaml_reader.h"

typedef enum {
    MEASURE_THROUGHPUT,  /* generated tokens/s, in the steady state where one is cut */
    MEASURE_DECODE_RATE, /* 1 / mean TPOT */
    MEASURE_PROMPT_RATE, /* a request's prompt tokens / mean TTFT */
    MEASURE_OUTPUT_RATE, /* a request's output tokens / mean E2E */
} ServingMeasure;

/* What a line of the reference is simulated by. Texts are the reproduction's, nodes the spec's. */
typedef struct ServingLine {
    guint line;           /* of the reference */
    const YamlNode *node; /* the case that names its experiment, for messages */
    ReproducedCell cell;  /* labels, unit, published figure and marks */
    const char *experiment;
    ServingMeasure measure;
    gboolean rule;         /* the plan is the analytic rule's */
    const YamlNode *halve; /* keys of settings, or NULL */
    GPtrArray *set;        /* char *, "key=value"; owned */
} ServingLine;

typedef struct ServingSpec {
    YamlNode *root;
    char *figure, *unit, *series, *row;
    double margin;
    GPtrArray *keys; /* const char *: series, row and the columns; borrowed */
    GArray *lines;   /* ServingLine, in the order of the reference */
} ServingSpec;

/* 'name' within the reference folder. NULL and an INPUT_ERROR with its place for whatever is wrong
 * in the file, or does not match the reference. */
ServingSpec *serving_spec_load(const char *name, const ReferenceTable *reference,
                               Reproduction *reproduction, GError **error);
void serving_spec_free(ServingSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServingSpec, serving_spec_free)

#endif
