#!/usr/bin/env python3
"""Runs every command that README.md prints, in a scratch copy of the source tree, and compares
what is printed with what README.md shows.

Usage: check_readme.py SOURCE_FOLDER [--update]

Every block fenced as ```sh is a script for bash; the first that fails, fails the test. A block
fenced as ```text that follows one directly shows its whole standard output; --update writes what
came out into README.md instead. INFERGRID_README_RUN tells the project's own tests, which one of
these commands starts, not to start all over again.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LEFT_OUT = shutil.ignore_patterns("build", "results", ".git")
SCRIPT = re.compile(r"^```sh\n(?P<script>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?",
                    re.DOTALL | re.MULTILINE)


def run(script, folder):
    """Standard output of 'script', run by bash in 'folder'."""
    environment = dict(os.environ, INFERGRID_README_RUN="1")
    environment.pop("INFERGRID_DATA", None)
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder,
                            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            check=False)
    return result.returncode, result.stdout.decode("utf-8")


def check(readme, copy, update):
    """The text of README.md with fresh outputs; exits at the first command or output that is
    wrong."""
    fresh = readme
    for match in SCRIPT.finditer(readme):
        line = readme.count("\n", 0, match.start()) + 2
        print(f"README.md:{line}:\n{match['script']}", flush=True)
        status, output = run(match["script"], copy)
        if status != 0:
            sys.exit(f"{output}\nREADME.md:{line}: status {status}")
        if match["shown"] is None:
            continue
        if update:
            old = match.group(0)
            at = match.start("shown") - match.start()
            end = at + len(match["shown"])
            fresh = fresh.replace(old, old[:at] + output + old[end:])
        elif match["shown"] != output:
            sys.exit(f"README.md:{line}: it shows another output; now it is\n{output}")
    return fresh


def main():
    source = pathlib.Path(sys.argv[1])
    readme = (source / "README.md").read_text(encoding="utf-8")
    if len(SCRIPT.findall(readme)) < 3:
        sys.exit("README.md prints fewer commands than it should")
    update = "--update" in sys.argv[2:]
    with tempfile.TemporaryDirectory() as root:
        copy = pathlib.Path(root) / "infergrid"
        shutil.copytree(source, copy, ignore=LEFT_OUT, symlinks=True)
        fresh = check(readme, copy, update)
    if update:
        (source / "README.md").write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
