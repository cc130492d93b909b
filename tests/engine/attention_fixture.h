/* What the tests of attention share. */
#ifndef TESTS_ENGINE_ATTENTION_FIXTURE_H
#define TESTS_ENGINE_ATTENTION_FIXTURE_H

#include "actors/cluster/attention.h"

#define ATTENTION_VARIANTS 3
extern const char *const attention_names[ATTENTION_VARIANTS];

/* As table IX: as many KV heads as heads, batch 4, head dimension 128, FP16. */
AttentionShape attention_table_shape(AttentionVariant variant, guint64 heads, guint64 tokens);

/* "mt fp16 8/2 heads of 128, …". Caller frees. */
char *attention_shape_text(const AttentionShape *shape);

/* Runs it on the cluster, from within an actor; fails the test when it is refused. */
AttentionReport attention_run_well(Cluster *cluster, const AttentionShape *shape,
                                   AttentionGrain grain);

/* |a − b| ≤ relative · max(|a|, |b|). */
gboolean attention_close(double a, double b, double relative);

#endif
