#!/usr/bin/python3
"""How kilnd behaves as a program: addresses, signals, folders, logs, metrics, flags.

    operations_test.py KILND STUBS [unittest arguments]
"""

import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, sys.argv[2])

import grpc  # noqa: E402
from kiln.v1 import admin_pb2, admin_pb2_grpc, command_pb2, kiln_pb2, kiln_pb2_grpc  # noqa: E402
from kilnd import Daemon, run_twice  # noqa: E402

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


def health(channel):
    call = channel.unary_unary("/grpc.health.v1.Health/Check")
    return call(b"", timeout=10)


class OperationsTest(unittest.TestCase):
    def start(self, *flags, **options):
        daemon = Daemon(*flags, **options)
        self.addCleanup(daemon.close)
        return daemon

    def check_works(self, daemon, i=0):
        with daemon.channel(i) as channel:
            kiln = kiln_pb2_grpc.KilnStub(channel)
            opened = kiln.OpenSession(kiln_pb2.OpenSessionRequest(), timeout=10)
            self.assertEqual(run_twice(kiln, opened.session), (2, 4, 6, 8))
            kiln.CloseSession(opened.session)

    def test_listens_on_several_addresses(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        daemon = self.start(f"--listen=unix:{folder}/a.sock", "--listen=127.0.0.1:0", "--listen=localhost:0")
        for i in range(3):
            self.check_works(daemon, i)
        self.assertRegex(daemon.addresses[1], r"^127\.0\.0\.1:[1-9]\d*$")
        print(f"ready after {1000 * daemon.ready:.0f} ms")

    def test_a_second_daemon_is_told_that_the_place_is_taken(self):
        first = self.start("--listen=127.0.0.1:0")
        second = self.start("--listen=" + first.addresses[0], wait=False)
        self.assertEqual(second.process.wait(30), 1)
        self.assertIn("can't listen on " + first.addresses[0], second.errors())
        third = self.start()
        fourth = self.start(folder=third.folder, wait=False)
        self.assertEqual(fourth.process.wait(30), 1)
        self.assertIn("another kilnd listens on unix:", fourth.errors())
        self.check_works(third)

    def test_takes_over_a_socket_whose_daemon_was_killed(self):
        first = self.start()
        first.stop(signal.SIGKILL)
        self.assertTrue(os.path.exists(first.path))
        self.check_works(self.start(folder=first.folder))

    def test_other_machines_need_insecure(self):
        refused = self.start("--listen=0.0.0.0:0", wait=False)
        self.assertEqual(refused.process.wait(30), 1)
        self.assertIn("--insecure", refused.errors())
        allowed = self.start("--listen=0.0.0.0:0", "--insecure")
        port = allowed.addresses[0].split(":")[1]
        allowed.addresses = ["127.0.0.1:" + port]
        self.check_works(allowed)

    def test_terminates_at_once_without_sessions(self):
        daemon = self.start()
        began = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        self.assertLess(time.monotonic() - began, 5)
        self.assertFalse(os.path.exists(daemon.path))

    def test_drains(self):
        daemon = self.start("--drain-seconds=60")
        with daemon.channel() as channel:
            kiln = kiln_pb2_grpc.KilnStub(channel)
            opened = kiln.OpenSession(kiln_pb2.OpenSessionRequest(), timeout=10)
            self.assertEqual(health(channel), SERVING)
            daemon.process.send_signal(signal.SIGTERM)
            while health(channel) == SERVING:
                time.sleep(0.01)
            self.assertEqual(health(channel), NOT_SERVING)
            with self.assertRaises(grpc.RpcError) as refused:
                kiln.OpenSession(kiln_pb2.OpenSessionRequest(), timeout=10)
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE)
            # The session that was there goes on, and when it closes all is over.
            self.assertEqual(run_twice(kiln, opened.session), (2, 4, 6, 8))
            kiln.CloseSession(opened.session)
            self.assertEqual(daemon.process.wait(30), 0)

    def test_draining_ends_at_the_deadline(self):
        daemon = self.start("--drain-seconds=0.3")
        with daemon.channel() as channel:
            kiln_pb2_grpc.KilnStub(channel).OpenSession(kiln_pb2.OpenSessionRequest(), timeout=10)
            self.assertEqual(daemon.stop(), 0)
        self.assertIn("sessions_ended=1", daemon.errors())

    def test_an_operator_drains(self):
        daemon = self.start()
        with daemon.channel() as channel:
            admin_pb2_grpc.AdminStub(channel).Drain(admin_pb2.DrainRequest(deadline_ms=100), timeout=10)
            self.assertEqual(daemon.process.wait(30), 0)

    def test_needs_no_home_and_no_writable_folder(self):
        daemon = self.start("--cache=/proc/none/kernels", "--blobs=/proc/none/blobs", environment={})
        self.check_works(daemon)
        self.assertIn("compiled kernels are not kept", daemon.errors())
        self.assertIn("blobs are not kept", daemon.errors())
        self.check_works(self.start(environment={}))

    def test_keeps_kernels_for_the_next_daemon(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        for compiled in (1, 0):
            daemon = self.start("--cache=" + folder, "--blobs=none")
            self.check_works(daemon)
            with daemon.channel() as channel:
                stats = admin_pb2_grpc.AdminStub(channel).GetStats(admin_pb2.GetStatsRequest(), timeout=10)
            self.assertEqual(stats.kernels_compiled, compiled)
            self.assertEqual(stats.kernel_disk_hits, 1 - compiled)

    def test_logs_tell_no_secrets_and_cannot_be_forged(self):
        daemon = self.start("--log-level=debug")
        with daemon.channel() as channel:
            kiln = kiln_pb2_grpc.KilnStub(channel)
            name = 'x"\n2026-01-01T00:00:00.000Z error forged a=b'
            session = kiln.OpenSession(kiln_pb2.OpenSessionRequest(client_name=name), timeout=10).session
            run_twice(kiln, session)
            share = command_pb2.Share(buffer=1, mode=command_pb2.SHARE_MODE_READ_ONLY)
            response = kiln.RunBatch(kiln_pb2.RunBatchRequest(session=session, commands=[
                command_pb2.Command(seq=10, share=share),
                command_pb2.Command(seq=11, attach=command_pb2.Attach(buffer=9, ticket="nonsense"))]))
            ticket = response.results[0].share.ticket
            kiln.CloseSession(session)
        daemon.stop()
        log = daemon.errors()
        self.assertIn("session opened", log)
        self.assertIn("command failed", log)
        for line in log.splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info|warning|error) (?!forged)")
        self.assertNotIn(ticket, log)
        self.assertNotIn("nonsense", log)
        self.assertNotIn(session.token.hex(), log)

    def test_wrong_tokens_and_unknown_sessions_look_alike(self):
        daemon = self.start()
        with daemon.channel() as channel:
            kiln = kiln_pb2_grpc.KilnStub(channel)
            session = kiln.OpenSession(kiln_pb2.OpenSessionRequest(), timeout=10).session
            told = set()
            for wrong in (kiln_pb2.SessionRef(id=session.id, token=b"x" * 32),
                          kiln_pb2.SessionRef(id=session.id),
                          kiln_pb2.SessionRef(id=session.id + 1, token=session.token)):
                with self.assertRaises(grpc.RpcError) as error:
                    kiln.KeepAlive(wrong, timeout=10)
                told.add((error.exception.code(), error.exception.details()))
            self.assertEqual(len(told), 1)
            self.assertEqual(told.pop()[0], grpc.StatusCode.NOT_FOUND)

    def test_metrics(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % s.getsockname()[1]
        daemon = self.start("--metrics=" + address)
        self.check_works(daemon)
        text = urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()
        for name, value in (('kiln_command_run_seconds_count{command="GraphRun"}', 1),
                            ('kiln_command_queue_seconds_count{command="CopyIn"}', 1),
                            ('kiln_transfer_bytes_total{direction="in"}', 16),
                            ('kiln_graphs_total{cache="miss"}', 1),
                            ("kiln_kernels_compiled_total", 1)):
            found = re.search("^" + re.escape(name) + r" (\S+)$", text, re.M)
            self.assertIsNotNone(found, name)
            self.assertEqual(float(found.group(1)), value, name)
        taken = self.start("--metrics=" + address, wait=False)
        self.assertEqual(taken.process.wait(30), 1)
        self.assertIn(address, taken.errors())

    def test_reflection_lists_the_services(self):
        daemon = self.start()
        with daemon.channel() as channel:
            call = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
            answer = next(call(iter([b"\x3a\x00"]), timeout=10))  # list_services
            for service in (b"kiln.v1.Kiln", b"kiln.v1.Admin", b"grpc.health.v1.Health"):
                self.assertIn(service, answer)

    def test_tells_the_service_manager(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(folder + "/notify")
            s.settimeout(30)
            daemon = self.start(environment={"NOTIFY_SOCKET": folder + "/notify"})
            self.assertEqual(s.recv(100), b"READY=1")
            daemon.stop()
            self.assertEqual(s.recv(100), b"STOPPING=1")

    def test_config_file(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        with open("deploy/kilnd.example.toml", encoding="utf-8") as file:
            text = file.read()
        text = text.replace("/run/kiln", folder).replace("/var/", folder + "/")
        text = text.replace("127.0.0.1:7474", "127.0.0.1:0").replace("127.0.0.1:9474", "127.0.0.1:0")
        config = folder + "/kilnd.toml"
        with open(config, "w", encoding="utf-8") as file:
            file.write(text)
        daemon = self.start("--config=" + config, "--lease-seconds=7")
        with daemon.channel() as channel:
            info = kiln_pb2_grpc.KilnStub(channel).GetServerInfo(kiln_pb2.GetServerInfoRequest(), timeout=10)
        self.assertEqual(info.limits.lease_ms, 7000)  # A flag goes first.
        self.assertEqual(info.limits.max_session_bytes, 8 << 30)
        self.assertEqual(info.devices[0].memory_bytes, 16 << 30)
        with open(config, "a", encoding="utf-8") as file:
            file.write("\nmax-bufers = 3\n")
        wrong = self.start("--config=" + config, wait=False)
        self.assertEqual(wrong.process.wait(30), 2)
        self.assertIn("max-bufers", wrong.errors())

    def test_wrong_flags_are_named(self):
        for flag in ("--lissen=x", "--lease-seconds=0", "--max-session-bytes=many", "--cpu-devices=0"):
            daemon = self.start("--listen=unix:/none", flag, wait=False)
            self.assertEqual(daemon.process.wait(30), 2, flag)
            self.assertIn(flag.split("=")[0].strip("-"), daemon.errors())
        for listen, part in (("7474", "neither unix:/path nor host:port"), ("unix:/none/kiln.sock", "/none/")):
            daemon = self.start("--listen=" + listen, wait=False)
            self.assertEqual(daemon.process.wait(30), 1, listen)
            self.assertIn(part, daemon.errors())

    def test_unknown_commands_are_unimplemented(self):
        daemon = self.start()
        with daemon.channel() as channel:
            kiln = kiln_pb2_grpc.KilnStub(channel)
            session = kiln.OpenSession(kiln_pb2.OpenSessionRequest(), timeout=10).session
            from_the_future = command_pb2.Command(seq=3)
            from_the_future.MergeFromString(b"\x9a\x3f\x00")  # Field 1011, of a later version.
            response = kiln.RunBatch(kiln_pb2.RunBatchRequest(session=session, commands=[
                command_pb2.Command(seq=1, program_load=command_pb2.ProgramLoad(program=1)),
                command_pb2.Command(seq=2, graph_capture=command_pb2.GraphCapture(graph=1)),
                from_the_future,
                command_pb2.Command(seq=4, sync=command_pb2.Sync())]))
            codes = [r.status.code for r in response.results]
            self.assertEqual(codes, [12, 12, 12, 0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
