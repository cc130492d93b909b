/* How a figure reads the names of processes and lanes: "pool 0 decode 3" is number 3 of the family
 * "pool 0 decode", "kv_pull 2" of the kind "kv_pull", "stage 0 (tp 4)" has the remark "(tp 4)". */
#ifndef ANALYSIS_GANTT_NAMES_H
#define ANALYSIS_GANTT_NAMES_H

#include <glib.h>

char *gantt_name_family(const char *process); /* without its number; caller frees, as of all */
/* What stands before its first number, as "stage" of "stage 0 rank 1"; "" if it has none. */
char *gantt_name_kind(const char *lane);
const char *gantt_name_remark(const char *lane); /* within 'lane'; "" if there is none */
/* Whether lanes are named after what runs on them, and their number says only that it overlaps. */
gboolean gantt_name_is_traffic(const char *kind);
gsize gantt_name_pool(const char *family); /* the length of "pool 0 " in front, or 0 */
/* Of a group; kind and remark may be "". */
char *gantt_name_heading(const char *family, const char *kind, const char *remark);
/* Of a lane, in a group of so many processes, with several lanes of each or one. */
char *gantt_name_label(const char *process, const char *lane, guint n_processes, gboolean several);

#endif
