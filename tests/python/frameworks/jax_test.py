"""jax on the CPU, whose computations run behind the program: a training loop that keeps nothing, as people write it."""
import os
import unittest

import numpy as np

from case import STEPS, DaemonCase

EPOCHS = 6

LOOP = """
    import jax, jax.numpy as jnp

    @jax.jit
    def step(weights, image, label):
        features = image.astype("float32").reshape(len(image), -1)[:, :512] @ weights
        for _ in range(40):  # so long that the program is far ahead
            features = jnp.tanh(features @ weights[:256])
        loss = 0 * features.sum() + image.astype("int32").sum() + label.sum()
        return weights + 0 * loss, loss

    loader = attach(framework="jax", changes={"order": {"epochs": int(sys.argv[1])}})
    weights, losses, labels, ahead = jnp.ones((512, 256)), [], [], 0
    for _ in range(loader.epochs):
        for batch in loader:
            weights, loss = step(weights, batch["image"], batch["label"])
            ahead += not loss.is_ready()
            losses.append(loss)
            labels.append(batch["label"])
    del batch
    print(*(int(loss) for loss in losses))
    print(*(int(number) for label in labels for number in label))
    print(ahead, file=open(sys.argv[2], "w"))
    """


class Jax(DaemonCase):
    def run_script(self, text, *arguments):
        return super().run_script(text, *arguments, env={**os.environ, "JAX_PLATFORMS": "cpu"})

    def test_a_training_loop(self):
        expected, labels = [], []
        reference = self.attach(self.spec(order={"epochs": EPOCHS}), group="reference")
        for _ in range(EPOCHS):
            for batch in reference:
                expected.append(int(batch["image"].astype(np.int64).sum() + batch["label"].sum()))
                labels += batch["label"].tolist()
        ahead = f"{self.folder.name}/ahead"
        output = self.run_script(LOOP, EPOCHS, ahead)
        losses, kept = (list(map(int, line.split())) for line in output.splitlines())
        self.assertEqual((len(losses), losses, kept), (EPOCHS * STEPS, expected, labels))
        with open(ahead) as file:
            self.assertGreater(int(file.read()), 6)  # else the computations did not run behind the program

    def test_arrays_are_the_slots_memory_and_labels_are_not(self):
        output = self.run_script("""
            import jax
            loader = attach(framework="jax")
            batch = loader.next()
            print(*(batch[name].unsafe_buffer_pointer() == batch.tensor(name).__array_interface__["data"][0]
                    for name in ("image", "label")))
            print(isinstance(batch.copy()["image"], jax.Array))
            """)
        self.assertEqual(output.split(), ["True", "False", "True"])

    def test_a_list_of_an_epoch_that_fits(self):
        output = self.run_script("""
            import jax
            loader = attach(framework="jax")
            print(len([batch["image"] for batch in loader]) == len(loader), len(list(loader)) == len(loader))
            """)
        self.assertEqual(output.split(), ["True", "True"])


if __name__ == "__main__":
    unittest.main()
