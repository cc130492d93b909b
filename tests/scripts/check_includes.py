#!/usr/bin/env python3
"""Checks that no #include climbs a floor, and that SimGrid is named only where it belongs.

Usage: check_includes.py SOURCE_FOLDER
Prints one line a violation, as file:line: message, and exits 1 when there is any.
"""

import pathlib
import re
import sys

FLOORS = ["workloads", "platforms", "policies", "actors", "analysis"]
ENGINE = ("simgrid/", "xbt/", "smpi/", "simgrid.h", "mpi.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SOURCES = {".c", ".h", ".cpp", ".hpp"}


def may_name_engine(path):
    """The actors, and the topology that gives SimGrid the platform."""
    return path.parts[0] == "actors" or (
        path.parts[0] == "platforms" and path.name.startswith("topology"))


def violation(path, included):
    """What is wrong with 'path' (relative to the source folder) including 'included', or None."""
    floor = path.parts[0]
    if included.startswith(ENGINE) and not may_name_engine(path):
        return f"'{included}' is SimGrid's: only the actors and the topology know the engine"
    if included == "platforms/topology.h" and floor != "actors":
        if not may_name_engine(path):
            return "'platforms/topology.h' brings in SimGrid: only the actors include it"
    target = included.split("/")[0]
    if target in FLOORS and FLOORS.index(target) > FLOORS.index(floor):
        return f"'{included}' stands above '{floor}'"
    if included.startswith("."):
        return f"'{included}': name files from the top of the tree"
    return None


def check(source):
    """Yields one line a violation in the folder 'source'."""
    for floor in FLOORS:
        for path in sorted((source / floor).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            relative = path.relative_to(source)
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                problem = match and violation(relative, match.group(1))
                if problem:
                    yield f"{relative}:{number}: {problem}"


def main():
    source = pathlib.Path(sys.argv[1])
    missing = [floor for floor in FLOORS if not (source / floor).is_dir()]
    if missing:
        sys.exit(f"no such floor in {source}: {', '.join(missing)}")
    violations = list(check(source))
    print("\n".join(violations) if violations else "no include climbs a floor")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
