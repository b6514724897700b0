"""The pipelines that spdld.torch.Loader(dataset=...) makes, its batches beside torch's default_collate, and items as bytes."""
import array
import collections
import functools
import unittest

import numpy
import torch
from crew_data_sets_test import Items, Pair
from torch.utils.data import default_collate
from torch_case import SameBatches

import spdld
import spdld.torch
from spdld._crew import loading


class FakeBatch(dict):
    """What a batch of these items has, as the daemon would lay them out."""

    def __init__(self, data_set, gives):
        from spdld._ragged import Ragged

        for field, kind in gives.items():
            values = [functools.reduce(_entry, field.split(".") if field != "value" else [], data_set[index])
                      for index in range(len(data_set))]
            if kind == "bytes":
                texts = [value.encode() if isinstance(value, str) else bytes(value) for value in values]
                offsets = numpy.cumsum([0, *map(len, texts)])
                self[loading.name_of(field)] = Ragged(field, torch.tensor(list(b"".join(texts)), dtype=torch.uint8),
                                                      torch.from_numpy(offsets))
            else:
                dtype = getattr(torch, kind["dtype"])
                self[loading.name_of(field)] = torch.stack([torch.as_tensor(value, dtype=dtype) for value in values])


def _entry(value, key):
    return value[int(key)] if isinstance(value, (tuple, list)) else value[key if key in value else int(key)]


class Batches(SameBatches, unittest.TestCase):
    def wishes(self, **more):
        return loading.Wishes(**{"tables": None, "batch_size": None, "shuffle": False, "seed": None, "drop_last": False,
                                 "collate_fn": None, "item_bytes_max": None, "is_converted": False, **more})

    def assert_as_default_collate(self, *items):
        data_set = Items(*items)
        made = loading.pipeline_for(data_set, self.wishes())
        batch = made.convert(FakeBatch(data_set, made.pipeline["source"]["gives"]))
        self.assert_same(batch, default_collate(list(items)))

    def test_they_are_what_default_collate_gives(self):
        for items in (
                (1, 2, 3), (1.5, 2.5), (True, False), ("a", "bc", ""), (b"a", b"bc"),
                (numpy.zeros(3, numpy.float32), numpy.ones(3, numpy.float32)),
                (numpy.float32(1), numpy.float32(2)), (numpy.int16(1), numpy.int16(2)), (numpy.float64(1), numpy.float64(2)),
                ((torch.zeros(2), 1), (torch.ones(2), 2)),
                ([1, "a"], [2, "b"]), (("a", 1), ("b", 2)), (Pair("a", 1), Pair("b", 2)),
                ({"image": torch.zeros(2), "name": "x", "pair": (1, "y")},
                 {"image": torch.ones(2), "name": "z", "pair": (2, "w")}),
                ({"a": {"b": [1, {"c": 2.5}]}}, {"a": {"b": [3, {"c": 4.5}]}}),
                (collections.OrderedDict(a=1, b="x"), collections.OrderedDict(a=2, b="y")),
                ({3: 1}, {3: 2})):
            with self.subTest(str(items[0])):
                self.assert_as_default_collate(*items)

    def test_the_pipeline(self):
        made = loading.pipeline_for(Items((torch.zeros(2), "a"), (torch.zeros(2), "b")),
                                    self.wishes(batch_size=4, shuffle=True, seed=5, drop_last=True))
        self.assertEqual(made.pipeline, {
            "name": "Items", "seed": 5, "batch": {"size": 4, "last": "drop"}, "order": {"epochs": 0, "shuffle": True},
            "source": {"type": "python", "call": "dataset", "samples": 2,
                       "gives": {"0": {"dtype": "float32", "shape": [2]}, "1": "bytes"}},
            "output": [{"name": "_0", "from": "0", "ops": [{"op": "raw", "dtype": "float32", "shape": [2]}]},
                       {"name": "_1", "from": "1", "ops": [{"op": "bytes"}], "ragged": True, "length_max": 4096}]})
        plain = loading.pipeline_for(Items(1), self.wishes()).pipeline
        self.assertEqual((plain["batch"], plain["order"], plain.get("seed")),
                         ({"size": 1}, {"epochs": 0, "shuffle": False}, None))

    def test_tables_of_the_program(self):
        boxes = {"dtype": "float32", "shape": [-1, 4]}
        made = loading.pipeline_for(Items({"boxes": torch.zeros(3, 4), "label": 1}), self.wishes(tables={
            "name": "mine", "python": {"processes": 2}, "batch": {"size": 9}, "source": {"gives": {"boxes": boxes}}}))
        self.assertEqual((made.pipeline["name"], made.pipeline["python"], made.pipeline["batch"]), ("mine", {"processes": 2},
                                                                                                  {"size": 9}))
        self.assertEqual(made.pipeline["source"]["gives"], {"boxes": boxes, "label": {"dtype": "int64", "shape": []}})
        self.assertEqual(made.pipeline["output"][0], {"name": "boxes", "from": "boxes", "ragged": True, "length_max": 1024,
                                                      "ops": [{"op": "raw", "dtype": "float32", "shape": [0, 4]}]})
        made = loading.pipeline_for(Items({"ids": [1, 2, 3], "boxes": torch.zeros(0, 4), "text": "x"}), self.wishes(tables={
            "source": {"gives": {"ids": "int64 [-1]", "boxes": "float32 [-1, 4]", "text": "bytes"}}}))
        self.assertEqual([output.get("ragged") for output in made.pipeline["output"]], [True] * 3)
        self.assertEqual(made.pipeline["source"]["gives"]["ids"], {"dtype": "int64", "shape": [-1]})
        made = loading.pipeline_for(Items({"image": 1}), self.wishes(tables={"output": [{"name": "mine", "from": "image"}]}))
        self.assertEqual((made.pipeline["output"], made.convert), ([{"name": "mine", "from": "image"}], None))

    def test_objects_have_room_for_twice_the_largest_of_some(self):
        sizes = [10, 10, 50_000, *[20] * 20]
        made = loading.pipeline_for(Items(*[numpy.zeros(size, numpy.uint8) for size in sizes]), self.wishes(collate_fn=list))
        self.assertEqual(made.pipeline["source"]["gives"], {"object": "bytes"})
        output, = made.pipeline["output"]
        self.assertEqual((output["ragged"], output["length_max"] % 64), (True, 0))
        self.assertGreaterEqual(output["length_max"], 4096)
        made = loading.pipeline_for(Items(1), self.wishes(collate_fn=list, item_bytes_max=100))
        self.assertEqual(made.pipeline["output"][0]["length_max"], 100)

    def test_sentences(self):
        def refuses(words, dataset=None, pipeline=None, **arguments):
            with self.assertRaises(spdld.InvalidError) as raised:
                spdld.torch.Loader(pipeline, dataset=Items(1) if dataset is None else dataset, **arguments)
            self.assertRegex(str(raised.exception), words)

        refuses("^beside dataset= the pipeline is a dict of further tables", pipeline="train.toml")
        refuses("^dataset= is the source of the pipeline: leave type, call out",
                pipeline={"source": {"type": "npy", "call": "x"}})
        refuses('^source.gives has "b", which no value of dataset', pipeline={"source": {"gives": {"b": "bytes"}}})
        refuses("^item_bytes_max belongs to collate_fn", item_bytes_max=5)
        refuses("^convert does not stand beside collate_fn=", collate_fn=list, convert=dict)
        refuses("^substituted does not stand beside dataset=", substituted=True)
        refuses("^shuffle and a sampler both give the order", shuffle=True, sampler=[0])
        refuses("^batch_sampler makes the batches: leave drop_last out", drop_last=True, batch_sampler=[[0]])
        refuses("^the batch_sampler has no batch_size", batch_sampler=[[0]])
        refuses("^collate_fn gets items that lie in host memory", collate_fn=list, device="cuda")
        for name in ("seed", "item_bytes_max", "collate_fn", "shuffle"):
            with self.assertRaisesRegex((spdld.InvalidError, TypeError), name):
                spdld.torch.Loader("no/such.toml", **{name: 1})


class Objects(unittest.TestCase):
    def test_they_come_back_with_their_arrays_as_views(self):
        from spdld._crew.objects import packed, packed_bytes, unpacked

        item = {"a": numpy.arange(5), "columns": numpy.asfortranarray(numpy.ones((3, 4))), "t": torch.arange(6.0).reshape(2, 3),
                "half": torch.ones(3, dtype=torch.bfloat16), "none": torch.zeros(0, 4), "empty": numpy.zeros((0, 2)),
                "part": torch.arange(10)[::2], "grad": torch.ones(2, requires_grad=True), "sparse": torch.eye(2).to_sparse(),
                "pair": Pair(1, "x"), "own": Items(1), "array": array.array("d", [1, 2]), "flag": torch.tensor(True),
                "parameter": torch.nn.Parameter(torch.ones(2)), "float8": torch.zeros(2).to(torch.uint8)}
        pieces = packed(item)
        memory = numpy.zeros(packed_bytes(pieces) + 64, numpy.uint8)
        memory = memory[-memory.ctypes.data % 64:][:packed_bytes(pieces)]
        at = 0
        for piece in pieces:
            data = numpy.frombuffer(piece, numpy.uint8)
            memory[at:at + data.size] = data
            at += -data.size // 64 * -64
        back = unpacked(memoryview(memory))
        for name in ("a", "columns", "t", "half"):
            view = back[name] if isinstance(back[name], numpy.ndarray) else back[name].view(torch.uint8).numpy()
            self.assertTrue(numpy.shares_memory(view, memory), name)
            self.assertEqual(view.ctypes.data % 64, 0)
            self.assertTrue((back[name] == item[name]).all())
            self.assertEqual((back[name].dtype, back[name].shape), (item[name].dtype, item[name].shape))
        self.assertEqual((back["none"].shape, back["empty"].shape), ((0, 4), (0, 2)))
        self.assertEqual(back["part"].tolist(), [0, 2, 4, 6, 8])
        self.assertTrue(back["grad"].requires_grad and back["sparse"].is_sparse and back["flag"].item())
        self.assertEqual((back["pair"], back["own"].items, back["array"]), (Pair(1, "x"), (1,), item["array"]))
        self.assertIs(type(back["parameter"]), torch.nn.Parameter)
        back["t"].mul_(2)  # the memory is the program's to change
