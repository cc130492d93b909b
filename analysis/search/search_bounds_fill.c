#include "analysis/bounds/plan_bound.h"
#include "analysis/campaign/child.h"
#include "analysis/search/search_private.h"
#include "workloads/input_error.h"
#include <string.h>

/* So many candidates, spread over the space, are looked at first: from then on most of what the
 * others and the runs need is known in this process, and so to all workers. */
#define FIRST 32

typedef struct Filling {
    const SearchSetup *setup;
    SearchResult *result;
    PlanBounds *bounds;
    gsize stride; /* one candidate of so many is among the first */
} Filling;

/* What is found of a candidate, and a text with it: its plan, or why it is refused. */
typedef struct Finding {
    gboolean refused;
    double at_once_s;
    double figures[N_FIGURES];
} Finding;

/* What cannot be an experiment is a finding; anything else that fails is an error. */
static char *refuse(GError *failure, Finding *finding, GError **error) {
    if (failure->domain != INPUT_ERROR) {
        g_propagate_error(error, failure);
        return NULL;
    }
    finding->refused = TRUE;
    char *why = g_strdup(failure->message);
    g_error_free(failure);
    return why;
}

/* The text; NULL on error. Caller frees. */
static char *find(const Filling *filling, gsize index, Finding *finding, GError **error) {
    Campaign *campaign = filling->setup->campaign;
    const SearchPoint *point = filling->result->candidates[index].point;
    g_autofree const char **settings = search_settings(filling->setup, point);
    GError *failure = NULL;
    g_autoptr(Experiment) experiment = campaign_experiment(campaign, settings, &failure);
    g_autoptr(OpCosts) costs =
        experiment == NULL ? NULL : campaign_costs(campaign, experiment, &failure);

    memset(finding, 0, sizeof *finding);
    if (costs == NULL)
        return refuse(failure, finding, error);
    finding->at_once_s = plan_bounds_fill(filling->bounds, experiment, costs, finding->figures);
    return search_plan_text(experiment->policy);
}

static void fill(const Filling *filling, gsize index, const Finding *finding, const char *text) {
    Candidate *candidate = &filling->result->candidates[index];

    if (finding->refused) {
        outcome_fail(&candidate->outcome, OUTCOME_REFUSED, text);
        candidate->fate = FATE_REFUSED;
        return;
    }
    candidate->plan = g_strdup(text);
    candidate->at_once_s = finding->at_once_s;
    memcpy(candidate->best_figures, finding->figures, sizeof candidate->best_figures);
}

static gboolean fill_first(const Filling *filling, GError **error) {
    Finding finding;

    for (gsize i = 0; i < filling->result->n; i += filling->stride) {
        g_autofree char *text = find(filling, i, &finding, error);
        if (text == NULL)
            return FALSE;
        fill(filling, i, &finding, text);
    }
    return TRUE;
}

/* --- the others, by workers */

static gsize candidate_of(const Filling *filling, gsize job) {
    return job + job / (filling->stride - 1) + 1;
}

static gboolean work(gpointer data, gsize job, GByteArray *reply, GError **error) {
    Finding finding;
    g_autofree char *text = find(data, candidate_of(data, job), &finding, error);

    if (text == NULL)
        return FALSE;
    g_byte_array_append(reply, (const guint8 *)&finding, sizeof finding);
    g_byte_array_append(reply, (const guint8 *)text, (guint)strlen(text) + 1);
    return TRUE;
}

static gboolean take(gpointer data, gsize job, const GByteArray *reply, gsize *at) {
    Finding finding;

    if (!child_reply_read(reply, at, &finding, sizeof finding))
        return FALSE;
    const char *text = (const char *)reply->data + *at;
    gsize room = reply->len - *at, length = strnlen(text, room);
    if (length == room)
        return FALSE;
    *at += length + 1;
    fill(data, candidate_of(data, job), &finding, text);
    return TRUE;
}

static gboolean fill_all(Filling *filling, GError **error) {
    gsize n = filling->result->n, first = (n + filling->stride - 1) / filling->stride;
    CampaignShare share = {.n = n - first, .work = work, .take = take, .data = filling};

    return fill_first(filling, error) &&
           campaign_share_out(filling->setup->campaign, &share, error);
}

PlanBounds *search_bounds_fill(const SearchSetup *setup, SearchResult *result,
                               const gboolean *wanted, GError **error) {
    g_autoptr(Experiment) base = campaign_experiment(setup->campaign, setup->settings, NULL);
    const Experiment *known = base == NULL ? campaign_base(setup->campaign) : base;
    g_autoptr(PlanBounds) bounds = plan_bounds_new(known, wanted, error);
    Filling filling = {setup, result, bounds, MAX(result->n / FIRST, 1)};

    return bounds != NULL && fill_all(&filling, error) ? g_steal_pointer(&bounds) : NULL;
}
