#include "analysis/run/token_check.h"

#include "actors/kernels/reference.h"
#include <math.h>

struct TokenCheck {
    Observer observer;
    const Model *model;
    const NumericsSetup *numerics;
    TokenCheckResult result;
};

static ReferenceRun generate(const TokenCheck *check, const ServedRequest *served) {
    const Request *request = &served->request;
    const NumericsSetup *numerics = check->numerics;
    g_autofree guint32 *prompt = g_new(guint32, request->prompt_tokens);
    reference_prompt(check->model, numerics->seed, request->id, prompt, request->prompt_tokens);
    Sampling sampling = numerics->sampling;
    sampling.request = request->id;
    return reference_generate(&(RankShape){check->model, numerics->checkpoint, 0, 1}, prompt,
                              request->prompt_tokens, served->generated, &sampling);
}

static void compare(TokenCheckResult *result, const ServedRequest *served,
                    const ReferenceRun *run) {
    guint32 first = 0;
    while (first < run->n && run->tokens[first] == served->tokens[first])
        first++;
    if (first < run->n && result->equal == result->requests) {
        result->different_id = served->request.id;
        result->different_token = first;
    }
    result->equal += first == run->n ? 1 : 0;
    result->requests++;
    result->tokens += run->n;
    result->smallest_gap = fmin(result->smallest_gap, (double)run->smallest_gap);
    result->largest_logit = fmax(result->largest_logit, (double)run->largest_logit);
}

static void notify(Observer *observer, const Event *event) {
    if (event->kind != EVENT_COMPLETED)
        return;
    TokenCheck *check = (TokenCheck *)observer;
    ReferenceRun run = generate(check, event->request);
    compare(&check->result, event->request, &run);
    reference_run_clear(&run);
}

TokenCheck *token_check_new(const Model *model, const NumericsSetup *numerics) {
    TokenCheck *check = g_new0(TokenCheck, 1);
    check->observer.notify = notify;
    check->model = model;
    check->numerics = numerics;
    check->result.smallest_gap = INFINITY;
    return check;
}

Observer *token_check_observer(TokenCheck *check) {
    return &check->observer;
}

const TokenCheckResult *token_check_result(const TokenCheck *check) {
    return &check->result;
}

gboolean token_check_passed(const TokenCheck *check) {
    return check->result.equal == check->result.requests;
}

void token_check_free(TokenCheck *check) {
    g_free(check);
}
