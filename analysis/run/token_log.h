/* tokens.csv: a row a completed request, in order of completion, with the tokens generated for it.
 * Only for runs with real numbers. */
#ifndef ANALYSIS_TOKEN_LOG_H
#define ANALYSIS_TOKEN_LOG_H

#include "actors/event.h"

typedef struct TokenLog TokenLog;
TokenLog *token_log_new(const char *path, GError **error);
Observer *token_log_observer(TokenLog *log);
gboolean token_log_finish(TokenLog *log, GError **error); /* flushes; reports a write error */
void token_log_free(TokenLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TokenLog, token_log_free)

#endif
