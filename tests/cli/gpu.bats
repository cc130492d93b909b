#!/usr/bin/env bats
# GPU systems: what the shipped experiments print and refuse, and which commands know GPUs.
bats_require_minimum_version 1.5.0
load common

# A load that two GPUs of a node serve.
serving() {
    cat <<'END'
version: 1
platform: a100
model: llama-3-8b
workload:
  synthetic:
    requests: 120
    arrivals: {process: poisson, rate: 18 /s}
    prompt: {distribution: fixed, tokens: 1000}
    output: {distribution: fixed, tokens: 100}
policy:
  mode: colocated
  colocated: {tp: 1, chunk_tokens: 2048, slots: 64}
slo:
  ttft: {limit: 1 s, percentile: 0.9}
  tpot: {limit: 50 ms, percentile: 0.9}
END
}

@test "the plan of a batch on GPUs, and the weights that come from the host" {
    infergrid check deepspeed
    equal "$status" 0
    contains "$output" '# plan: 2 of 2 GPUs in 1 pool; max_context 640 tokens'
    contains "$output" '#   stage 0: 32 layers on 2 GPUs, each with weights 6.739 GB'
    infergrid check accelerate --set model=llama-30b
    equal "$status" 0
    contains "$output" '#   stage 1: 30 layers on 1 GPU, each with weights'
    contains "$output" 'its layers come from the host in every step: '
    contains "$output" ' at 7.8 GB/s, '
    contains "$output" 'before the computing'
    contains "$output" '(slots: 16)'
    infergrid check sglang
    contains "$output" '# workload: 1 request, 4096 prompt and 128 output tokens'
    contains "$output" '# plan: 8 of 16 GPUs in 1 pool'
}

@test "a model that the frameworks cannot load is out of memory, whatever the batch" {
    for system in deepspeed accelerate; do
        for slots in 1 16; do
            infergrid simulate "$system" --set model=llama-2-70b \
                --set policy.colocated.slots="$slots" -o results
            equal "$status" 2
            contains "$stderr" 'out of memory: loading holds 2 copies of the 138 GB of weights'
            [ ! -e results ]
        done
    done
}

@test "an experiment of clusters runs on GPUs too, by kernels of theirs; what it asks for is refused" {
    infergrid check colocated --set platform=a100
    equal "$status" 2
    contains "$stderr" "the plan needs 32 GPUs and platform 'A100-SXM4-80GB' has 16"
    infergrid check colocated --set platform=a100 --set policy.colocated.dp=4
    equal "$status" 0
    contains "$output" '  fusion: off'
    contains "$output" '  attention: flash'
    contains "$output" '  launch: per_operator'
    infergrid check colocated --set platform=a100 --set policy.attention=mt
    equal "$status" 2
    contains "$stderr" "--set policy.attention: 'attention: mt' is for clusters of DSPs"
}

@test "one copy fits, and then the layers stream" {
    infergrid check deepspeed --set model=llama-2-70b --set policy.staging_copies=1
    equal "$status" 0
    contains "$output" 'beside the computing'
}

@test "disks are slower than the host's memory, and that than the GPU's" {
    seconds() {
        infergrid simulate deepspeed --json --quiet --set model=llama-30b "$@"
        equal "$status" 0
        seconds=$(jq .whole.makespan_s <<<"$output")
    }
    seconds --set policy.offload=disk
    disk=$seconds
    seconds
    host=$seconds
    seconds --set 'platform.gpu.memory=80 GB' --set 'platform.gpu.usable=79 GB'
    jq -ne --argjson disk "$disk" --argjson host "$host" --argjson gpu "$seconds" \
        '$disk > 10 * $host and $host > 10 * $gpu'
    # 64.2 GB of layers at 2 GB/s, in 128 steps
    jq -ne --argjson disk "$disk" '$disk >= 128 * 64.2 / 2 and $disk < 128 * 65 / 2'
}

@test "SGLang: more GPUs answer faster, but not over two nodes" {
    infergrid sweep sglang --vary policy.colocated.tp=1,2,4,8,16 --quiet
    equal "$status" 0
    python3 - "$output" <<'END'
import csv, sys
rows = list(csv.DictReader(sys.argv[1].splitlines()))
rates = [float(row["throughput_tokens_per_s"]) for row in rows]
assert [row["clusters"] for row in rows] == ["1", "2", "4", "8", "16"], rows
assert rates[0] < rates[1] < rates[2] < rates[3] > rates[4], rates
END
}

@test "the same bytes again, whatever the workers" {
    for workers in 1 2; do
        "$INFERGRID" sweep accelerate --vary policy.kv_cache=in_place,concat \
            --vary policy.colocated.micro_batches=1,2 --set policy.colocated.slots=8 \
            -j "$workers" --quiet >"$workers.csv"
    done
    cmp 1.csv 2.csv
    equal "$(wc -l <1.csv)" 5
    equal "$(cut -d, -f7 1.csv | sort -u | wc -l)" 5
}

@test "a roofline of a GPU: memory bounds a token, computing a prompt, each at its share" {
    infergrid roofline --platform v100s --model llama-2-7b --tokens 1,512 -o roofline.svg
    equal "$status" 0
    [ -s roofline.svg ]
    python3 - "$output" <<'END'
import csv, sys
rows = list(csv.DictReader(sys.argv[1].splitlines()))
assert len(rows) == 8, rows
for row in rows:
    decode = row["tokens"].startswith("decode")
    assert row["bound"] == ("memory" if decode else "compute"), row
    assert float(row["roof_share"]) == (0.8 if decode else 0.6), row
END
}

@test "planning counts GPUs, or nodes of them" {
    serving >serving.yaml
    infergrid plan serving.yaml --target 'goodput >= 95 %' --sizes 1:4 --quiet
    equal "$status" 0
    contains "$output" 'smallest machine   2 gpus of A100-SXM4-80GB'
    contains "$output" ' (2 GPUs)'
    infergrid plan serving.yaml --target 'goodput >= 95 %' --units nodes --sizes 1:2 --quiet
    equal "$status" 0
    contains "$output" 'smallest machine   1 node of A100-SXM4-80GB'
    infergrid plan serving.yaml --target 'goodput >= 95 %' --units wafers --quiet
    equal "$status" 2
    contains "$stderr" "--units: 'A100-SXM4-80GB' is not made of wafers"
}

@test "a guided search on GPUs finds what an exhaustive one does" {
    serving >serving.yaml
    printf 'search: {clusters: 4, colocated: {slots: [16, 64]}}\n' >>serving.yaml
    infergrid search serving.yaml --quiet
    equal "$status" 0
    guided=$(grep '^best' <<<"$output")
    infergrid search serving.yaml --quiet --set search.method=exhaustive
    equal "$(grep '^best' <<<"$output")" "$guided"
}

@test "a search leaves out pipelines shorter than the batches in them" {
    sed '/^search/d' "$INFERGRID_SOURCE/workloads/experiments/accelerate.yaml" >a.yaml
    printf 'search: {colocated: {tp: 1, pp: [1, 2], slots: 16}}\n' >>a.yaml
    infergrid search a.yaml --quiet --set policy.colocated.micro_batches=2
    equal "$status" 0
    contains "$output" 'pruned by conflict'
}

@test "prompts and answers on GPUs apart: KV goes through a buffer; the paper's rule is not for them" {
    serving | sed 's/mode: colocated/mode: pbd/; s/^  colocated:.*/  decode: {tp: 2, dp: 2, slots: 32}/' >pbd.yaml
    infergrid simulate pbd.yaml --json --quiet
    equal "$status" 0
    # 120 prompts of 1000 tokens of 131,072 bytes
    jq -e '.requests.completed == 120 and .network.kv_pull.bytes == 120 * 1000 * 131072' <<<"$output"
    infergrid search pbd.yaml --quiet --set search.clusters=5
    equal "$status" 0
    contains "$output" "plans platforms of kind 'mt3000', and 'A100-SXM4-80GB' is of kind 'gpu'"
}
