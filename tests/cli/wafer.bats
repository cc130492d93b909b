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
    contains "$output" '# plan: 1 of 1 wafer in 1 pool; max_context 4096 tokens'
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
    contains "$output" '1 of 1 wafer, step grain'
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

@test "experts are served: all-to-all, bands of rows and their weights" {
    tiny=("${small[@]}" --set platform.mesh.columns=30 --set policy.wafer.prefill_grid=28
        --set policy.wafer.decode_grid=26 --set policy.wafer.regions=1)
    infergrid simulate --quiet wafer "${tiny[@]}" --set model=tiny-mixtral -o experts
    equal "$status" 0
    contains "$output" 'tiny-mixtral'
    "$INFERGRID" simulate --quiet wafer "${tiny[@]}" -o dense >/dev/null
    # Every request is served, and routing takes time that the dense model does not need.
    jq -en '[inputs.wafers.tpr_generating_tokens_per_s] | .[0] < .[1]' \
        experts/summary.json dense/summary.json
    equal "$(jq .requests.completed experts/summary.json)" \
        "$(jq .requests.completed dense/summary.json)"
    infergrid simulate --quiet wafer "${small[@]}" --set model=tiny-mixtral
    equal "$status" 2
    contains "$stderr" "has 8 experts, each on at least 3 rows of its own"
}

@test "the summary tells how KV lies and which regions turn" {
    turned=(--set policy.wafer.regions=5 --set platform.mesh.rows=31 --set policy.wafer.dp=1)
    infergrid simulate --quiet wafer "${small[@]}" "${turned[@]}" --set model.num_hidden_layers=5 --json
    equal "$status" 0
    jq -e '.wafers | .kv_rule == "shift" and .kv_moves > 0 and .kv_skew >= 1 and
        .regions_that_turn == "number 3" and .turn_s_per_token > 0' <<<"$output"
    infergrid simulate --quiet wafer "${small[@]}" --set policy.wafer.kv=concat --json
    jq -e '.wafers | .kv_rule == "concat" and .kv_moves == 0 and .kv_skew > 2 and
        .regions_that_turn == "none" and .turn_s_per_token == 0' <<<"$output"
}

@test "layers for which the prompts' grid has no room come from below it, at a price" {
    tiny=("${small[@]}" --set platform.mesh.columns=30 --set platform.mesh.rows=48
        --set policy.wafer.prefill_grid=28 --set policy.wafer.decode_grid=26
        --set policy.wafer.regions=1 --set model=tiny-mixtral)
    infergrid simulate --quiet wafer "${tiny[@]}" --set 'platform.mesh.usable=20000 B' --json
    equal "$(jq .wafers.outside_layers <<<"$output")" 0
    roomy=$(jq .whole.ttft_limit.value_s <<<"$output")
    infergrid simulate --quiet wafer "${tiny[@]}" --set 'platform.mesh.usable=4500 B' --json
    equal "$(jq .wafers.outside_layers <<<"$output")" 2
    jq -en --argjson a "$roomy" --argjson b "$(jq .whole.ttft_limit.value_s <<<"$output")" '$b > $a'
    infergrid check wafer "${tiny[@]}" --set 'platform.mesh.usable=4500 B'
    contains "$output" 'a core below them: weights of the last 2 layers, which move in before their loops'
    infergrid check wafer "${tiny[@]}" --set 'platform.mesh.usable=3600 B'
    equal "$status" 2
    contains "$stderr" '28 × 28 cores hold 1 of 4 layers, and the 30 × 20 below them do not hold the others'
}
