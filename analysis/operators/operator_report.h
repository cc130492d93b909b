/* What is told of a simulated operator: latency, rates, what bounds it, bytes, blocks, numbers. */
#ifndef ANALYSIS_OPERATOR_REPORT_H
#define ANALYSIS_OPERATOR_REPORT_H

#include "analysis/operators/operator_run.h"
#include "analysis/output/facts.h"

typedef enum { BOUND_COMPUTE, BOUND_DDR, BOUND_GSM, BOUND_LAUNCH, BOUND_NETWORK } OperatorBound;
const char *operator_bound_name(OperatorBound bound);

/* The seconds that each resource of a cluster was needed for; the largest bounds the operator. */
typedef struct OperatorTimes {
    double compute_s, ddr_s, gsm_s, launch_s;
} OperatorTimes;
OperatorTimes operator_times(const ClusterCounts *counts, const ClusterSpec *cluster);
OperatorBound operator_bound(const OperatorTimes *times);

/* Bytes that crossed the DDR; into or out of it. */
double operator_ddr_bytes(const ClusterCounts *counts);

/* Caller owns. */
Facts *operator_report(const OperatorSpec *spec, const OperatorResult *result,
                       const Platform *platform);

/* The group of the numbers that were checked. */
void operator_report_check(Facts *facts, const OperatorCheck *check);

extern const char *const operator_kind_names[]; /* "gemm" …, NULL-terminated, by OperatorKind */
extern const char *const operator_variant_names[]; /* "unfused" …, NULL-terminated */

#endif
