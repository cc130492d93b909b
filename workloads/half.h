/* IEEE binary16, the type in which weights are kept. */
#ifndef WORKLOADS_HALF_H
#define WORKLOADS_HALF_H

#include <glib.h>

#define HALF_MAX 65504.0

/* The nearest half, ties to even; values from 65520 on become infinite. */
guint16 half_from_float(float value);
/* Neither infinite nor not a number. */
gboolean half_is_finite(guint16 half);

#endif
