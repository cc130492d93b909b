#include "analysis/timeline/gantt.h"

#include "analysis/timeline/gantt_caption.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

const char *const gantt_width_names[] = {
    [GANTT_COLUMN] = "column",
    [GANTT_PAGE] = "page",
    [N_GANTT_WIDTHS] = NULL,
};

typedef struct Gantt {
    TraceSink sink;
    char *path, *caption_path;
    char *temporary, *caption_temporary; /* NULL once they have their names */
    GanttOptions options;                /* title and caption are owned */
    char *title;
    char **caption;
    gboolean svg;
    GanttLanes *lanes;
    GanttFlows flows;
    gint64 end_ns; /* of the last slice */
    guint64 n_slices;
} Gantt;

/* The value of an argument, or 'otherwise'. */
static guint64 argument(const TraceEvent *event, const char *key, guint64 otherwise) {
    for (guint i = 0; i < TRACE_ARGUMENTS_MAX && event->arguments[i].key != NULL; i++)
        if (strcmp(event->arguments[i].key, key) == 0)
            return event->arguments[i].value;
    return otherwise;
}

/* Decode steps are known by their micro-batch, counted from 1 as papers do; a prompt by its
 * request, if it is the only one. */
static void set_label(GanttSlice *slice, const TraceEvent *event) {
    guint64 micro_batch = argument(event, "micro_batch", G_MAXUINT64);
    guint64 request = argument(event, "first_request", G_MAXUINT64);

    if (strcmp(event->name, "decode") == 0 && micro_batch < G_MAXINT32) {
        slice->letter = 'M';
        slice->number = (gint32)micro_batch + 1;
    } else if (strcmp(event->name, "prefill") == 0 && request <= G_MAXINT32 &&
               argument(event, "requests", 0) == 1) {
        slice->letter = 'R';
        slice->number = (gint32)request;
    }
}

static void put_slice(Gantt *gantt, const TraceEvent *event) {
    gint64 from_ns = MAX(event->start_ns, gantt->options.from_ns);
    gint64 to_ns = MIN(event->end_ns, gantt->options.to_ns);
    if (from_ns >= to_ns)
        return;
    GanttSlice slice = {.start_ns = from_ns,
                        .end_ns = to_ns,
                        .kind = (guint8)gantt_kind_of(event->name, argument(event, "bytes", 0) > 0),
                        .begin_ns = event->start_ns,
                        .name = event->name};

    set_label(&slice, event);
    gantt->end_ns = MAX(gantt->end_ns, to_ns);
    gantt->n_slices++;
    gantt_lanes_put(gantt->lanes, gantt_lanes_find(gantt->lanes, event->process, event->thread),
                    &slice);
}

static void put_mark(Gantt *gantt, const TraceEvent *event) {
    if (strcmp(event->category, "ttft") != 0 || event->start_ns < gantt->options.from_ns ||
        event->start_ns >= gantt->options.to_ns)
        return;
    gantt_lanes_mark(gantt->lanes, gantt_lanes_find(gantt->lanes, event->process, event->thread),
                     event->start_ns);
}

/* Counters and the phases of requests have no lanes in a figure. */
static void gantt_put(TraceSink *sink, const TraceEvent *event) {
    Gantt *gantt = (Gantt *)sink;

    switch (event->phase) {
    case TRACE_SLICE:
        put_slice(gantt, event);
        break;
    case TRACE_MARK:
        put_mark(gantt, event);
        break;
    case TRACE_FLOW_START:
    case TRACE_FLOW_STEP:
    case TRACE_FLOW_END:
        gantt_flows_put(&gantt->flows, event);
        break;
    case TRACE_ASYNC_BEGIN:
    case TRACE_ASYNC_END:
    case TRACE_COUNTER:
        break;
    }
}

static void gantt_name_process(TraceSink *sink, guint process, const char *name) {
    gantt_lanes_name_process(((Gantt *)sink)->lanes, process, name);
}

static void gantt_name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    gantt_lanes_name(((Gantt *)sink)->lanes, process, thread, name);
}

static gboolean fail(GError **error, const char *path, int code) {
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot write '%s': %s", path,
                g_strerror(code));
    return FALSE;
}

/* An empty file beside 'path', under a name of its own; NULL and an error. */
static char *temporary_beside(const char *path, GError **error) {
    g_autofree char *folder = g_path_get_dirname(path);
    char *temporary = g_build_filename(folder, ".timeline-XXXXXX", NULL);
    int file = g_mkstemp_full(temporary, O_RDWR | O_CLOEXEC, 0666);

    if (file >= 0) {
        close(file);
        return temporary;
    }
    fail(error, path, errno);
    g_free(temporary);
    return NULL;
}

static void drop(char **temporary) {
    if (*temporary != NULL)
        g_unlink(*temporary);
    g_clear_pointer(temporary, g_free);
}

static gboolean fill(const char *path, const char *data, gsize bytes, GError **error) {
    FILE *file = g_fopen(path, "wbe");
    if (file == NULL)
        return fail(error, path, errno);
    gboolean written = fwrite(data, 1, bytes, file) == bytes;
    int code = errno;
    if (fclose(file) == 0 && written)
        return TRUE;
    return fail(error, path, written ? errno : code);
}

static gboolean publish(char **temporary, const char *path, GError **error) {
    if (g_rename(*temporary, path) != 0)
        return fail(error, path, errno);
    g_clear_pointer(temporary, g_free);
    return TRUE;
}

/* The end of the window, unless the run leaves much of it empty. */
static gint64 shown_end(const Gantt *gantt) {
    const GanttOptions *options = &gantt->options;
    gint64 empty_ns = options->to_ns - gantt->end_ns;

    return empty_ns <= (options->to_ns - options->from_ns) / 20 ? options->to_ns : gantt->end_ns;
}

static gboolean gantt_finish(TraceSink *sink, GError **error) {
    Gantt *gantt = (Gantt *)sink;
    GanttFigure figure = {.options = &gantt->options,
                          .svg = gantt->svg,
                          .lanes = gantt->lanes,
                          .flows = &gantt->flows,
                          .from_ns = gantt->options.from_ns,
                          .to_ns = shown_end(gantt)};

    if (gantt->n_slices == 0) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "%s: nothing happens in the window: there is no timeline to draw", gantt->path);
        return FALSE;
    }
    g_autoptr(GBytes) bytes = gantt_draw(&figure, error);
    if (bytes == NULL) {
        g_clear_pointer(&figure.rows, g_array_unref);
        return FALSE;
    }
    g_autofree char *caption = gantt_caption(&figure);
    g_array_unref(figure.rows);
    gsize size;
    const char *data = g_bytes_get_data(bytes, &size);
    return fill(gantt->temporary, data, size, error) &&
           fill(gantt->caption_temporary, caption, strlen(caption), error) &&
           publish(&gantt->caption_temporary, gantt->caption_path, error) &&
           publish(&gantt->temporary, gantt->path, error);
}

static void gantt_free(TraceSink *sink) {
    Gantt *gantt = (Gantt *)sink;

    drop(&gantt->temporary);
    drop(&gantt->caption_temporary);
    gantt_flows_clear(&gantt->flows);
    gantt_lanes_free(gantt->lanes);
    g_free(gantt->title);
    g_strfreev(gantt->caption);
    g_free(gantt->path);
    g_free(gantt->caption_path);
    g_free(gantt);
}

char *gantt_caption_path(const char *path) {
    const char *dot = strrchr(path, '.');
    return g_strdup_printf("%.*s.txt", (int)(dot == NULL ? strlen(path) : (gsize)(dot - path)),
                           path);
}

TraceSink *gantt_new(const char *path, const GanttOptions *options, GError **error) {
    gboolean svg = g_str_has_suffix(path, ".svg");
    if (!svg && !g_str_has_suffix(path, ".pdf")) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "%s: a figure's name ends in .pdf or .svg", path);
        return NULL;
    }
    g_autofree char *temporary = temporary_beside(path, error);
    g_autofree char *caption_path = gantt_caption_path(path);
    g_autofree char *caption_temporary =
        temporary == NULL ? NULL : temporary_beside(caption_path, error);
    if (caption_temporary == NULL) {
        drop(&temporary);
        return NULL;
    }
    Gantt *gantt = g_new0(Gantt, 1);
    *gantt = (Gantt){.sink = {.put = gantt_put,
                              .name_process = gantt_name_process,
                              .name_thread = gantt_name_thread,
                              .finish = gantt_finish,
                              .free = gantt_free},
                     .path = g_strdup(path),
                     .caption_path = g_steal_pointer(&caption_path),
                     .temporary = g_steal_pointer(&temporary),
                     .caption_temporary = g_steal_pointer(&caption_temporary),
                     .options = *options,
                     .title = g_strdup(options->title),
                     .caption = g_strdupv((char **)options->caption),
                     .svg = svg,
                     .lanes = gantt_lanes_new(options->from_ns)};
    gantt->options.title = gantt->title;
    gantt->options.caption = (const char *const *)gantt->caption;
    gantt_flows_init(&gantt->flows);
    return &gantt->sink;
}
