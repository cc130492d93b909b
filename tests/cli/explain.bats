#!/usr/bin/env bats
# infergrid explain: units of operators, what they take and save.
bats_require_minimum_version 1.5.0
load common

# The operators of every unit, a line each.
units() {
    jq -r '.units[] | [.operators[].name] | join(" ")' <<<"$output"
}

@test "Llama's layer has the regions of figure 4" {
    for model in llama-2-7b llama-3-8b llama-2-70b qwen2-72b; do
        infergrid explain fusion --model "$model" --platform mt3000 --json
        equal "$status" 0
        equal "$stderr" ''
        equal "$(units)" "attention_norm q q_rope
k k_rope
v
scores scale mask softmax values
out attention_add
ffn_norm gate silu
up mul
down ffn_add"
    done
}

@test "tables and JSON say the same" {
    infergrid explain fusion
    table=$output
    contains "$table" 'llama-2-7b on MT-3000: a layer for one request of 1024 new tokens'
    infergrid explain fusion --json
    json=$output
    saved=$(jq '.offchip_bytes.layer_saved / 1e5 | round / 10' <<<"$json")
    [[ $table =~ saved\ +"$saved MB" ]]
    for row in 0 1 2 3; do
        figures=$(jq -r ".launches[$row] | \"launch: \(.launch), fusion: \(.fusion) \(.layer) \(.model)\"" \
            <<<"$json")
        contains "$(tr -s ' ' <<<"$table")" "$figures"
    done
    while read -r operators; do
        contains "${table//\*/}" "${operators// / + }"
    done < <(output=$json units)
}

@test "launches and bytes add up over units and layers" {
    infergrid explain fusion --model llama-2-7b --tokens 300 --context 700 --json
    equal "$(jq '[.units[].launches_apart] | add' <<<"$output")" \
        "$(jq '.launches[0].layer' <<<"$output")"
    equal "$(jq '[.units[].launches_fused] | add' <<<"$output")" \
        "$(jq '.launches[1].layer' <<<"$output")"
    equal "$(jq '[.units[] | .offchip_bytes_apart - .offchip_bytes_fused] | add' <<<"$output")" \
        "$(jq '.offchip_bytes.layer_saved' <<<"$output")"
    equal "$(jq '.offchip_bytes | .layer_saved * 32 == .model_saved' <<<"$output")" true
    equal "$(jq '.launches[3].model' <<<"$output")" 1
}

@test "no unit takes more than there is, and smaller memories make more units" {
    for am in 768 400 300 200; do
        sed "s/^  am: 768 KiB/  am: $am KiB/" "$INFERGRID_SOURCE/platforms/mt3000.yaml" >small.yaml
        infergrid explain fusion --platform small.yaml --json
        equal "$status" 0
        equal "$(jq '.capacities.am_bytes' <<<"$output")" $((am * 1024))
        equal "$(jq '.capacities as $c | [.units[] | .on_chip |
            .sm_bytes <= $c.sm_bytes and .am_bytes <= $c.am_bytes and
            .gsm_bytes <= $c.gsm_bytes] | all' <<<"$output")" true
        counts+=("$(jq '.units | length' <<<"$output")")
    done
    equal "${counts[0]}" 8
    [ "${counts[3]}" -gt "${counts[0]}" ]
}

@test "every boundary has a reason, with bytes where a memory is too small" {
    infergrid explain fusion --json
    equal "$(jq -r '.boundaries[] | select(.producer == "mul") | .reason' <<<"$output")" gsm
    equal "$(jq '[.boundaries[] | select(.asked_bytes) | .asked_bytes > .capacity_bytes] | all' \
        <<<"$output")" true
    equal "$(jq '[.boundaries[] | select(.reason == "none")] | length' <<<"$output")" 0
}

@test "tensor parallelism: an all-reduce is no kernel, and interrupts the unified launch" {
    infergrid explain fusion --tp 4 --tokens 1 --context 1024
    equal "$status" 0
    [[ $output =~ network\ +out_all_reduce ]]
    [[ $output =~ 'launch: unified, fusion: on'\ +3\ +65\  ]]
}

@test "short sequences leave DSPs idle head by head, less so unified" {
    infergrid explain fusion --tokens 100 --json
    row=$(jq -c '.dsp_load[] | select(.tokens == 100)' <<<"$output")
    equal "$(jq '.by_head.busy < .unified.busy' <<<"$row")" true
    equal "$(jq '.row_blocks == .by_head.dsps' <<<"$row")" true
    equal "$(jq '[.dsp_load[].tokens] == ([.dsp_load[].tokens] | sort | unique)' <<<"$output")" true
}

# Standard error after status 2 and no output.
refused() {
    infergrid explain "$@"
    equal "$status" 2
    equal "$output" ''
}

@test "wrong questions are told what was expected" {
    refused
    equal "$stderr" "infergrid explain: missing TOPIC (see 'infergrid explain --help')"
    refused fushion
    equal "$stderr" "infergrid explain: unknown topic 'fushion' (did you mean 'fusion'?)"
    refused fusion --model llama-3-8
    equal "$stderr" "--model: no file 'llama-3-8' for 'model' (did you mean 'llama-3-8b'?)"
    refused fusion --platform mt300
    equal "$stderr" "--platform: no file 'mt300' for 'platform' (did you mean 'mt3000'?)"
    refused fusion --tokens 0
    equal "$stderr" \
        "infergrid explain: --tokens: expected a whole number from 1 to 1000000000, not '0'"
    refused fusion --tp x
    equal "$stderr" "infergrid explain: --tp: expected a whole number from 1 to 4096, not 'x'"
    refused fusion --tokens 10 --context 9
    equal "$stderr" "infergrid explain: --context 9 is less than the 10 new tokens in it"
    refused fusion --tokens 5000
    equal "$stderr" \
        "infergrid explain: a context of 5000 exceeds the 4096 tokens of 'llama-2-7b'"
    refused fusion --tp 3
    equal "$stderr" \
        "infergrid explain: --tp 3 does not divide the 32 heads and 32 KV heads of 'llama-2-7b'"
}

@test "help, manual page and completions know it" {
    infergrid explain --help
    equal "$status" 0
    contains "$output" 'Usage: infergrid explain TOPIC [OPTION]...'
    contains "$output" 'Example:'
    infergrid man
    contains "${output//\\-/-}" '.SS infergrid explain'
    infergrid completion bash
    contains "$output" fusion
}
