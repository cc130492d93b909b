#include "analysis/output/csv_text.h"

#include "analysis/output/number_text.h"
#include <math.h>
#include <string.h>

void csv_text_cell(GString *out, const char *text) {
    if (strpbrk(text, ",\"\r\n") == NULL) {
        g_string_append(out, text);
        return;
    }
    g_auto(GStrv) parts = g_strsplit(text, "\"", -1);
    g_autofree char *escaped = g_strjoinv("\"\"", parts);
    g_string_append_printf(out, "\"%s\"", escaped);
}

void csv_text_number(GString *out, double value) {
    char text[NUMBER_TEXT_MAX];

    if (isfinite(value))
        g_string_append_len(out, text, number_text_shortest(text, value) - text);
}
