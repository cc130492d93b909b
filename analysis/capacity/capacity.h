/* Capacity planning: the smallest machine on which some plan meets all targets, the load that it
 * bears, and what holds it back; or the highest load of a machine that is given. */
#ifndef ANALYSIS_CAPACITY_H
#define ANALYSIS_CAPACITY_H

#include "analysis/capacity/bisection.h"
#include "analysis/search/search.h"

typedef enum {
    UNITS_PROCESSORS,
    UNITS_CLUSTERS,
    UNITS_WAFERS,
    UNITS_GPUS,
    UNITS_NODES, /* of GPUs */
    N_CAPACITY_UNITS
} CapacityUnits;
extern const char *const capacity_unit_names[N_CAPACITY_UNITS + 1]; /* "processors" …, NULL */
/* Whether machines of this kind are counted in them. */
gboolean capacity_units_fit(CapacityUnits units, const Platform *platform);
/* What it is counted in unless something else is asked for. */
CapacityUnits capacity_units_of(const Platform *platform);
/* "1 processor", "6 processors". Caller frees. */
char *capacity_size_text(CapacityUnits units, guint64 size);

typedef struct CapacitySetup {
    Campaign *campaign;
    /* Its limits are the targets, at least one. Plans are tried in the order of its figures. */
    const Objectives *targets;
    SearchMethod method; /* not analytic */
    CapacityUnits units;
    guint64 from, to, step; /* sizes; step ≥ 1 */
    const GArray *loads;    /* double, ascending: of the chosen plan's headroom */
    guint64 seeds;          /* other ones under which a plan has to meet the targets too */
    double knee_gain;       /* of goodput (without limits: of throughput), see 'knee' */
    gboolean own_plan;      /* for the highest load: the experiment's own plan, no search */
    SearchProgress *progress;
} CapacitySetup;

/* A plan on a machine under a load, simulated. */
typedef struct CapacityPoint {
    guint64 size;   /* of the machine; 0: the experiment's own */
    double load;    /* arrivals come so many times as fast as in the experiment */
    guint64 seed;   /* of those in 'seeds' */
    gboolean holds; /* all targets; of a size, under every seed */
    guint seeds_asked,
        seeds_held;  /* of a size: other seeds it was tried with, and those that hold */
    char **settings; /* that make it of the experiment; NULL where there is no plan */
    char *plan;      /* in words, or NULL */
    char *reason;    /* why there are no figures, or NULL */
    double figures[N_FIGURES];
    gboolean bounded; /* bounds prove that no plan meets the targets; it is the best of them */
    gsize candidates, simulated; /* plans there were, and had to be simulated; 0 without a search */
} CapacityPoint;
void capacity_point_free(CapacityPoint *point);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CapacityPoint, capacity_point_free)
/* Its plan, or why there is none; and how many of other seeds hold where not all do. Caller frees.
 */
char *capacity_point_words(const CapacityPoint *point);

/* One resource given twice, under loads of 1.1 to 1.5 times the lowest that breaks a target:
 * several, since a single run near its limit says little. */
#define PRESSED_LOADS 5
typedef struct CapacityRelief {
    const char *resource; /* "prefill compute", static; NULL: nothing given, to compare with */
    const char *change;   /* "twice prefill.dp", static */
    CapacityPoint *points[PRESSED_LOADS];
    double closed; /* of the way from the broken figure to its target, in the mean; NaN */
} CapacityRelief;

/* A target that even the largest machine misses. */
typedef struct CapacityCause {
    const FigureLimit *target; /* of the setup's */
    gboolean never;            /* no load is light enough: see 'text' */
    char *text;
} CapacityCause;

typedef struct Capacity {
    GPtrArray *sizes; /* CapacityPoint *, ascending by size: all that were looked at */
    BisectionResult size_search;
    const CapacityPoint *chosen; /* in 'sizes', or with the highest load in 'loads'; or NULL */
    /* In 'sizes': the first behind which no larger one gains 'knee_gain' of its figure; NO_PLACE:
     * there is none. */
    gsize knee;
    Figure curve;          /* the figure of the knee: goodput, or throughput without limits */
    double rate_per_s;     /* that the experiment offers; NaN where all come at once or in a loop */
    GPtrArray *loads;      /* CapacityPoint *, ascending by load; empty where the rate is NaN */
    double highest_load;   /* NaN: none holds */
    double lowest_broken;  /* the lowest load that breaks a target; NaN: none was found */
    gboolean loads_uneven; /* a load above 'lowest_broken' held again */
    GPtrArray *seeds;      /* CapacityPoint * of the chosen plan */
    GPtrArray *reliefs;    /* CapacityRelief *, of the chosen plan; the first gives nothing */
    const FigureLimit *pressed; /* the target whose figure they are judged by; NULL: none broken */
    gssize bottleneck; /* in 'reliefs'; −1: none of them alone closes a tenth of the way */
    GPtrArray *causes; /* CapacityCause *, when no size holds */
} Capacity;
void capacity_free(Capacity *capacity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Capacity, capacity_free)

/* Sizes by bisection over from, from + step, … to. An INPUT_ERROR where even the largest has no
 * plan. NULL as campaign_run fails. */
Capacity *capacity_smallest(const CapacitySetup *setup, GError **error);
/* The highest load of the experiment's own machine, which must have a rate. 'sizes' is empty. */
Capacity *capacity_highest_load(const CapacitySetup *setup, GError **error);

/* Requests a second from the first second to the last arrival; NaN where all come at once, or as
 * others are answered. */
double capacity_offered_rate(const Experiment *experiment);

#endif
