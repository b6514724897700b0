"""python -m spdld.migrate: a script's text becomes a pipeline that spdlctl and the daemon take, and nothing of it is run."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import tomllib
import unittest
from pathlib import Path

import spdld
from case import DaemonCase

CTL = os.environ.get("SPDLD_CTL", "")
IMPORTS = """\
import os
import torch
import torchvision.transforms as T
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.datasets import ImageFolder
from torchvision.transforms import InterpolationMode, v2
raise SystemExit("the script was run")
"""
TRAIN = """
    SIZE = 48
    ROOT = {root!r}
    normalize = T.Normalize(mean=[0.485, 0.456, 0.406], std=(0.229, 0.224, 0.225))
    def main(args):
        train_dataset = datasets.ImageFolder(os.path.join(ROOT, "pictures"), T.Compose([
            T.RandomResizedCrop(SIZE, interpolation=InterpolationMode.BICUBIC), T.RandomHorizontalFlip(),
            T.ToTensor(), normalize, T.RandomErasing(p=0.25)]))
        train_loader = torch.utils.data.DataLoader(train_dataset, batch_size=2 * 2, shuffle=True, num_workers=8, drop_last=True)
        val_dataset = ImageFolder(root=ROOT + "/pictures", transform=T.Compose(
            [T.Resize(int(SIZE / 0.875)), T.CenterCrop((SIZE, SIZE)), T.ToTensor(), normalize]))
        val_loader = DataLoader(val_dataset, 8)
"""
OTHER = """
    steps = [T.Resize(40)]
    if found:
        steps.append(T.CenterCrop(30))
    size = 30
    size = 40
    data = datasets.ImageFolder("pictures", T.Compose(
        [T.Lambda(print), T.CenterCrop(size), T.Compose(steps), T.RandomCrop(args.size), augment, T.LinearTransformation(a, b),
         T.Resize((20, 20))]),
        loader=read)
    loader = DataLoader(data, batch_size=args.batch, sampler=own(data), collate_fn=collate)
"""


class Migrate(DaemonCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="spdld-migrate-")
        self.addCleanup(made.cleanup)
        self.made = Path(made.name)

    def run_on(self, text, *arguments):
        script = self.made / "script.py"
        script.write_text(IMPORTS + textwrap.dedent(text))
        return subprocess.run([sys.executable, "-m", "spdld.migrate", script, *arguments], capture_output=True,
                              text=True, timeout=60)

    def translated(self, text, *arguments, rc=0):
        """The pipeline, which spdlctl takes, and what was said on stderr."""
        file = self.made / "made.toml"
        done = self.run_on(text, "-o", str(file), *arguments)
        self.assertEqual((done.returncode, done.stdout), (rc, ""), done.stderr)
        checked = subprocess.run([CTL, "check", file], capture_output=True, text=True, timeout=60)
        self.assertEqual(checked.returncode == 0, rc == 0, checked.stdout + checked.stderr + file.read_text())
        made = tomllib.loads(file.read_text())
        self.assertEqual(bool(made.get("gaps")), rc == 1)
        lines = file.read_text().splitlines()
        for number, gap in enumerate(made.get("gaps", [])):
            line = 1 + lines.index(f"  {json.dumps(gap)},")
            self.assertIn(f"{file}:{line}: gaps[{number}]: names a part that was not translated: {gap}",
                          checked.stdout + checked.stderr)
            self.assertIn(f"not translated: {gap}", done.stderr)
        return made, done.stderr

    def test_training_and_validation(self):
        text = TRAIN.format(root=str(self.pictures.parent))
        train, said = self.translated(text, "--dataset", "train")
        self.assertEqual(said, "")
        self.assertEqual(train["name"], "train")
        self.assertEqual(train["source"]["uri"], str(self.pictures))
        self.assertEqual((train["order"], train["batch"]), ({"shuffle": True, "epochs": 0}, {"size": 4, "last": "drop"}))
        self.assertEqual([entry["op"] for entry in train["output"][0]["ops"]],
                         ["decode-image", "random-resized-crop", "horizontal-flip", "normalize", "random-erasing"])
        with self.attach(train) as loader:
            self.assertEqual(next(iter(loader))["image"].shape, (4, 3, 48, 48))
        val, _ = self.translated(text, "--dataset", "val")
        self.assertEqual((val["order"], val["batch"]), ({"shuffle": False, "epochs": 1}, {"size": 8, "last": "short"}))
        self.assertEqual(val["output"][0]["ops"][1], {"op": "resize", "size": 54, "filter": "bilinear"})

    def test_without_a_choice_the_data_sets_are_named(self):
        done = self.run_on(TRAIN.format(root="/data"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("choose one by --dataset NAME. They are train (line", done.stderr)
        self.assertIn("has no data set test", self.run_on(TRAIN.format(root="/data"), "--dataset", "test").stderr)

    def test_each_part_that_was_not_translated_has_a_comment(self):
        made, said = self.translated(OTHER, rc=1)
        for part in ("transforms[0], Lambda: it runs code of yours", "needs size, which the script sets in 2 places",
                     "needs steps, which line", "transforms[3], RandomCrop: it needs args.size", "needs augment, whose value",
                     "transforms[5], LinearTransformation: it multiplies", "loader = read: the daemon decodes",
                     "batch_size = args.batch, whose value", "sampler = own(data)", "collate_fn = collate"):
            with self.subTest(part):
                self.assertIn(part, said)
                self.assertEqual(sum(part in gap for gap in made["gaps"]), 1, made["gaps"])
        for gap in made["gaps"]:
            self.assertRegex(gap, r"^line \d+ of .*script.py: ")
        self.assertNotIn("size", made["batch"])
        self.assertEqual(made["order"], {})
        with self.assertRaisesRegex(spdld.Error, "names a part that was not translated: line"):
            self.attach(str(self.made / "made.toml"))

    def test_what_the_text_does_not_tell_is_not_written(self):
        made, _ = self.translated(
            'import config\nfrom config import ROOT\ndata = ImageFolder(ROOT + "/train", T.Compose([T.Resize((20, 20))]))\n'
            "DataLoader(data, batch_size=config.BATCH, shuffle=config.SHUFFLE, drop_last=config.DROP)\n",
            rc=1)
        self.assertEqual((made["batch"], made["order"]), ({}, {}))
        self.assertNotIn("uri", made["source"])

    def test_what_a_script_changes_later(self):
        """Each line changes something without a new binding of its name."""
        text = """
            STEPS = [T.RandomResizedCrop(32), T.ToTensor()]
            transform = T.Compose(STEPS)
            data = ImageFolder("pictures", transform)
            loader = DataLoader(data, batch_size=4)
            """
        for line, part in (("transform.transforms.insert(0, T.RandAugment())", "needs transform, which line"),
                           ("transform.transforms[0] = T.RandomCrop(32, padding=4)", "needs transform, which line"),
                           ("del transform.transforms[0]", "needs transform, which line"),
                           ("STEPS[0] += 1", "needs STEPS, which line"),
                           ("with fetched() as STEPS: pass", "needs STEPS, which the script sets in 2 places"),
                           ("data.transform = T.ToTensor()", "may change a part of data after it was made")):
            with self.subTest(line):
                done = self.run_on(textwrap.dedent(text) + line + "\n")
                self.assertEqual(done.returncode, 1)
                self.assertIn(part, done.stderr)

    def test_a_subset_is_not_the_data_set(self):
        _, said = self.translated('data = ImageFolder("pictures", T.Compose([T.Resize((20, 20))]))\n'
                                  "loader = DataLoader(torch.utils.data.Subset(data, [1]), batch_size=4)\n", rc=1)
        self.assertIn("the DataLoader: the script's text has none", said)

    def test_arguments_that_are_not_known_are_not_left_out(self):
        text = 'data = ImageFolder("pictures", T.Compose([T.RandomRotation({}), T.Resize((20, 20))]))\nDataLoader(data)\n'
        for arguments, part in (("5, resample=2", "has an argument resample at line"),
                                ("5, 2, True, None, 0, 7", "has 6 arguments at line")):
            done = self.run_on(text.format(arguments))
            self.assertEqual(done.returncode, 1)
            self.assertIn(part, done.stderr)

    def test_all_names_of_a_module(self):
        made, _ = self.translated(
            'from torchvision.transforms import *\ndata = ImageFolder("pictures", Compose([Resize((20, 20), '
            "InterpolationMode.BICUBIC)]))\nDataLoader(data)\n")
        self.assertEqual(made["output"][0]["ops"][1], {"op": "resize", "size": [20, 20], "filter": "bicubic"})

    def test_mixing_is_for_training(self):
        text = """
            mix = v2.RandomChoice([v2.CutMix(num_classes=3), v2.MixUp(num_classes=3, alpha=0.2)])
            data = ImageFolder("pictures", v2.Compose([v2.RandomResizedCrop(32), v2.ToImage(),
                                                       v2.ToDtype(torch.float32, scale=True)]))
            def mixed(batch):
                return mix(*torch.utils.data.default_collate(batch))
            loader = DataLoader(data, batch_size=4, shuffle=True, collate_fn=mixed)
            """
        train, _ = self.translated(text)
        self.assertEqual([(entry["op"], entry["alpha"], entry["share"]) for entry in train["batch"]["ops"]],
                         [("cutmix", 1.0, 0.5), ("mixup", 0.2, 0.5)])
        self.assertEqual(train["output"][1]["ops"], [{"op": "one-hot", "classes": 3}])
        loop = text.replace(", collate_fn=mixed", "") + """
            for number, (images, labels) in enumerate(loader):
                images, labels = mix(images, labels)
            """
        self.assertEqual(self.translated(loop)[0]["batch"], train["batch"])
        for change in ((", collate_fn=mixed", ""), ("return mix(*", "return other(*"), ("return mix", "batch.sort(); return mix"),
                       ("num_classes=3, alpha=0.2", "num_classes=4, alpha=0.2"), ("alpha=0.2", "alpha=0.2, labels_getter=print")):
            with self.subTest(change):
                made, _ = self.translated(text.replace(*change), rc=1)
                self.assertNotIn("ops", made["batch"])
                self.assertNotIn("ops", made["output"][1])
        plain, _ = self.translated(text.replace("shuffle=True, collate_fn=mixed", "shuffle=False"))
        self.assertNotIn("ops", plain["batch"])

    def test_a_composition_without_a_data_set(self):
        made, said = self.translated("eval_transform = T.Compose([T.Resize((32, 32)), T.Compose([T.ToTensor()])])\n", rc=1)
        self.assertEqual(made["name"], "eval")
        self.assertIn("the data set: write its type", said)

    def test_a_script_that_is_not_read(self):
        for text, part in (("def", "is not Python"), ("x = 1", "there is nothing to translate")):
            done = self.run_on(text)
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)
        done = subprocess.run([sys.executable, "-m", "spdld.migrate", self.made / "none.py"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot read the script", done.stderr)
        helped = subprocess.run([sys.executable, "-m", "spdld.migrate", "--help"], capture_output=True, text=True)
        self.assertIn("--dataset NAME", helped.stdout)
        for code in ("0  the file does", "1  the file has gaps", "2  no file was written"):
            self.assertIn(code, helped.stdout)

    def test_a_data_set_of_the_script_s_own_is_told_how_it_runs_and_what_may_move(self):
        text = "from PIL import Image\nfrom torch.utils.data import DataLoader, Dataset, IterableDataset\n" \
            "class Photos(Dataset):\n    def __getitem__(self, index):\n        return Image.open(self.files[index])\n" \
            "class Rows(Dataset):\n    def __getitem__(self, index):\n        return self.rows[index]\n" \
            "class Stream(IterableDataset):\n    pass\nDataLoader(Photos())\n"
        done = self.run_on(text)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        before = IMPORTS.count("\n")
        told = dict(line.split(": ", 1) for line in done.stderr.replace("; line ", "\n").splitlines()[1:])
        photos, rows, stream = (told[str(before + line)] for line in (3, 6, 9))
        for name, sentence in (("Photos", photos), ("Rows", rows)):
            self.assertIn(f"the class {name} runs beside the daemon as it is, with spdld.torch.Loader(dataset=...)", sentence)
        self.assertIn(f"It opens pictures itself (line {before + 5})", photos)
        self.assertNotIn("opens pictures", rows)
        self.assertIn("the class Stream is iterable", stream)

    def test_modules_beside_the_script_are_not_torchvision(self):
        for name in ("torchvision.py", "torch/__init__.py"):
            with self.subTest(name):
                file = self.made / name
                file.parent.mkdir(exist_ok=True)
                file.write_text("")
                done = self.run_on(TRAIN.format(root="/data"), "--dataset", "train")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"{file} lies beside the script", done.stderr)
                file.unlink()

    def test_a_file_that_cannot_be_written_is_told(self):
        text = 'data = ImageFolder("/a", T.Compose([T.Resize((20, 20))]))\nDataLoader(data)\n'
        for output in ("/dev/full", str(self.made / "none" / "made.toml")):
            with self.subTest(output):
                done = self.run_on(text, "-o", output)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"cannot write {output}", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        with open("/dev/full", "w") as full:
            done = subprocess.run([sys.executable, "-m", "spdld.migrate", self.made / "script.py"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_scripts_that_want_to_take_for_ever(self):
        doubled = "\n".join(f"a{number} = [a{number - 1}, a{number - 1}]" for number in range(1, 60))
        squared = "\n".join(f"b{number} = b{number - 1} * b{number - 1}" for number in range(1, 60))
        for start, value in ((f"a0 = [1]\n{doubled}\n", "a59"), (f"b0 = 99999\n{squared}\n", "b59"), ("c = c + [1]\n", "c"),
                             ("d = [1] * 99999999999\n", "d"), ("", "-" * 5000 + "1"), ("", "+".join(["1"] * 20000))):
            with self.subTest(start[:20] + value[:20]):
                done = self.run_on(f'{start}data = ImageFolder("/a", T.Compose([T.Resize({value})]))\nDataLoader(data)\n')
                self.assertIn(done.returncode, (1, 2))
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
