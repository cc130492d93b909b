/* Whole runs against figures computed by hand: operators and transfers summed, queueing theory,
 * pipelines, scaling. */
#include "tests/engine/run.h"

#include "platforms/network.h"
#include "platforms/step_cost.h"
#include <math.h>

#define HEADER "version: 1\nplatform: mt3000\nmodel: llama-2-7b\n"

typedef struct Machine {
    Experiment *experiment;
    OpCosts *costs;
    DeviceModel device;
} Machine;

static double graph_seconds(const Machine *machine, OpGraph *graph) {
    double seconds = 0;
    for (guint i = 0; i < graph->units->len; i++)
        seconds +=
            machine->device
                .class->unit_cost(&machine->device, &g_array_index(graph->units, FusionUnit, i))
                .seconds;
    op_graph_free(graph);
    return seconds;
}

/* All layers, embedding and head on one stage of 'tp' ranks, without all-reduces. */
static double step_seconds(const Machine *machine, Segment segment, guint tp) {
    const Model *model = machine->experiment->model;
    BatchShape batch = {&segment, 1, 1};
    return graph_seconds(machine, op_graph_embedding(model, &batch)) +
           (double)model->layers *
               graph_seconds(machine, device_layer(&machine->device, model, &batch, tp)) +
           graph_seconds(machine, device_head(&machine->device, model, &batch, tp));
}

static Machine machine_new(const char *text) {
    Machine machine = {.experiment = experiment_of(text, NULL)};
    machine.costs = costs_of(machine.experiment);
    machine.device = device_model(machine.experiment->platform, machine.costs);
    return machine;
}

static void machine_clear(Machine *machine) {
    op_costs_free(machine->costs);
    experiment_free(machine->experiment);
}

#define ONE_PBD                                                                                    \
    HEADER "policy:\n  mode: pbd\n  max_context: 1024\n  prefill: {dp: 1}\n"                       \
           "  buffer: {clusters: 1}\n  decode: {tp: 4, dp: 1, slots: 4}\n"                         \
           "workload:\n  synthetic:\n    requests: 1\n    arrivals: {process: batch}\n"            \
           "    prompt: {distribution: fixed, tokens: 512}\n"                                      \
           "    output: {distribution: fixed, tokens: 8}\n"

static void test_one_request_is_the_sum_of_its_parts(gconstpointer grain) {
    const char *const overrides[] = {grain, NULL};
    g_autoptr(RunResult) result = run_well(ONE_PBD, &(RunOptions){.overrides = overrides});
    Machine machine = machine_new(ONE_PBD);
    const Experiment *experiment = machine.experiment;
    const ReplicaPlan *prefill = &experiment->plan->replicas[0];
    const ReplicaPlan *decode = &experiment->plan->replicas[1];
    guint buffer = experiment->plan->buffers[0].cluster;
    const ServedRequest *served = &result->requests[0];

    double prefill_s = step_seconds(&machine, (Segment){512, 0}, 1);
    /* At operator grain the KV that leaves shares the DDR with the operators' blocks: it takes no
     * more of it than its port lets through. */
    gboolean contends = g_str_has_suffix(grain, "operator");
    double ddr = experiment->platform->cluster.ddr_bytes_per_s;
    double slower = contends ? ddr / (ddr - experiment->platform->network.port.bytes_per_s) : 1;
    g_assert_cmpfloat(served->first_token_s, >=, prefill_s * (1 - 1e-9));
    g_assert_cmpfloat(served->first_token_s, <=, prefill_s * slower * (1 + 1e-9));

    /* Computing a layer takes longer than sending its KV, and the head longer than sending that of
     * the last layer: all of it is there with the first token. */
    double layer_bytes = 512.0 * (double)model_kv_bytes_per_token_layer(experiment->model);
    double last_layer_s = network_transfer_seconds(
        experiment->platform, prefill->stages[0].clusters[0], buffer, layer_bytes);
    BatchShape sampled = {.sampled = 1};
    double head_s =
        graph_seconds(&machine, device_head(&machine.device, experiment->model, &sampled, 1));
    g_assert_cmpfloat(last_layer_s, <, head_s);
    g_assert_cmpfloat(served->buffered_s, ==, served->first_token_s);

    double pull_s = network_transfer_seconds(experiment->platform, buffer,
                                             decode->stages[0].clusters[0], 32 * layer_bytes);
    assert_close(served->decode_start_s - served->buffered_s, pull_s, 1e-9);

    double ring_s = network_ring_all_reduce_seconds(experiment->platform,
                                                    decode->stages[0].clusters, 4, 4096 * 2);
    double decode_s = 0;
    for (guint32 past = 512; past < 512 + 7; past++)
        decode_s += step_seconds(&machine, (Segment){1, past}, 4) + 64 * ring_s;
    /* Tables have lines between points, within 0.2 % of attention, and are rounded to 1 ps. */
    assert_close(served->completed_s - served->decode_start_s, decode_s, contends ? 1e-4 : 1e-9);
    machine_clear(&machine);
}

/* THInfer table VII, A2, 7B: twelve clusters, one request of 512/128 at a time on each: 26
 * tokens/s. 13.2 GB of weights at 30 GB/s, the KV, the prompt and two launches a layer give it. */
static void test_twelve_clusters_one_request_each(void) {
    g_autoptr(RunResult) result =
        run_well(HEADER "policy:\n  mode: colocated\n"
                        "  colocated: {tp: 1, dp: 12, slots: 1, batching: static}\n"
                        "workload:\n  synthetic:\n    requests: 48\n"
                        "    arrivals: {process: closed_loop, users: 12, think_time: 0 s}\n"
                        "    prompt: {distribution: fixed, tokens: 512}\n"
                        "    output: {distribution: fixed, tokens: 128}\n",
                 NULL);
    double tokens_per_s = (double)result->ledger.output_tokens_done / result->ledger.end_s;
    assert_close(tokens_per_s, 26, 0.03);
}

/* Poisson arrivals, one server, constant service time D: the mean wait is rho·D / (2(1 − rho))
 * (Pollaczek–Khinchine). */
static void test_queueing_is_m_d_1(void) {
    const char *text = HEADER "seed: 3\npolicy:\n  mode: pbd\n  max_context: 1024\n"
                              "  prefill: {dp: 1}\n  decode: {tp: 1, dp: 1}\n"
                              "workload:\n  synthetic:\n    requests: 20000\n"
                              "    arrivals: {process: poisson, rate: 1 /s}\n"
                              "    prompt: {distribution: fixed, tokens: 512}\n"
                              "    output: {distribution: fixed, tokens: 1}\n";
    Machine machine = machine_new(text);
    double service_s = step_seconds(&machine, (Segment){512, 0}, 1);
    machine_clear(&machine);
    double rho = 0.6;
    g_autofree char *rate =
        g_strdup_printf("workload.synthetic.arrivals.rate=%.9f /s", rho / service_s);
    const char *const overrides[] = {rate, NULL};
    g_autoptr(RunResult) result = run_well(text, &(RunOptions){.overrides = overrides});
    double wait_s = 0;
    for (guint i = 0; i < result->n_requests; i++)
        wait_s += result->requests[i].prefill_start_s - result->requests[i].request.arrival_s;
    wait_s /= result->n_requests;
    assert_close(wait_s, rho * service_s / (2 * (1 - rho)), 0.05);
}

/* 32 layers in 3 stages of 11, 11 and 10: prompts leave at the pace of the slowest one. */
static void test_saturated_pipeline_runs_at_its_slowest_stage(void) {
    const char *text = HEADER "policy:\n  mode: pbd\n  max_context: 1024\n  prefill: {pp: 3}\n"
                              "  decode: {tp: 4}\nworkload:\n  synthetic:\n    requests: 40\n"
                              "    arrivals: {process: batch}\n"
                              "    prompt: {distribution: fixed, tokens: 600}\n"
                              "    output: {distribution: fixed, tokens: 1}\n";
    g_autoptr(RunResult) result = run_well(text, NULL);
    Machine machine = machine_new(text);
    const Model *model = machine.experiment->model;
    Segment segment = {600, 0};
    BatchShape batch = {&segment, 1, 1};
    double layer_s = graph_seconds(&machine, device_layer(&machine.device, model, &batch, 1));
    double first_s = 11 * layer_s + graph_seconds(&machine, op_graph_embedding(model, &batch));
    double last_s =
        10 * layer_s + graph_seconds(&machine, device_head(&machine.device, model, &batch, 1));
    machine_clear(&machine);
    double slowest_s = MAX(first_s, MAX(11 * layer_s, last_s));
    double gap_s = (result->requests[39].first_token_s - result->requests[9].first_token_s) / 30;
    assert_close(gap_s, slowest_s, 1e-6);
}

/* Where all-reduces reach less than the links give: a twentieth of them, and 40 us each. */
#define SLOW_ALL_REDUCE                                                                            \
    "platform.network.all_reduce.bandwidth=0.25 GB/s", "platform.network.all_reduce.latency=40 us"

/* 2(n−1)/n · S/B + 2(n−1) · latency for each of 64 vectors a step, at both grains. */
static void check_all_reduce(const char *const *overrides, double bytes_per_s, double each_s) {
    const char *text = HEADER "policy:\n  mode: colocated\n  max_context: 1024\n"
                              "  colocated: {tp: 4, dp: 1, slots: 1}\n"
                              "workload:\n  synthetic:\n    requests: 1\n"
                              "    arrivals: {process: batch}\n"
                              "    prompt: {distribution: fixed, tokens: 100}\n"
                              "    output: {distribution: fixed, tokens: 11}\n";
    g_autoptr(RunResult) result = run_well(text, &(RunOptions){.overrides = overrides});
    Machine machine = machine_new(text);
    const LinkSpec *local = &machine.experiment->platform->network.local;
    double tokens = 100 + 10, bytes = tokens * 4096 * 2;
    double latency_s = 2 * 3 * 2 * local->latency_s; /* out of one, into the next */
    double rate = bytes_per_s > 0 ? bytes_per_s : local->bytes_per_s;
    double expected_s = 64 * 2 * 3.0 / 4 * bytes / rate + 11 * 64 * (latency_s + each_s);
    machine_clear(&machine);
    assert_close(result->stages[0].totals.all_reduce_s, expected_s, 1e-6);
    assert_close(result->ledger.bytes_sent[PURPOSE_ALL_REDUCE], 64 * bytes * 2 * 3, 1e-9);
}

/* More than the links give: these decide. */
#define FAST_ALL_REDUCE "platform.network.all_reduce.bandwidth=100 GB/s"

static void test_all_reduce_is_a_ring(gconstpointer grain) {
    const char *const overrides[] = {grain, FAST_ALL_REDUCE, NULL};
    check_all_reduce(overrides, 0, 0);
}

static void test_slow_all_reduces_go_at_their_own_rate(gconstpointer grain) {
    const char *const overrides[] = {grain, SLOW_ALL_REDUCE, NULL};
    check_all_reduce(overrides, 0.25e9, 40e-6);
}

#define BATCH_OF(requests)                                                                         \
    "workload:\n  synthetic:\n    requests: " requests "\n    arrivals: {process: batch}\n"        \
    "    prompt: {distribution: fixed, tokens: 256}\n"                                             \
    "    output: {distribution: fixed, tokens: 32}\n"

static double throughput(const char *text, const char *override) {
    const char *const overrides[] = {override, NULL};
    g_autoptr(RunResult) result = run_well(text, &(RunOptions){.overrides = overrides});
    return (double)result->ledger.output_tokens_done / result->ledger.end_s;
}

static void test_twice_the_replicas_do_twice_the_work(void) {
    const char *text = HEADER "policy:\n  mode: colocated\n  routing: round_robin\n"
                              "  colocated: {tp: 1, dp: 2, slots: 4}\n" BATCH_OF("64");
    const char *twice = HEADER "policy:\n  mode: colocated\n  routing: round_robin\n"
                               "  colocated: {tp: 1, dp: 4, slots: 4}\n" BATCH_OF("128");
    assert_close(throughput(twice, NULL), 2 * throughput(text, NULL), 1e-9);
}

static double makespan(const char *override) {
    const char *text = HEADER "policy:\n  mode: pbd\n  max_context: 2048\n  prefill: {dp: 2}\n"
                              "  decode: {tp: 4, slots: 8}\n" BATCH_OF("12");
    const char *const overrides[] = {override, NULL};
    g_autoptr(RunResult) result = run_well(text, &(RunOptions){.overrides = overrides});
    return result->ledger.end_s;
}

/* More tokens, more bytes and less bandwidth never make a run shorter. */
static void test_time_is_monotone(void) {
    static const char *const series[][4] = {
        {"workload.synthetic.prompt.tokens=1", "workload.synthetic.prompt.tokens=200",
         "workload.synthetic.prompt.tokens=201", "workload.synthetic.prompt.tokens=900"},
        {"workload.synthetic.output.tokens=1", "workload.synthetic.output.tokens=2",
         "workload.synthetic.output.tokens=33", "workload.synthetic.output.tokens=200"},
        {"platform.cluster.ddr_bandwidth=40 GB/s", "platform.cluster.ddr_bandwidth=30 GB/s",
         "platform.cluster.ddr_bandwidth=29 GB/s", "platform.cluster.ddr_bandwidth=3 GB/s"},
        {"platform.network.port.bandwidth=10 GB/s", "platform.network.port.bandwidth=1 GB/s",
         "platform.network.port.bandwidth=0.2 GB/s", "platform.network.port.bandwidth=1 MB/s"},
        {"platform.network.local.latency=0 s", "platform.network.local.latency=1 us",
         "platform.network.local.latency=20 us", "platform.network.local.latency=2 ms"},
        {"platform.hthreads.launch_group=0 s", "platform.hthreads.launch_group=10 us",
         "platform.hthreads.launch_group=84 us", "platform.hthreads.launch_group=5 ms"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(series); i++)
        for (guint j = 0; j + 1 < 4; j++)
            g_assert_cmpfloat(makespan(series[i][j]), <=, makespan(series[i][j + 1]));
}

static void test_energy_is_power_times_time(void) {
    const char *text = HEADER "policy:\n  mode: colocated\n"
                              "  colocated: {tp: 2, dp: 3, slots: 4}\n" BATCH_OF("20");
    g_autoptr(RunResult) result = run_well(text, NULL);
    Machine machine = machine_new(text);
    const PowerSpec *power = &machine.experiment->platform->power;
    double busy_s = 0, end_s = result->ledger.end_s;
    for (guint i = 0; i < result->n_stages; i++)
        busy_s += 2 * result->stages[i].totals.busy_s;
    double joules = 6 * power->cluster_idle_watts * end_s +
                    (power->cluster_busy_watts - power->cluster_idle_watts) * busy_s +
                    2 * power->node_watts * end_s; /* six clusters of two nodes */
    machine_clear(&machine);
    assert_close(result->joules, joules, 1e-9);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/closed-forms/one-request/step-grain", "policy.grain=step",
                         test_one_request_is_the_sum_of_its_parts);
    g_test_add_data_func("/closed-forms/one-request/operator-grain", "policy.grain=operator",
                         test_one_request_is_the_sum_of_its_parts);
    g_test_add_func("/closed-forms/twelve-clusters", test_twelve_clusters_one_request_each);
    g_test_add_func("/closed-forms/m-d-1", test_queueing_is_m_d_1);
    g_test_add_func("/closed-forms/pipeline", test_saturated_pipeline_runs_at_its_slowest_stage);
    g_test_add_data_func("/closed-forms/all-reduce/step-grain", "policy.grain=step",
                         test_all_reduce_is_a_ring);
    g_test_add_data_func("/closed-forms/all-reduce/operator-grain", "policy.grain=operator",
                         test_all_reduce_is_a_ring);
    g_test_add_data_func("/closed-forms/slow-all-reduce/step-grain", "policy.grain=step",
                         test_slow_all_reduces_go_at_their_own_rate);
    g_test_add_data_func("/closed-forms/slow-all-reduce/operator-grain", "policy.grain=operator",
                         test_slow_all_reduces_go_at_their_own_rate);
    g_test_add_func("/closed-forms/data-parallel", test_twice_the_replicas_do_twice_the_work);
    g_test_add_func("/closed-forms/monotone", test_time_is_monotone);
    g_test_add_func("/closed-forms/energy", test_energy_is_power_times_time);
    return g_test_run();
}
