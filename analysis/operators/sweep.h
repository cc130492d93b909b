/* Sizes on the command line: each may be a list, and a sweep is the product of all lists. A spec is
 * a struct of any type; the lists' values are put into copies of it. */
#ifndef ANALYSIS_SWEEP_H
#define ANALYSIS_SWEEP_H

#include "workloads/units.h"

/* A size of an operator. Texts are static. */
typedef struct SizeOption {
    const char *shown;    /* "-M" */
    guint kinds;          /* of operators that have it, a bit each */
    gsize option;         /* where its text is, a char * in the command's struct */
    gsize target;         /* and its value, a guint64 in the spec */
    const char *fallback; /* NULL: must be given; SIZE_LEFT_OPEN: the spec keeps what it has */
    guint64 min, max;     /* max 0: none */
    Dimension dimension;
} SizeOption;
#define SIZE_LEFT_OPEN ""

typedef struct SizeTable {
    const char *who;  /* "infergrid operator", ahead of messages */
    const char *name; /* "gemm", of what the sizes are */
    const SizeOption *sizes;
    gsize n_sizes;
    gconstpointer options; /* the command's struct */
} SizeTable;

/* The text or the flag at an offset of a command's struct. Borrowed. */
const char *sweep_text_at(gconstpointer options, gsize offset);
gboolean sweep_flag_at(gconstpointer options, gsize offset);

/* One value, checked against its bounds. */
gboolean sweep_size_parse(const SizeOption *size, const char *text, guint64 *value, GError **error);
/* The index of 'word' in a NULL-terminated list; −1 and an error that names the option, what it
 * chooses, the near miss and all there are. */
int sweep_choose(const char *option, const char *what, const char *word, const char *const *names,
                 GError **error);
/* "tree,ring": an array of guint, the indices of the words. NULL on error. Caller unrefs. */
GArray *sweep_choices(const char *option, const char *what, const char *words,
                      const char *const *names, GError **error);

/* An array with a copy of every spec for each of the values, put at 'target'; values change faster
 * than specs. Takes 'specs' over; NULL and an error when there would be too many. */
GArray *sweep_multiply(GArray *specs, gsize target, const GArray *values, const char *who,
                       GError **error);
/* The product of the specs with the lists of all sizes that belong to any of 'kinds'; the later a
 * size in the table, the faster it changes. Takes 'specs' over. */
GArray *sweep_expand(GArray *specs, const SizeTable *table, guint kinds, GError **error);

#endif
