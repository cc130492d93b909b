#!/usr/bin/env python3
"""Checks that a block-level timeline shows transfers under the computing: the lanes 'compute' and
'transfers' are busy at the same time for a good part of the shorter one. Prints the seconds of
each and of both.

usage: check_overlap.py TIMELINE [MINIMUM_SHARE]     (of the shorter lane; 0.5 unless said otherwise)
exit status: 0 they overlap, 1 they do not
"""

import json
import sys


def busy(events, lane):
    """Sorted (start, end) of a lane's slices, launches left out, in microseconds."""
    slices = [(e["ts"], e["ts"] + e["dur"]) for e in events
              if e["ph"] == "X" and e["tid"] == lane and e["name"] != "launch"]
    slices.sort()
    for (_, end), (start, _) in zip(slices, slices[1:]):
        if start < end - 0.0015:
            sys.exit(f"two slices of one lane overlap at {start} us")
    return slices


def overlap(first, second):
    """Time that both lists of slices cover."""
    total, i, j = 0.0, 0, 0
    while i < len(first) and j < len(second):
        total += max(0.0, min(first[i][1], second[j][1]) - max(first[i][0], second[j][0]))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return total


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    minimum = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    lanes = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    compute, transfers = (busy(events, lanes[name]) for name in ("compute", "transfers"))
    both = overlap(compute, transfers)
    lengths = [sum(end - start for start, end in lane) for lane in (compute, transfers)]
    print(f"computing {lengths[0] / 1e6:.6f} s, transfers {lengths[1] / 1e6:.6f} s, "
          f"both {both / 1e6:.6f} s")
    if not min(lengths) > 0 or both < minimum * min(lengths):
        sys.exit("the transfers do not hide under the computing")


if __name__ == "__main__":
    main()
