#include "analysis/report/report_slices.h"

#include "analysis/output/json_text.h"
#include "analysis/output/number_text.h"
#include "workloads/units.h"
#include <math.h>
#include <string.h>

typedef struct Lane {
    guint process, thread;
    char *name;
    guint replica, stage; /* 'replica' is G_MAXUINT where the lane is none of a stage */
    gint64 end_ns;        /* of its last slice */
    guint last;           /* its place among the slices */
    guint slices;
} Lane;

typedef struct Slice {
    guint lane, kind;
    gint64 start_ns, end_ns;
    gint64 tail_ns; /* of it, in all-reduces, at its end */
    guint64 size;   /* requests, or bytes */
    guint64 tokens;
} Slice;

typedef struct ReportSlices {
    TraceSink sink;
    const Plan *plan;
    Observer *observer;
    gboolean full;
    GArray *lanes;       /* Lane */
    GHashTable *lane_of; /* process and thread → its place + 1 */
    guint hidden_lanes;
    GPtrArray *kinds; /* static names of slices */
    GArray *slices;   /* Slice */
} ReportSlices;

static guint64 *lane_key(guint process, guint thread) {
    guint64 *key = g_new(guint64, 1);
    *key = (guint64)process << 32 | thread;
    return key;
}

/* NULL: it has none. */
static Lane *lane_find(const ReportSlices *slices, guint process, guint thread) {
    g_autofree guint64 *key = lane_key(process, thread);
    guint place = GPOINTER_TO_UINT(g_hash_table_lookup(slices->lane_of, key));
    return place == 0 ? NULL : &g_array_index(slices->lanes, Lane, place - 1);
}

static guint kind_of(ReportSlices *slices, const char *name) {
    for (guint i = 0; i < slices->kinds->len; i++)
        if (strcmp(slices->kinds->pdata[i], name) == 0)
            return i;
    g_ptr_array_add(slices->kinds, (gpointer)name);
    return slices->kinds->len - 1;
}

static guint64 argument_of(const TraceEvent *event, const char *key) {
    for (guint i = 0; i < TRACE_ARGUMENTS_MAX && event->arguments[i].key != NULL; i++)
        if (strcmp(event->arguments[i].key, key) == 0)
            return event->arguments[i].value;
    return 0;
}

/* An all-reduce follows the step that it ends, on the same lane. */
static gboolean is_tail(const ReportSlices *slices, const Lane *lane, const TraceEvent *event) {
    return strcmp(event->name, "all-reduce") == 0 && lane->slices > 0 &&
           g_array_index(slices->slices, Slice, lane->last).end_ns == event->end_ns;
}

static void set_full(ReportSlices *slices) {
    slices->full = TRUE;
    if (slices->observer == NULL)
        return;
    slices->observer->wants_steps = FALSE;
    slices->observer->wants_transfers = FALSE;
}

static void put(TraceSink *sink, const TraceEvent *event) {
    ReportSlices *slices = (ReportSlices *)sink;
    Lane *lane = event->phase == TRACE_SLICE && !slices->full
                     ? lane_find(slices, event->process, event->thread)
                     : NULL;
    if (lane == NULL)
        return;
    if (is_tail(slices, lane, event)) {
        g_array_index(slices->slices, Slice, lane->last).tail_ns = event->end_ns - event->start_ns;
        return;
    }
    Slice slice = {.lane = (guint)(lane - &g_array_index(slices->lanes, Lane, 0)),
                   .kind = kind_of(slices, event->name),
                   .start_ns = event->start_ns,
                   .end_ns = event->end_ns,
                   .size = argument_of(event, "requests") + argument_of(event, "bytes"),
                   .tokens =
                       argument_of(event, "prefill_tokens") + argument_of(event, "decode_tokens")};
    lane->last = slices->slices->len;
    lane->slices++;
    lane->end_ns = MAX(lane->end_ns, event->end_ns);
    g_array_append_val(slices->slices, slice);
    if (slices->slices->len == REPORT_SLICES_MAX)
        set_full(slices);
}

static void name_process(TraceSink *sink, guint process, const char *name) {
    (void)sink, (void)process, (void)name;
}

/* "prefill 3", "pool 1 decode 0 stage 2" */
static char *stage_name(const Plan *plan, const ReplicaPlan *replica, guint stage) {
    GString *name = g_string_new(NULL);
    if (plan->replicas[plan->n_replicas - 1].pool > 0)
        g_string_append_printf(name, "pool %u ", replica->pool);
    g_string_append_printf(name, "%s %u", plan_replica_name(plan, replica), replica->index);
    if (replica->n_stages > 1)
        g_string_append_printf(name, " stage %u", stage);
    return g_string_free(name, FALSE);
}

/* "kv_migration 0" as it is written elsewhere: "KV migration 0". Caller frees. */
static char *label_of(const char *name) {
    return g_str_has_prefix(name, "kv_") ? g_strconcat("KV ", name + strlen("kv_"), NULL)
                                         : g_strdup(name);
}

/* Processes of replicas come first, from 1, their threads are stages from 1. */
static void name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    ReportSlices *slices = (ReportSlices *)sink;
    gboolean of_stage = process <= slices->plan->n_replicas;
    Lane lane = {process, thread, .replica = G_MAXUINT};
    if (slices->lanes->len == REPORT_LANES_MAX) {
        slices->hidden_lanes++;
        return;
    }
    if (of_stage) {
        lane.replica = process - 1;
        lane.stage = thread - 1;
        lane.name = stage_name(slices->plan, &slices->plan->replicas[lane.replica], lane.stage);
    } else {
        lane.name = label_of(name);
    }
    g_array_append_val(slices->lanes, lane);
    g_hash_table_insert(slices->lane_of, lane_key(process, thread),
                        GUINT_TO_POINTER(slices->lanes->len));
}

static gboolean finish(TraceSink *sink, GError **error) {
    (void)sink, (void)error;
    return TRUE;
}

static void clear_lane(gpointer lane) {
    g_free(((Lane *)lane)->name);
}

static void free_slices(TraceSink *sink) {
    ReportSlices *slices = (ReportSlices *)sink;
    g_array_unref(slices->lanes);
    g_hash_table_unref(slices->lane_of);
    g_ptr_array_unref(slices->kinds);
    g_array_unref(slices->slices);
    g_free(slices);
}

TraceSink *report_slices_new(const Plan *plan) {
    ReportSlices *slices = g_new0(ReportSlices, 1);
    slices->sink = (TraceSink){put, name_process, name_thread, finish, free_slices};
    slices->plan = plan;
    slices->lanes = g_array_new(FALSE, FALSE, sizeof(Lane));
    g_array_set_clear_func(slices->lanes, clear_lane);
    slices->lane_of = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    slices->kinds = g_ptr_array_new();
    slices->slices = g_array_new(FALSE, FALSE, sizeof(Slice));
    return &slices->sink;
}

void report_slices_watch(TraceSink *sink, Observer *observer) {
    ((ReportSlices *)sink)->observer = observer;
}

/* Times are written as whole ticks: the smallest power of ten nanoseconds of which the run has at
 * most 10^8. */
static gint64 tick_of(gint64 end_ns) {
    const gint64 most = 100000000;
    gint64 tick_ns = 1;
    while (end_ns / tick_ns > most)
        tick_ns *= 10;
    return tick_ns;
}

/* Lanes in the order of the page: stages first, then others by name. */
static gint by_place(gconstpointer a, gconstpointer b, gpointer data) {
    const ReportSlices *slices = data;
    const Lane *first = &g_array_index(slices->lanes, Lane, *(const guint *)a);
    const Lane *second = &g_array_index(slices->lanes, Lane, *(const guint *)b);
    gboolean both_stages = first->replica != G_MAXUINT && second->replica != G_MAXUINT;
    if (!both_stages && (first->replica != second->replica))
        return first->replica < second->replica ? -1 : 1;
    int names = both_stages ? 0 : strcmp(first->name, second->name);
    return names != 0 ? names : *(const guint *)a < *(const guint *)b ? -1 : 1;
}

/* Those on which something is shown. Caller frees. */
static GArray *shown_lanes(const ReportSlices *slices) {
    GArray *shown = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < slices->lanes->len; i++) {
        const Lane *lane = &g_array_index(slices->lanes, Lane, i);
        if (lane->slices > 0 || lane->replica != G_MAXUINT)
            g_array_append_val(shown, i);
    }
    g_array_sort_with_data(shown, by_place, (gpointer)slices);
    return shown;
}

/* Their places in the page by lane. Caller frees. */
static guint *places_of(const ReportSlices *slices, const GArray *shown) {
    guint *places = g_new0(guint, slices->lanes->len + 1);
    for (guint i = 0; i < shown->len; i++)
        places[g_array_index(shown, guint, i)] = i;
    return places;
}

static void write_lanes(JsonText *json, const ReportSlices *slices, const GArray *shown) {
    json_text_open(json, "lanes", '[');
    for (guint i = 0; i < shown->len; i++) {
        guint lane = g_array_index(shown, guint, i);
        json_text_string(json, NULL, g_array_index(slices->lanes, Lane, lane).name);
    }
    json_text_close(json, ']');
    json_text_open(json, "kinds", '[');
    for (guint i = 0; i < slices->kinds->len; i++) {
        g_autofree char *name = label_of(slices->kinds->pdata[i]);
        json_text_string(json, NULL, name);
    }
    json_text_close(json, ']');
}

/* Flat: lane, start, duration, kind, tail, size, tokens. */
static char *slices_text(const ReportSlices *slices, const guint *places, gint64 tick_ns) {
    GString *out = g_string_new("[");
    for (guint i = 0; i < slices->slices->len; i++) {
        const Slice *slice = &g_array_index(slices->slices, Slice, i);
        gint64 start = slice->start_ns / tick_ns;
        const guint64 numbers[] = {places[slice->lane],
                                   (guint64)start,
                                   (guint64)(slice->end_ns / tick_ns - start),
                                   slice->kind,
                                   (guint64)(slice->tail_ns / tick_ns),
                                   slice->size,
                                   slice->tokens};
        char text[G_N_ELEMENTS(numbers) * (NUMBER_TEXT_MAX + 1)], *end = text;
        for (guint k = 0; k < G_N_ELEMENTS(numbers); k++) {
            if (i > 0 || k > 0)
                *end++ = ',';
            end = number_text_count(end, numbers[k]);
        }
        g_string_append_len(out, text, end - text);
    }
    g_string_append_c(out, ']');
    return g_string_free(out, FALSE);
}

/* The mean share of a lane between samples 'from' and 'to'. */
static double mean_busy(const ReportSeries *series, const Lane *lane, guint from, guint to) {
    double busy_s = 0, span_s = 0;
    for (guint i = from + 1; i <= to; i++) {
        double here_s = report_series_span_s(series, i);
        busy_s += here_s * report_series_busy(series, i, lane->replica, lane->stage);
        span_s += here_s;
    }
    return span_s > 0 ? busy_s / span_s : 0;
}

/* Flat: lane, start, duration, share in percent; from where a lane's slices end. */
static void append_blocks(GString *out, const ReportSeries *series, const Lane *lane, guint place,
                          guint stride, gint64 tick_ns) {
    guint n = report_series_count(series);
    for (guint from = 0; from + 1 < n; from += stride) {
        guint to = MIN(from + stride, n - 1);
        gint64 start_ns = number_nanoseconds(report_series_at(series, from)->state.time_s);
        gint64 end_ns = number_nanoseconds(report_series_at(series, to)->state.time_s);
        double percent = round(100 * mean_busy(series, lane, from, to));
        gint64 start = MAX(start_ns, lane->end_ns) / tick_ns;
        if (end_ns <= lane->end_ns || percent < 1)
            continue;
        g_string_append_printf(out, "%s%u,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%.0f",
                               out->len > 1 ? "," : "", place, start, end_ns / tick_ns - start,
                               percent);
    }
}

static char *blocks_text(const ReportSlices *slices, const ReportSeries *series,
                         const guint *places, gint64 tick_ns) {
    guint n = report_series_count(series);
    guint stages = 0;
    for (guint i = 0; i < slices->lanes->len; i++)
        stages += g_array_index(slices->lanes, Lane, i).replica != G_MAXUINT ? 1 : 0;
    guint blocks = MAX(REPORT_BLOCKS_MAX / MAX(stages, 1), 1);
    guint stride = MAX((n + blocks - 1) / blocks, 1);
    GString *out = g_string_new("[");
    for (guint i = 0; i < slices->lanes->len && slices->full; i++) {
        const Lane *lane = &g_array_index(slices->lanes, Lane, i);
        if (lane->replica != G_MAXUINT)
            append_blocks(out, series, lane, places[i], stride, tick_ns);
    }
    g_string_append_c(out, ']');
    return g_string_free(out, FALSE);
}

static void write_words(JsonText *json, const ReportSlices *slices, gint64 end_ns) {
    const double ns = 1e-9;
    gint64 until_ns = 0;
    for (guint i = 0; i < slices->slices->len; i++)
        until_ns = MAX(until_ns, g_array_index(slices->slices, Slice, i).end_ns);
    g_autofree char *until = units_format_brief(ns * (double)until_ns, DIMENSION_SECONDS);
    g_autofree char *end = units_format_brief(ns * (double)end_ns, DIMENSION_SECONDS);
    g_autofree char *summary =
        slices->full
            ? g_strdup_printf("The first %s of %s show each of %u steps and transfers; from there "
                              "on the shade tells how busy a stage was.",
                              until, end, slices->slices->len)
            : g_strdup_printf("All %u steps and transfers of the %s.", slices->slices->len, end);
    json_text_string(json, "summary", summary);
    json_text_number(json, "detail_s", ns * (double)until_ns);
    if (slices->hidden_lanes == 0)
        return;
    g_autofree char *note = g_strdup_printf(
        "%u more lanes are left out; trace.json of --trace has all.", slices->hidden_lanes);
    json_text_string(json, "note", note);
}

char *report_slices_json(const TraceSink *sink, const ReportSeries *series) {
    const ReportSlices *slices = (const ReportSlices *)sink;
    double end_s = report_series_at(series, report_series_count(series) - 1)->state.time_s;
    gint64 end_ns = number_nanoseconds(end_s), tick_ns = tick_of(end_ns);
    g_autoptr(GArray) shown = shown_lanes(slices);
    g_autofree guint *places = places_of(slices, shown);
    g_autofree char *singly = slices_text(slices, places, tick_ns);
    g_autofree char *blocks = blocks_text(slices, series, places, tick_ns);
    JsonText json = json_text_new();
    json_text_open(&json, NULL, '{');
    json_text_string(&json, "kind", "timeline");
    json_text_string(&json, "id", "timeline");
    json_text_string(&json, "title", "Steps and transfers");
    write_words(&json, slices, end_ns);
    json_text_number(&json, "tick_s", 1e-9 * (double)tick_ns);
    json_text_number(&json, "end_s", end_s);
    json_text_bool(&json, "steps", TRUE);
    write_lanes(&json, slices, shown);
    json_text_raw(&json, "slices", singly);
    json_text_raw(&json, "blocks", blocks);
    json_text_close(&json, '}');
    return json_text_end(&json);
}
