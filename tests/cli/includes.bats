#!/usr/bin/env bats
# The check of includes finds what it is there to find.
bats_require_minimum_version 1.5.0
load common

check() {
    run python3 "$INFERGRID_SOURCE/tests/scripts/check_includes.py" tree
}

# A tree with one file, whose one include is $2.
tree() {
    mkdir -p tree/{workloads,platforms,policies,actors,analysis}
    printf '\n#include %s\n' "$2" >"tree/$1"
}

@test "an include that climbs a floor is found" {
    tree policies/rule.c '"actors/event.h"'
    check
    equal "$status" 1
    equal "$output" "policies/rule.c:2: 'actors/event.h' stands above 'policies'"
}

@test "SimGrid is refused outside the actors and the topology" {
    for floor in workloads platforms policies analysis; do
        rm -rf tree
        tree "$floor/x.h" '<simgrid/actor.h>'
        check
        equal "$status" 1
        contains "$output" "$floor/x.h:2: 'simgrid/actor.h' is SimGrid's"
    done
    rm -rf tree
    tree analysis/x.c '"platforms/topology.h"'
    check
    equal "$status" 1
}

@test "what is right passes" {
    tree actors/engine.c '<simgrid/engine.h>'
    check
    equal "$status" 0
    tree platforms/topology.cpp '<simgrid/s4u.hpp>'
    check
    equal "$status" 0
    tree analysis/a.c '"workloads/units.h"'
    check
    equal "$status" 0
}
