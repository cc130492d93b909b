#include "policies/mesh/tiles.h"

guint64 tile_begin(guint64 length, guint n, guint part) {
    g_assert(n > 0 && part <= n);
    return length * part / n;
}

guint64 tile_size(guint64 length, guint n, guint part) {
    g_assert(part < n);
    return tile_begin(length, n, part + 1) - tile_begin(length, n, part);
}

guint64 tile_largest(guint64 length, guint n) {
    g_assert(n > 0);
    return (length + n - 1) / n;
}

static guint greatest_common_divisor(guint a, guint b) {
    while (b != 0) {
        guint rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

guint tiles_a_side(guint columns, guint rows) {
    g_assert(columns > 0 && rows > 0);
    return columns / greatest_common_divisor(columns, rows) * rows;
}
