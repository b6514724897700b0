"""Several frames of animations, all the way to a trainer: beside Pillow, with boxes that follow, and with damage."""
import io
import json
import tarfile
import tempfile
import unittest
from pathlib import Path

import numpy as np
from PIL import Image

import spdld
from case import PROGRAM, WAIT_S, Daemon

FRAMES, SIDE, COUNT = 4, 24, 8


def animation(number):
    """A GIF of 1 to 8 frames."""
    rng = np.random.default_rng(number)
    frames = [Image.fromarray(rng.integers(0, 256, (60, 80, 3), np.uint8)).quantize(32) for _ in range(number + 1)]
    memory = io.BytesIO()
    frames[0].save(memory, "GIF", save_all=True, append_images=frames[1:])
    return memory.getvalue()


def shown(gif):
    """The frames that are to come, as Pillow shows them."""
    with Image.open(io.BytesIO(gif)) as picture:
        frames = []
        for place in np.linspace(0, picture.n_frames - 1, FRAMES).round().astype(int):
            picture.seek(place)
            frames.append(np.asarray(picture.convert("RGB")))
        return np.stack(frames)


def outputs():
    decode = {"op": "decode-image", "frames": FRAMES}
    return [{"name": "whole", "from": "gif", "ops": [decode, {"op": "center-crop", "size": [60, 80]},
                                                     {"op": "convert", "layout": "NCHW"}]},
            {"name": "clip", "from": "gif", "view": "a", "ops": [decode, {"op": "random-crop", "size": SIDE}]},
            {"name": "boxes", "from": "json:boxes", "view": "a", "ragged": True, "length_max": 4,
             "ops": [{"op": "boxes", "format": "xyxy"}]},
            {"name": "first", "from": "gif", "ops": [{"op": "decode-image"}, {"op": "center-crop", "size": [60, 80]}]}]


class Frames(unittest.TestCase):
    def run_pipeline(self, animations, **changes):
        """The batches of a pipeline over these files, one epoch long."""
        made = tempfile.TemporaryDirectory(prefix="spdld-frames-")
        self.addCleanup(made.cleanup)
        path = Path(made.name) / "a.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for number, gif in enumerate(animations):
                for ending, content in (("gif", gif), ("json", json.dumps({"boxes": [[0, 0, 80, 60]]}).encode())):
                    member = tarfile.TarInfo(f"{number:03}.{ending}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
        daemon = Daemon(PROGRAM)
        self.addCleanup(daemon.close)
        spec = {"name": "frames", "source": {"type": "webdataset", "uri": str(path)}, "output": outputs(), "on_bad": "mask",
                "order": {"epochs": 1, "shuffle": False}, "batch": {"size": 4}, **changes}
        with spdld.attach(spec, socket=daemon.socket, framework="numpy", timeout=WAIT_S) as loader:
            for batch in loader:
                yield {name: [np.array(each) for each in batch[name]] for name in ("whole", "clip", "boxes", "first",
                                                                                   "sample_id", "mask")}

    def test_frames_are_pillows_and_share_one_crop(self):
        animations = [animation(number) for number in range(COUNT)]
        seen = 0
        for batch in self.run_pipeline(animations):
            for whole, clip, boxes, first, sample, mask in zip(*batch.values()):
                frames = shown(animations[int(sample)])
                seen += int(mask)
                np.testing.assert_array_equal(whole, frames.transpose(0, 3, 1, 2))
                np.testing.assert_array_equal(first, frames[0])
                self.assertEqual(clip.shape, (FRAMES, SIDE, SIDE, 3))
                places = [(y, x) for y in range(60 - SIDE + 1) for x in range(80 - SIDE + 1)
                          if np.array_equal(clip, frames[:, y:y + SIDE, x:x + SIDE])]
                self.assertEqual(len(places), 1)
                np.testing.assert_array_equal(boxes, [[0, 0, SIDE, SIDE]])
        self.assertEqual(seen, COUNT)

    def test_a_damaged_later_frame_is_a_bad_sample(self):
        animations = [animation(number) for number in range(COUNT)]
        animations[5] = animations[5][:-400]
        with self.assertWarnsRegex(spdld.DataWarning, "a damaged GIF: giflib can't decode its row"):
            masks = {int(sample): int(mask) for batch in self.run_pipeline(animations)
                     for sample, mask in zip(batch["sample_id"], batch["mask"])}
        self.assertEqual(masks, {number: int(number != 5) for number in range(COUNT)})


if __name__ == "__main__":
    unittest.main()
