/* What a search is after: figures to make large or small, and limits that a plan must keep. */
#ifndef ANALYSIS_OBJECTIVE_H
#define ANALYSIS_OBJECTIVE_H

#include "analysis/run/outcome.h"
#include "workloads/yaml_reader.h"

#define OBJECTIVES_MAX 4

/* A figure that must be at most, or at least, so much. */
typedef struct FigureLimit {
    Figure figure;
    gboolean at_most;
    double value; /* SI */
    char *text;   /* as it was typed; owned */
} FigureLimit;

typedef struct Objectives {
    guint n; /* at least 1 */
    Figure figures[OBJECTIVES_MAX];
    GArray *limits; /* FigureLimit */
} Objectives;

/* 'names' is "throughput" or "goodput,cost", from option '--objective'; NULL: 'nodes' (YamlNode *
 * of names, where messages then point). 'limits' are texts "ttft_p99 <= 2 s" or "goodput >= 99 %"
 * from option '--limit' (NULL-terminated, may be NULL). An INPUT_ERROR for what is no objective
 * (with its near miss), a name that stands twice, goodput without limits in 'slo', and limits that
 * are none or contradict each other. */
Objectives *objectives_new(const char *names, const GPtrArray *nodes, const char *const *limits,
                           const Slo *slo, GError **error);
void objectives_free(Objectives *objectives);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Objectives, objectives_free)

/* Adds a limit as objectives_new does; 'option' heads its messages ("--target"). */
gboolean objectives_add_limit(Objectives *objectives, const char *text, const char *option,
                              const Slo *slo, GError **error);

/* One limit by itself. 'limit' is to be cleared with figure_limit_clear on success. */
gboolean figure_limit_parse(const char *text, const char *option, FigureLimit *limit,
                            GError **error);
void figure_limit_clear(FigureLimit *limit);
gboolean figure_limit_kept(const FigureLimit *limit, const double *figures);

/* The first limit that the figures break; NULL when there is none. A figure that does not exist
 * (NaN) breaks its limit. */
const FigureLimit *objectives_broken_limit(const Objectives *objectives, const double *figures);

/* Below 0 when the value 'a' is better than 'b' for this figure, above 0 when it is worse. NaN is
 * worse than everything. */
int objective_compare(Figure figure, double a, double b);

/* How the figures 'a' and 'b' (N_FIGURES each) stand to each other in all objectives at once. */
typedef enum { OBJECTIVES_EQUAL, OBJECTIVES_BETTER, OBJECTIVES_WORSE, OBJECTIVES_MIXED } Comparison;
Comparison objectives_compare(const Objectives *objectives, const double *a, const double *b);

/* One objective after the other: below 0 when 'a' comes first. */
int objectives_order(const Objectives *objectives, const double *a, const double *b);

/* Marks, in 'wanted' (N_FIGURES), those that objectives and limits are about. */
void objectives_figures(const Objectives *objectives, gboolean *wanted);

/* "4212 tokens/s", with the figure's unit. Caller frees. */
char *objective_text(Figure figure, double value);

#endif
