#include "workloads/traces/trace_values.h"

#include <math.h>
#include <string.h>

/* A text being read from the left. */
typedef struct Cursor {
    const char *at, *end;
} Cursor;

gboolean trace_value_count(const char *text, gsize length, guint64 max, guint64 *value) {
    guint64 sum = 0;
    for (gsize i = 0; i < length; i++) {
        if (!g_ascii_isdigit(text[i]))
            return FALSE;
        guint64 digit = (guint64)(text[i] - '0');
        if (digit > max || sum > (max - digit) / 10)
            return FALSE;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return length > 0;
}

/* Decimals of at most 15 digits: both the digits and the power of ten are exact doubles, so that
 * one division rounds correctly (Clinger 1990, "How to read floating point numbers accurately").
 * FALSE where the text is of another form. */
static gboolean short_decimal(const char *text, gsize length, double *value) {
    if (length == 0 || length > 16 || !g_ascii_isdigit(text[0]))
        return FALSE;
    guint64 digits = 0;
    double scale = 1;
    gsize point = length;
    for (gsize i = 0; i < length; i++) {
        if (text[i] == '.' && point == length) {
            point = i;
            continue;
        }
        if (!g_ascii_isdigit(text[i]))
            return FALSE;
        digits = digits * 10 + (guint64)(text[i] - '0');
        if (i > point)
            scale *= 10;
    }
    if (length - (point < length) > 15)
        return FALSE;
    *value = (double)digits / scale;
    return TRUE;
}

gboolean trace_value_decimal(const char *text, gsize length, double *value) {
    if (short_decimal(text, length, value))
        return TRUE;
    if (length == 0 || !g_ascii_isdigit(text[0]) || strspn(text, "0123456789.eE+-") != length)
        return FALSE;
    char *end = NULL;
    *value = g_ascii_strtod(text, &end);
    return end == text + length && isfinite(*value);
}

static gboolean take(Cursor *cursor, char c) {
    if (cursor->at == cursor->end || *cursor->at != c)
        return FALSE;
    cursor->at++;
    return TRUE;
}

/* Exactly 'n' digits, their value within [min, max]. */
static gboolean take_number(Cursor *cursor, guint n, const int bounds[2], int *value) {
    *value = 0;
    for (guint i = 0; i < n; i++) {
        if (cursor->at == cursor->end || !g_ascii_isdigit(*cursor->at))
            return FALSE;
        *value = *value * 10 + (*cursor->at++ - '0');
    }
    return *value >= bounds[0] && *value <= bounds[1];
}

static gboolean take_date(Cursor *cursor, gint64 *days) {
    int year, month, day;
    if (!take_number(cursor, 4, (const int[]){1, 9999}, &year) || !take(cursor, '-') ||
        !take_number(cursor, 2, (const int[]){1, 12}, &month) || !take(cursor, '-') ||
        !take_number(cursor, 2, (const int[]){1, 31}, &day) ||
        !g_date_valid_dmy((GDateDay)day, (GDateMonth)month, (GDateYear)year))
        return FALSE;
    GDate date;
    g_date_clear(&date, 1);
    g_date_set_dmy(&date, (GDateDay)day, (GDateMonth)month, (GDateYear)year);
    *days = g_date_get_julian(&date);
    return TRUE;
}

static gboolean take_clock(Cursor *cursor, gint64 *seconds) {
    int hours, minutes, rest;
    if (!take_number(cursor, 2, (const int[]){0, 23}, &hours) || !take(cursor, ':') ||
        !take_number(cursor, 2, (const int[]){0, 59}, &minutes) || !take(cursor, ':') ||
        !take_number(cursor, 2, (const int[]){0, 59}, &rest))
        return FALSE;
    *seconds = (hours * 60 + minutes) * 60 + rest;
    return TRUE;
}

/* ".6805900" in ticks; absent is 0. */
static gboolean take_fraction(Cursor *cursor, gint64 *ticks) {
    *ticks = 0;
    if (!take(cursor, '.'))
        return TRUE;
    gint64 unit = TICKS_PER_S;
    while (cursor->at < cursor->end && g_ascii_isdigit(*cursor->at)) {
        unit /= 10;
        *ticks += unit * (*cursor->at++ - '0');
        if (unit == 0)
            return FALSE;
    }
    return unit < TICKS_PER_S;
}

/* "Z", "+00:00" or nothing. */
static gboolean take_offset(Cursor *cursor, gint64 *seconds) {
    *seconds = 0;
    if (cursor->at == cursor->end || take(cursor, 'Z'))
        return TRUE;
    int sign = take(cursor, '-') ? -1 : 1;
    if (sign > 0 && !take(cursor, '+'))
        return FALSE;
    int hours, minutes;
    if (!take_number(cursor, 2, (const int[]){0, 23}, &hours) || !take(cursor, ':') ||
        !take_number(cursor, 2, (const int[]){0, 59}, &minutes))
        return FALSE;
    *seconds = (gint64)sign * (hours * 60 + minutes) * 60;
    return TRUE;
}

gboolean trace_value_timestamp(const char *text, gsize length, gint64 *ticks) {
    Cursor cursor = {text, text + length};
    gint64 days, clock, fraction, offset;
    if (!take_date(&cursor, &days) || !(take(&cursor, ' ') || take(&cursor, 'T')) ||
        !take_clock(&cursor, &clock) || !take_fraction(&cursor, &fraction) ||
        !take_offset(&cursor, &offset) || cursor.at != cursor.end)
        return FALSE;
    *ticks = (days * 86400 + clock - offset) * TICKS_PER_S + fraction;
    return TRUE;
}
