#!/usr/bin/python3
"""Each subcommand of kilnctl against a kilnd, and its words when there is none.

    kilnctl_test.py KILNCTL KILND [unittest arguments]
"""

import concurrent.futures
import http.server
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc
import numpy

KILNCTL, KILND = sys.argv[1:3]
NOBODY, USAGE, FAILED = 3, 2, 1

TWICE = {
    "nodes": [
        {"op": "OP_INPUT", "dtype": "DTYPE_FLOAT32", "input": {"slot": 0, "dims": [{"value": 2}, {"value": 3}]}},
        {"op": "OP_ADD", "src": [0, 0], "label": "sum"},
    ]
}


def start_kilnd(folder, *flags):
    process = subprocess.Popen(
        [KILND, f"--listen=unix:{folder}/kiln.sock", f"--cache={folder}/cache", f"--blobs={folder}/blobs", *flags],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    line = process.stdout.readline()
    assert line.startswith("listening on "), line
    return process


def run(*arguments, address=None, environment=None):
    """(exit code, standard output, standard error)"""
    address = [f"--address={address}"] if address else []
    done = subprocess.run([KILNCTL, *address, *arguments], capture_output=True, text=True, timeout=120,
                          env=environment)
    return done.returncode, done.stdout, done.stderr


class WithKilnd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.address = f"unix:{cls.folder}/kiln.sock"
        cls.kilnd = start_kilnd(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.kilnd.kill()
        cls.kilnd.wait()
        cls.kilnd.stdout.close()
        shutil.rmtree(cls.folder)

    def ctl(self, *arguments):
        code, out, err = run(*arguments, address=self.address)
        self.assertEqual(code, 0, err)
        return out

    def refused(self, *arguments, code=FAILED):
        """The one line that a refused command says."""
        got, out, err = run(*arguments, address=self.address)
        self.assertEqual(got, code, out + err)
        self.assertEqual(out, "")
        self.assertTrue(err.startswith("kilnctl: "), err)
        self.assertEqual(err.count("\n"), 1 if code == FAILED else 2, err)
        return err

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, array):
        numpy.save(self.path(name), array)
        return self.path(name)

    def graph(self, graph, name="graph.json"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(graph, file)
        return self.path(name)


class Lists(WithKilnd):
    def test_devices(self):
        devices = json.loads(self.ctl("devices", "--json"))
        self.assertEqual(devices[0]["name"], "cpu:0")
        self.assertTrue(devices[0]["is_default"])
        table = self.ctl("devices")
        self.assertIn("cpu:0", table)
        self.assertLess(max(map(len, table.splitlines())), 140)

    def test_stats_and_cache(self):
        self.ctl("bench", "--calls=10", "--copies=1", "--bytes=1KB")
        stats = json.loads(self.ctl("stats", "--json"))
        self.assertGreater(int(stats["commands"]), 10)
        self.assertIn("serving", self.ctl("stats"))
        cache = json.loads(self.ctl("cache", "--json"))
        self.assertGreaterEqual(int(cache["kernels_compiled"]), 1)
        self.assertGreater(int(cache["cache_bytes"]), 0)
        self.assertIn("On disk: ", self.ctl("cache"))

    def test_functions(self):
        names = [function["name"] for function in json.loads(self.ctl("functions", "--json"))["functions"]]
        listed = self.ctl("functions")
        for name in names:
            self.assertIn(f"  {name} ", listed)
        doc = self.ctl("functions", "softmax")
        self.assertIn("softmax(x; axis = -1)", doc)
        self.assertEqual(json.loads(self.ctl("functions", "softmax", "--json"))["name"], "softmax")
        self.assertIn("softmax", self.refused("functions", "softmaxx"))

    def test_bench(self):
        figures = json.loads(self.ctl("bench", "--json", "--calls=50", "--copies=2", "--bytes=2MiB"))
        for name, value in figures.items():
            self.assertGreater(value, 0, name)
        self.assertIn("tiny graph", self.ctl("bench", "--calls=10", "--copies=1", "--bytes=1KB"))

    def test_top_into_a_pipe(self):
        text = self.ctl("top", "--once", "--interval=0.05")
        self.assertIn("cpu:0", text)
        self.assertNotIn("\x1b", text)

    def test_top_on_a_terminal_gives_the_screen_back(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(KILNCTL, [KILNCTL, f"--address={self.address}", "top", "--interval=0.05"])
        shown = b""
        while shown.count(b"DEVICE") < 2:
            shown += os.read(terminal, 4096)
        os.kill(pid, signal.SIGINT)
        try:
            while part := os.read(terminal, 4096):
                shown += part
        except OSError:  # How Linux says that the other side has gone.
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(terminal)
        self.assertTrue(shown.startswith(b"\x1b[?1049h"))
        self.assertTrue(shown.endswith(b"\x1b[?1049l"))


class Sessions(WithKilnd):
    """A session that works for as long as the test looks at it."""

    def setUp(self):
        self.busy = subprocess.Popen([KILNCTL, f"--address={self.address}", "bench", "--calls=5000000"],
                                     stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        self.session = {}
        # The graph is only measured after the calls: until then, commands stand still.
        while not self.session and time.monotonic() < deadline:
            for session in json.loads(self.ctl("sessions", "--json"))["sessions"]:
                self.session = session

    def tearDown(self):
        self.busy.kill()
        self.busy.wait()
        self.busy.stderr.close()

    def test_is_listed_and_can_be_ended(self):
        self.assertEqual(self.session["client_name"], "kilnctl bench")
        self.assertTrue(self.session["is_connected"])
        number = self.session["id"]
        self.assertIn("kilnctl bench", self.ctl("sessions"))
        self.assertIn("kilnctl bench", self.ctl("top", "--once", "--interval=0.05"))
        self.assertEqual(self.ctl("end", number), f"session {number} ended\n")
        self.assertIn(f"no session {number}", self.refused("end", number))
        self.assertEqual(self.ctl("sessions"), "no sessions\n")


class Profile(WithKilnd):
    def test_has_commands_transfers_compiles_and_kernels(self):
        out = self.path("out.json")
        profile = subprocess.Popen(
            [KILNCTL, f"--address={self.address}", "profile", out, "--seconds=200", "--max-events=400"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        # Again and again until it is full, which takes several rounds: no assumption about when it begins, nor about
        # how much a loaded machine does in some time.
        size = 1000
        while profile.poll() is None:
            size += 1000
            self.ctl("bench", "--calls=20", "--copies=1", f"--bytes={size}")
            graph = {"nodes": [dict(TWICE["nodes"][0], input={"dims": [{"value": size}]}), TWICE["nodes"][1]]}
            self.ctl("run", self.graph(graph), "--input", "0=" + self.save("x.npy", numpy.ones(size, "float32")),
                     "--output", "1=" + self.path("y.npy"))
        text = profile.stdout.read()
        profile.stdout.close()
        self.assertEqual(profile.returncode, 0)
        self.assertIn("events", text)
        with open(out, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        categories = {event.get("cat") for event in events}
        self.assertLessEqual({"command", "transfer", "compile", "kernel"}, categories)
        for event in events:
            if event["ph"] == "X":
                self.assertGreaterEqual(event["ts"], 0)
                self.assertGreaterEqual(event["dur"], 0)

    def test_says_first_that_the_file_can_not_be_written(self):
        self.assertIn("No such file", self.refused("profile", self.path("no/such/out.json"), "--seconds=100"))

    def test_ends_early_when_full(self):
        out = self.path("full.json")
        busy = subprocess.Popen([KILNCTL, f"--address={self.address}", "bench", "--calls=20", "--copies=1", "--bytes=1MB"],
                                stdout=subprocess.DEVNULL)
        try:
            while busy.poll() is None:  # Nothing happens by itself: some of these overlap with the other.
                self.ctl("profile", out, "--seconds=0.2", "--max-events=1")
        finally:
            busy.kill()
            busy.wait()
        with open(out, encoding="utf-8") as file:
            slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        self.assertLessEqual(len(slices), 1)


class Run(WithKilnd):
    def test_by_number_and_by_label(self):
        x = numpy.arange(6, dtype="float32").reshape(2, 3)
        text = self.ctl("run", self.graph(TWICE), "--input", "0=" + self.save("x.npy", x),
                        "--output", "sum=" + self.path("y.npy"), "--output", "1=" + self.path("z.npy"))
        self.assertIn("float32 [2, 3]", text)
        for name in ("y.npy", "z.npy"):
            y = numpy.load(self.path(name))
            self.assertEqual(y.dtype, numpy.float32)
            numpy.testing.assert_array_equal(y, 2 * x)

    def test_every_dtype_of_numpy(self):
        for name in "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split():
            x = numpy.array([0, 1, 1, 0, 1], dtype=name)
            graph = {"nodes": [
                {"op": "OP_INPUT", "dtype": "DTYPE_" + name.upper(), "input": {"dims": [{"value": 5}]}},
                {"op": "OP_FLIP", "src": [0], "axes": {"axes": [0]}}]}
            self.ctl("run", self.graph(graph), "--input", "0=" + self.save("x.npy", x),
                     "--output", "1=" + self.path("y.npy"))
            y = numpy.load(self.path("y.npy"))
            self.assertEqual(y.dtype, x.dtype)
            numpy.testing.assert_array_equal(y, x[::-1])

    def test_bfloat16_is_raw(self):
        x = numpy.array([0x3F80, 0x4000], dtype="uint16").view("V2")  # 1, 2
        graph = {"nodes": [
            {"op": "OP_INPUT", "dtype": "DTYPE_BFLOAT16", "input": {"dims": [{"value": 2}]}},
            {"op": "OP_ADD", "src": [0, 0]}]}
        self.ctl("run", self.graph(graph), "--input", "0=" + self.save("x.npy", x),
                 "--output", "1=" + self.path("y.npy"))
        self.assertEqual(numpy.load(self.path("y.npy")).view("uint16").tolist(), [0x4000, 0x4080])

    def test_variables(self):
        graph = {"nodes": [
            {"op": "OP_VARIABLE", "dtype": "DTYPE_INDEX", "variable": {"name": "n", "min": "1", "max": "9"}},
            {"op": "OP_INPUT", "dtype": "DTYPE_INT32", "input": {"dims": [{"node": 0}]}},
            {"op": "OP_ADD", "src": [1, 1]}]}
        arguments = ["run", self.graph(graph), "--input", "0=" + self.save("x.npy", numpy.arange(4, dtype="int32")),
                     "--output", "2=" + self.path("y.npy")]
        self.ctl(*arguments, "--var", "n=4")
        self.assertEqual(numpy.load(self.path("y.npy")).tolist(), [0, 2, 4, 6])
        self.assertIn("shape [4]: the graph asks for [5]", self.refused(*arguments, "--var", "n=5"))
        self.assertIn('"n"', self.refused(*arguments))
        self.assertIn("integer", self.refused(*arguments, "--var", "n=many"))

    def test_of_nothing_and_of_more_than_a_message_holds(self):
        for size in (0, 3_000_000):
            x = numpy.arange(size, dtype="float32")
            graph = {"nodes": [dict(TWICE["nodes"][0], input={"dims": [{"value": size}]}), TWICE["nodes"][1]]}
            self.ctl("run", self.graph(graph), "--input", "0=" + self.save("x.npy", x),
                     "--output", "1=" + self.path("y.npy"))
            numpy.testing.assert_array_equal(numpy.load(self.path("y.npy")), 2 * x)

    def test_what_does_not_fit_is_refused(self):
        graph, y = self.graph(TWICE), "1=" + self.path("y.npy")
        fits = numpy.zeros((2, 3), "float32")

        def with_input(array):
            return self.refused("run", graph, "--input", "0=" + self.save("x.npy", array), "--output", y)

        self.assertIn("dtype f8: the graph asks for float32", with_input(fits.astype("float64")))
        self.assertIn("shape [3, 2]: the graph asks for [2, 3]", with_input(fits.reshape(3, 2)))
        self.assertIn("np.ascontiguousarray", with_input(numpy.asfortranarray(fits)))
        self.assertIn("big-endian", with_input(fits.astype(">f4")))
        self.assertIn("no input slot 7: it has 0", self.refused("run", graph, "--input", "7=x.npy", "--output", y))
        self.assertIn("label", self.refused("run", graph, "--output", "total=y.npy"))
        self.assertIn("its last is 1", self.refused("run", graph, "--output", "2=y.npy"))
        self.assertIn("NODE=FILE.npy", self.refused("run", graph, "--output", "y.npy"))
        self.assertIn("input 0 has no buffer", self.refused("run", graph, "--output", y))  # By kilnd.
        self.assertIn("No such file", self.refused("run", self.path("none.json"), "--output", y))
        self.assertIn("not the JSON of", self.refused("run", self.graph({"knots": []}), "--output", y))
        wrong = {"nodes": [TWICE["nodes"][0], {"op": "OP_ADD", "src": [0, 1]}]}
        self.assertIn("node 1", self.refused("run", self.graph(wrong), "--input", "0=" + self.save("x.npy", fits),
                                             "--output", y))
        self.refused("run", graph, code=USAGE)


class Ends(unittest.TestCase):
    def test_drain_waits_until_kilnd_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            kilnd = start_kilnd(folder)
            code, out, err = run("drain", "--deadline=5", "--wait", address=f"unix:{folder}/kiln.sock")
            self.assertEqual((code, out), (0, "drained: kilnd has exited\n"), err)
            self.assertEqual(kilnd.wait(30), 0)
            kilnd.stdout.close()


class Nobody(unittest.TestCase):
    """What it says where no kilnd is: one line, what to do, exit code 3."""

    def says(self, address, code=NOBODY):
        got, out, err = run("stats", address=address)
        self.assertEqual((got, out, err.count("\n")), (code, "", 1), err)
        return err

    def test_at_a_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/kiln.sock"
            self.assertIn(f"kilnd --listen unix:{path}", self.says(f"unix:{path}"))
            with open(f"{folder}/file", "w", encoding="utf-8"):
                self.assertIn("is not a socket", self.says(f"unix:{folder}/file"))
            with socket.socket(socket.AF_UNIX) as left_over:
                left_over.bind(path)
            self.assertIn("left over", self.says(f"unix:{path}"))

    def test_at_a_port(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % unused.getsockname()[1]
            self.assertIn(f"no kilnd at {address}", self.says(address))

    def test_at_what_is_no_address(self):
        self.assertIn("unix:/path", self.says("nonsense", code=FAILED))

    def test_but_a_web_server(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.assertIn("no kilnd", self.says("127.0.0.1:%d" % server.server_port))
        server.shutdown()
        server.server_close()

    def test_but_another_grpc_server(self):
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.assertIn("speaks gRPC, but it is no kilnd", self.says(f"127.0.0.1:{port}"))
        server.stop(None)

    def test_but_something_silent(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.assertIn("no kilnd", self.says("127.0.0.1:%d" % server.getsockname()[1]))

    def test_where_the_environment_says(self):
        with tempfile.TemporaryDirectory() as folder:
            err = run("stats", environment={"XDG_RUNTIME_DIR": folder})[2]
            self.assertTrue(f"{folder}/kiln.sock" in err or "/run/kiln/kiln.sock" in err, err)
            err = run("stats", environment={"XDG_RUNTIME_DIR": folder, "KILN_ADDRESS": f"unix:{folder}/other"})[2]
            self.assertIn(f"{folder}/other", err)


class CommandLine(unittest.TestCase):
    def test_help_teaches(self):
        code, out, _ = run("--help")
        self.assertEqual(code, 0)
        self.assertIn("Examples:", out)
        for command in ("devices stats cache top sessions end drain functions run bench profile").split():
            self.assertIn(f"  {command} ", out)
            code, text, _ = run(command, "--help")
            self.assertEqual(code, 0)
            self.assertGreater(text.count("\n"), 5)

    def test_wrong_ones_end_with_2(self):
        for arguments in ([], ["dance"], ["end"], ["end", "-1"], ["top", "--interval=0"], ["profile"],
                          ["bench", "--bytes=1XB"], ["drain", "--deadline=-1"]):
            code, out, err = run(*arguments)
            self.assertEqual((code, out), (USAGE, ""), arguments)
            self.assertIn("kilnctl", err)
        self.assertIn('no command "dance"', run("dance")[2])

    def test_version(self):
        self.assertRegex(run("--version")[1], r"^kilnctl \d+\.\d+\.\d+\n$")
        version = subprocess.run([KILND, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(version.split()[1], run("--version")[1].split()[1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
