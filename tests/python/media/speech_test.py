"""The example of speech recognition, through a daemon: whole utterances in batches by duration."""
import io
import tarfile
import tempfile
import tomllib
import unittest
import wave
from pathlib import Path

import numpy as np

import spdld
from case import PROGRAM, WAIT_S, RestartedDaemon

EXAMPLE = Path(__file__).resolve().parents[3] / "config" / "examples" / "speech-lengths.toml"
RATE, UTTERANCES, EPOCHS = 16000, 90, 2
SECONDS = 5  # of sound in a rank's batch, where the example has 300
HEAD_BYTES = 44


def utterance(number, samples):
    """A WAV file of 16 bits, whose loudness tells its number."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(RATE)
        tone = (1000 + 100 * number) * np.sin(np.arange(samples) * 0.3)
        file.writeframes(tone.astype("<i2").tobytes())
    return content.getvalue()


class SpeechLengths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-speech-")
        cls.addClassCleanup(folder.cleanup)
        random = np.random.default_rng(1)
        cls.samples = [int(n) for n in np.clip(np.exp(random.normal(-0.7, 0.6, UTTERANCES)), 0.1, 3) * RATE]
        cls.archive = Path(folder.name) / "speech.tar"
        with tarfile.open(cls.archive, "w", format=tarfile.USTAR_FORMAT) as tar:
            for number, samples in enumerate(cls.samples):
                for ending, content in (("wav", utterance(number, samples)), ("txt", f"words {number}".encode())):
                    member = tarfile.TarInfo(f"{number:03}.{ending}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
        cls.daemon = RestartedDaemon(PROGRAM)
        cls.addClassCleanup(cls.daemon.close)

    def spec(self, last):
        spec = tomllib.loads(EXAMPLE.read_text())
        batch = {**spec["batch"], "cost_max": spec["batch"]["cost_max"] * SECONDS // 300, "buckets": 6, "last": last}
        source = {"type": "webdataset", "uri": str(self.archive)}
        return {**spec, "source": source, "order": {**spec["order"], "epochs": EPOCHS}, "batch": batch}

    def steps(self, loader):
        """The ids of each step of all epochs, whose batches are checked."""
        steps = []
        for _ in range(EPOCHS):
            for batch in loader:
                ids = batch["sample_id"].tolist()
                longest = max((self.samples[i] for i in ids), default=0)
                self.assertLessEqual(len(ids) * (2 * longest + HEAD_BYTES), 2 * RATE * SECONDS)
                frames = [1 + (self.samples[i] - 400) // 160 for i in ids]
                self.assertEqual(batch["mel_frames"].tolist()[:len(ids)], frames)
                rows = -(-max(frames, default=0) // 8) * 8
                if ids:
                    self.assertEqual(batch["mel"].shape[1:], (rows, 80))
                    self.assertEqual(batch["mfcc"].shape[1:], (rows, 13))
                    texts = np.split(batch["text"].values, batch["text"].offsets[1:-1])
                    self.assertEqual([bytes(text) for text in texts[:len(ids)]], [f"words {i}".encode() for i in ids])
                steps.append(((batch.epoch, batch.step), ids))
                batch.release()
        return steps

    def test_every_rank_has_as_many_steps_and_no_batch_is_longer_than_its_budget(self):
        for last in ("short", "drop"):
            for world_size in (1, 2, 3):
                with self.subTest(last=last, world_size=world_size):
                    loaders = [spdld.attach(self.spec(last), socket=self.daemon.socket, rank=rank,
                                            world_size=world_size, timeout=WAIT_S,
                                            framework="numpy", group=f"{last}-{world_size}") for rank in range(world_size)]
                    of_ranks = [self.steps(loader) for loader in loaders]
                    for loader, seen in zip(loaders, of_ranks):
                        self.assertEqual([place for place, _ in seen],
                                         [(e, s) for e in range(EPOCHS) for s in range(len(loaders[0]))])
                        loader.close()
                    for epoch in range(EPOCHS):
                        ids = [i for seen in of_ranks for (e, _), step in seen if e == epoch for i in step]
                        self.assertEqual(len(ids), len(set(ids)))
                        if last == "short":
                            self.assertEqual(sorted(ids), list(range(UTTERANCES)))
                        else:  # whole batches alone: all ranks have as many samples in each step
                            self.assertGreater(len(ids), UTTERANCES // 4)
                            for step in zip(*([len(ids) for _, ids in seen] for seen in of_ranks)):
                                self.assertEqual(len(set(step)), 1)


if __name__ == "__main__":
    unittest.main()
