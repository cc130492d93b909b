/* requests.csv: a row a request, in order of its end, with every date. */
#ifndef ANALYSIS_REQUEST_LOG_H
#define ANALYSIS_REQUEST_LOG_H

#include "actors/event.h"

typedef struct RequestLog RequestLog;
RequestLog *request_log_new(const char *path, GError **error);
Observer *request_log_observer(RequestLog *log);
gboolean request_log_finish(RequestLog *log, GError **error); /* flushes; reports a write error */
void request_log_free(RequestLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RequestLog, request_log_free)

#endif
