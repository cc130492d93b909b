/* What stands at the head of a Pajé trace: definitions of events, types and values. */
#ifndef ANALYSIS_PAJE_HEAD_H
#define ANALYSIS_PAJE_HEAD_H

#include "analysis/output/text_file.h"

/* Numbers of the event definitions. */
typedef enum {
    PAJE_DEFINE_CONTAINER,
    PAJE_DEFINE_STATE,
    PAJE_DEFINE_VARIABLE,
    PAJE_DEFINE_LINK,
    PAJE_DEFINE_EVENT,
    PAJE_DEFINE_VALUE,
    PAJE_CREATE,
    PAJE_DESTROY,
    PAJE_PUSH,
    PAJE_POP,
    PAJE_SET,
    PAJE_LINK_START,
    PAJE_LINK_END,
    PAJE_MARK,
    N_PAJE_EVENTS
} PajeEvent;

/* Aliases of types and of the one container of the top. */
#define PAJE_STATE "S"
#define PAJE_FLOW "F"
#define PAJE_PHASE "P"
#define PAJE_MARKS "M"
#define PAJE_SYSTEM "system"

/* Definitions of events, types, the values of states (aliases "v0" …) and the variables of groups
 * ("c0" …); of both the names, char *, in order of their numbers. */
void paje_head_write(TextFile *file, const GPtrArray *values, const GPtrArray *variables);

/* Seconds with nine decimals of a date of at least 0. */
#define PAJE_DATE "%" G_GINT64_FORMAT ".%09" G_GINT64_FORMAT
#define PAJE_SECONDS(ns) (ns) / 1000000000, (ns) % 1000000000

#endif
