/* The files that a timeline is asked for, as one sink: each in the format that its suffix says, all
 * written by one run, on the lanes chosen. They appear together at the end, whole or not at all. */
#ifndef ANALYSIS_TIMELINE_FILES_H
#define ANALYSIS_TIMELINE_FILES_H

#include "analysis/timeline/gantt.h"

typedef struct TimelineFilesSetup {
    const char *const *paths; /* NULL-terminated, of known formats; NULL: none */
    gboolean force;           /* they replace what is there */
    const char *within;       /* besides, JSON in a folder that takes its own name; NULL: none */
    const char *const *lanes; /* patterns of trace_filter.h; NULL: all */
    gboolean windowed;        /* it is of a part of the run */
    GanttOptions figure;      /* of .pdf and .svg; their captions stand beside them */
} TimelineFilesSetup;

/* FALSE and an INPUT_ERROR that names the suffixes when 'path' has none of them. */
gboolean timeline_files_check(const char *path, GError **error);

/* Whether a path is that of a figure rather than of a trace. */
gboolean timeline_files_is_figure(const char *path);

/* Of at least one file. To finish is an INPUT_ERROR when nothing at all happened, or nothing on the
 * lanes; then, as after any error, there are no files. */
TraceSink *timeline_files_new(const TimelineFilesSetup *setup, GError **error);

#endif
