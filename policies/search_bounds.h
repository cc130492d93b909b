/* Private to search spaces: the values of each key of the policy that a search goes through. */
#ifndef POLICIES_SEARCH_BOUNDS_H
#define POLICIES_SEARCH_BOUNDS_H

#include "policies/search_spec.h"

/* What bounds that a section leaves out depend on. All borrowed. */
typedef struct BoundInputs {
    const SearchSpec *spec;
    const Policy *policy; /* in the mode of the plans */
    const Model *model;
    const Platform *platform;
    guint64 clusters; /* that a plan may take at most */
} BoundInputs;

/* The policy's values in 'mode': what belongs to one mode only has its defaults in another, on that
 * kind of platform. Errors are those of policy_read. */
Policy *search_policy_in(const Policy *base, ServingMode mode, DeviceKind kind, GError **error);

/* The values of a dimension, guint64, counts ascending; NULL when it is not searched. The caller
 * owns the array's reference. Left out: TP in powers of two that a plan may have, up to what a
 * node holds (8 at least); PP by the divisors of the layers; replicas as many as the
 * clusters; few choices of the buffer's clusters, of the slots and of prefill's micro-batch; and
 * the policy's own value with them. */
GArray *search_bounds(const BoundInputs *inputs, SearchDimensionKind kind);

#endif
