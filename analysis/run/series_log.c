#include "analysis/run/series_log.h"

#include "analysis/output/number_text.h"
#include "analysis/output/text_file.h"

#define ROW_MAX ((gsize)20 * NUMBER_TEXT_MAX)

struct SeriesLog {
    Observer observer;
    TextFile *file;
    double time_s;            /* of the row before */
    guint64 generated_tokens; /* … */
};

static const char header[] =
    "time_s,arrived,completed,rejected,waiting,prefilling,buffered,pulling,running,"
    "generated_tokens,output_tokens_per_s,buffer_bytes,kv_bytes,paused_pools\n";

static void ignore_event(Observer *observer, const Event *event) {
    (void)observer, (void)event;
}

/* Tokens a second since the row before; 0 for the first. */
static double output_tokens_per_s(const SeriesLog *log, const SimulationSample *sample) {
    double span_s = sample->time_s - log->time_s;
    if (span_s <= 0)
        return 0;
    return ((double)sample->generated_tokens - (double)log->generated_tokens) / span_s;
}

static char *put_counts(char *out, const SimulationSample *sample) {
    const guint64 counts[] = {sample->arrived, sample->completed,  sample->rejected,
                              sample->waiting, sample->prefilling, sample->buffered,
                              sample->pulling, sample->running,    sample->generated_tokens};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        *out++ = ',';
        out = number_text_count(out, counts[i]);
    }
    return out;
}

static char *put_real(char *out, double value) {
    *out++ = ',';
    return number_text_shortest(out, value);
}

static void write_sample(Observer *observer, const SimulationSample *sample) {
    SeriesLog *log = (SeriesLog *)observer;
    char *out = text_file_reserve(log->file, ROW_MAX);
    out = number_text_seconds(out, sample->time_s);
    out = put_counts(out, sample);
    out = put_real(out, output_tokens_per_s(log, sample));
    out = put_real(out, sample->buffer_bytes);
    out = put_real(out, sample->kv_bytes);
    *out++ = ',';
    out = number_text_count(out, sample->paused_pools);
    *out++ = '\n';
    text_file_advance(log->file, out);
    log->time_s = sample->time_s;
    log->generated_tokens = sample->generated_tokens;
}

SeriesLog *series_log_new(const char *path, GError **error) {
    TextFile *file = text_file_new(path, error);
    if (file == NULL)
        return NULL;
    SeriesLog *log = g_new0(SeriesLog, 1);
    log->observer.notify = ignore_event;
    log->observer.sample = write_sample;
    log->file = file;
    text_file_write(file, header);
    return log;
}

Observer *series_log_observer(SeriesLog *log) {
    return &log->observer;
}

gboolean series_log_finish(SeriesLog *log, GError **error) {
    return text_file_finish(log->file, error);
}

void series_log_free(SeriesLog *log) {
    if (log == NULL)
        return;
    text_file_free(log->file);
    g_free(log);
}
