# What every file of command-line tests starts from: the binary in INFERGRID, the source tree in
# INFERGRID_SOURCE, the build in INFERGRID_BUILD, and a scratch folder of its own.

setup() {
    if ! [ -x "$INFERGRID" ] || ! [ -d "$INFERGRID_SOURCE" ] || ! [ -d "$INFERGRID_BUILD" ]; then
        echo 'run by ctest, which says where the binary, the source and the build are'
        return 1
    fi
    mkdir "$BATS_TEST_TMPDIR/work" && cd "$BATS_TEST_TMPDIR/work" || return 1
    pbd="$INFERGRID_SOURCE/tests/scenarios/pbd/experiment.yaml"
    colocated="$INFERGRID_SOURCE/tests/scenarios/colocated/experiment.yaml"
}

# Runs infergrid; 'output' and 'stderr' apart, 'status' as it was.
infergrid() {
    run --separate-stderr "$INFERGRID" "$@"
}

# The two texts are equal, or both are shown.
equal() {
    [ "$1" = "$2" ] || {
        printf 'expected: %s\n     got: %s\n' "$2" "$1"
        return 1
    }
}

contains() {
    [[ $1 == *"$2"* ]] || {
        printf 'expected to find: %s\n              in: %s\n' "$2" "$1"
        return 1
    }
}

# Skips the test where the program was built without reports, which it says before anything else.
needs_reports() {
    ! "$INFERGRID" simulate "$pbd" --report none 2>&1 | grep -q 'built without reports' ||
        skip 'built without reports'
}
