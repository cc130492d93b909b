/* Quantities: whatever is read must print as a text that reads back to the very same number. */
#include "workloads/units.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    g_autofree char *text = g_strndup((const char *)data, size);
    for (Dimension dimension = DIMENSION_NONE; dimension <= DIMENSION_JOULES_PER_BYTE;
         dimension++) {
        double value = 0, again = 0;
        if (units_parse(text, dimension, &value) != NULL) {
            continue;
        }
        g_autofree char *printed = units_format(value, dimension);
        g_autofree char *brief = units_format_brief(value, dimension);
        g_assert_null(units_parse(printed, dimension, &again));
        g_assert_cmpfloat(value, ==, again);
        g_assert_cmpuint(*brief, !=, '\0');
    }
    return 0;
}
