#define _GNU_SOURCE /* memfd_create */
#include "analysis/operator_run.h"

#include "actors/cluster/alone.h"
#include "analysis/operator_numbers.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child hands back ahead of its events. Labels are static texts and stand at the same
 * addresses in both processes. */
typedef struct Reply {
    OperatorResult result;
    gboolean failed, wrong_input;
    int code;
    char message[1024];
    gsize n_events;
} Reply;

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

static void run_in_child(Run *run) {
    const OperatorSpec *spec = run->spec;
    gboolean ring = spec->kind == OPERATOR_ALL_REDUCE;
    DataType type = spec->kind == OPERATOR_GEMM ? spec->gemm.type : DATA_TYPE_FP16;

    if (spec->verify && (run->numbers = operator_numbers_new(spec, run->error)) == NULL)
        return;
    if (ring)
        ring_prepare(run);
    run->result->seconds = alone_run(run->platform, type, ring ? run_ring : run_on_cluster, run);
    if (spec->verify && *run->error == NULL)
        run->result->check = operator_numbers_check(run->numbers, &run->result->attention.blocks);
}

static gboolean write_all(int file, const void *data, gsize bytes) {
    const char *next = data;

    while (bytes > 0) {
        ssize_t written = write(file, next, bytes);
        if (written < 0)
            return FALSE;
        next += written;
        bytes -= (gsize)written;
    }
    return TRUE;
}

static gboolean read_all(int file, void *data, gsize bytes) {
    char *next = data;

    while (bytes > 0) {
        ssize_t got = read(file, next, bytes);
        if (got <= 0)
            return FALSE;
        next += got;
        bytes -= (gsize)got;
    }
    return TRUE;
}

static G_GNUC_NORETURN void child_main(const OperatorSpec *spec, const Platform *platform,
                                       int file) {
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(OperatorEvent));
    Reply reply = {0};
    Run run = {.spec = spec,
               .platform = platform,
               .result = &reply.result,
               .events = events,
               .error = &error};

    run_in_child(&run);
    reply.n_events = events->len;
    if (error != NULL) {
        reply.failed = TRUE;
        reply.wrong_input = error->domain == INPUT_ERROR;
        reply.code = error->code;
        g_strlcpy(reply.message, error->message, sizeof reply.message);
    }
    gboolean told = write_all(file, &reply, sizeof reply) &&
                    write_all(file, events->data, events->len * sizeof(OperatorEvent));
    _exit(told ? 0 : 1);
}

/* A child under way; it leaves its reply in 'file', which has no name. */
typedef struct Child {
    pid_t id;
    int file;
} Child;

static gboolean set_failure(GError **error, const char *what) {
    int code = errno;

    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot %s: %s", what,
                g_strerror(code));
    return FALSE;
}

static gboolean child_start(Child *child, const OperatorSpec *spec, const Platform *platform,
                            GError **error) {
    child->file = memfd_create("operator", MFD_CLOEXEC);
    if (child->file < 0)
        return set_failure(error, "keep results in memory");
    fflush(NULL);
    child->id = fork();
    if (child->id == 0)
        child_main(spec, platform, child->file);
    if (child->id > 0)
        return TRUE;
    close(child->file);
    return set_failure(error, "start a process");
}

static gboolean reply_read(int file, OperatorResult *result, GError **error) {
    Reply reply;

    if (lseek(file, 0, SEEK_SET) != 0 || !read_all(file, &reply, sizeof reply))
        return set_failure(error, "read what a simulation found");
    if (reply.failed) {
        g_set_error_literal(error, reply.wrong_input ? INPUT_ERROR : G_FILE_ERROR, reply.code,
                            reply.message);
        return FALSE;
    }
    *result = reply.result;
    result->events = NULL;
    if (reply.n_events == 0)
        return TRUE;
    result->events = g_array_new(FALSE, FALSE, sizeof(OperatorEvent));
    g_array_set_size(result->events, (guint)reply.n_events);
    if (read_all(file, result->events->data, reply.n_events * sizeof(OperatorEvent)))
        return TRUE;
    operator_result_clear(result);
    return set_failure(error, "read what a simulation found");
}

static gboolean child_finish(const Child *child, OperatorResult *result, GError **error) {
    int status = 0;
    gboolean waited;

    do
        waited = waitpid(child->id, &status, 0) == child->id;
    while (!waited && errno == EINTR);
    gboolean ended = waited && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    gboolean read = FALSE;
    if (ended)
        read = reply_read(child->file, result, error);
    else
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "the process that simulates an operator ended early (status %d)", status);
    close(child->file);
    return read;
}

/* The first failure is kept. */
static void collect(const Child *children, OperatorResult *results, gsize i, GError **failure) {
    child_finish(&children[i], &results[i], *failure == NULL ? failure : NULL);
}

void operator_result_clear(OperatorResult *result) {
    g_clear_pointer(&result->events, g_array_unref);
}

/* Children are started ahead of the one that is waited for, and waited for in order. */
gboolean operator_run_all(const OperatorSpec *specs, gsize n, const Platform *platform,
                          OperatorResult *results, GError **error) {
    g_autofree Child *children = g_new0(Child, n);
    g_autoptr(GError) failure = NULL;
    gsize started = 0, finished = 0;

    memset(results, 0, n * sizeof *results);
    while (finished < n && (failure == NULL || finished < started)) {
        gboolean more =
            failure == NULL && started < n && started - finished < MAX(g_get_num_processors(), 1);
        if (more && child_start(&children[started], &specs[started], platform, &failure))
            started++;
        else if (!more)
            collect(children, results, finished++, &failure);
    }
    if (failure == NULL)
        return TRUE;
    for (gsize i = 0; i < finished; i++)
        operator_result_clear(&results[i]);
    g_propagate_error(error, g_steal_pointer(&failure));
    return FALSE;
}

gboolean operator_run(const OperatorSpec *spec, const Platform *platform, OperatorResult *result,
                      GError **error) {
    return operator_run_all(spec, 1, platform, result, error);
}
