#!/usr/bin/env bats
# Operators over a wafer's mesh: figures, numbers, folding, sweeps, pictures, and what is refused.
bats_require_minimum_version 1.5.0
load common

mesh() {
    infergrid operator "$@" --platform wse2
}

# The exact message, status 2, nothing on standard output.
refused() {
    equal "$status" 2
    equal "$output" ''
    equal "$stderr" "$1"
}

@test "a product tells cycles, rates, critical path, paths and bytes" {
    mesh meshgemm --grid 24 -M 256
    equal "$status" 0
    equal "$stderr" ''
    for word in 'meshgemm on 24 × 24 cores' 'row 0 and column 0 stand for all' cycles latency \
        computing communicating 'waiting for others' 'share of peak' 'uneven tiles' hops \
        'routing stages' wavelets ' of 24 (core' 'of 44.98 kB'; do
        contains "$output" "$word"
    done
}

@test "shares and rates agree with cycles" {
    mesh meshgemm --grid 24x16 -M 200 -K 300 -N 100 --json
    jq -e '.macs == 200 * 300 * 100
        and ((.compute_cycles + .communication_cycles + .wait_cycles) / .cycles - 1 | fabs) < 1e-9
        and ((.cycles / .latency_s / 1.1e9 - 1) | fabs) < 1e-9
        and ((.macs / .latency_s / .macs_per_s - 1) | fabs) < 1e-9
        and .padding > 0 and .simulated_cores == 39 and .grain == "folded, approximate"' <<<"$output"
}

@test "numbers are right for every operator, where sizes divide nothing" {
    for operator in meshgemm cannon summa allgather-gemm dist-gemm-t; do
        for type in fp16 fp32; do
            mesh "$operator" --grid 7x5 -M 41 -K 29 -N 33 --dtype "$type" --verify --json
            equal "$status" 0
            equal "$(jq -r '"\(.numbers.verified) \(.numbers.checked) \(.grain) \(.loop)"' \
                <<<"$output")" 'right 1353 full step by step'
        done
    done
    for operator in meshgemv gemv-pipeline gemv-ring; do
        mesh "$operator" --grid 7x5 -K 29 -N 33 --verify --json
        equal "$(jq -r '"\(.numbers.verified) \(.numbers.checked)"' <<<"$output")" 'right 33'
    done
    for algorithm in chain pipeline fabric ring tree; do
        mesh allreduce --grid 7x5 --elements 9 --algorithm "$algorithm" --verify --json
        equal "$(jq -r '"\(.numbers.verified) \(.numbers.checked)"' <<<"$output")" 'right 315'
    done
    mesh allreduce --grid 9x4 --elements 3 --no-broadcast --k 3 --dtype fp32 --verify --json
    equal "$(jq -r '"\(.numbers.verified) \(.numbers.checked)"' <<<"$output")" 'right 12'
}

@test "folded and full, stepped and fast-forwarded: the same cycles" {
    for options in 'meshgemm --grid 12 -M 240' 'meshgemv --grid 12 -K 256' \
        'allreduce --grid 12 --elements 8'; do
        # shellcheck disable=SC2086 # words
        mesh $options --json
        folded=$(jq '[.cycles, .critical_path.hops, .critical_path.stages, .limits.paths]' \
            <<<"$output")
        # shellcheck disable=SC2086
        mesh $options --full --json
        equal "$(jq '[.cycles, .critical_path.hops, .critical_path.stages, .limits.paths]' \
            <<<"$output")" "$folded"
    done
    mesh meshgemm --grid 40 -M 500 --json
    fast=$(jq 'del(.loop)' <<<"$output")
    equal "$(jq -r .loop <<<"$output")" fast-forwarded
    mesh meshgemm --grid 40 -M 500 --every-step --json
    equal "$(jq -r .loop <<<"$output")" 'step by step'
    equal "$(jq 'del(.loop)' <<<"$output")" "$fast"
}

@test "broadcasts relay where direct paths exceed a core's, and say so" {
    mesh summa --grid 8 -M 64 --json
    equal "$(jq -r .routing <<<"$output")" direct
    mesh summa --grid 32 -M 64 --json
    equal "$(jq -r .routing <<<"$output")" 'relayed in software'
    jq -e '.critical_path.stages > 0 and .limits.paths <= .limits.routing_paths' <<<"$output"
    mesh summa --grid 8 -M 64 --routing relay --json
    equal "$(jq -r .routing <<<"$output")" 'relayed in software'
    mesh summa --grid 32 -M 64 --routing direct
    equal "$status" 2
    for word in "core (" summa 24; do
        contains "$stderr" "$word"
    done
}

@test "a folded product says by how much it may be off, and keeps to it" {
    for options in 'summa --grid 12 -M 96' 'cannon --grid 12 -M 96 -K 24' \
        'meshgemm --grid 4 -M 50 -K 61 -N 45' 'allgather-gemm --grid 12 -M 101 -K 127 -N 97' \
        'dist-gemm-t --grid 5 -M 50 -K 61 -N 45'; do
        # shellcheck disable=SC2086 # words
        mesh $options --json
        equal "$(jq -r .grain <<<"$output")" 'folded, approximate'
        folded=$output
        # shellcheck disable=SC2086
        mesh $options --full --json
        equal "$(jq -r '"\(.grain) \(.fold_bound)"' <<<"$output")" 'full 0'
        jq -en --argjson a "$folded" --argjson b "$output" \
            '$a.fold_bound > 0 and ($a.cycles - $b.cycles | fabs) <= $a.fold_bound'
    done
    mesh summa --grid 12 -M 96
    for word in 'folded, approximate' 'off by at most' 'relayed in software (auto'; do
        contains "$output" "$word"
    done
    mesh summa --grid 12,16 -M 96
    contains "$(head -1 <<<"$output")" ,fold_bound,
    mesh summa --grid 12 -M 96 --full
    [[ $output != *'off by at most'* ]]
}

@test "a K-tree's time on the wafer is its stages and hops, with and without broadcast" {
    mesh allreduce --grid 750x994 --elements 2 --no-broadcast --json
    # a stage: beta and a wavelet
    jq -e '(.critical_path.stages * 17.1 + .critical_path.hops - .cycles) / .cycles | fabs < 0.05' \
        <<<"$output"
    alone=$(jq .cycles <<<"$output")
    mesh allreduce --grid 750x994 --elements 2 --json
    jq -en --argjson a "$alone" --argjson b "$(jq .cycles <<<"$output")" '$b > $a + 300'
}

@test "operators, grids and sizes are swept, all with all, and drawn" {
    mesh meshgemv,gemv-pipeline --grid 12,24x16 -K 64,128 --plot sweep.svg -o sweep
    equal "$status" 0
    equal "$(tail -n +2 <<<"$output" | cut -d, -f1,3-6 | tr '\n' ' ')" \
        "$(for operator in meshgemv gemv-pipeline; do for k in 64 128; do for grid in 12,12 24,16; do
            printf '%s,%s,%s,%s ' "$operator" "$grid" "$k" "$k"; done; done; done)"
    cmp sweep/result.csv <(printf '%s\n' "$output")
    equal "$(jq length sweep/result.json)" 8
    if command -v gnuplot; then
        xmllint --noout sweep.svg
        for word in '24 × 16' '128 × 128' gemv-pipeline 'not computing' cycles cores; do
            contains "$(<sweep.svg)" "$word"
        done
    fi
    mesh allreduce --grid 16 --elements 4 --algorithm ring,tree --k 1,2,3
    equal "$(tail -n +2 <<<"$output" | cut -d, -f7,8 | tr '\n' ' ')" 'ring,0 tree,1 tree,2 tree,3 '
}

@test "a result folder holds figures, a heat map and, of a small mesh, a timeline" {
    mesh meshgemm --grid 6x4 -M 64 --full -o small
    equal "$status" 0
    python3 "$INFERGRID_SOURCE/tests/scripts/check_trace.py" small/timeline.json
    equal "$(jq '[.traceEvents[] | select(.ph == "X") | .tid] | unique | length' \
        small/timeline.json)" 24
    mesh meshgemm --grid 100 -M 256 -o large
    [ ! -e large/timeline.json ]
    if command -v gnuplot; then
        contains "$(<small/heatmap.svg)" 'row of cores'
        contains "$(<large/heatmap.svg)" 'a row, along X'
        [ "$(ls small)" = $'heatmap.svg\nresult.csv\nresult.json\ntimeline.json' ]
    fi
}

@test "the same operator twice: the same bytes" {
    mesh summa --grid 24 -M 100 -o first
    mesh summa --grid 24 -M 100 -o second
    cmp first/result.json second/result.json
    cmp first/result.csv second/result.csv
}

@test "compliance with PLMR is as figures 6 and 8 say" {
    infergrid explain plmr --platform wse2 --grid 8 --json
    equal "$status" 0
    equal "$(jq -r '.[] | [.algorithm, .paths_growth, .hops_growth, .stages_growth, .tiles_growth]
        | join(";")' <<<"$output" | grep -v 'allgather, relayed')" \
        'allgather, direct;O(N);O(N);none;O(N)
SUMMA, direct;O(N);O(N);none;O(1)
SUMMA, relayed;O(1);O(1);O(N);O(1)
Cannon;O(1);O(N);none;O(1)
MeshGEMM;O(1);O(1);none;O(1)
pipeline;O(1);O(N);O(N);O(1)
ring;O(1);O(N);O(N);O(1)
K-tree, K = 2;O(1);O(N);O(sqrt N);O(1)'
    equal "$(jq -r '[.[] | select(.keeps_l == "yes" and .keeps_m == "yes" and .keeps_r == "yes")
        | .algorithm] | join(";")' <<<"$output")" 'MeshGEMM;K-tree, K = 2'
    jq -e '.[] | select(.algorithm == "MeshGEMM") | .hops == 2 and .hops_far == 2' <<<"$output"
    infergrid explain plmr
    contains "$output" 'MeshGEMM            6, 6       O(1)'
}

@test "bad grids are refused" {
    mesh meshgemm --grid 0 -M 8
    refused "--grid: expected a number of cores such as '720' or columns and rows such as '750x994', not '0'"
    mesh meshgemm --grid 8x8x8 -M 8
    refused "--grid: expected a number of cores such as '720' or columns and rows such as '750x994', not '8x8x8'"
    mesh meshgemm --grid 2 -M 8
    refused '--grid: meshgemm needs at least 3 × 3 cores, not 2 × 2'
    mesh allreduce --grid 2 --elements 4 --algorithm ring
    refused '--grid: the ring of allreduce needs at least 3 × 3 cores, not 2 × 2'
    mesh meshgemm --grid 8,994x750 -M 8
    refused "--grid: 994 × 750 cores are more than the 750 × 994 of 'Cerebras WSE-2'"
    mesh meshgemm -M 8
    refused "infergrid operator: meshgemm needs option '--grid'"
}

@test "K out of range, wrong words and options are refused" {
    mesh allreduce --grid 16 --elements 4 --k 5
    refused '--k: must be from 1 to 4 for lines of 16 cores, not 5'
    mesh meshgemv --grid 16 -K 64 --k 0
    refused '--k: must be from 1 to 4 for lines of 16 cores, not 0'
    mesh meshgemm --grid 16 -M 64 --k 2
    refused "infergrid operator: option '--k' says nothing about meshgemm"
    mesh allreduce --grid 16 --elements 4 --ranks 4
    refused "infergrid operator: option '--ranks' says nothing about allreduce"
    mesh allreduce --grid 16 --elements 4 --algorithm tre
    refused "--algorithm: unknown algorithm 'tre' (did you mean 'tree'?); expected one of: chain, pipeline, fabric, ring, tree"
    mesh meshgemm,meshgem --grid 16 -M 64
    refused "infergrid operator: unknown operator 'meshgem' (did you mean 'meshgemm'?)"
    mesh meshgemm,meshgemv --grid 16 -M 64
    refused "infergrid operator: 'meshgemm' and 'meshgemv' have different sizes and cannot be swept together"
    mesh gemm --grid 16 -M 64
    refused "infergrid operator: 'gemm' does not run on the mesh of 'Cerebras WSE-2'; expected one of: meshgemm, cannon, summa, allgather-gemm, dist-gemm-t, meshgemv, gemv-pipeline, gemv-ring, allreduce"
    infergrid operator meshgemm --grid 16 -M 64
    refused "infergrid operator: 'meshgemm' does not run on the clusters of 'MT-3000'; expected one of: gemm, attention, allreduce, or a wafer after '--platform'"
    infergrid operator gemm -M 64 -K 64 -N 64 --grid 16
    refused "infergrid operator: option '--grid' says nothing about gemm"
    mesh meshgemm --grid 16 -M 64 --full --folded
    refused "infergrid operator: options '--full' and '--folded' exclude each other"
    mesh meshgemm --grid 16 -M 64 --plot sweep.png
    refused "--plot: expected a file that ends in .svg or .pdf, not 'sweep.png'"
}

@test "numbers of folded or large meshes are refused" {
    mesh meshgemm --grid 16 -M 64 --verify --folded
    refused '--verify: numbers need every core, not a folded mesh'
    mesh meshgemm --grid 8,65x64 -M 64 --verify
    refused '--verify: numbers are computed on at most 64 × 64 cores, not 65 × 64'
    mesh meshgemm --grid 8 -M 64 --verify --dtype bf16
    refused "--verify: numbers are computed in 'fp16' and 'fp32', not in 'bf16'"
}

@test "bf16 takes the time of fp16, in every operator" {
    for options in 'meshgemm --grid 8 -M 64' 'meshgemv --grid 8 -K 64' \
        'allreduce --grid 8 --elements 9'; do
        # shellcheck disable=SC2086 # words
        mesh $options --json
        half=$(jq 'del(.dtype)' <<<"$output")
        # shellcheck disable=SC2086
        mesh $options --dtype bf16 --json
        equal "$status" 0
        equal "$(jq -r .dtype <<<"$output")" bf16
        equal "$(jq 'del(.dtype)' <<<"$output")" "$half"
    done
    mesh allreduce --grid 8 --elements 9 --dtype bf16 --verify
    refused "--verify: numbers are computed in 'fp16' and 'fp32', not in 'bf16'"
}

@test "shapes that overflow a core's memory are refused with core, algorithm and bytes" {
    mesh meshgemm --grid 8 -M 4096 -o results
    equal "$status" 2
    for word in 'core (' meshgemm '44.98 kB'; do
        contains "$stderr" "$word"
    done
    [ ! -e results ]
}

@test "explain plmr refuses what it cannot count" {
    infergrid explain plmr --platform mt3000
    refused "--platform: expected a wafer such as 'wse2', not 'MT-3000'"
    infergrid explain plmr --grid 3
    refused '--grid: must be from 4 to 64, not 3'
    infergrid explain plmr --tokens 4
    refused "infergrid explain: option '--tokens' says nothing about plmr"
    infergrid explain fusion --grid 4
    refused "infergrid explain: option '--grid' says nothing about fusion"
}

@test "products with a vector that stay at the root have right numbers; short lines have flat trees" {
    for kind in gemv-ring gemv-pipeline meshgemv; do
        mesh "$kind" --grid 4 -K 9 -N 9 --no-broadcast --verify
        equal "$status" 0
    done
    mesh allreduce --grid 2 --elements 4
    equal "$status" 0
    mesh meshgemv --grid 3 -K 9
    equal "$status" 0
}
