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

@test "a cold cache, a warm one, a damaged one and none give the same bytes" {
    for experiment in "$pbd" "$colocated"; do
        rm -rf costs
        INFERGRID_CACHE=costs simulate "$experiment" -o cold
        INFERGRID_CACHE=costs simulate "$experiment" -o warm
        for file in costs/*.costs; do
            truncate --size=100 "$file"
        done
        INFERGRID_CACHE=costs simulate "$experiment" -o mended
        INFERGRID_CACHE= simulate "$experiment" -o without
        for run in warm mended without; do
            same_answers cold "$run"
        done
        rm -rf cold warm mended without
    done
}

@test "a damaged file of the cache is told, and is mended" {
    INFERGRID_CACHE=costs simulate "$colocated"
    file=$(find costs -name '*.costs' | sort | head -n 1)
    sum=$(sha256sum <"$file")
    truncate --size=100 "$file"
    export INFERGRID_CACHE=costs
    infergrid simulate "$colocated"
    equal "$status" 0
    contains "$stderr" "infergrid: warning: $file: the file is not complete; it is made anew"
    equal "$(sha256sum <"$file")" "$sum"
}
