#!/usr/bin/env bats
# --report: one page for people, held against the figures of the same run and opened in a browser.
bats_require_minimum_version 1.5.0
load common

needs_reports() {
    "$INFERGRID" simulate --quiet "$pbd" --report probe.html >/dev/null 2>&1 ||
        skip 'built without reports'
    rm -f probe.html
}

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

@test "in a browser: all is drawn, nothing fetched, nothing overflows, by keyboard and in the dark" {
    needs_reports
    command -v node >/dev/null || skip 'node is not here (see .ci/setup)'
    chromium=$(command -v chromium) || skip 'chromium is not here (see .ci/setup --all)'
    reports=$INFERGRID_SOURCE/analysis/report
    [ -d "$reports/node_modules/playwright-core" ] ||
        skip 'playwright-core is not here (see .ci/setup --all)'
    "$INFERGRID" simulate --quiet demo --report demo.html >/dev/null
    "$INFERGRID" sweep --quiet "$pbd" --vary policy.decode.slots=2,4,8 --report sweep.html >/dev/null
    small=(--set workload.synthetic.requests=32 --set workload.synthetic.output.tokens=16)
    "$INFERGRID" search --quiet closed_batch "${small[@]}" --report search.html >/dev/null
    "$INFERGRID" plan --quiet planning --target 'ttft_p99 <= 30 s' --sizes 8:16:8 \
        --load-scale 1,2 --report plan.html >/dev/null
    "$INFERGRID" simulate --quiet demo -o first >/dev/null
    "$INFERGRID" simulate --quiet colocated -o second >/dev/null
    "$INFERGRID" compare first second --report compare.html >/dev/null
    node "$INFERGRID_SOURCE/tests/report/page.mjs" "$reports" "$chromium" \
        demo.html sweep.html search.html plan.html compare.html
}
