/* A progress line on a terminal: simulated time, requests done, ETA. Silent in a pipe. */
#ifndef ANALYSIS_PROGRESS_H
#define ANALYSIS_PROGRESS_H

#include "actors/event.h"

typedef struct Progress Progress;
/* NULL when standard error is no terminal or 'quiet'. */
Progress *progress_new(guint64 requests, gboolean quiet);
Observer *progress_observer(Progress *progress);
/* "1:02:03" or "2:03". Caller frees. */
char *progress_clock(double seconds);
void progress_free(Progress *progress); /* clears the line; NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Progress, progress_free)

#endif
