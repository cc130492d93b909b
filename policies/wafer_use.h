/* How a wafer serves one request at a time: the grid that computes prompts, the regions that
 * generate, and what that leaves of their cores' memory for KV. While prompts are computed, the
 * cores of their grid hold as many layers' weights as fit beside the prompt's KV and the loops'
 * buffers; the last layers, where they do not fit, rest on the cores in the rows below the grid,
 * and each comes onto the grid before its loops, into room kept for one. Embedding and LM head are
 * where cores have room left. While tokens are generated every layer rests in its region: all
 * weights move there and back. */
#ifndef POLICIES_WAFER_USE_H
#define POLICIES_WAFER_USE_H

#include "platforms/platform.h"
#include "policies/policy.h"

typedef struct WaferUse {
    WaferSpec spec; /* with its grids and regions decided */
    /* Of a core, in bytes; a decode core is one of the fullest region. */
    double usable_bytes;
    double prefill_bytes;   /* weights, KV and buffers of a prompt of max_context */
    guint64 outside_layers; /* that rest below the prompts' grid */
    double outside_bytes;   /* their weights, on a core there */
    double weight_bytes;    /* decode */
    double kv_token_bytes;  /* decode: of a token in the row that keeps it */
    guint64 row_tokens;     /* decode: that fit the cores of a row */
} WaferUse;

/* What is asked: 'spec' with both grids above 0, and room for one request of max_context. */
typedef struct WaferNeed {
    const Model *model;   /* borrowed */
    const MeshSpec *mesh; /* borrowed */
    WaferSpec spec;
    guint64 max_context; /* tokens */
} WaferNeed;

/* Each fills its part of 'use', or says why it cannot be: INPUT_ERROR, without a place. Where the
 * number of regions is left open, decode takes the fewest that hold weights and one request of
 * max_context. */
gboolean wafer_use_prefill(const WaferNeed *need, WaferUse *use, GError **error);
gboolean wafer_use_decode(const WaferNeed *need, WaferUse *use, GError **error);

/* Where a request's tokens are once some are generated, by the rule of 'spec' and on its decode
 * grid; what a ledger filled token by token would tell (kv_ledger.h). */
typedef struct WaferKv {
    guint64 fullest_row; /* tokens */
    double skew;         /* it over the mean of the rows */
    guint64 moves;       /* up a row, so far */
} WaferKv;
WaferKv wafer_use_kv(const WaferSpec *spec, guint64 prompt_tokens, guint64 generated_tokens);
/* The context that, spread evenly, has as many tokens in its fullest row. */
guint64 wafer_use_even_context(const WaferSpec *spec, guint64 prompt_tokens,
                               guint64 generated_tokens);

/* Tokens of KV that fit at once, however they came: all rows full. */
guint64 wafer_use_tokens(const WaferUse *use);
/* Whether a request fits: its prompt lies evenly over the rows, and each new token where 'kv' puts
 * it. */
gboolean wafer_use_holds(const WaferUse *use, guint64 prompt_tokens, guint64 output_tokens);

#endif
