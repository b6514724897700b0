"""Which samples a step has, the names of a batch's samples, and states that leave steps out."""
import json
import os
import subprocess
import sys
from pathlib import Path

import spdld
from case import BATCH, CLASSES, OF_EACH, PROGRAM, SAMPLES, STEPS, DaemonCase, make_pictures, spec_of
from daemon import Daemon


def names_in_order(folder):
    return [f"class-{label}/{number}.jpg" for label in range(CLASSES) for number in range(OF_EACH)]


class Ledger(DaemonCase):
    def spec(self, **changes):
        return super().spec(**{"order": {"epochs": 3}, "seed": 5, **changes})

    def check_whole_run(self, spec, **options):
        """The ledger tells every batch of a run before it comes, and after."""
        loader = self.attach(spec, **options)
        epochs = loader.epochs or 2
        told = [[loader.samples_of(epoch, step) for step in range(len(loader))] for epoch in range(epochs)]
        for epoch in range(epochs):
            for batch in loader:
                self.assertEqual((batch.epoch, epoch), (epoch, epoch))
                self.assertEqual([sample.id for sample in told[epoch][batch.step]], batch["sample_id"].tolist())
                self.assertEqual([sample.name for sample in told[epoch][batch.step]], batch.names)
        self.assertEqual(loader.samples_of(0, 0), told[0][0])
        return told

    def test_it_tells_what_the_batches_have(self):
        told = self.check_whole_run(self.spec())
        names = names_in_order(self.pictures)
        for epoch in told:
            self.assertEqual(sorted(sample.id for step in epoch for sample in step), list(range(SAMPLES)))
            self.assertTrue(all(names[sample.id] == sample.name for step in epoch for sample in step))

    def test_every_kind_of_order(self):
        weights = Path(self.folder.name) / "weights.csv"
        weights.write_text("".join(f"{number},{number % 3 + 1}\n" for number in range(SAMPLES)))
        of_weights = {"weights": str(weights), "epochs": 2}
        for number, changes in enumerate((
                {"order": {"epochs": 2, "shuffle": False}}, {"order": {"epochs": 2, "shuffle": "window", "window": 5}},
                {"order": {"epochs": 2, "epoch_samples": 10}}, {"order": {"epochs": 2, "repeats": 3}},
                {"order": {**of_weights, "replacement": True}}, {"order": {**of_weights, "replacement": False}},
                {"batch": {"size": 5, "last": "pad"}}, {"batch": {"size": 5, "last": "drop"}},
                {"batch": {"cost": "bytes", "cost_max": 40000, "size_max": 8}})):
            with self.subTest(changes=changes):
                self.check_whole_run(self.spec(**changes), group=f"{self.id()} {number}")

    def test_a_mix_of_sources(self):
        spec = self.spec(order={"epochs": 2})
        source = spec.pop("source")
        spec["sources"] = [{**source, "name": "one", "weight": 1}, {**source, "name": "two", "weight": 2}]
        self.check_whole_run(spec)

    def test_each_rank_and_each_size(self):
        loaders = [self.attach(self.spec(), rank=rank, world_size=3, batch_size=2) for rank in range(3)]
        for epoch in range(2):
            for batches in zip(*loaders):
                for rank, batch in enumerate(batches):
                    told = [loader.samples_of(epoch, batch.step, rank=rank) for loader in loaders]
                    self.assertEqual([sample.id for sample in told[0]], batch["sample_id"].tolist())
                    self.assertEqual(told, [told[0]] * 3)

    def test_it_names_the_run_also_where_the_last_steps_are_evened(self):
        spec = self.spec(batch={"size": 2}, order={"first": 17, "epochs": 1})
        loader = self.attach(spec, rank=0, world_size=4)
        page = spdld.query("samples", f"small step 0 0 0 0 0 0 group {self.id()}", loader.info.socket)
        self.assertEqual(page["fingerprint"], loader.info.fingerprint)

    def test_a_step_of_many_samples_comes_in_parts(self):
        spec = self.spec(order={"epochs": 1, "epoch_samples": 30000}, batch={"size": 20000},
                         output=[{"name": "label", "from": "class"}])
        loader = self.attach(spec)
        batch = loader.next()
        self.assertEqual([sample.id for sample in loader.samples_of(0, 0)], batch["sample_id"].tolist())
        self.assertEqual(len(batch.names), 20000)
        self.assertEqual(len(loader.samples_of(0, 1)), 10000)

    def test_a_substitute_has_its_own_name(self):
        folder = Path(self.folder.name) / "damaged"
        make_pictures(folder, classes=1, of_each=BATCH)
        (folder / "class-0/1.jpg").write_bytes(b"\xff\xd8 no picture")
        loader = self.attach(spec_of(folder, order={"epochs": 1, "shuffle": False}))
        with self.assertWarns(spdld.DataWarning):
            batch = loader.next()
        self.assertEqual([sample.id for sample in loader.samples_of(0, 0)], [0, 1, 2, 3])
        ids = batch["sample_id"].tolist()
        self.assertEqual(batch.names, [f"class-0/{id}.jpg" for id in ids])

    def test_it_knows_its_own_pipeline_among_those_of_one_name(self):
        other = Path(self.folder.name) / "other"
        make_pictures(other, classes=1, of_each=BATCH)
        mine = self.attach(self.spec())
        theirs = self.attach(spec_of(other), group=self.id() + " other")
        self.assertEqual(len(mine.samples_of(0, STEPS - 1)), BATCH)
        with self.assertRaisesRegex(spdld.InvalidError, "has no step 1: it has 1"):
            theirs.samples_of(0, 1)
        self.assertEqual(set(theirs.next().names), {f"class-0/{number}.jpg" for number in range(BATCH)})

    def test_what_cannot_be_told(self):
        loader = self.attach()
        for place, wanted in (((0, STEPS), f"has no step {STEPS}"), ((3, 0), "has no epoch 3"), ((0, 0, 1), "no rank 1 of 1")):
            with self.assertRaisesRegex(spdld.InvalidError, wanted):
                loader.samples_of(*place)
        batch = loader.next()
        loader.close()
        with self.assertRaises(spdld.NotFoundError):
            batch.names
        pushed = self.attach(self.spec(order={"shuffle": "client", "epochs": 1}), group=self.id() + " pushed")
        with self.assertRaisesRegex(spdld.InvalidError, "it alone knows what a step has"):
            pushed.samples_of(0, 0)

    def test_hostile_questions_are_answered_shortly(self):
        loader = self.attach()
        most = 2**64 - 1
        for words in ("step 0 0 0 0 0", "step 0 0 0 0 0 0 0", "step -1 0 0 0 0 0", "step a", "step", f"step {most} 0 0 0 0 0",
                      f"step 0 {most} 0 0 0 0", f"step 0 0 {most} 0 0 0", f"step 0 0 0 {most} 0 0",
                      f"step 0 0 0 1048576 {most} 0", f"step {2**65} 0 0 0 0 0"):
            with self.subTest(words=words), self.assertRaises((spdld.InvalidError, spdld.NotFoundError)):
                spdld.query("samples", f"small {words} group {self.id()}", loader.info.socket)
        page = spdld.query("samples", f"small step 0 0 0 0 {most} 0 group {self.id()}", loader.info.socket)
        self.assertEqual(len(page["samples"]), SAMPLES)
        page = spdld.query("samples", f"small step 0 0 0 0 0 {most} group {self.id()}", loader.info.socket)
        self.assertEqual((page["samples"], page["next"], page["count"]), ([], BATCH, BATCH))
        for group in ("nobody", self.id() + " ", "x" * 4000):
            with self.assertRaises((spdld.NotFoundError, spdld.InvalidError)):
                spdld.query("samples", f"small 0 group {group}", loader.info.socket)

    def test_other_users_are_told_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("only root can ask as another user")
        daemon = Daemon(PROGRAM, f'[pipelines]\ndir = "{self.folder.name}/named"\n[socket]\nmode = "0666"\n')
        self.addCleanup(daemon.close)
        os.chmod(daemon.folder, 0o755)
        with spdld.attach(self.spec(), socket=daemon.socket, group="mine", framework="numpy") as loader:
            loader.samples_of(0, 0)
            code = ("import json, sys; sys.path[:0] = json.loads(sys.argv[1]); import os; os.setgid(65530); os.setuid(65530); "
                    "import spdld\nfor words in ('small 0', 'small step 0 0 0 0 0 0', 'small step 0 0 0 0 0 0 group mine'):\n"
                    "    try: print(spdld.query('samples', words, sys.argv[2]))\n"
                    "    except spdld.NotFoundError: print('nothing')\n")
            asked = subprocess.run([sys.executable, "-c", code, json.dumps(sys.path), str(daemon.socket)], capture_output=True,
                                   text=True, timeout=60)
            self.assertEqual(asked.stdout, "nothing\n" * 3, asked.stderr)


class SkippedSteps(DaemonCase):
    def rest(self, loader):
        return [(batch.epoch, batch.step, batch["sample_id"].tolist()) for _ in range(2) for batch in loader]

    def test_a_state_leaves_a_span_of_steps_out(self):
        loader = self.attach(self.spec(seed=3))
        whole = self.rest(loader)
        loader.seek(0)
        loader.next()
        state = loader.state_dict()
        for skip in (0, 1, STEPS - 2, STEPS - 1, STEPS, 2 * STEPS - 2):
            with self.subTest(skip=skip):
                skipping = {**state, "skip_steps": skip}
                loader.load_state_dict(skipping)
                self.assertEqual(self.rest(loader), whole[1 + skip:])
                with self.attach(self.spec(seed=3), state=skipping, group=f"{self.id()} {skip}") as other:
                    self.assertNotIn("skip_steps", other.state_dict())
                    self.assertEqual(self.rest(other), whole[1 + skip:])
        loader.load_state_dict({**state, "skip_steps": 2 * STEPS - 1})
        self.assertEqual(self.rest(loader), [])

    def test_more_steps_than_there_are_is_refused(self):
        loader = self.attach()
        state = loader.state_dict()
        for skip in (2 * STEPS + 1, 2**63, 2**64 - 1):
            with self.assertRaisesRegex(spdld.InvalidError, r'leaves out \d+ steps \("skip_steps"\)'):
                loader.load_state_dict({**state, "skip_steps": skip})
            with self.assertRaises(spdld.InvalidError):
                self.attach(state={**state, "skip_steps": skip}, group=f"{self.id()} {skip}")
        for wrong in ("2", -1, 1.5, None):
            with self.assertRaises(spdld.InvalidError):
                loader.load_state_dict({**state, "skip_steps": wrong})
        self.assertEqual(loader.position, (0, 0))

    def test_an_endless_run_skips_as_far_as_it_likes(self):
        loader = self.attach(self.spec(order={"epochs": 0}))
        loader.load_state_dict({**loader.state_dict(), "skip_steps": 10 * STEPS + 2})
        self.assertEqual(loader.position, (10, 2))
        batch = loader.next()
        self.assertEqual((batch.epoch, batch.step), (10, 2))


if __name__ == "__main__":
    import unittest
    unittest.main()
