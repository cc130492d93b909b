#!/usr/bin/env bats
# Published tables beside simulated ones.
bats_require_minimum_version 1.5.0
load common

# Published figures as CSV rows "name,row,column,milliseconds" of a reference file.
published() {
    awk -F, '!/^#/ { if (!n++) { split($0, head); next }
        for (i = 3; i <= NF; i++) print $1 "," $2 "," head[i] "," $i + 0 }' \
        "$INFERGRID_SOURCE/analysis/reference/$1"
}

@test "table VIII within its aims, FP16 before FP32 everywhere" {
    infergrid reproduce table8 --json -o table8
    equal "$status" 0
    cmp table8/result.json <(printf '%s\n' "$output")
    jq -e '.predicted.cells == 42 and .predicted.median_error <= 0.07
        and .predicted.above_20_percent <= 4 and .predicted.worst_error <= 0.4
        and .orderings == {pairs: 28, kept: 28}' <<<"$output"
}

@test "table IX within its aims, MT before Flash before unfused everywhere" {
    infergrid reproduce table9 --json
    equal "$status" 0
    jq -e '.predicted.cells == 44 and .predicted.median_error <= 0.10
        and .predicted.worst_error <= 0.27 and .orderings == {pairs: 32, kept: 32}' <<<"$output"
}

@test "every published figure stands in the results, once" {
    infergrid reproduce table8 -o table8
    infergrid reproduce table9 -o table9
    cmp <(published table8_linear.csv) \
        <(tail -n +2 table8/result.csv | awk -F, '{ print $1 "," $2 "," $3 "," $4 * 1000 }')
    cmp <(published table9_attention.csv) \
        <(tail -n +2 table9/result.csv | awk -F, '{ print $1 "," $2 "," $3 "," $4 * 1000 }')
}

@test "calibrated and unexplained cells are marked" {
    infergrid reproduce table8 --json
    equal "$(jq -c '[.cells[] | select(.calibrated) | .s] | unique' <<<"$output")" '[1024]'
    equal "$(jq '[.cells[] | select(.unexplained)] | length' <<<"$output")" 5
    infergrid reproduce table9
    contains "$output" 'c  the platform'
    contains "$output" 'S mod 1536 = 1024'
}

@test "a cell is what the operator command says" {
    infergrid reproduce table8 --json
    cell=$(jq '.cells[] | select(.name == "FP16" and .s == 4096 and .outputs == 768)
        | .simulated_s' <<<"$output")
    infergrid operator gemm -M 4096 -K 4096 -N 768 --json
    equal "$(jq .latency_s <<<"$output")" "$cell"
    infergrid reproduce table9 --json
    cell=$(jq '.cells[] | select(.name == "flash" and .heads == 32 and .s == 1536)
        | .simulated_s' <<<"$output")
    infergrid operator attention --heads 32 --new 1536 --batch 4 --variant flash --json
    jq -en --argjson a "$(jq .latency_s <<<"$output")" --argjson b "$cell" \
        '($a / $b - 1 | fabs) < 1e-9'
}

@test "another machine gives other times: nothing is copied from the figures" {
    sed 's/ddr_bandwidth: 30 GB/ddr_bandwidth: 60 GB/' \
        "$INFERGRID_SOURCE/platforms/mt3000.yaml" >fast.yaml
    infergrid reproduce table8 --json
    before=$(jq '[.cells[].simulated_s] | add' <<<"$output")
    infergrid reproduce table8 --platform fast.yaml --json
    equal "$status" 0
    jq -en --argjson a "$before" --argjson b "$(jq '[.cells[].simulated_s] | add' <<<"$output")" \
        '$b < 0.8 * $a'
}
