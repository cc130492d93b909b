#!/usr/bin/env bats
# Real numbers in a serving run: tokens do not depend on the plan, time does not depend on them.
bats_require_minimum_version 1.5.0
load common

models="$INFERGRID_SOURCE/workloads/models"

simulate() {
    "$INFERGRID" simulate --quiet tiny_tokens "$@" >/dev/null
}

# Rows in order of the requests' ids: plans complete them in different orders.
tokens() {
    sort -t, -k1n "$1/tokens.csv"
}

# 'cmp' with '!' before it would not fail a test.
different() {
    if cmp -s "$1" "$2"; then
        echo "$1 and $2 are the same"
        return 1
    fi
}

write_checkpoint() {
    python3 "$INFERGRID_SOURCE/tests/scripts/write_checkpoint.py" "$models/tiny-llama.json" "$@"
}

@test "tokens.csv: a row a completed request, as many tokens as were asked for, below the vocabulary" {
    simulate -o run
    equal "$(head -1 run/tokens.csv)" id,tokens
    equal "$(tail -n +2 run/tokens.csv | cut -d, -f1)" "$(tail -n +2 run/requests.csv | cut -d, -f1)"
    equal "$(awk -F'[, ]' 'NR > 1 {print NF - 1}' run/tokens.csv)" \
        "$(awk -F, 'NR > 1 {print $8}' run/requests.csv)"
    equal "$(awk -F'[, ]' 'NR > 1 {for (i = 2; i <= NF; i++) if ($i >= 512) print}' run/tokens.csv)" ''
    (($(awk -F'[, ]' 'NR > 1 {for (i = 2; i <= NF; i++) print $i}' run/tokens.csv | sort -u | wc -l) > 20))
}

@test "tokens are the same however the model is split, batched and served" {
    simulate -o plain --set policy.decode.tp=1 --set policy.decode.pp=1 --set policy.prefill.pp=1
    simulate -o tp4 --set policy.decode.tp=4
    simulate -o pp4 --set policy.decode.pp=4 --set policy.prefill.pp=4
    simulate -o dp2 --set policy.decode.dp=2 --set policy.prefill.dp=2
    simulate -o synchronous --set policy.decode.batching=synchronous --set policy.decode.slots=2
    simulate -o operators --set policy.grain=operator
    sed '/^policy:/,$d' "$INFERGRID_SOURCE/workloads/experiments/tiny_tokens.yaml" >colocated.yaml
    printf 'policy: {mode: colocated, colocated: {tp: 2, slots: 3}}\noutput: {numerics: true}\n' \
        >>colocated.yaml
    "$INFERGRID" simulate --quiet colocated.yaml -o colocated >/dev/null
    for run in tp4 pp4 dp2 synchronous operators colocated; do
        equal "$(tokens $run)" "$(tokens plain)"
        different $run/requests.csv plain/requests.csv
    done
}

@test "another seed gives other tokens, the same seed the same bytes" {
    simulate -o a
    simulate -o b
    cmp a/tokens.csv b/tokens.csv
    simulate -o c --set seed=2
    different a/tokens.csv c/tokens.csv
}

@test "sampling draws other tokens than the largest, and the same ones on every plan" {
    simulate -o largest
    simulate -o drawn --set output.top_k=20 --set output.temperature=1.5
    [ "$(tokens drawn)" != "$(tokens largest)" ]
    simulate -o again --set output.top_k=20 --set output.temperature=1.5 --set policy.decode.tp=4 --verify
    equal "$(tokens again)" "$(tokens drawn)"
    simulate -o colder --set output.top_k=20 --set output.temperature=0.0001
    equal "$(tokens colder)" "$(tokens largest)"
}

@test "simulated time is the same with numbers on and off" {
    simulate -o on --trace
    simulate -o off --trace --set output.numerics=false
    [ ! -e off/tokens.csv ]
    for file in requests.csv series.csv summary.json trace.json; do
        cmp on/$file off/$file
    done
}

@test "--verify counts what it compared, in the table and in summary.json" {
    infergrid simulate --quiet tiny_tokens --verify -o run
    equal "$status" 0
    contains "$output" 'requests equal                            8'
    asked=$(awk -F, 'NR > 1 {n += $8} END {print n}' run/requests.csv)
    equal "$(jq -c '.numbers | [.tokens_checked, .requests_checked, .requests_equal, .first_different_id]' \
        run/summary.json)" "[$asked,8,8,null]"
    jq -e '.numbers | .smallest_gap > 2e-3 * .largest_logit and .largest_logit > 1' run/summary.json
    simulate -o unverified
    jq -e 'has("numbers") | not' unverified/summary.json
}

@test "--verify needs numerics" {
    infergrid simulate --quiet "$pbd" --verify -o run
    equal "$status" 2
    equal "$stderr" "infergrid simulate: option '--verify' needs 'numerics: true' in 'output'"
    equal "$(ls -A)" ''
}

@test "--verify finds tokens that differ: status 1, the first is named, the files are there" {
    write_checkpoint ties.safetensors --ties
    infergrid simulate --quiet tiny_tokens --verify -o run --set output.checkpoint=ties.safetensors \
        --set policy.decode.tp=4 --set workload.synthetic.output.min=100 \
        --set workload.synthetic.output.max=100 --set workload.synthetic.requests=20
    equal "$status" 1
    id=$(jq .numbers.first_different_id run/summary.json)
    token=$(jq .numbers.first_different_token run/summary.json)
    equal "$stderr" "infergrid: request $id differs from the single process at its token $token"
    contains "$output" 'first request that differs'
    (($(jq .numbers.requests_equal run/summary.json) < 20))
    jq -e '.numbers | .smallest_gap < 1e-5' run/summary.json
    equal "$(wc -l <run/tokens.csv)" 21
}

@test "a checkpoint from files is loaded, and its types agree" {
    write_checkpoint half.safetensors
    infergrid simulate --quiet tiny_tokens --verify -o half --set output.checkpoint=half.safetensors
    equal "$status" 0
    simulate -o seeded
    [ "$(tokens half)" != "$(tokens seeded)" ]
    write_checkpoint single.safetensors --dtype F32
    simulate -o single --verify --set output.checkpoint=single.safetensors
    equal "$(tokens single)" "$(tokens half)"
    write_checkpoint brain.safetensors --dtype BF16
    simulate -o brain --verify --set output.checkpoint=brain.safetensors
    write_checkpoint shards --shards 3
    simulate -o shards-run --verify --set output.checkpoint=shards
    equal "$(tokens shards-run)" "$(tokens half)"
}

@test "a checkpoint's path starts from the experiment's folder and is resolved to an absolute one" {
    mkdir there
    write_checkpoint there/w.safetensors
    sed '$a\  checkpoint: w.safetensors\n  top_k: 3' \
        "$INFERGRID_SOURCE/workloads/experiments/tiny_tokens.yaml" >there/mine.yaml
    "$INFERGRID" simulate --quiet there/mine.yaml --verify -o run >/dev/null
    contains "$(cat run/experiment.yaml)" "  checkpoint: $PWD/there/w.safetensors"
    contains "$(cat run/experiment.yaml)" '  top_k: 3'
    mkdir elsewhere
    (cd elsewhere && "$INFERGRID" simulate --quiet ../run/experiment.yaml --verify -o again >/dev/null)
    cmp run/tokens.csv elsewhere/again/tokens.csv
    cmp run/experiment.yaml elsewhere/again/experiment.yaml
}

@test "keys about numbers are printed only where they are set" {
    infergrid check "$pbd"
    for key in numerics checkpoint top_k temperature; do
        [[ $output != *"$key:"* ]]
    done
    infergrid check tiny_tokens
    contains "$output" '  numerics: true'
    [[ $output != *temperature* ]]
}

# What is said of a checkpoint with the fault $1.
faulty() {
    write_checkpoint bad.safetensors --fault "$1"
    infergrid simulate --quiet tiny_tokens -o run --set output.checkpoint=bad.safetensors
    equal "$status" 2
    equal "$output" ''
    equal "$(ls -A)" bad.safetensors
}

@test "broken checkpoints are refused with what is wrong, before anything is simulated" {
    faulty missing
    equal "$stderr" "bad.safetensors: missing tensor 'model.norm.weight'"
    faulty shape
    equal "$stderr" "bad.safetensors: tensor 'model.layers.1.mlp.up_proj.weight' is [64, 176], expected [176, 64]"
    faulty truncated
    contains "$stderr" "bad.safetensors: header:1:"
    contains "$stderr" "tensor 'lm_head.weight' ends at byte "
    contains "$stderr" ' of the data, but the file has '
    faulty overlap
    contains "$stderr" "bad.safetensors: tensors 'model.layers.3.mlp.down_proj.weight' and 'model.norm.weight' overlap at byte "
}

@test "a model of another shape, and one that does not fit in memory, are refused" {
    write_checkpoint w.safetensors
    infergrid simulate --quiet tiny_tokens --set model=tiny-qwen2.json --set output.checkpoint=w.safetensors
    equal "$status" 2
    contains "$stderr" "w.safetensors: missing tensor 'model.layers.0.self_attn.q_proj.bias'"
    infergrid simulate --quiet demo --set output.numerics=true --set model.num_hidden_layers=10000
    equal "$status" 2
    [[ $stderr =~ ^"--set output.numerics: 'llama-2-7b' needs 4.048 TB, more than the "[0-9.]+" "[GT]"B allowed"$ ]]
}

@test "tokens that the cores of a wafer compute are those of one process; time does not depend on them" {
    "$INFERGRID" simulate --quiet wafer_tokens --verify --json -o on >on.json
    equal "$(jq '.numbers.requests_checked, .numbers.requests_equal' on.json | uniq)" 6
    "$INFERGRID" simulate --quiet wafer_tokens --set output.numerics=false -o off >/dev/null
    cmp on/requests.csv off/requests.csv
    "$INFERGRID" simulate --quiet wafer_tokens --set policy.wafer.prefill_grid=4 \
        --set policy.wafer.decode_grid=4 -o small >/dev/null
    equal "$(tokens on)" "$(tokens small)"
}

@test "a wafer computes numbers on one grid whose columns hold whole heads" {
    run -2 "$INFERGRID" check wafer_tokens --set policy.wafer.decode_grid=4
    [[ $output == *"numerics on a wafer need 'prefill_grid' and 'decode_grid' to be given and equal" ]]
    run -2 "$INFERGRID" check wafer_tokens --set policy.wafer.prefill_grid=6 \
        --set policy.wafer.decode_grid=6
    [[ $output == *"model 'tiny-llama' has 8 heads in groups of 2" ]]
}
