/* How far the numbers of a machine may lie from what its file says. A source that calls its number
 * assumed or calibrated may end in a range: "assumed, plausible range 0.25-6 GB/s: why". */
#ifndef PLATFORMS_PLAUSIBLE_H
#define PLATFORMS_PLAUSIBLE_H

#include "platforms/platform.h"

G_BEGIN_DECLS

typedef struct PlausibleRange {
    const char *key;  /* of the platform's section: "network.port.bandwidth"; borrowed */
    char *shipped;    /* as it stands there, in SI's units or larger ones */
    char *low, *high; /* with their unit, as a file or --set has them */
} PlausibleRange;

/* PlausibleRange, in the order of the section's keys. An INPUT_ERROR for a source that speaks of a
 * plausible range and gives none. Caller unrefs; borrows from the platform. */
GArray *plausible_ranges(const Platform *platform, GError **error);

G_END_DECLS

#endif
