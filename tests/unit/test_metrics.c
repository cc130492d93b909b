#include "analysis/run/metrics.h"
#include "served_request_fixture.h"

#include <math.h>

/* Queued for 1 s, its first token after 2 s, the others at 0.5 s each. */
static ServedRequest completed_request(guint64 id, double arrival_s, guint32 tokens) {
    ServedRequest served = served_request(id, arrival_s, tokens);
    served.prefill_start_s = arrival_s + 1;
    served.first_token_s = arrival_s + 2;
    served.generated = tokens;
    served.completed_s = served.first_token_s + 0.5 * (tokens - 1);
    return served;
}

static void complete(Metrics *metrics, const ServedRequest *served) {
    tell(metrics_observer(metrics), EVENT_COMPLETED, served->completed_s, served);
}

static void test_latencies_follow_their_definitions(void) {
    ServedRequest served = completed_request(0, 10, 5);
    g_assert_cmpfloat(latency_of(LATENCY_QUEUEING, &served), ==, 1);
    g_assert_cmpfloat(latency_of(LATENCY_TTFT, &served), ==, 2);
    g_assert_cmpfloat(latency_of(LATENCY_E2E, &served), ==, 4);
    g_assert_cmpfloat(latency_of(LATENCY_TPOT, &served), ==, 0.5); /* four gaps for five tokens */
}

static void test_one_token_has_no_tpot(void) {
    ServedRequest served = completed_request(0, 0, 1);
    g_assert_cmpfloat(latency_of(LATENCY_TPOT, &served), ==, -1);
    g_assert_cmpfloat(latency_of(LATENCY_E2E, &served), ==, latency_of(LATENCY_TTFT, &served));
    g_autoptr(Metrics) metrics = metrics_new(&(Slo){0}, &(OutputSpec){0}, 0);
    complete(metrics, &served);
    const MetricsWindow *whole = metrics_whole(metrics);
    g_assert_cmpuint(whole->requests, ==, 1);
    g_assert_cmpuint(histogram_count(whole->latencies[LATENCY_TPOT]), ==, 0);
    g_assert_cmpuint(histogram_count(whole->latencies[LATENCY_E2E]), ==, 1);
}

static void test_only_completed_requests_count(void) {
    ServedRequest served = served_request(0, 0, 4);
    g_autoptr(Metrics) metrics = metrics_new(&(Slo){0}, &(OutputSpec){0}, 0);
    tell(metrics_observer(metrics), EVENT_ARRIVED, 0, &served);
    tell(metrics_observer(metrics), EVENT_REJECTED, 0, &served);
    tell(metrics_observer(metrics), EVENT_DROPPED, 1, &served);
    g_assert_cmpuint(metrics_whole(metrics)->requests, ==, 0);
    g_assert_null(metrics_steady(metrics));
}

static void test_good_requests_keep_every_limit(void) {
    static const struct {
        const char *what;
        Slo slo;
        guint64 good, met_ttft, met_tpot, met_e2e;
    } cases[] = {
        {"no limit", {.ttft = {0, 0.99}}, 3, 0, 0, 0},
        {"ttft holds at the limit itself", {.ttft = {2, 0.99}}, 3, 3, 0, 0},
        {"ttft fails", {.ttft = {1.999, 0.99}}, 0, 0, 0, 0},
        {"a single token keeps any tpot", {.tpot = {0.4, 0.99}}, 1, 0, 0, 0},
        {"e2e cuts the long one", {.e2e = {4, 0.99}}, 2, 0, 0, 2},
        {"all must hold", {.ttft = {3, 0.9}, .tpot = {0.5, 0.9}, .e2e = {4, 0.9}}, 2, 3, 2, 2},
    };
    const ServedRequest requests[] = {completed_request(0, 0, 1), completed_request(1, 0, 5),
                                      completed_request(2, 0, 9)};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Metrics) metrics = metrics_new(&cases[i].slo, &(OutputSpec){0}, 0);
        for (guint request = 0; request < G_N_ELEMENTS(requests); request++)
            complete(metrics, &requests[request]);
        const MetricsWindow *whole = metrics_whole(metrics);
        g_test_message("%s", cases[i].what);
        g_assert_cmpuint(whole->good, ==, cases[i].good);
        g_assert_cmpuint(whole->met[LATENCY_TTFT], ==, cases[i].met_ttft);
        g_assert_cmpuint(whole->met[LATENCY_TPOT], ==, cases[i].met_tpot);
        g_assert_cmpuint(whole->met[LATENCY_E2E], ==, cases[i].met_e2e);
        g_assert_cmpuint(whole->met[LATENCY_QUEUEING], ==, 0);
    }
}

static void test_window_takes_requests_by_arrival_and_tokens_by_completion(void) {
    OutputSpec output = {.warmup_s = 10, .cooldown_s = 5};
    g_autoptr(Metrics) metrics = metrics_new(&(Slo){0}, &output, 30); /* window [10, 25] */
    const ServedRequest requests[] = {
        completed_request(0, 1, 3),     /* before it, and done before it */
        completed_request(1, 9, 5),     /* arrived before it, done at 13 */
        completed_request(2, 10, 7),    /* on its edge, done at 15 */
        completed_request(3, 25, 9),    /* on its edge, done after it */
        completed_request(4, 25.01, 2), /* after it */
    };
    for (guint i = 0; i < G_N_ELEMENTS(requests); i++)
        complete(metrics, &requests[i]);
    metrics_finish(metrics, 100);
    const MetricsWindow *steady = metrics_steady(metrics), *whole = metrics_whole(metrics);
    g_assert_cmpfloat(steady->from_s, ==, 10);
    g_assert_cmpfloat(steady->to_s, ==, 25);
    g_assert_cmpuint(steady->requests, ==, 2);
    g_assert_cmpuint(steady->output_tokens, ==, 16);
    g_assert_cmpuint(steady->completed_in_window, ==, 2);
    g_assert_cmpuint(steady->tokens_in_window, ==, 12);
    g_assert_cmpuint(steady->prompt_tokens_in_window, ==, 200);
    g_assert_cmpuint(whole->requests, ==, 5);
    g_assert_cmpuint(whole->tokens_in_window, ==, 26);
    g_assert_cmpuint(whole->prompt_tokens, ==, 500);
    g_assert_cmpfloat(whole->to_s, ==, 100);
}

static void test_closed_loop_window_ends_with_the_run(void) {
    OutputSpec output = {.warmup_s = 10};
    ServedRequest early = completed_request(0, 0, 2), late = completed_request(1, 50, 2);
    g_autoptr(Metrics) metrics = metrics_new(&(Slo){0}, &output, INFINITY);
    complete(metrics, &early);
    complete(metrics, &late);
    metrics_finish(metrics, 52.5);
    g_assert_cmpuint(metrics_steady(metrics)->requests, ==, 1);
    g_assert_cmpfloat(metrics_steady(metrics)->to_s, ==, 52.5);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/metrics/latencies_follow_their_definitions",
                    test_latencies_follow_their_definitions);
    g_test_add_func("/metrics/one_token_has_no_tpot", test_one_token_has_no_tpot);
    g_test_add_func("/metrics/only_completed_requests_count", test_only_completed_requests_count);
    g_test_add_func("/metrics/good_requests_keep_every_limit", test_good_requests_keep_every_limit);
    g_test_add_func("/metrics/window_takes_requests_by_arrival_and_tokens_by_completion",
                    test_window_takes_requests_by_arrival_and_tokens_by_completion);
    g_test_add_func("/metrics/closed_loop_window_ends_with_the_run",
                    test_closed_loop_window_ends_with_the_run);
    return g_test_run();
}
