"""docs/packages.md: each of its programs runs with the real package, and gives what the package gives without spdld."""
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import textwrap
import unittest
import wave
from pathlib import Path

import numpy as np
from case import DaemonCase
from crew_case import needs_cloudpickle
from PIL import Image

ROOT = Path(__file__).resolve().parents[3]
CLASSES, OF_EACH = 2, 6


def blocks_of(heading):
    page = (ROOT / "docs/packages.md").read_text()
    return re.findall(r"```python gpu\n(.*?)```", page.split(f"\n## {heading}\n")[1].split("\n## ")[0], re.DOTALL)


def installed(name):
    return unittest.skipUnless((ROOT / "build" / name).is_dir(), f"tests/install installs {name}")


@needs_cloudpickle
class Packages(DaemonCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = Path(cls.folder.name) / "data"
        subprocess.run([sys.executable, ROOT / "deploy/make_corpus.py", cls.data / "pictures", "--count", str(CLASSES * OF_EACH)],
                       check=True, stdout=subprocess.DEVNULL)
        # Of SciPy, which the tests do not have, albumentations names a module that its noise alone needs.
        cls.stubs = Path(cls.folder.name) / "stubs"
        (cls.stubs / "scipy").mkdir(parents=True)
        for name in ("__init__", "special"):
            (cls.stubs / "scipy" / f"{name}.py").touch()

    def checked(self, heading, check, package=None, stubs=False):
        """Runs the last program below the heading, and behind it the check, in the folder of the data."""
        folders = [ROOT / "build" / package] if package else []
        script = Path(self.folder.name) / f"{self.id()}.py"
        script.write_text(blocks_of(heading)[-1] + "\n" + textwrap.dedent(check))
        path = [*folders, *([self.stubs] if stubs else []), *sys.path]
        environment = {**os.environ, "PYTHONPATH": ":".join(map(str, path)), "SPDLD_SOCKET": str(self.daemon.socket),
                       "NO_ALBUMENTATIONS_UPDATE": "1"}  # it would ask the network for a newer version
        done = subprocess.run([sys.executable, "-W", "ignore", script], cwd=self.data, capture_output=True, text=True,
                              timeout=180, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1:], ["fine"], done.stdout + done.stderr)

    @installed("albumentations")
    def test_albumentations(self):
        self.checked("albumentations", """
            import numpy
            import torch
            one = list(loader)
            several = {**pipeline, "python": {"processes": 3}}
            again = list(spdld.torch.Loader(several, ops={"augment": augment}))
            for mine, other in zip(one, again, strict=True):
                assert torch.equal(mine["image"], other["image"]) and torch.equal(mine["label"], other["label"])
            trials = [loader.try_sample(number, epoch=0) for number in range(3)]
            steps = [trial.step("image", 2).value for trial in trials]
            assert {(step.shape, step.dtype.name) for step in steps} == {((3, 224, 224), "float32")}
            plain = A.Compose([A.Normalize(), ToTensorV2()])
            crops = [trial.step("image", 1).value for trial in trials]
            rows = {number: row for batch in one for number, row in zip(batch["sample_id"].tolist(), batch["image"])}
            assert all(numpy.array_equal(rows[number], step) for number, step in enumerate(steps))
            assert any(not numpy.array_equal(step, plain(image=crop)["image"]) for step, crop in zip(steps, crops))
            print("fine")
            """, "albumentations", stubs=True)

    def test_hugging_face_image_processors(self):
        self.checked("Hugging Face image processors", """
            import numpy
            from pathlib import Path
            from PIL import Image, ImageOps
            files = sorted(Path("pictures").rglob("*.jpg"))
            seen = 0
            for batch in loader:
                for number, values in zip(batch["sample_id"].tolist(), batch["pixel_values"]):
                    with Image.open(files[number]) as picture:
                        theirs = processor(ImageOps.exif_transpose(picture).convert("RGB"), return_tensors="np")
                    assert numpy.array_equal(values.numpy(), theirs["pixel_values"][0]), files[number]
                    seen += 1
            assert seen == len(files)
            print("fine")
            """)

    def test_tokenizers(self):
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        texts = [f"the {name} reads line {number} " * (1 + number % 5) for number, name in enumerate(("daemon", "trainer") * 20)]
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=300, show_progress=False))
        tokenizer.save(str(self.data / "tokenizer.json"))
        (self.data / "texts.txt").write_text("\n".join(texts) + "\n")
        self.checked("tokenizers", """
            texts = open("texts.txt").read().splitlines()
            seen = 0
            for batch in loader:
                for row, number in enumerate(batch["sample_id"].tolist()):
                    assert batch["tokens"][row].tolist() == tokenizer.encode(texts[number]).ids
                    seen += 1
            assert seen == len(texts)
            print("fine")
            """)

    @installed("kornia")
    def test_kornia(self):
        self.checked("kornia", """
            seen = 0
            for batch in loader:
                for number, image in zip(batch["sample_id"].tolist(), batch["image"]):
                    step = loader.try_sample(number, epoch=0).step("image", 1).value if number < 3 else None
                    if step is not None:
                        theirs = sharpened(step[None])[0]
                        assert torch.allclose(image, theirs, atol=1e-6), (image - theirs).abs().max()
                    seen += 1
            assert seen == 12
            print("fine")
            """, "kornia")

    @installed("torchaudio")
    def test_torchaudio(self):
        folder = self.data / "speech/waves_yesno"
        folder.mkdir(parents=True)
        rng = np.random.default_rng(3)
        for number in range(10):
            with wave.open(str(folder / ("_".join(f"{number:08b}") + ".wav")), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes(rng.integers(-9000, 9000, 800 + 37 * number).astype("<i2").tobytes())
        self.checked("torchaudio", SAME_AS_DATALOADER, "torchaudio")

    def test_detection(self):
        files = sorted(map(str, self.data.rglob("*.jpg")))
        entries = [{"file": file, "boxes": [[1, 2, 3 + box, 4] for box in range(number % 3)], "labels": list(range(number % 3))}
                   for number, file in enumerate(files)]
        (self.data / "boxes.json").write_text(json.dumps(entries))
        self.checked("Detection with a padding collate_fn", SAME_AS_DATALOADER)

    def test_tokens_in_a_memmap(self):
        np.arange(1000, dtype=np.uint16).tofile(self.data / "tokens.bin")
        self.checked("Tokens in a memmap", SAME_AS_DATALOADER)

    @installed("webdataset")
    def test_the_map_of_a_webdataset_pipeline(self):
        (self.data / "shards").mkdir()
        with tarfile.open(self.data / "shards/000000.tar", "w") as archive:
            for number, file in enumerate(sorted(self.data.rglob("*.jpg"))):
                content = io.BytesIO()
                with Image.open(file) as picture:
                    picture.convert("RGB").save(content, "jpeg")
                for ending, data in (("jpg", content.getvalue()), ("cls", b"%d" % (number % 5))):
                    member = tarfile.TarInfo(f"{number:04}.{ending}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
        before, _ = blocks_of("The map of a WebDataset pipeline")
        self.checked("The map of a WebDataset pipeline", before + textwrap.dedent("""
            import numpy
            theirs = list(dataset)
            seen = 0
            for batch in loader:
                for row, number in enumerate(batch["sample_id"].tolist()):
                    mean, label = theirs[number]
                    assert numpy.array_equal(batch["mean"][row].numpy(), mean) and batch["label"][row] == label
                    seen += 1
            assert seen == len(theirs) > 0
            print("fine")
            """), "webdataset")


SAME_AS_DATALOADER = """
    from torch.utils.data import DataLoader

    def assert_same(ours, theirs):
        if isinstance(theirs, (tuple, list)):
            assert len(ours) == len(theirs)
            for one, other in zip(ours, theirs):
                assert_same(one, other)
        else:
            assert torch.equal(ours, theirs), (ours, theirs)

    batches = DataLoader(loader.dataset, batch_size=4, collate_fn=globals().get("collate"))
    count = 0
    for ours, theirs in zip(loader, batches, strict=True):
        assert_same(ours, theirs)
        count += 1
    assert count > 1
    print("fine")
    """

if __name__ == "__main__":
    unittest.main()
