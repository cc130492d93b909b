#!/usr/bin/env bats
# Traces on wafers: what is printed, written and refused.
bats_require_minimum_version 1.5.0
load common

# A wafer so small that its operators take no time to simulate.
small=(--set platform.mesh.columns=24 --set platform.mesh.rows=36 --set model=tiny-llama
    --set policy.max_context=200 --set policy.wafer.prefill_grid=20
    --set policy.wafer.decode_grid=12 --set workload.max_prompt_tokens=40
    --set workload.max_output_tokens=20)

@test "check tells grids, regions and the room for KV" {
    infergrid check wafer
    equal "$status" 0
    equal "$stderr" ''
    contains "$output" '# plan: 1 of 1 wafers in 1 pool; max_context 4096 tokens'
    contains "$output" 'prompts on 660 × 660 cores, decoding in 3 regions of 360 × 360'
    contains "$output" '12960 by shift (skew 1), 36 by concat (skew 360)'
}

@test "what check prints is resolved: it prints the same again, grids left open too" {
    open=(--set policy.wafer.prefill_grid=auto --set policy.wafer.decode_grid=auto)
    for grids in closed open; do
        extra=()
        [ "$grids" = open ] && extra=("${open[@]}")
        "$INFERGRID" check wafer "${small[@]}" "${extra[@]}" >resolved.yaml
        "$INFERGRID" check resolved.yaml >again.yaml
        cmp resolved.yaml again.yaml
    done
    contains "$(cat again.yaml)" '#   chosen: prefill 24, decode'
}

@test "a run tells its wafers, and fast-forward gives the same bytes" {
    infergrid simulate --quiet wafer "${small[@]}" -o fast
    equal "$status" 0
    contains "$output" 'wafer, prefill 20, decode 1 x 12 (waferllm)'
    contains "$output" '1 of 1 wafers, step grain'
    contains "$output" 'TPR, generating (1 / TPOT)'
    "$INFERGRID" simulate --quiet wafer "${small[@]}" -o slow --no-fast-forward >/dev/null
    for file in summary.json requests.csv series.csv experiment.yaml; do
        cmp "fast/$file" "slow/$file"
    done
    contains "$(cat fast/summary.json)" '"prefill_grid": 20'
}

@test "the timeline has prompts, transitions and decode steps apart" {
    infergrid simulate --quiet wafer "${small[@]}" -o traced --trace
    equal "$status" 0
    for name in prefill transition decode; do
        contains "$(cat traced/trace.json)" "\"name\":\"$name\""
    done
}

@test "modes and kinds of platforms go together" {
    infergrid check wafer --set platform=mt3000
    equal "$status" 2
    contains "$stderr" "mode 'wafer' needs a platform of kind 'wafer', which 'MT-3000"
    infergrid check demo --set platform=wse2
    equal "$status" 2
    contains "$stderr" "mode 'pbd' is not for platform 'Cerebras WSE-2'"
}

@test "cold, warm and without a cache, the bytes are the same" {
    INFERGRID_CACHE="$PWD/cache" infergrid simulate --quiet wafer "${small[@]}" --json
    equal "$status" 0
    cold=$output
    [ "$(find cache -name 'wafer-*.txt' | wc -l)" = 1 ]
    INFERGRID_CACHE="$PWD/cache" infergrid simulate --quiet wafer "${small[@]}" --json
    equal "$output" "$cold"
    INFERGRID_CACHE='' infergrid simulate --quiet wafer "${small[@]}" --json
    equal "$output" "$cold"
}
