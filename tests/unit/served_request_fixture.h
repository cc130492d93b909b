/* Hand-made requests and events for the tests of observers. */
#ifndef TESTS_SERVED_REQUEST_FIXTURE_H
#define TESTS_SERVED_REQUEST_FIXTURE_H

#include "actors/event.h"

/* A request that has just arrived. */
static inline ServedRequest served_request(guint64 id, double arrival_s, guint32 output_tokens) {
    return (ServedRequest){.request = {.id = id,
                                       .arrival_s = arrival_s,
                                       .prompt_tokens = 100,
                                       .output_tokens = output_tokens},
                           .pool = G_MAXUINT,
                           .prefill_replica = G_MAXUINT,
                           .decode_replica = G_MAXUINT,
                           .prefill_start_s = -1,
                           .first_token_s = -1,
                           .buffered_s = -1,
                           .pull_start_s = -1,
                           .decode_start_s = -1,
                           .completed_s = -1};
}

static inline void tell(Observer *observer, EventKind kind, double time_s,
                        const ServedRequest *served) {
    observer->notify(observer, &(Event){.kind = kind, .time_s = time_s, .request = served});
}

#endif
