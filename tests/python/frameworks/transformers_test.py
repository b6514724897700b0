"""spdld.torch.Loader in Hugging Face's Trainer: training, evaluation, resume_from_checkpoint, and two processes."""
import re
import tempfile
import unittest
from pathlib import Path

import torch
import transformers

import spdld
from case import BATCH, SAMPLES, STEPS
from torch_case import ProcessesCase, ShuffledCase, ids
from transformers_script import Model, Trainer, arguments_of

SCRIPT = Path(__file__).resolve().parent / "transformers_script.py"
EPOCHS = 2
NAMES = {"sample_id": "sample_id", "labels": "label", "pixel_values": "image"}
IN_ORDER = [list(range(at, at + BATCH)) for at in range(0, SAMPLES, BATCH)]


class TrainerCase(ShuffledCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="spdld-transformers-")
        self.addCleanup(folder.cleanup)
        self.output = Path(folder.name)
        with self.torch_loader(group="plain") as loader:
            self.whole = sum((ids(loader) for _ in range(EPOCHS)), [])

    def train_loader(self, **options):
        return self.torch_loader(**{"convert": NAMES, **options})

    def validation(self, **options):
        return self.torch_loader(self.spec(name="validation", order={"epochs": 1, "shuffle": False}), convert=NAMES, **options)

    def trainer(self, train, validation=None, metrics=None, **options):
        arguments = arguments_of(self.output, num_train_epochs=EPOCHS, **options)
        return Trainer(Model(), arguments, train, validation, compute_metrics=metrics)


class Training(TrainerCase):
    def test_epochs(self):
        loader = self.train_loader()
        trainer = self.trainer(loader)
        trainer.train()
        self.assertEqual(trainer.model.seen, self.whole)
        self.assertEqual((trainer.state.global_step, trainer.state.epoch), (EPOCHS * STEPS, EPOCHS))
        self.assertEqual((trainer.num_examples(loader), loader.epoch), (SAMPLES, EPOCHS))

    def test_a_number_of_steps(self):
        trainer = self.trainer(self.train_loader(), max_steps=STEPS + 2)
        trainer.train()
        self.assertEqual(trainer.model.seen, self.whole[:STEPS + 2])

    def test_gradient_accumulation(self):
        for rounds in (2, STEPS):
            loader = self.train_loader(group=f"{rounds}", held_max=rounds + 1)
            trainer = self.trainer(loader, gradient_accumulation_steps=rounds)
            trainer.train()
            self.assertEqual(trainer.model.seen, self.whole)
            self.assertEqual(trainer.state.global_step, EPOCHS * STEPS // rounds)

    def test_the_dict_of_all_outputs(self):
        class AllOutputs(Model):
            def forward(self, image, label, sample_id):
                return super().forward(sample_id, label)

        trainer = Trainer(AllOutputs(), arguments_of(self.output, num_train_epochs=1), self.torch_loader())
        trainer.train()
        self.assertEqual(trainer.model.seen, self.whole[:STEPS])

    def test_it_is_no_data_set_of_the_trainer_s(self):
        loader = self.train_loader()
        for size in (1, 8):
            arguments = arguments_of(self.output, per_device_train_batch_size=size, per_device_eval_batch_size=size)
            trainer = transformers.Trainer(Model(), arguments, train_dataset=loader, eval_dataset=loader)
            for run in (trainer.train, trainer.evaluate):
                with self.assertRaisesRegex(spdld.InvalidError, r"get_train_dataloader\(\) and get_eval_dataloader\(\)"):
                    run()


class Evaluation(TrainerCase):
    def test_each_second_step(self):
        told = []

        def metrics(prediction):
            told.append(prediction.label_ids.shape)
            return {"labels": int(prediction.label_ids.sum())}

        validation = self.validation()
        labels = sum(int(batch["labels"].sum()) for batch in validation)
        trainer = self.trainer(self.train_loader(), validation, metrics, eval_strategy="steps", eval_steps=2)
        trainer.train()
        rounds = EPOCHS * STEPS // 2
        self.assertEqual((trainer.model.seen, trainer.model.validated), (self.whole, IN_ORDER * rounds))
        self.assertEqual(told, [(SAMPLES,)] * rounds)
        losses = [entry for entry in trainer.state.log_history if "eval_loss" in entry]
        self.assertEqual([(entry["step"], entry["eval_labels"]) for entry in losses],
                         [(step, labels) for step in range(2, EPOCHS * STEPS + 1, 2)])

    def test_padding_is_in_no_metrics(self):
        sizes = []

        def metrics(prediction):
            sizes.append(len(prediction.predictions[1]))
            return {}

        for size, last, count in ((5, "pad", SAMPLES), (5, "short", SAMPLES), (5, "drop", 20), (4, "pad", SAMPLES)):
            batch = {"size": size, "last": last}
            validation = self.torch_loader(self.spec(name=f"{last}{size}", order={"epochs": 1}, batch=batch), convert=NAMES)
            sizes.clear()
            self.trainer(None, validation, metrics, per_device_eval_batch_size=size).evaluate()
            self.assertEqual(sizes, [count])

    def test_without_training(self):
        trainer = self.trainer(None, self.validation())
        for _ in range(2):
            self.assertIn("eval_loss", trainer.evaluate())
        other = self.torch_loader(self.spec(name="other", order={"epochs": 1, "shuffle": False}), convert=NAMES)
        self.assertIn("eval_loss", trainer.evaluate(other))
        self.assertEqual(trainer.model.validated, IN_ORDER * 3)

    def test_it_begins_and_ends_with_an_evaluation(self):
        trainer = self.trainer(self.train_loader(), self.validation(), eval_strategy="epoch", eval_on_start=True,
                               batch_eval_metrics=True, save_strategy="epoch", load_best_model_at_end=True,
                               metrics=lambda prediction, compute_result: {"last": compute_result})
        trainer.train()
        self.assertEqual((trainer.model.seen, trainer.model.validated), (self.whole, IN_ORDER * (EPOCHS + 1)))
        self.assertTrue(trainer.state.log_history[-2]["eval_last"])  # Accelerate knew which batch is the last


class Resuming(TrainerCase):
    def check(self, expected_steps, **options):
        """Goes on from each checkpoint of an undisturbed run."""
        rounds = options.get("gradient_accumulation_steps", 1)
        held_max = rounds + 1
        undisturbed = self.trainer(self.train_loader(group="undisturbed", held_max=held_max), self.validation(), **options)
        undisturbed.train()
        self.assertEqual(undisturbed.model.seen, self.whole)
        saved = sorted(int(path.name.split("-")[1]) for path in self.output.glob("checkpoint-*"))
        self.assertEqual(saved, list(expected_steps))
        for step in saved[:-1]:
            with self.subTest(step=step):
                handed = []

                def convert(batch):
                    handed.append(batch["sample_id"].tolist())
                    return {name: batch[old] for name, old in NAMES.items()}

                with self.torch_loader(group=f"from {step}", convert=convert, held_max=held_max) as loader:
                    trainer = self.trainer(loader, self.validation(group=f"from {step}"), **options)
                    trainer.train(resume_from_checkpoint=str(self.output / f"checkpoint-{step}"))
                self.assertEqual(trainer.model.seen, self.whole[step * rounds:])
                self.assertEqual(handed, trainer.model.seen)  # nothing was made to be skipped
                self.assertEqual(trainer.state.global_step, undisturbed.state.global_step)
                for mine, theirs in zip(trainer.model.parameters(), undisturbed.model.parameters()):
                    self.assertTrue(torch.equal(mine, theirs))

    def test_in_the_middle_of_an_epoch(self):
        self.check(range(1, EPOCHS * STEPS + 1), save_strategy="steps", save_steps=1)

    def test_between_epochs(self):
        self.check(range(STEPS, EPOCHS * STEPS + 1, STEPS), save_strategy="epoch")

    def test_with_evaluation_and_accumulation(self):
        rounds = 2
        self.check(range(1, EPOCHS * STEPS // rounds + 1), save_strategy="steps", save_steps=1, eval_strategy="steps",
                   eval_steps=1, gradient_accumulation_steps=rounds)

    def test_the_last_checkpoint_and_the_same_loader(self):
        loader = self.train_loader()
        self.trainer(loader, save_strategy="steps", save_steps=4, max_steps=STEPS + 2).train()
        trainer = self.trainer(loader, save_strategy="steps", save_steps=4)
        trainer.train(resume_from_checkpoint=True)
        self.assertEqual(trainer.model.seen, self.whole[STEPS + 2:])

    def test_by_a_sampler(self):
        def loader(group):
            sampler = torch.utils.data.DistributedSampler(range(SAMPLES), num_replicas=1, rank=0, seed=3)
            return self.torch_loader(self.spec(order={"epochs": 0}), sampler=sampler, convert=NAMES, group=group)

        undisturbed = self.trainer(loader("undisturbed"), save_strategy="steps", save_steps=STEPS + 2)
        undisturbed.train()
        trainer = self.trainer(loader("resumed"), save_strategy="steps", save_steps=STEPS + 2)
        trainer.train(resume_from_checkpoint=str(self.output / f"checkpoint-{STEPS + 2}"))
        self.assertEqual(trainer.model.seen, undisturbed.model.seen[STEPS + 2:])


class Processes(ProcessesCase):
    def told(self, *arguments):
        """What each rank said: {kind: its lines}."""
        code, output, errors = self.torchrun(2, SCRIPT, self.pictures, *arguments)
        self.assertEqual(code, 0, errors)
        told = [{"seen": [], "validated": [], "gathered": [], "weights": []} for _ in range(2)]
        for rank, kind, line in re.findall(r"^rank (\d) (\w+) (.+)$", output, re.MULTILINE):
            told[int(rank)][kind].append(line)
        return told

    def test_each_rank_has_its_own_part_and_goes_on(self):
        with tempfile.TemporaryDirectory(prefix="spdld-transformers-") as folder:
            whole, rest = self.told("--folder", folder), self.told("--folder", folder, "--resume", 2)
        steps = SAMPLES // 2 // BATCH
        for epoch in range(2):
            seen = [line for rank in whole for line in rank["seen"][epoch * steps:(epoch + 1) * steps]]
            self.assertEqual(sorted(map(int, " ".join(seen).split())), list(range(SAMPLES)))
        for undisturbed, resumed in zip(whole, rest):
            self.assertEqual(resumed["seen"], undisturbed["seen"][2:])
            self.assertEqual(resumed["weights"], undisturbed["weights"])
            self.assertEqual(undisturbed["validated"], undisturbed["validated"][:steps] * steps)
            self.assertEqual(undisturbed["gathered"], [" ".join(map(str, range(SAMPLES)))] * steps)  # once each, no padding
        self.assertEqual(whole[0]["weights"], whole[1]["weights"])


if __name__ == "__main__":
    unittest.main()
