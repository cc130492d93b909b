#include "analysis/operators/operator_run.h"

#include "actors/cluster/alone.h"
#include "analysis/campaign/child.h"
#include "analysis/operators/operator_numbers.h"
#include <string.h>

/* What the children share. */
typedef struct Batch {
    const OperatorSpec *specs;
    const Platform *platform;
    OperatorResult *results; /* of the caller */
} Batch;

/* A run within its child. */
typedef struct Run {
    const OperatorSpec *spec;
    const Platform *platform;
    OperatorNumbers *numbers; /* NULL without */
    OperatorResult *result;
    GArray *events;
    GError **error;
    AllReduce ring;
    guint *clusters;
} Run;

static void keep_block(gpointer data, const BlockEvent *event) {
    OperatorEvent kept = {event->on_lane ? 1 : 0, event->label, event->start_s, event->end_s,
                          event->bytes};

    g_array_append_val(data, kept);
}

static void keep_message(gpointer data, const RingMessage *message) {
    OperatorEvent kept = {message->rank, message->label, message->start_s, message->end_s,
                          message->bytes};

    g_array_append_val(data, kept);
}

static gboolean run_gemm(const Run *run, Cluster *cluster) {
    GemmOptions options = {.transfers = run->spec->transfers};

    if (run->numbers != NULL)
        operator_numbers_gemm(run->numbers, &options);
    return gemm_run(cluster, &run->spec->gemm, &run->spec->blocks, &options, run->error);
}

static gboolean run_attention(const Run *run, Cluster *cluster) {
    AttentionNumbers numbers = {0};
    AttentionOptions options = {.grain = run->spec->grain, .report = &run->result->attention};

    if (run->numbers != NULL) {
        numbers = operator_numbers_attention(run->numbers);
        options.numbers = &numbers;
    }
    return attention_run(cluster, &run->spec->attention, &options, run->error);
}

static void run_on_cluster(gpointer data) {
    Run *run = data;
    const OperatorSpec *spec = run->spec;
    BlockListener listener = spec->events ? keep_block : NULL;
    g_autoptr(Cluster) cluster = cluster_new(run->platform, 0, listener, run->events);
    gboolean attention = spec->kind == OPERATOR_ATTENTION;
    gboolean launches_itself = attention && spec->attention.variant == ATTENTION_UNFUSED;

    if (spec->launch && !launches_itself)
        cluster_launch(cluster);
    if (!(attention ? run_attention(run, cluster) : run_gemm(run, cluster)))
        return;
    run->result->counts = *cluster_counts(cluster);
}

static void run_ring(gpointer data) {
    Run *run = data;

    all_reduce_start(&run->ring, &run->result->ring);
}

static void ring_prepare(Run *run) {
    const OperatorSpec *spec = run->spec;

    run->clusters = g_new(guint, spec->ranks);
    for (guint i = 0; i < spec->ranks; i++)
        run->clusters[i] = i;
    run->ring = (AllReduce){
        .platform = run->platform,
        .clusters = run->clusters,
        .ranks = (guint)spec->ranks,
        .bytes = spec->bytes,
        .vectors = run->numbers == NULL ? NULL : operator_numbers_vectors(run->numbers),
        .listener = spec->events ? keep_message : NULL,
        .data = run->events,
    };
}

static gboolean run_in_child(Run *run) {
    const OperatorSpec *spec = run->spec;
    gboolean ring = spec->kind == OPERATOR_ALL_REDUCE;
    DataType type = spec->kind == OPERATOR_GEMM ? spec->gemm.type : DATA_TYPE_FP16;

    if (spec->verify && (run->numbers = operator_numbers_new(spec, run->error)) == NULL)
        return FALSE;
    if (ring)
        ring_prepare(run);
    run->result->seconds = alone_run(run->platform, type, ring ? run_ring : run_on_cluster, run);
    if (*run->error != NULL)
        return FALSE;
    if (spec->verify)
        run->result->check = operator_numbers_check(run->numbers, &run->result->attention.blocks);
    return TRUE;
}

static gboolean work(gpointer data, gsize index, GByteArray *reply, GError **error) {
    const Batch *batch = data;
    g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(OperatorEvent));
    OperatorResult result = {0};
    Run run = {.spec = &batch->specs[index],
               .platform = batch->platform,
               .result = &result,
               .events = events,
               .error = error};

    if (!run_in_child(&run))
        return FALSE;
    g_byte_array_append(reply, (const guint8 *)&result, sizeof result);
    g_byte_array_append(reply, (const guint8 *)events->data,
                        events->len * (guint)sizeof(OperatorEvent));
    return TRUE;
}

static gboolean take(gpointer data, gsize index, const GByteArray *reply, GError **error) {
    OperatorResult *result = &((const Batch *)data)->results[index];
    gsize at = 0;

    if (!child_reply_read(reply, &at, result, sizeof *result)) {
        g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                            "a simulation did not say what it found");
        return FALSE;
    }
    if (reply->len == at)
        return TRUE;
    result->events = g_array_new(FALSE, FALSE, sizeof(OperatorEvent));
    g_array_append_vals(result->events, reply->data + at,
                        (guint)((reply->len - at) / sizeof(OperatorEvent)));
    return TRUE;
}

void operator_result_clear(OperatorResult *result) {
    g_clear_pointer(&result->events, g_array_unref);
}

gboolean operator_run_all(const OperatorSpec *specs, gsize n, const Platform *platform,
                          OperatorResult *results, GError **error) {
    Batch batch = {specs, platform, results};
    ChildJobs jobs = {.n = n, .data = &batch, .work = work, .take = take};

    memset(results, 0, n * sizeof *results);
    if (child_run_all(&jobs, error))
        return TRUE;
    for (gsize i = 0; i < n; i++)
        operator_result_clear(&results[i]);
    return FALSE;
}

gboolean operator_run(const OperatorSpec *spec, const Platform *platform, OperatorResult *result,
                      GError **error) {
    return operator_run_all(spec, 1, platform, result, error);
}
