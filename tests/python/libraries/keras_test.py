"""spdld.keras.Loader in the real Keras 3, on torch and on jax."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import keras_apart
from case import BATCH, SAMPLES, STEPS, DaemonCase, spec_of
from daemon import make_pictures, pipeline_text
from labels_test import write_archive

HERE = Path(__file__).resolve().parent
EPOCHS = 6
AHEAD = {"torch": 1, "jax": 2}  # the batches that Keras takes to learn the shapes, and drops


def block_of_the_page():
    section = (HERE.parents[2] / "docs/trainers.md").read_text().split("\n## Keras\n")[1].split("\n## ")[0]
    block, = re.findall(r"```python gpu\n(.*?)```", section, re.DOTALL)
    return block


class KerasCase(DaemonCase):
    """The parts of keras_script.py run in one process, because importing Keras takes the longest of all."""

    backend, parts = "", {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.options = {part: {"pipeline": spec_of(cls.pictures, name=part, order={"epochs": 0}), "socket": str(cls.daemon.socket),
                              "x": "image", "y": "label", **changes} for part, changes in cls.parts.items()}
        for name, epochs in (("train", 0), ("val", 1)):
            (Path(cls.folder.name) / f"{name}.toml").write_text(pipeline_text(cls.pictures, f"page-{name}", epochs=epochs))
        done = subprocess.run([sys.executable, HERE / "keras_script.py", json.dumps(cls.options)], capture_output=True, text=True,
                              timeout=240, cwd=cls.folder.name,
                              env={**os.environ, **cls.daemon.environment(), "KERAS_BACKEND": cls.backend, "JAX_PLATFORMS": "cpu",
                                   "KERAS_HOME": cls.folder.name})
        if done.returncode != 0 or done.stderr:
            raise AssertionError(f"{done.returncode} {done.stdout}{done.stderr}")
        cls.made = json.loads(done.stdout.splitlines()[-1])  # Keras draws progress bars before

    def labels(self, part, epochs=EPOCHS):
        """The labels of each batch, epoch for epoch, as spdld.attach gives them."""
        with self.attach(self.options[part]["pipeline"]) as loader:
            return [[batch["label"].tolist() for batch in loader] for _ in range(epochs)]


@unittest.skipUnless(keras_apart.is_there(), "tests/install installs Keras")
class OnJax(KerasCase):
    backend, parts = "jax", {"train": {}, "judge": {"sample_weight": "label"}, "left": {}, "state": {}, "page": {}}

    @classmethod
    def setUpClass(cls):
        damaged = tempfile.TemporaryDirectory(prefix="spdld-keras-")
        cls.addClassCleanup(damaged.cleanup)
        make_pictures(Path(damaged.name), 3, 4)
        (Path(damaged.name) / "class-1" / "2.jpg").write_bytes(b"no picture")
        masked = {**spec_of(damaged.name, name="masked"), "order": {"epochs": 0}, "on_bad": "mask"}
        cls.parts = {**cls.parts, "page": {"block": block_of_the_page()}, "masked": {"pipeline": masked, "sample_weight": "mask"}}
        super().setUpClass()

    def test_the_block_of_the_page(self):
        self.assertEqual(self.made["page"], 2)

    def test_each_pass_is_one_epoch_in_the_pipelines_order(self):
        made, epochs, ahead = self.made["train"], self.labels("train"), AHEAD[self.backend]
        self.assertEqual(made["whole"], epochs[0][:ahead] + epochs[0] + epochs[1] + epochs[2])
        self.assertEqual(made["short"][:STEPS], epochs[3])  # three times two steps of one pass
        self.assertEqual(made["last"], epochs[4])
        self.assertEqual((made["epochs"], made["validation"]), (3, 3 * STEPS))
        asked = made["asked"][ahead:]
        self.assertEqual(sorted(asked), sorted(3 * list(range(STEPS))))
        self.assertNotEqual(asked, 3 * list(range(STEPS)))  # Keras's own shuffling changes no order

    def test_a_loss_and_predictions_are_as_numpy_computes_them(self):
        for part, samples, weight in (("judge", SAMPLES, SAMPLES), ("masked", 12, 11)):
            made = self.made[part]
            self.assertEqual((made["samples"], made["weight"]), (samples, weight))
            self.assertLess(abs(made["loss"] - made["expected"]), 1e-4 * made["expected"])
            self.assertLess(made["apart"], 1e-3)

    def test_a_pass_that_is_left_begins_anew(self):
        epochs = self.labels("left", 2)
        self.assertEqual(self.made["left"], epochs[0] + epochs[1])

    def test_a_state_is_of_a_whole_epoch(self):
        epochs = self.labels("state", 3)
        # In the middle and at the end of two epochs; then set_epoch(1).
        self.assertEqual(self.made["state"], [[0, epochs[0]], [1, epochs[1]], [1, epochs[1]], [2, epochs[2]], [1, epochs[1]]])


class OnTorch(OnJax):
    backend = "torch"
    parts = {**OnJax.parts, "refusals": {}, "first": {"x": {"left": "image", "right": "image"}, "y": ["label", "label"]},
             "ragged": {"x": "tokens", "y": None}}

    @classmethod
    def setUpClass(cls):
        ragged = tempfile.TemporaryDirectory(prefix="spdld-keras-")
        cls.addClassCleanup(ragged.cleanup)
        write_archive(Path(ragged.name) / "0.tar", {f"{number}.txt": b"1 2 3"[:1 + 2 * (number % 3)] for number in range(8)})
        tokens = {"name": "tokens", "from": "txt", "ops": [{"op": "parse-list", "dtype": "int64"}], "ragged": True,
                  "length_max": 3}
        pipeline = {"name": "ragged", "source": {"type": "webdataset", "uri": ragged.name}, "batch": {"size": 4},
                    "output": [tokens]}
        cls.parts = {**cls.parts, "ragged": {**cls.parts["ragged"], "pipeline": pipeline}}
        super().setUpClass()

    def test_what_cannot_work_is_refused_with_a_sentence(self):
        told = self.made["refusals"]
        for name, sentence in (
                ("workers", "InvalidError: spdld.keras.Loader has no workers=: the daemon's threads"),
                ("framework", "TypeError: spdld.keras.Loader has no argument 'framework'"),
                ("weight alone", "InvalidError: sample_weight weighs a loss, which compares with y"),
                ("names", "InvalidError: x and y are names of outputs, .* and not 3"),
                ("no output", "KeyError: .*no tensor .*picture"),
                ("client", 'InvalidError: pipeline refusals has order.shuffle = "client"'),
                ("number", "IndexError: batch 6 of 6"),
                ("set workers", "InvalidError: a spdld.keras.Loader has no workers"),
                ("set processes", "InvalidError: a spdld.keras.Loader has no workers"),
                ("copied", "UnsupportedError: a spdld.keras.Loader cannot be copied"),
                ("too many", "InvalidError: Keras asks for more than the 6 batches .* a spdld.keras.Loader each"),
                ("one for both", "InvalidError: Keras asks for more than the 6 batches"),
                ("backend", "UnsupportedError: Keras runs on tensorflow, and spdld.keras works with torch and jax"),
                ("closed", "<spdld.keras.Loader")):
            self.assertRegex(told[name], "^" + sentence, name)
        self.assertEqual(told["its workers"], [0, False])

    def test_several_inputs_and_targets(self):
        picture = [BATCH, 32, 32, 3]
        self.assertEqual(self.made["first"], [{"left": picture, "right": picture}, [[BATCH], [BATCH]]])

    def test_a_ragged_output(self):
        self.assertRegex(self.made["ragged"], "^UnsupportedError: the output tokens is ragged, and Keras takes arrays")


if __name__ == "__main__":
    unittest.main()
