/* Private to plan_bound: work that lies before a plan from some date on, and when it can have been
 * done. */
#ifndef ANALYSIS_BOUND_LEFT_H
#define ANALYSIS_BOUND_LEFT_H

#include "analysis/bounds/bound_buffer.h"

typedef struct BoundLeft {
    double from_s;        /* none of it is begun before */
    gsize prompts;        /* not begun */
    double *prompt_s;     /* a kind of prefill's stages: of those prompts on one of them; owned */
    gsize answers;        /* not begun, of more than one token */
    double tokens;        /* of answers but for each one's first */
    double attention_s;   /* theirs in one layer */
    double kv_in_tokens;  /* prompt tokens whose KV has yet to go into the buffer */
    double kv_out_tokens; /* … and out of it */
    gboolean fresh;       /* all tokens are of prompts not begun */
} BoundLeft;
/* Nothing is left. */
void bound_left_init(BoundLeft *left, const BoundWork *work);
void bound_left_clear(BoundLeft *left);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(BoundLeft, bound_left_clear)

/* All requests of the workload, of which nothing is done, from the start of the run on. */
void bound_left_of_all(BoundLeft *left, const BoundWork *work);
/* The same as 'other'. */
void bound_left_copy(BoundLeft *left, const BoundLeft *other, const BoundWork *work);
/* A request of which nothing is done. */
void bound_left_add(BoundLeft *left, const BoundWork *work, gsize request);

/* Cluster-seconds in which steps run for it, at the least. */
double bound_left_busy(const BoundLeft *left, const BoundWork *work);
/* Seconds: the least date at which all of it is done. */
double bound_left_end(const BoundLeft *left, const BoundWork *work, const BoundBuffer *buffer);

#endif
