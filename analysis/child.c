#include "analysis/child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_REPLY = 'R', ANSWER_ERROR = 'E' };

/* A child under way. */
typedef struct Child {
    gsize job;
    pid_t id;
    int pipe;
    GByteArray *answer; /* a letter of the above, then the reply; or the error's code, the name of
                           its domain and its message */
} Child;

/* All that run, and the first error by the order of jobs. */
typedef struct Children {
    const ChildJobs *jobs;
    Child *running;
    guint n_running, at_once;
    gsize next;
    GError *failure;
    gsize failed_job;
} Children;

static gboolean set_failure(GError **error, const char *what) {
    int code = errno;

    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot %s: %s", what,
                g_strerror(code));
    return FALSE;
}

/* --- in the child */

static gboolean write_all(int file, const guint8 *bytes, gsize n) {
    while (n > 0) {
        ssize_t written = write(file, bytes, n);
        if (written < 0 && errno != EINTR)
            return FALSE;
        bytes += MAX(written, 0);
        n -= (gsize)MAX(written, 0);
    }
    return TRUE;
}

static void append_text(GByteArray *answer, const char *text) {
    g_byte_array_append(answer, (const guint8 *)text, (guint)strlen(text) + 1);
}

/* The child's whole life; FALSE when its answer could not be handed over. */
static gboolean child_answer(const ChildJobs *jobs, gsize job, int file) {
    g_autoptr(GByteArray) answer = g_byte_array_new();
    g_autoptr(GError) error = NULL;
    guint8 letter = ANSWER_REPLY;

    g_byte_array_append(answer, &letter, 1);
    if (!jobs->work(jobs->data, job, answer, &error)) {
        g_byte_array_set_size(answer, 1);
        answer->data[0] = ANSWER_ERROR;
        g_byte_array_append(answer, (const guint8 *)&error->code, sizeof error->code);
        append_text(answer, g_quark_to_string(error->domain));
        append_text(answer, error->message);
    }
    return write_all(file, answer->data, answer->len);
}

/* --- in the caller's process */

static gboolean child_start(Child *child, const ChildJobs *jobs, gsize job, GError **error) {
    int ends[2];

    if (pipe(ends) != 0)
        return set_failure(error, "make a pipe");
    fflush(NULL);
    child->id = fork();
    if (child->id == 0) {
        close(ends[0]);
        _exit(child_answer(jobs, job, ends[1]) ? 0 : 1);
    }
    close(ends[1]);
    if (child->id < 0) {
        close(ends[0]);
        return set_failure(error, "start a process");
    }
    child->job = job;
    child->pipe = ends[0];
    child->answer = g_byte_array_new();
    return TRUE;
}

gboolean child_reply_read(const GByteArray *reply, gsize *at, gpointer to, gsize n) {
    if (reply->len - *at < n)
        return FALSE;
    memcpy(to, reply->data + *at, n);
    *at += n;
    return TRUE;
}

static gboolean take_error(const GByteArray *answer, GError **error) {
    gsize at = 1;
    int code = 0;

    child_reply_read(answer, &at, &code, sizeof code);
    const char *domain = (const char *)answer->data + at;
    g_set_error_literal(error, g_quark_from_string(domain), code, domain + strlen(domain) + 1);
    return FALSE;
}

static gboolean take_answer(const ChildJobs *jobs, const Child *child, int status, GError **error) {
    GByteArray *answer = child->answer;

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || answer->len == 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "a process that simulates ended early (status %d)", status);
        return FALSE;
    }
    if (answer->data[0] == ANSWER_ERROR)
        return take_error(answer, error);
    g_byte_array_remove_range(answer, 0, 1);
    return jobs->take(jobs->data, child->job, answer, error);
}

static gboolean child_finish(const ChildJobs *jobs, Child *child, GError **error) {
    int status = 0;
    pid_t ended;

    close(child->pipe);
    do
        ended = waitpid(child->id, &status, 0);
    while (ended < 0 && errno == EINTR);
    gboolean well = ended < 0 ? set_failure(error, "wait for a process")
                              : take_answer(jobs, child, status, error);
    g_clear_pointer(&child->answer, g_byte_array_unref);
    return well;
}

/* Takes what the child has said; FALSE once it has ended. */
static gboolean read_some(Child *child) {
    guint8 buffer[65536];
    ssize_t got = read(child->pipe, buffer, sizeof buffer);

    if (got > 0)
        g_byte_array_append(child->answer, buffer, (guint)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

static void note_failure(Children *children, gsize job, GError *failure) {
    if (children->failure != NULL && children->failed_job <= job) {
        g_error_free(failure);
        return;
    }
    g_clear_error(&children->failure);
    children->failure = failure;
    children->failed_job = job;
}

static void finish(Children *children, guint index) {
    Child *child = &children->running[index];
    gsize job = child->job;
    GError *error = NULL;

    if (!child_finish(children->jobs, child, &error))
        note_failure(children, job, error);
    children->running[index] = children->running[--children->n_running];
}

/* Waits until a child says something, and hears all that do. Should waiting itself fail, the
 * children are read one after the other. */
static void hear(Children *children) {
    g_autofree GPollFD *polled = g_new0(GPollFD, children->n_running);

    for (guint i = 0; i < children->n_running; i++)
        polled[i] = (GPollFD){.fd = children->running[i].pipe, .events = G_IO_IN};
    if (g_poll(polled, children->n_running, -1) < 0) {
        if (errno == EINTR)
            return;
        polled[0].revents = G_IO_IN;
    }
    for (guint i = children->n_running; i-- > 0;)
        if (polled[i].revents != 0 && !read_some(&children->running[i]))
            finish(children, i);
}

static void start_next(Children *children) {
    GError *error = NULL;
    gsize job = children->next++;

    if (child_start(&children->running[children->n_running], children->jobs, job, &error))
        children->n_running++;
    else
        note_failure(children, job, error);
}

gboolean child_run_all(const ChildJobs *jobs, GError **error) {
    guint at_once = MAX(g_get_num_processors(), 1);
    g_autofree Child *running = g_new0(Child, at_once);
    Children children = {.jobs = jobs, .running = running, .at_once = at_once};

    for (;;) {
        gboolean more = children.failure == NULL && children.next < jobs->n;
        if (more && children.n_running < at_once)
            start_next(&children);
        else if (children.n_running > 0)
            hear(&children);
        else
            break;
    }
    if (children.failure == NULL)
        return TRUE;
    g_propagate_error(error, children.failure);
    return FALSE;
}
