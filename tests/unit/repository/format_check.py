#!/usr/bin/python3
"""Checks that every C++ file is formatted as .clang-format says. `--fix` formats them instead.

Versions of clang-format differ in small ways, so the tree is held to one of them.
"""

import os
import shutil
import subprocess
import sys

FORMATTER = "clang-format-19"
FOLDERS = ["core", "backends", "server", "client", "tests"]
SKIPPED = 77


def main():
    if not shutil.which(FORMATTER):
        print(f"skipped: {FORMATTER} is not installed (deploy/install-deps installs it)")
        return SKIPPED
    files = []
    for top in FOLDERS:
        for folder, subfolders, names in os.walk(top):
            subfolders[:] = sorted(set(subfolders) - {"fixtures", "node_modules"})
            files += [os.path.join(folder, name) for name in sorted(names) if name.endswith((".h", ".cc", ".inc"))]
    if not files:
        print("no C++ files found: run it in the root of the repository")
        return 1
    mode = ["-i"] if "--fix" in sys.argv[1:] else ["--dry-run", "-Werror", "--ferror-limit=1"]
    result = subprocess.run([FORMATTER, "--style=file", *mode, *files], check=False)
    print(f"{len(files)} files")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
