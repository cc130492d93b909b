/* series.csv: the state of the system over time, a row a sampling interval. */
#ifndef ANALYSIS_SERIES_LOG_H
#define ANALYSIS_SERIES_LOG_H

#include "actors/event.h"

typedef struct SeriesLog SeriesLog;
SeriesLog *series_log_new(const char *path, GError **error);
Observer *series_log_observer(SeriesLog *log);
gboolean series_log_finish(SeriesLog *log, GError **error); /* flushes; reports a write error */
void series_log_free(SeriesLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SeriesLog, series_log_free)

#endif
