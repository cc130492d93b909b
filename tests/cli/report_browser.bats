#!/usr/bin/env bats
# Reports of each command, opened in a browser.
bats_require_minimum_version 1.5.0
load common

@test "in a browser: all is drawn, nothing fetched, nothing overflows, by keyboard and in the dark" {
    needs_reports
    command -v node >/dev/null || skip 'node is not here (see .ci/setup)'
    chromium=$(command -v chromium) || skip 'chromium is not here (see .ci/setup --all)'
    reports=$INFERGRID_SOURCE/analysis/report
    [ -d "$reports/node_modules/playwright-core" ] ||
        skip 'playwright-core is not here (see .ci/setup --all)'
    "$INFERGRID" simulate --quiet demo -o first --report demo.html >/dev/null
    "$INFERGRID" sweep --quiet "$pbd" --vary policy.decode.slots=2,4,8 --report sweep.html >/dev/null
    small=(--set workload.synthetic.requests=32 --set workload.synthetic.output.tokens=16)
    "$INFERGRID" search --quiet closed_batch "${small[@]}" --report search.html >/dev/null
    "$INFERGRID" plan --quiet planning --target 'ttft_p99 <= 30 s' --sizes 8:16:8 \
        --load-scale 1,2 --report plan.html >/dev/null
    "$INFERGRID" simulate --quiet sglang --report single.html >/dev/null # of one request
    "$INFERGRID" simulate --quiet colocated -o second >/dev/null
    "$INFERGRID" compare first second --report compare.html >/dev/null
    node "$INFERGRID_SOURCE/tests/report/page.mjs" "$reports" "$chromium" \
        demo.html single.html sweep.html search.html plan.html compare.html
}
