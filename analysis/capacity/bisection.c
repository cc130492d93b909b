#include "analysis/capacity/bisection.h"

#define PLACES_CHECKED 3 /* before the first that holds */

typedef enum { ASKED_NOT, ASKED_FAILS, ASKED_HOLDS } Answer;

typedef struct Search {
    const Bisection *bisection;
    guint8 *answers; /* Answer, of each place */
    guint asked;
    GError **error;
} Search;

static gboolean ask(Search *search, gsize place, gboolean *holds) {
    const Bisection *bisection = search->bisection;

    if (search->answers[place] == ASKED_NOT) {
        if (!bisection->probe(bisection->data, place, holds, search->error))
            return FALSE;
        search->answers[place] = *holds ? ASKED_HOLDS : ASKED_FAILS;
        search->asked++;
    }
    *holds = search->answers[place] == ASKED_HOLDS;
    return TRUE;
}

/* Below 'high', which holds, down to a place that fails: 'low' is behind it, or 0. */
static gboolean double_down(Search *search, gsize *low, gsize *high) {
    for (gsize step = 1; *high > 0; step *= 2) {
        gsize place = *high > step ? *high - step : 0;
        gboolean holds;
        if (!ask(search, place, &holds))
            return FALSE;
        if (!holds) {
            *low = place + 1;
            return TRUE;
        }
        *high = place;
    }
    *low = 0;
    return TRUE;
}

/* Above 'low', which fails, up to a place that holds: 'high'; NO_PLACE: the last one fails too. */
static gboolean double_up(Search *search, gsize *low, gsize *high) {
    gsize last = search->bisection->n - 1, from = *low;

    for (gsize step = 1; *low < last; step *= 2) {
        gsize place = last - *low > step ? *low + step : last;
        gboolean holds;
        if (!ask(search, place, &holds))
            return FALSE;
        if (holds) {
            *low = from + 1;
            *high = place;
            return TRUE;
        }
        from = *low = place;
    }
    *high = NO_PLACE;
    return TRUE;
}

/* The first place that holds from 'low' to 'high', which does. */
static gboolean halve(Search *search, gsize low, gsize *high) {
    while (low < *high) {
        gsize middle = low + (*high - low) / 2;
        gboolean holds;
        if (!ask(search, middle, &holds))
            return FALSE;
        if (holds)
            *high = middle;
        else
            low = middle + 1;
    }
    return TRUE;
}

/* Asks the places right before '*first', which holds. Where one of them, or any other that was
 * asked, holds too, '*first' becomes the first of those. */
static gboolean check_before(Search *search, gsize *first) {
    gsize from = *first;

    for (gsize i = 1; i <= MIN(PLACES_CHECKED, from); i++) {
        gboolean holds;
        if (!ask(search, from - i, &holds))
            return FALSE;
    }
    for (gsize place = from; place-- > 0;)
        if (search->answers[place] == ASKED_HOLDS)
            *first = place;
    return TRUE;
}

static gboolean check_behind(Search *search, gsize first, BisectionResult *result) {
    gsize n = search->bisection->n;
    gboolean holds;

    if (first + 1 < n && !ask(search, first + 1, &holds))
        return FALSE;
    result->exception = NO_PLACE;
    for (gsize place = n; place-- > first + 1;)
        if (search->answers[place] == ASKED_FAILS)
            result->exception = place;
    return TRUE;
}

static gboolean any_fails_before(const Search *search, gsize first) {
    for (gsize place = 0; place < first; place++)
        if (search->answers[place] == ASKED_FAILS)
            return TRUE;
    return FALSE;
}

/* Between the last place that fails before '*first' and that. */
static gboolean scan_gap(Search *search, gsize *first) {
    gsize place = 0, end = *first;
    gboolean holds = FALSE;

    if (!any_fails_before(search, end) && !double_down(search, &place, first))
        return FALSE;
    for (place = end = *first; place > 0 && search->answers[place - 1] != ASKED_FAILS;)
        place--;
    for (; place < end && !holds; place++) {
        if (!ask(search, place, &holds))
            return FALSE;
        if (holds)
            *first = place;
    }
    return TRUE;
}

/* Goes on downwards until three places that fail lie before the first that holds. */
static gboolean settle(Search *search, gsize first, BisectionResult *result) {
    gsize before = first;

    if (!check_before(search, &first))
        return FALSE;
    while (first < before) {
        result->scanned = TRUE;
        if (!scan_gap(search, &first))
            return FALSE;
        before = first;
        if (!check_before(search, &first))
            return FALSE;
    }
    result->first = first;
    return check_behind(search, first, result);
}

/* Nothing held so far: some more places from the end downwards, before that is believed. */
static gboolean check_none(Search *search, BisectionResult *result) {
    gsize last = search->bisection->n - 1, place = last;
    gboolean any = FALSE;

    for (gsize gap = 1; gap <= last && !any; gap *= 2) {
        place = last - gap;
        if (!ask(search, place, &any))
            return FALSE;
    }
    result->scanned = any;
    return !any || settle(search, place, result);
}

static gboolean find(Search *search, BisectionResult *result) {
    gsize low = search->bisection->start, high = low;
    gboolean holds;

    if (!ask(search, low, &holds) ||
        !(holds ? double_down(search, &low, &high) : double_up(search, &low, &high)))
        return FALSE;
    if (high == NO_PLACE)
        return check_none(search, result);
    return halve(search, low, &high) && settle(search, high, result);
}

gboolean bisection_run(const Bisection *bisection, BisectionResult *result, GError **error) {
    g_autofree guint8 *answers = g_new0(guint8, bisection->n);
    Search search = {bisection, answers, 0, error};

    *result = (BisectionResult){.first = NO_PLACE, .exception = NO_PLACE};
    gboolean done = find(&search, result);
    result->asked = search.asked;
    return done;
}
