#include "analysis/timeline/trace_writer.h"

#include "analysis/output/json_text.h"
#include "analysis/output/number_text.h"
#include "analysis/output/text_file.h"
#include <string.h>

#define EVENT_MAX 2048 /* bytes: names and keys are short static texts */

struct TraceWriter {
    TextFile *file;
    gboolean fresh; /* no event yet */
};

TraceWriter *trace_writer_new(const char *path, GError **error) {
    TextFile *file = text_file_new(path, error);
    if (file == NULL)
        return NULL;
    TraceWriter *writer = g_new0(TraceWriter, 1);
    writer->file = file;
    writer->fresh = TRUE;
    text_file_write(file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    return writer;
}

void trace_writer_free(TraceWriter *writer) {
    if (writer == NULL)
        return;
    text_file_free(writer->file);
    g_free(writer);
}

static const char *separator(TraceWriter *writer) {
    const char *text = writer->fresh ? "\n" : ",\n";
    writer->fresh = FALSE;
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
    return number_text_micros(out, event->start_ns);
}

static char *put_phase_fields(char *out, const TraceEvent *event) {
    if (event->phase == TRACE_COUNTER)
        return out;
    if (event->phase == TRACE_SLICE) {
        out = text_put(out, ",\"dur\":");
        return number_text_micros(out, event->end_ns - event->start_ns);
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

void trace_writer_put(TraceWriter *writer, const TraceEvent *event) {
    char *out = text_file_reserve(writer->file, EVENT_MAX);
    out = text_put(out, separator(writer));
    out = put_head(out, event);
    out = put_phase_fields(out, event);
    out = put_arguments(out, event->arguments);
    *out++ = '}';
    text_file_advance(writer->file, out);
}

/* A metadata event ("M"): its name says what of process and thread is set. */
static void put_metadata(TraceWriter *writer, const char *what, const char *ids,
                         const char *argument) {
    g_autofree char *line = g_strdup_printf("%s{\"ph\":\"M\",\"name\":\"%s\",%s,\"args\":{%s}}",
                                            separator(writer), what, ids, argument);
    text_file_write(writer->file, line);
}

static char *name_argument(const char *name) {
    GString *argument = g_string_new("\"name\":");
    json_text_quote(argument, name);
    return g_string_free(argument, FALSE);
}

void trace_writer_name_process(TraceWriter *writer, guint process, const char *name) {
    g_autofree char *ids = g_strdup_printf("\"pid\":%u,\"tid\":0", process);
    g_autofree char *argument = name_argument(name);
    g_autofree char *order = g_strdup_printf("\"sort_index\":%u", process);
    put_metadata(writer, "process_name", ids, argument);
    put_metadata(writer, "process_sort_index", ids, order);
}

void trace_writer_name_thread(TraceWriter *writer, guint process, guint thread, const char *name) {
    g_autofree char *ids = g_strdup_printf("\"pid\":%u,\"tid\":%u", process, thread);
    g_autofree char *argument = name_argument(name);
    g_autofree char *order = g_strdup_printf("\"sort_index\":%u", thread);
    put_metadata(writer, "thread_name", ids, argument);
    put_metadata(writer, "thread_sort_index", ids, order);
}

gboolean trace_writer_finish(TraceWriter *writer, GError **error) {
    text_file_write(writer->file, "\n]}\n");
    return text_file_finish(writer->file, error);
}
