#!/usr/bin/env bats
# infergrid simulate: the summary, the result folder, interruption.
bats_require_minimum_version 1.5.0
load common

@test "without --output: a summary on standard output and no file" {
    infergrid simulate --quiet "$pbd"
    equal "$status" 0
    equal "$stderr" ''
    contains "$output" TTFT
    equal "$(ls -A)" ''
}

@test "the wall time goes to standard error, and --quiet silences it" {
    infergrid simulate "$pbd"
    equal "$status" 0
    contains "$stderr" simulated
    loud=$output
    infergrid simulate --quiet "$pbd"
    equal "$output" "$loud"
}

@test "--json prints what summary.json holds" {
    infergrid simulate --quiet --json "$pbd" -o results
    equal "$status" 0
    jq -e . results/summary.json >/dev/null
    equal "$output" "$(cat results/summary.json)"
}

@test "--output writes the five files, and trace.json on request" {
    infergrid simulate --quiet "$pbd" -o results
    equal "$status" 0
    equal "$(ls results)" $'experiment.yaml\nrequests.csv\nrun.json\nseries.csv\nsummary.json'
    equal "$(ls -A)" results
    equal "$(wc -l <results/requests.csv)" 41
    jq -e . results/run.json >/dev/null
    cmp results/experiment.yaml <("$INFERGRID" check "$pbd")
    infergrid simulate --quiet "$pbd" -o with-trace --trace
    equal "$status" 0
    jq -e '.traceEvents | length > 100' with-trace/trace.json
}

@test "--output makes parents, and refuses a folder that is there unless --force" {
    "$INFERGRID" simulate --quiet "$pbd" -o a/b/results >/dev/null
    touch a/b/results/trace.json
    infergrid simulate --quiet "$pbd" -o a/b/results
    equal "$status" 2
    equal "$output" ''
    equal "$stderr" "'a/b/results' exists (use --force to replace it)"
    [ -e a/b/results/trace.json ]
    infergrid simulate --quiet "$pbd" -o a/b/results --force
    equal "$status" 0
    [ ! -e a/b/results/trace.json ]
    [ -e a/b/results/summary.json ]
    equal "$(ls -A a/b)" results
    touch a/b/results/mine
    infergrid simulate --quiet "$pbd" -o a/b/results --force
    equal "$status" 2
    equal "$stderr" "'a/b/results' is not a folder of results; --force replaces only those"
    [ -e a/b/results/mine ]
}

@test "options that need another say so" {
    infergrid simulate "$pbd" --trace
    equal "$status" 2
    equal "$stderr" "infergrid simulate: option '--trace' needs '--output'"
    infergrid simulate "$pbd" --force
    equal "$stderr" "infergrid simulate: option '--force' needs '--output' or '--timeline'"
    infergrid simulate "$pbd" -o x --ranks
    equal "$stderr" "infergrid simulate: option '--ranks' needs '--timeline' or '--trace'"
    infergrid simulate "$pbd" -o x --window 1:2
    equal "$stderr" "infergrid simulate: option '--window' needs '--timeline' or '--trace'"
    infergrid simulate "$pbd" -o x --lanes 'decode*'
    equal "$stderr" "infergrid simulate: option '--lanes' needs '--timeline' or '--trace'"
    equal "$(ls -A)" ''
}

@test "--window keeps less than the whole" {
    "$INFERGRID" simulate --quiet "$pbd" -o whole --trace >/dev/null
    "$INFERGRID" simulate --quiet "$pbd" -o part --trace --window '5 s:10 s' >/dev/null
    whole=$(jq '.traceEvents | length' whole/trace.json)
    part=$(jq '.traceEvents | length' part/trace.json)
    ((part > 0 && part < whole / 2))
    cmp whole/summary.json part/summary.json
}

@test "--ranks gives each cluster its track" {
    "$INFERGRID" simulate --quiet "$pbd" -o groups --trace >/dev/null
    "$INFERGRID" simulate --quiet "$pbd" -o ranks --trace --ranks >/dev/null
    tracks='[.traceEvents[] | select(.name == "thread_name")] | length'
    ((2 * $(jq "$tracks" groups/trace.json) > $(jq "$tracks" ranks/trace.json)))
    (($(jq "$tracks" groups/trace.json) < $(jq "$tracks" ranks/trace.json)))
}

@test "--warmup and --cooldown are short for the output section" {
    infergrid simulate --quiet --json "$pbd" --warmup '5 s' --cooldown 10s
    equal "$status" 0
    short=$output
    infergrid simulate --quiet --json "$pbd" --set output.warmup=5s --set output.cooldown=10s
    equal "$output" "$short"
    infergrid simulate --quiet --json "$pbd"
    [ "$output" != "$short" ]
}

@test "a failed write is status 1 and leaves nothing" {
    [ "$(id -u)" -ne 0 ] || skip 'root may write everywhere'
    mkdir closed
    chmod 555 closed
    infergrid simulate --quiet "$pbd" -o closed/results
    equal "$status" 1
    equal "$(ls -A closed)" ''
}

# A run of a minute, interrupted by the signal $1 once its result folder is under way.
interrupted() {
    "$INFERGRID" simulate --quiet "$pbd" -o results --set workload.synthetic.requests=500000 \
        --set workload.synthetic.arrivals.rate='0.1 /s' --no-fast-forward >summary.txt 2>stderr.txt &
    local run=$!
    for ((i = 0; i < 100; i++)); do
        [ -z "$(find . -mindepth 1 -type d)" ] || break
        sleep 0.1
    done
    sleep 0.2
    kill "-$1" "$run"
    wait "$run"
}

@test "the first signal ends a run with a partial summary, status 1" {
    for signal in INT TERM; do
        rm -rf results
        run interrupted "$signal"
        equal "$status" 1
        contains "$(tr '[:upper:]' '[:lower:]' <summary.txt)" partial
        equal "$(ls -A results)" $'experiment.yaml\nrequests.csv\nrun.json\nseries.csv\nsummary.json'
    done
}

# THInfer table VII, groups A1 and A2: tokens a second, of which nothing but a launch's time and rates
# of single operators is calibrated.
@test "the ablation's first steps are the published ones within 15 %" {
    local -a one=() two=(pp=2 dp=6) four=(tp=2 pp=2 dp=3)
    local -a a1=(policy.fusion=off policy.attention=unfused policy.launch=per_operator) a2=()
    while read -r shape model group published; do
        local -n parts=$shape switches=$group
        infergrid simulate ablation --quiet --json --set "model=$model" \
            "${parts[@]/#/--set=policy.colocated.}" "${switches[@]/#/--set=}"
        equal "$status" 0
        jq -e --argjson published "$published" \
            '(.whole.output_token_throughput_per_s / $published - 1) | fabs < 0.15' <<<"$output"
    done <<'CASES'
one llama-2-7b a1 21
one llama-2-7b a2 26
two llama-2-13b a1 5.80
two llama-2-13b a2 7.22
four llama-30b a1 2.47
four llama-30b a2 3.02
CASES
}

@test "a closed loop serves all of its requests, also those that come after all others have ended" {
    cat >loop.yaml <<'END'
version: 1
seed: 1
platform: {base: mt3000.yaml, nodes: 2}
model: tiny-llama.json
workload:
  synthetic:
    requests: 4
    arrivals: {process: closed_loop, users: 2, think_time: 20 ms}
    prompt: {distribution: fixed, tokens: 64}
    output: {distribution: fixed, tokens: 10}
policy:
  mode: colocated
  colocated: {tp: 1}
END
    for seed in 1 2 3 4 5 6; do
        for users in 1 2 3; do
            "$INFERGRID" simulate loop.yaml -q --json --set seed=$seed \
                --set workload.synthetic.arrivals.users=$users >loop.json
            equal "$(jq -c '[.requests.arrived, .requests.completed]' loop.json)" '[4,4]'
        done
    done
}
