"""The plug-ins of deploy/plugins, built as their users build them, by Meson and by CMake, and called by pipelines of a daemon."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
from daemon import Daemon

import spdld

OPTIONS = cases.options("daemon")
WAIT_S = 60
PICTURES, SIZE = 6, (20, 30)  # height, width


def run(*command):
    if shutil.which(command[0]) is None:
        raise AssertionError(f"{command[0]} is not there: deploy/packages.txt names its package")
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")


def blurred(picture, radius):
    """A box blur along the rows, and then along the columns, whose window has fewer pixels at the borders."""
    def along(rows):
        result = np.empty_like(rows)
        for at in range(rows.shape[1]):
            window = rows[:, max(at - radius, 0):at + radius + 1].astype(np.uint32)
            result[:, at] = (window.sum(1) + window.shape[1] // 2) // window.shape[1]
        return result
    return along(along(picture).swapaxes(0, 1)).swapaxes(0, 1)


class Plugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-plugins-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        header = ROOT / "client/include"
        run("meson", "setup", str(cls.folder / "blur"), str(ROOT / "deploy/plugins/blur"), f"-Dheader={header}", "-Dwerror=true")
        run("meson", "compile", "-C", str(cls.folder / "blur"))
        run("cmake", "-S", str(ROOT / "deploy/plugins/netpbm"), "-B", str(cls.folder / "netpbm"), f"-DSPDLD_INCLUDE={header}",
            "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror")
        run("cmake", "--build", str(cls.folder / "netpbm"))
        cls.blur, cls.netpbm = str(cls.folder / "blur/libblur.so"), str(cls.folder / "netpbm/libnetpbm.so")
        cls.make_pictures()
        cls.daemon = Daemon(OPTIONS.daemon)
        cls.addClassCleanup(cls.daemon.close)

    @classmethod
    def make_pictures(cls):
        random = np.random.default_rng(3)
        cls.pictures = random.integers(0, 256, (PICTURES, *SIZE, 3), dtype=np.uint8)
        cls.pictures[0] = cls.pictures[0, ..., :1]  # grey
        (cls.folder / "pictures").mkdir()
        lines = []
        for number, picture in enumerate(cls.pictures):
            image = Image.fromarray(picture) if number > 0 else Image.fromarray(picture[..., 0])
            image.save(cls.folder / f"pictures/{number}.ppm")
            image.save(cls.folder / f"pictures/{number}.png")
            lines.append(f'{{"ppm": "pictures/{number}.ppm", "png": "pictures/{number}.png"}}')
        (cls.folder / "list.jsonl").write_text("\n".join(lines) + "\n")

    def values(self, field, *ops, samples=PICTURES):
        """The value of each sample that an output with these operations gives."""
        manifest = "list.jsonl" if samples == PICTURES else "broken.jsonl"
        spec = {"name": "plugins", "order": {"epochs": 1},
                "source": {"type": "manifest", "uri": str(self.folder / manifest), "files": [field]},
                "output": [{"name": "value", "from": field, "ops": list(ops)}], "batch": {"size": 2}, "on_bad": "mask"}
        loader = spdld.attach(spec, socket=self.daemon.socket, timeout=WAIT_S, framework="numpy")
        self.addCleanup(loader.close)
        self.loader = loader
        found = {}
        for batch in loader:
            for sample, value, is_good in zip(np.asarray(batch["sample_id"]).tolist(), np.asarray(batch["value"]).copy(),
                                              np.asarray(batch["mask"]).tolist(), strict=True):
                found[sample] = value if is_good else None
        self.assertEqual(sorted(found), list(range(samples)))
        return [found[sample] for sample in range(samples)]

    def blur_op(self, settings):
        return {"op": "plugin", "library": self.blur, "call": "blur", "settings": settings,
                "gives": {"dtype": "uint8", "shape": [*SIZE, 3]}}

    def decode_op(self):
        return {"op": "plugin", "library": self.netpbm, "call": "decode", "gives": {"dtype": "uint8", "shape": [*SIZE, 3]}}

    def test_a_decoder_gives_pictures(self):
        for picture, value in zip(self.pictures, self.values("ppm", self.decode_op()), strict=True):
            self.assertTrue(np.array_equal(value, picture))

    def test_a_decoder_gives_files_for_the_daemons_own(self):
        ops = [{"op": "plugin", "library": self.netpbm, "call": "to-bmp", "gives": "bytes"}, {"op": "decode-image"},
               {"op": "center-crop", "size": list(SIZE)}]
        for picture, value in zip(self.pictures, self.values("ppm", *ops), strict=True):
            self.assertTrue(np.array_equal(value, picture))

    def test_a_blur_of_decoded_pictures(self):
        decode = [{"op": "decode-image"}, {"op": "center-crop", "size": list(SIZE)}]
        for radius in (0, 1, 3, 40):
            values = self.values("png", *decode, self.blur_op(f"radius={radius}"))
            for picture, value in zip(self.pictures, values, strict=True):
                self.assertTrue(np.array_equal(value, blurred(picture, radius)), radius)

    def test_both_behind_one_another_and_a_random_radius(self):
        values = self.values("ppm", self.decode_op(), self.blur_op("radius=random"))
        radii = [[radius for radius in range(4) if np.array_equal(value, blurred(picture, radius))]
                 for picture, value in zip(self.pictures, values, strict=True)]
        self.assertTrue(all(len(found) == 1 for found in radii), radii)
        self.assertGreater(len({found[0] for found in radii}), 1)
        again = self.values("ppm", self.decode_op(), self.blur_op("radius=random"))
        self.assertTrue(np.array_equal(values, again))

    def test_bad_content_is_told(self):
        whole = (self.folder / "pictures/1.ppm").read_bytes()
        broken = {"empty": b"", "png": b"\x89PNG", "cut": whole[:-1], "headless": b"P6\n30 20\n", "deep": b"P6 30 20 65535 ",
                  "other": b"P6 # a comment\n1 1\n255\nabc", "whole": whole}
        lines = []
        for name, data in broken.items():
            (self.folder / f"pictures/{name}.ppm").write_bytes(data)
            lines.append(f'{{"ppm": "pictures/{name}.ppm"}}\n')
        (self.folder / "broken.jsonl").write_text("".join(lines))
        values = self.values("ppm", self.decode_op(), samples=len(broken))
        self.assertEqual([value is None for value in values], [True] * 6 + [False])
        reasons = str(self.loader.stats()["reasons"])
        for words in ("it is no binary PGM or PPM file", "it is cut: 30 x 20 pixels need 1800 bytes behind the header",
                      "its header has no width, height and 255 as the value of white",
                      "it gave uint8 [1, 1, 3], and `gives` says uint8 [20, 30, 3]"):
            self.assertIn(words, reasons)

    def test_settings_that_make_no_sense(self):
        for settings in ("", "radius=65", "radius=-1", "radius=3x", "radius"):
            with self.assertRaises(spdld.Error) as raised:
                self.values("ppm", self.decode_op(), self.blur_op(settings))
            self.assertIn("write radius=N with N from 0 to 64, or radius=random", str(raised.exception))


if __name__ == "__main__":
    cases.main()
