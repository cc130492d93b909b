#include "analysis/timeline/timeline_files.h"

#include "analysis/output/output_file.h"
#include "analysis/timeline/chrome_trace.h"
#include "analysis/timeline/paje_trace.h"
#include "analysis/timeline/trace_filter.h"
#include "analysis/timeline/trace_tee.h"
#include "workloads/input_error.h"

typedef struct TimelineFiles {
    TraceSink sink;
    TraceSink *next;
    GPtrArray *files; /* OutputFile *, owned */
    gboolean windowed;
    gboolean happened; /* anything but counters, which show that nothing changed, too */
} TimelineFiles;

static const struct {
    const char *suffix;
    TraceSink *(*open)(const char *path, GError **error); /* NULL: a figure */
} formats[] = {
    {".json", chrome_trace_new},
    {".json.gz", chrome_trace_new},
    {".paje", paje_trace_new},
    {".pdf", NULL},
    {".svg", NULL},
};

static gboolean has_format(const char *path, gsize format) {
    g_autofree char *name = g_path_get_basename(path);
    return g_str_has_suffix(path, formats[format].suffix) &&
           !g_str_equal(name, formats[format].suffix);
}

static gsize format_of(const char *path) {
    gsize format = 0;
    while (format < G_N_ELEMENTS(formats) && !has_format(path, format))
        format++;
    return format;
}

gboolean timeline_files_is_figure(const char *path) {
    gsize format = format_of(path);
    return format < G_N_ELEMENTS(formats) && formats[format].open == NULL;
}

gboolean timeline_files_check(const char *path, GError **error) {
    g_autoptr(GString) all = g_string_new(NULL);
    if (format_of(path) < G_N_ELEMENTS(formats))
        return TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
        g_string_append_printf(all, "%s%s",
                               i == 0                          ? ""
                               : i + 1 < G_N_ELEMENTS(formats) ? ", "
                                                               : " or ",
                               formats[i].suffix);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                "--timeline: expected a file that ends in %s, not '%s'", all->str, path);
    return FALSE;
}

static void files_put(TraceSink *sink, const TraceEvent *event) {
    TimelineFiles *files = (TimelineFiles *)sink;
    files->happened |= event->phase != TRACE_COUNTER;
    trace_sink_put(files->next, event);
}

static void files_name_process(TraceSink *sink, guint process, const char *name) {
    trace_sink_name_process(((TimelineFiles *)sink)->next, process, name);
}

static void files_name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    trace_sink_name_thread(((TimelineFiles *)sink)->next, process, thread, name);
}

static gboolean files_finish(TraceSink *sink, GError **error) {
    TimelineFiles *files = (TimelineFiles *)sink;
    if (!files->happened) {
        g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                            files->windowed ? "--window: nothing happens in it"
                                            : "--timeline: nothing happens in the run");
        return FALSE;
    }
    if (!trace_sink_finish(files->next, error))
        return FALSE;
    for (guint i = 0; i < files->files->len; i++)
        if (!output_file_commit(files->files->pdata[i], error))
            return FALSE;
    return TRUE;
}

static void files_free(TraceSink *sink) {
    TimelineFiles *files = (TimelineFiles *)sink;
    trace_sink_free(files->next);
    g_ptr_array_unref(files->files);
    g_free(files);
}

/* The figure before the last one may be the same in the other format, with the same caption. */
static gboolean has_caption_before(const TimelineFilesSetup *setup, const char *const *path) {
    g_autofree char *caption = gantt_caption_path(*path);
    for (const char *const *other = setup->paths; other < path; other++) {
        g_autofree char *taken = gantt_caption_path(*other);
        if (timeline_files_is_figure(*other) && g_str_equal(taken, caption))
            return TRUE;
    }
    return FALSE;
}

static OutputFile *add_file(const char *path, gboolean force, GPtrArray *files, GError **error) {
    OutputFile *file = output_file_open(path, force, error);
    if (file != NULL)
        g_ptr_array_add(files, file);
    return file;
}

static TraceSink *open_figure(const TimelineFilesSetup *setup, const char *const *path,
                              const char *temporary, GPtrArray *files, GError **error) {
    GanttOptions options = setup->figure;
    if (!has_caption_before(setup, path)) {
        g_autofree char *caption = gantt_caption_path(*path);
        OutputFile *file = add_file(caption, setup->force, files, error);
        if (file == NULL)
            return NULL;
        options.caption_path = output_file_temporary(file);
    }
    return gantt_new(temporary, &options, error);
}

static gboolean open_one(const TimelineFilesSetup *setup, const char *const *path, GPtrArray *files,
                         GPtrArray *sinks, GError **error) {
    OutputFile *file = add_file(*path, setup->force, files, error);
    if (file == NULL)
        return FALSE;
    const char *temporary = output_file_temporary(file);
    TraceSink *sink = timeline_files_is_figure(*path)
                          ? open_figure(setup, path, temporary, files, error)
                          : formats[format_of(*path)].open(temporary, error);
    if (sink == NULL)
        return FALSE;
    g_ptr_array_add(sinks, sink);
    return TRUE;
}

static gboolean open_all(const TimelineFilesSetup *setup, GPtrArray *files, GPtrArray *sinks,
                         GError **error) {
    TraceSink *within = NULL;
    if (setup->within != NULL) {
        if ((within = chrome_trace_new(setup->within, error)) == NULL)
            return FALSE;
        g_ptr_array_add(sinks, within);
    }
    for (const char *const *path = setup->paths; path != NULL && *path != NULL; path++)
        if (!open_one(setup, path, files, sinks, error))
            return FALSE;
    return TRUE;
}

TraceSink *timeline_files_new(const TimelineFilesSetup *setup, GError **error) {
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func((GDestroyNotify)output_file_free);
    g_autoptr(GPtrArray) sinks = g_ptr_array_new_with_free_func((GDestroyNotify)trace_sink_free);
    if (!open_all(setup, files, sinks, error))
        return NULL;
    TraceSink *tee = trace_tee_new(g_steal_pointer(&sinks));
    TimelineFiles *all = g_new0(TimelineFiles, 1);
    *all = (TimelineFiles){.sink = {.put = files_put,
                                    .name_process = files_name_process,
                                    .name_thread = files_name_thread,
                                    .finish = files_finish,
                                    .free = files_free},
                           .next = setup->lanes == NULL ? tee : trace_filter_new(tee, setup->lanes),
                           .files = g_steal_pointer(&files),
                           .windowed = setup->windowed};
    return &all->sink;
}
