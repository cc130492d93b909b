#!/usr/bin/env bats
# Published tables of whole models on a wafer beside simulated ones.
bats_require_minimum_version 1.5.0
load common

# One of a table's summaries: errors of SYSTEM's figures of QUANTITY.
summary() { # SYSTEM QUANTITY
    jq -c --arg s "$1" --arg q "$2" '.predicted[] | select(.system == $s and .quantity == $q)' \
        <<<"$output"
}

# Fails unless 'median_error' and 'worst_error' of a summary are within bounds.
within() { # SYSTEM QUANTITY ROWS MEDIAN WORST
    jq -e --argjson n "$3" --argjson m "$4" --argjson w "$5" \
        '.rows == $n and .median_error <= $m and .worst_error <= $w' < <(summary "$1" "$2")
}

@test "table 2: WaferLLM end to end within its aims" {
    infergrid reproduce wafer-table2 --json
    equal "$status" 0
    within WaferLLM tokens/s 8 0.05 0.15
    within T10 tokens/s 8 0.40 0.60
    jq -e '[.rows[] | select(.system == "T10" or .system == "Ladder") | .note] |
        all(startswith("published, a prompt of 2048"))' <<<"$output"
    # The turn from prompt to decode costs little, as the paper says.
    jq -e '[.rows[] | select(.system == "WaferLLM") | .detail |
        capture("prefill (?<p>[0-9.]+) s .*, transition (?<t>[0-9.]+) s") |
        (.t | tonumber) / (.p | tonumber)] | max < 0.05' <<<"$output"
}

@test "table 3: prefill, the calibrated grids alone are exact" {
    infergrid reproduce wafer-table3 --json
    equal "$status" 0
    within WaferLLM tokens/s 4 0.055 0.10
    jq -e '[.rows[] | select(.calibrated)] | length == 2 and
        all(.model == "LLaMA3-8B" and .system == "WaferLLM" and (.error | fabs) < 0.002)' \
        <<<"$output"
    # Within a factor of two, and slower on the larger grid, as published.
    within T10 tokens/s 6 0.30 0.40
    within Ladder tokens/s 6 0.65 0.80
    jq -e '[.rows[] | select(.system == "T10" or .system == "Ladder")] |
        group_by([.model, .system]) | all(.[0].setting < .[1].setting and
        .[0].simulated > .[1].simulated and .[0].published > .[1].published)' <<<"$output"
}

@test "table 4: decode within its aims" {
    infergrid reproduce wafer-table4 --json
    equal "$status" 0
    within WaferLLM tokens/s 4 0.03 0.07
    within T10 tokens/s 6 0.06 0.10
    within Ladder tokens/s 6 0.06 0.15
    jq -e '[.rows[] | select(.calibrated) | .error | fabs] | length == 2 and max < 0.005' \
        <<<"$output"
}

@test "table 5: how far shift goes beyond concat, and the figure that does not fit the wafer" {
    infergrid reproduce wafer-table5 --json
    equal "$status" 0
    within ratio shift/concat 2 0.02 0.03
    jq -e '[.rows[] | select(.model == "LLaMA2-13B" and .quantity == "tokens") |
        .error | fabs] | length == 2 and max < 0.10' <<<"$output"
    jq -e '[.rows[] | select(.model == "LLaMA3-8B" and .quantity == "tokens")] |
        length == 2 and all(.note | test("R = 6"))' <<<"$output"
}

@test "table 6: GEMV within 5 %" {
    infergrid reproduce wafer-table6 --json
    equal "$status" 0
    within WaferLLM ms 2 0.04 0.05
    within WaferLLM "energy ratio" 6 0.04 0.05
}

@test "tables 7 and 8: energy ratios follow from simulated time and published GPU time" {
    infergrid reproduce wafer-table7 --json
    equal "$status" 0
    within WaferLLM "energy ratio" 2 0.02 0.02
    infergrid reproduce wafer-table8 --json
    equal "$status" 0
    within WaferLLM "energy ratio" 2 0.02 0.02
    contains "$output" "the GPUs' time is the published one"
    jq -e '[.rows[] | select(.system | test("A100")) | .simulated] | all(. == null)' <<<"$output"
}

@test "every published figure stands in the results" {
    for table in 2:table2_end_to_end 3:table3_prefill 4:table4_decode 5:table5_kv_capacity; do
        infergrid reproduce "wafer-table${table%%:*}" -o "table${table%%:*}"
        cmp <(awk -F, '!/^#/ && n++ { print $NF + 0 }' \
            "$INFERGRID_SOURCE/analysis/reference/waferllm/${table#*:}.csv") \
            <(jq '.rows[] | select(.quantity != "shift/concat") | .published' \
                "table${table%%:*}/result.json")
        equal "$(($(wc -l <"table${table%%:*}/result.csv") - 1))" \
            "$(jq '.rows | length' "table${table%%:*}/result.json")"
    done
}

@test "equal bytes on one processor" {
    infergrid reproduce wafer-table4 --json
    all=$output
    one=$(taskset -c 0 "$INFERGRID" reproduce wafer-table4 --json)
    equal "$one" "$all"
}

@test "another wafer gives other times: nothing is copied from the figures" {
    sed 's/relay_cycles: 16.1/relay_cycles: 5/' "$INFERGRID_SOURCE/platforms/wse2.yaml" >fast.yaml
    infergrid reproduce wafer-table4 --json
    before=$(jq '[.rows[].simulated // 0] | add' <<<"$output")
    infergrid reproduce wafer-table4 --platform fast.yaml --json
    equal "$status" 0
    jq -en --argjson a "$before" --argjson b "$(jq '[.rows[].simulated // 0] | add' <<<"$output")" \
        '$b > 1.2 * $a'
}

@test "a table needs a machine of its kind" {
    infergrid reproduce wafer-table4 -p mt3000
    equal "$status" 2
    contains "$stderr" "table 'wafer-table4' is of a machine like 'wse2', and 'mt3000' is of another kind"
    infergrid reproduce table8 -p wse2
    equal "$status" 2
    contains "$stderr" "table 'table8' is of a machine like 'mt3000'"
}
