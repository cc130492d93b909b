#include "analysis/output/double_order.h"

gint double_order(gconstpointer a, gconstpointer b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}
