# Timelines: formats, windows and lanes of every command that draws one.

load common

setup_file() {
    bats_require_minimum_version 1.5.0
}

check_trace() {
    python3 "$INFERGRID_SOURCE/tests/scripts/check_trace.py" "$@" >/dev/null
}

pj_dump_or_skip() {
    command -v pj_dump >/dev/null || skip 'pj_dump is not here (Debian package pajeng)'
}

# What pj_dump makes of a file, checked for complaints.
dump() {
    pj_dump --float-precision=9 "$1" >dump.csv 2>dump.err
    equal "$(cat dump.err)" ''
}

# Number and total seconds of the outermost states whose container matches $1 and whose value is one
# of $2 (between bars), from dump.csv.
states() {
    awk -F', ' -v lane="$1" -v values="$2" '$1 == "State" && $7 == 0 && $2 ~ lane &&
        index(values, "|" $8 "|") { n++; busy += $6 }
        END { printf "%d %.7f\n", n, busy }' dump.csv
}

# The steps of summary.json of $1 and their seconds: utilisation × replicas × stages × makespan,
# stages being $2.
steps() {
    jq -r ".roles.$1 as \$role | \"\\(\$role.steps) \\(\$role.utilisation * \$role.replicas * $2 *
        .whole.makespan_s)\"" summary.json | { read -r n busy && printf '%d %.7f\n' "$n" "$busy"; }
}

# As many, in as many seconds but for the rounding of each to a nanosecond.
near() {
    equal "${1% *}" "${2% *}"
    awk -v a="${1#* }" -v b="${2#* }" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' || {
        echo "$1 and $2 s"
        return 1
    }
}

@test "one run writes every format, and the summary is that without" {
    "$INFERGRID" simulate --quiet "$pbd" >plain
    "$INFERGRID" simulate --quiet "$pbd" --timeline a/run.json --timeline run.json.gz \
        --timeline run.paje -o results --trace >summary
    cmp plain summary
    cmp a/run.json results/trace.json
    cmp a/run.json <(gzip -dc run.json.gz)
    check_trace a/run.json --flows 40
    jq -e '[.traceEvents[] | select(.ph == "i" and .cat == "ttft" and .name == "first token")] |
        length == 40' a/run.json
    equal "$(ls -A)" $'a\nplain\nresults\nrun.json.gz\nrun.paje\nsummary'
    "$INFERGRID" simulate --quiet "$pbd" --timeline again.json.gz --timeline again.paje >summary
    cmp run.json.gz again.json.gz
    cmp run.paje again.paje
}

@test "first tokens stand where and when requests.csv has them" {
    "$INFERGRID" simulate --quiet "$pbd" -o results --timeline run.json >/dev/null
    jq -r '.traceEvents | (map(select(.ph == "M" and .name == "process_name") |
        {key: "\(.pid)", value: .args.name}) | from_entries) as $names | map(select(.ph == "i"))[] |
        "\(.args.request) \($names["\(.pid)"]) \(.ts / 1000 | round)"' run.json | sort >marks
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } {
        printf "%s pool %s prefill %s %.0f\n", $at["id"], $at["pool"], $at["prefill_replica"],
            1000 * $at["first_token_s"] }' results/requests.csv | sort >requests
    equal "$(wc -l <marks)" 40
    diff marks requests
}

@test "pj_dump counts the steps and seconds of the summary: P-B-D" {
    pj_dump_or_skip
    "$INFERGRID" simulate --quiet --json "$pbd" --timeline run.paje >summary.json
    dump run.paje
    near "$(states prefill '|prefill|')" "$(steps prefill 1)"
    near "$(states decode '|decode|')" "$(steps decode 2)"
    equal "$(grep -c '^Event.*first token' dump.csv)" 40
    equal "$(grep -c '^Link, timeline, flow' dump.csv)" 160
    equal "$(grep -c '^State, network kv_pull' dump.csv)" \
        "$(jq .network.kv_pull.transfers summary.json)"
}

@test "pj_dump counts the steps and seconds of the summary: colocated, in ranks and a window too" {
    pj_dump_or_skip
    "$INFERGRID" simulate --quiet --json "$colocated" --timeline run.paje >summary.json
    dump run.paje
    stages=$(pj_dump run.paje | grep -c '^Container.*colocated 0 stage')
    near "$(states colocated '|prefill|decode|mixed|')" "$(steps colocated "$stages")"
    "$INFERGRID" simulate --quiet "$colocated" --timeline ranks.paje --ranks --window 5:20 >/dev/null
    dump ranks.paje
    [ "$(grep -c ^State dump.csv)" -gt 0 ]
}

@test "pj_dump counts the steps and seconds of the summary: wafers" {
    pj_dump_or_skip
    "$INFERGRID" simulate --quiet --json wafer --set workload.synthetic.requests=4 \
        --timeline run.paje >summary.json
    dump run.paje
    equal "$(states wafer '|prefill|decode|' | cut -d' ' -f1)" \
        "$(jq .roles.colocated.steps summary.json)"
    near "0 $(states wafer '|prefill|decode|transition|' | cut -d' ' -f2)" \
        "0 $(steps colocated 1 | cut -d' ' -f2)"
}

@test "figures are files among others, of one run and its lanes" {
    "$INFERGRID" simulate --quiet "$pbd" --timeline a/run.pdf --timeline run.svg --timeline run.json \
        --lanes 'decode*' --window 5:15 >/dev/null
    equal "$(ls -A . a)" $'.:\na\nrun.json\nrun.svg\nrun.txt\n\na:\nrun.pdf\nrun.txt'
    contains "$(cat run.svg)" decode
    [[ $(cat run.svg) != *prefill* ]]
    infergrid simulate --quiet "$pbd" --timeline a/run.svg --timeline a/other.json
    equal "$status:$stderr" "2:'a/run.txt' exists (use --force to replace it)"
    equal "$(ls -A a)" $'run.pdf\nrun.txt'
}

@test "operators are drawn by the same options" {
    "$INFERGRID" operator gemm -M 512 -K 1024 -N 1024 -o results --timeline run.json.gz \
        --timeline run.paje >/dev/null
    cmp results/timeline.json <(gzip -dc run.json.gz)
    "$INFERGRID" operator meshgemm --platform wse2 --grid 4 -M 32 --full --timeline mesh.json \
        --timeline mesh.paje >/dev/null
    check_trace mesh.json
    "$INFERGRID" operator allreduce --platform wse2 --grid 8 --elements 4 --timeline row.json >/dev/null
    equal "$(jq -c '[.traceEvents[] | select(.name == "thread_name").args.name] | [length, last]' \
        row.json)" '[8,"core (7, 0)"]'
    "$INFERGRID" operator gemm -M 512 -K 1024 -N 1024 --timeline part.json --lanes transfers \
        --window ':0.1 ms' >/dev/null
    check_trace part.json
    equal "$(jq -r '.traceEvents[] | select(.name == "thread_name").args.name' part.json)" transfers
    jq -e '[.traceEvents[] | select(.ph == "X") | .ts <= 100] | all and length > 0' part.json
    pj_dump_or_skip
    dump run.paje
    equal "$(grep -c ^State dump.csv)" "$(jq '[.traceEvents[] | select(.ph == "X")] | length' \
        results/timeline.json)"
    dump mesh.paje
    equal "$(grep -c ^State dump.csv)" "$(jq '[.traceEvents[] | select(.ph == "X")] | length' \
        mesh.json)"
}

@test "--lanes keeps what matches, and what joins it" {
    "$INFERGRID" simulate --quiet "$pbd" --timeline some.json --lanes 'decode*' --lanes 'network*' \
        >/dev/null
    check_trace some.json --flows 40
    equal "$(jq -r '.traceEvents[] | select(.name == "process_name").args.name' some.json)" \
        $'pool 0 decode 0\nnetwork'
    "$INFERGRID" simulate --quiet "$pbd" --timeline queue.json --lanes queue >/dev/null
    equal "$(jq -r '.traceEvents[] | select(.ph != "M").name' queue.json | uniq)" queue
}

@test "a timeline of nothing is told, and nothing is left" {
    printf 'arrival_s,prompt_tokens,output_tokens\n0,100,2\n900,100,2\n' >gap.csv
    infergrid simulate --quiet demo --set "workload.trace=$PWD/gap.csv" --timeline run.json \
        --window 100:200
    equal "$status:$output:$stderr" '2::--window: nothing happens in it'
    while IFS='|' read -r options message; do
        eval "infergrid simulate --quiet '$pbd' --timeline run.json -o results $options"
        equal "$status:$output" 2:
        equal "$stderr" "$message"
        equal "$(ls -A)" gap.csv
    done <<'CASES'
--window '900 s:'|--window: it begins at 900 s, after the end at 41.68 s
--lanes 'decdoe*'|--lanes: no lane matches 'decdoe*' (did you mean 'decode*'?)
--lanes 'decode*' --lanes gpu|--lanes: no lane matches 'gpu'; there are pool 0 prefill 0, pool 0 prefill 1, pool 0 prefill 2, pool 0 decode 0, network, requests, system
--lanes 'prefill*' --window '40.5 s:'|--lanes: nothing happens on the lanes chosen
--timeline run.txt|--timeline: expected a file that ends in .json, .json.gz, .paje, .pdf or .svg, not 'run.txt'
--timeline run.json|infergrid simulate: option '--timeline' names 'run.json' twice
--timeline results/run.paje|--timeline: 'results/run.paje' lies in the folder of '--output', which holds results alone
--timeline run.svg/|--timeline: expected a file that ends in .json, .json.gz, .paje, .pdf or .svg, not 'run.svg/'
--timeline .svg|--timeline: expected a file that ends in .json, .json.gz, .paje, .pdf or .svg, not '.svg'
--timeline ./run.json|infergrid simulate: option '--timeline' names './run.json' twice
CASES
}

@test "operators: a timeline of nothing is told, and nothing is left" {
    while IFS='|' read -r options message; do
        eval "infergrid operator $options"
        equal "$status:$output" 2:
        equal "$stderr" "$message"
        equal "$(ls -A)" ''
    done <<'CASES'
gemm -M 512 -K 1024 -N 1024 --timeline run.json --window '1 s:'|--window: it begins at 1 s, after the end at 253.2 us
gemm -M 512 -K 1024 -N 1024 --timeline run.json --lanes tranfers|--lanes: no lane matches 'tranfers' (did you mean 'transfers'?)
gemm -M 512 -K 1024 -N 1024 --lanes transfers|infergrid operator: option '--lanes' needs '--timeline' or '--output'
gemm -M 512,1024 -K 1024 -N 1024 --timeline run.json|infergrid operator: option '--timeline' is about a single operator, not a sweep of 2
meshgemm --platform wse2 --grid 64 -M 64 --timeline run.json|--timeline: shows at most 1024 cores and 500000 stretches of their time, which 64 × 64 cores exceed
CASES
}

@test "a file that is there stays unless --force" {
    echo mine >run.json
    infergrid simulate --quiet "$pbd" --timeline run.json
    equal "$status:$stderr" "2:'run.json' exists (use --force to replace it)"
    equal "$(cat run.json)" mine
    infergrid simulate --quiet "$pbd" --timeline run.json --force
    equal "$status" 0
    check_trace run.json
    mkdir folder.json
    infergrid simulate --quiet "$pbd" --timeline folder.json --force
    equal "$status:$stderr" "2:'folder.json' is a folder, not a file"
}
