/* Stops at the high mark and resumes at the low one, so that admission does not flutter between
 * two requests (THInfer III.D.2). With equal marks it resumes below them. */
#include "policies/backpressure/rule.h"

gboolean backpressure_watermark(const Backpressure *state, double occupied_bytes) {
    if (occupied_bytes >= state->high_bytes)
        return TRUE;
    return state->paused && occupied_bytes > state->low_bytes;
}
