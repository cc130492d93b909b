#include "policies/routing.h"

typedef struct Case {
    const char *name;
    RoutingKind kind;
    guint64 requests[4], tokens[4];
    guint n, expected;
} Case;

static const Case cases[] = {
    {"least_loaded/fewest_tokens", ROUTING_LEAST_LOADED, {0, 9, 1, 1}, {30, 20, 40, 50}, 4, 1},
    {"least_loaded/tie_to_lowest", ROUTING_LEAST_LOADED, {9, 9, 0, 0}, {30, 20, 20, 20}, 4, 1},
    {"least_loaded/only_one", ROUTING_LEAST_LOADED, {5}, {7}, 1, 0},
    {"least_loaded/last", ROUTING_LEAST_LOADED, {0, 0, 0, 9}, {4, 3, 2, 1}, 4, 3},
    {"shortest_queue/fewest_requests", ROUTING_SHORTEST_QUEUE, {4, 3, 2, 3}, {1, 1, 99, 1}, 4, 2},
    {"shortest_queue/tie_to_lowest", ROUTING_SHORTEST_QUEUE, {2, 2, 2, 2}, {9, 1, 0, 1}, 4, 0},
    {"shortest_queue/only_one", ROUTING_SHORTEST_QUEUE, {8}, {8}, 1, 0},
};

static void chooses_by_its_measure(gconstpointer data) {
    const Case *row = data;
    ReplicaLoad loads[4];
    for (guint i = 0; i < row->n; i++)
        loads[i] = (ReplicaLoad){row->requests[i], row->tokens[i]};
    Router router = router_new(row->kind);
    /* Asked twice: nothing but the loads decides. */
    g_assert_cmpuint(router_choose(&router, loads, row->n), ==, row->expected);
    g_assert_cmpuint(router_choose(&router, loads, row->n), ==, row->expected);
}

static void round_robin_takes_turns_whatever_the_load(void) {
    const ReplicaLoad loads[] = {{100, 100}, {0, 0}, {50, 50}};
    Router router = router_new(ROUTING_ROUND_ROBIN);
    for (guint i = 0; i < 10; i++)
        g_assert_cmpuint(router_choose(&router, loads, 3), ==, i % 3);
}

/* Sending equal requests one by one, both measures fill the replicas evenly. */
static void equal_requests_spread_evenly(void) {
    const RoutingKind kinds[] = {ROUTING_ROUND_ROBIN, ROUTING_LEAST_LOADED, ROUTING_SHORTEST_QUEUE};
    for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
        ReplicaLoad loads[5] = {0};
        Router router = router_new(kinds[k]);
        for (guint i = 0; i < 50; i++) {
            guint chosen = router_choose(&router, loads, 5);
            loads[chosen].requests++;
            loads[chosen].outstanding_tokens += 640;
        }
        for (guint i = 0; i < 5; i++)
            g_assert_cmpuint(loads[i].requests, ==, 10);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strconcat("/routing/", cases[i].name, NULL);
        g_test_add_data_func(path, &cases[i], chooses_by_its_measure);
    }
    g_test_add_func("/routing/round_robin/takes_turns_whatever_the_load",
                    round_robin_takes_turns_whatever_the_load);
    g_test_add_func("/routing/equal_requests_spread_evenly", equal_requests_spread_evenly);
    return g_test_run();
}
