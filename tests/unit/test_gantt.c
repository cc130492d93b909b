#include "analysis/timeline/gantt.h"
#include "analysis/timeline/gantt_axis.h"
#include "analysis/timeline/gantt_density.h"
#include "analysis/timeline/gantt_flows.h"
#include "analysis/timeline/gantt_lanes.h"
#include "analysis/timeline/gantt_names.h"
#include "workloads/input_error.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define SECOND G_GINT64_CONSTANT(1000000000)

static TraceEvent slice(guint process, guint thread, const char *name, gint64 from_ns,
                        gint64 to_ns) {
    return (TraceEvent){.phase = TRACE_SLICE,
                        .name = name,
                        .category = "step",
                        .process = process,
                        .thread = thread,
                        .start_ns = from_ns,
                        .end_ns = to_ns};
}

/* Slices of all widths, back to back with gaps, whose times are added up beside the track. */
static void test_binning_conserves(void) {
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    GanttLanes *lanes = gantt_lanes_new(1000);
    gint64 now_ns = 1000, busy_ns[2] = {0, 0};
    guint kinds[] = {gantt_kind_of("prefill", FALSE), gantt_kind_of("decode", FALSE)};

    gantt_lanes_name(lanes, 1, 1, "stage 0");
    GanttLane *lane = gantt_lanes_find(lanes, 1, 1);
    for (guint i = 0; i < 20000; i++) {
        gint64 width_ns = 1 + (gint64)exp(g_rand_double_range(random, 0, 16));
        guint which = i % 2;
        GanttSlice one = {
            .start_ns = now_ns, .end_ns = now_ns + width_ns, .kind = (guint8)kinds[which]};
        gantt_lanes_put(lanes, lane, &one);
        busy_ns[which] += width_ns;
        now_ns += width_ns + g_rand_int_range(random, 0, 1000);
        if (i % 4999 == 0)
            gantt_lanes_coarsen(lanes, 1);
    }
    g_assert_cmpint(gantt_track_busy(lane->track, kinds[0]), ==, busy_ns[0]);
    g_assert_cmpint(gantt_track_busy(lane->track, kinds[1]), ==, busy_ns[1]);
    g_assert_cmpuint(lane->track->slices->len, <=, GANTT_BINS / GANTT_KEEP_BINS);
    g_assert_cmpint((now_ns - 1000) / gantt_lanes_grid(lanes)->bin_ns, <, GANTT_BINS);

    gantt_track_flatten(lane->track, gantt_lanes_grid(lanes), G_MAXINT64);
    g_assert_cmpuint(lane->track->slices->len, ==, 0);
    g_assert_cmpint(gantt_track_busy(lane->track, kinds[1]), ==, busy_ns[1]);
    gantt_lanes_free(lanes);
}

/* An all-reduce within a step takes its time from it, whichever of the two is binned. */
static void test_inner_slices(void) {
    guint decode = gantt_kind_of("decode", FALSE), reduce = gantt_kind_of("all-reduce", FALSE);
    gint64 inner_ns = 0, outer_ns = 0;
    GanttLanes *lanes = gantt_lanes_new(0);
    GanttLane *lane = gantt_lanes_find(lanes, 1, 1);

    for (gint64 i = 0; i < 1000; i++) {
        gint64 width_ns = i % 7 == 0 ? 90000 : 700, begin_ns = i * 100000;
        GanttSlice step = {
            .start_ns = begin_ns, .end_ns = begin_ns + width_ns, .kind = (guint8)decode};
        GanttSlice within = {
            .start_ns = step.end_ns - width_ns / 5, .end_ns = step.end_ns, .kind = (guint8)reduce};
        gantt_lanes_put(lanes, lane, &step);
        gantt_lanes_put(lanes, lane, &within);
        outer_ns += width_ns;
        inner_ns += width_ns / 5;
    }
    g_assert_cmpint(gantt_track_busy(lane->track, reduce), ==, inner_ns);
    g_assert_cmpint(gantt_track_busy(lane->track, decode), ==, outer_ns - inner_ns);
    gantt_lanes_free(lanes);
}

/* Half of four lanes busy half of the time each: shares of a mean. */
static void test_collapse(void) {
    guint kind = gantt_kind_of("decode", FALSE), next;
    GanttLanes *lanes = gantt_lanes_new(0);

    for (guint process = 1; process <= 4; process++) {
        g_autofree char *name = g_strdup_printf("pool 0 decode %u", process - 1);
        gantt_lanes_name_process(lanes, process, name);
        gantt_lanes_name(lanes, process, 1, "stage 0 (tp 4)");
        GanttSlice one = {
            .start_ns = process <= 2 ? 0 : 4000000, .end_ns = 8000000, .kind = (guint8)kind};
        gantt_lanes_put(lanes, gantt_lanes_find(lanes, process, 1), &one);
    }
    gantt_lanes_name_process(lanes, 9, "system"); /* nothing happens there: no row */
    gantt_lanes_name(lanes, 9, 1, "admission of pool 0");
    g_autoptr(GArray) rows = gantt_lanes_rows(lanes, 3, 1);
    g_assert_cmpuint(rows->len, ==, 1);
    const GanttRow *row = &g_array_index(rows, GanttRow, 0);
    g_assert_cmpstr(row->label, ==, "decode (tp 4)");
    g_assert_cmpuint(row->lanes, ==, 4);
    g_assert_cmpint(gantt_track_busy(row->track, kind), ==, 24000000);
    g_assert_cmpint(gantt_lanes_row(lanes, 3, 1), ==, 0);
    g_assert_cmpint(gantt_lanes_row(lanes, 9, 1), ==, -1);

    const GanttGrid *grid = gantt_lanes_grid(lanes);
    g_autoptr(GanttStack) stack = gantt_stack_new(row->track, grid, row->lanes, 1, 8000000);
    g_assert_true(gantt_stack_next(stack, &next));
    g_assert_cmpuint(next, ==, kind);
    const GanttDensity *density = gantt_stack_density(stack);
    g_assert_cmpuint(density->top[1], ==, GANTT_DENSITY_LEVELS / 2);
    g_assert_cmpuint(density->top[density->n - 2], ==, GANTT_DENSITY_LEVELS);
    g_assert_false(gantt_stack_next(stack, &next));
    gantt_lanes_free(lanes);
}

/* Rows of a group: as they are, thin, or one; traffic is one row from four lanes on. */
static void test_rows(void) {
    const struct {
        const char *lane;
        guint n;
        gint64 thin_ns;
        guint rows;
        gboolean thin;
        const char *label;
    } cases[] = {
        {"core (%u, 0)", 20, 1, 20, FALSE, "core (0, 0)"},
        {"core (%u, 0)", 60, 1, 60, TRUE, "core (0, 0)"},
        {"core (%u, 0)", 60, SECOND, 1, FALSE, "mesh"},
        {"core (%u, 0)", 200, 1, 1, FALSE, "mesh"},
        {"kv_pull %u", 3, 1, 3, FALSE, "0"},
        {"kv_pull %u", 4, 1, 1, FALSE, "KV pull"},
        {"rank %u sends", 4, 1, 4, FALSE, "rank 0 sends"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        GanttLanes *lanes = gantt_lanes_new(0);
        gantt_lanes_name_process(lanes, 0, "mesh");
        for (guint thread = 0; thread < cases[i].n; thread++) {
            g_autofree char *name = g_strdup_printf(cases[i].lane, thread);
            gantt_lanes_name(lanes, 0, thread, name);
            GanttSlice one = {.end_ns = 1000};
            gantt_lanes_put(lanes, gantt_lanes_find(lanes, 0, thread), &one);
        }
        g_autoptr(GArray) rows = gantt_lanes_rows(lanes, 24, cases[i].thin_ns);
        g_assert_cmpuint(rows->len, ==, cases[i].rows);
        g_assert_cmpint(g_array_index(rows, GanttRow, 0).thin, ==, cases[i].thin);
        g_assert_cmpstr(g_array_index(rows, GanttRow, 0).label, ==, cases[i].label);
        gantt_lanes_free(lanes);
    }
}

/* Pools are shown alike, and as one where there are more of them than rows. */
static void test_pools(void) {
    const struct {
        guint pools, rows_max, rows;
        const char *first, *last;
        guint lanes; /* of a row */
    } cases[] = {
        {2, 24, 20, "decode 0", "decode 9", 1},
        {4, 24, 4, "pool 0 decode (tp 4)", "pool 3 decode (tp 4)", 10},
        {30, 24, 1, "decode (tp 4)", "decode (tp 4)", 300},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        GanttLanes *lanes = gantt_lanes_new(0);
        for (guint process = 0; process < 10 * cases[i].pools; process++) {
            g_autofree char *name =
                g_strdup_printf("pool %u decode %u", process / 10, process % 10);
            gantt_lanes_name_process(lanes, process, name);
            gantt_lanes_name(lanes, process, 1, "stage 0 (tp 4)");
            GanttSlice one = {.end_ns = 1000};
            gantt_lanes_put(lanes, gantt_lanes_find(lanes, process, 1), &one);
        }
        g_autoptr(GArray) rows = gantt_lanes_rows(lanes, cases[i].rows_max, SECOND);
        g_assert_cmpuint(rows->len, ==, cases[i].rows);
        g_assert_cmpstr(g_array_index(rows, GanttRow, 0).label, ==, cases[i].first);
        g_assert_cmpstr(g_array_index(rows, GanttRow, rows->len - 1).label, ==, cases[i].last);
        for (guint row = 0; row < rows->len; row++) {
            const GanttRow *shown = &g_array_index(rows, GanttRow, row);
            g_assert_cmpuint(shown->lanes, ==, cases[i].lanes);
            g_assert_cmpint(gantt_track_busy(shown->track, 0), ==, 1000 * cases[i].lanes);
        }
        g_assert_cmpint(gantt_lanes_row(lanes, 10 * cases[i].pools - 1, 1), ==, rows->len - 1);
        gantt_lanes_free(lanes);
    }
}

static void test_axis(void) {
    const struct {
        gint64 from_ns, to_ns;
        guint ticks;
        gint64 step_ns;
        const char *title, *first, *second;
    } cases[] = {
        {0, 9 * SECOND, 10, SECOND, "time (s)", "0", "1"},
        {2500000000, 6 * SECOND, 8, SECOND / 2, "time (s)", "2.5", "3.0"},
        {0, 647 * SECOND, 8, 100 * SECOND, "time (s)", "0", "100"},
        {0, 300000, 7, 50000, "time (\302\265s)", "0", "50"},
        {0, 700, 8, 100, "time (ns)", "0", "100"},
        {0, 14520 * SECOND, 6, 3000 * SECOND, "time (min)", "0", "50"},
        {0, 60 * 3600 * SECOND, 7, 36000 * SECOND, "time (h)", "0", "10"},
        {100 * SECOND, 100 * SECOND + 5000000, 6, 1000000, "time after 100 s (ms)", "0", "1"},
        {1250000000, 1250000900, 3, 500, "time after 1.25 s (ns)", "0", "500"},
        {0, 1, 4, 1, "time (ns)", "0", "1"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        GanttAxis axis = gantt_axis(cases[i].from_ns, cases[i].to_ns, cases[i].ticks);
        gint64 first_ns = gantt_axis_first(&axis, cases[i].from_ns);
        g_autofree char *title = gantt_axis_title(&axis);
        g_autofree char *first = gantt_axis_label(&axis, first_ns);
        g_autofree char *second = gantt_axis_label(&axis, first_ns + axis.step_ns);
        g_assert_cmpint(axis.step_ns, ==, cases[i].step_ns);
        g_assert_cmpint(first_ns, >=, cases[i].from_ns);
        g_assert_cmpstr(title, ==, cases[i].title);
        g_assert_cmpstr(first, ==, cases[i].first);
        g_assert_cmpstr(second, ==, cases[i].second);
    }
}

/* Any span: at most as many ticks as asked for, at least a fifth of them, at 1-2-5 steps. */
static void test_axis_any_span(void) {
    for (gint64 span_ns = 20; span_ns < 100000 * SECOND; span_ns = span_ns * 13 / 10)
        for (guint ticks = 2; ticks <= 12; ticks++) {
            GanttAxis axis = gantt_axis(0, span_ns, ticks);
            gint64 digits =
                axis.step_ns >= axis.unit_ns ? axis.step_ns / axis.unit_ns : axis.step_ns;
            while (digits % 10 == 0)
                digits /= 10;
            g_assert_true(digits == 1 || digits == 2 || digits == 5 || axis.unit_ns > SECOND);
            g_assert_cmpint(span_ns / axis.step_ns + 1, <=, ticks);
            g_assert_cmpint(5 * (span_ns / axis.step_ns + 1), >=, ticks);
        }
}

/* Tones from dark to light, seven steps of L* apart in colour and in grey, and off the paper. */
static void test_palette(void) {
    for (GanttTheme theme = GANTT_COLOUR; theme <= GANTT_GREY; theme++) {
        double last = -7;
        for (GanttTone tone = 0; tone < N_TONES; tone++) {
            double lightness = gantt_lightness(gantt_tone_rgb(tone, theme));
            g_assert_cmpfloat(lightness, >=, last + 7);
            last = lightness;
        }
        g_assert_cmpfloat(last, <=, gantt_lightness(gantt_paper(theme)) - 7);
    }
    g_assert_cmpfloat_with_epsilon(gantt_lightness((GanttRgb){1, 1, 1}), 100, 1e-6);
    g_assert_cmpfloat_with_epsilon(gantt_lightness((GanttRgb){0.5, 0.5, 0.5}), 53.389, 1e-3);
    for (guint i = 0; i < gantt_kinds(); i++)
        for (guint j = 0; j < i; j++)
            g_assert_cmpstr(gantt_kind(i)->name, !=, gantt_kind(j)->name);
    g_assert_cmpstr(gantt_kind(gantt_kind_of("statistics", TRUE))->legend, ==, "transfer");
    g_assert_cmpstr(gantt_kind(gantt_kind_of("norm", FALSE))->legend, ==, "compute");
}

static double decoded(double value) {
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

/* A tone in CIE L*a*b* as an eye sees it, whose 'matrix' is of linear RGB. */
static void perceive(GanttTone tone, const double matrix[3][3], double lab[3]) {
    static const double xyz[3][3] = {{0.4124, 0.3576, 0.1805}, /* IEC 61966-2-1, D65 */
                                     {0.2126, 0.7152, 0.0722},
                                     {0.0193, 0.1192, 0.9505}};
    GanttRgb colour = gantt_tone_rgb(tone, GANTT_COLOUR);
    double light[] = {decoded(colour.red), decoded(colour.green), decoded(colour.blue)};
    double f[3] = {0, 0, 0};

    for (guint i = 0; i < 3; i++) {
        double seen = matrix[i][0] * light[0] + matrix[i][1] * light[1] + matrix[i][2] * light[2];
        for (guint j = 0; j < 3; j++)
            f[j] += xyz[j][i] * CLAMP(seen, 0, 1);
    }
    for (guint j = 0; j < 3; j++) {
        double share = f[j] / (xyz[j][0] + xyz[j][1] + xyz[j][2]);
        f[j] = share > 0.008856 ? cbrt(share) : 7.787 * share + 16.0 / 116;
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

/* For normal eyes and those without one kind of cone any two tones are 20 apart: Machado, Oliveira
 * and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009),
 * table 1 at severity 1. */
static void test_colour_blindness(void) {
    static const double eyes[][3][3] = {
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{0.152286, 1.052583, -0.204868},
         {0.114503, 0.786281, 0.099216},
         {-0.003882, -0.048116, 1.051998}},
        {{0.367322, 0.860646, -0.227968},
         {0.280085, 0.672501, 0.047413},
         {-0.011820, 0.042940, 0.968881}},
        {{1.255528, -0.076749, -0.178779},
         {-0.078411, 0.930809, 0.147602},
         {0.004733, 0.691367, 0.303900}},
    };
    for (gsize eye = 0; eye < G_N_ELEMENTS(eyes); eye++)
        for (GanttTone one = 0; one < N_TONES; one++)
            for (GanttTone other = 0; other < one; other++) {
                double a[3], b[3];
                perceive(one, eyes[eye], a);
                perceive(other, eyes[eye], b);
                double apart =
                    sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
                g_assert_cmpfloat(apart, >=, 20);
            }
}

static void test_names(void) {
    g_autofree char *family = gantt_name_family("pool 0 decode 13");
    g_autofree char *plain = gantt_name_family("network");
    g_autofree char *kind = gantt_name_kind("stage 3 (tp 4)");
    g_autofree char *rank = gantt_name_kind("stage 3 rank 1 (cluster 14)");
    g_autofree char *none = gantt_name_kind("core (1, 2)");
    g_autofree char *heading = gantt_name_heading("decode", "", "(tp 4)");
    g_autofree char *several = gantt_name_label("pool 0 decode 3", "stage 1 (tp 4)", 2, TRUE);
    g_autofree char *one = gantt_name_label("pool 0 decode 3", "stage 1 (tp 4)", 2, FALSE);

    g_assert_cmpstr(family, ==, "pool 0 decode");
    g_assert_cmpstr(plain, ==, "network");
    g_assert_cmpstr(kind, ==, "stage");
    g_assert_cmpstr(rank, ==, "stage");
    g_assert_cmpstr(none, ==, "");
    g_assert_cmpstr(heading, ==, "decode (tp 4)");
    g_assert_cmpstr(several, ==, "decode 3, stage 1");
    g_assert_cmpstr(one, ==, "decode 3");
    g_assert_cmpuint(gantt_name_pool("pool 12 decode"), ==, strlen("pool 12 "));
    g_assert_cmpuint(gantt_name_pool("poolside"), ==, 0);
}

/* However many flows come, a bounded sample over all of them stays. */
static void test_flows(void) {
    GanttFlows flows;
    static const TracePhase phases[] = {TRACE_FLOW_START, TRACE_FLOW_STEP, TRACE_FLOW_END};

    gantt_flows_init(&flows);
    for (guint64 id = 0; id < 10000; id++)
        for (guint i = 0; i < 3; i++)
            gantt_flows_put(&flows, &(TraceEvent){.phase = phases[i], .thread = i, .id = id});
    g_assert_cmpuint(flows.total, ==, 10000);
    g_assert_cmpuint(flows.kept->len, <=, GANTT_FLOWS_MAX);
    g_assert_cmpuint(flows.kept->len, >=, GANTT_FLOWS_MAX / 2);
    for (guint i = 0; i < flows.kept->len; i++) {
        const GanttFlow *flow = &g_array_index(flows.kept, GanttFlow, i);
        g_assert_cmpuint(flow->id, ==, i * flows.stride);
        g_assert_cmpuint(flow->n, ==, 3);
    }
    gantt_flows_clear(&flows);
}

typedef struct Files {
    char *folder, *figure, *caption;
} Files;

static void set_up(Files *files, gconstpointer suffix) {
    files->folder = g_dir_make_tmp("gantt-XXXXXX", NULL);
    files->figure = g_strdup_printf("%s/figure%s", files->folder, (const char *)suffix);
    files->caption = gantt_caption_path(files->figure);
}

static void tear_down(Files *files, gconstpointer suffix) {
    (void)suffix;
    g_remove(files->figure);
    g_remove(files->caption);
    g_assert_cmpint(g_rmdir(files->folder), ==, 0); /* nothing else was left there */
    g_free(files->folder);
    g_free(files->figure);
    g_free(files->caption);
}

/* 100,000 slices on 50 lanes, flows and first tokens among them. */
static void draw_many(const char *path, GanttOptions options) {
    g_autoptr(GError) error = NULL;
    g_autoptr(TraceSink) sink = gantt_new(path, &options, &error);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    g_assert_no_error(error);
    for (guint process = 1; process <= 50; process++) {
        g_autofree char *name = g_strdup_printf("pool %u decode %u", process % 2, process / 2);
        trace_sink_name_process(sink, process, name);
        trace_sink_name_thread(sink, process, 1, "stage 0 (tp 4)");
    }
    for (guint i = 0; i < 100000; i++) {
        gint64 from_ns = i / 50 * 1000000 + g_rand_int_range(random, 0, 200000);
        guint process = 1 + i % 50;
        TraceEvent step = slice(process, 1, i % 9 == 0 ? "prefill" : "decode", from_ns,
                                from_ns + g_rand_int_range(random, 1, 790000));
        trace_sink_put(sink, &step);
        step.phase = i % 2 == 0 ? TRACE_FLOW_START : TRACE_FLOW_END;
        step.id = i / 2;
        trace_sink_put(sink, &step);
        step.phase = TRACE_MARK;
        step.category = "ttft";
        if (i % 100 == 0)
            trace_sink_put(sink, &step);
    }
    g_assert_true(trace_sink_finish(sink, &error));
    g_assert_no_error(error);
}

static void test_large(Files *files, gconstpointer suffix) {
    (void)suffix;
    GanttOptions options = {.to_ns = G_MAXINT64, .width = GANTT_PAGE};
    g_autofree char *first = NULL, *second = NULL;
    gsize bytes, again;
    gint64 since_us = g_get_monotonic_time();

    draw_many(files->figure, options);
    double seconds = (double)(g_get_monotonic_time() - since_us) / 1e6;
    g_test_message("100,000 slices took %.2f s", seconds);
    g_assert_true(g_file_get_contents(files->figure, &first, &bytes, NULL));
    g_assert_cmpuint(bytes, <, 1000000);
    draw_many(files->figure, options);
    g_assert_true(g_file_get_contents(files->figure, &second, &again, NULL));
    g_assert_cmpmem(first, bytes, second, again);
}

/* Every theme fills each kind of slice, single and as an area; patterns are given back with their
 * page, of which a leak checker convinces itself. */
static void test_themes(Files *files, gconstpointer suffix) {
    (void)suffix;
    for (GanttTheme theme = 0; theme < N_GANTT_THEMES; theme++) {
        g_autoptr(GError) error = NULL;
        GanttOptions options = {.to_ns = G_MAXINT64, .theme = theme};
        g_autoptr(TraceSink) sink = gantt_new(files->figure, &options, &error);
        for (guint i = 0; i < 40 * gantt_kinds(); i++) {
            const char *name = gantt_kind(i % gantt_kinds())->name;
            TraceEvent wide = slice(1, 1, name, i * SECOND, (i + 1) * SECOND);
            TraceEvent narrow = slice(1, 2, name, i * SECOND, i * SECOND + SECOND / 100);
            trace_sink_put(sink, &wide);
            trace_sink_put(sink, &narrow);
        }
        g_assert_true(trace_sink_finish(sink, &error));
        g_assert_no_error(error);
    }
}

static void put_prompt(TraceSink *sink, guint process, gint64 from_ns, gint64 to_ns) {
    TraceEvent step = slice(process, 1, "prefill", from_ns, to_ns);

    step.arguments[0] = (TraceArgument){"requests", 1};
    step.arguments[1] = (TraceArgument){"first_request", 7};
    trace_sink_put(sink, &step);
}

/* The path of the arrow's halo in a figure of a prompt, its first decode step and, if 'preempted',
 * the prompt computed again elsewhere. Caller frees. */
static char *arrow_of(const char *path, gboolean preempted) {
    GanttOptions options = {.to_ns = G_MAXINT64};
    g_autoptr(TraceSink) sink = gantt_new(path, &options, NULL);
    TraceEvent decode = slice(3, 1, "decode", 200, 300), later = slice(3, 1, "decode", 500, 900);
    TraceEvent flow = {.phase = TRACE_FLOW_START, .process = 1, .thread = 1, .id = 7};
    g_autofree char *text = NULL;

    put_prompt(sink, 1, 0, 100);
    put_prompt(sink, 2, preempted ? 300 : 20, preempted ? 400 : 30);
    trace_sink_put(sink, &decode);
    trace_sink_put(sink, &later);
    trace_sink_put(sink, &flow);
    flow =
        (TraceEvent){.phase = TRACE_FLOW_END, .process = 3, .thread = 1, .start_ns = 200, .id = 7};
    trace_sink_put(sink, &flow);
    g_assert_true(trace_sink_finish(sink, NULL));
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    char *halo = strstr(text, "stroke-width:1.1;");
    g_assert_nonnull(halo);
    char *line = strstr(halo, " d=\"");
    g_assert_nonnull(line);
    return g_strndup(line, strcspn(line, "/\n"));
}

/* An arrow leaves the step that made the KV, not a later one that makes it again. */
static void test_preempted(Files *files, gconstpointer suffix) {
    (void)suffix;
    g_autofree char *plain = arrow_of(files->figure, FALSE);
    g_autofree char *preempted = arrow_of(files->figure, TRUE);

    g_assert_cmpstr(preempted, ==, plain);
}

/* The caption says what was done to the lanes and what the caller has to say. */
static void test_caption(Files *files, gconstpointer suffix) {
    (void)suffix;
    static const char *const lines[] = {"Llama-2 7B, seed 1.", NULL};
    GanttOptions options = {.from_ns = SECOND / 2,
                            .to_ns = SECOND,
                            .title = "Decoding",
                            .caption = lines,
                            .caption_path = files->caption};
    g_autofree char *text = NULL;

    draw_many(files->figure, options);
    g_assert_true(g_file_get_contents(files->caption, &text, NULL, NULL));
    g_assert_true(g_str_has_prefix(text, "Decoding.\nLlama-2 7B, seed 1.\n"
                                         "Simulated time from 500 ms to 1 s. "));
    g_assert_nonnull(strstr(text, "pool 0 decode (tp 4) is the mean of 25 lanes"));
    g_assert_nonnull(strstr(text, "infergrid"));
}

static void test_nothing(Files *files, gconstpointer suffix) {
    (void)suffix;
    g_autoptr(GError) error = NULL;
    GanttOptions options = {.from_ns = 10, .to_ns = 20, .caption_path = files->caption};
    g_autoptr(TraceSink) sink = gantt_new(files->figure, &options, &error);
    TraceEvent before = slice(1, 1, "decode", 0, 10), behind = slice(1, 1, "decode", 20, 30);

    trace_sink_name_thread(sink, 1, 1, "stage 0");
    trace_sink_put(sink, &before);
    trace_sink_put(sink, &behind);
    g_assert_false(trace_sink_finish(sink, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_VALUE);
    g_assert_false(g_file_test(files->figure, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(files->caption, G_FILE_TEST_EXISTS));
}

static void test_bad_paths(Files *files, gconstpointer suffix) {
    (void)suffix;
    g_autoptr(GError) wrong = NULL, missing = NULL;
    g_autofree char *nowhere = g_build_filename(files->folder, "none", "figure.pdf", NULL);
    GanttOptions options = {.to_ns = G_MAXINT64};
    TraceEvent step = slice(1, 1, "decode", 0, 10);

    g_assert_null(gantt_new("figure.png", &options, &wrong));
    g_assert_error(wrong, INPUT_ERROR, INPUT_ERROR_VALUE);
    g_autoptr(TraceSink) sink = gantt_new(nowhere, &options, NULL);
    trace_sink_put(sink, &step);
    g_assert_false(trace_sink_finish(sink, &missing));
    g_assert_error(missing, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gantt/binning conserves busy time", test_binning_conserves);
    g_test_add_func("/gantt/inner slices", test_inner_slices);
    g_test_add_func("/gantt/collapse", test_collapse);
    g_test_add_func("/gantt/rows", test_rows);
    g_test_add_func("/gantt/pools", test_pools);
    g_test_add_func("/gantt/axis", test_axis);
    g_test_add_func("/gantt/axis of any span", test_axis_any_span);
    g_test_add_func("/gantt/palette", test_palette);
    g_test_add_func("/gantt/colour blindness", test_colour_blindness);
    g_test_add_func("/gantt/names", test_names);
    g_test_add_func("/gantt/flows", test_flows);
    g_test_add("/gantt/large pdf", Files, ".pdf", set_up, test_large, tear_down);
    g_test_add("/gantt/large svg", Files, ".svg", set_up, test_large, tear_down);
    g_test_add("/gantt/themes as pdf", Files, ".pdf", set_up, test_themes, tear_down);
    g_test_add("/gantt/themes as svg", Files, ".svg", set_up, test_themes, tear_down);
    g_test_add("/gantt/preempted", Files, ".svg", set_up, test_preempted, tear_down);
    g_test_add("/gantt/caption", Files, ".pdf", set_up, test_caption, tear_down);
    g_test_add("/gantt/nothing", Files, ".svg", set_up, test_nothing, tear_down);
    g_test_add("/gantt/bad paths", Files, ".pdf", set_up, test_bad_paths, tear_down);
    return g_test_run();
}
