/* What a wafer takes for the phases of a request, as tables of simulated times: a prompt by its
 * tokens, the move from a prompt's layout to the one that decodes by the tokens whose KV moves, a
 * decode step by its context. Between points a time is linear; where the tiles make it step, points
 * stand on both sides. Who fills the tables simulates; here they are only looked up. */
#ifndef PLATFORMS_WAFER_TIMES_H
#define PLATFORMS_WAFER_TIMES_H

#include <glib.h>

typedef enum {
    WAFER_PREFILL,    /* tokens of the prompt; with the head for its last one */
    WAFER_TRANSITION, /* tokens whose KV moves; 0: weights alone, as on the way back */
    WAFER_DECODE,     /* tokens attended to, the new one included, evenly over the rows of cores;
                         with the head */
    N_WAFER_PHASES
} WaferPhase;

typedef struct WaferTimes WaferTimes;
WaferTimes *wafer_times_new(void);
void wafer_times_free(WaferTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WaferTimes, wafer_times_free)

/* In ascending order of tokens, of each phase. 'seconds' is rounded to 1 ps. */
void wafer_times_add(WaferTimes *times, WaferPhase phase, guint32 tokens, double seconds);
guint wafer_times_points(const WaferTimes *times, WaferPhase phase);

/* What is generated goes to the last of 'rows' rows of cores; else it is spread evenly, too. */
void wafer_times_concat(WaferTimes *times, guint32 rows);
/* What a decode step's time goes by once 'context' tokens are there, 'prompt' of them from the
 * start: the context, or the tokens of the last row where that takes all new ones. One more with
 * each token. */
guint32 wafer_times_decode_key(const WaferTimes *times, guint32 prompt, guint32 context);
double wafer_times_decode_seconds(const WaferTimes *times, guint32 key);

/* Asking for less or more tokens than the first and last point is a programming error. */
double wafer_times_seconds(const WaferTimes *times, WaferPhase phase, guint32 tokens);

#endif
