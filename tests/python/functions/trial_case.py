"""What the tests of spdld.try_sample share."""
import numpy as np
from functions_test import FunctionsCase, python, tensor

import spdld

NOISY = python("own_functions:noisy", tensor("uint8", 32, 32, 3))
CROPPED = [{"op": "decode-image"}, {"op": "random-resized-crop", "size": 32}, {"op": "horizontal-flip"}]


class TrialCase(FunctionsCase):
    def trial(self, spec, sample=17, **options):
        return spdld.try_sample(spec, sample, socket=self.daemon.socket, timeout=20, **options)

    def assert_bad(self, spec, sample=17, **options):
        try:
            self.trial(spec, sample, **options)
        except spdld.TrialError as error:  # assertRaises would clear its frames
            return error
        raise AssertionError("no TrialError")

    def chain(self, *ops, **changes):
        outputs = [{"name": "image", "from": "image", "ops": list(ops)}, {"name": "label", "from": "class"}]
        return self.spec(output=outputs, **changes)

    def in_a_run(self, spec, sample=17, epoch=0):
        """The sample's part of each tensor, as the crew's processes and the daemon make it for a trainer."""
        for batch in self.attach(spec, epoch=epoch, group=f"{self.id()}-run-{epoch}"):
            for row, number in enumerate(np.asarray(batch["sample_id"]).tolist()):
                if number == sample:
                    return {name: np.array(batch[name][row]) for name in batch if name != "sample_id"}
        raise AssertionError(f"no sample {sample}")

    def assert_same(self, spec, sample=17, epoch=0):
        trial, run = self.trial(spec, sample, epoch=epoch), self.in_a_run(spec, sample, epoch)
        self.assertEqual(set(trial.outputs), set(run))
        for name, value in run.items():
            self.assertTrue(np.array_equal(trial.outputs[name], value), f"{name} of epoch {epoch}")
        return trial
