#include "analysis/campaign/child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_REPLY = 'R', ANSWER_ERROR = 'E' };
#define TICK_US (G_USEC_PER_SEC / 5)

/* A child under way. */
typedef struct Child {
    gsize job;
    pid_t id;
    int pipe;
    gint64 deadline_us; /* on the monotonic clock; 0: none */
    gboolean late;      /* it was killed for it */
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

/* A group of its own is killed as a whole, and no terminal interrupts it. */
static gboolean in_group_of_its_own(const ChildJobs *jobs) {
    return jobs->stop != NULL || jobs->timeout_s > 0;
}

/* Signals are none of its business, but for the end of its parent, which is its own. */
static void child_settle(const ChildJobs *jobs, pid_t parent) {
    if (in_group_of_its_own(jobs))
        setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
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
    pid_t parent = getpid();
    int ends[2];

    if (pipe(ends) != 0)
        return set_failure(error, "make a pipe");
    fflush(NULL);
    child->id = fork();
    if (child->id == 0) {
        close(ends[0]);
        child_settle(jobs, parent);
        _exit(child_answer(jobs, job, ends[1]) ? 0 : 1);
    }
    close(ends[1]);
    if (child->id < 0) {
        close(ends[0]);
        return set_failure(error, "start a process");
    }
    if (in_group_of_its_own(jobs))
        setpgid(child->id, child->id);
    *child = (Child){.job = job, .id = child->id, .pipe = ends[0], .answer = g_byte_array_new()};
    if (jobs->timeout_s > 0)
        child->deadline_us =
            g_get_monotonic_time() + (gint64)MIN(jobs->timeout_s * G_USEC_PER_SEC, 1e18);
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

static gboolean ended_early(const ChildJobs *jobs, const Child *child, int status, GError **error) {
    const char *signal_name = WIFSIGNALED(status) ? g_strsignal(WTERMSIG(status)) : NULL;

    if (child->late)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "it took longer than %g s",
                    jobs->timeout_s);
    else if (signal_name != NULL)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "a process that simulates ended early (signal %d: %s)", WTERMSIG(status),
                    signal_name);
    else
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "a process that simulates ended early (status %d)", WEXITSTATUS(status));
    return FALSE;
}

static gboolean take_answer(const ChildJobs *jobs, const Child *child, int status, GError **error) {
    GByteArray *answer = child->answer;

    if (child->late || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || answer->len == 0)
        return ended_early(jobs, child, status, error);
    if (answer->data[0] == ANSWER_ERROR)
        return take_error(answer, error);
    g_byte_array_remove_range(answer, 0, 1);
    return TRUE;
}

/* What became of a child is the caller's to take or to lose. */
static gboolean hand_over(const ChildJobs *jobs, const Child *child, int status, GError **error) {
    g_autoptr(GError) failure = NULL;

    if (take_answer(jobs, child, status, &failure))
        return jobs->take(jobs->data, child->job, child->answer, error);
    if (jobs->lose != NULL)
        return jobs->lose(jobs->data, child->job, failure->message, error);
    g_propagate_error(error, g_steal_pointer(&failure));
    return FALSE;
}

static gboolean child_finish(const ChildJobs *jobs, Child *child, GError **error) {
    int status = 0;
    pid_t ended;

    close(child->pipe);
    do
        ended = waitpid(child->id, &status, 0);
    while (ended < 0 && errno == EINTR);
    gboolean well = ended < 0 ? set_failure(error, "wait for a process")
                              : hand_over(jobs, child, status, error);
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

/* Milliseconds until the next deadline or tick; −1: for ever. */
static gint wait_ms(const Children *children) {
    const ChildJobs *jobs = children->jobs;
    gint64 wait_us = jobs->tick != NULL || jobs->stop != NULL ? TICK_US : G_MAXINT64;
    gint64 now_us = g_get_monotonic_time();

    for (guint i = 0; i < children->n_running; i++) {
        const Child *child = &children->running[i];
        if (child->deadline_us > 0 && !child->late)
            wait_us = MIN(wait_us, MAX(child->deadline_us - now_us, 0));
    }
    return wait_us > G_MAXINT ? -1 : (gint)((wait_us + 999) / 1000);
}

static void kill_late(Children *children) {
    gint64 now_us = g_get_monotonic_time();

    for (guint i = 0; i < children->n_running; i++) {
        Child *child = &children->running[i];
        if (child->deadline_us == 0 || child->late || now_us < child->deadline_us)
            continue;
        child->late = TRUE;
        kill(-child->id, SIGKILL);
    }
}

/* Waits until a child says something, and hears all that do. Should waiting itself fail, the
 * children are read one after the other. */
static void hear(Children *children) {
    g_autofree GPollFD *polled = g_new0(GPollFD, children->n_running);

    for (guint i = 0; i < children->n_running; i++)
        polled[i] = (GPollFD){.fd = children->running[i].pipe, .events = G_IO_IN};
    if (g_poll(polled, children->n_running, wait_ms(children)) < 0) {
        if (errno == EINTR)
            return;
        polled[0].revents = G_IO_IN;
    }
    for (guint i = children->n_running; i-- > 0;)
        if (polled[i].revents != 0 && !read_some(&children->running[i]))
            finish(children, i);
    kill_late(children);
    if (children->jobs->tick != NULL)
        children->jobs->tick(children->jobs->data);
}

static void start_next(Children *children) {
    GError *error = NULL;
    gsize job = children->next++;

    if (child_start(&children->running[children->n_running], children->jobs, job, &error))
        children->n_running++;
    else
        note_failure(children, job, error);
}

static gboolean more(const Children *children) {
    const ChildJobs *jobs = children->jobs;

    return children->failure == NULL && children->next < jobs->n &&
           (jobs->stop == NULL || *jobs->stop == 0);
}

gboolean child_run_all(const ChildJobs *jobs, GError **error) {
    guint at_once = jobs->at_once > 0 ? jobs->at_once : MAX(g_get_num_processors(), 1);
    g_autofree Child *running = g_new0(Child, at_once);
    Children children = {.jobs = jobs, .running = running, .at_once = at_once};

    for (;;) {
        if (more(&children) && children.n_running < at_once)
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
