#!/usr/bin/python3
"""Checks that every folder includes and links only what the layers allow.

    layer_check.py [--root FOLDER] [--graph target_graph.json]

The arrows:   client -> proto <- server -> core <- backends
The layers of core, each of which knows only itself and those to its left, are in LAYERS.
Three checks: what the files of a folder #include; what its CMake targets link; and that a target
links (directly or not) the targets whose headers its files include.
"""

import argparse
import json
import os
import re
import sys

LAYERS = ["dtype", "uop", "rewrite", "symbolic", "tensor", "schedule", "codegen", "render", "runtime"]
PARTS = ["core", "backends", "server", "client", "proto"]
EXTENSIONS = (".h", ".cc", ".inc", ".proto")

# Below core/runtime: no threads, clocks, files or terminals.
BANNED_STD = {
    "barrier", "chrono", "condition_variable", "ctime", "filesystem", "fstream", "future", "iostream", "latch",
    "mutex", "semaphore", "shared_mutex", "stop_token", "syncstream", "thread",
}
BANNED_ABSL = {"debugging", "flags", "log", "synchronization", "time"}
# Everything else that has a slash or ends in .h is a library of some kind, and not allowed.
SYSTEM_HEADERS = {
    "assert.h", "float.h", "immintrin.h", "limits.h", "math.h", "stddef.h", "stdint.h", "string.h",
    "sys/mman.h",  # Anonymous memory for arenas.
}

KINDS = [  # The first match tells what an included file or a linked library belongs to.
    ("core", r"core/|kiln_core$"),
    ("backends", r"backends/|kiln_backend_"),
    ("server", r"server/"),
    ("client", r"client/"),
    ("tests", r"tests/|gtest/|gmock/|benchmark/|GTest::|benchmark::"),
    ("proto", r"proto/|kiln/"),
    ("grpc", r"grpc|gRPC::|google/protobuf|protobuf::"),
    ("llvm", r"llvm|clang/|lld/|LLVM|clang"),
    ("device", r"cuda|nvrtc|nvml|CL/|OpenCL::|CUDA::|hip/"),
    ("absl", r"absl/|absl::"),
    ("crypto", r"openssl/|OpenSSL::"),
    ("store", r"sqlite3|SQLite::|SQLite3::"),
]


def kind_of(name):
    for kind, pattern in KINDS:
        if re.match(pattern, name):
            return kind
    return "other"


class Place:
    """A folder of the tree as the rules see it: its part, and below core and backends its name."""

    def __init__(self, path):
        pieces = path.split("/")
        self.part = pieces[0]
        self.name = pieces[1] if self.part in ("core", "backends") and len(pieces) > 1 else ""

    def __str__(self):
        return f"{self.part}/{self.name}" if self.name else self.part


def core_verdict(layer, used):
    """Why core/<layer> must not use core/<used>; None if it may."""
    if used not in LAYERS:
        return f'"{used}" is not a layer of core'
    if LAYERS.index(used) > LAYERS.index(layer):
        return f"core/{used} is to the right of core/{layer}"
    return None


def folder_verdict(place, used):
    """Why code in `place` must not use the folder `used` of our tree; None if it may."""
    if place.part in ("core", "backends", "server") and used.part == "core" and not used.name:
        return None if place.part != "core" or not place.name else "a layer must not use the sum of the layers"
    if place.part == "core":
        if used.part != "core":
            return f"core must not know {used.part}/"
        return core_verdict(place.name, used.name) if place.name else None
    if place.part == "backends":
        if used.part == "backends" and used.name in (place.name, "llvm"):
            return None
        if used.part == "core":
            return core_verdict("codegen" if place.name == "llvm" else LAYERS[-1], used.name)
        return f"backends/{place.name} must not know {used}"
    allowed = {"server": ["server", "core", "proto"], "client": ["client", "proto"], "proto": ["proto"]}
    if used.part not in allowed[place.part]:
        return f"{place.part}/ must not know {used.part}/"
    return None


def library_verdict(place, kind):
    """Why code in `place` must not use a library of this kind; None if it may."""
    below_runtime = place.part == "core" and place.name != "runtime"
    allowed = {
        "core": {"absl"} if below_runtime else {"absl", "crypto", "store", "other"},
        "backends": {"absl", "llvm", "device", "crypto", "other"},
        "server": {"absl", "grpc", "crypto", "store", "other"},
        "client": {"absl", "grpc", "crypto", "other"},
        "proto": {"grpc"},
    }[place.part]
    return None if kind in allowed else f"{place} must not use {kind} libraries"


def system_verdict(place, name):
    """Like library_verdict, for <name> below core/runtime."""
    if place.part != "core" or place.name == "runtime":
        return None
    if name in BANNED_STD:
        return f"below core/runtime there are no threads, clocks, files or terminals: <{name}>"
    if name in SYSTEM_HEADERS or re.fullmatch(r"[a-z_0-9]+", name):
        return None
    return f"core may use Abseil and the standard library only: {name}"


def include_verdict(place, name):
    kind = kind_of(name)
    if kind in PARTS + ["tests"]:
        used = Place(os.path.dirname(name)) if kind != "proto" else Place("proto")
        return library_verdict(place, kind) if kind == "tests" else folder_verdict(place, used)
    if kind == "absl" and place.part == "core" and place.name != "runtime" and name.split("/")[1] in BANNED_ABSL:
        return f"below core/runtime there are no threads, clocks, logs or flags: {name}"
    if kind == "other":
        return system_verdict(place, name) or (library_verdict(place, kind) if place.part == "proto" else None)
    return library_verdict(place, kind)


def includes_of(path):
    """Yields (line number, name, quoted) of every #include of a C++ file or import of a .proto."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if path.endswith(".proto"):
                found = re.match(r'\s*import\s+(?:public\s+|weak\s+)?(")([^"]+)"', line)
            else:
                found = re.match(r'\s*#\s*include\s*(?:([<"])([^>"]+)[>"])?', line)
            if found:
                yield number, found.group(2), found.group(1) == '"'


def sources(root, parts):
    for part in parts:
        for folder, subfolders, names in os.walk(os.path.join(root, part)):
            subfolders.sort()
            for name in sorted(names):
                if name.endswith(EXTENSIONS):
                    yield os.path.relpath(os.path.join(folder, name), root)


def check_includes(root):
    """What is wrong with the #includes of the tree at `root`, one line each."""
    problems = []
    on_llvm = {  # Backends built on backends/llvm may see LLVM itself.
        Place(path).name
        for path in sources(root, ["backends"])
        if any(name and name.startswith("backends/llvm/") for _, name, _ in includes_of(os.path.join(root, path)))
    } | {"llvm"}
    for path in sources(root, PARTS + ["tests"]):
        place = Place(os.path.dirname(path))
        if place.part == "core" and place.name not in LAYERS:
            problems.append(f'{path}: "{place.name}" is not a layer of core')
            continue
        for line, name, quoted in includes_of(os.path.join(root, path)):
            where = f"{path}:{line}"
            if name is None:
                problems.append(f"{where}: an #include through a macro cannot be checked")
                continue
            beside = os.path.join(root, os.path.dirname(path), name)
            if ".." in name.split("/") or quoted and os.path.exists(beside):
                problems.append(f"{where}: {name}: write it from the root of the repository")
                continue
            if place.part == "tests" or place.part == "server" and path == "server/main.cc":
                continue
            problem = include_verdict(place, name)
            if not problem and kind_of(name) == "llvm" and place.part == "backends" and place.name not in on_llvm:
                problem = f"only backends built on backends/llvm may use LLVM: {name}"
            if problem:
                problems.append(f"{where}: {problem}")
    return problems


def link_verdict(place, link, folders):
    if link in folders:
        used = Place(folders[link])
        return library_verdict(place, "tests") if used.part == "tests" else folder_verdict(place, used)
    kind = kind_of(link)
    if kind == "absl" and place.part == "core" and place.name != "runtime":
        if re.match(r"absl::(synchronization|time|flags|log)", link):
            return f"below core/runtime there are no threads, clocks, logs or flags: {link}"
    if kind in PARTS:
        return f"{link} is no target of the tree"
    problem = library_verdict(place, kind)
    return f"{problem}: {link}" if problem else None


def check_links(graph):
    """What is wrong with the links of the targets in `graph`, one line each."""
    folders = {target["name"]: target["folder"] for target in graph}
    problems = []
    for target in graph:
        place = Place(target["folder"])
        if place.part not in PARTS or target["name"] == "kilnd":
            continue
        if place.part == "core" and place.name and place.name not in LAYERS:
            problems.append(f'{target["name"]}: "{place.name}" is not a layer of core')
            continue
        for link in target["links"]:
            if link.startswith("::@"):  # CMake's mark for the folder that a link was added from.
                continue
            problem = link_verdict(place, link, folders)
            if problem:
                problems.append(f'{target["name"]} ({target["folder"]}) links {link}: {problem}')
    return problems


def reachable(name, links):
    seen, todo = set(), [name]
    while todo:
        target = todo.pop()
        if target not in seen:
            seen.add(target)
            todo.extend(links.get(target, []))
    return seen


def check_declared(root, graph):
    """Targets with files that include a header of a target they do not link, one line each."""
    links = {target["name"]: target["links"] for target in graph}
    owners = {}  # Folder -> the targets declared there.
    for target in graph:
        owners.setdefault(target["folder"], set()).add(target["name"])
    problems = []
    for target in graph:
        linked = reachable(target["name"], links)
        for source in target["sources"]:
            path = os.path.normpath(os.path.join(target["folder"], source))
            if not path.endswith(EXTENSIONS) or not os.path.exists(os.path.join(root, path)):
                continue
            for line, name, _ in includes_of(os.path.join(root, path)):
                if not name or name.split("/")[0] not in PARTS + ["tests"]:
                    continue
                folder = os.path.dirname(name)
                while folder and folder not in owners:
                    folder = os.path.dirname(folder)
                if folder and folder != target["folder"] and not owners[folder] & linked:
                    wanted = " or ".join(sorted(owners[folder]))
                    problems.append(f'{path}:{line}: {target["name"]} includes {name} but does not link {wanted}')
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=".")
    parser.add_argument("--graph", help="the target graph that CMake wrote for the tree")
    options = parser.parse_args()
    problems = check_includes(options.root)
    num_targets = 0
    if options.graph:
        with open(options.graph, encoding="utf-8") as file:
            graph = json.load(file)
        num_targets = len(graph)
        problems += check_links(graph) + check_declared(options.root, graph)
    for problem in problems:
        print(problem)
    num_files = sum(1 for _ in sources(options.root, PARTS + ["tests"]))
    print(f"{num_files} files, {num_targets} targets, {len(problems)} problems")
    return 1 if problems or num_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
