#!/usr/bin/env bats
# infergrid compare: figures, differences and pairs that jq and Python work out too, the same bytes
# each time, a threshold for scripts, and folders that are none told with their place.
bats_require_minimum_version 1.5.0
load common

# Results of the scenario in the folder of that name, with the settings that follow.
simulate() {
    folder=$1
    shift
    "$INFERGRID" simulate "$pbd" -q -o "$folder" "${@/#/--set=}" >/dev/null
}

compare() {
    "$INFERGRID" compare "$@"
}

@test "values, differences and percents are those of the two summaries" {
    simulate a
    simulate b policy.decode.slots=4 policy.buffer.clusters=2
    compare a b --json >out.json
    # every number of the summaries by its path, arrays left out
    numbers='[paths(type == "number") as $p | select(all($p[]; type == "string")) |
        {key: ($p | join(".")), value: getpath($p)}]'
    jq "$numbers" a/summary.json >a.json
    jq "$numbers" b/summary.json >b.json
    jq -e -n --slurpfile out out.json --slurpfile a a.json --slurpfile b b.json '
        ["seed", "limit_s", "percentile", "kwh"] as $settings |
        [$a[0][] | select((.key | split(".") | last) as $k | $settings | index($k) | not)] as $all_a |
        ($b[0] | map({(.key): .value}) | add) as $all_b |
        ($out[0].figures | map({(.key): .}) | add) as $found |
        ($all_a | length) > 80 and all($all_a[]; .key as $key | .value as $x | $all_b[$key] as $y |
            $found[$key] as $f | $f.values == [$x, $y] and $f.deltas == [0, $y - $x] and
            (if $x == $y then $f.percents[1] == 0
             elif $x == 0 then $f.percents[1] == null
             else ($f.percents[1] - 100 * ($y - $x) / $x | fabs) < 1e-9 end))'
    # and nothing but those, truth values and the cost
    jq -e '[.figures[].key] | length == (unique | length)' out.json
    equal "$(jq -c '[.settings[] | [.key, .values[]]]' out.json)" \
        '[["policy.buffer.clusters","1","2"],["policy.decode.slots","8","4"]]'
    jq -e --argjson b "$(jq '.simulated.clusters * 1e6 / 3600 /
            .whole.output_token_throughput_per_s' b/summary.json)" \
        '.figures[] | select(.key | startswith("cost.")) | (.values[1] - $b | fabs) < 1e-9' out.json
}

@test "what is better is better whichever way the figure points" {
    simulate a
    simulate b policy.decode.slots=4
    compare a b --json >out.json
    compare b a --json >back.json
    jq -e -n --slurpfile out out.json --slurpfile back back.json '
        {better: "worse", worse: "better", same: "same"} as $other |
        [$out[0].figures, $back[0].figures] | transpose | all(.[0].key == .[1].key and
            (.[0].verdicts[1] as $v | .[1].verdicts[1] == if $v == null then null else $other[$v] end))'
    jq -e '[.figures[] | select(.deltas[1] != 0 and .better != null) |
        (.verdicts[1] == "better") == ((.better == "larger") == (.deltas[1] > 0))] |
        length > 30 and all' out.json
    table=$(compare a b)
    contains "$table" $'\n  policy.decode.slots         8 -> 4\n'
    grep -qE '^  makespan .* \+[0-9.]+ s +\+[0-9.]+ %  worse$' <<<"$table"
    grep -qE '^  TTFT mean .* -[0-9.]+ ms +-[0-9.]+ %  better$' <<<"$table"
    grep -qE '^  steps .* \+[0-9]+ +\+[0-9.]+ %$' <<<"$table"
}

@test "requests are paired by their id" {
    simulate a
    simulate b policy.decode.slots=4
    python3 - <<'END' >expected
import csv, statistics
rows = [{row["id"]: row for row in csv.DictReader(open(f"{name}/requests.csv"))} for name in "ab"]
for kind in ("ttft", "tpot", "e2e"):
    pairs = [(a[f"{kind}_s"], rows[1][i][f"{kind}_s"]) for i, a in rows[0].items()]
    differences = [float(b) - float(a) for a, b in pairs if a and b]
    print(kind, len(differences), sum(d < 0 for d in differences), sum(d > 0 for d in differences),
          f"{statistics.median(differences):.9f} {statistics.mean(differences):.9f}")
END
    compare a b --json | jq -r '.paired[0] | to_entries[] | select(.value | type == "object") |
        [.key, .value.pairs, .value.faster, .value.slower, .value.median_s, .value.mean_s] | @tsv' |
        awk '{ printf "%s %d %d %d %.9f %.9f\n", $1, $2, $3, $4, $5, $6 }' >found
    cmp expected found
    # another seed has other requests
    simulate c seed=8
    table=$(compare a c)
    contains "$table" $'\nRequests of A and B are not paired: request '
    compare a c --csv >out.csv
    ! grep -q paired out.csv
}

@test "identical folders say so, and every difference is 0" {
    simulate a
    cp -r a b
    table=$(compare a b --threshold 0)
    contains "$table" $'\nidentical: every setting, figure and request is the same'
    contains "$table" $'Settings that differ\n  none\n'
    contains "$table" $'Worse than A by more than 0 %\n  none\n'
    compare a b --json | jq -e '.identical and .settings == [] and all(.figures[];
        .deltas[1] == 0 or (.values == [null, null] and .deltas[1] == null)) and
        .paired[0].e2e.same == 40'
    sed -i 's/^seed: 7$/seed: 9/' b/experiment.yaml
    compare a b --json | jq -e '.identical | not'
}

@test "a threshold ends with status 1 when something is worse by more" {
    simulate a
    simulate b policy.decode.slots=4
    infergrid compare a b --threshold 5
    equal "$status" 1
    n=$(compare a b --json | jq '[.figures[] | select(.verdicts[1] == "worse") | .percents[1] |
        select(. == null or fabs > 5)] | length')
    [ "$n" -gt 10 ]
    equal "$stderr" "infergrid: $n figures are worse than in 'a' by more than the threshold"
    equal "$(sed '1,/^Worse than A by more than 5 %$/d' <<<"$output" | wc -l)" "$n"
    infergrid compare a b --threshold '5000 %'
    equal "$status $stderr" '0 '
    infergrid compare a b
    equal "$status $stderr" '0 '
}

@test "what one has alone is absent in the other, and CSV says the same as JSON" {
    simulate a
    "$INFERGRID" simulate "$colocated" -q -o col >/dev/null
    table=$(compare a col)
    grep -qE '^  goodput +[0-9.]+ +absent +- +-$' <<<"$table"
    grep -qE '^  colocated utilisation +absent +[0-9.]+ % +- +-$' <<<"$table"
    compare a col --csv >out.csv
    compare a col --json >out.json
    python3 - <<'END'
import csv, json
figures = {figure["key"]: figure for figure in json.load(open("out.json"))["figures"]}
rows = list(csv.DictReader(open("out.csv")))
assert len(rows) == len(figures) > 80
text = lambda value: "" if value is None else value
for row in rows:
    figure = figures[row["figure"]]
    assert row["folder"] == "col"
    for column, value in (("first", figure["values"][0]), ("value", figure["values"][1]),
                          ("delta", figure["deltas"][1]), ("delta_percent", figure["percents"][1])):
        assert (float(row[column]) if row[column] else None) == value, row
    assert row["verdict"] == text(figure["verdicts"][1]) and row["better"] == text(figure["better"])
END
}

@test "ten folders fit into 100 columns, by the same bytes each time" {
    simulate a
    simulate b policy.decode.slots=4
    folders=(a b a b a b a b a b)
    compare "${folders[@]}" >one
    compare "${folders[@]}" >two
    cmp one two
    equal "$(grep -c '^Whole run' one)" 3
    equal "$(grep -c '^Paired requests, . less A' one)" 9
    [ "$(wc -L <one)" -le 100 ]
    grep -qE '^  policy.decode.slots +8 \(A, C, E, G, I\); 4 \(B, D, F, H, J\)$' one
    compare "${folders[@]}" --json | jq -e '.folders | length == 10'
}

@test "the distributions are drawn as SVG and PDF, and appear whole or not at all" {
    command -v gnuplot >/dev/null || skip 'gnuplot is not here'
    simulate a
    simulate b policy.decode.slots=4
    compare a b --plot out/cdf.svg >table
    compare a b >plain
    cmp table plain
    contains "$(cat out/cdf.svg)" 'E2E latency (s)'
    contains "$(cat out/cdf.svg)" 'share of requests'
    compare a b --plot out/cdf.pdf >/dev/null
    equal "$(head -c 5 out/cdf.pdf)" '%PDF-'
    equal "$(ls -A out)" $'cdf.pdf\ncdf.svg'
}

@test "a report says what the tables say, and draws every request" {
    simulate a
    simulate b policy.decode.slots=4
    infergrid compare a b --report page.html --threshold 5
    [[ $stderr != *'built without reports'* ]] || skip 'built without reports'
    equal "$status" 1
    compare a b --threshold 5 | cmp - <(printf '%s\n' "$output")
    compare a b --json --threshold 5 >out.json || true
    python3 - <<'END'
import csv, json, re
page = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>',
                            open("page.html").read(), re.S)[1])
found = json.load(open("out.json"))
sections = {section["id"]: section["items"] for section in page["sections"]}
items = [item for section in sections.values() for item in section]
tables = {item["title"]: item["rows"] for item in items if item["kind"] == "table"}
charts = {item["id"]: item for item in items if item["kind"] == "chart"}
assert tables["Settings that differ"] == [["policy.decode.slots", "8", "4"]]
assert len(tables["Worse than A by more than 5 %"]) == found["beyond_threshold"] > 10
# every figure that is not 0 or nothing in both, with its verdict, in the same order
rows = [row for item in sections["figures"] for row in item["rows"]]
shown = [figure for figure in found["figures"] if any(figure["values"])]
assert len(rows) == len(shown) > 60
for row, figure in zip(rows, shown):
    last, verdict = row[-1].split()[-1], figure["verdicts"][1]
    assert (last if last in ("better", "worse") else None) == \
        (None if verdict == "same" else verdict), (row, figure)
assert [item["state"] for item in sections["overview"] if item.get("label") == "TPOT p99"] == ["bad"]
# curves through every request, and through each less its own in the first
requests = [{row["id"]: row for row in csv.DictReader(open(f"{name}/requests.csv"))}
            for name in "ab"]
for kind in ("ttft", "tpot", "e2e"):
    both = [{i: float(row[f"{kind}_s"]) for i, row in run.items()} for run in requests]
    less = [both[1][i] - both[0][i] for i in both[0]]
    for chart, lists in ((charts[f"{kind}-cdf"], [run.values() for run in both]),
                         (charts[f"{kind}-difference"], [less])):
        assert [series["name"] for series in chart["series"]] == ["A  a", "B  b"][-len(lists):]
        for series, values in zip(chart["series"], lists):
            for i, x in enumerate(sorted(values)):
                point = series["points"][i + 1]
                assert abs(point[0] - x) <= 1e-5 * abs(x) + 1e-9, (kind, i, point, x)
                assert abs(point[1] - 100 * (i + 1) / len(values)) < 1e-3, (kind, i, point)
    assert [mark["value"] for mark in charts[f"{kind}-difference"]["marks"]] == [0]
END
    # the same bytes each time; what is not paired is told
    cp page.html first.html
    compare a b --report page.html --threshold 5 >/dev/null 2>&1 || true
    cmp first.html page.html
    simulate c seed=8
    compare a c --report page.html >/dev/null
    grep -q 'Requests of A and B are not paired: request ' page.html
    ! grep -q ttft-difference page.html
}

@test "folders that are damaged, or another command's, are told with their place" {
    simulate good
    damaged() {
        rm -rf bad && cp -r good bad
        "${@:2}"
        infergrid compare good bad --plot out.svg --threshold 1
        equal "$status" 2
        equal "$output" ''
        equal "$stderr" "$1"
        [ ! -e out.svg ]
    }
    damaged 'bad/experiment.yaml:1:10: '\''version'\'' must be 1, not 2: another infergrid wrote this folder' \
        sed -i '1s/1$/2/' bad/experiment.yaml
    damaged 'bad/experiment.yaml:5:3: duplicate key '\''name'\'' (first on line 4)' \
        sed -i '4a\  name: b' bad/experiment.yaml
    damaged "bad/summary.json: cannot read 'bad/summary.json': No such file or directory" \
        rm bad/summary.json
    damaged "bad/summary.json:4:16: expected an object for 'simulated', not '7'" \
        sed -i '4s/{/7, "then": {/' bad/summary.json
    line=$(grep -n '"makespan_s"' good/summary.json | cut -d: -f1)
    damaged "bad/summary.json:$line:19: expected a number of at least 0 or null for 'makespan_s', not '41 s'" \
        sed -i 's/"makespan_s": .*/"makespan_s": "41 s",/' bad/summary.json
    damaged "bad/requests.csv:1:1: missing column 'ttft_s'" \
        sed -i '1s/ttft_s/TTFT/' bad/requests.csv
    damaged "bad/requests.csv:3:24: expected a whole number, found '-4'" \
        sed -i '3s/^\(3,completed,,0,0,0,448,\)4,/\1-4,/' bad/requests.csv
    damaged 'bad/requests.csv: 30 requests, but summary.json beside it counts 40' \
        sed -i '32,$d' bad/requests.csv
    damaged 'bad/requests.csv:42:1: request 0 stands twice (first on line 2)' \
        bash -c 'sed -n 2p bad/requests.csv >>bad/requests.csv'
    damaged 'bad: no such folder' rm -r bad
    damaged "bad: expected a folder that 'infergrid simulate -o' wrote, not a file" \
        bash -c 'rm -r bad && touch bad'
    damaged "bad: expected a folder that 'infergrid simulate -o' wrote; 'infergrid operator' wrote this one" \
        bash -c 'rm -r bad && "$INFERGRID" operator gemm -M 64 -K 64 -N 64 -o bad >/dev/null'
    damaged "bad: expected a folder that 'infergrid simulate -o' wrote; 'infergrid sweep' wrote this one" \
        bash -c 'rm -r bad && "$INFERGRID" sweep "$1" --vary seed=1 -q -o bad' _ "$pbd"
}
