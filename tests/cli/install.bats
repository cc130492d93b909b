#!/usr/bin/env bats
# What cmake --install puts where, and that it works from there.
bats_require_minimum_version 1.5.0
load common

@test "the installed program works from another folder with its own data" {
    cmake --install "$INFERGRID_BUILD" --prefix "$PWD/prefix" >/dev/null
    mkdir elsewhere
    cd elsewhere
    unset INFERGRID_DATA
    INFERGRID=$PWD/../prefix/bin/infergrid
    infergrid --version
    equal "$status" 0
    infergrid check demo
    equal "$status" 0
    contains "$output" prefix/share/infergrid/traces/azure_like.csv
    infergrid simulate --quiet closed_batch
    equal "$status" 0
}

@test "data, manual page, completions and documents are installed" {
    cmake --install "$INFERGRID_BUILD" --prefix "$PWD/prefix" >/dev/null
    cd prefix/share
    for file in infergrid/models/llama-2-7b.json infergrid/platforms/mt3000.yaml \
        infergrid/traces/azure_like.csv infergrid/reference/table8_linear.csv \
        infergrid/reference/table7.yaml infergrid/reference/waferllm/table2.yaml \
        infergrid/experiments/demo.yaml man/man1/infergrid.1 \
        bash-completion/completions/infergrid zsh/site-functions/_infergrid \
        fish/vendor_completions.d/infergrid.fish doc/infergrid/README.md doc/infergrid/LICENSE; do
        [ -s "$file" ] || {
            echo "not installed: $file"
            return 1
        }
    done
    equal "$(find infergrid -name '*.h' -o -name '*.c' -o -name CMakeLists.txt)" ''
    cmp man/man1/infergrid.1 <("$INFERGRID" man)
}
