#include "analysis/cost_tables.h"

#include "analysis/cost_points.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CACHE_VARIABLE "INFERGRID_CACHE"
#define SILENT_SECONDS 1.0 /* what takes no longer is not worth a line of progress */

/* One table on its way. */
typedef struct Task {
    const OpCostKey *key;
    char *identity;
    OpCostTable *table; /* NULL until it is known */
    pid_t child;        /* 0: none */
    int pipe;           /* from the child */
    GString *reply;
} Task;

typedef struct Tasks {
    const Platform *platform;
    char *folder; /* NULL: no cache */
    gboolean quiet;
    Task *tasks;
    guint n, missing, made;
    gint64 begun_us;
    gboolean progress_shown;
} Tasks;

static void tasks_clear(Tasks *tasks) {
    for (guint i = 0; i < tasks->n; i++) {
        Task *task = &tasks->tasks[i];
        g_free(task->identity);
        op_cost_table_free(task->table);
        if (task->reply != NULL)
            g_string_free(task->reply, TRUE);
    }
    g_free(tasks->tasks);
    g_free(tasks->folder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tasks, tasks_clear)

/* --- the cache */

static char *cache_folder(void) {
    const char *named = g_getenv(CACHE_VARIABLE);

    if (named == NULL)
        return g_build_filename(g_get_user_cache_dir(), "infergrid", NULL);
    return *named == '\0' ? NULL : g_strdup(named);
}

static void warn(const Tasks *tasks, const char *path, const char *what, const char *message) {
    if (!tasks->quiet)
        fprintf(stderr, "infergrid: warning: %s: %s%s\n", path, message, what);
}

static char *file_of(const Tasks *tasks, const Task *task) {
    g_autofree char *name = op_cost_file_name(task->identity);

    return g_build_filename(tasks->folder, name, NULL);
}

static void look_up(const Tasks *tasks, Task *task) {
    if (tasks->folder == NULL)
        return;
    g_autofree char *path = file_of(tasks, task);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    if (!g_file_get_contents(path, &text, NULL, &error)) {
        if (!g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
            warn(tasks, path, "", error->message);
        return;
    }
    task->table = op_cost_table_parse(text, task->key, task->identity, &error);
    if (task->table == NULL)
        warn(tasks, path, "; it is made anew", error->message);
}

/* Under another name first, so that nobody ever reads half a file. */
static void store(const Tasks *tasks, const Task *task) {
    if (tasks->folder == NULL)
        return;
    g_autofree char *path = file_of(tasks, task);
    g_autofree char *text = op_cost_table_text(task->table, task->identity);
    g_autoptr(GError) error = NULL;
    if (g_mkdir_with_parents(tasks->folder, 0777) != 0)
        warn(tasks, tasks->folder, "", g_strerror(errno));
    else if (!g_file_set_contents(path, text, -1, &error))
        warn(tasks, path, "", error->message);
}

/* --- children: each simulates one table and says it as text */

enum { REPLY_TABLE = 'T', REPLY_WRONG_INPUT = 'W', REPLY_FAILED = 'F' };

static gboolean write_all(int file, const char *text, gsize bytes) {
    while (bytes > 0) {
        ssize_t written = write(file, text, bytes);
        if (written < 0 && errno != EINTR)
            return FALSE;
        text += MAX(written, 0);
        bytes -= (gsize)MAX(written, 0);
    }
    return TRUE;
}

/* The child's whole life; FALSE when its answer could not be handed over. */
static gboolean child_answer(const Task *task, const Platform *platform, int file) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OpCostTable) table = cost_points_simulate(task->key, platform, &error);
    g_autofree char *text = table ? op_cost_table_text(table, task->identity) : NULL;
    char kind = table                          ? REPLY_TABLE
                : error->domain == INPUT_ERROR ? REPLY_WRONG_INPUT
                                               : REPLY_FAILED;
    const char *said = table ? text : error->message;
    return write_all(file, &kind, 1) && write_all(file, said, strlen(said));
}

static gboolean set_failure(GError **error, const char *what) {
    int code = errno;

    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot %s: %s", what,
                g_strerror(code));
    return FALSE;
}

static gboolean start(const Tasks *tasks, Task *task, GError **error) {
    int ends[2];

    if (pipe(ends) != 0)
        return set_failure(error, "make a pipe");
    fflush(NULL);
    task->child = fork();
    if (task->child == 0) {
        close(ends[0]);
        _exit(child_answer(task, tasks->platform, ends[1]) ? 0 : 1);
    }
    close(ends[1]);
    if (task->child > 0) {
        task->pipe = ends[0];
        task->reply = g_string_new(NULL);
        return TRUE;
    }
    task->child = 0;
    close(ends[0]);
    return set_failure(error, "start a process");
}

static gboolean take_reply(Task *task, int status, GError **error) {
    const GString *reply = task->reply;

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || reply->len == 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "the process that simulates operators ended early (status %d)", status);
        return FALSE;
    }
    if (reply->str[0] != REPLY_TABLE) {
        g_set_error_literal(error, reply->str[0] == REPLY_WRONG_INPUT ? INPUT_ERROR : G_FILE_ERROR,
                            INPUT_ERROR_CONFLICT, reply->str + 1);
        return FALSE;
    }
    task->table = op_cost_table_parse(reply->str + 1, task->key, task->identity, error);
    return task->table != NULL;
}

static gboolean finish(Task *task, GError **error) {
    int status = 0;
    pid_t ended;

    close(task->pipe);
    do
        ended = waitpid(task->child, &status, 0);
    while (ended < 0 && errno == EINTR);
    task->child = 0;
    return ended < 0 ? set_failure(error, "wait for a process") : take_reply(task, status, error);
}

/* Takes what the child has said; FALSE once it has ended. */
static gboolean read_some(Task *task) {
    char buffer[65536];
    ssize_t got = read(task->pipe, buffer, sizeof buffer);

    if (got > 0)
        g_string_append_len(task->reply, buffer, got);
    return got > 0 || (got < 0 && errno == EINTR);
}

static void show_progress(Tasks *tasks) {
    double seconds = (double)(g_get_monotonic_time() - tasks->begun_us) / G_USEC_PER_SEC;

    if (tasks->quiet || seconds < SILENT_SECONDS || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\rsimulating operators: %u of %u tables \033[K", tasks->made, tasks->missing);
    tasks->progress_shown = TRUE;
}

/* Waits until one of the running children says something, and hears all that do. */
static gboolean hear(Tasks *tasks, Task **running, guint *n_running, GError **error) {
    g_autofree GPollFD *polled = g_new0(GPollFD, *n_running);
    gboolean well = TRUE;

    for (guint i = 0; i < *n_running; i++)
        polled[i] = (GPollFD){.fd = running[i]->pipe, .events = G_IO_IN};
    if (g_poll(polled, *n_running, -1) < 0)
        return errno == EINTR || set_failure(error, "hear from a process");
    for (guint i = *n_running; i-- > 0;) {
        if (polled[i].revents == 0 || read_some(running[i]))
            continue;
        well = finish(running[i], well ? error : NULL) && well;
        if (well)
            store(tasks, running[i]);
        running[i] = running[--*n_running];
        tasks->made++;
        show_progress(tasks);
    }
    return well;
}

/* As many at a time as there are processors. After a failure the others are heard out. */
static gboolean make_missing(Tasks *tasks, GError **error) {
    guint at_once = MAX(g_get_num_processors(), 1), n_running = 0, next = 0;
    g_autofree Task **running = g_new(Task *, at_once);
    gboolean well = TRUE;

    while (n_running > 0 || (well && next < tasks->n)) {
        if (well && n_running < at_once && next < tasks->n) {
            Task *task = &tasks->tasks[next++];
            if (task->table == NULL && (well = start(tasks, task, error)))
                running[n_running++] = task;
            continue;
        }
        well = hear(tasks, running, &n_running, well ? error : NULL) && well;
    }
    if (tasks->progress_shown)
        fputs("\r\033[K", stderr);
    return well;
}

/* With what the schedule gives, so that no file outlives a change of it. */
static char *identity_of(const OpCostKey *key, const Platform *platform) {
    char mark[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *identity = op_cost_identity(key, platform);

    g_ascii_dtostr(mark, sizeof mark, cost_points_mark(key, platform));
    return g_strdup_printf("%sschedule %s\n", identity, mark);
}

gboolean cost_tables_get(const GArray *keys, const Platform *platform, gboolean quiet,
                         OpCosts *costs, GError **error) {
    g_auto(Tasks) tasks = {.platform = platform,
                           .folder = cache_folder(),
                           .quiet = quiet,
                           .tasks = g_new0(Task, keys->len + 1),
                           .n = keys->len,
                           .begun_us = g_get_monotonic_time()};

    for (guint i = 0; i < tasks.n; i++) {
        Task *task = &tasks.tasks[i];
        task->key = &g_array_index(keys, OpCostKey, i);
        task->identity = identity_of(task->key, platform);
        look_up(&tasks, task);
        tasks.missing += task->table == NULL;
    }
    if (!make_missing(&tasks, error))
        return FALSE;
    for (guint i = 0; i < tasks.n; i++)
        op_costs_add(costs, g_steal_pointer(&tasks.tasks[i].table));
    return TRUE;
}
