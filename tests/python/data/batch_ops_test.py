"""Mixup and cutmix beside their formulas, computed from unmixed batches of the same positions by a model of the draws."""
import math
import shutil
import unittest
from pathlib import Path

import numpy as np
import spdld
from case import CLASSES, SAMPLES, DaemonCase
from draws import M64, Draw, beta

SEED, SIDE = 11, 32


def mixed(dtype, own, other, lam):
    """torch: x.roll(1, 0).mul_(1 - lam).add_(x.mul(lam)), rounded for integers."""
    if dtype == np.float64:
        return other * (1 - lam) + own * lam
    value = other.astype(np.float32) * np.float32(1 - lam) + own.astype(np.float32) * np.float32(lam)
    return np.floor(value + np.float32(0.5)).astype(np.uint8) if dtype == np.uint8 else value.astype(dtype)


def expect(plain, epoch, operations, group):
    """What an epoch's samples, in the order of their positions, become."""
    result = {name: rows.copy() for name, rows in plain.items()}
    count = len(plain["sample_id"])
    result["lam"], result["partner"] = np.ones(count, np.float32), plain["sample_id"].copy()
    for p in range(count):
        first = p // group * group
        members = min(group, count - first)
        other = first + (p - first - 1) % members
        chosen, up_to = Draw(SEED, epoch, p, "batch.ops").uniform(), 0
        for name, alpha, share in operations:
            up_to += share
            if chosen < up_to:
                break
        else:
            continue
        if members == 1:
            continue
        draw = Draw(SEED, epoch, p, name)
        lam = beta(draw, alpha)
        if name == "cutmix":
            ratio = 0.5 * math.sqrt(1 - lam)
            x, y, half = draw.below(SIDE), draw.below(SIDE), int(ratio * SIDE)
            x1, y1, x2, y2 = max(x - half, 0), max(y - half, 0), min(x + half, SIDE), min(y + half, SIDE)
            result["image"][p, y1:y2, x1:x2] = plain["image"][other, y1:y2, x1:x2]
            result["planes"][p, :, y1:y2, x1:x2] = plain["planes"][other, :, y1:y2, x1:x2]
            lam = 1.0 - (x2 - x1) * (y2 - y1) / (SIDE * SIDE)
        else:
            for image in ("image", "planes"):
                result[image][p] = mixed(plain[image].dtype, plain[image][p], plain[image][other], lam)
        result["label"][p] = mixed(np.float32, plain["label"][p], plain["label"][other], lam)
        result["lam"][p], result["partner"][p] = lam, plain["sample_id"][other]
    return result


BOTH = [("mixup", 0.2, 0.5), ("cutmix", 1.0, 0.3)]


class BatchOperations(DaemonCase):
    def mix_spec(self, operations=(), batch=None, **changes):
        table = {"size": 4, **(batch or {})}
        if operations:
            table["ops"] = [{"op": name, "images": ["image", "planes"], "labels": ["label"], "alpha": alpha, "share": share}
                            for name, alpha, share in operations]
            table.update(lam="lam", partner="partner")
        else:
            table.pop("group", None)
        return {**self.spec(), "seed": SEED, "batch": table, "output": [
            {"name": "image", "from": "image", "ops": [{"op": "decode-image"}, {"op": "resize", "size": [SIDE, SIDE]}]},
            {"name": "planes", "from": "image", "ops": [
                {"op": "decode-image"}, {"op": "resize", "size": [SIDE, SIDE]},
                {"op": "normalize", "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4], "dtype": "float32", "layout": "NCHW"}]},
            {"name": "label", "from": "class", "ops": [{"op": "one-hot", "classes": CLASSES}]}], **changes}

    def column(self, loaders, epoch=0):
        """The samples of an epoch by position: the ranks' parts of a step stand one after the other."""
        rows = {}
        iterators = [iter(loader) for loader in loaders]
        while True:
            batches = [next(one, None) for one in iterators]
            if all(batch is None for batch in batches):
                return {name: np.concatenate(parts) for name, parts in rows.items()}
            for batch in batches:
                self.assertEqual(batch.epoch, epoch)
                for name in batch.keys():
                    rows.setdefault(name, []).append(np.array(batch[name]))

    def epoch(self, spec, **options):
        self.runs = getattr(self, "runs", 0) + 1
        world = options.pop("world_size", 1)
        ranks = [self.attach(spec, group=f"{self.id()}-{self.runs}", rank=rank, world_size=world, **options)
                 for rank in range(world)]
        found = self.column(ranks)
        for loader in ranks:
            loader.close()
        return found

    def check(self, got, expected, count=None):
        self.assertEqual(set(got), set(expected))
        for name, rows in expected.items():
            rows = rows[:count]
            self.assertEqual(got[name].dtype, rows.dtype, name)
            if rows.dtype == np.float32:
                np.testing.assert_allclose(got[name], rows, rtol=2e-6, atol=2e-6, err_msg=name)
            else:
                np.testing.assert_array_equal(got[name], rows, err_msg=name)

    def test_batches_are_the_formulas_applied_to_unmixed_batches(self):
        plain = self.epoch(self.mix_spec())
        for operations, group in (([("mixup", 0.2, 1.0)], 2), ([("cutmix", 1.0, 1.0)], 4), (BOTH, 2), (BOTH, 4),
                                  ([("mixup", 3.0, 0.5)], 4)):
            with self.subTest(operations=operations, group=group):
                expected = expect(plain, 0, operations, group)
                self.check(self.epoch(self.mix_spec(operations, {"group": group})), expected)
                self.assertGreater((expected["lam"] < 1).sum(), SAMPLES // 4)

    def test_any_cut_gives_the_same_samples(self):
        expected = expect(self.epoch(self.mix_spec()), 0, BOTH, 2)
        for batch, options in (({"size": 2}, {}), ({"size": 10}, {}), ({"size": 24}, {}), ({"size": 2}, {"world_size": 3}),
                               ({"global_size": 20}, {"world_size": 2}), ({"size": 10, "last": "drop"}, {})):
            with self.subTest(batch=batch, **options):
                spec = self.mix_spec(BOTH, batch)
                if "global_size" in batch:
                    del spec["batch"]["size"]
                count = 20 if "last" in batch else None
                self.check(self.epoch(spec, **options), expected, count)

    def test_the_last_group_of_an_epoch_may_be_short(self):
        order = {"epochs": 1, "epoch_samples": 23}
        plain = self.epoch(self.mix_spec(order=order))
        for batch, world in (({"size": 4}, 1), ({"size": 12}, 1), ({"size": 8}, 2), ({"size": 12}, 3)):
            with self.subTest(batch=batch, world=world):
                spec = self.mix_spec(BOTH, {**batch, "group": 4}, order=order)
                self.check(self.epoch(spec, world_size=world), expect(plain, 0, BOTH, 4))

    def test_a_shared_stream_that_is_cut_anew(self):
        expected = expect(self.epoch(self.mix_spec()), 0, BOTH, 2)
        spec = self.mix_spec(BOTH, name="shared", share="stream")
        loaders = [self.attach(spec, group=f"{self.id()}-{size}", batch_size=size) for size in (4, 6)]
        self.assertTrue(all(loader.shared for loader in loaders))
        rows = [{}, {}]
        while True:
            taken = min((0, 1), key=lambda i: sum(map(len, rows[i].get("lam", []))))
            if sum(map(len, rows[taken].get("lam", []))) == SAMPLES:
                break
            batch = loaders[taken].next()
            for name in batch.keys():
                rows[taken].setdefault(name, []).append(np.array(batch[name]))
        for found in rows:
            self.check({name: np.concatenate(parts) for name, parts in found.items()}, expected)
        with self.assertRaisesRegex(spdld.InvalidError, "group"):
            self.attach(spec, group=f"{self.id()}-3", batch_size=3)

    def test_a_run_goes_on_in_the_middle(self):
        spec = self.mix_spec(BOTH)
        whole = self.epoch(spec)
        loader = self.attach(spec, group=f"{self.id()}-first")
        for _ in range(3):
            loader.next()
        state = loader.state_dict()
        again = self.column([self.attach(spec, group=f"{self.id()}-again", state=state)])
        for name, rows in whole.items():
            np.testing.assert_array_equal(again[name], rows[12:], err_msg=name)

    def test_masked_samples_neither_mix_nor_are_mixed_in(self):
        folder = Path(self.folder.name) / "holes"
        shutil.copytree(self.pictures, folder)
        for picture in sorted(folder.glob("*/*.jpg"))[::5]:
            picture.write_bytes(b"no picture")
        changes = {"on_bad": "mask", "source": {"type": "image-folder", "uri": str(folder)}, "order": {"shuffle": False}}
        plain = self.epoch(self.mix_spec(**changes))
        self.assertEqual(plain["mask"].sum(), SAMPLES - 5)
        for group in (2, 4):
            got = self.epoch(self.mix_spec([("mixup", 0.5, 1.0)], {"group": group}, **changes))
            for p in range(SAMPLES):
                first = p // group * group
                members = [i for i in range(first, first + group) if plain["mask"][i]]
                if not plain["mask"][p] or len(members) == 1:
                    self.assertEqual((got["lam"][p], got["partner"][p]), (1, got["sample_id"][p]))
                    np.testing.assert_array_equal(got["image"][p], plain["image"][p])
                    continue
                other = members[members.index(p) - 1]
                lam = beta(Draw(SEED, 0, p, "mixup"), 0.5)
                self.assertEqual(got["partner"][p], plain["sample_id"][other])
                np.testing.assert_array_equal(got["image"][p], mixed(np.dtype("uint8"), plain["image"][p],
                                                                     plain["image"][other], lam))

    def test_samples_that_the_client_pushes(self):
        steps = [[3, 1, 4, 1], [5, 9, 2], [6, 5, 3, 5]]
        order = {"shuffle": "client"}

        def run(spec, batch_size):
            loader = self.attach(spec, group=f"{self.id()}-{len(spec['batch'])}-{batch_size}")
            for step, ids in enumerate(steps):
                loader.push(0, step, ids)
            return [{name: np.array(batch[name]) for name in batch.keys()} for batch in (loader.next() for _ in steps)]

        def number(step, index, sample):
            z = step * 65536 + index
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
            z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
            return z ^ z >> 31 ^ sample

        plain = run(self.mix_spec(order=order), 4)
        for size in (4, 8):
            got = run(self.mix_spec([("mixup", 0.5, 1.0)], {"size": size}, order=order), size)
            for step, ids in enumerate(steps):
                for i, sample in enumerate(ids):
                    first = i // 2 * 2
                    other = first + (i - first - 1) % min(2, len(ids) - first)
                    lam = beta(Draw(SEED, 0, number(step, i, sample), "mixup"), 0.5) if other != i else 1
                    self.assertEqual(got[step]["partner"][i], ids[other])
                    self.assertEqual(got[step]["lam"][i], np.float32(lam))
                    np.testing.assert_array_equal(
                        got[step]["image"][i],
                        mixed(np.dtype("uint8"), plain[step]["image"][i], plain[step]["image"][other], lam))

    def test_another_epoch_is_mixed_in_another_way(self):
        loader = self.attach(self.mix_spec([("cutmix", 1.0, 1.0)]))
        first, second = [np.concatenate([np.array(batch["lam"]) for batch in loader]) for _ in range(2)]
        self.assertFalse(np.array_equal(first, second))

    def test_what_can_t_be_mixed_is_refused_with_a_sentence(self):
        def refused(sentence, **table):
            spec = self.mix_spec()
            spec["output"][2]["ops"] = table.pop("label", [])
            spec["batch"] = {"size": 4, **table}
            with self.assertRaisesRegex(spdld.InvalidError, sentence):
                self.attach(spec)

        mix = {"op": "mixup", "images": ["image"]}
        refused('add { op = "one-hot", classes = N }', ops=[{**mix, "labels": ["label"]}])
        refused("must divide size", ops=[mix], group=3)
        refused("no output", ops=[{"op": "mixup", "images": ["imgae"]}])
        refused("is no picture", ops=[{"op": "cutmix", "images": ["label"]}])
        with self.assertRaisesRegex(spdld.InvalidError, "group is 4"):
            spec = self.mix_spec([("mixup", 1.0, 1.0)], {"global_size": 12, "group": 4})
            del spec["batch"]["size"]
            self.attach(spec, rank=0, world_size=2)


if __name__ == "__main__":
    unittest.main()
