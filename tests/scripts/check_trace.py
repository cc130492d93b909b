#!/usr/bin/env python3
"""Checks a timeline (trace.json): valid JSON in Chrome's trace-event format, slices nest on every
track, asynchronous phases begin and end in pairs, every flow starts and ends within slices and is
whole, counters are not negative. Prints how many events each track holds.

usage: check_trace.py TRACE [--flows MINIMUM]
exit status: 0 sound, 1 a fault (named on standard error), 2 usage
"""

import argparse
import bisect
import collections
import json
import sys
from decimal import Decimal

PHASES = "XMCibestf"


class Fault(Exception):
    """What is wrong with the trace."""


def ticks(value):
    """Microseconds as whole numbers of 1/1024 of one, which readers add without rounding."""
    scaled = value * 1024
    if scaled != int(scaled):
        raise Fault(f"{value} us is no whole number of 1/1024 us")
    return int(scaled)


def load(path):
    """The list of events, numbers kept exact."""
    try:
        with open(path, encoding="utf-8") as file:
            trace = json.load(file, parse_float=Decimal, parse_int=Decimal)
    except (OSError, ValueError) as error:
        raise Fault(f"cannot read: {error}") from error
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise Fault("no list 'traceEvents'")
    if trace.get("displayTimeUnit") not in ("ms", "ns"):
        raise Fault("no 'displayTimeUnit'")
    return trace["traceEvents"]


def check_fields(event):
    phase = event.get("ph")
    if phase not in PHASES:
        raise Fault(f"unknown phase {phase!r}")
    needed = ["name", "pid", "tid"]
    needed += [] if phase == "M" else ["ts", "cat"]
    needed += {"X": ["dur"], "C": ["args"], "M": ["args"]}.get(phase, [])
    needed += ["id"] if phase in "bestf" else []
    for key in needed:
        if key not in event:
            raise Fault(f"an event of phase '{phase}' has no '{key}'")
    if phase != "M" and event["ts"] < 0:
        raise Fault(f"a date before the start: {event['ts']}")
    if phase == "X" and event["dur"] < 0:
        raise Fault(f"a slice of negative length: {event['dur']}")


def slices_by_track(events):
    """(pid, tid) → [(start, end, name)] sorted so that an outer slice comes before its inner ones."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = ticks(event["ts"])
            end = start + ticks(event["dur"])
            tracks[event["pid"], event["tid"]].append((start, end, event["name"]))
    for track in tracks.values():
        track.sort(key=lambda piece: (piece[0], -piece[1]))
    return tracks


def check_nesting(tracks):
    """Returns each track's outermost slices, which only touch, in order."""
    outermost = collections.defaultdict(list)
    for (pid, tid), track in tracks.items():
        around = []
        for start, end, name in track:
            while around and around[-1][1] <= start:
                around.pop()
            if around and end > around[-1][1]:
                raise Fault(f"track {pid}/{tid}: '{name}' at {start} ticks ends at {end}, after "
                            f"the '{around[-1][2]}' around it ({around[-1][1]})")
            if not around:
                outermost[pid, tid].append((start, end))
            around.append((start, end, name))
    return outermost


def check_pairs(events):
    """Every asynchronous phase begins, then ends, and nothing else is in between."""
    begun = {}
    for event in sorted((e for e in events if e["ph"] in "be"), key=lambda e: e["ts"]):
        key = event["pid"], event["cat"], event["name"], event["id"]
        if event["ph"] == "b":
            if key in begun:
                raise Fault(f"'{key[2]}' {key[3]} begins twice")
            begun[key] = event["ts"]
        elif begun.pop(key, None) is None:
            raise Fault(f"'{key[2]}' {key[3]} ends without having begun")
    for key in begun:
        raise Fault(f"'{key[2]}' {key[3]} does not end")


def slice_around(outermost, date):
    """Whether some slice of a track holds the date."""
    after = bisect.bisect_right(outermost, (date, float("inf")))
    return after > 0 and date <= outermost[after - 1][1]


def check_flows(events, outermost):
    """Each flow is s, t …, f in order of time, every one of them within a slice. Returns how many
    there are."""
    flows = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            flows[event["cat"], event["id"]].append(event)
    for (category, number), flow in flows.items():
        phases = "".join(event["ph"] for event in flow)
        if phases != "s" + "t" * (len(flow) - 2) + "f":
            raise Fault(f"flow {category} {number} is '{phases}', not s t … f")
        dates = [ticks(event["ts"]) for event in flow]
        if dates != sorted(dates):
            raise Fault(f"flow {category} {number} goes back in time")
        for event, date in zip(flow, dates):
            if not slice_around(outermost[event["pid"], event["tid"]], date):
                raise Fault(f"flow {category} {number}: no slice around its '{event['ph']}' at "
                            f"{date} ticks on track {event['pid']}/{event['tid']}")
    return len(flows)


def check_counters(events):
    last = {}
    for event in events:
        if event["ph"] != "C":
            continue
        track = event["pid"], event["name"]
        if event["ts"] < last.get(track, 0):
            raise Fault(f"counter '{event['name']}' goes back in time")
        last[track] = event["ts"]
        for series, value in event["args"].items():
            if not isinstance(value, Decimal) or value < 0:
                raise Fault(f"counter '{event['name']}' has {series} = {value}")


def check_names(events):
    """Every track that holds events has a name. Returns the names."""
    names = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "process_name":
            names[event["pid"], None] = event["args"]["name"]
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
    for event in events:
        if (event["pid"], None) not in names:
            raise Fault(f"process {event['pid']} has no name")
        if event["ph"] == "X" and (event["pid"], event["tid"]) not in names:
            raise Fault(f"thread {event['pid']}/{event['tid']} has no name")
    return names


def print_counts(events, names):
    """A line a track: a slice's thread, a counter, or a kind of asynchronous phase."""
    counts = collections.Counter()
    for event in events:
        phase, pid = event["ph"], event["pid"]
        if phase == "X":
            counts[pid, names[pid, event["tid"]], event["name"]] += 1
        elif phase == "b":
            counts[pid, "(phases)", event["name"]] += 1
        elif phase == "C":
            counts[pid, "(counter)", event["name"]] += 1
    for (pid, track, name), count in sorted(counts.items()):
        print(f"{names[pid, None]:24} {track:32} {name:16} {count:9}")


def check(path, minimum_flows):
    events = load(path)
    for event in events:
        check_fields(event)
    names = check_names(events)
    tracks = slices_by_track(events)
    outermost = check_nesting(tracks)
    check_pairs(events)
    check_counters(events)
    flows = check_flows(events, outermost)
    if flows < minimum_flows:
        raise Fault(f"{flows} flows, fewer than {minimum_flows}")
    print_counts(events, names)
    slices = sum(len(track) for track in tracks.values())
    print(f"{len(events)} events: {slices} slices on {len(tracks)} tracks, {flows} flows")


def main():
    parser = argparse.ArgumentParser(description="check a timeline")
    parser.add_argument("trace")
    parser.add_argument("--flows", type=int, default=0, help="fewest flows there may be")
    arguments = parser.parse_args()
    try:
        check(arguments.trace, arguments.flows)
    except Fault as fault:
        print(f"{arguments.trace}: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
