#include "workloads/units.h"

#include <math.h>
#include <string.h>

/* A unit is worth 10^exponent · multiplier / divisor of its dimension's SI unit. The power of ten
 * goes into the number's own exponent before it is read, so that "84 us" is the double nearest to
 * 84e-6, not the product of two rounded ones. */
typedef enum {
    USE_READ = 0,  /* understood, never printed */
    USE_EXACT = 1, /* printed by units_format */
    USE_BRIEF = 2, /* printed by units_format_brief */
    USE_BOTH = 3,
} UnitUse;

typedef struct Unit {
    const char *name;
    Dimension dimension;
    UnitUse use;
    int exponent;
    double multiplier, divisor;
    double brief_from; /* SI value from which the brief form takes this unit; 0: from one of it */
} Unit;

#define DECIMAL(name, dimension, exponent)                                                         \
    { name, dimension, USE_BOTH, exponent, 1, 1, 0 }
#define BINARY(name, dimension, bits)                                                              \
    { name, dimension, USE_EXACT, 0, (double)(G_GUINT64_CONSTANT(1) << (bits)), 1, 0 }
#define BITS(name, exponent)                                                                       \
    { name, DIMENSION_BYTES_PER_S, USE_READ, exponent, 1, 8, 0 }

/* By dimension, from the smallest unit to the largest; the SI unit itself is always among them. */
static const Unit units[] = {
    {"", DIMENSION_NONE, USE_BOTH, 0, 1, 1, 0},
    {"%", DIMENSION_NONE, USE_READ, -2, 1, 1, 0},
    {"", DIMENSION_COUNT, USE_BOTH, 0, 1, 1, 0},
    DECIMAL("ns", DIMENSION_SECONDS, -9),
    DECIMAL("us", DIMENSION_SECONDS, -6),
    DECIMAL("ms", DIMENSION_SECONDS, -3),
    DECIMAL("s", DIMENSION_SECONDS, 0),
    {"min", DIMENSION_SECONDS, USE_EXACT, 0, 60, 1, 0},
    {"h", DIMENSION_SECONDS, USE_BOTH, 0, 3600, 1, 1e4},
    {"d", DIMENSION_SECONDS, USE_BOTH, 0, 86400, 1, 864000},
    DECIMAL("B", DIMENSION_BYTES, 0),
    DECIMAL("kB", DIMENSION_BYTES, 3),
    BINARY("KiB", DIMENSION_BYTES, 10),
    DECIMAL("MB", DIMENSION_BYTES, 6),
    BINARY("MiB", DIMENSION_BYTES, 20),
    DECIMAL("GB", DIMENSION_BYTES, 9),
    BINARY("GiB", DIMENSION_BYTES, 30),
    DECIMAL("TB", DIMENSION_BYTES, 12),
    BINARY("TiB", DIMENSION_BYTES, 40),
    DECIMAL("PB", DIMENSION_BYTES, 15),
    BITS("b/s", 0),
    BITS("kb/s", 3),
    BITS("Mb/s", 6),
    BITS("Gb/s", 9),
    BITS("Tb/s", 12),
    DECIMAL("B/s", DIMENSION_BYTES_PER_S, 0),
    DECIMAL("kB/s", DIMENSION_BYTES_PER_S, 3),
    BINARY("KiB/s", DIMENSION_BYTES_PER_S, 10),
    DECIMAL("MB/s", DIMENSION_BYTES_PER_S, 6),
    BINARY("MiB/s", DIMENSION_BYTES_PER_S, 20),
    DECIMAL("GB/s", DIMENSION_BYTES_PER_S, 9),
    BINARY("GiB/s", DIMENSION_BYTES_PER_S, 30),
    DECIMAL("TB/s", DIMENSION_BYTES_PER_S, 12),
    BINARY("TiB/s", DIMENSION_BYTES_PER_S, 40),
    DECIMAL("PB/s", DIMENSION_BYTES_PER_S, 15),
    {"/min", DIMENSION_HERTZ, USE_READ, 0, 1, 60, 0},
    {"Hz", DIMENSION_HERTZ, USE_READ, 0, 1, 1, 0},
    {"kHz", DIMENSION_HERTZ, USE_READ, 3, 1, 1, 0},
    DECIMAL("/s", DIMENSION_HERTZ, 0),
    DECIMAL("MHz", DIMENSION_HERTZ, 6),
    DECIMAL("GHz", DIMENSION_HERTZ, 9),
    DECIMAL("MAC/s", DIMENSION_MACS_PER_S, 0),
    DECIMAL("kMAC/s", DIMENSION_MACS_PER_S, 3),
    DECIMAL("MMAC/s", DIMENSION_MACS_PER_S, 6),
    DECIMAL("GMAC/s", DIMENSION_MACS_PER_S, 9),
    DECIMAL("TMAC/s", DIMENSION_MACS_PER_S, 12),
    DECIMAL("PMAC/s", DIMENSION_MACS_PER_S, 15),
    DECIMAL("FLOP/s", DIMENSION_FLOPS_PER_S, 0),
    DECIMAL("kFLOP/s", DIMENSION_FLOPS_PER_S, 3),
    DECIMAL("MFLOP/s", DIMENSION_FLOPS_PER_S, 6),
    DECIMAL("GFLOP/s", DIMENSION_FLOPS_PER_S, 9),
    DECIMAL("TFLOP/s", DIMENSION_FLOPS_PER_S, 12),
    DECIMAL("PFLOP/s", DIMENSION_FLOPS_PER_S, 15),
    DECIMAL("mW", DIMENSION_WATTS, -3),
    DECIMAL("W", DIMENSION_WATTS, 0),
    DECIMAL("kW", DIMENSION_WATTS, 3),
    DECIMAL("MW", DIMENSION_WATTS, 6),
    DECIMAL("pJ/B", DIMENSION_JOULES_PER_BYTE, -12),
    DECIMAL("nJ/B", DIMENSION_JOULES_PER_BYTE, -9),
    DECIMAL("uJ/B", DIMENSION_JOULES_PER_BYTE, -6),
    DECIMAL("J/B", DIMENSION_JOULES_PER_BYTE, 0),
};

static const char *const expectations[] = {
    [DIMENSION_NONE] = "a number",
    [DIMENSION_COUNT] = "a whole number",
    [DIMENSION_SECONDS] = "a duration such as '2 ms'",
    [DIMENSION_BYTES] = "a size such as '16 GiB'",
    [DIMENSION_BYTES_PER_S] = "a bandwidth such as '30 GB/s'",
    [DIMENSION_HERTZ] = "a rate such as '8 /s' or '1.8 GHz'",
    [DIMENSION_MACS_PER_S] = "a speed such as '4 TMAC/s'",
    [DIMENSION_FLOPS_PER_S] = "a speed such as '8 TFLOP/s'",
    [DIMENSION_WATTS] = "a power such as '90 W'",
    [DIMENSION_JOULES_PER_BYTE] = "an energy such as '20 pJ/B'",
};

#define MAX_COUNT (G_GUINT64_CONSTANT(1) << 53) /* every whole number up to here is a double */
#define MAX_EXPONENT 100000                     /* far beyond any double; keeps the sum an int */
#define MAX_DIGITS 17                           /* significant digits that tell doubles apart */

static const char *skip_digits(const char *text) {
    while (g_ascii_isdigit(*text))
        text++;
    return text;
}

/* Splits "-1.5e3 GB" into its mantissa's end, its exponent and the rest. NULL: not a number. */
static const char *scan_number(const char *text, const char **mantissa_end, int *exponent) {
    const char *start = text + (*text == '-' || *text == '+');
    const char *end = skip_digits(start);
    gboolean has_digits = end > start;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        has_digits = has_digits || end > fraction;
    }
    if (!has_digits)
        return NULL;
    *mantissa_end = end;
    *exponent = 0;
    if (*end != 'e' && *end != 'E')
        return end;
    const char *digits = end + 1 + (end[1] == '-' || end[1] == '+');
    if (!g_ascii_isdigit(*digits))
        return end;
    gint64 power = g_ascii_strtoll(end + 1, NULL, 10);
    *exponent = (int)CLAMP(power, -MAX_EXPONENT, MAX_EXPONENT);
    return skip_digits(digits);
}

static const Unit *find_unit(const char *name, Dimension dimension) {
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
        if (units[i].dimension == dimension && strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

static const char *parse_count(const char *text, double *value) {
    const char *digits = text + (*text == '-');
    if (*digits == '\0' || *skip_digits(digits) != '\0')
        return expectations[DIMENSION_COUNT];
    guint64 count = g_ascii_strtoull(digits, NULL, 10); /* saturates */
    if (count > MAX_COUNT)
        return "a whole number up to 9007199254740992";
    *value = *text == '-' && count > 0 ? -(double)count : (double)count;
    return NULL;
}

const char *units_parse(const char *text, Dimension dimension, double *value) {
    if (dimension == DIMENSION_COUNT)
        return parse_count(text, value);
    const char *mantissa_end;
    int exponent;
    const char *rest = scan_number(text, &mantissa_end, &exponent);
    if (rest == NULL)
        return expectations[dimension];
    const char *name = rest;
    while (*name == ' ' || *name == '\t')
        name++;
    const Unit *unit = find_unit(name, dimension);
    if (unit == NULL || (*name == '\0' && name != rest))
        return expectations[dimension];
    g_autofree char *number =
        g_strdup_printf("%.*se%d", (int)(mantissa_end - text), text, exponent + unit->exponent);
    double result = g_ascii_strtod(number, NULL) * unit->multiplier / unit->divisor;
    if (!isfinite(result))
        return expectations[dimension];
    *value = result;
    return NULL;
}

static double in_unit(double value, const Unit *unit) {
    double scaled = value * unit->divisor / unit->multiplier;
    return unit->exponent >= 0 ? scaled / pow(10, unit->exponent)
                               : scaled * pow(10, -unit->exponent);
}

/* Of 1 us, the nearest double holds a hair less than one microsecond. */
static gboolean holds_one(double value, const Unit *unit) {
    return fabs(in_unit(value, unit)) >= 1 - 1e-15;
}

static char *join_unit(const char *number, const Unit *unit) {
    return unit->name[0] == '\0' ? g_strdup(number) : g_strdup_printf("%s %s", number, unit->name);
}

/* 'digits' significant digits, as a plain decimal unless that would be long. */
static char *write_number(double number, int digits) {
    char text[64], format[16];
    g_snprintf(format, sizeof format, "%%.%de", digits - 1);
    g_ascii_formatd(text, sizeof text, format, number);
    const char *power = strchr(text, 'e');
    int magnitude = power != NULL ? (int)g_ascii_strtoll(power + 1, NULL, 10) : 0;
    if (magnitude >= -5 && magnitude <= 15) {
        g_snprintf(format, sizeof format, "%%.%df", MAX(0, digits - 1 - magnitude));
        g_ascii_formatd(text, sizeof text, format, number);
    }
    return g_strdup(text);
}

/* The fewest digits in 'unit' that read back to the same bits, or NULL when none do. */
static char *write_exact(double value, const Unit *unit) {
    double scaled = in_unit(value, unit);
    for (int digits = 1; digits <= MAX_DIGITS; digits++) {
        g_autofree char *number = write_number(scaled, digits);
        g_autofree char *text = join_unit(number, unit);
        double read = 0;
        if (units_parse(text, unit->dimension, &read) == NULL && read == value &&
            signbit(read) == signbit(value))
            return g_steal_pointer(&text);
    }
    return NULL;
}

static gboolean is_base(const Unit *unit) {
    return unit->exponent == 0 && unit->multiplier == 1 && unit->divisor == 1;
}

/* Units of which the value holds at least one, the SI unit, and the smallest one. */
static gboolean is_candidate(const Unit *unit, double value, Dimension dimension) {
    if (unit->dimension != dimension || !(unit->use & USE_EXACT))
        return FALSE;
    gboolean is_smallest = unit == units || unit[-1].dimension != dimension;
    return is_smallest || is_base(unit) || holds_one(value, unit);
}

char *units_format(double value, Dimension dimension) {
    char plain[64];
    char *shortest = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        if (!is_candidate(&units[i], value, dimension))
            continue;
        g_autofree char *text = write_exact(value, &units[i]);
        if (text == NULL || (shortest != NULL && strlen(text) > strlen(shortest)))
            continue;
        g_free(shortest);
        shortest = g_steal_pointer(&text);
    }
    if (shortest != NULL)
        return shortest;
    g_ascii_formatd(plain, sizeof plain, "%.17g", value); /* not finite, or not a count */
    return g_strdup(plain);
}

/* Four significant digits, without zeros at the end of a fraction. */
static char *write_brief(double number) {
    char text[64];
    double magnitude = fabs(number);
    if (magnitude < 1e4 || magnitude >= 1e15)
        g_ascii_formatd(text, sizeof text, "%.4g", number);
    else {
        double step = pow(10, floor(log10(magnitude)) - 3);
        g_snprintf(text, sizeof text, "%.0f", round(number / step) * step);
    }
    return g_strdup(text);
}

char *units_format_brief(double value, Dimension dimension) {
    char rounded[32];
    if (dimension == DIMENSION_COUNT)
        return g_strdup_printf("%.0f", value);
    g_ascii_formatd(rounded, sizeof rounded, "%.3e", value);
    double shown = fabs(g_ascii_strtod(rounded, NULL)); /* 999.96 is shown as 1000 */
    const Unit *chosen = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        const Unit *unit = &units[i];
        if (unit->dimension != dimension || !(unit->use & USE_BRIEF))
            continue;
        gboolean fits = unit->brief_from > 0 ? shown >= unit->brief_from : holds_one(shown, unit);
        if (chosen == NULL || fits || (shown == 0 && is_base(unit)))
            chosen = unit;
    }
    g_autofree char *number = write_brief(in_unit(value, chosen));
    return join_unit(number, chosen);
}
