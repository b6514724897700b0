"""Daemons that go away and come back, and private ones that come and go with their users."""
import os
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

import spdld
from case import PROGRAM, SAMPLES, STEPS, DaemonCase, make_pictures, until


class Outage(DaemonCase):
    def test_a_daemon_that_stays_away(self):
        loader = self.attach(reconnect=1)
        kept = loader.next()["image"]
        before = kept.copy()
        self.daemon.kill()
        try:
            begin = time.monotonic()
            with self.assertRaises(spdld.NoDaemonError):
                for _ in range(2 * STEPS):
                    loader.next()
            self.assertLess(time.monotonic() - begin, 4)
            np.testing.assert_array_equal(kept, before)
            with self.assertRaises(spdld.NoDaemonError):
                self.attach(private=False, group="late", reconnect=0)
        finally:
            self.daemon.start_again()

    def test_a_daemon_that_comes_back(self):
        with self.attach() as undisturbed:
            expected = [batch["sample_id"].tolist() for _ in range(2) for batch in undisturbed]
        loader = self.attach(reconnect=20)
        seen, kept = [], []
        for kill_at in (3, 4, STEPS, None):
            for batch in loader:
                seen.append(batch["sample_id"].tolist())
                if len(seen) == 2:
                    kept = [batch["image"], batch["image"].copy()]
                if len(seen) == kill_at:
                    break
            if kill_at is not None:
                self.daemon.kill()
                self.daemon.start_again()
        self.assertEqual(seen, expected)
        np.testing.assert_array_equal(*kept)


def has_ended(pid):
    """Also of a process that nobody has waited for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class PrivateDaemon(unittest.TestCase):
    def setUp(self):
        if Path("/run/spdld/spdld.sock").exists():
            self.skipTest("a system's daemon runs here, and is taken before a private one")
        folder = tempfile.TemporaryDirectory(prefix="spdld-private-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.run_folder = self.folder / "run"
        self.run_folder.mkdir(mode=0o700)
        self.socket = self.run_folder / f"spdld-{os.getuid()}" / "private.sock"
        # The daemon as its users start it, with a shorter linger.
        program = self.folder / "spdld"
        program.write_text(f'#!/bin/sh\necho started >>"{self.folder}/starts"\nexec "{PROGRAM}" "$@" --linger-ms 3000\n')
        program.chmod(0o755)
        self.environment = {name: value for name, value in os.environ.items() if name != "SPDLD_SOCKET"}
        self.environment.update(SPDLD_DAEMON=str(program), XDG_RUNTIME_DIR=str(self.run_folder))

    def test_two_ranks_start_one_and_it_ends_after_them(self):
        case = DaemonCase()
        case.pictures, case.daemon = self.folder / "pictures", self
        make_pictures(case.pictures)
        ranks = [case.script("""
            rank = int(sys.argv[1])
            loader = attach(socket=None, rank=rank, world_size=2, group="job", framework="numpy")
            ids = [int(i) for batch in loader for i in batch["sample_id"]]
            print(spdld.query("ping")["pid"], *ids)
            """, rank, env=self.environment) for rank in range(2)]
        answers = []
        for rank in ranks:
            with rank:
                output, errors = rank.communicate(timeout=60)
            self.assertEqual((rank.returncode, errors), (0, ""))
            answers.append([int(word) for word in output.split()])
        self.assertEqual(answers[0][0], answers[1][0])
        self.assertEqual(sorted(answers[0][1:] + answers[1][1:]), list(range(SAMPLES)))
        self.assertEqual((self.folder / "starts").read_text(), "started\n")
        until(lambda: has_ended(answers[0][0]), "the private daemon ends after its linger")

    def test_the_places_looked_at_are_told(self):
        case = DaemonCase()
        case.pictures, case.daemon = self.folder, self
        environment = {**self.environment, "PATH": str(self.folder / "nothing")}
        del environment["SPDLD_DAEMON"]
        process = case.script("""
            try:
                attach(socket=None)
            except spdld.NoDaemonError as error:
                print(error)
            """, env=environment)
        with process:
            output, errors = process.communicate(timeout=30)
        self.assertEqual((process.returncode, errors), (0, ""))
        package = os.path.dirname(os.path.abspath(spdld.__file__))
        self.assertIn(f"{package}/bin/spdld", output)
        self.assertIn(f"in the folders of PATH ({self.folder / 'nothing'})", output)


if __name__ == "__main__":
    unittest.main()
