/* Private to fusion reports: the figures that both the tables and the JSON show. */
#ifndef ANALYSIS_FUSION_REPORT_ROWS_H
#define ANALYSIS_FUSION_REPORT_ROWS_H

#include "analysis/operators/fusion_report.h"

struct FusionReport {
    FusionQuestion question;
    OpList *list;
    FusionInput on_input; /* with fusion */
    Fusion *on, *off;
    GArray *boundaries; /* FusionBoundary */
    GArray *loads;      /* FusionLoad */
    guint64 load_heads, load_rows;
};

/* A result that passes from one unit to another. */
typedef struct FusionBoundary {
    guint producer, reader;
    FusionBarrier barrier;
} FusionBoundary;

/* The DSPs' work in attention when a request has 'tokens' new ones. */
typedef struct FusionLoad {
    guint64 tokens, row_blocks;
    DspLoad by_head, unified;
} FusionLoad;

/* Launches under one setting of the switches, and their seconds by THInfer eq. 10–11: each creates
 * and launches a thread group. */
typedef struct FusionLaunches {
    const char *launch, *fusion; /* as the policy names them */
    guint64 layer, model;
    double layer_s, model_s;
} FusionLaunches;
#define FUSION_LAUNCH_SETTINGS 4
void fusion_report_launches(const FusionReport *report,
                            FusionLaunches launches[FUSION_LAUNCH_SETTINGS]);

/* Off-chip bytes of a layer, each tensor once: operator by operator, and in units. */
double fusion_report_bytes_apart(const FusionReport *report);
double fusion_report_bytes_fused(const FusionReport *report);

/* Launches of a unit's operators one by one, and of the unit. */
guint64 fusion_report_launches_apart(const FusionReport *report, const FusedUnit *unit);
guint64 fusion_report_launches_fused(const FusedUnit *unit);

/* Multiply-accumulates for each off-chip byte; 0 where there is nothing of either. */
double fusion_report_intensity(double macs, double bytes);
/* At which the device's computing takes as long as its off-chip memory (THInfer eq. 2). */
double fusion_report_threshold(const FusionReport *report);

#endif
