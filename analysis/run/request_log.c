#include "analysis/run/request_log.h"

#include "analysis/output/number_text.h"
#include "analysis/output/text_file.h"
#include "analysis/run/metrics.h"

#define ROW_MAX ((gsize)32 * NUMBER_TEXT_MAX)

struct RequestLog {
    Observer observer;
    TextFile *file;
};

static const char header[] =
    "id,status,reason,pool,prefill_replica,decode_replica,prompt_tokens,output_tokens,"
    "generated_tokens,cached_tokens,preemptions,arrival_s,prefill_start_s,first_token_s,buffered_s,"
    "pull_start_s,decode_start_s,completed_s,queueing_s,ttft_s,tpot_s,e2e_s\n";

/* ",n", or an empty cell for a place that the request never got. */
static char *put_index(char *out, guint index) {
    *out++ = ',';
    return index == G_MAXUINT ? out : number_text_count(out, index);
}

static char *put_count(char *out, guint64 count) {
    *out++ = ',';
    return number_text_count(out, count);
}

/* ",s", or an empty cell for what did not happen. */
static char *put_seconds(char *out, double seconds) {
    *out++ = ',';
    return seconds < 0 ? out : number_text_seconds(out, seconds);
}

static char *put_places(char *out, const ServedRequest *served) {
    out = put_index(out, served->pool);
    out = put_index(out, served->prefill_replica);
    return put_index(out, served->decode_replica);
}

static char *put_tokens(char *out, const ServedRequest *served) {
    out = put_count(out, served->request.prompt_tokens);
    out = put_count(out, served->request.output_tokens);
    out = put_count(out, served->generated);
    out = put_count(out, served->cached_tokens);
    return put_count(out, served->preemptions);
}

static char *put_dates(char *out, const ServedRequest *served) {
    out = put_seconds(out, served->request.arrival_s);
    out = put_seconds(out, served->prefill_start_s);
    out = put_seconds(out, served->first_token_s);
    out = put_seconds(out, served->buffered_s);
    out = put_seconds(out, served->pull_start_s);
    out = put_seconds(out, served->decode_start_s);
    return put_seconds(out, served->completed_s);
}

static char *put_latencies(char *out, const ServedRequest *served) {
    out = put_seconds(out, latency_of(LATENCY_QUEUEING, served));
    out = put_seconds(out, latency_of(LATENCY_TTFT, served));
    out = put_seconds(out, latency_of(LATENCY_TPOT, served));
    return put_seconds(out, latency_of(LATENCY_E2E, served));
}

static void write_row(TextFile *file, const ServedRequest *served, const char *status) {
    char *out = text_file_reserve(file, ROW_MAX);
    out = number_text_count(out, served->request.id);
    out = text_put(out, status);
    if (served->rejected != REJECT_NONE)
        out = text_put(out, reject_reason_name(served->rejected));
    out = put_places(out, served);
    out = put_tokens(out, served);
    out = put_dates(out, served);
    out = put_latencies(out, served);
    *out++ = '\n';
    text_file_advance(file, out);
}

static void notify(Observer *observer, const Event *event) {
    static const char *const status[N_EVENT_KINDS] = {[EVENT_COMPLETED] = ",completed,",
                                                      [EVENT_REJECTED] = ",rejected,",
                                                      [EVENT_DROPPED] = ",dropped,"};
    if (status[event->kind] != NULL)
        write_row(((RequestLog *)observer)->file, event->request, status[event->kind]);
}

RequestLog *request_log_new(const char *path, GError **error) {
    TextFile *file = text_file_new(path, error);
    if (file == NULL)
        return NULL;
    RequestLog *log = g_new0(RequestLog, 1);
    log->observer.notify = notify;
    log->file = file;
    text_file_write(file, header);
    return log;
}

Observer *request_log_observer(RequestLog *log) {
    return &log->observer;
}

gboolean request_log_finish(RequestLog *log, GError **error) {
    return text_file_finish(log->file, error);
}

void request_log_free(RequestLog *log) {
    if (log == NULL)
        return;
    text_file_free(log->file);
    g_free(log);
}
