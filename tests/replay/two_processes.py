#!/usr/bin/python3
"""Checks that two processes make the same machine code of the same graphs, and that a third uses it.

    two_processes.py KILN_REPLAY FOLDER_OF_FIXTURES

Runs kiln-replay on the CPU twice with empty caches of kernels, and compares the files; then with the
first cache, to which it must add nothing.
"""

import hashlib
import os
import subprocess
import sys
import tempfile


def contents(folder):
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def replay(binary, fixtures, cache):
    command = [binary, f"--dir={fixtures}", "--set=graphs", "--on=cpu", f"--cache={cache}", "--max_macs=20000"]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + f"{command} ended with {run.returncode}")


def main():
    binary, fixtures = sys.argv[1:]
    with tempfile.TemporaryDirectory() as root:
        first, second = os.path.join(root, "first"), os.path.join(root, "second")
        replay(binary, fixtures, first)
        replay(binary, fixtures, second)
        kernels = contents(first)
        if len(kernels) < 1000:
            sys.exit(f"only {len(kernels)} kernels were kept")
        other = contents(second)
        differ = sorted(k for k in kernels.keys() | other.keys() if kernels.get(k) != other.get(k))
        if differ:
            sys.exit(f"{len(differ)} of {len(kernels)} kernels differ from process to process: {differ[:5]}")
        replay(binary, fixtures, first)
        if contents(first) != kernels:
            sys.exit("a process compiled what an earlier one had kept")
        print(f"{len(kernels)} kernels are the same in two processes, and kept")


main()
