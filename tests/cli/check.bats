#!/usr/bin/env bats
# infergrid check: a resolved experiment that is itself an experiment.
bats_require_minimum_version 1.5.0
load common

shipped=(demo colocated closed_batch wafer deepspeed accelerate sglang)

@test "every shipped experiment is right" {
    for name in "${shipped[@]}"; do
        infergrid check "$INFERGRID_SOURCE/workloads/experiments/$name.yaml"
        equal "$status" 0
        equal "$stderr" ''
    done
}

@test "a shipped experiment is found by its name" {
    infergrid check demo
    equal "$status" 0
    by_name=$output
    infergrid check "$INFERGRID_SOURCE/workloads/experiments/demo.yaml"
    equal "$output" "$by_name"
}

@test "what check prints is resolved: it prints the same again" {
    for experiment in "$pbd" "$colocated" demo colocated closed_batch deepspeed accelerate sglang; do
        "$INFERGRID" check "$experiment" >resolved.yaml
        "$INFERGRID" check resolved.yaml >again.yaml
        cmp resolved.yaml again.yaml
    done
}

@test "what check prints gives the same bytes when simulated" {
    for experiment in "$pbd" "$colocated"; do
        rm -rf original resolved
        "$INFERGRID" check "$experiment" >resolved.yaml
        "$INFERGRID" simulate --quiet "$experiment" -o original >original.txt
        "$INFERGRID" simulate --quiet resolved.yaml -o resolved >resolved.txt
        cmp original.txt resolved.txt
        for file in summary.json requests.csv series.csv experiment.yaml; do
            cmp "original/$file" "resolved/$file"
        done
    done
}

@test "the memory bill and the KV capacity stand as comments" {
    infergrid check "$pbd"
    contains "$output" '# plan: 8 of 32 clusters'
    contains "$output" 'KV capacity:'
    contains "$output" '# workload: 40 requests'
}

@test "--set changes one value, and the last one wins" {
    infergrid check "$pbd" --set policy.decode.slots=3 -s policy.decode.slots=5 --set seed=11
    equal "$status" 0
    contains "$output" $'\nseed: 11\n'
    contains "$output" $'\n    slots: 5\n'
    infergrid check "$pbd"
    contains "$output" $'\nseed: 7\n'
    contains "$output" $'\n    slots: 8\n'
}

@test "--set may name another file for a section" {
    infergrid check "$pbd" --set model=llama-3-8b.json
    equal "$status" 0
    contains "$output" 'llama-3-8b'
}

@test "a prefix cache without prefixes is warned of, not refused" {
    infergrid check "$pbd" --set policy.prefill.prefix_cache=lru \
        --set policy.prefill.prefix_cache_bytes='1 GiB'
    equal "$status" 0
    equal "$stderr" "warning: the policy asks for a prefix cache, but the workload has no prefix\
 blocks: nothing will be found in it"
}

@test "the steady-state window must leave some arrivals" {
    infergrid check "$pbd" --set output.warmup='1 h'
    equal "$status" 2
    equal "$output" ''
    contains "$stderr" "'warmup' and 'cooldown' cut 3600 s, but the last request arrives at"
}
