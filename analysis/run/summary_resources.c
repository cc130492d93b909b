#include "analysis/run/summary_rows.h"

#define TABLE_POOLS_MAX 4 /* more of them are shown together only */

/* Replicas of one role, in one pool or in all, added up. */
typedef struct Group {
    guint replicas, stages, clusters;
    guint64 steps;
    double busy_s, all_reduce_s; /* over stages */
    double span_s;               /* stages × from the first step to the last, over replicas */
    guint64 prefill_tokens, decode_tokens;
    guint64 kv_tokens; /* capacity */
    double kv_mean_tokens;
    double kv_peak_tokens, kv_peak_share; /* of the replica where it is highest */
} Group;

static void group_add_stages(Group *group, const ReplicaPlan *plan, const ReplicaTotals *totals) {
    for (guint stage = 0; stage < plan->n_stages; stage++) {
        group->clusters += plan->stages[stage].tp;
        group->busy_s += totals->stages[stage].busy_s;
        group->all_reduce_s += totals->stages[stage].all_reduce_s;
        group->steps += totals->stages[stage].steps;
    }
    group->stages += plan->n_stages;
    if (totals->first_busy_s >= 0)
        group->span_s += (double)plan->n_stages * (totals->last_busy_s - totals->first_busy_s);
}

static void group_add_kv(Group *group, const ReplicaPlan *plan, const TimeIntegral *kv,
                         double end_s) {
    if (plan->kv_tokens == 0 || end_s <= 0)
        return;
    double peak_tokens = kv->peak / plan->kv_bytes_per_token;
    double peak_share = peak_tokens / (double)plan->kv_tokens;
    group->kv_tokens += plan->kv_tokens;
    group->kv_mean_tokens += time_integral_until(kv, end_s) / end_s / plan->kv_bytes_per_token;
    group->kv_peak_tokens = MAX(group->kv_peak_tokens, peak_tokens);
    group->kv_peak_share = MAX(group->kv_peak_share, peak_share);
}

/* 'pool' is G_MAXUINT for all. */
static Group group_of(const SummaryInput *input, ReplicaRole role, guint pool) {
    const Plan *plan = input->experiment->plan;
    Group group = {0};
    for (guint i = 0; i < plan->n_replicas; i++) {
        const ReplicaPlan *replica = &plan->replicas[i];
        const ReplicaTotals *totals = &input->ledger->replicas[i];
        if (replica->role != role || (pool != G_MAXUINT && replica->pool != pool))
            continue;
        group.replicas++;
        group.prefill_tokens += totals->prefill_tokens;
        group.decode_tokens += totals->decode_tokens;
        group_add_stages(&group, replica, totals);
        group_add_kv(&group, replica, &totals->kv_bytes, input->ledger->end_s);
    }
    return group;
}

static SummaryCell share_cell(const char *key, double part, double whole) {
    if (whole <= 0)
        return (SummaryCell){.key = key, .form = FORM_NONE};
    return (SummaryCell){.key = key, .form = FORM_SHARE, .number = part / whole};
}

static SummaryCell kv_cell(const char *key, CellForm form, const Group *group, double value) {
    return (SummaryCell){
        .key = key, .form = group->kv_tokens > 0 ? form : FORM_NONE, .number = value};
}

/* The time in which stages waited. What is less than a share of 1e-12 is the rounding of the sums:
 * those stages never did. */
static double group_idle_s(const Group *group) {
    double idle_s = group->span_s - group->busy_s;
    return idle_s > 1e-12 * group->span_s ? idle_s : 0;
}

static void add_group(SummaryRow *row, const Group *group, double end_s) {
    double capacity = (double)group->kv_tokens;
    SummaryCell kv_tokens = {.key = "kv_capacity_tokens",
                             .heading = "KV tokens",
                             .form = capacity > 0 ? FORM_COUNT : FORM_NONE,
                             .count = group->kv_tokens};
    SummaryCell utilisation =
        share_cell("utilisation", group->busy_s, (double)group->stages * end_s);
    SummaryCell bubbles = share_cell("bubble_share", group_idle_s(group), group->span_s);
    SummaryCell kv_mean = share_cell("kv_mean_share", group->kv_mean_tokens, capacity);
    SummaryCell kv_peak = kv_cell("kv_peak_share", FORM_SHARE, group, group->kv_peak_share);
    utilisation.heading = "busy";
    bubbles.heading = "bubbles";
    kv_mean.heading = "KV mean";
    kv_peak.heading = "KV peak";
    const SummaryCell cells[] = {
        {.key = "replicas", .heading = "replicas", .form = FORM_COUNT, .count = group->replicas},
        {.key = "clusters", .form = FORM_COUNT, .count = group->clusters},
        {.key = "steps", .form = FORM_COUNT, .count = group->steps},
        utilisation,
        bubbles,
        share_cell("all_reduce_share", group->all_reduce_s, group->busy_s),
        {.key = "prefill_tokens", .form = FORM_COUNT, .count = group->prefill_tokens},
        {.key = "decode_tokens", .form = FORM_COUNT, .count = group->decode_tokens},
        kv_mean,
        kv_peak,
        kv_tokens,
        kv_cell("kv_mean_tokens", FORM_REAL, group, group->kv_mean_tokens),
        kv_cell("kv_peak_tokens", FORM_REAL, group, group->kv_peak_tokens),
    };
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++)
        summary_cell_add(row, cells[i]);
}

static void add_roles(SummaryRows *rows, const SummaryInput *input) {
    SummarySection *section = summary_section_add(rows, "roles", "Replicas");
    for (ReplicaRole role = 0; role < N_ROLES; role++) {
        Group group = group_of(input, role, G_MAXUINT);
        const char *name = replica_role_name(role);
        if (group.replicas > 0)
            add_group(summary_row_add(section, name, name), &group, input->ledger->end_s);
    }
}

static gboolean pools_shown(const Ledger *ledger) {
    return ledger->n_pools > 1 && ledger->n_pools <= TABLE_POOLS_MAX;
}

static void add_pool_cell(SummaryRow *row, guint pool) {
    summary_cell_add(row, (SummaryCell){.key = "pool", .form = FORM_COUNT, .count = pool});
}

static void add_pools(SummaryRows *rows, const SummaryInput *input) {
    const Ledger *ledger = input->ledger;
    SummarySection *section =
        summary_section_add(rows, "pools", pools_shown(ledger) ? "Pools" : NULL);
    section->array = TRUE;
    for (guint pool = 0; pool < ledger->n_pools; pool++) {
        for (ReplicaRole role = 0; role < N_ROLES; role++) {
            Group group = group_of(input, role, pool);
            if (group.replicas == 0)
                continue;
            g_autofree char *label = g_strdup_printf("%u %s", pool, replica_role_name(role));
            SummaryRow *row = summary_row_add(section, NULL, label);
            add_pool_cell(row, pool);
            summary_cell_add(row, (SummaryCell){.key = "role",
                                                .form = FORM_TEXT,
                                                .text = g_strdup(replica_role_name(role))});
            add_group(row, &group, ledger->end_s);
        }
    }
}

/* The buffer of one pool, or of all: means and time add up, the peak is the highest share. */
typedef struct Buffer {
    double capacity_bytes, mean_bytes, peak_bytes, peak_share, paused_s;
    guint clusters;
} Buffer;

static Buffer buffer_of(const SummaryInput *input, guint pool) {
    const Plan *plan = input->experiment->plan;
    const Ledger *ledger = input->ledger;
    Buffer buffer = {0};
    for (guint i = 0; i < plan->n_buffers; i++) {
        if (plan->buffers[i].pool != pool)
            continue;
        buffer.capacity_bytes += plan->buffers[i].bytes;
        buffer.clusters++;
    }
    const TimeIntegral *bytes = &ledger->buffer_bytes[pool];
    if (ledger->end_s > 0)
        buffer.mean_bytes = time_integral_until(bytes, ledger->end_s) / ledger->end_s;
    buffer.peak_bytes = bytes->peak;
    if (buffer.capacity_bytes > 0)
        buffer.peak_share = bytes->peak / buffer.capacity_bytes;
    buffer.paused_s = ledger->paused_s[pool];
    return buffer;
}

static void buffer_add(Buffer *sum, const Buffer *term) {
    sum->capacity_bytes += term->capacity_bytes;
    sum->mean_bytes += term->mean_bytes;
    sum->peak_bytes = MAX(sum->peak_bytes, term->peak_bytes);
    sum->peak_share = MAX(sum->peak_share, term->peak_share);
    sum->paused_s += term->paused_s;
    sum->clusters += term->clusters;
}

static void add_buffer(SummaryRow *row, const Buffer *buffer, double pool_seconds) {
    SummaryCell mean = share_cell("mean_share", buffer->mean_bytes, buffer->capacity_bytes);
    SummaryCell paused = share_cell("backpressure_share", buffer->paused_s, pool_seconds);
    mean.heading = "mean";
    paused.heading = "share";
    const SummaryCell cells[] = {
        {.key = "clusters", .heading = "clusters", .form = FORM_COUNT, .count = buffer->clusters},
        {.key = "capacity_bytes",
         .heading = "capacity",
         .form = FORM_BYTES,
         .number = buffer->capacity_bytes},
        {.key = "mean_bytes", .form = FORM_BYTES, .number = buffer->mean_bytes},
        mean,
        {.key = "peak_bytes", .form = FORM_BYTES, .number = buffer->peak_bytes},
        {.key = "peak_share", .heading = "peak", .form = FORM_SHARE, .number = buffer->peak_share},
        {.key = "backpressure_s",
         .heading = "paused",
         .form = FORM_SECONDS,
         .number = buffer->paused_s},
        paused,
    };
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++)
        summary_cell_add(row, cells[i]);
}

static void add_buffers(SummaryRows *rows, const SummaryInput *input) {
    const Ledger *ledger = input->ledger;
    Buffer sum = {0};
    if (input->experiment->plan->n_buffers == 0)
        return;
    SummarySection *section = summary_section_add(rows, "buffers", "Buffers");
    section->array = TRUE;
    for (guint pool = 0; pool < ledger->n_pools; pool++) {
        Buffer buffer = buffer_of(input, pool);
        g_autofree char *label = g_strdup_printf("pool %u", pool);
        gboolean shown = ledger->n_pools <= TABLE_POOLS_MAX;
        SummaryRow *row = summary_row_add(section, NULL, shown ? label : NULL);
        add_pool_cell(row, pool);
        add_buffer(row, &buffer, ledger->end_s);
        buffer_add(&sum, &buffer);
    }
    SummarySection *total =
        summary_section_add(rows, "buffer", ledger->n_pools > TABLE_POOLS_MAX ? "Buffers" : NULL);
    SummaryRow *row = summary_row_add(total, "all", "all pools");
    add_buffer(row, &sum, (double)ledger->n_pools * ledger->end_s);
}

static void add_network(SummaryRows *rows, const Ledger *ledger) {
    static const char *const labels[N_PURPOSES] = {"all-reduce", "KV migration", "KV pull",
                                                   "pipeline"};
    SummarySection *section = summary_section_add(rows, "network", "Network");
    for (TransferPurpose purpose = 0; purpose < N_PURPOSES; purpose++) {
        gboolean used = ledger->transfers[purpose] > 0;
        SummaryRow *row =
            summary_row_add(section, transfer_purpose_name(purpose), used ? labels[purpose] : NULL);
        summary_cell_add(row, (SummaryCell){.key = "bytes",
                                            .heading = "bytes",
                                            .form = FORM_BYTES,
                                            .number = ledger->bytes_sent[purpose]});
        summary_cell_add(row, (SummaryCell){.key = "transfers",
                                            .heading = "transfers",
                                            .form = FORM_COUNT,
                                            .count = ledger->transfers[purpose]});
    }
}

/* Σ over a replica's clusters of idle power · makespan + (busy − idle) power · busy time. */
static double replica_joules(const PowerSpec *power, const ReplicaPlan *plan,
                             const ReplicaTotals *totals, double end_s) {
    double joules = 0;
    double above_idle = power->cluster_busy_watts - power->cluster_idle_watts;
    for (guint stage = 0; stage < plan->n_stages; stage++)
        joules += plan->stages[stage].tp *
                  (power->cluster_idle_watts * end_s + above_idle * totals->stages[stage].busy_s);
    return joules;
}

static guint nodes_touched(const Platform *platform, const Plan *plan) {
    gboolean *touched = g_new0(gboolean, platform->nodes);
    guint nodes = 0;
    for (guint i = 0; i < plan->n_replicas; i++)
        for (guint stage = 0; stage < plan->replicas[i].n_stages; stage++)
            for (guint rank = 0; rank < plan->replicas[i].stages[stage].tp; rank++)
                touched[platform_node_of(platform,
                                         plan->replicas[i].stages[stage].clusters[rank])] = TRUE;
    for (guint i = 0; i < plan->n_buffers; i++)
        touched[platform_node_of(platform, plan->buffers[i].cluster)] = TRUE;
    for (guint64 node = 0; node < platform->nodes; node++)
        nodes += touched[node] ? 1 : 0;
    g_free(touched);
    return nodes;
}

double summary_energy_joules(const Experiment *experiment, const Ledger *ledger) {
    const Plan *plan = experiment->plan;
    const PowerSpec *power = &experiment->platform->power;
    guint nodes = nodes_touched(experiment->platform, plan);
    double joules = nodes * power->node_watts * ledger->end_s +
                    plan->n_buffers * power->cluster_idle_watts * ledger->end_s;
    for (guint i = 0; i < plan->n_replicas; i++)
        joules += replica_joules(power, &plan->replicas[i], &ledger->replicas[i], ledger->end_s);
    return joules;
}

static void add_energy(SummaryRows *rows, const SummaryInput *input) {
    const double joules_per_kwh = 3.6e6;
    double joules = summary_energy_joules(input->experiment, input->ledger);
    double tokens = (double)input->ledger->output_tokens_done;
    SummarySection *section = summary_section_add(rows, "energy", "Energy");
    summary_value_add(section, "energy",
                      (SummaryCell){.key = "joules", .form = FORM_JOULES, .number = joules});
    summary_value_add(
        section, NULL,
        (SummaryCell){.key = "kwh", .form = FORM_REAL, .number = joules / joules_per_kwh});
    summary_value_add(section, "output tokens per joule",
                      (SummaryCell){.key = "tokens_per_joule",
                                    .form = joules > 0 ? FORM_REAL : FORM_NONE,
                                    .number = tokens / joules,
                                    .unit = "tokens/J"});
    summary_value_add(section, NULL,
                      (SummaryCell){.key = "nodes",
                                    .form = FORM_COUNT,
                                    .count = nodes_touched(input->experiment->platform,
                                                           input->experiment->plan)});
}

void summary_resources_add(SummaryRows *rows, const SummaryInput *input) {
    add_roles(rows, input);
    add_pools(rows, input);
    add_buffers(rows, input);
    add_network(rows, input->ledger);
    add_energy(rows, input);
}
