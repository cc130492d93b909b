#include "analysis/timeline/gantt.h"

#include "analysis/timeline/gantt_canvas.h"
#include "analysis/timeline/gantt_caption.h"
#include "workloads/input_error.h"
#include <string.h>

const char *const gantt_width_names[] = {
    [GANTT_COLUMN] = "column",
    [GANTT_PAGE] = "page",
    [N_GANTT_WIDTHS] = NULL,
};

typedef struct Gantt {
    TraceSink sink;
    char *path;
    GanttOptions options; /* its texts are the next three */
    char *title, *caption_path;
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
        g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                            "--timeline: there is nothing to draw a figure of: no slice is in the "
                            "window, on the lanes chosen");
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
    return (gantt->caption_path == NULL ||
            g_file_set_contents(gantt->caption_path, caption, -1, error)) &&
           g_file_set_contents(gantt->path, data, (gssize)size, error);
}

static void gantt_free(TraceSink *sink) {
    Gantt *gantt = (Gantt *)sink;

    gantt_canvas_release_caches();
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
    Gantt *gantt = g_new0(Gantt, 1);
    *gantt = (Gantt){.sink = {.put = gantt_put,
                              .name_process = gantt_name_process,
                              .name_thread = gantt_name_thread,
                              .finish = gantt_finish,
                              .free = gantt_free},
                     .path = g_strdup(path),
                     .options = *options,
                     .title = g_strdup(options->title),
                     .caption_path = g_strdup(options->caption_path),
                     .caption = g_strdupv((char **)options->caption),
                     .svg = svg,
                     .lanes = gantt_lanes_new(options->from_ns)};
    gantt->options.title = gantt->title;
    gantt->options.caption_path = gantt->caption_path;
    gantt->options.caption = (const char *const *)gantt->caption;
    gantt_flows_init(&gantt->flows);
    return &gantt->sink;
}
