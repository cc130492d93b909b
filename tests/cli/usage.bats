#!/usr/bin/env bats
# Commands, options, help and versions.
bats_require_minimum_version 1.5.0
load common

commands=(simulate check explain operator reproduce roofline help completion man)

@test "--help lists every command" {
    infergrid --help
    equal "$status" 0
    for command in "${commands[@]}"; do
        [[ $output =~ $'\n  '$command\  ]]
    done
    equal "$stderr" ''
}

@test "no arguments: the help on standard error, status 2" {
    infergrid
    equal "$status" 2
    equal "$output" ''
    contains "$stderr" 'Usage: infergrid COMMAND'
}

@test "--version names infergrid and SimGrid" {
    infergrid --version
    equal "$status" 0
    [[ $output =~ ^infergrid\ [0-9]+\.[0-9]+\.[0-9]+$'\n'SimGrid\ [0-9]+\.[0-9]+ ]]
}

@test "help COMMAND and COMMAND --help are the same text" {
    for command in "${commands[@]}"; do
        infergrid help "$command"
        equal "$status" 0
        by_help=$output
        infergrid "$command" --help
        equal "$status" 0
        equal "$output" "$by_help"
        contains "$output" "Usage: infergrid $command"
        contains "$output" 'Example:'
    done
}

@test "every option of simulate states its default" {
    infergrid simulate --help
    options=$(grep -c -- ' --[a-z]' <<<"${output%%Example:*}")
    [ "$options" -gt 10 ]
    # all but --help
    equal "$(tr -s ' \n' ' ' <<<"$output" | grep -o '(default: [^)]*)' | wc -l)" $((options - 1))
    contains "$output" 'infergrid simulate demo.yaml --set policy.decode.slots=8'
}

@test "a near miss of a command is told" {
    infergrid simulat
    equal "$status" 2
    equal "$output" ''
    equal "$stderr" "infergrid: unknown command 'simulat' (did you mean 'simulate'?)"
}

@test "a command far from any is only unknown" {
    infergrid fly
    equal "$status" 2
    equal "$stderr" "infergrid: unknown command 'fly'"
}

@test "a near miss of a global option is told" {
    infergrid --verson
    equal "$status" 2
    equal "$stderr" "infergrid: unknown option '--verson' (did you mean '--version'?)"
}

@test "a full disk is an error" {
    [ -w /dev/full ] || skip 'no /dev/full here'
    run --separate-stderr bash -c '"$INFERGRID" --help >/dev/full'
    equal "$status" 1
    contains "$stderr" 'cannot write to standard output'
}

@test "a context factory that SimGrid does not know is told before it starts" {
    INFERGRID_CONTEXT_FACTORY=threads infergrid simulate "$pbd"
    equal "$status" 2
    equal "$output" ''
    equal "$stderr" "INFERGRID_CONTEXT_FACTORY: expected raw, boost, ucontext or thread, not\
 'threads'"
}
