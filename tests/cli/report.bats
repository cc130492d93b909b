#!/usr/bin/env bats
# --report: one page for people, held against the figures of the same run.
bats_require_minimum_version 1.5.0
load common

@test "a report is one file, the same bytes each time, and changes nothing of the run" {
    needs_reports
    infergrid simulate --quiet "$pbd"
    plain=$output
    infergrid simulate --quiet "$pbd" --report a/one.html
    equal "$status" 0
    equal "$output" "$plain"
    infergrid simulate --quiet --no-fast-forward "$pbd" -o results --report two.html
    equal "$(ls -A a)" one.html
    cmp a/one.html two.html
    head -c 60 two.html | grep -q '<!doctype html>'
}

@test "what it shows is what the results hold" {
    needs_reports
    for experiment in "$pbd" "$colocated" demo; do
        "$INFERGRID" simulate --quiet "$experiment" -o results --force --report page.html >/dev/null
        python3 "$INFERGRID_SOURCE/tests/scripts/report_data.py" page.html results
    done
}

@test "a report may replace a report, and nothing else" {
    needs_reports
    "$INFERGRID" simulate --quiet "$pbd" --report page.html >/dev/null
    "$INFERGRID" simulate --quiet "$pbd" --report page.html >/dev/null
    echo mine >notes.html
    infergrid simulate --quiet "$pbd" --report notes.html
    equal "$status" 2
    equal "$stderr" "infergrid simulate: option '--report': 'notes.html' exists, and is no report of infergrid"
    equal "$(cat notes.html)" mine
    infergrid search --quiet closed_batch --report page.htm
    equal "$status" 2
    equal "$stderr" "infergrid search: option '--report': 'page.htm' should end in .html"
    mkdir folder.html
    infergrid plan --quiet planning --target 'goodput >= 99 %' --report folder.html
    equal "$status" 2
    equal "$stderr" "infergrid plan: option '--report': 'folder.html' is a folder"
}

# The title of the chart of busy time, what idles, and the line below the title.
machine_of() {
    python3 - "$1" <<'PYTHON'
import json, pathlib, re, sys
page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))
items = {item["id"]: item for section in data["sections"] for item in section["items"] if "id" in item}
print(items["busy"]["title"], items["power"]["series"][0]["name"], data["subtitle"].split(",")[0], sep="; ")
PYTHON
}

@test "machines are told by what they are made of" {
    needs_reports
    for experiment in wafer_tokens sglang tiny_tokens; do
        "$INFERGRID" simulate --quiet "$experiment" --report "$experiment.html" >/dev/null
    done
    equal "$(machine_of wafer_tokens.html)" 'Busy wafers; idle wafers and nodes; 1 of 1 wafer'
    equal "$(machine_of sglang.html)" 'Busy GPUs; idle GPUs and nodes; 8 of 16 GPUs'
    equal "$(machine_of tiny_tokens.html)" 'Busy clusters; idle clusters and nodes; 7 of 32 clusters'
}

@test "a folder whose name is no UTF-8 is told, and its JSON is JSON" {
    needs_reports
    folder=$'r\xff'
    "$INFERGRID" simulate --quiet tiny_tokens -o "$folder" >/dev/null
    "$INFERGRID" compare "$folder" "$folder" --json --report page.html >out.json
    equal "$(jq -r '.folders[0].path' out.json)" $'r\uFFFD'
    iconv -f UTF-8 -t UTF-8 page.html >/dev/null
}
