"""Noises and rooms beside a data set of sounds, through a daemon: exact resuming, and changes that are told."""
import tempfile
import unittest
import wave
from pathlib import Path

import numpy as np

import spdld
from case import PROGRAM, WAIT_S, RestartedDaemon

RATE, SOUNDS, EPOCHS, SIZE = 8000, 12, 2, 4
BATCHES = EPOCHS * SOUNDS // SIZE


def write_sound(path, samples):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(RATE)
        file.writeframes((samples * 32767).astype("<i2").tobytes())


class Noise(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="spdld-noise-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        random = np.random.default_rng(1)
        for number in range(SOUNDS):
            tone = 0.25 * np.sin(np.arange(RATE) * (0.1 + 0.02 * number))
            write_sound(self.folder / "sounds" / "a" / f"{number:02}.wav", tone)
        self.noises = self.folder / "noises"
        for number in range(3):
            write_sound(self.noises / f"{number}.wav", random.uniform(-0.5, 0.5, 3 * RATE))
        write_sound(self.folder / "rooms" / "one.wav", 0.5 ** np.arange(40.0))
        self.daemon = RestartedDaemon(PROGRAM)
        self.addCleanup(self.daemon.close)

    def spec(self):
        decode = {"op": "decode-audio", "rate": RATE, "seconds": 0.5}
        rooms = {"op": "reverberate", "responses": str(self.folder / "rooms"), "p": 0.5}
        noises = {"op": "mix-noise", "noises": str(self.noises), "snr_db": [6, 6]}
        return {"name": "noise", "source": {"type": "image-folder", "uri": str(self.folder / "sounds"), "extensions": "wav"},
                "order": {"epochs": EPOCHS}, "batch": {"size": SIZE},
                "output": [{"name": "clean", "from": "image", "ops": [decode]},
                           {"name": "noisy", "from": "image", "ops": [decode, noises]},
                           {"name": "room", "from": "image", "ops": [decode, rooms]}]}

    def attach(self):
        return spdld.attach(self.spec(), socket=self.daemon.socket, timeout=WAIT_S, framework="numpy")

    def batches(self, loader, count):
        """The tensors of the next batches, over the ends of epochs."""
        taken = []
        while len(taken) < count:
            batch = loader.next()
            if batch is not None:  # None is the end of an epoch
                taken.append({name: np.array(batch[name]) for name in ("sample_id", "clean", "noisy", "room")})
                batch.release()
        return taken

    def test_the_same_after_a_kill_and_from_another_place(self):
        with self.attach() as loader:
            whole = self.batches(loader, BATCHES)
        for batch in whole:
            for clean, noisy, room in zip(batch["clean"], batch["noisy"], batch["room"]):
                noise = noisy - clean
                self.assertAlmostEqual(10 * np.log10(np.sum(clean ** 2) / np.sum(noise ** 2)), 6, places=3)
                self.assertAlmostEqual(float(np.sum(room ** 2) / np.sum(clean ** 2)), 1, places=4)
        self.assertTrue(any((batch["room"] != batch["clean"]).any() for batch in whole))
        with self.attach() as loader:
            begun = self.batches(loader, 2)
            state = loader.state_dict()
        self.daemon.kill()
        (self.folder / "noises").rename(self.folder / "moved")
        self.noises = self.folder / "moved"
        self.daemon.start_again()
        with self.attach() as loader:
            loader.load_state_dict(state)
            rest = self.batches(loader, BATCHES - 2)
        for wanted, got in zip(whole, begun + rest):
            for name in wanted:
                np.testing.assert_array_equal(got[name], wanted[name])

    def test_other_noises_make_another_run(self):
        with self.attach() as loader:
            self.batches(loader, 1)
            state = loader.state_dict()
        write_sound(self.folder / "noises" / "1.wav", np.full(100, 0.5))
        with self.attach() as loader:  # of a daemon that has the pipeline open with the noises of before
            with self.assertRaisesRegex(spdld.ChangedError, "a file beside the data set differs"):
                loader.load_state_dict(state)

    def test_a_missing_noise_is_told(self):
        (self.folder / "noises" / "1.wav").write_bytes(b"no sound")
        with self.assertRaisesRegex(spdld.Error, "noises/1.wav can't be used"):
            self.attach()


if __name__ == "__main__":
    unittest.main()
