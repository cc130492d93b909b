#!/usr/bin/env bash
# Speed, measured in one run on one machine: whole commands with summary and requests.csv written.
# Prints lines of "name value unit"; compare ratios, not absolute times, between machines.
set -euo pipefail
: "${INFERGRID:?}" "${INFERGRID_SOURCE:?}" "${BENCH_PROGRAMS:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
experiments=$INFERGRID_SOURCE/tests/bench

say() { printf '%-58s %12s %s\n' "$1" "$2" "$3"; }
calc() { awk -v a="$1" -v b="$2" "BEGIN { printf \"%.3f\", $3 }"; }
field() { jq -r "$1" "$work/out/$2"; }

# run EXPERIMENT [OPTION...]: leaves the wall seconds of the fastest of three runs in $wall and the
# folder of the last one in $work/out.
run() {
    local start end seconds
    wall=
    for _ in 1 2 3; do
        start=$EPOCHREALTIME
        "$INFERGRID" simulate "$experiments/$1" -o "$work/out" --force --quiet "${@:2}" >/dev/null
        end=$EPOCHREALTIME
        seconds=$(calc "$end" "$start" 'a - b')
        if [ -z "$wall" ] || awk "BEGIN { exit !($seconds < $wall) }"; then wall=$seconds; fi
    done
}

report() {
    local name=$1
    say "$name: wall" "$wall" s
    say "$name: requests a second" "$(calc "$(field .requests.arrived summary.json)" "$wall" 'a / b')" 1/s
    say "$name: stage steps" "$(field .engine.steps run.json)" ""
    say "$name: peak memory" "$(calc "$(field .peak_memory_bytes run.json)" 1e6 'a / b')" MB
}

# How much longer than a whole program that gives SimGrid as many waits and communications, and does
# nothing else.
against_bare() {
    local name=$1 actors=$2 waits comms start end seconds best=
    waits=$(field '.engine.sleeps + .engine.wakes' run.json)
    comms=$(field .engine.comms run.json)
    for _ in 1 2 3; do
        start=$EPOCHREALTIME
        "$BENCH_PROGRAMS/bench_bare" "$actors" "$waits" "$comms" >/dev/null
        end=$EPOCHREALTIME
        seconds=$(calc "$end" "$start" 'a - b')
        if [ -z "$best" ] || awk "BEGIN { exit !($seconds < $best) }"; then best=$seconds; fi
    done
    say "$name: wall of bare SimGrid" "$best" s
    say "$name: against bare SimGrid" "$(calc "$wall" "$best" 'a / b')" ratio
}

case_of() {
    local name=$1 experiment=$2 actors=$3
    run "$experiment" --no-fast-forward
    report "$name, every step"
    against_bare "$name, every step" "$actors"
    local stepping=$wall
    run "$experiment"
    report "$name, fast-forward"
    say "$name: gain of fast-forward" "$(calc "$stepping" "$wall" 'a / b')" ratio
}

echo "# processors: $(nproc), $(uname -srm)"
run first.yaml
say "first result from a fresh start" "$wall" s
case_of "a: 10,000 requests, 7B, 8 clusters" a.yaml 3
case_of "b: 20,000 requests, 70B, 10 x 8 clusters" b.yaml 11
case_of "c: 48,000 requests, 70B, 40 x 8 clusters" c.yaml 41
case_of "p: 20,000 requests, 7B, prefill-buffer-decode" pbd.yaml 45

# Growth with the trace, at a load the machine keeps up with.
for requests in 10000 100000 1000000; do
    run growth.yaml --set "workload.synthetic.requests=$requests"
    say "growth: $requests requests, wall" "$wall" s
    say "growth: $requests requests, wall a request" "$(calc "$wall" "$requests" '1e6 * a / b')" us
    say "growth: $requests requests, peak memory" "$(calc "$(field .peak_memory_bytes run.json)" 1e6 'a / b')" MB
done

# Sums over the rows of a wafer: one row for all, and every core of a smaller mesh. The whole wafer
# core by core takes 11 GB and minutes: bench_mesh 750 994 full.
"$BENCH_PROGRAMS/bench_mesh" 750 994 folded
"$BENCH_PROGRAMS/bench_mesh" 256 256 full

# Whole models on a wafer.
"$BENCH_PROGRAMS/bench_wafer"

# The numeric GEMM against OpenBLAS on one thread.
if [ -x "$BENCH_PROGRAMS/bench_gemm" ]; then
    OPENBLAS_NUM_THREADS=1 "$BENCH_PROGRAMS/bench_gemm"
fi

# sweep WORKERS: the closed batch under 180 settings, each a process of its own; runs a second in
# $rate, and a second of processor time, all processes together, in $per_core.
sweep() {
    local seconds TIMEFORMAT='%R %U %S'
    seconds=$({ time "$INFERGRID" sweep closed_batch.yaml --vary policy.decode.tp=1,2,4 \
        --vary policy.decode.slots=5:64:1 -q -j "$1" >/dev/null; } 2>&1)
    rate=$(awk '{ printf "%.3f", 180 / $1 }' <<<"$seconds")
    per_core=$(awk '{ printf "%.3f", 180 / ($2 + $3) }' <<<"$seconds")
}
sweep 2 # operators' times into the cache
sweep 1
one=$rate
say 'closed batch, 180 settings, one worker: runs a second' "$one" 1/s
say 'closed batch, 180 settings: runs a second of processor time' "$per_core" 1/s
sweep 2
say 'closed batch, 180 settings: two workers against one' "$(calc "$rate" "$one" 'a / b')" ''

# searched NAME OBJECTIVE EXPERIMENT [OPTION...]: what guided simulates, in engine operations, against
# all. The second search takes from the first one's store what it would simulate, and counts it all
# the same.
searched() {
    local found method
    for method in exhaustive guided; do
        "$INFERGRID" search "${@:3}" -m $method --objective "$2" --store "$work/store" -q --json \
            >"$work/$method.json"
        found=$(jq -c '[.best.candidate, (.front // [] | map(.candidate))]' "$work/$method.json")
        printf '%s\n' "$found" >"$work/$method.found"
    done
    say "search of $1, $2: events, guided / exhaustive" \
        "$(jq -s '.[0].space.events / .[1].space.events' "$work/guided.json" "$work/exhaustive.json")" ratio
    say "search of $1, $2: the same best and front" \
        "$(cmp -s "$work/guided.found" "$work/exhaustive.found" && echo yes || echo no)" ''
}
# guided_wall WORKERS: the fastest of three.
guided_wall() {
    local start seconds best=
    for _ in 1 2 3; do
        start=$EPOCHREALTIME
        "$INFERGRID" search "$experiments/search.yaml" -q -j "$1" >/dev/null
        seconds=$(calc "$EPOCHREALTIME" "$start" 'a - b')
        if [ -z "$best" ] || awk "BEGIN { exit !($seconds < $best) }"; then best=$seconds; fi
    done
    echo "$best"
}
one=$(guided_wall 1)
two=$(guided_wall 2)
say 'search of the closed batch, guided: wall, one worker' "$one" s
say 'search of the closed batch, guided: two workers against one' "$(calc "$one" "$two" 'a / b')" ''
searched 'the closed batch' throughput "$experiments/search.yaml"
rm "$work/store"
# Eight minutes of the shipped trace on the smallest machine that keeps the limits of 99 % of it.
# Figures that hang on the whole run, or on most of its requests, tell plans apart before they have
# run; the first tokens of a few requests tell only when those requests have come.
open_load=(planning --set 'workload.start=0 s' --set 'workload.duration=600 s')
for objective in goodput goodput_rate throughput cost ttft_p99 throughput,ttft_p99; do
    searched 'an open load' "$objective" "${open_load[@]}" --set platform.nodes=14
done
rm "$work/store"
# A machine on which the best plan keeps the limits of a quarter of the requests: a plan is worse
# only once three quarters of them are late.
searched 'an open load, too much for its machine' goodput "${open_load[@]}" --set platform.nodes=8
