#!/usr/bin/env python3
"""Runs every command that README.md prints, in a scratch copy of the source tree.

Usage: check_readme.py SOURCE_FOLDER

Every block fenced as ```sh is a script for bash; the first that fails, fails the test. INFERGRID_
README_RUN tells the project's own tests, which one of these commands starts, not to start them all
over again.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LEFT_OUT = shutil.ignore_patterns("build", "results", ".git", ".mirror")


def blocks(readme):
    """The scripts, each with the number of its first line."""
    for match in re.finditer(r"^```sh\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE):
        yield readme.count("\n", 0, match.start()) + 2, match.group(1)


def main():
    source = pathlib.Path(sys.argv[1])
    scripts = list(blocks((source / "README.md").read_text(encoding="utf-8")))
    if not scripts:
        sys.exit("README.md prints no command")
    environment = dict(os.environ, INFERGRID_README_RUN="1")
    environment.pop("INFERGRID_DATA", None)
    with tempfile.TemporaryDirectory() as root:
        copy = pathlib.Path(root) / "infergrid"
        shutil.copytree(source, copy, ignore=LEFT_OUT, symlinks=True)
        for line, script in scripts:
            print(f"README.md:{line}:\n{script}", flush=True)
            result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=copy,
                                    env=environment, stdin=subprocess.DEVNULL, check=False)
            if result.returncode != 0:
                sys.exit(f"README.md:{line}: status {result.returncode}")
    print(f"{len(scripts)} blocks of commands ran")


if __name__ == "__main__":
    main()
