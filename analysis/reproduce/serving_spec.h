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
 *     cases:                      # of each of them, what its values stand for
 *       system:
 *         DeepSpeed:
 *           experiment: deepspeed # the shipped experiment of the line
 *           measure: throughput   # throughput, decode_rate, prompt_rate or output_rate
 *           halve: [workload.synthetic.requests] # settings, until the plan fits; where one is at
 *                                                # 1 and it does not: out of memory
 *           plan: rule            # the plan of THInfer's analytic rule; else the experiment's own
 *           label: DeepSpeed, 2 V100S
 *           set: [policy.prefill.dp=2]
 *     marks:
 *       - cells: DeepSpeed 7B *   # a pattern for the values of a line, with blanks between
 *         mark: calibrated        # calibrated, unexplained or contradicted
 *         reason: "…"             # of the latter two
 *
 * Cases of a line are put together in the order series, row, columns; later settings win. Lines
 * whose series has no case are not the spec's. */
#ifndef ANALYSIS_SERVING_SPEC_H
#define ANALYSIS_SERVING_SPEC_H

#include "analysis/reproduce/reference_table.h"
#include "analysis/reproduce/reproduction.h"
#include "workloads/yaml_reader.h"

typedef enum {
    MEASURE_THROUGHPUT,  /* generated tokens a second of the whole run */
    MEASURE_DECODE_RATE, /* 1 / mean TPOT */
    MEASURE_PROMPT_RATE, /* a request's prompt tokens / mean TTFT */
    MEASURE_OUTPUT_RATE, /* a request's output tokens / mean E2E */
    MEASURE_UNSET
} ServingMeasure;

/* What a line of the reference is simulated by. */
typedef struct ServingLine {
    guint line;             /* of the reference */
    const YamlNode *node;   /* of its series' case, for messages; borrowed from the spec */
    ReproducedCell cell;    /* labels, unit, published figure and marks */
    const char *experiment; /* borrowed from the spec */
    ServingMeasure measure;
    const YamlNode *halve; /* keys of settings, or NULL; borrowed from the spec */
    gboolean rule;         /* the plan is the analytic rule's */
    GPtrArray *set;        /* char *, "key=value" */
} ServingLine;

typedef struct ServingSpec {
    YamlNode *root;
    char *figure, *unit, *series, *row;
    double margin;
    GPtrArray *keys; /* const char *: series, row and the columns; borrowed */
    GArray *lines;   /* ServingLine, in the order of the reference */
} ServingSpec;

/* 'name' within the reference folder. Cells' texts go to 'reproduction'. NULL and an INPUT_ERROR
 * with its place for whatever is wrong in the file, or does not match the reference. */
ServingSpec *serving_spec_load(const char *name, const ReferenceTable *reference,
                               Reproduction *reproduction, GError **error);
void serving_spec_free(ServingSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServingSpec, serving_spec_free)

#endif
