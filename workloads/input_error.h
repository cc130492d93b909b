/* Errors about what a user typed or handed in: files, options, traces. Every message begins with
 * the place ("file:line:column: " or "--set path: "), is in lower case, and ends without a full
 * stop. A command that meets one exits with 2 and leaves nothing written. */
#ifndef WORKLOADS_INPUT_ERROR_H
#define WORKLOADS_INPUT_ERROR_H

#include <glib.h>

#define INPUT_ERROR (input_error_quark())
GQuark input_error_quark(void);

typedef enum {
    INPUT_ERROR_SYNTAX,    /* the text is not YAML, JSON or CSV */
    INPUT_ERROR_UNKNOWN,   /* a key, name or format that does not exist */
    INPUT_ERROR_VALUE,     /* a value of the wrong type, unit or range */
    INPUT_ERROR_MISSING,   /* a required key, column or file is absent */
    INPUT_ERROR_DUPLICATE, /* something stands twice */
    INPUT_ERROR_CONFLICT,  /* values that are each right but do not go together */
} InputErrorCode;

/* The candidate nearest to 'word' at an edit distance of at most 2 (and less than the word's own
 * length), or NULL. Ties go to the earlier candidate. Borrowed from 'candidates'. */
const char *near_miss(const char *word, const char *const *candidates, gsize n_candidates);

/* " (did you mean 'x'?)" for the near miss, or "". Caller frees. */
char *near_miss_hint(const char *word, const char *const *candidates, gsize n_candidates);

#endif
