#include "analysis/search/plan_bound_figures.h"

#include "analysis/run/histogram.h"
#include <math.h>
#include <stdlib.h>

/* Sums of many times are rounded otherwise than the engine's clock. */
#define ROUNDING (1 - 1e-7)
/* Two histograms' errors, where there are too many values to be exact. */
#define HISTOGRAM_ERROR (1 - 2e-3)

/* What one request takes with nobody else about, and the work that it brings. */
typedef struct Alone {
    double first_s; /* arrival to first token */
    double pull_s;  /* KV on its way to where it decodes */
    double answer_s;
    double attention_s; /* of its answer in one layer */
} Alone;

/* A kind of stages and what a request costs there. */
typedef struct KindWork {
    const BoundStage *stage;
    double row_s;   /* a prompt's row where steps hold several */
    double head_s;  /* its first token, there */
    double token_s; /* a token of its answer but for attention */
    double least_s; /* of all prompts */
} KindWork;

typedef struct Work {
    const Bounding *bounding;
    Alone *alone;         /* a request */
    KindWork *prefill;    /* a kind of prefill's stages */
    KindWork *decode;     /* … of decode's; the same kinds when colocated */
    KindWork whole;       /* prefill's stages as one */
    double cycle_row_s;   /* a token of an answer, all stages and the way round */
    double cycle_s;       /* a decode step on all stages and the way round, at the least */
    double first_least_s; /* first token and pull, at the least */
    double rest_least_s;  /* pull and answer, at the least */
} Work;

static void work_clear(Work *work) {
    g_free(work->alone);
    g_free(work->prefill);
    g_free(work->decode);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Work, work_clear)

static gboolean mixes(const Bounding *bounding) {
    return bounding->colocated && bounding->experiment->policy->decode.chunk_tokens > 0;
}

static KindWork kind_work(const Bounding *bounding, const BoundStage *stage) {
    const BoundShape *prefill = &bounding->prefill, *decode = &bounding->decode;
    KindWork kind = {.stage = stage, .least_s = INFINITY};

    if (bounding->steps != PROMPTS_ALONE) {
        kind.row_s = bound_shape_row(prefill, stage, bounding->prompt_rows);
        kind.head_s = bound_shape_sampled(prefill, stage, bounding->sampled);
    }
    if (bounding->decode_counts)
        kind.token_s =
            mixes(bounding) ? kind.row_s + kind.head_s : bound_shape_decode_row(decode, stage);
    return kind;
}

/* Seconds of a stage for a prompt. */
static double prompt_seconds(const Bounding *bounding, const KindWork *kind, guint32 prompt) {
    const BoundShape *prefill = &bounding->prefill;
    const BoundStage *stage = kind->stage;

    if (bounding->steps == PROMPTS_CACHED)
        return kind->row_s + kind->head_s;
    if (bounding->steps == PROMPTS_CHUNKED)
        return prompt * kind->row_s + kind->head_s;
    double attention_s = stage->layers * tp_rates_prompt_attention(prefill->rates, prompt);
    if (bounding->steps == PROMPTS_ALONE)
        return bound_shape_step(prefill, stage, prompt, 1) + attention_s;
    return prompt * kind->row_s + kind->head_s + attention_s;
}

/* Chunks pass through the stages one behind the other: only one stage counts. */
static double first_token_seconds(const Work *work, guint32 prompt) {
    const Bounding *bounding = work->bounding;
    const BoundShape *prefill = &bounding->prefill;
    double most = 0;

    if (bounding->steps == PROMPTS_ALONE || bounding->steps == PROMPTS_WHOLE)
        return prompt_seconds(bounding, &work->whole, prompt) + prefill->hops_fixed_s +
               prompt * prefill->hops_row_s;
    for (guint k = 0; k < prefill->n_kinds; k++)
        most = MAX(most, prompt_seconds(bounding, &work->prefill[k], prompt));
    return most + prefill->hops_fixed_s;
}

/* The KV of its largest stage over the widest link that a cluster has. */
static double pull_seconds(const Bounding *bounding, guint32 prompt) {
    const Experiment *experiment = bounding->experiment;
    const NetworkSpec *network = &experiment->platform->network;
    double bytes_per_s = MIN(experiment->platform->cluster.ddr_bytes_per_s,
                             MAX(network->local.bytes_per_s, network->port.bytes_per_s));
    double bytes = (double)(prompt * model_kv_bytes_per_token_layer(experiment->model)) *
                   bounding->decode.pull_layers * bounding->decode.pull_share;

    return bounding->colocated ? 0 : bytes / bytes_per_s;
}

static void alone_fill(const Work *work, gsize i, Alone *alone) {
    const Bounding *bounding = work->bounding;
    const BoundShape *decode = &bounding->decode;
    guint32 prompt = bounding->load->prompts[i], output = bounding->load->outputs[i];

    *alone = (Alone){.first_s = first_token_seconds(work, prompt)};
    if (output == 1)
        return;
    alone->pull_s = pull_seconds(bounding, prompt);
    if (!bounding->decode_counts)
        return;
    alone->attention_s = tp_rates_answer_attention(decode->rates, prompt, output);
    alone->answer_s =
        (output - 1) * work->cycle_s - decode->return_s + decode->whole.layers * alone->attention_s;
}

/* The least that a step with decoding requests takes; prompts may be in it where they mix. */
static double least_cycle(const Bounding *bounding) {
    const BoundShape *decode = &bounding->decode;
    guint64 most = mixes(bounding) ? bounding->prompt_rows : decode->batch;
    double least = INFINITY;

    if (most > BOUND_ROWS_MAX)
        return 0;
    for (guint32 rows = 1; rows <= most; rows++)
        least = MIN(least,
                    bound_shape_step(decode, &decode->whole, rows, 0) + rows * decode->hops_row_s);
    double head_s = INFINITY;
    for (guint32 rows = 1; rows <= MIN(most, bounding->experiment->policy->decode.slots); rows++)
        head_s = MIN(head_s, tp_rates_head(decode->rates, rows));
    return least + head_s + decode->hops_fixed_s + decode->return_s;
}

static double least_cycle_row(const BoundShape *decode, guint64 batch) {
    double least = INFINITY;

    for (guint32 rows = 1; rows <= batch; rows++)
        least = MIN(least, bound_shape_decode_cycle(decode, rows) / rows);
    return least;
}

static void kinds_fill(Work *work) {
    const Bounding *bounding = work->bounding;
    const BoundShape *prefill = &bounding->prefill, *decode = &bounding->decode;

    work->prefill = g_new0(KindWork, prefill->n_kinds);
    for (guint k = 0; k < prefill->n_kinds; k++)
        work->prefill[k] = kind_work(bounding, &prefill->kinds[k]);
    work->whole = kind_work(bounding, &prefill->whole);
    work->decode = g_new0(KindWork, decode->n_kinds);
    for (guint k = 0; k < decode->n_kinds; k++) {
        work->decode[k].stage = &decode->kinds[k];
        if (bounding->colocated)
            work->decode[k].token_s = work->prefill[k].token_s;
        else if (bounding->decode_counts)
            work->decode[k].token_s = bound_shape_decode_row(decode, &decode->kinds[k]);
    }
    if (!bounding->decode_counts)
        return;
    work->cycle_s = least_cycle(bounding);
    work->cycle_row_s = mixes(bounding) ? 0 : least_cycle_row(decode, decode->batch);
}

static void work_fill(Work *work) {
    const BoundLoad *load = work->bounding->load;

    kinds_fill(work);
    work->alone = g_new(Alone, load->n);
    work->first_least_s = work->rest_least_s = INFINITY;
    for (gsize i = 0; i < load->n; i++) {
        Alone *alone = &work->alone[i];
        alone_fill(work, i, alone);
        work->first_least_s = MIN(work->first_least_s, alone->first_s + alone->pull_s);
        work->rest_least_s = MIN(work->rest_least_s, alone->pull_s + alone->answer_s);
        for (guint k = 0; k < work->bounding->prefill.n_kinds; k++)
            work->prefill[k].least_s =
                MIN(work->prefill[k].least_s,
                    prompt_seconds(work->bounding, &work->prefill[k], load->prompts[i]));
    }
}

/* --- the end of the run */

static double last_answer(const Work *work) {
    const BoundLoad *load = work->bounding->load;
    double end_s = 0;

    for (gsize i = 0; i < load->n; i++) {
        const Alone *alone = &work->alone[i];
        end_s = MAX(end_s, load->arrivals_s[i] + alone->first_s + alone->pull_s + alone->answer_s);
    }
    return end_s;
}

/* All that arrives from some date on has to pass through stages of a kind, of which each replica
 * has at least one: date + its work over the replicas. Before and behind it a request passes
 * through the other stages, at least. */
static double prefill_end(const Work *work, guint k) {
    const Bounding *bounding = work->bounding;
    const BoundLoad *load = bounding->load;
    const KindWork *kind = &work->prefill[k];
    double others_s = -kind->least_s, sum_s = 0, end_s = 0;

    for (guint other = 0; other < bounding->prefill.n_kinds; other++)
        others_s += work->prefill[other].stage->count * work->prefill[other].least_s;
    if (bounding->steps == PROMPTS_CHUNKED || bounding->steps == PROMPTS_CACHED)
        others_s = 0;
    for (gsize i = load->n; i-- > 0;) {
        sum_s += prompt_seconds(bounding, kind, load->prompts[i]);
        end_s = MAX(end_s, load->arrivals_s[i] + sum_s / bounding->prefill.replicas);
    }
    if (load->uniform) /* some replica gets as many as the mean, rounded up */
        end_s = MAX(end_s, kind->least_s * ceil((double)load->n / bounding->prefill.replicas));
    return end_s + others_s + work->rest_least_s;
}

static double answer_work(const Work *work, const KindWork *kind, gsize i) {
    return (work->bounding->load->outputs[i] - 1) * kind->token_s +
           kind->stage->layers * work->alone[i].attention_s;
}

static double decode_end(const Work *work, guint k) {
    const Bounding *bounding = work->bounding;
    const BoundLoad *load = bounding->load;
    double sum_s = 0, end_s = 0;

    for (gsize i = load->n; i-- > 0;) {
        sum_s += answer_work(work, &work->decode[k], i);
        if (bounding->colocated)
            sum_s += prompt_seconds(bounding, &work->prefill[k], load->prompts[i]);
        end_s = MAX(end_s, load->arrivals_s[i] + sum_s / bounding->decode.replicas);
    }
    return bounding->colocated ? end_s : end_s + work->first_least_s;
}

/* A replica has as many micro-batches as stages, and a micro-batch is in one stage at a time: its
 * tokens take whole rounds. */
static double rounds_end(const Work *work) {
    const Bounding *bounding = work->bounding;
    const BoundShape *decode = &bounding->decode;
    const BoundLoad *load = bounding->load;
    double batches = (double)decode->replicas * decode->n_stages, sum_s = 0, end_s = 0;

    for (gsize i = load->n; i-- > 0;) {
        sum_s += (load->outputs[i] - 1) * work->cycle_row_s +
                 decode->whole.layers * work->alone[i].attention_s;
        end_s = MAX(end_s, load->arrivals_s[i] + sum_s / batches);
    }
    return end_s + work->first_least_s - decode->return_s;
}

/* Steps of at most 'batch' requests that all of 'n' are in once: the least seconds, of each n. */
static double *cheapest_rounds(const BoundShape *decode, guint n) {
    double *least = g_new0(double, n + 1);

    for (guint requests = 1; requests <= n; requests++) {
        least[requests] = INFINITY;
        for (guint32 batch = 1; batch <= MIN(requests, decode->batch); batch++)
            least[requests] = MIN(least[requests], least[requests - batch] +
                                                       bound_shape_decode_cycle(decode, batch));
    }
    return least;
}

#define ROUNDS_MAX 2000000 /* steps looked at by cheapest_rounds */

/* All alike and all there at once: some micro-batch gets as many as the mean, rounded up, or more.
 * A synchronous batch stays together to its end; else a step cannot hold more than there are. */
static double uniform_rounds_end(const Work *work) {
    const Bounding *bounding = work->bounding;
    const BoundShape *decode = &bounding->decode;
    const BoundLoad *load = bounding->load;
    guint batches = decode->replicas * decode->n_stages, tokens = load->outputs[0] - 1;
    guint fewest = (guint)((load->n + batches - 1) / batches);
    guint most = MAX(fewest, (guint)MIN(decode->batch, load->n));
    gboolean together = bounding->experiment->policy->decode.batching == BATCHING_SYNCHRONOUS;
    double attention_s = decode->whole.layers * work->alone[0].attention_s, least_s = INFINITY;

    if ((guint64)most * decode->batch > ROUNDS_MAX)
        return 0;
    g_autofree double *rounds = together ? cheapest_rounds(decode, most) : NULL;
    double row_s = INFINITY;
    for (guint n = 1; n <= most; n++) {
        if (n <= decode->batch)
            row_s = MIN(row_s, bound_shape_decode_cycle(decode, n) / n);
        double steps_s = together ? rounds[n] : n * row_s;
        if (n >= fewest)
            least_s = MIN(least_s, tokens * steps_s + n * attention_s);
    }
    return least_s + work->first_least_s - decode->return_s;
}

/* All KV goes into the buffer's clusters and out of them again, through one memory each. */
static double buffer_end(const Work *work) {
    const Bounding *bounding = work->bounding;
    const Experiment *experiment = bounding->experiment;
    double tokens = 0, buffers = experiment->plan->n_buffers;

    if (bounding->colocated || buffers <= 0)
        return 0;
    for (gsize i = 0; i < bounding->load->n; i++)
        if (bounding->load->outputs[i] > 1)
            tokens += bounding->steps == PROMPTS_CACHED ? 1 : bounding->load->prompts[i];
    return 2 * tokens * (double)model_kv_bytes_per_token(experiment->model) /
           (buffers * experiment->platform->cluster.ddr_bytes_per_s);
}

static double end_of_run(const Work *work) {
    const Bounding *bounding = work->bounding;
    double end_s = MAX(last_answer(work), buffer_end(work));

    for (guint k = 0; k < bounding->prefill.n_kinds && !bounding->colocated; k++)
        end_s = MAX(end_s, prefill_end(work, k));
    for (guint k = 0; k < bounding->decode.n_kinds; k++)
        end_s = MAX(end_s, decode_end(work, k));
    if (!bounding->decode_counts || mixes(bounding))
        return end_s;
    end_s = MAX(end_s, rounds_end(work));
    return bounding->load->uniform && !bounding->colocated ? MAX(end_s, uniform_rounds_end(work))
                                                           : end_s;
}

/* --- figures */

static guint nodes_of(const Experiment *experiment) {
    const Plan *plan = experiment->plan;
    g_autofree gboolean *touched = g_new0(gboolean, experiment->platform->nodes);
    guint nodes = 0;

    for (guint i = 0; i < plan->n_replicas; i++)
        for (guint s = 0; s < plan->replicas[i].n_stages; s++)
            for (guint rank = 0; rank < plan->replicas[i].stages[s].tp; rank++)
                touched[platform_node_of(experiment->platform,
                                         plan->replicas[i].stages[s].clusters[rank])] = TRUE;
    for (guint i = 0; i < plan->n_buffers; i++)
        touched[platform_node_of(experiment->platform, plan->buffers[i].cluster)] = TRUE;
    for (guint node = 0; node < experiment->platform->nodes; node++)
        nodes += touched[node] ? 1 : 0;
    return nodes;
}

/* Cluster-seconds in which steps run, at the least. */
static double busy_seconds(const Work *work) {
    const Bounding *bounding = work->bounding;
    const BoundLoad *load = bounding->load;
    double busy_s = 0;

    for (gsize i = 0; i < load->n; i++) {
        for (guint k = 0; k < bounding->prefill.n_kinds; k++)
            busy_s += bounding->prefill.tp * work->prefill[k].stage->count *
                      prompt_seconds(bounding, &work->prefill[k], load->prompts[i]);
        for (guint k = 0; k < bounding->decode.n_kinds; k++)
            busy_s += bounding->decode.tp * work->decode[k].stage->count *
                      answer_work(work, &work->decode[k], i);
    }
    return busy_s;
}

static void fill_energy(const Work *work, double *figures) {
    const Experiment *experiment = work->bounding->experiment;
    const PowerSpec *power = &experiment->platform->power;
    double above_idle = MAX(0, power->cluster_busy_watts - power->cluster_idle_watts);
    double idle_watts = nodes_of(experiment) * power->node_watts +
                        experiment->plan->clusters_used * power->cluster_idle_watts;

    figures[FIGURE_ENERGY] =
        idle_watts * figures[FIGURE_MAKESPAN] + above_idle * busy_seconds(work) * ROUNDING;
    figures[FIGURE_ENERGY_PER_TOKEN] = figures[FIGURE_ENERGY] / work->bounding->load->output_tokens;
}

static gboolean has_window(const OutputSpec *output) {
    return output->warmup_s > 0 || output->cooldown_s > 0;
}

/* Requests whose latencies count. */
static gboolean counts(const Work *work, gsize i) {
    const Experiment *experiment = work->bounding->experiment;
    const BoundLoad *load = work->bounding->load;

    return !has_window(&experiment->output) ||
           (load->arrivals_s[i] >= experiment->output.warmup_s &&
            load->arrivals_s[i] <=
                experiment->facts.last_arrival_s - experiment->output.cooldown_s);
}

/* Indexed by LatencyKind; −1 where the request has none. */
static void latencies_of(const Work *work, gsize i, double latencies[N_LATENCIES]) {
    const Alone *alone = &work->alone[i];
    guint32 output = work->bounding->load->outputs[i];
    double rest_s = alone->pull_s + alone->answer_s;

    latencies[LATENCY_TTFT] = alone->first_s * ROUNDING;
    latencies[LATENCY_E2E] = (alone->first_s + rest_s) * ROUNDING;
    latencies[LATENCY_TPOT] = output > 1 ? rest_s / (output - 1) * ROUNDING : -1;
    latencies[LATENCY_QUEUEING] = 0;
}

static void fill_latency(const Work *work, LatencyKind kind, Figure mean, double *figures) {
    static const double quantiles[] = {0.5, 0.9, 0.99};
    g_autoptr(Histogram) histogram = histogram_new();
    double latencies[N_LATENCIES];

    for (gsize i = 0; i < work->bounding->load->n; i++) {
        latencies_of(work, i, latencies);
        if (counts(work, i) && latencies[kind] >= 0)
            histogram_add(histogram, latencies[kind]);
    }
    if (histogram_count(histogram) == 0)
        return;
    double error = histogram_count(histogram) < HISTOGRAM_EXACT_VALUES ? 1 : HISTOGRAM_ERROR;
    figures[mean] = histogram_mean(histogram) * error;
    for (guint q = 0; q < G_N_ELEMENTS(quantiles); q++)
        figures[mean + 1 + q] = histogram_quantile(histogram, quantiles[q]) * error;
}

static gboolean can_be_good(const Work *work, gsize i) {
    const Slo *slo = &work->bounding->experiment->slo;
    double latencies[N_LATENCIES];

    latencies_of(work, i, latencies);
    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++) {
        const SloLimit *limit = latency_limit(kind, slo);
        if (limit != NULL && latencies[kind] > limit->limit_s)
            return FALSE;
    }
    return TRUE;
}

static void fill_goodput(const Work *work, double *figures) {
    double good = 0, all = 0;

    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++)
        all += latency_limit(kind, &work->bounding->experiment->slo) != NULL ? 1 : 0;
    if (all <= 0)
        return;
    all = 0;
    for (gsize i = 0; i < work->bounding->load->n; i++) {
        if (!counts(work, i))
            continue;
        all++;
        good += can_be_good(work, i) ? 1 : 0;
    }
    if (all <= 0)
        return;
    figures[FIGURE_GOODPUT] = good / all;
    figures[FIGURE_GOODPUT_RATE] = figures[FIGURE_REQUEST_RATE] * good / all; /* NaN stays */
}

static void fill_rates(const Work *work, double *figures) {
    const BoundLoad *load = work->bounding->load;
    double makespan_s = figures[FIGURE_MAKESPAN];

    if (has_window(&work->bounding->experiment->output) || makespan_s <= 0)
        return;
    figures[FIGURE_THROUGHPUT] = load->output_tokens / makespan_s;
    figures[FIGURE_REQUEST_RATE] = (double)load->n / makespan_s;
    figures[FIGURE_COST] = figures[FIGURE_CLUSTERS] * 1e6 / 3600 / figures[FIGURE_THROUGHPUT];
}

void plan_bound_figures(const Bounding *bounding, double *figures) {
    gboolean windowed_loop =
        bounding->load->closed_loop && has_window(&bounding->experiment->output);
    g_auto(Work) work = {.bounding = bounding};

    work_fill(&work);
    figures[FIGURE_MAKESPAN] = end_of_run(&work) * ROUNDING;
    fill_rates(&work, figures);
    fill_energy(&work, figures);
    if (windowed_loop) /* which requests arrive within the window is not known */
        return;
    fill_latency(&work, LATENCY_TTFT, FIGURE_TTFT_MEAN, figures);
    fill_latency(&work, LATENCY_TPOT, FIGURE_TPOT_MEAN, figures);
    fill_latency(&work, LATENCY_E2E, FIGURE_E2E_MEAN, figures);
    fill_goodput(&work, figures);
}
