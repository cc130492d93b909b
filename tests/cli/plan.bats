#!/usr/bin/env bats
# infergrid plan: its files, the same bytes however they were made, and what is wrong told before
# anything runs.
bats_require_minimum_version 1.5.0
load common

# A load that takes a few clusters of a tiny model.
load_of_a_few() {
    cat >load.yaml <<'EOF'
version: 1
seed: 5
platform: {base: mt3000.yaml, nodes: 4}
model: tiny-llama.json
workload:
  synthetic:
    requests: 40
    arrivals: {process: poisson, rate: 600 /s}
    prompt: {distribution: uniform, min: 16, max: 200}
    output: {distribution: uniform, min: 2, max: 20}
policy:
  mode: pbd
slo: {ttft: {limit: 12 ms}, tpot: {limit: 4 ms}}
search:
  prefill: {pp: 1, micro_batch: 1, dp: 1:32}
  buffer: {clusters: 1}
  decode: {tp: [1, 2], pp: 1, slots: 4, dp: 1:32}
EOF
}

plan() {
    "$INFERGRID" plan load.yaml -q --target 'goodput >= 95 %' --units clusters --sizes 1:12 "$@"
}

@test "the chosen plan's file simulates to the figures of the plan, to the last digit" {
    load_of_a_few
    plan -o planned >text
    "$INFERGRID" simulate planned/best.yaml -q --json >summary.json
    for pair in throughput_tokens_per_s:.whole.output_token_throughput_per_s \
        makespan_s:.whole.makespan_s ttft_p99_s:.whole.ttft.p99_s energy_joules:.energy.joules; do
        equal "$(jq ".chosen.${pair%%:*}" planned/plan.json)" "$(jq "${pair#*:}" summary.json)"
    done
    contains "$(cat text)" 'smallest machine'
    contains "$(cat text)" 'Bottleneck: '
    contains "$(cat text)" 'Other seeds: '
    equal "$(jq .chosen.holds planned/plan.json)" true
}

@test "smaller sizes that were looked at fail, the chosen one and larger ones hold" {
    load_of_a_few
    plan -o planned >/dev/null
    python3 - <<'EOF'
import csv, json
chosen = json.load(open('planned/plan.json'))['chosen']['size']
rows = list(csv.DictReader(open('planned/sizes.csv')))
sizes = [int(row['size']) for row in rows]
assert sizes == sorted(set(sizes))
for row in rows:
    assert row['units'] == 'clusters'
    assert (row['holds'] == 'true') == (int(row['size']) >= chosen), row
assert {chosen - 1, chosen, chosen + 1} <= set(sizes)
loads = list(csv.DictReader(open('planned/headroom.csv')))
assert all(row['holds'] == ('true' if float(row['goodput_share']) >= 0.95 else 'false')
           for row in loads), loads
EOF
}

@test "the number of workers changes nothing" {
    load_of_a_few
    plan -j 1 -o one >text.one
    plan -j 3 -o three >text.three
    cmp text.one text.three
    diff -r one three
}

@test "a plan that is killed goes on from its store and ends with the same bytes" {
    load_of_a_few
    plan -o whole >text.whole
    for wait in 0.2 0.5 0.9; do
        timeout -s KILL $wait "$INFERGRID" plan load.yaml -q --target 'goodput >= 95 %' \
            --units clusters --sizes 1:12 --store kept.store >/dev/null || true
    done
    plan --store kept.store -o resumed >text.resumed
    cmp text.whole text.resumed
    diff -r whole resumed
    records=$(wc -l <kept.store)
    plan --store kept.store -o again >/dev/null
    diff -r whole again
    equal "$(wc -l <kept.store)" "$records"
}

@test "the highest rate of the experiment's own machine" {
    load_of_a_few
    "$INFERGRID" plan load.yaml -q --target 'goodput >= 95 %' --max-rate --json >rate.json
    jq -e '.highest_rate_per_s > 0 and .chosen.holds and .loads_monotone != null' rate.json
    jq -e '.highest_load < .lowest_broken_load' rate.json
    # with any plan for that machine it is no less
    "$INFERGRID" plan load.yaml -q --target 'goodput >= 95 %' --max-rate --search --json >any.json
    jq -e --slurpfile own rate.json '.highest_rate_per_s >= $own[0].highest_rate_per_s' any.json
}

@test "a target that cannot be met is explained, with exit status 1" {
    load_of_a_few
    run -1 "$INFERGRID" plan load.yaml -q --target 'ttft_p50 <= 10 us' --units clusters --sizes 3:6
    contains "$output" 'no size up to 6 clusters meets every target'
    contains "$output" "never to be met 'ttft_p50 <= 10 us': no load is light enough"
}

@test "pictures are drawn" {
    command -v gnuplot >/dev/null || skip 'gnuplot is not installed'
    load_of_a_few
    plan -o planned --plot >/dev/null
    for name in capacity headroom; do
        grep -q '</svg>' "planned/$name.svg"
        [ "$(head -c 5 "planned/$name.pdf")" = %PDF- ]
    done
    plan -o planned --force >/dev/null
    [ ! -e planned/capacity.svg ]
}

@test "what is wrong is told before anything runs" {
    load_of_a_few
    while IFS='|' read -r words message; do
        eval "run -2 \"$INFERGRID\" plan load.yaml -q --store never.store $words"
        contains "$output" "$message"
    done <<'EOF'
|infergrid plan: option '--target' must be given
--target 'goodput >= 99'|--target: expected a share from 0 to 100 %, such as '99 %', in 'goodput >= 99'
--target 'gooput >= 99 %'|--target: unknown figure 'gooput' (did you mean 'goodput'?)
--target 'ttft_p99 <= 2'|--target: expected a duration such as '2 ms' for 'ttft_p99', not '2'
--target 'ttft_p99'|--target: expected a figure, '<=' or '>=', and a value
--target 'goodput >= 99 %' --target 'goodput <= 98 %'|contradict each other
--target 'goodput >= 99 %' --units wafers|--units: 'MT-3000' is not made of wafers
--target 'goodput >= 99 %' --units cluster|unknown units 'cluster' (did you mean 'clusters'?)
--target 'goodput >= 99 %' --sizes 4:2|--sizes: expected FROM:TO
--target 'goodput >= 99 %' --load-scale 4:1|--load-scale: expected A:B
--target 'goodput >= 99 %' --method analytic|--method: unknown method 'analytic'
--target 'goodput >= 99 %' --search|option '--search' needs '--max-rate'
--target 'goodput >= 99 %' --max-rate --sizes 1:2|'--sizes' has no place
--target 'goodput >= 99 %' --plot|option '--plot' needs '--output'
--target 'goodput >= 99 %' --seeds -1|--seeds: expected a whole number
EOF
    [ ! -e never.store ]
    sed -i '/^slo/d' load.yaml
    run -2 "$INFERGRID" plan load.yaml -q --target 'goodput >= 99 %'
    contains "$output" "--target: 'goodput' needs a limit in the experiment's section 'slo'"
}

@test "sizes that are all too small for the model are an error" {
    run -2 "$INFERGRID" plan planning.yaml -q --target 'goodput >= 99 %' --units clusters --sizes 1:2
    contains "$output" 'the search space is empty'
}

@test "requests without a rate have no headroom and no highest rate" {
    run -2 "$INFERGRID" plan closed_batch.yaml -q --target 'throughput >= 1' --max-rate
    contains "$output" "option '--max-rate' needs requests that come at a rate"
}
