#!/usr/bin/env bats
# The manual page and the completions, which come from the option tables.
bats_require_minimum_version 1.5.0
load common

# Every option that the help of a command knows.
options_of() {
    "$INFERGRID" help "$1" | sed '/^Example:/,$d' | grep -oE -- '--[a-z-]+' | sort -u
}

@test "the manual page has every command and option, and renders without a warning" {
    infergrid man
    equal "$status" 0
    page=${output//\\-/-}
    for command in simulate check compare sweep search plan merge explain operator reproduce roofline help completion man; do
        contains "$page" ".SS infergrid $command"
        while read -r option; do
            [ "$option" = --help ] || contains "$page" "$option"
        done < <(options_of "$command")
    done
    command -v man >/dev/null || skip 'man is not here: not rendered'
    "$INFERGRID" man >infergrid.1
    equal "$(man --warnings -E UTF-8 -l infergrid.1 2>&1 >/dev/null)" ''
}

# What bash would offer for the words of its arguments, the last one being typed.
bash_offers() {
    bash -c 'source <("$INFERGRID" completion bash)
        COMP_WORDS=(infergrid "$@"); COMP_CWORD=$#
        compopt() { :; }
        _infergrid; printf "%s\n" "${COMPREPLY[@]}" | sort' _ "$@"
}

@test "bash completes commands" {
    equal "$(bash_offers sim)" simulate
    equal "$(bash_offers c)" $'check\ncompare\ncompletion'
    equal "$(bash_offers --v)" --version
}

@test "bash completes every option of a command" {
    equal "$(bash_offers simulate --)" "$(options_of simulate)"
    equal "$(bash_offers check --)" "$(options_of check)"
    equal "$(bash_offers compare --)" "$(options_of compare)"
    equal "$(bash_offers sweep --)" "$(options_of sweep)"
    equal "$(bash_offers search --)" "$(options_of search)"
    equal "$(bash_offers operator --)" "$(options_of operator)"
}

@test "bash completes files, folders and choices where they belong" {
    mkdir folder
    touch file.yaml
    equal "$(bash_offers check f)" $'file.yaml\nfolder'
    equal "$(bash_offers simulate --output f)" folder
    equal "$(bash_offers simulate -o f)" folder
    equal "$(bash_offers simulate --set f)" ''
    equal "$(bash_offers completion '')" $'bash\nfish\nzsh'
    equal "$(bash_offers help ch)" check
    equal "$(bash_offers operator a)" $'allgather-gemm\nallreduce\nattention'
    equal "$(bash_offers reproduce t)" $'table3\ntable5\ntable7\ntable8\ntable9'
    equal "$(bash_offers reproduce wafer-table | wc -l)" 7
}

@test "the scripts of the other shells name every option and parse" {
    for shell in zsh fish; do
        "$INFERGRID" completion "$shell" >script
        while read -r option; do
            grep -qE -- "(--|-l )${option#--}" script
        done < <(options_of simulate)
        if command -v "$shell" >/dev/null; then
            "$shell" -n script
        fi
    done
}

@test "an unknown shell is told what there is" {
    infergrid completion tcsh
    equal "$status" 2
    equal "$stderr" \
        "infergrid completion: unknown shell 'tcsh' (did you mean 'bash'?)"
    infergrid completion powershell
    equal "$stderr" \
        "infergrid completion: unknown shell 'powershell' (expected one of: bash, zsh, fish)"
}
