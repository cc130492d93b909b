#!/usr/bin/env python3
"""Runs the table of bad inputs: each must give its exact message, status 2, and write nothing.

Usage: check_bad_inputs.py INFERGRID [NAME_PART]

tests/cli/bad_inputs/base holds valid inputs. cases.txt holds the cases, apart by blank lines, each
a list of lines:
    case NAME
    replace FILE: OLD => NEW    the one place where OLD stands in FILE (more than one is a mistake)
    append FILE: TEXT           at its end
    write FILE: TEXT            a new file
    remove FILE
    run WORD...                 instead of: simulate experiment.yaml -o results
    says MESSAGE                on standard error; several are several lines
Texts know the escapes \\n, \\r, \\t, \\s (a blank at an end), \\xNN and \\\\.
"""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent / "cli" / "bad_inputs"
RUN = "simulate experiment.yaml -o results"
VALID = [RUN, "check synthetic.yaml"] + [
    f"check experiment.yaml --set workload.trace={name}"
    for name in ("mooncake.jsonl", "burstgpt.csv", "vidur.csv", "infergrid.csv")]


def unescaped(text):
    """'text' as bytes, its escapes resolved."""
    plain = {"n": "\n", "r": "\r", "t": "\t", "s": " ", "\\": "\\"}

    def one(match):
        return plain.get(match.group(1)) or chr(int(match.group(2), 16))

    return re.sub(r"\\(?:([nrts\\])|x([0-9a-fA-F]{2}))", one, text).encode("latin-1")


def read_cases(path):
    """A list of (name, edits, command words, message)."""
    cases = []
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8").strip()):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        pairs = [tuple(line.partition(" ")[::2]) for line in lines]
        if pairs[0][0] != "case":
            sys.exit(f"a case begins with 'case NAME', not '{lines[0]}'")
        run = [text for verb, text in pairs if verb == "run"]
        says = [text for verb, text in pairs if verb == "says"]
        edits = [pair for pair in pairs if pair[0] not in ("case", "run", "says")]
        cases.append((pairs[0][1], edits, shlex.split((run or [RUN])[0]), "\n".join(says)))
    return cases


def edit(folder, verb, text):
    """Applies one edit to the inputs in 'folder'."""
    name, _, rest = text.partition(": ")
    path = folder / name
    if verb == "remove":
        path.unlink()
        return
    if verb == "write":
        path.write_bytes(unescaped(rest))
        return
    content = path.read_bytes()
    if verb == "append":
        path.write_bytes(content + unescaped(rest))
        return
    if verb != "replace":
        sys.exit(f"unknown edit '{verb}'")
    old, _, new = rest.partition(" => ")
    if content.count(unescaped(old)) != 1:
        sys.exit(f"'{old}' stands {content.count(unescaped(old))} times in {name}")
    path.write_bytes(content.replace(unescaped(old), unescaped(new)))


def contents(folder):
    """Every path below 'folder' and its bytes."""
    return {path: path.is_file() and path.read_bytes() for path in sorted(folder.rglob("*"))}


def run(infergrid, words, folder):
    return subprocess.run([infergrid, *words], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False)


def complaints(infergrid, case, folder):
    """What is wrong with infergrid's answer to a case, as lines."""
    _, edits, words, message = case
    for verb, text in edits:
        edit(folder, verb, text)
    before = contents(folder)
    result = run(infergrid, words, folder)
    got = result.stderr.decode("utf-8", "replace")
    wrong = []
    if got != message + "\n":
        wrong += [f"expected: {message}", f"     got: {got.rstrip()}"]
    if result.returncode != 2:
        wrong.append(f"status {result.returncode}, not 2")
    if result.stdout:
        wrong.append(f"standard output: {result.stdout[:200]}")
    if contents(folder) != before:
        wrong.append("something was written")
    return wrong


def scratch(action):
    """The result of 'action' on a fresh copy of the base."""
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root) / "inputs"
        shutil.copytree(HERE / "base", folder)
        return action(folder)


def main():
    infergrid = pathlib.Path(sys.argv[1]).resolve()
    part = (sys.argv[2:] or [""])[0]
    for line in VALID:
        result = scratch(lambda folder, line=line: run(infergrid, shlex.split(line), folder))
        if result.returncode != 0:
            sys.exit(f"the base itself is wrong: {line}: {result.stderr.decode()}")
    cases = read_cases(HERE / "cases.txt")
    if len({case[0] for case in cases}) != len(cases):
        sys.exit("two cases have one name")
    failed = 0
    for case in (case for case in cases if part in case[0]):
        wrong = scratch(lambda folder, case=case: complaints(infergrid, case, folder))
        failed += bool(wrong)
        print("\n  ".join([f"{'not ok' if wrong else 'ok'} {case[0]}", *wrong]))
    print(f"{len(cases)} cases, {failed} failed")
    sys.exit(1 if failed or len(cases) < 40 else 0)


if __name__ == "__main__":
    main()
