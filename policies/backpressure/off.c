/* Never stops admission: prefill runs ahead until the buffer holds no further request. */
#include "policies/backpressure/rule.h"

gboolean backpressure_off(const Backpressure *state, double occupied_bytes) {
    (void)state;
    (void)occupied_bytes;
    return FALSE;
}
