/* Private to capacity: what its parts share. */
#ifndef ANALYSIS_CAPACITY_PRIVATE_H
#define ANALYSIS_CAPACITY_PRIVATE_H

#include "analysis/capacity/capacity.h"

/* Owns 'settings'. */
CapacityPoint *capacity_point_new(guint64 size, double load, char **settings);
/* The plan of another point under a load, with more settings behind its own, copied. */
CapacityPoint *capacity_point_with(const CapacityPoint *point, double load, char *const *more);
GPtrArray *capacity_points_new(void); /* CapacityPoint *, owned */

/* The settings of a machine of this size (0: none). Caller frees with g_strfreev. */
char **capacity_machine_settings(const CapacitySetup *setup, guint64 size);
/* Those that make arrivals 'load' times as fast, and the warm-up and cool-down as much shorter, so
 * that the same requests count. Caller frees with g_strfreev. */
char **capacity_load_settings(const Experiment *base, double load);
/* Both, one behind the other, copied; each may be NULL. */
char **capacity_join(char *const *a, char *const *b);

/* The plans that a machine of this size (0: the experiment's own) has. */
SearchSpace *capacity_space(const CapacitySetup *setup, guint64 size, GError **error);

typedef struct PointSearch {
    const SearchSpace *space;
    const Objectives *objectives;
    char **settings; /* before each plan's own */
    const char *label;
    guint64 size;
    double load;
    gboolean strict; /* only a plan that meets the limits is wanted */
} PointSearch;
/* The best plan of those that were simulated until one met all of the objectives' limits; where
 * none does, the one that comes nearest. */
CapacityPoint *capacity_search(const CapacitySetup *setup, const PointSearch *search,
                               GError **error);

/* … that meets them under the setup's other seeds too. Where the plan found breaks one under some
 * seed, the next is looked for under that seed among the plans not tried yet: so no plan of a size
 * that does not hold is good for all seeds. */
CapacityPoint *capacity_search_seeds(const CapacitySetup *setup, const PointSearch *search,
                                     GError **error);

/* Fills the figures of points that have settings. */
gboolean capacity_simulate(const CapacitySetup *setup, CapacityPoint *const *points, gsize n,
                           const char *label, GError **error);

/* Loads and what follows from them, of capacity->chosen. */
gboolean capacity_loads(const CapacitySetup *setup, Capacity *capacity, GError **error);
gboolean capacity_seeds(const CapacitySetup *setup, Capacity *capacity, GError **error);
gboolean capacity_bottleneck(const CapacitySetup *setup, Capacity *capacity, GError **error);
/* Why no size holds. */
gboolean capacity_causes(const CapacitySetup *setup, Capacity *capacity, GError **error);

/* Finds 'highest_load', 'lowest_broken' and fills 'loads' by what 'probe' says of loads of a fixed
 * grid; it gives a point, whose owner is then 'loads'. */
typedef CapacityPoint *(*LoadProbe)(const CapacitySetup *setup, const Capacity *capacity,
                                    double load, GError **error);
gboolean capacity_bisect_load(const CapacitySetup *setup, Capacity *capacity, LoadProbe probe,
                              GError **error);

#endif
