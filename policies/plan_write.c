#include "policies/plan.h"

#include <math.h>

static gboolean same_bill(const StagePlan *a, const StagePlan *b) {
    return a->layers == b->layers && a->bill.weights == b->bill.weights &&
           a->bill.kv == b->bill.kv && a->bill.prefix_cache == b->bill.prefix_cache &&
           a->stream.bytes == b->stream.bytes;
}

static void write_amount(GString *out, const char *before, double bytes) {
    g_autofree char *amount = units_format_brief(bytes, DIMENSION_BYTES);
    g_string_append_printf(out, "%s%s", before, amount);
}

static void write_stream(GString *out, const WeightStream *stream) {
    if (stream->bytes == 0)
        return;
    g_autofree char *rate = units_format_brief(stream->bytes_per_s, DIMENSION_BYTES_PER_S);
    g_autofree char *seconds = units_format_brief(weight_stream_seconds(stream), DIMENSION_SECONDS);
    write_amount(out, "#     its layers come from the host in every step: ", stream->bytes);
    g_string_append_printf(out, " at %s, %s, %s\n", rate, seconds,
                           stream->overlaps ? "beside the computing" : "before the computing");
}

/* "1 cluster", "4 GPUs" */
static void write_elements(GString *out, const Plan *plan, guint n) {
    g_string_append_printf(out, "%u %s", n, platform_elements_name(plan->kind, n));
}

/* One line for the stages from 'first' to 'last', which are alike. */
static void write_stages(GString *out, const Plan *plan, const ReplicaPlan *replica, guint first,
                         guint last) {
    const StagePlan *stage = &replica->stages[first];
    const MemoryBill *bill = &stage->bill;
    if (first == last)
        g_string_append_printf(out, "#   stage %u", first);
    else
        g_string_append_printf(out, "#   stages %u-%u", first, last);
    g_string_append_printf(out, ": %u layers on ", stage->layers);
    write_elements(out, plan, stage->tp);
    g_string_append(out, ", each with weights");
    write_amount(out, " ", bill->weights);
    write_amount(out, replica->role == ROLE_PREFILL ? " + KV " : " + room for KV ", bill->kv);
    if (bill->prefix_cache > 0)
        write_amount(out, " + prefix cache ", bill->prefix_cache);
    write_amount(out, " + overhead ", bill->overhead);
    write_amount(out, " of ", bill->usable);
    g_string_append(out, " usable\n");
    write_stream(out, &stage->stream);
}

static void write_capacity(GString *out, const Plan *plan, const ReplicaPlan *replica,
                           guint replicas, const DecodeSpec *decode) {
    g_string_append_printf(out,
                           "#   KV capacity: %" G_GUINT64_FORMAT
                           " tokens a replica, %" G_GUINT64_FORMAT " a pool",
                           replica->kv_tokens, replica->kv_tokens * replicas);
    g_string_append_printf(out,
                           "; requests at max_context a replica: %" G_GUINT64_FORMAT
                           " (slots: %" G_GUINT64_FORMAT ")\n",
                           replica->kv_tokens / plan->max_context,
                           decode->slots * policy_micro_batches(decode, replica->n_stages));
}

/* The replicas of one role in the first pool; the other pools are alike. */
static void write_role(GString *out, const Plan *plan, const Policy *policy, ReplicaRole role) {
    const ReplicaPlan *replica = NULL;
    guint replicas = 0;
    for (guint i = 0; i < plan->n_replicas && plan->replicas[i].pool == 0; i++) {
        if (plan->replicas[i].role != role)
            continue;
        replica = &plan->replicas[i];
        replicas++;
    }
    if (replica == NULL)
        return;
    g_string_append_printf(out, "# %s: %u replica%s a pool, each with %u stage%s\n",
                           replica_role_name(role), replicas, replicas == 1 ? "" : "s",
                           replica->n_stages, replica->n_stages == 1 ? "" : "s");
    for (guint first = 0, next; first < replica->n_stages; first = next) {
        for (next = first + 1; next < replica->n_stages; next++) {
            if (!same_bill(&replica->stages[first], &replica->stages[next]))
                break;
        }
        write_stages(out, plan, replica, first, next - 1);
    }
    if (role != ROLE_PREFILL)
        write_capacity(out, plan, replica, replicas, &policy->decode);
}

static void write_buffers(GString *out, const Plan *plan) {
    double bytes = 0;
    guint clusters = 0;
    for (; clusters < plan->n_buffers && plan->buffers[clusters].pool == 0; clusters++)
        bytes += plan->buffers[clusters].bytes;
    if (clusters == 0)
        return;
    g_string_append(out, "# buffer: ");
    write_elements(out, plan, clusters);
    g_string_append(out, " a pool");
    write_amount(out, ", room for KV ", bytes);
    g_string_append_printf(out, ": %.0f tokens\n",
                           floor(bytes / plan->replicas[0].kv_bytes_per_token));
}

static void write_formula(GString *out, const Policy *policy, const Model *model) {
    static const char *const names[] = {[KV_FORMULA_EXACT] = "exact",
                                        [KV_FORMULA_PAPER] = "paper",
                                        [KV_FORMULA_PAPER_KV_HEADS] = "paper_kv_heads"};
    gboolean wide = policy->kv_formula == KV_FORMULA_PAPER;
    guint64 d_emb = wide ? model->hidden : model->kv_heads * model->head_dim;
    guint64 bytes = (guint64)2 * data_type_bytes(model->data_type) * d_emb * model->layers;
    g_string_append_printf(out,
                           "# kv_formula %s: D_emb = %s = %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT
                           " bytes of KV a token\n",
                           names[policy->kv_formula], wide ? "hidden" : "kv_heads * head_dim",
                           d_emb, bytes);
}

static KvCapacity capacity_under(const WaferUse *use, KvRule rule) {
    KvLedgerSetup setup = {.rule = rule,
                           .rows = (guint)use->spec.decode_grid,
                           .room_bytes = use->usable_bytes - use->weight_bytes,
                           .token_bytes = use->kv_token_bytes};
    return kv_ledger_capacity(&setup);
}

static void write_wafer_kv(GString *out, const WaferUse *use) {
    static const KvRule rules[] = {KV_SHIFT, KV_CONCAT};
    g_string_append_printf(out,
                           "#   KV capacity: %" G_GUINT64_FORMAT " tokens, %" G_GUINT64_FORMAT
                           " a row of cores; longest output from no "
                           "prompt:",
                           wafer_use_tokens(use), use->row_tokens);
    for (guint i = 0; i < G_N_ELEMENTS(rules); i++) {
        KvCapacity capacity = capacity_under(use, rules[i]);
        g_string_append_printf(out, "%s %" G_GUINT64_FORMAT " by %s (skew %.3g)", i > 0 ? "," : "",
                               capacity.new_tokens, kv_rule_names[rules[i]], capacity.skew);
    }
    g_string_append_c(out, '\n');
}

static void write_wafers(GString *out, const Plan *plan) {
    const WaferUse *use = &plan->wafer;
    const WaferSpec *spec = &use->spec;
    guint64 regions = spec->regions, grid = spec->decode_grid;
    g_string_append_printf(out,
                           "# wafers: %" G_GUINT64_FORMAT
                           " a pool, %s; prompts on %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT
                           " cores, decoding in %" G_GUINT64_FORMAT
                           " region%s of %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT "\n",
                           spec->dp, wafer_system_names[spec->system], spec->prefill_grid,
                           spec->prefill_grid, regions, regions == 1 ? "" : "s", grid, grid);
    write_amount(out,
                 "#   a prompt's core: weights of all layers that rest on it, KV and buffers of a "
                 "prompt of max_context ",
                 use->prefill_bytes);
    write_amount(out, " of ", use->usable_bytes);
    if (use->outside_layers > 0) {
        g_string_append_printf(
            out,
            " usable\n#   a core below them: weights of the last %" G_GUINT64_FORMAT
            " layers, which move in before their loops, ",
            use->outside_layers);
        write_amount(out, "", use->outside_bytes);
        write_amount(out, " of ", use->usable_bytes);
    }
    write_amount(out, " usable\n#   a decode core: weights ", use->weight_bytes);
    write_amount(out, " + room for KV ", use->usable_bytes - use->weight_bytes);
    write_amount(out, ", a token ", use->kv_token_bytes);
    g_string_append(out, " on each core of its row\n");
    write_wafer_kv(out, use);
}

/* What there is to say of the clusters or wafers of 'plan'. */
static void write_parts(GString *out, const Plan *plan, const Policy *policy, const Model *model) {
    if (policy->mode == MODE_WAFER) {
        write_wafers(out, plan);
        return;
    }
    write_formula(out, policy, model);
    write_role(out, plan, policy, ROLE_PREFILL);
    write_buffers(out, plan);
    write_role(out, plan, policy, ROLE_DECODE);
    write_role(out, plan, policy, ROLE_COLOCATED);
}

void plan_write_comments(const Plan *plan, const Policy *policy, const Model *model, GString *out) {
    g_string_append_printf(out,
                           "# plan: %u of %u %s in %" G_GUINT64_FORMAT
                           " pool%s; max_context %" G_GUINT64_FORMAT " tokens\n",
                           plan->clusters_used, plan->clusters_available,
                           platform_elements_name(plan->kind, plan->clusters_available),
                           policy->pools, policy->pools == 1 ? "" : "s", plan->max_context);
    write_parts(out, plan, policy, model);
}
