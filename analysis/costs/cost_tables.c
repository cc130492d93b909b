#include "analysis/costs/cost_tables.h"

#include "analysis/campaign/child.h"
#include "analysis/costs/cost_points.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CACHE_VARIABLE "INFERGRID_CACHE"
#define SILENT_SECONDS 1.0 /* what takes no longer is not worth a line of progress */

/* One table on its way. */
typedef struct Task {
    const OpCostKey *key;
    char *identity;     /* NULL: the table was in the memo */
    OpCostTable *table; /* NULL until it is known */
} Task;

typedef struct Tasks {
    const Platform *platform;
    CostMemo *memo; /* NULL: none */
    char *folder;   /* NULL: no cache */
    gboolean quiet;
    Task *tasks;
    Task **missing; /* those that are to be made */
    guint n, n_missing, made;
    gint64 begun_us;
    gboolean progress_shown;
} Tasks;

static void tasks_clear(Tasks *tasks) {
    for (guint i = 0; i < tasks->n; i++) {
        Task *task = &tasks->tasks[i];
        g_free(task->identity);
        op_cost_table_free(task->table);
    }
    g_free(tasks->tasks);
    g_free(tasks->missing);
    g_free(tasks->folder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tasks, tasks_clear)

/* --- the cache */

char *cost_fill_folder(void) {
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

/* With what the schedule gives, so that no file outlives a change of it. */
static char *identity_of(const OpCostKey *key, const Platform *platform) {
    char mark[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *identity = op_cost_identity(key, platform);

    g_ascii_dtostr(mark, sizeof mark, cost_points_mark(key, platform));
    return g_strdup_printf("%sschedule %s\n", identity, mark);
}

static void look_up(const Tasks *tasks, Task *task) {
    if (tasks->memo != NULL)
        task->table = cost_memo_get(tasks->memo, tasks->platform, task->key);
    if (task->table != NULL)
        return;
    task->identity = identity_of(task->key, tasks->platform);
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

static gboolean work(gpointer data, gsize index, GByteArray *reply, GError **error) {
    const Tasks *tasks = data;
    const Task *task = tasks->missing[index];
    g_autoptr(OpCostTable) table = cost_points_simulate(task->key, tasks->platform, error);

    if (table == NULL)
        return FALSE;
    g_autofree char *text = op_cost_table_text(table, task->identity);
    g_byte_array_append(reply, (const guint8 *)text, (guint)strlen(text));
    return TRUE;
}

static void show_progress(Tasks *tasks) {
    double seconds = (double)(g_get_monotonic_time() - tasks->begun_us) / G_USEC_PER_SEC;

    if (tasks->quiet || seconds < SILENT_SECONDS || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\rsimulating operators: %u of %u tables \033[K", tasks->made,
            tasks->n_missing);
    tasks->progress_shown = TRUE;
}

static gboolean take(gpointer data, gsize index, const GByteArray *reply, GError **error) {
    Tasks *tasks = data;
    Task *task = tasks->missing[index];
    g_autofree char *text = g_strndup((const char *)reply->data, reply->len);

    task->table = op_cost_table_parse(text, task->key, task->identity, error);
    if (task->table == NULL)
        return FALSE;
    store(tasks, task);
    tasks->made++;
    show_progress(tasks);
    return TRUE;
}

static gboolean make_missing(Tasks *tasks, GError **error) {
    ChildJobs jobs = {.n = tasks->n_missing,
                      .data = tasks,
                      .work = work,
                      .take = take,
                      .at_once = tasks->memo == NULL ? 0 : cost_memo_at_once(tasks->memo)};
    gboolean made = tasks->n_missing == 0 || child_run_all(&jobs, error);

    if (tasks->progress_shown)
        fputs("\r\033[K", stderr);
    return made;
}

/* All that is known now goes to the memo and to 'costs'. */
static void hand_out(Tasks *tasks, OpCosts *costs) {
    for (guint i = 0; i < tasks->n; i++) {
        Task *task = &tasks->tasks[i];
        if (tasks->memo != NULL && task->identity != NULL)
            cost_memo_put(tasks->memo, tasks->platform, task->table, task->identity);
        op_costs_add(costs, g_steal_pointer(&task->table));
    }
}

gboolean cost_tables_get(const GArray *keys, const CostFillInput *input, OpCosts *costs,
                         GError **error) {
    g_auto(Tasks) tasks = {.platform = input->platform,
                           .memo = input->memo,
                           .folder = cost_fill_folder(),
                           .quiet = input->quiet,
                           .tasks = g_new0(Task, keys->len + 1),
                           .missing = g_new0(Task *, keys->len + 1),
                           .n = keys->len,
                           .begun_us = g_get_monotonic_time()};

    for (guint i = 0; i < tasks.n; i++) {
        Task *task = &tasks.tasks[i];
        task->key = &g_array_index(keys, OpCostKey, i);
        look_up(&tasks, task);
        if (task->table == NULL)
            tasks.missing[tasks.n_missing++] = task;
    }
    if (!make_missing(&tasks, error))
        return FALSE;
    hand_out(&tasks, costs);
    return TRUE;
}
