/* Where along a row of places something begins to hold: found by steps that double and then by
 * halving, and checked, since no simulation promises to be monotone. */
#ifndef ANALYSIS_BISECTION_H
#define ANALYSIS_BISECTION_H

#include <glib.h>

/* Whether it holds at 'place'. FALSE and an error ends the search. Never asked twice of a place. */
typedef gboolean (*BisectionProbe)(gpointer data, gsize place, gboolean *holds, GError **error);

typedef struct Bisection {
    gsize n;     /* places 0 … n − 1, at least 1 */
    gsize start; /* where it begins to look */
    BisectionProbe probe;
    gpointer data;
} Bisection;

#define NO_PLACE G_MAXSIZE

typedef struct BisectionResult {
    gsize first;      /* the first place that holds; NO_PLACE: none does */
    gboolean scanned; /* a check found one that holds before it, and the gap was scanned */
    gsize exception;  /* the nearest place behind 'first' that was asked and does not hold, or
                         NO_PLACE */
    guint asked;
} BisectionResult;

/* Where all places behind the first that holds do so too, that is 'first'. It is checked: the three
 * places before it and the one behind it are asked. Where one before holds, the gap below it is
 * scanned, and so on down. So whatever the row is, 'first' holds, and the three places before it
 * and all others before it that were asked fail. When no place is found to hold, some more are
 * asked before that is said. */
gboolean bisection_run(const Bisection *bisection, BisectionResult *result, GError **error);

#endif
