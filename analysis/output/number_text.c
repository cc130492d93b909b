#include "analysis/output/number_text.h"

#include "analysis/output/text_file.h"
#include <math.h>
#include <string.h>

#define NANOS_PER_S 1000000000ULL

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

/* Two digits; 'pair' is below 100. */
static char *put_pair(char *out, guint64 pair) {
    memcpy(out, digit_pairs + 2 * pair, 2);
    return out + 2;
}

char *number_text_count(char *out, guint64 value) {
    char digits[20];
    guint place = sizeof digits;
    while (value >= 100) {
        place -= 2;
        put_pair(digits + place, value % 100);
        value /= 100;
    }
    if (value >= 10) {
        place -= 2;
        put_pair(digits + place, value);
    } else {
        digits[--place] = (char)('0' + value);
    }
    memcpy(out, digits + place, sizeof digits - place);
    return out + sizeof digits - place;
}

/* Exactly 'n' digits, leading zeros included. */
static char *put_padded(char *out, guint32 value, guint n) {
    for (guint place = n; place > 0; place--) {
        out[place - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    return out + n;
}

/* The fraction of a second (0 ≤ fraction < 1) in nanoseconds, rounded to even. A double is
 * mantissa · 2^−shift; mantissa · 10^9 < 2^83 fits 128 bits, so the rounding sees every bit. */
static guint64 fraction_nanos(double fraction) {
    guint64 bits;
    memcpy(&bits, &fraction, sizeof bits);
    guint exponent = (guint)(bits >> 52) & 0x7ff;
    if (exponent < 1075 - 84) /* below 2^−31 s: less than half a nanosecond */
        return 0;
    guint shift = 1075 - exponent;
    guint64 mantissa = (bits & ((G_GUINT64_CONSTANT(1) << 52) - 1)) | G_GUINT64_CONSTANT(1) << 52;
    unsigned __int128 product = (unsigned __int128)mantissa * NANOS_PER_S;
    unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
    guint64 nanos = (guint64)(product >> shift);
    unsigned __int128 rest = product & (half + half - 1);
    if (rest > half || (rest == half && nanos % 2 == 1))
        nanos++;
    return nanos;
}

/* Splits 'seconds' ≥ 0 into whole seconds and rounded nanoseconds. */
static guint64 split_seconds(double seconds, guint64 *nanos) {
    guint64 whole = (guint64)seconds;
    *nanos = fraction_nanos(seconds - (double)whole);
    if (*nanos == NANOS_PER_S) {
        *nanos = 0;
        whole++;
    }
    return whole;
}

char *number_text_seconds(char *out, double seconds) {
    g_assert(fabs(seconds) < 1e18);
    if (signbit(seconds)) {
        *out++ = '-';
        seconds = -seconds;
    }
    guint64 nanos;
    out = number_text_count(out, split_seconds(seconds, &nanos));
    *out++ = '.';
    out = put_pair(out, nanos / 10000000);
    out = put_pair(out, nanos / 100000 % 100);
    out = put_pair(out, nanos / 1000 % 100);
    out = put_pair(out, nanos / 10 % 100);
    *out = (char)('0' + nanos % 10);
    return out + 1;
}

gint64 number_ticks(gint64 nanoseconds) {
    __int128 scaled = (__int128)nanoseconds * 128 * 2; /* 1024 / 1000 = 128 / 125 */
    return (gint64)((scaled + (nanoseconds < 0 ? -125 : 125)) / 250);
}

char *number_text_micros(char *out, gint64 ticks) {
    guint64 magnitude = (guint64)ticks;
    if (ticks < 0) {
        *out++ = '-';
        magnitude = -magnitude;
    }
    out = number_text_count(out, magnitude / 1024);
    *out++ = '.';
    guint64 decimals = magnitude % 1024 * 9765625; /* ten of them */
    out = put_padded(out, (guint32)(decimals / 100000), 5);
    out = put_padded(out, (guint32)(decimals % 100000), 5);
    for (guint i = 0; i < 7 && out[-1] == '0'; i++)
        out--;
    return out;
}

char *number_text_shortest(char *out, double value) {
    const double exact_integers = 9007199254740992; /* 2^53 */
    if (!isfinite(value))
        return text_put(out, "null");
    if (value >= 0 && !signbit(value) && value < exact_integers && value == floor(value))
        return number_text_count(out, (guint64)value);
    static const char *const formats[] = {"%.15g", "%.16g", "%.17g"};
    char text[NUMBER_TEXT_MAX];
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_ascii_formatd(text, sizeof text, formats[i], value);
        if (g_ascii_strtod(text, NULL) == value)
            break;
    }
    return text_put(out, text);
}

gint64 number_nanoseconds(double seconds) {
    g_assert(fabs(seconds) < 9e9);
    guint64 nanos;
    guint64 whole = split_seconds(fabs(seconds), &nanos);
    gint64 total = (gint64)(whole * NANOS_PER_S + nanos);
    return seconds < 0 ? -total : total;
}
