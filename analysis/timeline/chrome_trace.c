#include "analysis/timeline/chrome_trace.h"

#include "analysis/output/json_text.h"
#include "analysis/output/number_text.h"
#include "analysis/output/text_file.h"
#include <string.h>

#define EVENT_MAX 2048 /* bytes: names and keys are short static texts */

typedef struct ChromeTrace {
    TraceSink sink;
    TextFile *file;
    gboolean fresh; /* no event yet */
} ChromeTrace;

static const char *separator(ChromeTrace *trace) {
    const char *text = trace->fresh ? "\n" : ",\n";
    trace->fresh = FALSE;
    return text;
}

static char *put_head(char *out, const TraceEvent *event) {
    out = text_put(out, "{\"ph\":\"");
    *out++ = (char)event->phase;
    out = text_put(out, "\",\"name\":\"");
    out = text_put(out, event->name);
    out = text_put(out, "\",\"cat\":\"");
    out = text_put(out, event->category);
    out = text_put(out, "\",\"pid\":");
    out = number_text_count(out, event->process);
    out = text_put(out, ",\"tid\":");
    out = number_text_count(out, event->thread);
    out = text_put(out, ",\"ts\":");
    return number_text_micros(out, number_ticks(event->start_ns));
}

static char *put_phase_fields(char *out, const TraceEvent *event) {
    if (event->phase == TRACE_COUNTER)
        return out;
    if (event->phase == TRACE_MARK)
        return text_put(out, ",\"s\":\"t\"");
    if (event->phase == TRACE_SLICE) {
        out = text_put(out, ",\"dur\":");
        return number_text_micros(out, number_ticks(event->end_ns) - number_ticks(event->start_ns));
    }
    out = text_put(out, ",\"id\":");
    out = number_text_count(out, event->id);
    if (event->phase == TRACE_FLOW_END)
        out = text_put(out, ",\"bp\":\"e\""); /* bind to the slice around, not to the next one */
    return out;
}

static char *put_arguments(char *out, const TraceArgument *arguments) {
    if (arguments[0].key == NULL)
        return out;
    out = text_put(out, ",\"args\":{");
    for (guint i = 0; i < TRACE_ARGUMENTS_MAX && arguments[i].key != NULL; i++) {
        out = text_put(out, i == 0 ? "\"" : ",\"");
        out = text_put(out, arguments[i].key);
        out = text_put(out, "\":");
        out = number_text_count(out, arguments[i].value);
    }
    *out++ = '}';
    return out;
}

static void chrome_put(TraceSink *sink, const TraceEvent *event) {
    ChromeTrace *trace = (ChromeTrace *)sink;
    char *out = text_file_reserve(trace->file, EVENT_MAX);
    out = text_put(out, separator(trace));
    out = put_head(out, event);
    out = put_phase_fields(out, event);
    out = put_arguments(out, event->arguments);
    *out++ = '}';
    text_file_advance(trace->file, out);
}

/* A metadata event ("M"): its name says what of process and thread is set. */
static void put_metadata(ChromeTrace *trace, const char *what, const char *ids,
                         const char *argument) {
    g_autofree char *line = g_strdup_printf("%s{\"ph\":\"M\",\"name\":\"%s\",%s,\"args\":{%s}}",
                                            separator(trace), what, ids, argument);
    text_file_write(trace->file, line);
}

static char *name_argument(const char *name) {
    GString *argument = g_string_new("\"name\":");
    json_text_quote(argument, name);
    return g_string_free(argument, FALSE);
}

static void chrome_name_process(TraceSink *sink, guint process, const char *name) {
    ChromeTrace *trace = (ChromeTrace *)sink;
    g_autofree char *ids = g_strdup_printf("\"pid\":%u,\"tid\":0", process);
    g_autofree char *argument = name_argument(name);
    g_autofree char *order = g_strdup_printf("\"sort_index\":%u", process);
    put_metadata(trace, "process_name", ids, argument);
    put_metadata(trace, "process_sort_index", ids, order);
}

static void chrome_name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    ChromeTrace *trace = (ChromeTrace *)sink;
    g_autofree char *ids = g_strdup_printf("\"pid\":%u,\"tid\":%u", process, thread);
    g_autofree char *argument = name_argument(name);
    g_autofree char *order = g_strdup_printf("\"sort_index\":%u", thread);
    put_metadata(trace, "thread_name", ids, argument);
    put_metadata(trace, "thread_sort_index", ids, order);
}

static gboolean chrome_finish(TraceSink *sink, GError **error) {
    ChromeTrace *trace = (ChromeTrace *)sink;
    text_file_write(trace->file, "\n]}\n");
    return text_file_finish(trace->file, error);
}

static void chrome_free(TraceSink *sink) {
    ChromeTrace *trace = (ChromeTrace *)sink;

    text_file_free(trace->file);
    g_free(trace);
}

TraceSink *chrome_trace_new(const char *path, GError **error) {
    gboolean packed = g_str_has_suffix(path, ".gz");
    TextFile *file = packed ? text_file_new_gzip(path, error) : text_file_new(path, error);
    if (file == NULL)
        return NULL;
    ChromeTrace *trace = g_new0(ChromeTrace, 1);
    *trace = (ChromeTrace){.sink = {.put = chrome_put,
                                    .name_process = chrome_name_process,
                                    .name_thread = chrome_name_thread,
                                    .finish = chrome_finish,
                                    .free = chrome_free},
                           .file = file,
                           .fresh = TRUE};
    text_file_write(file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    return &trace->sink;
}
