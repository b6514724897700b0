"""deploy/quickstart_pipeline.py and quickstart_trainer.py beside a real daemon: pictures, videos and sounds become batches and a
sheet."""
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
from daemon import Daemon, make_pictures
from media_files import make_media

OPTIONS = cases.options("daemon")
WAIT_S = 60
WIDTH, TILE = 8 * 160, 160 + 14  # of a sheet, and the height of a row of it


def run(script, *arguments, **options):
    done = subprocess.run([sys.executable, "-B", ROOT / "deploy" / script, *arguments], capture_output=True, text=True,
                          timeout=WAIT_S, **options)
    if done.returncode != 0:
        raise AssertionError(f"{script}: {done.stdout}{done.stderr}")
    return done.stdout


class Quickstart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-quickstart-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        make_pictures(cls.folder / "pictures", classes=2, of_each=20)
        make_media(cls.folder, 3)
        cls.daemon = Daemon(OPTIONS.daemon)
        cls.addClassCleanup(cls.daemon.close)

    def train(self, medium):
        """Returns the trainer's lines, and the sheet."""
        pipeline, sheet = self.folder / f"{medium}.toml", self.folder / f"{medium}.png"
        pipeline.write_text(run("quickstart_pipeline.py", self.folder / medium))
        told = run("quickstart_trainer.py", pipeline, sheet, "--classes", self.folder / medium, env=self.daemon.environment())
        return told.splitlines(), np.asarray(Image.open(sheet).convert("RGB"))

    def test_pictures(self):
        (first, *epochs), sheet = self.train("pictures")
        self.assertIn("image float32 [32, 3, 224, 224], label int64 [32]", first)
        self.assertEqual([line.split(",")[0] for line in epochs], [f"epoch {epoch} of 3: 40 images" for epoch in (1, 2, 3)])
        self.assertEqual(sheet.shape, (4 * TILE, WIDTH, 3))

    def test_videos(self):
        (first, *epochs), sheet = self.train("videos")
        self.assertIn("clip float32 [8, 16, 3, 160, 160], label int64 [8]", first)
        self.assertEqual([line.split(",")[0] for line in epochs], [f"epoch {epoch} of 3: 12 clips" for epoch in (1, 2, 3)])
        self.assertEqual(sheet.shape, (8 * TILE, WIDTH, 3))
        self.assertGreater(np.std(sheet[TILE - 160:TILE].astype(float)), 20)

    def test_sounds(self):
        (first, *epochs), sheet = self.train("sounds")
        self.assertIn("mel float32 [12, 80, 500], label int64 [12]", first)
        self.assertEqual([line.split(",")[0] for line in epochs], [f"epoch {epoch} of 3: 12 sounds" for epoch in (1, 2, 3)])
        self.assertEqual(sheet.shape, (6 * TILE, WIDTH, 3))
        self.assertGreater(np.std(sheet[TILE - 160:TILE].astype(float)), 20)


if __name__ == "__main__":
    cases.main()
