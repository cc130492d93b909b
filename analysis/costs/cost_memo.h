/* Tables of operator costs, and the units that operators run in, kept between the runs of many
 * plans, so that each is read or made once. A process fills it, its forked children inherit it and
 * hand back what they had to add. */
#ifndef ANALYSIS_COST_MEMO_H
#define ANALYSIS_COST_MEMO_H

#include "platforms/op_costs.h"
#include "policies/fusion_units.h"

typedef struct CostMemo CostMemo;
CostMemo *cost_memo_new(void);
void cost_memo_free(CostMemo *memo);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CostMemo, cost_memo_free)

/* A copy of the table of that operator on clusters as the platform's, or NULL. Caller frees. */
OpCostTable *cost_memo_get(const CostMemo *memo, const Platform *platform, const OpCostKey *key);
/* Keeps a copy; one that is there already stays. 'identity' is what its text begins with. */
void cost_memo_put(CostMemo *memo, const Platform *platform, const OpCostTable *table,
                   const char *identity);

/* What fusion_units_new gives, made where it is not known yet. 'memo' may be NULL: nothing is kept.
 * Caller frees; borrows the model as that does. */
ModelUnits *cost_memo_units(CostMemo *memo, const FusionUnitsInput *input);

/* In a forked child: from here on, what is put counts as new, and tables are made one at a time,
 * since the child's siblings have the other processors. */
void cost_memo_inherit(CostMemo *memo);
/* How many tables may be made at a time; 0: as many as there are processors. */
guint cost_memo_at_once(const CostMemo *memo);
/* Appends all that is new to 'reply'; and takes it from 'reply' at 'at' on. FALSE where that is
 * damaged. */
void cost_memo_reply(const CostMemo *memo, GByteArray *reply);
gboolean cost_memo_take(CostMemo *memo, const GByteArray *reply, gsize at);

#endif
