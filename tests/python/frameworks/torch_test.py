"""spdld.torch: a loop of torch's over epochs, its checkpoints, and its processes."""
import io
import os
import pickle
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
from torch.utils.data import DataLoader

import spdld
import spdld.torch
from case import BATCH, SAMPLES, STEPS
from torch_case import ProcessesCase, ShuffledCase, ids

EXAMPLE = Path(__file__).resolve().parents[3] / "client/python/examples/ddp.py"


class Loops(ShuffledCase):
    def test_an_epoch_each_for(self):
        loader = self.torch_loader()
        self.assertIsInstance(loader, torch.utils.data.IterableDataset)
        self.assertEqual((len(loader), loader.info.samples), (STEPS, SAMPLES))
        epochs = []
        for epoch in range(3):
            self.assertEqual(loader.epoch, epoch)
            epochs.append(ids(loader))
            self.assertEqual(sorted(sum(epochs[-1], [])), list(range(SAMPLES)))
        self.assertNotEqual(epochs[0], epochs[1])
        loader.set_epoch(1)
        self.assertEqual(ids(loader), epochs[1])
        for epoch in range(3):
            loader.set_epoch(epoch)
            self.assertEqual(ids(loader), epochs[epoch])

    def test_a_batch_is_a_dict_of_tensors(self):
        batch = next(iter(self.torch_loader()))
        self.assertEqual({name: (type(value), tuple(value.shape)) for name, value in batch.items()},
                         {"image": (torch.Tensor, (BATCH, 32, 32, 3)), "label": (torch.Tensor, (BATCH,)),
                          "sample_id": (torch.Tensor, (BATCH,))})
        self.assertIs(type(batch), dict)

    def test_what_a_batch_becomes(self):
        loader = self.torch_loader(convert=lambda batch: (batch["image"], batch["label"], batch.step))
        for number, (images, labels, step) in enumerate(loader):
            self.assertEqual((images.shape[0], labels.shape[0], step), (BATCH, BATCH, number))

    def test_the_profiler_of_torch_sees_each_batch(self):
        loader = self.torch_loader()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            ids(loader)
        marks = [event for event in profile.events() if event.name == "spdld.next"]
        self.assertEqual(len(marks), STEPS + 1)  # the last one finds the end of the epoch
        self.assertIs(spdld.torch._marked(), spdld.torch._marked())  # nothing is made where nobody profiles

    def test_no_batch_is_kept(self):
        loader = self.torch_loader(held_max=1)
        for _ in range(2):
            for batch in loader:
                del batch  # with one to hold, the next one comes after that alone

    def test_an_epoch_that_was_left_is_followed_by_the_next(self):
        loader = self.torch_loader()
        whole = [ids(loader), ids(loader), ids(loader)]
        for left_after in (1, STEPS - 1, STEPS):
            loader.set_epoch(0)
            self.assertEqual(ids(loader, left_after), whole[0][:left_after])
            self.assertEqual(ids(loader), whole[1])
            self.assertEqual(loader.epoch, 2)

    def test_an_iterator_ends_with_its_epoch(self):
        loader = self.torch_loader()
        first = iter(loader)
        self.assertEqual(len(ids(first)), STEPS)
        self.assertEqual(ids(first), [])
        second = iter(loader)
        next(second)
        third = iter(loader)
        with self.assertRaisesRegex(spdld.InvalidError, "over"):
            next(second)
        self.assertEqual(len(ids(third)), STEPS)
        fourth = iter(loader)
        next(fourth)
        loader.set_epoch(0)
        with self.assertRaisesRegex(spdld.InvalidError, "over"):
            next(fourth)

    def test_an_iterator_that_gave_nothing_yet_moves_along(self):
        loader = self.torch_loader()
        whole = [ids(loader) for _ in range(2)]
        loader.set_epoch(0)
        ids(loader, 2)
        state = loader.state_dict()
        batches = iter(loader)
        loader.set_epoch(1)
        loader.set_epoch(0)
        self.assertEqual(ids(batches), whole[0])
        loader.set_epoch(0)
        ids(loader, 2)
        unused, used = iter(loader), iter(loader)
        loader.load_state_dict(state)
        self.assertEqual(ids(used), whole[0][2:])
        with self.assertRaisesRegex(spdld.InvalidError, "over"):
            next(unused)
        again = self.torch_loader(group="again", state=state)
        for _ in range(3):
            iter(again)  # that the rest was asked for moves nothing
        self.assertEqual(again.state_dict(), state)
        self.assertEqual(ids(again), whole[0][2:])

    def test_the_epoch_told_to_a_sampler(self):
        loader = self.torch_loader()
        whole = [ids(loader) for _ in range(2)]
        for epoch in (1, 0):
            loader.sampler.set_epoch(epoch)
            self.assertEqual(ids(loader), whole[epoch])
            loader.batch_sampler.sampler.set_epoch(epoch)
            self.assertEqual(ids(loader), whole[epoch])
        self.assertEqual(loader.batch_sampler.batch_size, BATCH)

    def test_after_the_last_epoch(self):
        loader = self.torch_loader(self.spec(order={"epochs": 2}))
        self.assertEqual([len(ids(loader)) for _ in range(2)], [STEPS] * 2)
        with self.assertRaisesRegex(spdld.InvalidError, "order.epochs"):
            iter(loader)
        loader.set_epoch(0)
        self.assertEqual(len(ids(loader)), STEPS)

    def test_the_only_epoch_as_often_as_one_likes(self):
        loader = self.torch_loader(self.spec(order={"epochs": 1}))
        whole = ids(loader)
        self.assertEqual(sorted(sum(whole, [])), list(range(SAMPLES)))
        self.assertEqual(ids(loader), whole)
        self.assertEqual(ids(loader, 2), whole[:2])
        self.assertEqual(ids(loader), whole)
        for epoch in (0, 1, 7):  # as the training's is told to all loaders
            loader.set_epoch(epoch)
            self.assertEqual(ids(loader), whole)
        ended = loader.state_dict()
        other = self.torch_loader(self.spec(order={"epochs": 1}), group="other", state=ended)
        with self.assertRaisesRegex(spdld.InvalidError, "all 1 epochs"):  # a run that had ended goes not on
            iter(other)
        loader.load_state_dict(ended)
        with self.assertRaisesRegex(spdld.InvalidError, "all 1 epochs"):
            iter(loader)

    def test_training_and_validation_by_turns(self):
        train, validation = self.torch_loader(), self.torch_loader(self.spec(name="validation", order={"shuffle": False,
                                                                                                        "epochs": 0}))
        for _ in range(3):
            self.assertEqual(sorted(sum(ids(train), [])), list(range(SAMPLES)))
            self.assertEqual(sum(ids(validation), []), list(range(SAMPLES)))

    def test_in_a_data_loader(self):
        alone = [ids(self.torch_loader(group="alone"))]
        loader = DataLoader(self.torch_loader(), batch_size=None)
        self.assertEqual(len(loader), STEPS)
        self.assertEqual(ids(loader), alone[0])
        self.assertEqual(len(ids(loader)), STEPS)

    def test_in_no_worker_process(self):
        loader = DataLoader(self.torch_loader(), batch_size=None, num_workers=1)
        with self.assertRaisesRegex(spdld.UnsupportedError, "num_workers=0"):
            ids(loader)
        with self.assertRaisesRegex(spdld.UnsupportedError, "num_workers=0"):
            pickle.dumps(self.torch_loader(group="other"))


class Checkpoints(ShuffledCase):
    def test_the_rest_of_an_epoch_and_then_the_next(self):
        loader = self.torch_loader()
        whole = [ids(loader) for _ in range(3)]
        for taken in range(STEPS + 1):
            loader.set_epoch(0)
            ids(loader, taken or None) if taken else None
            saved = io.BytesIO()
            torch.save({"loader": loader.state_dict()}, saved)
            saved.seek(0)
            state = torch.load(saved)["loader"]
            with self.subTest(state=state):
                loader.set_epoch(7)
                loader.load_state_dict(state)
                epoch = taken // STEPS
                self.assertEqual(loader.epoch, epoch)
                loader.set_epoch(epoch)  # as a loop does before each epoch: the rest of this one follows all the same
                self.assertEqual(ids(loader), whole[epoch][taken % STEPS:])
                self.assertEqual(ids(loader), whole[epoch + 1])

    def test_set_epoch_after_the_rest_is_a_whole_epoch(self):
        loader = self.torch_loader()
        whole = ids(loader, 2) + ids(iter([]))
        loader.set_epoch(0)
        ids(loader, 1)
        state = loader.state_dict()
        loader.load_state_dict(state)
        self.assertEqual(ids(loader, 1), whole[1:2])
        loader.set_epoch(0)
        self.assertEqual(ids(loader, 2), whole)
        loader.load_state_dict(state)
        loader.set_epoch(1)
        self.assertEqual((loader.epoch, len(ids(loader))), (1, STEPS))

    def test_a_program_that_counts_its_epochs_and_saved_with_the_last_batch(self):
        loader = self.torch_loader()
        whole = [ids(loader) for _ in range(3)]
        for saved_in in range(2):
            loader.set_epoch(saved_in)
            ids(loader, STEPS)
            state, seen = loader.state_dict(), []
            loader.load_state_dict(state)
            for epoch in range(saved_in, 3):
                loader.set_epoch(epoch)
                seen.append(ids(loader))
            self.assertEqual(seen, [[], *whole[saved_in + 1:]])
        loader.load_state_dict(state)
        loader.set_epoch(1)
        loader.set_epoch(2)  # the empty rest of epoch 1 was not asked for in the end
        self.assertEqual(ids(loader), whole[2])
        loader.set_epoch(1)
        self.assertEqual(ids(loader), whole[1])
        two = self.torch_loader(self.spec(name="two", order={"epochs": 2}), epoch=2)
        two.set_epoch(1)
        self.assertEqual(ids(two), [])

    def test_attached_with_a_state(self):
        loader = self.torch_loader()
        whole = ids(loader)
        loader.set_epoch(0)
        ids(loader, 2)
        again = self.torch_loader(group="again", state=loader.state_dict())
        self.assertEqual(ids(again), whole[2:])
        self.assertEqual(again.epoch, 1)

    def test_a_state_of_another_run(self):
        state = self.torch_loader().state_dict()
        other = self.torch_loader(self.spec(name="other", seed=8))
        with self.assertRaises(spdld.ChangedError):
            other.load_state_dict(state)
        other.load_state_dict({**state, "step": 2, "samples": 2 * BATCH}, strict=False)
        self.assertEqual(len(ids(other)), STEPS - 2)


class Processes(ProcessesCase):
    def train(self, *arguments, count=2):
        """(loss, samples) of each step of each rank."""
        code, output, errors = self.torchrun(count, EXAMPLE, self.pictures, "--checkpoint", self.checkpoint, *arguments)
        self.assertEqual(code, 0, errors)
        told = [[] for _ in range(count)]
        for rank, epoch, loss, samples in re.findall(r"^rank (\d+) epoch (\d+) loss (\S+) samples ([\d ]+)$", output,
                                                     re.MULTILINE):
            told[int(rank)].append((int(epoch), float(loss), samples.split()))
        return told

    def test_the_example_goes_on_where_it_stopped(self):
        folder = tempfile.TemporaryDirectory(prefix="spdld-ddp-")
        self.addCleanup(folder.cleanup)
        self.checkpoint = Path(folder.name) / "whole.pt"
        steps = 2 * (SAMPLES // 8)
        whole = self.train()
        self.assertEqual([len(rank) for rank in whole], [steps] * 2)
        self.assertTrue(all(len(samples) == 4 for rank in whole for _, _, samples in rank))
        for epoch in range(2):
            seen = [int(sample) for rank in whole for at, _, samples in rank if at == epoch for sample in samples]
            self.assertEqual(sorted(seen), list(range(SAMPLES)))
        self.checkpoint = Path(folder.name) / "stopped.pt"
        parts = [self.train("--steps", 4), self.train()]  # into epoch 1, and to the end
        self.assertEqual([len(part[0]) for part in parts], [4, steps - 4])
        for rank in range(2):
            self.assertEqual(sum((part[rank] for part in parts), []), whole[rank])

    def test_ranks_that_differ_are_told_apart_before_the_first_step(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(CHECKING.format(folder=os.path.dirname(__file__), pictures=str(self.pictures), group=self.id()))
            script.flush()
            code, output, errors = self.torchrun(2, script.name)
        self.assertEqual(code, 0, errors)
        for case, words in (("same", "right"), ("seed", "ChangedError process 1 .*the pipeline's spec differs"),
                            ("place", "ChangedError process 1 stands at epoch 0, step 2, and process 0 at epoch 0, step 0"),
                            ("rank", "InvalidError no process reads the batches of rank 1 of 2"),
                            ("size", "ChangedError process 1 .*the global batch size differs"),
                            ("world", "ChangedError process 1 is one of 1 ranks with 6 steps an epoch")):
            said = re.findall(f"^{case}: (.*)$", output, re.MULTILINE)
            self.assertEqual((len(said), len(set(said))), (2, 1), said)  # both the same
            self.assertRegex(said[0], f"^{words}")

    def test_replicas_find_one_another(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(REPLICAS.format(folder=os.path.dirname(__file__), pictures=str(self.pictures)))
            script.flush()
            code, output, errors = self.torchrun(3, script.name)
        self.assertEqual(code, 0, errors)
        self.assertEqual(sorted(re.findall("^replicas: (.*)$", output, re.MULTILINE)), ["0 0 2 2", "1 0 2 2", "2 1 2 1"])

    def test_without_a_process_group(self):
        spdld.torch.check_ranks(self.torch_loader())
        with self.assertRaisesRegex(spdld.InvalidError, "init_process_group"):
            spdld.torch.check_ranks(self.attach(group="other", rank=0, world_size=2))

    def test_ranks_of_processes_that_no_launcher_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            processes = [self.script("""
                import torch, spdld.torch
                from case import spec_of
                for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
                    os.environ.pop(name, None)
                pictures, socket, folder, rank = sys.argv[1:]
                early = spdld.torch.Loader(spec_of(pictures), socket=socket, group="early" + rank)
                for_each = spdld.torch.Loader(spec_of(pictures), socket=socket, group="each" + rank, rank=0, world_size=1)
                torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=int(rank),
                                                     world_size=2)
                assert sum(len(batch["label"]) for batch in for_each) == for_each.info.samples
                try:
                    iter(early)
                except spdld.InvalidError as error:
                    assert "before the process group" in str(error), error
                else:
                    raise AssertionError("each process would have had all samples")
                loader = spdld.torch.Loader(spec_of(pictures), socket=socket)
                spdld.torch.check_ranks(loader)
                print(loader.info.rank, loader.info.world_size)
                torch.distributed.barrier()
                torch.distributed.destroy_process_group()
                """, self.pictures, self.daemon.socket, folder, rank,
                env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"}) for rank in range(2)]
            for rank, process in enumerate(processes):
                with process:
                    try:
                        output, errors = process.communicate(timeout=60)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        raise
                    self.assertEqual((process.returncode, output.split()), (0, [str(rank), "2"]), errors)


REPLICAS = """
import os, sys
import torch.distributed as dist
import spdld, spdld.torch
sys.path.insert(0, {folder!r})
from case import spec_of
dist.init_process_group("gloo")
rank = dist.get_rank()  # 0, 1: a tensor-parallel pair; 2: alone with its data, as the half of a pair on two nodes is
loader = spdld.torch.Loader(spec_of({pictures!r}, name="replicas", order={{"epochs": 0}}, batch={{"global_size": 4}}),
                            dp_rank=rank // 2, dp_size=2)
spdld.torch.check_ranks(loader)
for epoch in range(2):
    loader.set_epoch(epoch)
    for batch in loader:
        told = [None] * 3
        dist.all_gather_object(told, batch["sample_id"].tolist())
        assert told[0] == told[1] != told[2], told
state = None
for epoch, left_after in ((2, 2), (3, 1), (4, 0)):  # left in the middle by all, one of the pair a batch later
    for step, batch in enumerate(loader):
        assert loader.epoch == epoch, (loader.epoch, epoch)
        told = [None] * 3
        dist.all_gather_object(told, batch["sample_id"].tolist())
        assert told[0] == told[1] != told[2], told
        state = state or loader.state_dict()
        if step == left_after:
            break
    if rank == 1:
        loader.loader.next(timeout=20)
loader.load_state_dict(state)
assert (state["epoch"], state["step"]) == (2, 1)
for step, batch in enumerate(loader):
    told = [None] * 3
    dist.all_gather_object(told, batch["sample_id"].tolist())
    assert told[0] == told[1] != told[2], told
assert loader.epoch == 3 and step + 2 == len(loader)
ring = next(ring for ring in spdld.query("describe", "replicas")["rings"] if os.getpid() in ring["pids"])
print("replicas:", rank, loader.info.rank, loader.info.world_size, ring["readers"], flush=True)
dist.barrier()
dist.destroy_process_group()
"""

CHECKING = """
import sys
import torch.distributed as dist
import spdld, spdld.torch
sys.path.insert(0, {folder!r})
from case import spec_of
dist.init_process_group("gloo")
rank = dist.get_rank()
for case, options, changes in (
        ("same", {{}}, {{}}),
        ("seed", {{}}, {{"seed": 5 + rank}}),
        ("place", {{"step": 2 * rank}}, {{}}),
        ("rank", {{"rank": 0, "world_size": 2}}, {{}}),
        ("size", {{}}, {{"batch": {{"size": 4 + rank}}}}),
        ("world", {{"rank": 0, "world_size": 2 - rank}}, {{}})):
    spec = spec_of({pictures!r}, **{{"batch": {{"global_size": 4}}, **changes}})
    loader = spdld.torch.Loader(spec, group={group!r} + case + str(rank), **options)
    try:
        spdld.torch.check_ranks(loader)
        print(case + ": right", flush=True)
    except spdld.Error as error:
        print(case + ":", type(error).__name__, error, flush=True)
    loader.close()
# A process that ends with its group open may be ended by it: some of the threads of gloo still run then.
dist.barrier()
dist.destroy_process_group()
"""

if __name__ == "__main__":
    unittest.main()
