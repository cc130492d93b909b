#!/usr/bin/env bats
# Same experiment and seed: same bytes. Another seed: other bytes. Fast-forward: no difference.
bats_require_minimum_version 1.5.0
load common

same_answers() {
    cmp "$1/requests.csv" "$2/requests.csv" && cmp "$1/series.csv" "$2/series.csv" &&
        cmp "$1/summary.json" "$2/summary.json" && cmp "$1/experiment.yaml" "$2/experiment.yaml"
}

simulate() {
    "$INFERGRID" simulate --quiet "$@" >/dev/null
}

@test "the same seed gives the same bytes, timeline included" {
    for experiment in "$pbd" "$colocated"; do
        rm -rf one two
        simulate "$experiment" -o one --trace
        simulate "$experiment" -o two --trace
        same_answers one two
        cmp one/trace.json two/trace.json
    done
}

@test "another seed gives other bytes" {
    for experiment in "$pbd" "$colocated"; do
        rm -rf one two
        simulate "$experiment" -o one
        simulate "$experiment" -o two --set seed=8
        ! cmp -s one/requests.csv two/requests.csv
    done
}

@test "fast-forward, or a timeline, changes no answer" {
    for experiment in "$pbd" "$colocated"; do
        rm -rf fast slow traced
        simulate "$experiment" -o fast
        simulate "$experiment" -o slow --no-fast-forward
        simulate "$experiment" -o traced --trace
        for run in slow traced; do
            cmp fast/requests.csv "$run/requests.csv"
            cmp fast/series.csv "$run/series.csv"
            cmp fast/summary.json "$run/summary.json"
        done
    done
}
