#!/usr/bin/env bats
# Chrome traces, opened in a viewer that others wrote.
bats_require_minimum_version 1.5.0
load common

@test "speedscope finds every lane, and slices that nest and follow each other" {
    command -v node >/dev/null || skip 'node is not here (see .ci/setup)'
    chromium=$(command -v chromium) || skip 'chromium is not here (see .ci/setup --all)'
    reports=$INFERGRID_SOURCE/analysis/report
    [ -d "$reports/node_modules/speedscope" ] || skip 'speedscope is not here (see .ci/setup --all)'
    for scenario in pbd colocated; do
        "$INFERGRID" simulate --quiet "${!scenario}" --timeline "$scenario.json" >/dev/null
    done
    "$INFERGRID" operator gemm -M 512 -K 1024 -N 1024 --timeline gemm.json >/dev/null
    "$INFERGRID" operator allreduce --platform wse2 --grid 8x8 --elements 8 --algorithm tree --k 2 \
        --full --timeline tree.json >/dev/null
    node "$INFERGRID_SOURCE/tests/report/trace.mjs" "$reports" "$chromium" \
        pbd.json colocated.json gemm.json tree.json
}
