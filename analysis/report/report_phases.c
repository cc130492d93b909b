#include "analysis/report/report_phases.h"

#include "analysis/output/json_text.h"

/* What a request is in between two of its dates. */
static const char *const kinds[] = {"waiting",  "prefill", "KV migration",
                                    "buffered", "KV pull", "decode"};
#define N_KINDS G_N_ELEMENTS(kinds)

typedef struct Kept {
    guint64 id;
    guint32 prompt_tokens, output_tokens;
    double dates_s[N_KINDS + 1]; /* never falling */
} Kept;

struct ReportPhases {
    Observer observer;
    guint64 stride; /* of ids that are kept */
    guint64 completed;
    GArray *kept; /* Kept, as they completed */
};

static void thin_out(ReportPhases *phases) {
    guint n = 0;
    phases->stride *= 2;
    for (guint i = 0; i < phases->kept->len; i++) {
        Kept kept = g_array_index(phases->kept, Kept, i);
        if (kept.id % phases->stride == 0)
            g_array_index(phases->kept, Kept, n++) = kept;
    }
    g_array_set_size(phases->kept, n);
}

static void keep(ReportPhases *phases, const ServedRequest *served) {
    const double dates_s[] = {served->request.arrival_s, served->prefill_start_s,
                              served->first_token_s,     served->buffered_s,
                              served->pull_start_s,      served->decode_start_s,
                              served->completed_s};
    Kept kept = {.id = served->request.id,
                 .prompt_tokens = served->request.prompt_tokens,
                 .output_tokens = served->generated};
    double before_s = 0;
    for (guint i = 0; i <= N_KINDS; i++)
        kept.dates_s[i] = before_s = MAX(before_s, dates_s[i]);
    g_array_append_val(phases->kept, kept);
    while (phases->kept->len > REPORT_REQUESTS_MAX)
        thin_out(phases);
}

static void notify(Observer *observer, const Event *event) {
    ReportPhases *phases = (ReportPhases *)observer;
    if (event->kind != EVENT_COMPLETED)
        return;
    phases->completed++;
    if (event->request->request.id % phases->stride == 0)
        keep(phases, event->request);
}

ReportPhases *report_phases_new(void) {
    ReportPhases *phases = g_new0(ReportPhases, 1);
    phases->observer.notify = notify;
    phases->stride = 1;
    phases->kept = g_array_new(FALSE, FALSE, sizeof(Kept));
    return phases;
}

void report_phases_free(ReportPhases *phases) {
    if (phases == NULL)
        return;
    g_array_unref(phases->kept);
    g_free(phases);
}

Observer *report_phases_observer(ReportPhases *phases) {
    return &phases->observer;
}

guint report_phases_count(const ReportPhases *phases) {
    return phases->kept->len;
}

static gint by_id(gconstpointer a, gconstpointer b) {
    guint64 first = ((const Kept *)a)->id, second = ((const Kept *)b)->id;
    return first < second ? -1 : first > second;
}

/* Flat: lane, start, duration, kind, tail, prompt tokens, output tokens; in ticks. */
static char *slices_text(const GArray *sorted, double tick_s) {
    GString *out = g_string_new("[");
    for (guint i = 0; i < sorted->len; i++) {
        const Kept *kept = &g_array_index(sorted, Kept, i);
        for (guint kind = 0; kind < N_KINDS; kind++) {
            guint64 start = (guint64)(kept->dates_s[kind] / tick_s + 0.5);
            guint64 end = (guint64)(kept->dates_s[kind + 1] / tick_s + 0.5);
            if (end > start)
                g_string_append_printf(
                    out, "%s%u,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%u,0,%u,%u",
                    out->len > 1 ? "," : "", i, start, end - start, kind, kept->prompt_tokens,
                    kept->output_tokens);
        }
    }
    g_string_append_c(out, ']');
    return g_string_free(out, FALSE);
}

static void write_names(JsonText *json, const GArray *sorted) {
    json_text_open(json, "lanes", '[');
    for (guint i = 0; i < sorted->len; i++) {
        g_autofree char *name =
            g_strdup_printf("%" G_GUINT64_FORMAT, g_array_index(sorted, Kept, i).id);
        json_text_string(json, NULL, name);
    }
    json_text_close(json, ']');
    json_text_open(json, "kinds", '[');
    for (guint i = 0; i < N_KINDS; i++)
        json_text_string(json, NULL, kinds[i]);
    json_text_close(json, ']');
}

char *report_phases_json(const ReportPhases *phases, double end_s) {
    const double ticks = 1e8;
    double tick_s = end_s > 0 ? end_s / ticks : 1;
    g_autoptr(GArray) sorted = g_array_copy(phases->kept);
    g_array_sort(sorted, by_id);
    g_autofree char *slices = slices_text(sorted, tick_s);
    g_autofree char *summary = g_strdup_printf(
        "%u of %" G_GUINT64_FORMAT " completed requests%s, in the order of their arrival: how long "
        "each waited, was in prefill, and decoded.",
        sorted->len, phases->completed, sorted->len < phases->completed ? ", evenly spread" : "");
    JsonText json = json_text_new();
    json_text_open(&json, NULL, '{');
    json_text_string(&json, "kind", "timeline");
    json_text_string(&json, "id", "requests");
    json_text_string(&json, "title", "What requests went through");
    json_text_string(&json, "summary", summary);
    json_text_number(&json, "tick_s", tick_s);
    json_text_number(&json, "end_s", end_s);
    write_names(&json, sorted);
    json_text_raw(&json, "slices", slices);
    json_text_raw(&json, "blocks", "[]");
    json_text_close(&json, '}');
    return json_text_end(&json);
}
