/* What the machine does over time: clusters, memory, network, power. */
#include "analysis/report/report_run_private.h"

#include "analysis/run/outcome.h"
#include "analysis/search/objective.h"
#include "workloads/units.h"

#define POOLS_SHOWN_MAX 3 /* singly; of more the roles are shown together */

/* --- clusters */

/* Stages of one role, in one pool or (G_MAXUINT) in all. */
typedef struct Group {
    ReplicaRole role;
    guint pool;
} Group;

static gboolean is_in(const Group *group, const ReplicaPlan *replica) {
    return replica->role == group->role &&
           (group->pool == G_MAXUINT || replica->pool == group->pool);
}

/* Clusters of the group; and of them the busy ones between samples i − 1 and i. */
static double clusters_of(const Plan *plan, const Group *group, const ReportSeries *series, guint i,
                          double *busy) {
    double clusters = 0;
    *busy = 0;
    for (guint k = 0; k < plan->n_replicas; k++) {
        const ReplicaPlan *replica = &plan->replicas[k];
        for (guint stage = 0; stage < replica->n_stages && is_in(group, replica); stage++) {
            clusters += replica->stages[stage].tp;
            *busy += replica->stages[stage].tp * report_series_busy(series, i, k, stage);
        }
    }
    return clusters;
}

static void add_busy_series(ReportChart *chart, const Plan *plan, const Group *group,
                            const ReportSeries *series, GString *words) {
    const char *role = replica_role_name(group->role);
    double busy, mean = 0;
    g_autofree char *name = group->pool == G_MAXUINT
                                ? g_strdup(role)
                                : g_strdup_printf("%s, pool %u", role, group->pool);
    if (clusters_of(plan, group, series, 1, &busy) <= 0)
        return;
    report_chart_series(chart, name,
                        group->pool > 0 && group->pool != G_MAXUINT ? REPORT_DASHED : REPORT_LINE,
                        role);
    for (guint i = 1; i < report_series_count(series); i++) {
        double clusters = clusters_of(plan, group, series, i, &busy);
        double share = busy / clusters;
        report_chart_point(chart, report_series_middle_s(series, i), 100 * share, NULL);
        mean += share * report_series_span_s(series, i);
    }
    double end_s = report_series_at(series, report_series_count(series) - 1)->state.time_s;
    g_string_append_printf(words, "%s%s %.1f %%", words->len > 0 ? ", " : "", name,
                           end_s > 0 ? 100 * mean / end_s : 0);
}

static void add_busy(ReportPage *page, const SummaryInput *input, const ReportSeries *series) {
    const Plan *plan = input->experiment->plan;
    guint pools = input->ledger->n_pools;
    gboolean singly = pools > 1 && pools <= POOLS_SHOWN_MAX;
    g_autofree char *title = g_strdup_printf("Busy %s", REPORT_ELEMENTS(input));
    ReportChart *chart = report_chart_new("busy", title, REPORT_TIME_AXIS,
                                          REPORT_AXIS_FROM_ZERO("busy", REPORT_UNIT_PERCENT));
    GString *words = g_string_new(NULL);
    for (ReplicaRole role = 0; role < N_ROLES; role++)
        for (guint pool = 0; pool < (singly ? pools : 1); pool++) {
            Group group = {role, singly ? pool : G_MAXUINT};
            add_busy_series(chart, plan, &group, series, words);
        }
    report_chart_summary(chart, "Busy in the mean: %s.", words->str);
    g_string_free(words, TRUE);
    report_page_chart(page, chart);
}

/* --- memory */

static double kv_capacity(const Plan *plan) {
    double bytes = 0;
    for (guint i = 0; i < plan->n_replicas; i++)
        bytes += (double)plan->replicas[i].kv_tokens * plan->replicas[i].kv_bytes_per_token;
    return bytes;
}

static double buffer_capacity(const Plan *plan) {
    double bytes = 0;
    for (guint i = 0; i < plan->n_buffers; i++)
        bytes += plan->buffers[i].bytes;
    return bytes;
}

typedef double (*Bytes)(const SimulationSample *state);

static double kv_of(const SimulationSample *state) {
    return state->kv_bytes;
}

static double buffered_of(const SimulationSample *state) {
    return state->buffer_bytes;
}

typedef struct Memory {
    const char *name, *colour;
    Bytes bytes;
    double capacity;
} Memory;

static void add_memory_series(ReportChart *chart, const ReportSeries *series, const Memory *memory,
                              GString *words) {
    double most = 0;
    g_autofree char *capacity = units_format_brief(memory->capacity, DIMENSION_BYTES);
    report_chart_series(chart, memory->name, REPORT_LINE, memory->colour);
    for (guint i = 0; i < report_series_count(series); i++) {
        const SimulationSample *state = &report_series_at(series, i)->state;
        double bytes = memory->bytes(state);
        report_chart_point(chart, state->time_s, 100 * bytes / memory->capacity, NULL);
        most = MAX(most, bytes);
    }
    g_string_append_printf(words, "%s%s at most %.1f %% of %s", words->len > 0 ? ", " : "",
                           memory->name, 100 * most / memory->capacity, capacity);
}

static void add_memory(ReportPage *page, const SummaryInput *input, const ReportSeries *series) {
    const Plan *plan = input->experiment->plan;
    const Memory memories[] = {
        {"KV of decoding requests", "decode", kv_of, kv_capacity(plan)},
        {"buffers", "migration", buffered_of, buffer_capacity(plan)},
    };
    ReportChart *chart = report_chart_new("memory", "Memory for KV", REPORT_TIME_AXIS,
                                          REPORT_AXIS_FROM_ZERO("occupied", REPORT_UNIT_PERCENT));
    GString *words = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(memories); i++)
        if (memories[i].capacity > 0)
            add_memory_series(chart, series, &memories[i], words);
    report_chart_summary(chart, "At the sampled dates: %s.", words->str);
    g_string_free(words, TRUE);
    report_page_chart(page, chart);
}

/* --- network */

static const struct {
    const char *name, *colour;
} purposes[N_PURPOSES] = {[PURPOSE_ALL_REDUCE] = {"all-reduce", "all-reduce"},
                          [PURPOSE_KV_MIGRATION] = {"KV migration", "migration"},
                          [PURPOSE_KV_PULL] = {"KV pull", "pull"},
                          [PURPOSE_PIPELINE] = {"pipeline", "pipeline"}};

static double bytes_sent(const Ledger *ledger) {
    double bytes = 0;
    for (TransferPurpose purpose = 0; purpose < N_PURPOSES; purpose++)
        bytes += ledger->bytes_sent[purpose];
    return bytes;
}

static void add_totals(ReportPage *page, const Ledger *ledger) {
    ReportChart *chart =
        report_chart_new("network", "Network by purpose", REPORT_AXIS("purpose", REPORT_UNIT_NONE),
                         REPORT_AXIS_FROM_ZERO("sent", REPORT_UNIT_BYTES));
    GString *words = g_string_new(NULL);
    guint place = 0;
    for (TransferPurpose purpose = 0; purpose < N_PURPOSES; purpose++) {
        double bytes = ledger->bytes_sent[purpose];
        g_autofree char *text = units_format_brief(bytes, DIMENSION_BYTES);
        if (bytes <= 0)
            continue;
        g_autofree char *label =
            g_strdup_printf("%" G_GUINT64_FORMAT " transfers", ledger->transfers[purpose]);
        report_chart_category(chart, purposes[purpose].name);
        report_chart_series(chart, purposes[purpose].name, REPORT_BARS, purposes[purpose].colour);
        report_chart_point(chart, place++, bytes, label);
        g_string_append_printf(words, "%s%s for %s", words->len > 0 ? ", " : "", text,
                               purposes[purpose].name);
    }
    report_chart_summary(chart, "Sent over the network: %s.", words->str);
    g_string_free(words, TRUE);
    report_page_chart(page, chart);
}

static void add_rates(ReportPage *page, const Ledger *ledger, const ReportSeries *series) {
    double most = 0;
    TransferPurpose busiest = 0;
    ReportChart *chart = report_chart_new("traffic", "Traffic", REPORT_TIME_AXIS,
                                          REPORT_AXIS_FROM_ZERO("sent", REPORT_UNIT_BYTES_PER_S));
    for (TransferPurpose purpose = 0; purpose < N_PURPOSES; purpose++) {
        if (ledger->bytes_sent[purpose] <= 0)
            continue;
        report_chart_series(chart, purposes[purpose].name, REPORT_LINE, purposes[purpose].colour);
        for (guint i = 1; i < report_series_count(series); i++) {
            double bytes = report_series_at(series, i)->sent_bytes[purpose] -
                           report_series_at(series, i - 1)->sent_bytes[purpose];
            double rate =
                report_series_span_s(series, i) > 0 ? bytes / report_series_span_s(series, i) : 0;
            report_chart_point(chart, report_series_middle_s(series, i), rate, NULL);
            busiest = rate > most ? purpose : busiest;
            most = MAX(most, rate);
        }
    }
    g_autofree char *text = units_format_brief(most, DIMENSION_BYTES_PER_S);
    report_chart_summary(chart, "At most %s at once for one purpose, %s.", text,
                         purposes[busiest].name);
    report_chart_note(chart, "Counted when a transfer begins; all-reduces within a step, when the "
                             "step ends.");
    report_page_chart(page, chart);
}

/* --- energy */

/* Power above idle of the clusters that are busy between samples i − 1 and i. */
static double busy_watts(const SummaryInput *input, const ReportSeries *series, guint i) {
    const PowerSpec *power = &input->experiment->platform->power;
    double busy, watts = 0;
    for (ReplicaRole role = 0; role < N_ROLES; role++) {
        clusters_of(input->experiment->plan, &(Group){role, G_MAXUINT}, series, i, &busy);
        watts += busy * (power->cluster_busy_watts - power->cluster_idle_watts);
    }
    return watts;
}

static void add_power(ReportPage *page, const SummaryInput *input, const ReportSeries *series) {
    double joules = summary_energy_joules(input->experiment, input->ledger);
    double end_s = input->ledger->end_s, busy_joules = 0, most = 0;
    if (joules <= 0 || end_s <= 0)
        return;
    for (guint i = 1; i < report_series_count(series); i++)
        busy_joules += busy_watts(input, series, i) * report_series_span_s(series, i);
    double rest_watts = (joules - busy_joules) / end_s;
    ReportChart *chart = report_chart_new("power", "Power", REPORT_TIME_AXIS,
                                          REPORT_AXIS_FROM_ZERO("power", REPORT_UNIT_WATTS));
    g_autofree char *rest = g_strdup_printf("idle %s and nodes", REPORT_ELEMENTS(input));
    report_chart_series(chart, rest, REPORT_AREA, "waiting");
    for (guint i = 1; i < report_series_count(series); i++)
        report_chart_point(chart, report_series_middle_s(series, i), rest_watts, NULL);
    report_chart_series(chart, "computing above idle", REPORT_AREA, "prefill");
    for (guint i = 1; i < report_series_count(series); i++) {
        double watts = busy_watts(input, series, i);
        report_chart_point(chart, report_series_middle_s(series, i), watts, NULL);
        most = MAX(most, rest_watts + watts);
    }
    g_autofree char *all = objective_text(FIGURE_ENERGY, joules);
    g_autofree char *mean = units_format_brief(joules / end_s, DIMENSION_WATTS);
    g_autofree char *peak = units_format_brief(most, DIMENSION_WATTS);
    report_chart_summary(chart,
                         "%s in all, %.1f %% of them by computing above idle; %s in the mean and "
                         "%s at the most.",
                         all, 100 * busy_joules / joules, mean, peak);
    report_page_chart(page, chart);
}

void report_run_machine(ReportPage *page, const SummaryInput *input, const ReportSeries *series) {
    if (report_series_count(series) < 2)
        return;
    report_page_section(page, "machine", "Machine over time", NULL);
    add_busy(page, input, series);
    add_memory(page, input, series);
    if (bytes_sent(input->ledger) > 0) {
        add_totals(page, input->ledger);
        add_rates(page, input->ledger, series);
    }
    add_power(page, input, series);
}
