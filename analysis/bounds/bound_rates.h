/* Private to plan_bound: what a model's parts take on so many ranks, remembered across plans. Times
 * are those of StepCost, taken apart, so that a stage of any plan can be put together again. */
#ifndef ANALYSIS_BOUND_RATES_H
#define ANALYSIS_BOUND_RATES_H

#include "platforms/device.h"

/* Steps of more rows are not looked at one by one. */
#define BOUND_ROWS_MAX 8192

typedef struct BoundRates BoundRates;
BoundRates *bound_rates_new(void);
void bound_rates_free(BoundRates *rates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BoundRates, bound_rates_free)

/* What is known of 'tp' ranks with operators made as 'device' has them; always of the same model.
 * Borrows model and device until the next call for the same ranks: the device's tables must cover
 * what is asked. */
typedef struct TpRates TpRates;
TpRates *bound_rates_of(BoundRates *rates, const DeviceModel *device, const Model *model, guint tp);

/* Seconds of a layer without attention, of the embedding, and of the head, for so many rows. */
double tp_rates_layer(TpRates *rates, guint32 rows);
double tp_rates_embedding(TpRates *rates, guint32 rows);
double tp_rates_head(TpRates *rates, guint32 rows);
/* The least seconds a row of a layer and of the embedding (taken by itself) in steps of 1 … 'rows'
 * rows; 0, which is no more than the truth, beyond BOUND_ROWS_MAX. */
double tp_rates_least_layer(TpRates *rates, guint64 rows);
double tp_rates_least_embedding(TpRates *rates, guint64 rows);
/* … of a layer's attention: a whole prompt, and the new tokens of an answer, each over prompt + 1
 * … prompt + output − 1 tokens. */
double tp_rates_prompt_attention(TpRates *rates, guint32 prompt);
double tp_rates_answer_attention(TpRates *rates, guint32 prompt, guint32 output);
/* … of one new token over 'from' + 1 … 'to' − 1 tokens, the least. */
double tp_rates_least_answer_attention(TpRates *rates, guint32 from, guint32 to);

#endif
