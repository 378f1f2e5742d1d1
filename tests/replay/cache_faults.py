#!/usr/bin/python3
"""Checks that no misfortune of a process, or of the folder of kernels, makes a wrong result.

    cache_faults.py KILN_REPLAY FOLDER_OF_FIXTURES

Runs kiln-replay on the CPU with a cache of kernels
- killed while it compiles and stores, at several moments, and then again with the same folder;
- on a disk that is full: half of the kernels don't fit;
- with a folder that can't be, and with an empty environment (no HOME).
What is kept must be what an undisturbed process keeps, byte for byte, or not be there.
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

KEPT, HALF = ".kilnobj", ".tmp"
GRAPHS = "dtype"  # One file of graphs is enough: a few hundred kernels.


def command(root, cache):
    return [sys.argv[1], f"--dir={root}", "--set=graphs", "--on=cpu", f"--cache={cache}"]


def replay(root, cache, **options):
    run = subprocess.run(command(root, cache), stdout=subprocess.PIPE, text=True, **options)
    if run.returncode != 0:
        sys.exit(run.stdout + f"{command(root, cache)} ended with {run.returncode}")


def contents(folder, suffix=KEPT):
    found = {}
    for name in os.listdir(folder):
        if name.endswith(suffix):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
    return found


def expect_part(folder, whole, what):
    """The kernels in the folder, each of which must be as in `whole`."""
    part = contents(folder)
    wrong = sorted(name for name, data in part.items() if whole.get(name) != data)
    if wrong:
        sys.exit(f"{what}: {len(wrong)} of {len(part)} files are not what they should be: {wrong[:5]}")
    return part


def kill_when_it_keeps(root, cache, count):
    """Kills a process as soon as it has kept so many kernels, wherever it is then."""
    process = subprocess.Popen(command(root, cache), stdout=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            if len(os.listdir(cache)) >= count:
                process.send_signal(signal.SIGKILL)
                break
        except FileNotFoundError:
            pass
        time.sleep(0.0005)
    if process.wait() != -signal.SIGKILL:
        sys.exit(f"the process ended with {process.returncode} before it had kept {count} kernels")


def killed(root, whole):
    cache, half = os.path.join(root, "killed"), 0
    for percent in (1, 10, 30, 60, 90):
        kill_when_it_keeps(root, cache, len(whole) * percent // 100)
        part = expect_part(cache, whole, f"killed at {percent} %")
        if len(part) >= len(whole):
            sys.exit("the process was not killed while it compiled")
        half += len(contents(cache, HALF))
    replay(root, cache)
    if expect_part(cache, whole, "after kills") != whole:
        sys.exit("after kills: kernels are missing")
    return f"killed five times, with {half} files half written"


def full_disk(root, whole):
    cache = os.path.join(root, "full")
    sizes = sorted(len(data) for data in whole.values())
    room = sizes[len(sizes) // 2]

    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    replay(root, cache, preexec_fn=fill, restore_signals=False)
    fit = {name: data for name, data in whole.items() if len(data) <= room}
    if expect_part(cache, whole, "full disk") != fit or contents(cache, HALF):
        sys.exit("full disk: not just the kernels that fit are kept")
    return f"kept {len(fit)} kernels of {len(whole)} on a full disk"


def link_graphs(root):
    folder = os.path.join(root, "graphs")
    os.mkdir(folder)
    for end in ("jsonl.gz", "bin.gz"):
        name = f"{GRAPHS}.{end}"
        os.symlink(os.path.abspath(os.path.join(sys.argv[2], "graphs", name)), os.path.join(folder, name))


def main():
    with tempfile.TemporaryDirectory() as root:
        link_graphs(root)
        undisturbed = os.path.join(root, "undisturbed")
        replay(root, undisturbed)
        whole = contents(undisturbed)
        if len(whole) < 100:
            sys.exit(f"only {len(whole)} kernels were kept")
        done = [killed(root, whole), full_disk(root, whole)]
        replay(root, "/proc/none/cache", env={})
        print("\n".join(done + ["ran with a folder that can't be, and without any environment"]))


main()
