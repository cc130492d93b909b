/* Private to plan_bound: what the requests of a workload bring to the stages of a plan, and what
 * each takes with nobody else about. */
#ifndef ANALYSIS_BOUND_WORK_H
#define ANALYSIS_BOUND_WORK_H

#include "analysis/bounds/bound_load.h"
#include "analysis/bounds/bound_shape.h"

/* Sums of many times are rounded otherwise than the engine's clock: so much, relative, at most. */
#define BOUND_ROUNDING 1e-7

typedef enum {
    PROMPTS_ALONE,   /* a step computes one whole prompt */
    PROMPTS_WHOLE,   /* … whole prompts */
    PROMPTS_CHUNKED, /* … parts of prompts, and in a colocated replica decoding requests with them:
                        how attention is cut is not known */
    PROMPTS_CACHED   /* a prompt may have all but one token computed already */
} PromptSteps;

typedef struct Bounding {
    const Experiment *experiment;
    const BoundLoad *load;
    const gboolean *wanted; /* a figure */
    gboolean colocated;     /* then both shapes are of the same replicas */
    BoundShape prefill, decode;
    PromptSteps steps;
    guint64 prompt_rows; /* of a step that computes prompts, at the most */
    guint64 sampled;     /* rows of the head in such a step, at the most; 0: not known */
    gboolean decode_counts;
} Bounding;
/* Decoding requests and prompts share steps. */
gboolean bounding_mixes(const Bounding *bounding);

/* One request with nobody else about, in seconds. */
typedef struct WorkAlone {
    double first_s; /* arrival to first token */
    double pull_s;  /* KV on its way to where it decodes */
    double answer_s;
    double attention_s; /* of its answer in one layer */
} WorkAlone;

/* A kind of stages and what a request costs there. */
typedef struct WorkKind {
    const BoundStage *stage;
    guint layers;   /* the stage's */
    double row_s;   /* a prompt's row where steps hold several */
    double head_s;  /* its first token, there */
    double token_s; /* a token of its answer but for attention */
    double least_s; /* of all prompts */
} WorkKind;

typedef struct BoundWork {
    const Bounding *bounding; /* borrowed */
    WorkAlone *alone;         /* a request */
    WorkKind *prefill;        /* a kind of prefill's stages */
    WorkKind *decode;         /* … of decode's; the same kinds when colocated */
    WorkKind whole;           /* prefill's stages as one */
    double cycle_row_s;       /* a token of an answer, all stages and the way round */
    double cycle_s;           /* a decode step on all stages and the way round, at the least */
    double token_attention_s; /* of a token of an answer in one layer, at the least */
    /* of all requests the least */
    double prompt_least_s; /* first token */
    double first_least_s;  /* first token and pull */
    double rest_least_s;   /* pull and answer */
    double answer_least_s; /* answer */
} BoundWork;
void bound_work_fill(BoundWork *work, const Bounding *bounding);
void bound_work_clear(BoundWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(BoundWork, bound_work_clear)

/* Seconds of one stage of a kind for a prompt, and for an answer whose attention in one layer takes
 * 'attention_s'. */
double bound_work_prompt(const Bounding *bounding, const WorkKind *kind, guint32 prompt);
double bound_work_answer(const WorkKind *kind, guint32 output, double attention_s);

#endif
