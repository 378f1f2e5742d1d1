#!/usr/bin/python3
"""Checks that tests/fixtures is exactly what its SHA256SUMS lists: no file changed, missing or new."""

import hashlib
import os
import sys


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures"
    problems = []
    listed = set()
    with open(os.path.join(root, "SHA256SUMS"), encoding="utf-8") as sums:
        for line in sums:
            expected, path = line.rstrip("\n").split(maxsplit=1)
            path = os.path.normpath(path.lstrip("*"))
            listed.add(path)
            try:
                with open(os.path.join(root, path), "rb") as file:
                    if hashlib.sha256(file.read()).hexdigest() != expected:
                        problems.append(f"{path}: contents changed")
            except OSError as error:
                problems.append(f"{path}: {error.strerror}")
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if path not in listed and path != "SHA256SUMS":
                problems.append(f"{path}: not in SHA256SUMS")
    print("\n".join(sorted(problems) + [f"{len(listed)} files, {len(problems)} problems"]))
    return 1 if problems or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
