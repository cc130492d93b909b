#include "tests/engine/attention_fixture.h"

#include <math.h>

const char *const attention_names[] = {
    [ATTENTION_UNFUSED] = "unfused", [ATTENTION_FLASH] = "flash", [ATTENTION_MT] = "mt"};

AttentionShape attention_table_shape(AttentionVariant variant, guint64 heads, guint64 tokens) {
    return (AttentionShape){.heads = heads,
                            .kv_heads = heads,
                            .head_dim = 128,
                            .new_tokens = tokens,
                            .batch = 4,
                            .type = DATA_TYPE_FP16,
                            .variant = variant};
}

char *attention_shape_text(const AttentionShape *shape) {
    return g_strdup_printf("%s %s %d/%d heads of %d, %d new after %d, batch %d%s",
                           attention_names[shape->variant], data_type_name(shape->type),
                           (int)shape->heads, (int)shape->kv_heads, (int)shape->head_dim,
                           (int)shape->new_tokens, (int)shape->past_tokens, (int)shape->batch,
                           shape->causal ? ", causal" : "");
}

gboolean attention_close(double a, double b, double relative) {
    return fabs(a - b) <= relative * MAX(fabs(a), fabs(b));
}

AttentionReport attention_run_well(Cluster *cluster, const AttentionShape *shape,
                                   AttentionGrain grain) {
    AttentionReport report;
    AttentionOptions options = {.grain = grain, .report = &report};
    g_autoptr(GError) error = NULL;

    attention_run(cluster, shape, &options, &error);
    g_assert_no_error(error);
    return report;
}
