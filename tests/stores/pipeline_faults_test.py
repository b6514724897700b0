#!/usr/bin/env python3
"""A pipeline over a store that fails: every sample comes once, with its own pixels, and nothing takes its place.

SPDLD_FAULT_SAMPLES is the number of pictures (500), SPDLD_OUTAGE_S the seconds of the outage (2).
"""
import base64
import os
import random
import threading
import time

import remote_case  # first: it makes the folders of the others known
from remote_case import REFUSED_WITHIN_S, StoreCase, digests, picture_spec, store_table, until

import cases
import children
import spdld
from PIL import Image

SAMPLES = int(os.environ.get("SPDLD_FAULT_SAMPLES", 500))
OUTAGE_S = float(os.environ.get("SPDLD_OUTAGE_S", 2))
SHARE = 0.05
BATCH = 20
ATTEMPT_MS = 600  # a reply that hangs or trickles is asked for again after that
FAULTS = {
    "delays with a heavy tail": {"kind": "delay", "ms": 20, "tail": 1.1, "max_ms": 3000},
    "a reset before the head": {"kind": "reset", "at": "head"},
    "a reset in the body": {"kind": "reset", "at": 0.4},
    "503": {"kind": "status", "status": 503},
    "500": {"kind": "status", "status": 500},
    "429 with Retry-After": {"kind": "status", "status": 429, "retry_after": 1},
    "short bodies": {"kind": "short"},
    "trickles": {"kind": "trickle", "bytes_per_s": 100},
    "replies that stop in the body": {"kind": "stall"},
    "replies that never come": {"kind": "hang"},
}


def crc32c(body):
    """CRC-32C (Castagnoli), as the header x-amz-checksum-crc32c has it."""
    crc = 0xFFFFFFFF
    for byte in body:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return base64.b64encode((crc ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()


def _crc_table():
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


CRC_TABLE = _crc_table()


class Faults(StoreCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pictures, draw = cls.folder / "many", random.Random(5)
        for label in range(4):
            (cls.pictures / f"c{label}").mkdir(parents=True)
        paths = [f"c{number % 4}/{number:06d}.jpg" for number in range(SAMPLES)]
        for path in paths:
            Image.frombytes("RGB", (3, 3), draw.randbytes(27)).resize((24, 24), Image.BICUBIC).save(cls.pictures / path)
        cls.weed.load("data", ((f"many/{path}", (cls.pictures / path).read_bytes()) for path in paths))
        local = remote_case.StoreDaemon()
        with spdld.attach(picture_spec(cls.pictures, batch=BATCH), socket=str(local.socket), framework="numpy") as loader:
            cls.expected = digests(loader)
        local.close()
        assert sorted(number for number, _ in cls.expected) == list(range(SAMPLES))

    def spec(self, **changes):
        return picture_spec("s3://data/many", batch=BATCH, cache="off", **changes)

    def assert_all_came(self, daemon, loader, wait_s):
        """Reads the epoch, in bounded time; the samples are the expected ones in their order."""
        began = time.monotonic()
        found = digests(loader)
        self.assertEqual(found, self.expected)
        self.assertLess(time.monotonic() - began, wait_s)
        bad = daemon.describe("pictures")["bad"]
        self.assertEqual((bad["substituted"], bad["masked"]), (0, 0))

    def test_each_fault_at_a_share_of_all_requests(self):
        daemon = self.daemon(attempt_ms_max=ATTEMPT_MS)
        for name, fault in FAULTS.items():
            with self.subTest(fault=name):
                self.proxy.set({**fault, "probability": SHARE})
                self.proxy.counts(forget=True)
                began = time.monotonic()
                loader = self.attach(daemon, self.spec(), group=name)
                self.assert_all_came(daemon, loader, 20 + SAMPLES / 50)
                loader.close()
                counts = self.proxy.counts()
                print(f"\n  {name}: {SAMPLES} samples, {counts['faults'].get(fault['kind'], 0)} faults in {counts['requests']} "
                      "requests, "
                      f"{time.monotonic() - began:.1f} s", end="", flush=True)
                self.assertGreater(counts["faults"].get(fault["kind"], 0), SAMPLES * SHARE / 3)
        print(flush=True)

    def test_refused_connections(self):
        """Connections are refused and reset again and again, for a twentieth of the time and longer."""
        daemon, done = self.daemon(), threading.Event()

        def refuse():
            while not done.wait(0.4):
                self.proxy.refuse(0.1)

        loader = self.attach(daemon, self.spec())
        thread = threading.Thread(target=refuse)
        thread.start()
        try:
            self.assert_all_came(daemon, loader, 20 + SAMPLES / 50)
        finally:
            done.set()
            thread.join()

    def test_a_flipped_bit_is_seen_where_the_store_tells_a_checksum(self):
        """A bit that is flipped on the way can't be seen where the store tells no checksum: TCP's own and that of TLS are all
        there is then. Here the store tells the CRC-32C of each object."""
        paths = sorted(self.pictures.rglob("*.jpg"))[:200]
        for path in paths:
            body = path.read_bytes()
            self.client.put(f"checked/{path.relative_to(self.pictures)}", body, {"x-amz-checksum-crc32c": crc32c(body)})
        answer = self.client.get(f"checked/{paths[0].relative_to(self.pictures)}", {"x-amz-checksum-mode": "ENABLED"})
        self.assertIn("x-amz-checksum-crc32c", answer.headers)
        daemon = self.daemon()
        spec = picture_spec("s3://data/checked", cache="off")
        with self.attach(daemon, spec, group="sound") as loader:
            expected = digests(loader)
        self.proxy.set({"kind": "flip", "probability": 4 * SHARE, "match": "GET /data/checked/c"})
        with self.attach(daemon, spec, group="flipped") as loader:
            self.assertEqual(digests(loader), expected)
        self.assertGreater(self.proxy.counts()["faults"]["flip"], 20)
        self.assertIn("checksum", daemon.status()["stores"][0]["last_trouble"])

    def test_an_outage_is_shown_and_waited_out(self):
        daemon = self.daemon(attempts_max=2)
        loader = self.attach(daemon, self.spec())
        found = [self.one(loader) for _ in range(3)]
        self.proxy.set({"kind": "status", "status": 503})
        ends = time.monotonic() + OUTAGE_S
        rest, failed = [], []

        def read_on():
            try:
                rest.extend(digests(loader))
            except Exception as error:
                failed.append(error)

        reader = threading.Thread(target=read_on)
        reader.start()
        state = until(lambda: (shown := daemon.state("pictures"))[0] == "degraded" and shown, "the pipeline is degraded",
                      OUTAGE_S)
        self.assertIn("wait for the source", state[1])
        store = until(lambda: (shown := daemon.status()["stores"][0])["failing_s"] > 0 and shown, "the store fails", OUTAGE_S)
        self.assertIn("503", store["last_trouble"])
        self.assertIn("degraded", daemon.ctl("describe", "pictures"))
        self.assertIn("degraded", daemon.ctl("status"))
        time.sleep(max(0, ends - time.monotonic()))
        self.assertTrue(reader.is_alive())
        self.assertEqual(daemon.state("pictures")[0], "degraded")
        self.proxy.set()
        began = time.monotonic()
        reader.join(30)
        self.assertFalse(reader.is_alive() or failed, failed)
        print(f"\n  an outage of {OUTAGE_S:g} s: the rest came {time.monotonic() - began:.2f} s after its end", flush=True)
        self.assertEqual([pair for batch in found for pair in batch] + rest, self.expected)
        self.assertEqual(daemon.describe("pictures")["bad"]["substituted"], 0)
        self.assertEqual(daemon.status()["stores"][0]["failing_s"], 0)

    def one(self, loader):
        class Once:
            def __iter__(self):
                yield loader.next()

        return digests(Once())

    def test_an_outage_at_attach_is_a_sentence_in_bounded_time(self):
        for kind, fault in (("503", {"kind": "status", "status": 503}), ("no reply", {"kind": "hang"})):
            with self.subTest(kind=kind):
                daemon = self.daemon(attempts_max=3, attempt_ms_max=500, total_ms_max=3000)
                self.proxy.set(fault)
                began = time.monotonic()
                with self.assertRaises(spdld.Error) as caught:
                    self.attach(daemon, self.spec())
                self.assertLess(time.monotonic() - began, REFUSED_WITHIN_S)
                self.assertRegex(str(caught.exception), "s3://data/")
                self.assertIn("3 attempts", str(caught.exception))
                self.proxy.set()
                with self.attach(daemon, self.spec()) as loader:
                    self.assertEqual(loader.info.samples, SAMPLES)
        closed = f"http://127.0.0.1:{children.free_ports(1)[0]}"
        daemon = self.daemon(store_table("s3://data", endpoint=closed, attempts_max=3))
        with self.assertRaisesRegex(spdld.Error, "s3://data/many.*refused|s3://data/many.*connect"):
            self.attach(daemon, self.spec())


if __name__ == "__main__":
    cases.main()
