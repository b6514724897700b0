#!/usr/bin/env python3
"""Daemons and trainers that end, or are killed, while a store does not answer."""
import json
import signal
import subprocess
import sys
import threading

from remote_case import ENDED_WITHIN_S, StoreCase, picture_spec, until  # first: it makes the others known

import cases
import corpus

import spdld

TRAINER = """
import json, sys
import spdld
loader = spdld.attach(json.loads(sys.argv[1]), socket=sys.argv[2], framework="numpy", group="trainer", timeout=30)
print("attached", flush=True)
for batch in loader:
    print(batch.step, flush=True)
"""
HANG = {"kind": "hang", "match": "GET /data/set/pictures/"}


class Deaths(StoreCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        corpus.Corpus(cls.folder / "set", of_each=40, shard_samples=60).upload(cls.client, "set/")

    def spec(self, **changes):
        return picture_spec("s3://data/set/pictures", cache="off", **changes)

    def trainer(self, daemon):
        process = subprocess.Popen([sys.executable, "-c", TRAINER, json.dumps(self.spec()), daemon.socket],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "attached\n")
        return process

    def test_sigterm_while_reads_hang(self):
        daemon = self.daemon()
        self.proxy.set(HANG)
        self.attach(daemon, self.spec(), reconnect=0)
        until(lambda: self.proxy.counts()["faults"].get("hang", 0) > 10, "reads hang")
        code, seconds = daemon.end()
        self.assertEqual(code, 0)
        self.assertLess(seconds, ENDED_WITHIN_S)
        until(lambda: self.proxy.counts()["in_flight"] == 0, "the connections are closed")

    def test_sigterm_while_a_listing_hangs(self):
        daemon = self.daemon()
        self.proxy.set({"kind": "hang"})

        def attach():
            try:
                self.attach(daemon, self.spec(), reconnect=0)
            except Exception as error:
                failed.append(error)

        failed, thread = [], threading.Thread(target=attach)
        thread.start()
        until(lambda: self.proxy.counts()["faults"].get("hang", 0) > 0, "the listing hangs")
        code, seconds = daemon.end()
        thread.join()
        self.assertEqual((code, len(failed)), (0, 1))
        self.assertLess(seconds, ENDED_WITHIN_S)
        self.assertIsInstance(failed[0], spdld.Error)

    def test_a_killed_trainer_leaves_nothing(self):
        daemon = self.daemon()
        self.proxy.set(HANG)
        trainer = self.trainer(daemon)
        until(lambda: daemon.status()["stores"][0]["under_way"] > 10, "reads hang")
        trainer.send_signal(signal.SIGKILL)
        trainer.wait()
        until(lambda: daemon.status()["stores"][0]["under_way"] == 0, "the reads are given up", 5)
        status = daemon.status()
        self.assertEqual([session for session in status["sessions"] if session["attachments"]], [])
        until(lambda: daemon.status()["memory"]["inflight_bytes"] == 0, "the samples are let go", 5)
        self.assertEqual(daemon.describe("pictures")["rings"], [])
        until(lambda: self.proxy.counts()["in_flight"] == 0, "the connections are closed", 5)
        self.proxy.set()
        self.assertEqual(len(self.read(daemon, self.spec())), 30)

    def test_a_daemon_that_is_killed_and_starts_again(self):
        daemon = self.daemon()
        with self.attach(daemon, self.spec(epochs=2, seed=3), group="undisturbed") as loader:
            expected = [(batch["sample_id"].tolist(), batch["image"].tobytes()) for _ in range(2) for batch in loader]
        self.proxy.set({"kind": "delay", "ms": 20})
        loader, seen = self.attach(daemon, self.spec(epochs=2, seed=3), reconnect=30), []
        for kill_at in (7, 31, 32, None):
            for batch in loader:
                seen.append((batch["sample_id"].tolist(), batch["image"].tobytes()))
                if len(seen) == kill_at:
                    break
            if kill_at is not None:
                daemon.kill()
                daemon.start()
            if kill_at is None and len(seen) < len(expected):
                seen += [(batch["sample_id"].tolist(), batch["image"].tobytes()) for batch in loader]
        self.assertEqual([ids for ids, _ in seen], [ids for ids, _ in expected])
        self.assertEqual(seen, expected)


if __name__ == "__main__":
    cases.main()
