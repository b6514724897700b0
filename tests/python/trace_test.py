"""Recordings of a pipeline: `spdlctl trace`, the topic behind it, and who may note what."""
import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import spdld
from case import BATCH, PROGRAM, DaemonCase, RestartedDaemon, make_pictures, spec_of, until

CTL = os.environ.get("SPDLD_CTL", "")
STRANGER = 65533
FIELDS = ("kind", "thread", "start_ns", "duration_ns", "batch", "index", "sample", "value", "failed")


class Trained(DaemonCase):
    """A pipeline that is trained on while a test lasts; nothing of it is kept, so that each sample is fetched."""

    def setUp(self):
        loader = self.attach(self.spec(cache="off", order={"epochs": 0}))
        over = threading.Event()

        def train():
            while not over.is_set():
                for batch in loader:
                    del batch
                    if over.is_set():
                        break

        trainer = threading.Thread(target=train)
        trainer.start()
        self.addCleanup(trainer.join)
        self.addCleanup(over.set)
        until(lambda: self.ring()["batches"] > 0, "a batch")

    def ask(self, words, topic="trace"):
        return spdld.query(topic, words, socket=self.daemon.socket)

    def counts(self):
        """Of describe: samples fetched and decoded, and batches."""
        document = self.ask("small", "describe")
        stages = {stage["name"]: stage["samples"] for stage in document["stages"]}
        return {**stages, "ready": sum(ring["batches"] for ring in document["rings"])}

    def take(self, number):
        """The last part of a recording, and all of its notes."""
        notes, part = [], {"next": 0, "notes": 1}
        while part["next"] < part["notes"]:
            part = self.ask(f"small take {number} {part['next']}")
            notes += [dict(zip(FIELDS, map(int, line.split()))) for line in part["lines"].splitlines()]
        self.assertEqual(len(notes), part["notes"])
        return part, notes

    def ctl(self, *words):
        return subprocess.Popen([CTL, "--socket", str(self.daemon.socket), "trace", *map(str, words)], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "250"})

    def trace(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace.json"
            with self.ctl("small", file, *words) as process:
                output, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, errors), (0, ""), output)
            self.assertEqual(os.listdir(folder), ["trace.json"])
            return output, json.loads(file.read_text())


class Recordings(Trained):
    def test_counts_agree_with_describe(self):
        before = self.counts()
        number = self.ask("small start 60")["recording"]
        begun = self.counts()
        until(lambda: self.counts()["ready"] > begun["ready"] + 100, "a hundred batches")
        ending = self.counts()
        part, notes = self.take(number)
        after = self.counts()
        self.assertEqual(part["dropped"], 0)
        self.assertEqual(part["pipeline"], "small")
        self.assertEqual(part["pid"], self.daemon.process.pid)
        found = collections.Counter(part["kinds"][note["kind"]]["name"] for note in notes)
        under_way = 2 * len(part["threads"]) + self.ring()["slots"] * BATCH  # what had begun when the recording did
        for kind in ("fetch", "decode", "ready"):
            self.assertLessEqual(found[kind], after[kind] - before[kind], kind)
            self.assertGreaterEqual(found[kind], ending[kind] - begun[kind] - under_way, kind)
        self.assertFalse(any(note["failed"] for note in notes))
        fetched = [note for note in notes if part["kinds"][note["kind"]]["name"] == "fetch"]
        sizes = {path.stat().st_size for path in self.pictures.rglob("*.jpg")}
        self.assertLessEqual({note["value"] for note in fetched}, sizes)
        self.assertGreater(found["slots-free"], 1)
        with self.assertRaises(spdld.NotFoundError):  # with the last part it is gone
            self.ask(f"small take {number} 0")

    def test_file(self):
        output, document = self.trace("--seconds", 1)
        self.assertIn("batches made", output)
        events, other = document["traceEvents"], document["otherData"]
        self.assertEqual((other["pipeline"], other["dropped"]), ("small", 0))
        self.assertAlmostEqual(other["seconds"], 1, delta=0.5)
        names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        intervals = [event for event in events if event["ph"] == "X"]
        for what, threads in (("decode", ("decode-",)), ("fetch", ("decode-", "fetch-")), ("publish", ("decode-",)),
                              ("READY", ("control",)), ("RELEASE", ("control",))):
            homes = {names[interval["tid"]] for interval in intervals if interval["name"] == what}
            self.assertTrue(homes, what)
            self.assertTrue(all(home.startswith(threads) for home in homes), (what, homes))
        by_thread = collections.defaultdict(list)
        for interval in intervals:
            self.assertGreaterEqual(interval["ts"], 0)
            by_thread[interval["tid"]].append((interval["ts"], interval["ts"] + interval["dur"], interval["name"]))
        for thread, own in by_thread.items():
            for (_, end, one), (start, _, other_one) in zip(sorted(own), sorted(own)[1:]):
                self.assertLessEqual(end, start, (names[thread], one, other_one))
        counters = {event["name"] for event in events if event["ph"] == "C"}
        self.assertLessEqual({"samples at fetch", "samples at decode", "bytes in flight",
                              f"slots of group {self.id()}, rank 0"}, counters)
        slots = self.ring()["slots"]
        for event in events:
            if event["ph"] == "C" and event["name"].startswith("slots of"):
                self.assertEqual(sum(event["args"].values()), slots)

    def test_flows(self):
        _, document = self.trace("--seconds", 1)
        events = document["traceEvents"]
        intervals = {(event["tid"], event["ts"]): event for event in events if event["ph"] == "X"}
        flows = collections.defaultdict(list)
        for event in events:
            if event["ph"] in "stf":
                flows[event["name"], event["id"]].append((event["ts"], event["ph"], intervals[event["tid"], event["ts"]]))
        ways = {"sample": collections.Counter(), "batch": collections.Counter()}
        for (name, _), stops in flows.items():
            stops.sort(key=lambda stop: stop[0])
            self.assertEqual([phase for _, phase, _ in stops], ["s", *"t" * (len(stops) - 2), "f"])
            self.assertEqual(len({interval["args"]["batch"] for _, _, interval in stops}), 1)
            ways[name][tuple(interval["name"] for _, _, interval in stops)] += 1
        named = collections.Counter(interval["name"] for interval in intervals.values())
        whole = ways["batch"]["publish", "READY", "RELEASE"]
        # Each edge of the recording cuts the ways of as many batches as the ring has slots.
        self.assertLessEqual(named["READY"] - whole, 2 * self.ring()["slots"])
        self.assertEqual(sum(count for way, count in ways["batch"].items() if "READY" in way), named["READY"])
        self.assertGreater(whole, 10)
        whole = ways["sample"]["fetch", "decode", "publish"]
        self.assertLessEqual(named["decode"] - whole, 2 * (self.ring()["slots"] + 1) * BATCH)
        self.assertGreater(whole, 10 * BATCH)

    def test_ctrl_c_ends_it_early_and_keeps_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace.json"
            with self.ctl("small", file, "--seconds", 60) as process:
                until(lambda: os.listdir(folder), "the file that is being written")
                process.send_signal(signal.SIGINT)
                output, errors = process.communicate(timeout=30)
            self.assertEqual((process.returncode, errors), (0, ""), output)
            self.assertLess(json.loads(file.read_text())["otherData"]["seconds"], 30)

    def test_as_json(self):
        output, document = self.trace("--seconds", "0.1", "-o", "json")
        said = json.loads(output)
        self.assertEqual(said["events"], len(document["traceEvents"]))
        self.assertEqual((said["pipeline"], said["dropped"]), ("small", 0))


class Hostile(Trained):
    def refused(self, words, why):
        with self.assertRaises(spdld.Error) as caught:
            self.ask(words)
        self.assertIn(why, str(caught.exception))

    def test_wrong_words(self):
        for words in ("small", "small start", "small start 0", "small start 0.05", "small start 60.1", "small start -1",
                      "small start nan", "small start inf", "small start 1e9", "small start 5 5", "small stop 1",
                      "small take", "small take 1", "small take x 0", "small take 1 -1", "small take 1 0 0", ""):
            self.refused(words, "\"trace\" takes")
        self.refused("other start 1", "no pipeline 'other' is open here")
        self.refused("small take 999 0", "there is no recording 999 of pipeline 'small'")

    def test_one_at_a_time(self):
        number = self.ask("small start 60")["recording"]
        self.refused("small start 1", "one recording at a time")
        self.refused(f"other take {number} 0", "there is no recording")
        self.refused(f"small take {number} 99999999999", "notes")
        self.take(number)
        self.take(self.ask("small start 60")["recording"])

    def test_a_killed_client_frees_the_recorder(self):
        with self.script(f"""
                spdld.query("trace", "small start 60", socket={str(self.daemon.socket)!r})
                print("begun", flush=True)
                sys.stdin.read()
                """) as process:
            self.assertEqual(process.stdout.readline(), "begun\n")
            self.refused("small start 1", "one recording at a time")
            process.kill()
            process.communicate()
        self.take(self.await_start())

    def test_records_that_nobody_takes_are_given_up(self):
        number = self.ask("small start 0.1")["recording"]
        after = self.await_start(30)
        self.refused(f"small take {number} 0", "there is no recording")
        self.take(after)

    def await_start(self, wait_s=20):
        """The number of a recording that begins as soon as there is none."""
        begun = []

        def begins():
            try:
                begun.append(self.ask("small start 60")["recording"])
            except spdld.LimitError:
                return False
            return True

        until(begins, "a recording begins", wait_s)
        return begun[0]

    def test_the_daemon_lets_go_of_the_memory(self):
        def resident():
            status = Path(f"/proc/{self.daemon.process.pid}/status").read_text()
            return int(next(line for line in status.splitlines() if line.startswith("VmSize")).split()[1]) >> 10

        before = resident()
        number = self.ask("small start 60")["recording"]
        self.assertGreater(resident(), before + 60)
        self.take(number)
        until(lambda: resident() < before + 30, "the memory is given back")

    def test_strangers(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be somebody else")
        with tempfile.TemporaryDirectory(prefix="spdld-python-") as folder:
            make_pictures(Path(folder) / "pictures")
            daemon = RestartedDaemon(PROGRAM, '[socket]\nmode = "0666"\n')
            self.addCleanup(daemon.close)
            os.chmod(daemon.folder, 0o755)
            loader = spdld.attach(spec_of(Path(folder) / "pictures"), socket=daemon.socket, group="own", framework="numpy")
            self.addCleanup(loader.close)
            number = spdld.query("trace", "small start 60", socket=daemon.socket)["recording"]
            output = self.run_script("""
                os.setgroups([])
                os.setgid(int(sys.argv[2]))
                os.setuid(int(sys.argv[2]))
                for words in ("small start 1", "small take %s 0" % sys.argv[3]):
                    try:
                        print(spdld.query("trace", words, socket=sys.argv[1]))
                    except spdld.NotFoundError as error:
                        print(error)
                """, daemon.socket, STRANGER, number)
            self.assertEqual(output.splitlines()[0], "no pipeline 'small' is open here: see spdlctl ls")
            self.assertIn(f"there is no recording {number} of pipeline 'small'", output.splitlines()[1])
            part = spdld.query("trace", f"small take {number} 0", socket=daemon.socket)
            self.assertEqual(part["next"], part["notes"])


if __name__ == "__main__":
    sys.exit(unittest.main())
