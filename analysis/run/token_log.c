#include "analysis/run/token_log.h"

#include "analysis/output/number_text.h"
#include "analysis/output/text_file.h"

struct TokenLog {
    Observer observer;
    TextFile *file;
};

static void write_id(TextFile *file, guint64 id) {
    char *out = text_file_reserve(file, NUMBER_TEXT_MAX + 1);
    out = number_text_count(out, id);
    *out++ = ',';
    text_file_advance(file, out);
}

/* A row may be longer than what can be reserved at once, so each token is handed over alone. */
static void write_token(TextFile *file, guint32 token, char end) {
    char *out = text_file_reserve(file, NUMBER_TEXT_MAX + 1);
    out = number_text_count(out, token);
    *out++ = end;
    text_file_advance(file, out);
}

static void notify(Observer *observer, const Event *event) {
    if (event->kind != EVENT_COMPLETED)
        return;
    TextFile *file = ((TokenLog *)observer)->file;
    const ServedRequest *served = event->request;
    write_id(file, served->request.id);
    for (guint32 i = 0; i < served->generated; i++)
        write_token(file, served->tokens[i], i + 1 < served->generated ? ' ' : '\n');
}

TokenLog *token_log_new(const char *path, GError **error) {
    TextFile *file = text_file_new(path, error);
    if (file == NULL)
        return NULL;
    TokenLog *log = g_new0(TokenLog, 1);
    log->observer.notify = notify;
    log->file = file;
    text_file_write(file, "id,tokens\n");
    return log;
}

Observer *token_log_observer(TokenLog *log) {
    return &log->observer;
}

gboolean token_log_finish(TokenLog *log, GError **error) {
    return text_file_finish(log->file, error);
}

void token_log_free(TokenLog *log) {
    if (log == NULL)
        return;
    text_file_free(log->file);
    g_free(log);
}
