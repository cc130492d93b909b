#!/usr/bin/env bats
# infergrid search: its files, the same bytes however it was made, and what is wrong told before
# anything runs.
bats_require_minimum_version 1.5.0
load common

# A space of a few dozen plans of a tiny model.
space() {
    cat >space.yaml <<'END'
version: 1
seed: 5
platform: {base: mt3000.yaml, nodes: 2}
model: tiny-llama.json
workload:
  synthetic:
    requests: 24
    arrivals: {process: poisson, rate: 2000 /s}
    prompt: {distribution: uniform, min: 16, max: 200}
    output: {distribution: uniform, min: 2, max: 30}
policy:
  mode: pbd
slo:
  ttft: {limit: 5 ms}
search:
  clusters: 8
  prefill: {pp: [1, 2], micro_batch: 1}
  buffer: {clusters: [1]}
  decode: {tp: [1, 2], pp: [1], slots: [4, 8]}
END
}

search() {
    "$INFERGRID" search space.yaml -q "$@"
}

# Column of a CSV file by its name; plans are quoted, so the parser must be a real one.
column() {
    python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1])): print(row[sys.argv[2]])' "$1" "$2"
}

@test "the best plan's file simulates to the figures of the search, to the last digit" {
    space
    search -o found >table
    "$INFERGRID" simulate found/best.yaml -q --json >summary.json
    for pair in throughput_tokens_per_s:.whole.output_token_throughput_per_s \
        makespan_s:.whole.makespan_s ttft_p99_s:.whole.ttft.p99_s energy_joules:.energy.joules; do
        equal "$(jq ".best.figures.${pair%%:*}" found/search.json)" \
            "$(jq "${pair#*:}" summary.json)"
    done
    # what it says, said again, is the same file
    "$INFERGRID" search found/best.yaml -q -o again >/dev/null
    cmp found/best.yaml again/best.yaml
    contains "$(cat table)" 'analytic rule (S_max = prompt + generated, D_emb of KV = hidden)'
    contains "$(cat table)" 'regret: the best is '
    contains "$(cat table)" 'left out: even their bounds are worse than the best'
}

@test "every candidate has a row, a fate, and a reason where it is not ranked" {
    space
    search -o found >/dev/null
    rows=$(column found/candidates.csv candidate | wc -l)
    equal "$rows" "$(jq .space.candidates found/search.json)"
    equal "$((rows + $(jq '[.space.pruned[]] | add' found/search.json)))" \
        "$(jq .space.enumerated found/search.json)"
    paste -d: <(column found/candidates.csv fate) <(column found/candidates.csv reason) >fates
    equal "$(grep -c '^ranked:$' fates)" "$(jq .space.fates.ranked found/search.json)"
    equal "$(grep -c '^bound:throughput at most .* where candidate .* has ' fates)" \
        "$(jq .space.fates.bound found/search.json)"
    equal "$(column found/candidates.csv rank | grep -c .)" "$(grep -c '^ranked' fates)"
}

@test "guided finds what exhaustive finds, with fewer simulations" {
    space
    search -o guided >/dev/null
    search -m exhaustive -o all >/dev/null
    cmp guided/best.yaml all/best.yaml
    equal "$(jq .best.figures guided/search.json)" "$(jq .best.figures all/search.json)"
    [ "$(jq .space.simulated guided/search.json)" -lt "$(jq .space.simulated all/search.json)" ]
}

@test "one worker and two, a store and none: the same bytes" {
    space
    search -j 1 -o one --objective goodput,cost >one.txt
    search -j 2 -o two --objective goodput,cost --store store >two.txt
    before=$(cksum <store)
    search -j 2 -o three --objective goodput,cost --store store >three.txt
    cmp one.txt two.txt && cmp one.txt three.txt
    diff -r one two && diff -r one three
    equal "$(cksum <store)" "$before"
    # whatever else is in the store: runs to their end that this search would have ended early, and
    # such as other searches ended early
    search -m exhaustive --store full >/dev/null
    search --objective ttft_p99 --store full >/dev/null
    search -o four --objective goodput,cost --store full >four.txt
    cmp one.txt four.txt
    diff -r one four
    # the rule's plan as one of the candidates, which is simulated for both
    sed -i -e 's/  clusters: 8/&\n  use_all: false\n  pools: [1, 2]/' space.yaml
    for figure in throughput tpot_mean; do
        search -j 1 --objective $figure -o "alone-$figure" >/dev/null
        jq -e '.space.events > 0' "alone-$figure/search.json"
        equal "$(paste -d: <(column "alone-$figure/candidates.csv" fate) \
            <(column "alone-$figure/candidates.csv" makespan_s) | grep -c '^ranked:$')" 0
        search -m exhaustive --objective $figure --store both >/dev/null
        search -j 3 --objective $figure --store both -o "with-$figure" >/dev/null
        diff -r "alone-$figure" "with-$figure"
    done
    # a space large enough that workers make its bounds
    for workers in 1 3; do
        "$INFERGRID" search planning -q -j $workers -o "large-$workers" >"large-$workers.txt"
    done
    [ "$(jq .space.candidates large-1/search.json)" -ge 64 ]
    cmp large-1.txt large-3.txt
    diff -r large-1 large-3
}

@test "runs that cannot win end early, and say so" {
    space
    search --objective ttft_p99 -o ended >ended.txt
    early=$(jq .space.ended_early ended/search.json)
    [ "$early" -gt 0 ]
    contains "$(cat ended.txt)" "$early of them ended early"
    contains "$(column ended/candidates.csv reason)" 'by what its run had shown'
    search --objective ttft_p99 -m exhaustive -o all >all.txt
    equal "$(jq .space.ended_early all/search.json)" 0
    equal "$(jq .best.plan ended/search.json)" "$(jq .best.plan all/search.json)"
}

@test "killed at any moment it goes on to the same bytes" {
    space
    search -m exhaustive -o whole >whole.txt
    kills=0
    for attempt in {1..30}; do
        "$INFERGRID" search space.yaml -q -m exhaustive --store store >/dev/null 2>stderr &
        pid=$!
        sleep "$(printf '0.%03d' $((20 + (attempt * 7919) % (20 + 7 * attempt))))"
        kill -KILL $pid 2>/dev/null && kills=$((kills + 1))
        wait $pid && break
        [ -s stderr ] && cat stderr && return 1
    done
    [ "$kills" -gt 0 ]
    search -m exhaustive --store store -o resumed >resumed.txt
    cmp whole.txt resumed.txt
    diff -r whole resumed
    equal "$(cut -f1 store | sort | uniq -d)" ''
}

@test "parts joined are the whole" {
    space
    search -o whole >whole.txt
    for part in 1 2; do
        search --shard $part/2 --store part-$part >part.txt
        contains "$(cat part.txt)" 'in other shards'
    done
    "$INFERGRID" merge joined part-1 part-2
    search --store joined -o joined-out >joined.txt
    cmp whole.txt joined.txt
    diff -r whole joined-out
}

@test "several objectives give a front, limits leave plans out" {
    space
    search --objective ttft_p50,tpot_p50 -o front >front.txt
    [ "$(jq '.front | length' front/search.json)" -ge 2 ]
    contains "$(cat front.txt)" '* on the Pareto front'
    # along the front one gets better while the other gets worse
    jq -e '[.front[].figures.ttft_p50_s] | . == sort' front/search.json
    jq -e '[.front[].figures.tpot_p50_s] | . == (sort | reverse)' front/search.json
    search --limit 'ttft_p99 <= 1 ms' -o none >none.txt || failed=$?
    equal "$failed" 1
    contains "$(cat none.txt)" 'no candidate is sound and keeps every limit'
    [ ! -e none/best.yaml ]
}

@test "the analytic method simulates the rule's plan alone" {
    space
    search -m analytic -o rule >rule.txt
    contains "$(cat rule.txt)" 'method: analytic, 0 simulated'
    jq -e '.analytic_rule.figures.throughput_tokens_per_s > 0' rule/search.json
}

@test "the shipped closed batch of THInfer is planned by the rule, over micro-batches, in whole pools" {
    infergrid search thinfer --set workload.synthetic.requests=64 --quiet --json
    equal "$status" 0
    equal "$(jq -r .analytic_rule.readings <<<"$output")" "S_max = prompt + generated, D_emb of KV = \
kv_heads * head_dim, micro-batch by eq. 22, whole pools"
    # eq. 15 and 16 with TP 2: 78 requests; more than 59 would ask for a second buffer
    equal "$(jq -r .analytic_rule.plan <<<"$output")" \
        '8 pools: prefill 1x1, buffer 1, decode tp2 dp1, slots 59'
}

@test "pictures are drawn" {
    command -v gnuplot >/dev/null || skip 'gnuplot is not here'
    space
    search --plot -o drawn >/dev/null
    for picture in pareto sensitivity; do
        [ -s drawn/$picture.pdf ]
        contains "$(head -c 300 drawn/$picture.svg)" '<svg'
    done
    contains "$(<drawn/pareto.svg)" 'analytic rule'
    contains "$(<drawn/sensitivity.svg)" 'decode.tp'
}

@test "what is wrong is told before anything runs, and nothing is written" {
    space
    while IFS='|' read -r words message; do
        eval "infergrid search space.yaml -q -o out --store store $words"
        equal "$status" 2
        equal "$stderr" "$message"
        [ ! -e out ] && [ ! -e store ]
    done <<'END'
--objective thruput|--objective: unknown objective 'thruput'; expected one of: clusters, makespan, throughput, request_rate, goodput, goodput_rate, cost, energy, energy_per_token, ttft_mean, ttft_p50, ttft_p90, ttft_p99, tpot_mean, tpot_p50, tpot_p90, tpot_p99, e2e_mean, e2e_p50, e2e_p90, e2e_p99, queueing_mean
--objective cost,cost|--objective: 'cost' stands twice
--method guidet|--method: unknown method 'guidet' (did you mean 'guided'?); expected guided, exhaustive or analytic
--limit 'ttft_p99 < 2'|--limit: expected a figure, '<=' or '>=', and a value, such as 'ttft_p99 <= 2 s', not 'ttft_p99 < 2'
--limit 'ttft_p9 <= 2 s'|--limit: unknown figure 'ttft_p9' (did you mean 'ttft_p90'?); expected one of: clusters, makespan, throughput, request_rate, goodput, goodput_rate, cost, energy, energy_per_token, ttft_mean, ttft_p50, ttft_p90, ttft_p99, tpot_mean, tpot_p50, tpot_p90, tpot_p99, e2e_mean, e2e_p50, e2e_p90, e2e_p99, queueing_mean, prefill_busy, decode_busy, buffer_full, completed, rejected, events, slots_needed
--limit 'ttft_p99 <= 2 s' --limit 'ttft_p99 >= 3 s'|--limit: 'ttft_p99 <= 2 s' and 'ttft_p99 >= 3 s' contradict each other
--shard 3/2|--shard: expected I/N, such as 1/3 for the first of three parts, not '3/2'
END
    sed -i '/^slo/,/ttft/d' space.yaml
    infergrid search space.yaml --objective goodput
    equal "$status:$stderr" \
        "2:--objective: 'goodput' needs a limit in the experiment's section 'slo'"
    infergrid search space.yaml --plot
    equal "$status:$stderr" "2:infergrid search: option '--plot' needs '--output'"
}

@test "an empty space says why, and a damaged store is left as it is" {
    space
    infergrid search space.yaml --set search.clusters=2
    equal "$status" 2
    contains "$stderr" 'clusters'
    search --store store >/dev/null
    sed -i '3s/ok/OK/' store
    before=$(cksum <store)
    infergrid search space.yaml -q --store store -o out
    equal "$status" 2
    contains "$stderr" 'store:3'
    equal "$(cksum <store)" "$before"
    [ ! -e out ]
}

@test "a limit that the best plan just meets is met" {
    cat >limit.yaml <<'END'
version: 1
seed: 3
platform: {base: mt3000.yaml, nodes: 2}
model: tiny-llama.json
workload:
  synthetic:
    requests: 2
    arrivals: {process: poisson, rate: 20 /s}
    prompt: {distribution: fixed, tokens: 64}
    output: {distribution: fixed, tokens: 2}
policy:
  mode: colocated
  colocated: {tp: 1}
slo: {tpot: {limit: 1 s}}
search:
  use_all: false
  colocated: {tp: [1, 2], pp: 1, dp: [1, 2], slots: 1, chunk_tokens: 0}
END
    for figure in ttft tpot e2e; do
        limit=$("$INFERGRID" search limit.yaml -q -m exhaustive --objective ${figure}_p99 --json |
            jq ".best.figures.${figure}_p99_s")
        for method in exhaustive guided; do
            "$INFERGRID" search limit.yaml -q -m $method --objective goodput --json \
                --set slo.$figure.limit="$limit s" >$method.json
        done
        equal "$(jq .best.figures.goodput_share guided.json)" 1
        equal "$(jq .best.plan guided.json)" "$(jq .best.plan exhaustive.json)"
    done
}
