/* One order for the keys of several files that have most of them in common. */
#ifndef ANALYSIS_KEY_ORDER_H
#define ANALYSIS_KEY_ORDER_H

#include <glib.h>

/* Puts those of 'keys' (char *, each once) that 'order' lacks into it, each behind the key that it
 * follows in 'keys'. Texts are borrowed. */
void key_order_merge(GPtrArray *order, const GPtrArray *keys);

#endif
