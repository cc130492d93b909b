#!/usr/bin/env bats
# infergrid sweep and infergrid merge: the same bytes whatever the number of workers, however often
# it was killed, and in however many parts it was made.
bats_require_minimum_version 1.5.0
load common

# Eight requests: a run takes some thousandths of a second.
small() {
    sed 's/requests: 40/requests: 8/' "$colocated" >small.yaml
}

sweep() {
    "$INFERGRID" sweep small.yaml "$@"
}

# The results in a store, its first line not counted; 0 where there is none.
records() {
    [ -e "$1" ] || { echo 0; return; }
    echo $(($(wc -l <"$1") > 0 ? $(wc -l <"$1") - 1 : 0))
}

split=(--vary policy.colocated.tp=1,2 --vary policy.colocated.slots=2:16:2)

@test "a sweep has the figures of the summary, row by row" {
    small
    sweep --vary policy.colocated.tp=2,4 --vary seed=7 >out.csv
    equal "$(wc -l <out.csv)" 3
    for tp in 2 4; do
        "$INFERGRID" simulate -q -j small.yaml --set policy.colocated.tp=$tp >summary.json
        row=$(grep "^$tp," out.csv)
        for pair in makespan_s:.whole.makespan_s \
            throughput_tokens_per_s:.whole.output_token_throughput_per_s \
            request_rate_per_s:.whole.request_throughput_per_s \
            ttft_p99_s:.whole.ttft.p99_s tpot_mean_s:.whole.tpot.mean_s \
            e2e_p50_s:.whole.e2e.p50_s energy_joules:.energy.joules \
            decode_busy_share:.roles.colocated.utilisation clusters:.simulated.clusters \
            completed:.requests.completed; do
            column=$(head -n 1 out.csv | tr , '\n' | grep -nx "${pair%%:*}" | cut -d: -f1)
            equal "${pair%%:*} $(cut -d, -f"$column" <<<"$row")" \
                "${pair%%:*} $(jq "${pair#*:}" summary.json)"
        done
    done
}

@test "one worker and two give the same bytes, with a store and without" {
    small
    sweep "${split[@]}" -j 1 >one.csv
    sweep "${split[@]}" -j 2 >two.csv
    sweep "${split[@]}" -j 3 --store store >three.csv
    cmp one.csv two.csv && cmp one.csv three.csv
    equal "$(wc -l <one.csv)" 17
    equal "$(records store)" 16
    before=$(cksum <store)
    sweep "${split[@]}" --store store >again.csv
    cmp one.csv again.csv
    equal "$(cksum <store)" "$before"
}

@test "without a cache of operators' times it gives the same bytes" {
    small
    sweep --vary policy.colocated.tp=1,2 >with.csv
    INFERGRID_CACHE='' sweep --vary policy.colocated.tp=1,2 >without.csv
    cmp with.csv without.csv
}

@test "killed at any moment it goes on: no result is lost, none is made twice" {
    small
    sweep "${split[@]}" >whole.csv
    kills=0
    before=0
    for attempt in {1..40}; do
        "$INFERGRID" sweep small.yaml "${split[@]}" -j 2 --store store >resumed.csv 2>stderr &
        pid=$!
        # 5 ms after its start at first, up to 0.3 s in the end, another moment at each attempt
        sleep "$(printf '0.%03d' $((5 + (attempt * 7919) % (20 + 7 * attempt))))"
        kill -KILL $pid 2>/dev/null && kills=$((kills + 1))
        wait $pid && break
        [ -s stderr ] && cat stderr && return 1
        now=$(records store)
        [ "$now" -ge "$before" ]
        before=$now
    done
    "$INFERGRID" sweep small.yaml "${split[@]}" -j 2 --store store >resumed.csv
    cmp whole.csv resumed.csv
    [ "$kills" -gt 0 ]
    # one line a run: what was simulated twice would have been refused or would stand there twice
    equal "$(records store)" 16
    equal "$(cut -f1 store | sort | uniq -d)" ''
}

@test "interrupted it keeps what is done, hears out what is under way, and says so" {
    sed 's/requests: 40/requests: 4000/' "$colocated" >long.yaml
    "$INFERGRID" sweep long.yaml --vary seed=1:400:1 -j 2 --store store >out 2>err 3>&- &
    pid=$!
    for _ in {1..200}; do
        [ "$(records store)" -gt 2 ] && break
        sleep 0.05
    done
    kill -INT $pid
    status=0
    wait $pid || status=$?
    equal "$status" 1
    equal "$(cat out)" ''
    contains "$(cat err)" "infergrid: interrupted after $(records store) of 400 runs; 'store' keeps"
    equal "$(tail -c 1 store | od -An -tx1)" ' 0a'
}

@test "parts joined are the whole, and every run is in one part" {
    small
    sweep "${split[@]}" --store whole >whole.csv
    for part in 1 2 3; do
        sweep "${split[@]}" --shard $part/3 --store part-$part >part-$part.csv
        equal "$(records part-$part)" $(($(wc -l <part-$part.csv) - 1))
    done
    equal $(($(records part-1) + $(records part-2) + $(records part-3))) 16
    equal "$(cat part-?.csv | grep -v status | sort)" "$(grep -v status whole.csv | sort)"
    infergrid merge joined part-1 part-2 part-3
    equal "$status:$stderr" '0:joined: 16 results'
    equal "$(sort joined)" "$(sort whole)"
    before=$(cksum <joined)
    sweep "${split[@]}" --store joined >joined.csv
    cmp whole.csv joined.csv
    equal "$(cksum <joined)" "$before"
    infergrid merge joined part-2 whole
    equal "$status" 0
    equal "$(cksum <joined)" "$before"
}

@test "the example for GNU parallel prints the whole table, and goes on where it stopped" {
    command -v parallel >/dev/null || skip 'GNU parallel is not here (.ci/setup --all installs it)'
    small
    sweep "${split[@]}" >whole.csv
    example="$INFERGRID_SOURCE/workloads/experiments/cluster/parallel.sh"
    run --separate-stderr "$example" 3 store small.yaml "${split[@]}"
    equal "$status" 0
    equal "$output" "$(cat whole.csv)"
    equal "$(records store)" 16
    # half of a part is lost: only that is made again
    head -n 3 store.2 >half && mv half store.2
    rm store
    run --separate-stderr "$example" 3 store small.yaml "${split[@]}"
    equal "$output" "$(cat whole.csv)"
    equal "$(sort -u store.? | wc -l)" 17
    run --separate-stderr "$example" 3
    equal "$status" 2
}

@test "what does not fit is refused in its row, and the others go on" {
    small
    infergrid sweep small.yaml --vary policy.colocated.tp=2,3,64 -q
    equal "$status" 0
    equal "$(cut -d, -f1-2 <<<"$output")" \
        $'policy.colocated.tp,status\n2,ok\n3,refused\n64,refused'
    contains "$output" 'does not divide the 32 heads'
}

@test "runs that take too long are told, are not kept, and are tried again" {
    sed 's/requests: 40/requests: 4000/' "$colocated" >small.yaml
    infergrid sweep small.yaml --vary policy.colocated.tp=1,2 --timeout '1 ms' --store store
    equal "$status" 1
    equal "$(cut -d, -f1-3 <<<"$output" | tail -n 2)" \
        $'1,broken,it took longer than 0.001 s\n2,broken,it took longer than 0.001 s'
    contains "$stderr" \
        'infergrid: broken run: policy.colocated.tp=1: it took longer than 0.001 s'
    equal "$(records store)" 0
    infergrid sweep small.yaml --vary policy.colocated.tp=1,2 --timeout '5 min' --store store
    equal "$status" 0
    equal "$(records store)" 2
}

@test "a worker that is killed is told, and the others go on" {
    sed 's/requests: 40/requests: 4000/' "$colocated" >long.yaml
    "$INFERGRID" sweep long.yaml --vary seed=1:12:1 -j 1 --store store >out 2>err 3>&- &
    pid=$!
    for _ in {1..400}; do
        if [ "$(records store)" -gt 0 ]; then
            child=$(tr ' ' '\n' <"/proc/$pid/task/$pid/children" | head -n 1)
            [ -n "$child" ] && kill -STOP "$child" 2>kill.err || continue
            # one that has just ended is still there, but cannot be harmed
            while state=$(cut -d ' ' -f 3 "/proc/$child/stat" 2>>kill.err) && [[ $state = [RSD] ]]; do
                sleep 0.001
            done
            [ "$state" = T ] && kill -SEGV "$child" && kill -CONT "$child" && break
        fi
        sleep 0.01
    done
    status=0
    wait $pid || status=$?
    equal "$status" 1
    equal "$(grep -c ,ok, out):$(grep -c ,broken, out)" 11:1
    contains "$(cat err)" 'a process that simulates ended early (signal 11: '
    equal "$(records store)" 11
}

@test "a store of another experiment is refused, and of another trace's bytes" {
    cat >trace.yaml <<'EOF'
version: 1
platform: mt3000.yaml
model: llama-2-7b.json
workload: {trace: trace.csv}
policy: {mode: colocated, colocated: {tp: 4}}
EOF
    printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n' >trace.csv
    printf '2023-11-16 18:15:46.0000000,100,5\n' >>trace.csv
    vary=(--vary policy.colocated.slots=4,8 --store store)
    "$INFERGRID" sweep trace.yaml "${vary[@]}" >/dev/null
    mkdir elsewhere && cp trace.yaml trace.csv store elsewhere
    "$INFERGRID" sweep elsewhere/trace.yaml --vary policy.colocated.slots=4,8 \
        --store elsewhere/store >/dev/null
    cmp store elsewhere/store
    before=$(cksum <store)
    sed -i s/,100,/,101,/ trace.csv
    infergrid sweep trace.yaml "${vary[@]}"
    equal "$status:$stderr" \
        "2:store:1:1: results of another experiment, or of another version of the program"
    infergrid sweep trace.yaml "${vary[@]}" --set seed=5
    equal "$status" 2
    equal "$(cksum <store)" "$before"
}

@test "a folder has the table, JSON of the same numbers, and a picture" {
    command -v gnuplot >/dev/null || skip 'gnuplot is not here'
    small
    infergrid sweep small.yaml "${split[@]}" -o out --plot slots,throughput,tp
    equal "$status:$output" 0:
    equal "$(ls out)" $'plot.pdf\nplot.svg\nsweep.csv\nsweep.json'
    sweep "${split[@]}" >plain.csv
    cmp plain.csv out/sweep.csv
    equal "$(jq '.runs | length' out/sweep.json)" 16
    equal "$(jq -r '.runs[] | [.settings[], .makespan_s] | join(",")' out/sweep.json)" \
        "$(tail -n +2 out/sweep.csv | cut -d, -f1,2,6)"
    contains "$(cat out/plot.svg)" 'tp 2'
    infergrid sweep small.yaml --vary seed=1 -o out
    equal "$status:$stderr" "2:'out' exists (use --force to replace it)"
    infergrid sweep small.yaml --vary seed=1 -o out -f
    equal "$(ls out)" $'sweep.csv\nsweep.json'
}

# arguments | what standard error says
wrong_usage() {
    cat <<'EOF'
|infergrid sweep: missing option '--vary'
--vary policy.colocated.tq=1|--set policy.colocated.tq: unknown key 'tq' (did you mean 'tp'?)
--vary policy.colocated.tp=1,x|--set policy.colocated.tp: expected a whole number for 'tp', not 'x'
--vary seed=5:1:1|--vary seed=5:1:1: the range is empty
--vary seed=1:200000:1|--vary seed=1:200000:1: the range has more than 100,000 values
--vary seed=1 --shard 0/3|--shard: expected I/N, such as 1/3 for the first of three parts, not '0/3'
--vary seed=1 --shard 4/3|--shard: expected I/N, such as 1/3 for the first of three parts, not '4/3'
--vary seed=1 --shard 1of3|--shard: expected I/N, such as 1/3 for the first of three parts, not '1of3'
--vary seed=1 --shard 1/3|infergrid sweep: option '--shard' needs '--store'
--vary seed=1 -j 0|--jobs: expected a whole number from 1 to 1024, not '0'
--vary seed=1 --timeout 3|infergrid sweep: --timeout: expected a duration such as '2 ms', not '3'
--vary seed=1 --timeout 0s|--timeout: expected a duration above 0, not '0s'
--vary seed=1 --plot seed,ttft_p99|infergrid sweep: option '--plot' needs '--output'
--vary seed=1 --plot seed -o out|--plot: expected X,Y or X,Y,SERIES, not 'seed'
--vary seed=1 --plot tp,ttft_p99 -o out|--plot tp,ttft_p99: no option '--vary' has the key 'tp'
--vary seed=1 --plot seed,ttft_p98 -o out|--plot seed,ttft_p98: unknown figure 'ttft_p98' (did you mean 'ttft_p90'?)
--vary seed=1 --store none/store|none/store: cannot open: No such file or directory
--vary seed=1 --store small.yaml|small.yaml:1:1: not a store of results
EOF
}

@test "wrong usage and damaged stores are told, with status 2, and nothing is written" {
    small
    before=$(cksum small.yaml)
    while IFS='|' read -r arguments message; do
        # shellcheck disable=SC2086 # words of a command line
        infergrid sweep small.yaml $arguments
        equal "$status:$stderr" "2:$message"
        equal "$(ls)" small.yaml
    done < <(wrong_usage)
    equal "$(cksum small.yaml)" "$before"
}

@test "merging refuses what is missing or different before it writes" {
    small
    sweep --vary seed=1 --store one >/dev/null
    sweep --vary seed=1 --store two --set policy.colocated.slots=4 >/dev/null
    infergrid merge all
    equal "$status:$stderr" "2:infergrid merge: missing STORE (see 'infergrid merge --help')"
    infergrid merge all one none
    equal "$status:$stderr" '2:none: cannot read: No such file or directory'
    infergrid merge all one two
    equal "$status:$stderr" "2:two: results of another experiment, or of another version of the \
program, than those of 'one'"
    printf 'x' | dd of=one bs=1 seek=150 conv=notrunc status=none
    infergrid merge all one
    equal "$status:$stderr" '2:one:2:1: damaged record: its checksum is wrong'
    equal "$(ls)" $'one\nsmall.yaml\ntwo'
}
