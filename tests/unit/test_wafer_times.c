#include "platforms/wafer_times.h"

#include <math.h>

/* The steps of a time that is 1 ms + 10 us for every 100 tokens begun, with its points on both
 * sides, and a slope within. */
static double stepped(guint32 tokens) {
    return 1e-3 + 1e-5 * (double)((tokens + 99) / 100) + 1e-9 * (double)tokens;
}

static WaferTimes *stepped_times(void) {
    WaferTimes *times = wafer_times_new();
    for (guint32 step = 0; step < 10; step++) {
        guint32 ends[] = {100 * step + 1, 100 * (step + 1)};
        for (guint i = 0; i < 2; i++)
            wafer_times_add(times, WAFER_DECODE, ends[i], stepped(ends[i]));
    }
    return times;
}

static void points_give_back_their_times(void) {
    g_autoptr(WaferTimes) times = stepped_times();
    g_assert_cmpuint(wafer_times_points(times, WAFER_DECODE), ==, 20);
    g_assert_cmpuint(wafer_times_points(times, WAFER_PREFILL), ==, 0);
    for (guint32 tokens = 1; tokens <= 1000; tokens += tokens % 100 == 1 ? 99 : 1)
        g_assert_cmpfloat_with_epsilon(wafer_times_seconds(times, WAFER_DECODE, tokens),
                                       stepped(tokens), 1e-12);
}

static void between_points_a_time_is_linear(void) {
    g_autoptr(WaferTimes) times = stepped_times();
    for (guint32 tokens = 1; tokens <= 1000; tokens++)
        g_assert_cmpfloat_with_epsilon(wafer_times_seconds(times, WAFER_DECODE, tokens),
                                       stepped(tokens), 2e-12);
}

static void phases_are_apart_and_zero_tokens_may_be_a_point(void) {
    g_autoptr(WaferTimes) times = wafer_times_new();
    wafer_times_add(times, WAFER_TRANSITION, 0, 2e-3);
    wafer_times_add(times, WAFER_TRANSITION, 1000, 4e-3);
    wafer_times_add(times, WAFER_PREFILL, 1, 7);
    g_assert_cmpfloat(wafer_times_seconds(times, WAFER_TRANSITION, 0), ==, 2e-3);
    g_assert_cmpfloat_with_epsilon(wafer_times_seconds(times, WAFER_TRANSITION, 250), 2.5e-3,
                                   1e-15);
    g_assert_cmpfloat(wafer_times_seconds(times, WAFER_PREFILL, 1), ==, 7);
}

/* 12 tokens over 4 rows, then each new one in the last: as 16, 20 … spread evenly. */
static void concat_counts_the_last_row(void) {
    g_autoptr(WaferTimes) times = stepped_times();
    g_assert_cmpuint(wafer_times_decode_key(times, 12, 15), ==, 15);
    double even_s = wafer_times_decode_seconds(times, 20);
    wafer_times_concat(times, 4);
    for (guint32 context = 13; context < 20; context++)
        g_assert_cmpuint(wafer_times_decode_key(times, 12, context), ==, 3 + context - 12);
    g_assert_cmpuint(wafer_times_decode_key(times, 15, 16), ==, 4); /* the upper rows had 4 */
    g_assert_cmpfloat(wafer_times_decode_seconds(times, 5), ==, even_s);
}

static void seconds_are_whole_picoseconds(void) {
    g_autoptr(WaferTimes) times = wafer_times_new();
    wafer_times_add(times, WAFER_PREFILL, 5, 1.2345678901234e-3);
    g_assert_cmpfloat(wafer_times_seconds(times, WAFER_PREFILL, 5), ==, 1234567890.0 * 1e-12);
}

static void ask_beyond(gconstpointer tokens) {
    if (g_test_subprocess()) {
        g_autoptr(WaferTimes) times = stepped_times();
        wafer_times_seconds(times, WAFER_DECODE, GPOINTER_TO_UINT(tokens));
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wafer_times/points_give_back_their_times", points_give_back_their_times);
    g_test_add_func("/wafer_times/between_points_a_time_is_linear",
                    between_points_a_time_is_linear);
    g_test_add_func("/wafer_times/phases_are_apart",
                    phases_are_apart_and_zero_tokens_may_be_a_point);
    g_test_add_func("/wafer_times/concat_counts_the_last_row", concat_counts_the_last_row);
    g_test_add_func("/wafer_times/seconds_are_whole_picoseconds", seconds_are_whole_picoseconds);
    g_test_add_data_func("/wafer_times/nothing_before_the_first_point", GUINT_TO_POINTER(0),
                         ask_beyond);
    g_test_add_data_func("/wafer_times/nothing_after_the_last_point", GUINT_TO_POINTER(1001),
                         ask_beyond);
    return g_test_run();
}
