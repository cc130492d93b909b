/* Blocks of scaled dot-product attention on a cluster (THInfer III.C.2): how many rows of Q and O a
 * DSP holds, how many tokens of K and V come at a time, and in how many rounds and waves that
 * covers all rows and heads.
 *
 * A unit is one head of K and V of one request; the rows of all query heads that share it are its
 * rows, token by token. Row blocks go to the DSPs one each, so that a round takes rows · DSPs rows
 * of a unit (64 · 24 = 1536 in table IX) and costs as much as its fullest DSP. Where a query head
 * has more rows than one block, units take turns on the whole cluster; with fewer (decode) they are
 * spread over the DSPs, as many at a time as there are DSPs for, and if DSPs are left so are the
 * rows of each. (That units take turns although a short prompt leaves DSPs idle is what table IX
 * shows: S = 512 takes a third of S = 1536, not a ninth.) */
#ifndef POLICIES_ATTENTION_BLOCKS_H
#define POLICIES_ATTENTION_BLOCKS_H

#include "platforms/platform.h"

#define ATTENTION_ROWS 64       /* of a row block, where nothing forces fewer */
#define ATTENTION_KV_STEP 128   /* Flash's K/V blocks are multiples of it: N1 (THInfer III.B.2) */
#define ATTENTION_SCORE_BYTES 4 /* scores are FP32 where softmax reads them (THInfer III.B.4) */
#define ATTENTION_STATISTICS_BYTES 8 /* of a row of scores: its maximum and its sum, FP32 */

typedef struct AttentionProblem {
    guint64 units;      /* batch · KV heads; all of them alike */
    guint64 group;      /* query heads that share one */
    guint64 new_tokens; /* rows of each query head */
    guint64 context;    /* tokens of K and V */
    guint64 head_dim;
    DataType type;
} AttentionProblem;

/* Where the scores of a row block are between Q·Kᵀ and softmax. */
typedef enum {
    SCORES_ON_CHIP,  /* MT attention: all of a row's, in AM and in the DSP's share of GSM */
    SCORES_BY_BLOCK, /* Flash attention: those of one K/V block, in AM */
    SCORES_IN_DDR,   /* unfused: written there and read back into AM, in the data type */
} ScorePlace;

typedef struct AttentionBlocks {
    guint64 rows;        /* of a row block: 64, 48, … 1 */
    guint64 columns;     /* tokens of a K or V block */
    guint64 slice;       /* tokens of weights that SM takes at a time, twice; the kernel's width */
    guint64 gsm_columns; /* scores of every 'columns' of a row that lie in GSM (SCORES_ON_CHIP) */
    guint64 dsps;        /* that work on one unit at a time */
    guint64 rounds;      /* row blocks of a unit that a DSP takes one after another */
    guint64 together;    /* units at a time */
    guint64 waves;       /* units · waves cover all units */
    double sm_bytes, am_bytes; /* of one DSP */
    double gsm_bytes;          /* of the cluster */
} AttentionBlocks;

/* The largest row block that fits, and with it the largest K/V block (Flash). FALSE, an error that
 * names the tier and its bytes, and nothing in 'blocks' when not even one row fits. */
gboolean attention_blocks(const AttentionProblem *problem, ScorePlace place,
                          const ClusterSpec *cluster, AttentionBlocks *blocks, GError **error);

/* The choice in a line, with the reason where rows were cut: "48 rows (64 do not fit: …) on each of
 * 24 DSPs, 4 rounds; K and V by 256 tokens; …". Caller frees. */
char *attention_blocks_text(const AttentionProblem *problem, ScorePlace place,
                            const ClusterSpec *cluster, const AttentionBlocks *blocks);

/* Tokens of K and V that rows [first, first + rows) of a unit need: all of them, or with a causal
 * mask those up to the last row's own token. Those beyond are neither moved nor computed. */
guint64 attention_visible(const AttentionProblem *problem, gboolean causal, guint64 first,
                          guint64 rows);

#endif
