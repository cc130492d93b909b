/* GPU systems as the papers run them, against sums over operators made here: static batches by
 * tensor and by pipeline parallelism, caches that are copied, weights that come from the host,
 * chunks. */
#include "tests/engine/run.h"

#include "platforms/network.h"
#include "platforms/step_cost.h"
#include <math.h>

#define PROMPT 512
#define OUTPUT 32
#define BATCH 16

#define WORKLOAD(requests, prompt, output)                                                         \
    "workload:\n  synthetic:\n    requests: " #requests "\n    arrivals: {process: batch}\n"       \
    "    prompt: {distribution: fixed, tokens: " #prompt "}\n"                                     \
    "    output: {distribution: fixed, tokens: " #output "}\n"
#define HEADER "version: 1\nplatform: v100s\nmodel: llama-2-7b\n" WORKLOAD(16, 512, 32)
#define KERNELS                                                                                    \
    "policy:\n  mode: colocated\n  fusion: off\n  attention: unfused\n  launch: per_operator\n"    \
    "  layer_overhead: 200 us\n"
#define TENSOR HEADER KERNELS "  colocated: {tp: 2, slots: 16, batching: static}\n"
#define PIPELINE                                                                                   \
    HEADER KERNELS "  colocated: {pp: 2, micro_batches: 1, slots: 16, batching: static}\n"

typedef struct Machine {
    Experiment *experiment;
    OpCosts *costs;
    DeviceModel device;
} Machine;

static Machine machine_new(const char *text, const char *const *overrides) {
    Machine machine = {.experiment = experiment_of(text, overrides)};
    machine.costs = costs_of(machine.experiment);
    machine.device = device_model(machine.experiment->platform, machine.costs);
    return machine;
}

static void machine_clear(Machine *machine) {
    op_costs_free(machine->costs);
    experiment_free(machine->experiment);
}

static double graph_seconds(const Machine *machine, OpGraph *graph) {
    const DeviceModel *device = &machine->device;
    double seconds = 0;
    for (guint i = 0; i < graph->units->len; i++)
        seconds +=
            device->class->unit_cost(device, &g_array_index(graph->units, FusionUnit, i)).seconds;
    op_graph_free(graph);
    return seconds;
}

/* A step of so many equal requests through all layers on 'tp' GPUs, without all-reduces. */
static double step_seconds(const Machine *machine, guint requests, Segment segment, guint tp) {
    const Model *model = machine->experiment->model;
    Segment segments[BATCH];
    for (guint i = 0; i < requests; i++)
        segments[i] = segment;
    BatchShape batch = {segments, requests, requests};
    double layer_s = graph_seconds(machine, device_layer(&machine->device, model, &batch, tp)) +
                     device_layer_cost(&machine->device).seconds;
    return graph_seconds(machine, op_graph_embedding(model, &batch)) +
           (double)model->layers * layer_s +
           graph_seconds(machine, device_head(&machine->device, model, &batch, tp));
}

/* The batch's prompts in one step, then a token of each a step. */
static double batch_seconds(const Machine *machine, guint tp) {
    double seconds = step_seconds(machine, BATCH, (Segment){PROMPT, 0}, tp);
    for (guint32 past = PROMPT; past < PROMPT + OUTPUT - 1; past++)
        seconds += step_seconds(machine, BATCH, (Segment){1, past}, tp);
    return seconds;
}

static void test_a_static_batch_by_tensor_parallelism(void) {
    g_autoptr(RunResult) result = run_well(TENSOR, NULL);
    Machine machine = machine_new(TENSOR, NULL);
    const Platform *platform = machine.experiment->platform;
    /* two ranks: half a vector there and half back, twice over the links of both */
    double bytes = BATCH * (PROMPT + OUTPUT - 1.0) * 4096 * 2, rounds = 2 * 64 * OUTPUT;
    double rings_s = 64 * bytes / platform->network.local.bytes_per_s +
                     rounds * 2 * platform->network.local.latency_s;
    assert_close(result->ledger.end_s, batch_seconds(&machine, 2) + rings_s, 1e-9);
    machine_clear(&machine);
}

/* One batch meets no other: the stages' times add up, and the hops between them. */
static void test_a_static_batch_through_a_pipeline(void) {
    g_autoptr(RunResult) result = run_well(PIPELINE, NULL);
    Machine machine = machine_new(PIPELINE, NULL);
    const Platform *platform = machine.experiment->platform;
    double hidden_bytes = 4096 * 2, hops_s = 0;
    hops_s += network_transfer_seconds(platform, 0, 1, BATCH * PROMPT * hidden_bytes);
    hops_s += (OUTPUT - 1) * network_transfer_seconds(platform, 0, 1, BATCH * hidden_bytes);
    hops_s += (OUTPUT - 1) * network_transfer_seconds(platform, 1, 0, BATCH * 4);
    assert_close(result->ledger.end_s, batch_seconds(&machine, 1) + hops_s, 1e-9);
    machine_clear(&machine);
}

/* With a batch a stage, one computes what the other does not. */
static void test_a_batch_a_stage_is_faster(void) {
    static const char *const two[] = {"policy.colocated.micro_batches=2",
                                      "policy.colocated.slots=8", NULL};
    g_autoptr(RunResult) one = run_well(PIPELINE, NULL);
    g_autoptr(RunResult) both = run_well(PIPELINE, &(RunOptions){.overrides = two});
    g_assert_cmpfloat(both->ledger.end_s, <, one->ledger.end_s);
    g_assert_cmpuint(both->ledger.output_tokens_done, ==, one->ledger.output_tokens_done);
}

static void test_a_cache_that_is_copied_costs_its_bytes(void) {
    static const char *const concat[] = {"policy.kv_cache=concat", NULL};
    g_autoptr(RunResult) in_place = run_well(PIPELINE, NULL);
    g_autoptr(RunResult) copied = run_well(PIPELINE, &(RunOptions){.overrides = concat});
    Machine machine = machine_new(PIPELINE, NULL);
    double bytes_per_s = platform_memory_bytes_per_s(machine.experiment->platform), tokens = 0;
    for (guint32 context = PROMPT + 1; context < PROMPT + OUTPUT; context++)
        tokens += context;
    double more_s = 2 * BATCH * tokens * 524288 / bytes_per_s; /* read and written */
    machine_clear(&machine);
    assert_close(copied->ledger.end_s - in_place->ledger.end_s, more_s, 1e-9);
}

/* 30B by tensor parallelism: all layers pass a GPU's link in every step. From pinned memory a
 * decode step takes just that; from pageable memory it computes afterwards. */
static void test_streamed_weights_bound_every_step(gconstpointer transfer) {
    const char *const overrides[] = {"model=llama-30b", "policy.offload=host", transfer, NULL};
    gboolean pinned = g_str_has_suffix(transfer, "pinned");
    g_autoptr(RunResult) result = run_well(TENSOR, &(RunOptions){.overrides = overrides});
    Machine machine = machine_new(TENSOR, overrides);
    const HostSpec *host = &machine.experiment->platform->host;
    double layer_bytes = (4.0 * 6656 * 6656 + 3.0 * 6656 * 17920) / 2 * 2 + 2 * 6656 * 2;
    double stream_s =
        60 * layer_bytes / (pinned ? host->link_bytes_per_s : host->pageable_bytes_per_s);
    double rings_s = result->stages[0].totals.all_reduce_s,
           steps_s = result->ledger.end_s - rings_s;
    g_assert_cmpfloat(steps_s, >=, OUTPUT * stream_s);

    double computing_s = batch_seconds(&machine, 2);
    double prompt_s = step_seconds(&machine, BATCH, (Segment){PROMPT, 0}, 2);
    double expected_s = pinned ? MAX(prompt_s, stream_s) + (OUTPUT - 1) * stream_s
                               : computing_s + OUTPUT * stream_s;
    assert_close(steps_s, expected_s, 1e-9);
    machine_clear(&machine);
}

#define SGLANG                                                                                     \
    "version: 1\nplatform: a100\nmodel: llama-3-8b\n" WORKLOAD(                                    \
        1, 4096, 3) "policy:\n  mode: colocated\n  fusion: off\n  attention: flash\n"              \
                    "  colocated: {tp: 1, chunk_tokens: 1024}\n"

/* Chunk by chunk, each of which sees those before it. */
static void test_a_prompt_in_chunks(void) {
    g_autoptr(RunResult) result = run_well(SGLANG, NULL);
    Machine machine = machine_new(SGLANG, NULL);
    BatchShape sampled = {.sampled = 1};
    double first_s = 0;
    for (guint32 past = 0; past < 4096; past += 1024)
        first_s += step_seconds(&machine, 1, (Segment){1024, past}, 1);
    /* only the last one samples */
    first_s -= 3 * graph_seconds(&machine, device_head(&machine.device, machine.experiment->model,
                                                       &sampled, 1));
    assert_close(result->requests[0].first_token_s, first_s, 1e-9);
    double decode_s = step_seconds(&machine, 1, (Segment){1, 4096}, 1) +
                      step_seconds(&machine, 1, (Segment){1, 4097}, 1);
    assert_close(result->requests[0].completed_s - first_s, decode_s, 1e-9);
    machine_clear(&machine);
}

/* Sixteen ranks of two nodes: 30 rounds of the slowest hop, over InfiniBand. */
static void test_a_ring_over_two_nodes(void) {
    static const char *const overrides[] = {"policy.colocated.tp=16", NULL};
    g_autoptr(RunResult) result = run_well(SGLANG, &(RunOptions){.overrides = overrides});
    Machine machine = machine_new(SGLANG, overrides);
    const NetworkSpec *network = &machine.experiment->platform->network;
    double bytes = (4096 + 2.0) * 4096 * 2;
    double latency_s = 30 * 2 * (network->port.latency_s + network->nic.latency_s);
    double rings_s = 64 * (bytes * 30 / 16 / network->all_reduce.bytes_per_s + 6 * latency_s);
    assert_close(result->stages[0].totals.all_reduce_s, rings_s, 1e-9);
    machine_clear(&machine);
}

/* Prompts join while others decode, and everything is served. */
static void test_continuous_batching_mixes_prompts_with_decoding(void) {
    const char *text = "version: 1\nplatform: a100\nmodel: llama-3-8b\n" WORKLOAD(
        40, 700, 20) "policy:\n  mode: colocated\n  fusion: off\n  attention: flash\n"
                     "  colocated: {tp: 2, slots: 8, chunk_tokens: 512}\n";
    static const char *const fixed[] = {"policy.colocated.batching=static",
                                        "policy.colocated.chunk_tokens=0", NULL};
    g_autoptr(RunResult) mixed = run_well(text, NULL);
    g_autoptr(RunResult) apart = run_well(text, &(RunOptions){.overrides = fixed});
    g_assert_cmpuint(mixed->ledger.output_tokens_done, ==, 40 * 20);
    g_assert_cmpuint(apart->ledger.output_tokens_done, ==, 40 * 20);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gpu/static-batch/tensor", test_a_static_batch_by_tensor_parallelism);
    g_test_add_func("/gpu/static-batch/pipeline", test_a_static_batch_through_a_pipeline);
    g_test_add_func("/gpu/static-batch/a-batch-a-stage", test_a_batch_a_stage_is_faster);
    g_test_add_func("/gpu/concat", test_a_cache_that_is_copied_costs_its_bytes);
    g_test_add_data_func("/gpu/stream/pinned", "policy.host_transfer=pinned",
                         test_streamed_weights_bound_every_step);
    g_test_add_data_func("/gpu/stream/pageable", "policy.host_transfer=pageable",
                         test_streamed_weights_bound_every_step);
    g_test_add_func("/gpu/chunks", test_a_prompt_in_chunks);
    g_test_add_func("/gpu/two-nodes", test_a_ring_over_two_nodes);
    g_test_add_func("/gpu/continuous", test_continuous_batching_mixes_prompts_with_decoding);
    return g_test_run();
}
