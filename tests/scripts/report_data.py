#!/usr/bin/env python3
"""Holds what a report of `infergrid simulate` shows against the result folder of the same run.

Usage: report_data.py REPORT.html RESULT_FOLDER
"""

import csv
import json
import pathlib
import re
import sys


def close(what, shown, there, tolerance=1e-4):
    """Exits when two figures differ by more than a share of the larger one."""
    if abs(shown - there) > tolerance * max(abs(shown), abs(there)):
        sys.exit(f"{what}: the report has {shown}, the results {there}")


def integral(points, spans):
    """Of the means over consecutive spans."""
    return sum(value * span for (_, value), span in zip(points, spans))


def spans_of(points, end):
    """Lengths of the spans of which 'points' are the middles: equal ones, and what is left of 'end'."""
    span = (points[-2][0] - points[0][0]) / (len(points) - 2)
    last = end - span * (len(points) - 1)
    close("middle of the first span", points[0][0], span / 2, 1e-3)
    close("middle of the last span", points[-1][0], end - last / 2, 1e-3)
    return [span] * (len(points) - 1) + [last]


def main():
    page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    results = pathlib.Path(sys.argv[2])
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page,
                                re.DOTALL).group(1))
    summary = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    rows = list(csv.DictReader((results / "requests.csv").open(encoding="utf-8")))
    items = {item["id"]: item for section in data["sections"] for item in section["items"]
             if "id" in item}
    end = summary["whole"]["makespan_s"]

    for kind in ("ttft", "tpot", "e2e"):
        values = sorted(float(row[f"{kind}_s"]) for row in rows if row[f"{kind}_s"])
        curve = items[f"{kind}-cdf"]["series"][0]["points"]
        close(f"least {kind}", curve[0][0], values[0])
        close(f"most {kind}", curve[-1][0], values[-1])
        if curve != sorted(curve):
            sys.exit(f"{kind}: its cumulative curve falls")
        counted = sum(point[1] for point in items[f"{kind}-bars"]["series"][0]["points"])
        close(f"requests of {kind}", counted, len(values))
        within = [value for value in values if value <= curve[len(curve) // 2][0] * (1 + 1e-6)]
        close(f"middle of {kind}", 100 * (len(within) - 0.5) / len(values),
              curve[len(curve) // 2][1], 0.05)

    points = items["throughput"]["series"][0]["points"]
    spans = spans_of(points, end)
    close("generated tokens", integral(points, spans), summary["whole"]["output_tokens"], 1e-3)
    for series in items["busy"]["series"]:
        close(f"busy share of {series['name']}", integral(series["points"], spans) / end,
              100 * summary["roles"][series["name"]]["utilisation"], 1e-3)
    names = {"all-reduce": "all_reduce", "KV migration": "kv_migration", "KV pull": "kv_pull",
             "pipeline": "pipeline"}
    for series in items["traffic"]["series"]:
        close(f"bytes for {series['name']}", integral(series["points"], spans),
              summary["network"][names[series["name"]]]["bytes"], 1e-3)
    joules = sum(integral(series["points"], spans) for series in items["power"]["series"])
    close("energy", joules, summary["energy"]["joules"], 1e-3)
    print(f"{len(items)} items agree with the results")


if __name__ == "__main__":
    main()
