#!/usr/bin/python3
"""The layer check finds each kind of breach in a tree made for it, and nothing in a sound one."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Tests leave nothing in the source tree.
import layer_check  # noqa: E402

SOUND_FILES = {
    "core/dtype/dtype.h": "#include <cstdint>\n#include <math.h>\n",
    "core/uop/graph.h": '#include "absl/status/status.h"\n#include "core/dtype/dtype.h"\n',
    "core/uop/graph.cc": '#include "core/uop/graph.h"\n\n#include <vector>\n',
    "core/codegen/target.h": '#include "core/uop/graph.h"\n',
    "core/runtime/device.h": '#include <mutex>\n#include "absl/time/time.h"\n#include "core/codegen/target.h"\n',
    "backends/llvm/emit.cc": '#include "core/codegen/target.h"\n#include "llvm/IR/IRBuilder.h"\n',
    "backends/cpu/cpu.cc": (
        '#include "backends/llvm/emit.h"\n#include "core/runtime/device.h"\n#include "llvm/IR/Module.h"\n'
    ),
    "backends/opencl/opencl.cc": '#include <CL/cl.h>\n#include "core/runtime/device.h"\n',
    "server/session.cc": '#include "core/runtime/device.h"\n#include "kiln/v1/kiln.grpc.pb.h"\n',
    "server/main.cc": '#include "backends/cpu/cpu.h"\n#include "server/session.h"\n',
    "client/cpp/session.cc": '#include <grpcpp/grpcpp.h>\n#include "kiln/v1/kiln.grpc.pb.h"\n',
    "proto/kiln/v1/kiln.proto": 'import "google/protobuf/duration.proto";\n',
    "tests/unit/uop/graph_test.cc": '#include "core/uop/graph.h"\n#include "gtest/gtest.h"\n',
}

SOUND_GRAPH = [
    ("kiln_core", "core", ["kiln_dtype", "kiln_uop"], []),
    ("kiln_dtype", "core/dtype", ["absl::status"], ["dtype.h"]),
    ("kiln_uop", "core/uop", ["kiln_dtype", "absl::strings"], ["graph.h", "graph.cc"]),
    ("kiln_runtime", "core/runtime", ["kiln_codegen", "Threads::Threads", "SQLite::SQLite3"], ["device.h"]),
    ("kiln_codegen", "core/codegen", ["kiln_uop"], ["target.h"]),
    ("kiln_backend_llvm", "backends/llvm", ["kiln_codegen", "LLVM"], ["emit.cc"]),
    ("kiln_backend_cpu", "backends/cpu", ["kiln_runtime", "kiln_backend_llvm"], ["cpu.cc"]),
    ("kiln_proto", "proto", ["protobuf::libprotobuf", "gRPC::grpc++"], []),
    ("kiln_server", "server", ["kiln_core", "kiln_proto", "kiln_runtime"], ["session.cc"]),
    ("kilnd", "server", ["kiln_server", "kiln_backend_cpu"], ["main.cc"]),
    ("kiln_client", "client/cpp", ["kiln_proto", "gRPC::grpc++"], ["session.cc"]),
    ("graph_test", "tests/unit/uop", ["kiln_core", "GTest::gtest"], ["graph_test.cc"]),
]

# One bad file each, and a part of what must be said about it.
BAD_INCLUDES = [
    ("core/dtype/bad.h", '#include "core/uop/graph.h"', "core/uop is to the right of core/dtype"),
    ("core/uop/bad.cc", '#include "core/rewrite/rewrite.h"', "core/rewrite is to the right"),
    ("core/symbolic/bad.cc", '#include "core/tensor/shape.h"', "core/tensor is to the right"),
    ("core/render/bad.cc", '#include "core/runtime/device.h"', "core/runtime is to the right"),
    ("core/uop/bad.cc", '#  include  "core/tensor/functions/matmul.h"', "core/tensor is to the right"),
    ("core/util/bad.h", "#include <vector>", '"util" is not a layer'),
    ("core/bad.h", "#include <vector>", "is not a layer"),
    ("core/uop/bad.cc", '#include "core/util/strings.h"', '"util" is not a layer'),
    ("core/rewrite/bad.cc", "#include <chrono>", "<chrono>"),
    ("core/uop/bad.cc", "#include <thread>", "<thread>"),
    ("core/uop/bad.cc", "#include <mutex>", "<mutex>"),
    ("core/codegen/bad.cc", "#include <filesystem>", "<filesystem>"),
    ("core/dtype/bad.cc", "#include <fstream>", "<fstream>"),
    ("core/dtype/bad.cc", "#include <iostream>", "<iostream>"),
    ("core/dtype/bad.cc", "#include <pthread.h>", "pthread.h"),
    ("core/dtype/bad.cc", "#include <sys/stat.h>", "sys/stat.h"),
    ("core/dtype/bad.cc", "#include <nlohmann/json.hpp>", "nlohmann/json.hpp"),
    ("core/uop/bad.cc", '#include "absl/synchronization/mutex.h"', "absl/synchronization"),
    ("core/uop/bad.cc", '#include "absl/time/clock.h"', "absl/time"),
    ("core/uop/bad.cc", '#include "absl/flags/flag.h"', "absl/flags"),
    ("core/uop/bad.cc", "#include <grpcpp/grpcpp.h>", "grpc libraries"),
    ("core/runtime/bad.cc", "#include <grpcpp/grpcpp.h>", "grpc libraries"),
    ("core/runtime/bad.cc", '#include "google/protobuf/arena.h"', "grpc libraries"),
    ("core/codegen/bad.cc", '#include "llvm/IR/Module.h"', "llvm libraries"),
    ("core/runtime/bad.cc", "#include <CL/cl.h>", "device libraries"),
    ("core/runtime/bad.cc", "#include <cuda.h>", "device libraries"),
    ("core/uop/bad.cc", '#include "tests/unit/testing/text.h"', "tests libraries"),
    ("core/uop/bad.cc", '#include "gtest/gtest_prod.h"', "tests libraries"),
    ("core/uop/bad.cc", '#include "server/session.h"', "must not know server/"),
    ("core/runtime/bad.cc", '#include "client/cpp/session.h"', "must not know client/"),
    ("core/runtime/bad.cc", '#include "backends/cpu/cpu.h"', "must not know backends/"),
    ("core/runtime/bad.cc", '#include "kiln/v1/kiln.pb.h"', "must not know proto/"),
    ("core/uop/bad.cc", '#include "graph.h"', "from the root"),
    ("core/uop/bad.cc", '#include "../dtype/dtype.h"', "from the root"),
    ("core/uop/bad.cc", "#include HEADER", "through a macro"),
    ("backends/llvm/bad.cc", '#include "core/runtime/device.h"', "core/runtime is to the right of core/codegen"),
    ("backends/cpu/bad.cc", '#include "backends/opencl/opencl.h"', "must not know backends/opencl"),
    ("backends/cpu/bad.cc", '#include "server/session.h"', "must not know server"),
    ("backends/cpu/bad.cc", "#include <grpcpp/grpcpp.h>", "grpc libraries"),
    ("backends/opencl/bad.cc", '#include "llvm/IR/Module.h"', "only backends built on backends/llvm"),
    ("server/bad.cc", '#include "backends/cpu/cpu.h"', "must not know backends/"),
    ("server/bad.cc", '#include "llvm/IR/Module.h"', "llvm libraries"),
    ("server/bad.cc", "#include <cuda.h>", "device libraries"),
    ("server/bad.cc", '#include "client/cpp/session.h"', "must not know client/"),
    ("client/cpp/bad.cc", '#include "core/dtype/dtype.h"', "must not know core/"),
    ("client/cpp/bad.cc", '#include "server/session.h"', "must not know server/"),
    ("client/cpp/bad.cc", '#include "llvm/IR/Module.h"', "llvm libraries"),
    ("proto/kiln/v1/bad.proto", 'import "core/bad.proto";', "must not know core/"),
]

# One bad link each: a target, its folder, what it links.
BAD_LINKS = [
    ("kiln_dtype", "core/dtype", "kiln_uop"),
    ("kiln_uop", "core/uop", "kiln_runtime"),
    ("kiln_uop", "core/uop", "kiln_core"),
    ("kiln_uop", "core/uop", "kiln_rewrite"),  # No such target.
    ("kiln_uop", "core/uop", "absl::synchronization"),
    ("kiln_uop", "core/uop", "absl::time"),
    ("kiln_uop", "core/uop", "Threads::Threads"),
    ("kiln_uop", "core/uop", "z3"),
    ("kiln_uop", "core/uop", "GTest::gtest"),
    ("kiln_uop", "core/uop", "graph_test"),
    ("kiln_runtime", "core/runtime", "gRPC::grpc++"),
    ("kiln_runtime", "core/runtime", "LLVM"),
    ("kiln_runtime", "core/runtime", "OpenCL::OpenCL"),
    ("kiln_core", "core", "kiln_backend_cpu"),
    ("kiln_misc", "core/misc", "absl::strings"),
    ("kiln_backend_llvm", "backends/llvm", "kiln_runtime"),
    ("kiln_backend_null", "backends/null", "kiln_backend_cpu"),
    ("kiln_server", "server", "kiln_backend_cpu"),
    ("kiln_server", "server", "LLVM"),
    ("kiln_client", "client/cpp", "kiln_core"),
    ("kiln_client", "client/cpp", "kiln_dtype"),
    ("kiln_proto", "proto", "kiln_core"),
]


def as_graph(rows):
    return [dict(zip(("name", "folder", "links", "sources"), row)) for row in rows]


class LayerCheck(unittest.TestCase):
    def setUp(self):
        self.temp = tempfile.TemporaryDirectory()
        self.root = self.temp.name
        for path, text in SOUND_FILES.items():
            self.write(path, text)

    def tearDown(self):
        self.temp.cleanup()

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_script(self, graph):
        self.write("graph.json", json.dumps(as_graph(graph)))
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layer_check.py")
        command = [sys.executable, script, "--root", self.root, "--graph", os.path.join(self.root, "graph.json")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_accepts_a_sound_tree(self):
        self.assertEqual(layer_check.check_includes(self.root), [])
        self.assertEqual(layer_check.check_links(as_graph(SOUND_GRAPH)), [])
        self.assertEqual(layer_check.check_declared(self.root, as_graph(SOUND_GRAPH)), [])
        result = self.run_script(SOUND_GRAPH)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_finds_every_bad_include(self):
        for path, line, expected in BAD_INCLUDES:
            with self.subTest(path=path, line=line):
                self.write(path, "// A comment.\n" + line + "\n")
                problems = layer_check.check_includes(self.root)
                os.remove(os.path.join(self.root, path))
                self.assertEqual(len(problems), 1, problems)
                self.assertIn(path, problems[0])
                self.assertIn(expected, problems[0])

    def test_finds_every_bad_link(self):
        for name, folder, link in BAD_LINKS:
            with self.subTest(name=name, link=link):
                graph = [row for row in SOUND_GRAPH if row[0] != name] + [(name, folder, [link], [])]
                problems = layer_check.check_links(as_graph(graph))
                self.assertEqual(len(problems), 1, problems)
                self.assertIn(name, problems[0])

    def test_finds_an_include_whose_target_is_not_linked(self):
        graph = [row for row in SOUND_GRAPH if row[0] != "kiln_codegen"]
        graph.append(("kiln_codegen", "core/codegen", ["absl::status"], ["target.h"]))
        problems = layer_check.check_declared(self.root, as_graph(graph))
        self.assertEqual(len(problems), 1, problems)
        self.assertIn("core/codegen/target.h:1: kiln_codegen includes core/uop/graph.h", problems[0])

    def test_script_fails_on_a_bad_include_and_on_a_bad_link(self):
        bad_graph = SOUND_GRAPH + [("kiln_late", "core/dtype", ["kiln_uop"], [])]
        self.assertEqual(self.run_script(bad_graph).returncode, 1)
        self.write("core/dtype/bad.h", '#include "core/uop/graph.h"\n')
        self.assertEqual(self.run_script(SOUND_GRAPH).returncode, 1)

    def test_script_fails_on_an_empty_tree(self):
        self.root = os.path.join(self.root, "empty")
        self.assertEqual(self.run_script([]).returncode, 1)


if __name__ == "__main__":
    unittest.main()
