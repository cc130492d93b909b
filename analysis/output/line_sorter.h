/* Lines in order of their keys, however many there are and however they come: what exceeds a fixed
 * buffer is sorted, set aside in a nameless file, and merged when the lines are written (external
 * merge sort: Knuth, TAOCP 3, section 5.4). */
#ifndef ANALYSIS_LINE_SORTER_H
#define ANALYSIS_LINE_SORTER_H

#include "analysis/output/text_file.h"

#define LINE_SORTER_LINE_MAX 4096           /* bytes of a line */
#define LINE_SORTER_BUFFER ((gsize)8 << 20) /* bytes of lines in memory, unless told otherwise */

/* Lines come in order of date, then of rank, then as they were added. */
typedef struct LineKey {
    gint64 date, rank;
} LineKey;

typedef struct LineSorter LineSorter;
/* Sets lines aside in the folder of 'path'; gathers 'buffer' bytes of them (at least twice
 * LINE_SORTER_LINE_MAX) in memory before, which takes as much again while they are sorted. */
LineSorter *line_sorter_new(const char *path, gsize buffer);
void line_sorter_free(LineSorter *sorter); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LineSorter, line_sorter_free)

/* 'text' ends with its line feed; a copy is kept. */
void line_sorter_add(LineSorter *sorter, LineKey key, const char *text);
/* Writes them all to 'out', once. Reports what went wrong since the beginning: G_FILE_ERROR. */
gboolean line_sorter_write(LineSorter *sorter, TextFile *out, GError **error);

#endif
