/* THInfer's configuration rule (section III.C.3, eq. 12–22) read literally, as the thing that a
 * search is compared with: no simulation, no measured time.
 *
 * For every TP_D that divides heads and KV heads (powers of two), PP_D is the smallest that fits
 * eq. 14–16 with one micro-batch's KV at S_max; B = PP_D · micro-batch; the buffer holds the KV of
 * B; PP_P is the smallest that fits eq. 12, 13 and 16; DP_D is 1. TP_D and DP_P are those that
 * minimise eq. 22, whose times are taken for a request's share of B, so that batches of different
 * TP_D compare. As many whole pools follow as the clusters hold; 'pools: whole' has eq. 21 and 22
 * count those alone, so that clusters left over cost too. With 'micro_batch: rule' PP_D is the
 * smallest with room for one request, and of the micro-batches for which it has room the one that
 * minimises eq. 22 is taken.
 *
 * Times come from the platform's numbers alone: an operator takes the longer of its
 * multiply-accumulates at the peak and its bytes at the bandwidth of memory; an all-reduce sends
 * TP − 1 full vectors (eq. 17) over the link between clusters of a processor, or over the port
 * where TP is wider than a processor; a launch takes 'launch_group'. Embedding, output matrix,
 * pipelines' fill and migration of KV have no place in the equations. */
#ifndef POLICIES_ANALYTIC_RULE_H
#define POLICIES_ANALYTIC_RULE_H

#include "policies/search_space.h"

typedef struct AnalyticInputs {
    const Model *model;
    const Platform *platform; /* of kind mt3000 */
    const Policy *policy;     /* mode pbd: micro-batches (prefill.micro_batch, decode.slots) and
                                 overhead */
    double prompt_tokens, output_tokens; /* of a request, mean */
    guint64 clusters;                    /* 0: the platform's */
    AnalyticSwitches switches;
} AnalyticInputs;

/* Seconds of one layer on one cluster. */
typedef struct AnalyticLayer {
    double norm, attention, feed_forward; /* without TP */
    double all_reduce, launch;            /* one of each; 0 without TP */
    double total;                         /* eq. 18 without TP, eq. 19 with it */
} AnalyticLayer;

/* Bytes of one cluster. */
typedef struct AnalyticBill {
    double weights;  /* eq. 12 or 14 */
    double kv;       /* eq. 13 or 15 */
    double overhead; /* eq. 16 */
    double usable;   /* more than their sum (eq. 16) */
} AnalyticBill;

/* What was chosen, with everything on the way to it. */
typedef struct AnalyticPlan {
    double context_tokens; /* S_max */
    double kv_width;       /* D_emb of eq. 13 and 15 */
    double model_bytes;    /* Model_size */
    guint64 tp, pp;        /* TP_D, PP_D; DP_D is 1 */
    guint64 micro_batch;   /* requests of a decode micro-batch */
    guint64 batch;         /* B = PP_D · micro_batch */
    guint64 prefill_pp, prefill_dp, prefill_micro_batch;
    AnalyticBill prefill, decode;
    double buffer_bytes;         /* KV of B */
    guint64 buffer;              /* B_P, clusters */
    guint64 pool;                /* Clu_pool, eq. 20 */
    guint64 pools;               /* whole ones */
    AnalyticLayer prefill_layer; /* of a prefill micro-batch */
    AnalyticLayer decode_layer;  /* of a decode micro-batch at the mean context */
    guint64 prefill_rounds;      /* prefill micro-batches that B is */
    double prefill_s;    /* T_p: B's prompts with DP_P = 1, as the slowest stage paces them */
    double decode_s;     /* T_d: B's tokens but the first, which prefill makes */
    double cost;         /* cluster-seconds of a request: eq. 22 over B; with whole pools each has
                            an even share of all clusters */
    double tokens_per_s; /* generated, all pools: eq. 21 with B · output tokens as its factor */
    SearchPoint point;   /* settings owned; cleared by analytic_plan_clear */
} AnalyticPlan;

/* Fills 'plan', which analytic_plan_clear clears. Errors (domain INPUT_ERROR, without a place):
 * another mode, wafers, or nothing that fits, with what is missing. */
gboolean analytic_rule(const AnalyticInputs *inputs, AnalyticPlan *plan, GError **error);
void analytic_plan_clear(AnalyticPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AnalyticPlan, analytic_plan_clear)

#endif
