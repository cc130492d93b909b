/* An experiment with every section read, every default filled in, and all of it checked together:
 * what a run depends on, and nothing else. */
#ifndef ANALYSIS_EXPERIMENT_H
#define ANALYSIS_EXPERIMENT_H

#include "analysis/costs/wafer_tune.h"
#include "analysis/run/slo.h"
#include "platforms/wafer_times.h"
#include "policies/plan.h"
#include "policies/search_space.h"
#include "workloads/experiment_file.h"
#include "workloads/request_source.h"

typedef struct Experiment {
    guint64 seed;
    Platform *platform;
    Model *model;
    WorkloadSpec *workload;
    Policy *policy;
    Plan *plan;
    Slo slo;
    OutputSpec output;       /* its checkpoint is an absolute path */
    char *checkpoint_shown;  /* that path as it was given, for messages; or NULL */
    SearchSpec *search;      /* never NULL; one run has no use for it */
    WorkloadFacts facts;     /* the whole workload has been read once and is valid */
    WaferCosts *wafer_costs; /* mode wafer: of the platform, for the fill; else NULL */
    GArray *wafer_pairs;     /* WaferCandidate, the chosen one first, where grids were left open;
                                else NULL */
    YamlFiles *files;        /* as they were read, for those beside it; NULL: beside another */
    GPtrArray *warnings;     /* char *: right, but hardly what was meant */
} Experiment;

/* Loads, validates, plans and scans the workload. 'path' is a file or the name of a shipped
 * experiment. */
Experiment *experiment_load(const char *path, const char *const *overrides, GError **error);
/* The same beside one that is loaded (may be NULL), of which most is the same: files are taken as
 * they were read for that one, and where both have the same workload and seed it is not scanned
 * once more. */
Experiment *experiment_load_beside(const Experiment *known, const char *path,
                                   const char *const *overrides, GError **error);
/* Without a plan ('plan' is NULL, and the policy's own is not looked at), for whoever looks for
 * one: the sections and the facts of the workload. */
Experiment *experiment_load_unplanned(const char *path, const char *const *overrides,
                                      GError **error);
void experiment_free(Experiment *experiment);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Experiment, experiment_free)

/* What the phases of its requests take on a wafer, simulated where it is not known yet; only in
 * mode wafer. NULL and an error where that cannot be. The caller frees. */
WaferTimes *experiment_wafer_times(const Experiment *experiment, GError **error);

/* One line each on standard error. */
void experiment_print_warnings(const Experiment *experiment);

/* The resolved experiment: a valid experiment file that gives the same bytes, with the memory bill
 * and the KV capacity as comments. Caller frees. */
char *experiment_write(const Experiment *experiment);
/* Without the section 'search', which no single run depends on. Caller frees. */
char *experiment_write_run(const Experiment *experiment);

#endif
