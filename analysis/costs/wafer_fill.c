#include "analysis/costs/wafer_fill.h"

#include <math.h>

#define ALL_STEPS 16    /* so many first steps are all simulated */
#define GROUPS_GROWTH 8 /* of groups g, every ⌈g / 8⌉th: within 1/8 of each other */

/* One phase's time over tokens. Step k is of the tokens k · quantum + 1 … (k + 1) · quantum. */
typedef struct Curve {
    const WaferFillInput *input;
    WaferPhase phase;
    guint32 quantum, most;
} Curve;

static WaferPoint point_of(const WaferFillInput *input, guint grid, guint32 tokens) {
    return (WaferPoint){.model = input->model,
                        .system = input->plan->wafer.spec.system,
                        .grid = grid,
                        .tokens = tokens,
                        .k_tree = (guint)input->plan->wafer.spec.k_tree,
                        .with_head = TRUE};
}

static WaferTransition transition_of(const WaferFillInput *input, guint32 tokens) {
    const WaferSpec *spec = &input->plan->wafer.spec;
    return (WaferTransition){.model = input->model,
                             .prefill_grid = (guint)spec->prefill_grid,
                             .decode_grid = (guint)spec->decode_grid,
                             .tokens = tokens,
                             .regions = (guint)spec->regions,
                             .outside = (guint)input->plan->wafer.outside_layers};
}

static WaferPoint decode_point(const WaferFillInput *input, guint32 tokens) {
    WaferPoint point = point_of(input, (guint)input->plan->wafer.spec.decode_grid, tokens);
    point.regions = (guint)input->plan->wafer.spec.regions;
    point.turns = TRUE;
    point.kv_shift = input->plan->wafer.spec.kv == KV_SHIFT;
    return point;
}

static WaferPoint prefill_point(const WaferFillInput *input, guint32 tokens) {
    WaferPoint point = point_of(input, (guint)input->plan->wafer.spec.prefill_grid, tokens);
    point.outside = (guint)input->plan->wafer.outside_layers;
    return point;
}

static void want(const Curve *curve, guint32 tokens) {
    const WaferFillInput *input = curve->input;
    WaferPoint prefill = prefill_point(input, tokens);
    WaferPoint decode = decode_point(input, tokens);
    WaferTransition transition = transition_of(input, tokens);

    if (curve->phase == WAFER_PREFILL)
        wafer_costs_want_prefill(input->costs, &prefill);
    else if (curve->phase == WAFER_DECODE)
        wafer_costs_want_decode(input->costs, &decode);
    else
        wafer_costs_want_transition(input->costs, &transition);
}

/* Negative and an error where it cannot be. */
static double seconds_of(const Curve *curve, guint32 tokens, GError **error) {
    const WaferFillInput *input = curve->input;
    WaferPoint prefill = prefill_point(input, tokens);
    WaferPoint decode = decode_point(input, tokens);
    WaferTransition transition = transition_of(input, tokens);
    double cycles;

    if (curve->phase == WAFER_PREFILL)
        cycles = wafer_prefill_cycles(input->costs, &prefill, error);
    else if (curve->phase == WAFER_DECODE)
        cycles = wafer_decode_cycles(input->costs, &decode, error);
    else
        cycles = wafer_transition_cycles(input->costs, &transition, error);
    return cycles / input->platform->mesh.clock_hz;
}

static guint32 first_of(const Curve *curve, guint32 step) {
    return step * curve->quantum + 1;
}

/* The last step is whole, too: a little more than is needed. */
static guint32 last_of(const Curve *curve, guint32 step) {
    return (step + 1) * curve->quantum;
}

static guint32 steps_of(const Curve *curve) {
    return (curve->most - 1) / curve->quantum + 1;
}

/* The steps to simulate, in ascending order: guint32. */
static GArray *chosen_steps(const Curve *curve) {
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(guint32));
    guint32 n = steps_of(curve), lanes = (guint32)curve->input->platform->mesh.fp16.lanes;

    for (guint32 step = 0; step < MIN(n, ALL_STEPS); step++)
        g_array_append_val(chosen, step);
    for (guint32 group = ALL_STEPS / lanes; group * lanes < n;
         group += (group + GROUPS_GROWTH - 1) / GROUPS_GROWTH)
        for (guint32 end = 0; end < 2; end++) {
            guint32 step = group * lanes + end * (lanes - 1);
            if (step >= ALL_STEPS && step < n - 1 &&
                step > g_array_index(chosen, guint32, chosen->len - 1))
                g_array_append_val(chosen, step);
        }
    guint32 last = n - 1;
    if (g_array_index(chosen, guint32, chosen->len - 1) < last)
        g_array_append_val(chosen, last);
    return chosen;
}

static void want_curve(const Curve *curve) {
    g_autoptr(GArray) chosen = chosen_steps(curve);

    for (guint i = 0; i < chosen->len; i++) {
        guint32 step = g_array_index(chosen, guint32, i);
        want(curve, first_of(curve, step));
        want(curve, last_of(curve, step));
    }
}

/* Both ends of a step. */
typedef struct StepTimes {
    double first_s, last_s;
} StepTimes;

static gboolean step_times(const Curve *curve, guint32 step, StepTimes *times, GError **error) {
    times->first_s = seconds_of(curve, first_of(curve, step), error);
    times->last_s = times->first_s < 0 ? -1 : seconds_of(curve, last_of(curve, step), error);
    return times->last_s >= 0;
}

static void add_step(const Curve *curve, WaferTimes *times, guint32 step, StepTimes seconds) {
    wafer_times_add(times, curve->phase, first_of(curve, step), seconds.first_s);
    if (curve->quantum > 1)
        wafer_times_add(times, curve->phase, last_of(curve, step), seconds.last_s);
}

/* The steps after 'from' up to 'to', those in between on lines. */
static void add_steps(const Curve *curve, WaferTimes *times, const guint32 steps[2],
                      const StepTimes ends[2]) {
    for (guint32 step = steps[0] + 1; step <= steps[1]; step++) {
        double share = (double)(step - steps[0]) / (double)(steps[1] - steps[0]);
        StepTimes seconds = {ends[0].first_s + share * (ends[1].first_s - ends[0].first_s),
                             ends[0].last_s + share * (ends[1].last_s - ends[0].last_s)};
        add_step(curve, times, step, step == steps[1] ? ends[1] : seconds);
    }
}

static gboolean add_curve(const Curve *curve, WaferTimes *times, GError **error) {
    g_autoptr(GArray) chosen = chosen_steps(curve);
    guint32 steps[2] = {0, 0};
    StepTimes ends[2] = {{0}};

    for (guint i = 0; i < chosen->len; i++) {
        steps[1] = g_array_index(chosen, guint32, i);
        if (!step_times(curve, steps[1], &ends[1], error))
            return FALSE;
        if (i == 0)
            add_step(curve, times, steps[1], ends[1]);
        else
            add_steps(curve, times, steps, ends);
        steps[0] = steps[1];
        ends[0] = ends[1];
    }
    return TRUE;
}

/* Weights alone, and with two amounts of KV, which grows evenly. */
static void transition_tokens(const WaferFillInput *input, guint32 tokens[3]) {
    tokens[0] = 0;
    tokens[1] = (input->most_prompt + 1) / 2;
    tokens[2] = input->most_prompt;
}

static gboolean add_transition(const Curve *curve, WaferTimes *times, GError **error) {
    guint32 tokens[3];

    transition_tokens(curve->input, tokens);
    for (guint i = 0; i < G_N_ELEMENTS(tokens); i++) {
        if (i > 0 && tokens[i] == tokens[i - 1])
            continue;
        double seconds = seconds_of(curve, tokens[i], error);
        if (seconds < 0)
            return FALSE;
        wafer_times_add(times, WAFER_TRANSITION, tokens[i], seconds);
    }
    return TRUE;
}

static void want_transition(const Curve *curve) {
    guint32 tokens[3];

    transition_tokens(curve->input, tokens);
    for (guint i = 0; i < G_N_ELEMENTS(tokens); i++)
        want(curve, tokens[i]);
}

/* Of tokens spread evenly. Where all new ones go to the last row, they count in every row; a
 * request whose row would overflow is rejected. */
static guint32 most_context(const WaferFillInput *input) {
    const WaferUse *use = &input->plan->wafer;
    if (use->spec.kv == KV_SHIFT)
        return input->most_context;
    guint64 most = wafer_use_even_context(&use->spec, input->most_prompt, input->most_context);
    return (guint32)MIN(most, MAX(wafer_use_tokens(use), 1));
}

WaferTimes *wafer_fill(const WaferFillInput *input, GError **error) {
    const WaferSpec *spec = &input->plan->wafer.spec;
    const Curve prefill = {input, WAFER_PREFILL, (guint32)spec->prefill_grid, input->most_prompt};
    const Curve decode = {input, WAFER_DECODE, (guint32)spec->decode_grid, most_context(input)};
    const Curve transition = {.input = input, .phase = WAFER_TRANSITION};
    g_autoptr(WaferTimes) times = wafer_times_new();

    if (spec->kv == KV_CONCAT)
        wafer_times_concat(times, (guint32)spec->decode_grid);
    want_curve(&prefill);
    want_curve(&decode);
    want_transition(&transition);
    if (!wafer_costs_fill(input->costs, error) || !add_curve(&prefill, times, error) ||
        !add_curve(&decode, times, error) || !add_transition(&transition, times, error))
        return NULL;
    return g_steal_pointer(&times);
}
