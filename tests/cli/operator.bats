#!/usr/bin/env bats
# Single operators: what is printed, files, sweeps, numbers, the timeline.
bats_require_minimum_version 1.5.0
load common

@test "gemm tells latency, rate, bound, transfers and blocks" {
    infergrid operator gemm --platform mt3000 -M 2048 -K 4096 -N 4096 --dtype fp16
    equal "$status" 0
    equal "$stderr" ''
    for word in latency 'share of peak' 'GFLOPS by eq. 23' 'bound by' broadcast 'GSM to SM' \
        'AM of a DSP' 'best found' "paper's are slower by"; do
        contains "$output" "$word"
    done
}

@test "JSON agrees with itself and with the paper's units" {
    infergrid operator gemm -M 1024 -K 4096 -N 1024 --dtype fp32 --json
    equal "$status" 0
    jq -e '.macs == 1024 * 4096 * 1024
        and ((.macs / .latency_s / .macs_per_s - 1) | fabs) < 1e-12
        and ((.macs_per_s / .eq23_gflops / 1073741824 - 1) | fabs) < 1e-12
        and ((.macs_per_s / .peak_share / 4147.2e9 - 1) | fabs) < 1e-12
        and .launches == 1
        and .tiers.ddr_out_bytes == .transfers.ddr_to_gsm_bytes + .transfers.broadcast_bytes
            + .transfers.ddr_to_am_bytes + .transfers.ddr_to_sm_bytes
        and .transfers.dma_transfers + .transfers.broadcasts
            == ([.transfers | to_entries[] | select(.key | endswith("_transfers"))
                | select(.key != "dma_transfers") | .value] | add)' <<<"$output"
}

@test "the best blocks are as much faster as is said" {
    infergrid operator gemm -M 4096 -K 4096 -N 4096 --json
    paper=$output
    infergrid operator gemm -M 4096 -K 4096 -N 4096 --blocks best --json
    jq -en --argjson p "$paper" --argjson b "$output" \
        '$p.launch_s as $l | ((($p.latency_s - $l) / ($b.latency_s - $l)
            / (1 + $p.blocks.paper_distance) - 1) | fabs) < 1e-9
            and $b.blocks.kg == $p.blocks.best_kg and $p.blocks.paper_distance > 0'
}

@test "lists of sizes are swept, all with all, as CSV" {
    infergrid operator gemm -M 1024,2048 -K 4096 -N 256,512,768 -o sweep
    equal "$status" 0
    equal "$(wc -l <<<"$output")" 7
    equal "$(tail -n +2 <<<"$output" | cut -d, -f3-5 | tr '\n' ' ')" \
        '1024,4096,256 1024,4096,512 1024,4096,768 2048,4096,256 2048,4096,512 2048,4096,768 '
    cmp sweep/result.csv <(printf '%s\n' "$output")
    equal "$(jq length sweep/result.json)" 6
    infergrid operator gemm -M 2048 -K 4096 -N 512 --json
    equal "$(jq .latency_s <<<"$output")" "$(jq '.[4].latency_s' sweep/result.json)"
}

@test "a timeline shows transfers under the computing, and is sound" {
    infergrid operator gemm -M 1440 -K 4096 -N 512 -o gemm
    infergrid operator attention --heads 2 --new 1536 -o attention
    for name in gemm attention; do
        python3 "$INFERGRID_SOURCE/tests/scripts/check_trace.py" "$name/timeline.json"
    done
    python3 "$INFERGRID_SOURCE/tests/scripts/check_overlap.py" gemm/timeline.json
    # Q, O and the first K of a head have nothing to hide under
    python3 "$INFERGRID_SOURCE/tests/scripts/check_overlap.py" attention/timeline.json 0.4
    # before any optimisation nothing hides: the check would notice
    infergrid operator attention --heads 2 --new 1536 --variant unfused -o unfused
    run python3 "$INFERGRID_SOURCE/tests/scripts/check_overlap.py" unfused/timeline.json 0.1
    equal "$status" 1
}

@test "where computing bounds, Y2 in tiles saves the tail" {
    sed -e 's/ddr_bandwidth: 30 GB/ddr_bandwidth: 150 GB/' \
        -e 's/gsm_bandwidth: 139 GB/gsm_bandwidth: 900 GB/' \
        "$INFERGRID_SOURCE/platforms/mt3000.yaml" >fast.yaml
    infergrid operator gemm -p fast.yaml -M 1440 -K 512 -N 2048 --dtype fp32 --json
    equal "$(jq -r .bound <<<"$output")" compute
    tiled=$(jq .latency_s <<<"$output")
    infergrid operator gemm -p fast.yaml -M 1440 -K 512 -N 2048 --dtype fp32 --untiled --json
    jq -en --argjson a "$tiled" --argjson b "$(jq .latency_s <<<"$output")" '$a < $b'
}

@test "attention moves what table III says" {
    # 2048 rows: blocks of 64 on 24 DSPs make two rounds
    infergrid operator attention --heads 4 --new 2048 --json
    jq -e '.passes == {q_passes: 1, k_passes: 2, v_passes: 2, o_passes: 1}' <<<"$output"
    # Flash: Q once and O twice for every K/V block
    infergrid operator attention --heads 4 --new 2048 --variant flash --json
    jq -e '(2048 / .blocks.columns | ceil) as $n
        | .passes == {q_passes: $n, k_passes: 1, v_passes: 1, o_passes: (2 * $n)}' <<<"$output"
}

@test "MT before Flash before unfused" {
    for variant in mt flash unfused; do
        infergrid operator attention --new 1536 --batch 4 --variant "$variant" --json
        jq .latency_s <<<"$output" >>times
    done
    sort -c -g times
}

@test "a context of 128K tokens works, and says that it went by stages" {
    infergrid operator attention --heads 4 --new 131072 --json
    equal "$status" 0
    equal "$(jq -r .grain <<<"$output")" stage
}

@test "an all-reduce alone takes the time of the formula" {
    infergrid operator allreduce --ranks 4,8,32 --bytes '64 kB,1 MB' --json
    jq -e 'length == 6 and all(.[]; ((.latency_s / .formula_s - 1) | fabs) < 1e-9
        and .messages == 2 * .ranks * (.ranks - 1)
        and ((.sent_bytes / (2 * (.ranks - 1) * .vector_bytes) - 1) | fabs) < 1e-12)' <<<"$output"
}

@test "an all-reduce that is slower than its links takes the time of the formula too" {
    sed '/^  all_reduce:/,/latency/s/bandwidth:.*/bandwidth: 0.25 GB\/s/
        /^  all_reduce:/,/latency/s/latency:.*/latency: 40 us/' \
        "$INFERGRID_SOURCE/platforms/mt3000.yaml" >slow.yaml
    infergrid operator allreduce --platform ./slow.yaml --ranks 4 --bytes 1MB --json
    equal "$status" 0
    # 2 * 3/4 MB at 0.25 GB/s, six messages of 2 us, 40 us
    jq -e '((.latency_s / 0.006052 - 1) | fabs) < 1e-9 and
        ((.latency_s / .formula_s - 1) | fabs) < 1e-9' <<<"$output"
}

@test "numbers are right, for shapes that divide nothing too, and take no simulated time" {
    run_pair() {
        infergrid operator "$@" --json
        timed=$(jq .latency_s <<<"$output")
        infergrid operator "$@" --verify --json
        equal "$status" 0
        equal "$(jq -r .numbers.verified <<<"$output")" right
        jq -e '.numbers.checked > 0 and .numbers.worst_error > 0' <<<"$output"
        equal "$(jq .latency_s <<<"$output")" "$timed"
    }
    run_pair gemm -M 123 -K 517 -N 301 --dtype fp32
    run_pair gemm -M 771 -K 300 -N 257
    run_pair gemm -M 3 -K 1000 -N 999
    for variant in mt flash unfused; do
        run_pair attention --heads 8 --kv-heads 2 --new 67 --past 301 --variant "$variant" --causal
    done
    run_pair attention --heads 6 --kv-heads 1 --new 1 --past 777 --batch 3
    infergrid operator allreduce --ranks 5 --bytes '10 kB' --verify --json
    equal "$(jq -r .numbers.verified <<<"$output")" right
}

@test "the same operator twice: the same bytes" {
    infergrid operator gemm -M 777 -K 900 -N 500 --verify -o one
    infergrid operator gemm -M 777 -K 900 -N 500 --verify -o two
    diff -r one two
}

@test "a result folder is not overwritten unless forced" {
    infergrid operator gemm -M 64 -K 64 -N 64 -o out
    infergrid operator gemm -M 64 -K 64 -N 64 -o out
    equal "$status" 2
    equal "$stderr" "'out' exists (use --force to replace it)"
    infergrid operator gemm -M 64 -K 64 -N 64 -o out --force
    equal "$status" 0
}

@test "numbers for which there is no memory are refused with their size" {
    infergrid operator gemm -M 16777216 -K 16384 -N 64 --verify -o out
    equal "$status" 2
    contains "$stderr" '--verify: the operands take 554052878336 bytes, more than half of the '
    [ ! -e out ]
}

@test "a roofline has axes with units, both phases and the device's numbers" {
    command -v gnuplot >/dev/null || skip 'gnuplot is not here'
    infergrid roofline --platform mt3000 --model llama-2-7b --tokens 1,512 -o roofline.svg
    equal "$status" 0
    equal "$(wc -l <<<"$output")" 9
    for word in 'GMAC/s' 'MAC per byte of DDR' 'decode after 1024' 'prompt of 512' 'DDR 30 GB/s' \
        'peak 8294 GMAC/s' 'q k v out'; do
        grep -qF "$word" roofline.svg
    done
    # nothing is above the roof
    awk -F, 'NR > 1 && $5 > 1.0005 { exit 1 }' <<<"$output"
    infergrid roofline --model llama-2-7b -o roofline.pdf
    equal "$(head -c 4 roofline.pdf)" %PDF
}

@test "without gnuplot there is an error and no picture" {
    run --separate-stderr env PATH=/nowhere "$INFERGRID" roofline --model llama-2-7b -o x.svg
    equal "$status" 2
    equal "$stderr" "infergrid roofline: gnuplot, which draws the picture, is not installed\
 (Debian: gnuplot-nox)"
    [ ! -e x.svg ]
}
