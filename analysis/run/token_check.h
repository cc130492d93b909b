/* Whether the tokens that leave the simulated system are those of a single-process forward pass
 * with the same weights, prompts and sampling: every completed request is computed once more. */
#ifndef ANALYSIS_TOKEN_CHECK_H
#define ANALYSIS_TOKEN_CHECK_H

#include "actors/simulation.h"

typedef struct TokenCheckResult {
    guint64 requests, equal; /* completed ones, and those of them with equal tokens */
    guint64 tokens;          /* compared */
    guint64 different_id;    /* with equal < requests: the first in order of completion, */
    guint64 different_token; /* and its first wrong token, from 0 */
    double smallest_gap;     /* between the two largest logits of any token; INFINITY: none */
    double largest_logit;    /* in magnitude */
} TokenCheckResult;

typedef struct TokenCheck TokenCheck;
/* Borrows both. */
TokenCheck *token_check_new(const Model *model, const NumericsSetup *numerics);
Observer *token_check_observer(TokenCheck *check);
const TokenCheckResult *token_check_result(const TokenCheck *check); /* borrowed; up to now */
gboolean token_check_passed(const TokenCheck *check);
void token_check_free(TokenCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TokenCheck, token_check_free)

#endif
