"""Scripts in the styles in which people publish theirs, in the folder `styles`: what becomes of each, and what is named."""
import contextlib
import io
import os
import subprocess
import tempfile
import tomllib
import types
import unittest
from pathlib import Path

from spdld import migrate

FOLDER = Path(__file__).resolve().parent / "styles"
CTL = os.environ.get("SPDLD_CTL", "")
PLAIN, FLIP = "convert", "horizontal-flip"
# (script, data set): arguments, then uri, (size, last) of a batch, shuffle, and the operations behind decode-image by name and
# size.
WHOLE = {
    ("imagenet_example", "train"): ([], "imagenet/train", (256, "short"), True,
                                    [("random-resized-crop", 224), FLIP, "normalize"]),
    ("imagenet_example", "val"): (["--args=-b 32 /data/in"], "/data/in/val", (32, "short"), False,
                                  [("resize", 256), ("center-crop", 224), "normalize"]),
    ("transfer_learning", "train"): ([], "data/insects/train", (4, "short"), True,
                                     [("random-resized-crop", 224), FLIP, "normalize"]),
    ("transfer_learning", "val"): ([], "data/insects/val", (4, "short"), True,
                                   [("resize", 256), ("center-crop", 224), "normalize"]),
    ("data_module", "train"): ([], "/data/food/train", (64, "drop"), True, [("random-resized-crop", 224), FLIP, "normalize"]),
    ("data_module", "val"): (["--args=--bs=5"], "/data/food/val", (5, "short"), False,
                             [("resize", 256), ("center-crop", 224), "normalize"]),
    ("hyperparameters", "train"): ([], "/data/birds/train", (16, "drop"), True, [("random-resized-crop", 192), FLIP, PLAIN]),
    ("hyperparameters", "val"): ([], "/data/birds/val", (16, "short"), False, [("resize", [192, 192]), PLAIN]),
    ("constants", None): ([], "/data/flowers/train_128", (48, "short"), True,
                          [("resize", 160), ("random-crop", 128), "normalize"]),
    ("dataclass_settings", "train"): ([], "/data/cats/train", (20, "short"), True, [("resize", [96, 96]), FLIP, PLAIN]),
    ("dataclass_settings", "val"): ([], "/data/cats/val", (20, "short"), False, [("resize", [96, 96]), PLAIN]),
    ("class_of_settings", None): ([], "../input/leaves/train", (24, "short"), True,
                                  [("random-resized-crop", 256), "vertical-flip", PLAIN]),
    ("dict_of_settings", None): ([], "/data/dogs/test", (10, "drop"), False,
                                 [("resize", 112), ("center-crop", 112), "normalize"]),
    ("builders", "train"): ([], "/data/imagenet/train", (64, "drop"), True,
                            [("random-resized-crop", 224), FLIP, "color-jitter", "normalize"]),
    ("builders", "val"): (["--args=--input_size 64"], "/data/imagenet/val", (96, "short"), False,
                          [("resize", 73), ("center-crop", 64), "normalize"]),
    ("loop_over_splits", "train"): ([], "/data/signs/train", (100, "short"), True, [("resize", [64, 64]), PLAIN]),
    ("loop_over_splits", "test"): ([], "/data/signs/test", (100, "short"), False, [("resize", [64, 64]), PLAIN]),
    ("paths", None): ([], "/data/tiles/train", (32, "short"), True, [("random-resized-crop", [80, 80]), "rotate", "normalize"]),
    ("trainer_class", "train"): ([], "/data/shapes/train", (8, "short"), True, [("resize", [72, 72]), PLAIN]),
    ("trainer_class", "val"): ([], "/data/shapes/val", (8, "short"), False, [("resize", [72, 72]), PLAIN]),
    ("option_groups", None): (["--args=/data/own --size 30 40 --no-shuffle --more 3"], "/data/own/train", (12, "short"), False,
                              [("resize", [30, 40]), PLAIN]),
    ("mixing", None): ([], "/data/food/train", (16, "short"), True, [("random-resized-crop", 48), PLAIN]),
    ("accelerate_style", None): (["--args=--data_dir /data/cars"], "/data/cars", (64, "short"), True,
                                 [("random-resized-crop", 176), PLAIN]),
}
# (script, data set): the exit code, and parts of what is said, each with the page that helps where there is one.
NAMED = {
    ("imagenet_example", "train", "--args=--multiprocessing-distributed --world-size 1 --rank 0"):
        (1, ["batch_size = args.batch_size, which the script sets in 2 places"]),
    ("imagenet_example", "train",
     "--args=--batch 3 --nothing"): (2, ["would not run with these arguments: unrecognized arguments: --nothing"]),
    ("references", "train"): (
        1, ["args.data_path, which line 53 of the script may change (--data-path gives '/datasets01/imagenet')",
            "batch_size = args.batch_size, which line 53 of the script may change (--batch-size gives 32)"]),
    ("references", "test"): (1, ["transforms[0], Resize: it needs args.val_resize_size"]),
    ("option_groups", None): (1, ["root, without which the script does not run: give it by --args"]),
    ("accelerate_style", None): (1, ["--data_dir, without which the script does not run: give it by --args"]),
    ("timm_script", None): (2, ["timm.data.create_dataset makes a data set of timm", "timm.data.create_loader makes",
                                "docs/torchvision.md"]),
    ("timm_transform", None): (1, ["create_transform: it makes transforms of timm: spdld.torch.from_transforms takes"]),
    ("cifar", None): (1, ["torchvision.datasets.CIFAR10 is a data set of torchvision", "docs/pipelines.md"]),
    ("random_split", None): (1, ["torch.utils.data.random_split gives a part of the samples: docs/order.md"]),
    ("albumentations_class", None): (2, ["is a transform of albumentations: docs/torchvision.md",
                                         "the class Leaves runs beside the daemon as it is", "docs/pipelines.md"]),
    ("hugging_face", None): (2, ["datasets.load_dataset is a data set of Hugging Face", "docs/pipelines.md"]),
    ("keras_folder", None): (2, ["keras.utils.image_dataset_from_directory", "docs/pipelines.md"]),
    ("web_archives", None): (1, ["webdataset.WebDataset reads archives", "docs/pipelines.md"]),
}


class Styles(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="spdld-styles-")
        self.addCleanup(made.cleanup)
        self.file = Path(made.name) / "made.toml"

    def migrated(self, script, dataset, *arguments):
        chosen = [] if dataset is None else ["--dataset", dataset]
        said, written = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(written):
            try:
                code = migrate.main([str(FOLDER / f"{script}.py"), *chosen, *arguments])
            except SystemExit as ended:
                code = ended.code
        if written.getvalue():
            self.file.write_text(written.getvalue())
        return types.SimpleNamespace(returncode=code, stderr=said.getvalue())

    def test_what_the_text_tells_is_written(self):
        for (script, dataset), (arguments, uri, batch, shuffle, operations) in WHOLE.items():
            with self.subTest(script=script, dataset=dataset):
                done = self.migrated(script, dataset, *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                made = tomllib.loads(self.file.read_text())
                self.assertEqual((made["source"]["uri"], made["order"]["shuffle"]), (uri, shuffle))
                self.assertEqual((made["batch"]["size"], made["batch"]["last"]), batch)
                ops = made["output"][0]["ops"][1:]
                self.assertEqual([(entry["op"], entry["size"]) if "size" in entry else entry["op"] for entry in ops], operations)
                checked = subprocess.run([CTL, "check", self.file], capture_output=True, text=True, timeout=60)
                self.assertNotRegex(checked.stdout + checked.stderr, r"made\.toml:\d")

    def test_what_it_does_not_tell_is_named(self):
        for (script, dataset, *arguments), (code, parts) in NAMED.items():
            with self.subTest(script=script, dataset=dataset):
                done = self.migrated(script, dataset, *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                for part in parts:
                    self.assertIn(part, done.stderr)
                self.assertNotIn("@", done.stderr)
                self.file.unlink(missing_ok=True)

    def test_the_options_that_were_read_are_told(self):
        done = self.migrated("builders", "train", "--args", "--batch_size 9")
        self.assertIn("the values of the script's options: --batch_size = 9, --color_jitter = 0.3, "
                      "--data_path = '/data/imagenet'", done.stderr)
        self.assertIn("with the arguments '--batch_size 9': --batch_size = 9", self.file.read_text())
        self.migrated("builders", "train")
        self.assertIn("runs without arguments, so with the defaults", self.file.read_text())

    def test_each_script_of_the_folder_has_a_case(self):
        self.assertEqual({path.stem for path in FOLDER.glob("*.py")}, {key[0] for key in [*WHOLE, *NAMED]})
        self.assertGreaterEqual(len(list(FOLDER.glob("*.py"))), 20)


if __name__ == "__main__":
    unittest.main()
