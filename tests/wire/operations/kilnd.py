"""Starting kilnd and talking to it, for the tests of this folder. Imported after the path of the stubs is set."""

import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import grpc
from kiln.v1 import command_pb2, graph_pb2, kiln_pb2

KILND = sys.argv[1]


class Daemon:
    """A kilnd in a folder of its own; killed at the end of the test."""

    def __init__(self, *flags, environment=None, folder=None, wait=True):
        self.folder = folder or tempfile.mkdtemp()
        self.own_folder = folder is None
        self.path = os.path.join(self.folder, "kiln.sock")
        listens = [] if any(f.startswith(("--listen", "--config")) for f in flags) else ["--listen=unix:" + self.path]
        caches = [] if any(f.startswith(("--cache", "--config")) for f in flags) else ["--cache=none", "--blobs=none"]
        self.log = tempfile.TemporaryFile()
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [KILND, *listens, *caches, *flags], stdout=subprocess.PIPE, stderr=self.log, env=environment)
        self.addresses = []
        if wait:
            expected = max(1, sum(f.startswith("--listen") for f in flags))
            for _ in range(expected):
                line = self.process.stdout.readline().decode()
                assert line.startswith("listening on "), (line, self.errors())
                self.addresses.append(line.removeprefix("listening on ").strip())
            self.ready = time.monotonic() - self.started

    def errors(self):
        self.log.seek(0)
        return self.log.read().decode()

    def channel(self, i=0):
        return grpc.insecure_channel(self.addresses[i])

    def stop(self, number=signal.SIGTERM, timeout=30):
        self.process.send_signal(number)
        return self.process.wait(timeout)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def twice():
    """The serialised graph x + x of four floats."""
    graph = graph_pb2.Graph()
    x = graph.nodes.add(op=graph_pb2.OP_INPUT, dtype=graph_pb2.DTYPE_FLOAT32)
    x.input.dims.add(value=4)
    graph.nodes.add(op=graph_pb2.OP_ADD, src=[0, 0])
    return graph.SerializeToString()


def run_twice(kiln, session):
    """Runs it on 1, 2, 3, 4 and returns what comes out."""
    commands = [
        command_pb2.Command(seq=1, buffer_alloc=command_pb2.BufferAlloc(buffer=1, size=16)),
        command_pb2.Command(seq=2, copy_in=command_pb2.CopyIn(buffer=1, data=struct.pack("<4f", 1, 2, 3, 4))),
        command_pb2.Command(seq=3, graph_run=command_pb2.GraphRun(
            graph=twice(), inputs=[command_pb2.Binding(slot=0, buffer=1)],
            outputs=[command_pb2.GraphRun.Output(node=1, buffer=2)])),
        command_pb2.Command(seq=4, copy_out=command_pb2.CopyOut(buffer=2, size=16)),
    ]
    response = kiln.RunBatch(kiln_pb2.RunBatchRequest(session=session, commands=commands), timeout=60)
    for result in response.results:
        assert not result.HasField("status"), result
        if result.HasField("copy_out"):
            return struct.unpack("<4f", result.copy_out.data)
    raise AssertionError(response)
