"""The trainer's side of data sets of the user's own: what is learned of them, their digests, and the sentences about them."""
import collections
import functools
import importlib
import json
import pickle
import random
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import numpy
import torch
from crew_case import needs_cloudpickle
from torch.utils.data import IterableDataset, Subset, TensorDataset

import spdld
import spdld.torch
from spdld._crew.digests import code_of_data_set
from spdld._crew.functions import with_functions
from spdld._spec import pipeline_of

Pair = collections.namedtuple("Pair", "left right")


class Items:
    """A data set of these items."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Lazy(Items):
    def __init__(self, path):
        super().__init__(*range(10))
        self.path, self.file = path, None

    def __getitem__(self, index):
        if self.file is None:
            self.file = open(self.path, "rb")
        return super().__getitem__(index)


class Bad(Items):
    def __getitem__(self, index):
        if self.items[index] is None:
            raise ValueError("broken")
        return random.random(), numpy.random.rand(), torch.rand(1), self.items[index]


def make_items():
    return Items(1, 2, 3)


def spec(call="train", **more):
    return {"source": {"type": "python", "call": call, **more}}


class Learning(unittest.TestCase):
    def source(self, pipeline, ops=None):
        given, crew = with_functions(pipeline_of(pipeline), ops)
        head, _, blobs = crew.input.partition(b"\n")
        self.head, self.blobs = json.loads(head), blobs
        return json.loads(given.spec)["source"]

    def refuses(self, words, pipeline, ops=None):
        with self.assertRaises(spdld.Error) as raised:
            self.source(pipeline, ops)
        self.assertRegex(str(raised.exception), words)

    def gives(self, item):
        return self.source(spec(), {"train": Items(item)})["gives"]

    def test_values_of_many_kinds(self):
        def tensor(dtype, *shape):
            return {"dtype": dtype, "shape": list(shape)}

        for item, gives in (
                (numpy.zeros((2, 3), numpy.uint8), {"value": tensor("uint8", 2, 3)}),
                ((torch.zeros(3, 4), 5), {"0": tensor("float32", 3, 4), "1": tensor("int64")}),
                ({"a": 1.5, "b": True, "c": numpy.float32(2), "d": numpy.int16(1), "e": numpy.float64(1)},
                 {"a": tensor("float64"), "b": tensor("bool"), "c": tensor("float32"), "d": tensor("int16"),
                  "e": tensor("float64")}),
                ({"image": 1, "target": {"boxes": torch.zeros(2, 4), "names": ["a", b"b"]}},
                 {"image": tensor("int64"), "target.boxes": tensor("float32", 2, 4), "target.names.0": "bytes",
                  "target.names.1": "bytes"}),
                (((1, 2), Pair("x", 3)),
                 {"0.0": tensor("int64"), "0.1": tensor("int64"), "1.0": "bytes", "1.1": tensor("int64")}),
                ({3: 1}, {"3": tensor("int64")}),
                (torch.zeros(2, dtype=torch.bfloat16), {"value": tensor("bfloat16", 2)}),
                ("text", {"value": "bytes"}), (bytearray(b"x"), {"value": "bytes"}),
                (numpy.zeros(2, numpy.complex64), {"value": tensor("complex64", 2)})):
            self.assertEqual(self.gives(item), gives)

    def test_what_no_batch_can_have_is_told(self):
        another = "give collate_fn=, which gets the items as they are$"
        for item, words in (
                ({"a": None}, r'^train\[0\] gave as "a" a value of the type NoneType, and no batch can be made of it: return '
                 f"arrays, tensors, numbers and texts, or {another}"),
                (None, r"^train\[0\] gave a value of the type NoneType, and no"),
                ({}, rf"^train\[0\] gave an empty dict, and no batch can be made of it: leave it out, or {another}"),
                ({"a": []}, r'^train\[0\] gave as "a" an empty list, and no'),
                ({"a b": 1}, r'^train\[0\] has the key "a b", and the name of a field has up to 63 letters, digits, "_", "-" '
                             r'and "."'),
                ({"a.b": 1, "a": {"b": 2}}, r'^train\[0\] has two values that are called "a.b" as fields'),
                ({"a": numpy.array(["x"])}, r'^train\[0\] gave as "a" an array of the type str32, which a batch does not have'),
                ({"a": numpy.zeros((1,) * 8)}, r'^train\[0\] gave as "a" an array of 8 dimensions, and 5 are the most'),
                ({"a": numpy.zeros((0, 4))}, r'^train\[0\] gave as "a" an array without elements, of the shape \[0, 4\]'),
                ({"a": torch.zeros(2, device="meta")}, r'^train\[0\] gave as "a" a tensor on meta: write .cpu\(\)')):
            self.refuses(words, spec(), {"train": Items(item)})

    def test_what_is_told_stays(self):
        source = self.source(spec(samples=2, gives={"value": "bytes"}), {"train": Items(1, 2, 3)})
        self.assertEqual((source["samples"], source["gives"]), (2, {"value": "bytes"}))
        self.assertEqual(self.source(spec(samples=2), {"train": Items(1, 2, 3)})["gives"],
                         {"value": {"dtype": "int64", "shape": []}})
        self.assertEqual(self.source(spec(), {"train": Items(1, 2, 3)})["samples"], 3)

    def test_the_programs_own_data_set_and_random_states_stay_as_they_were(self):
        with tempfile.NamedTemporaryFile() as file:
            lazy = Lazy(file.name)
            self.source(spec(), {"train": lazy})
            self.assertIsNone(lazy.file)
            pickle.dumps(lazy)
        before = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
        self.source(spec(), {"train": Bad(1)})
        self.assertEqual((random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()), before)

    def test_a_bad_first_item_is_passed_over(self):
        self.assertEqual(set(self.source(spec(), {"train": Bad(None, None, 5)})["gives"]), {"0", "1", "2", "3"})
        self.refuses(r"^train\[0\] raised ValueError: broken \(.*crew_data_sets_test.py:\d+, in __getitem__\), and the items "
                     "behind it are bad too: nothing can be learned", spec(), {"train": Bad(None, None)})

    def test_by_path(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "path", [folder, *sys.path]):
            Path(folder, "own_set.py").write_text(textwrap.dedent("""
                import threading
                class Own:
                    def __init__(self):
                        self.lock = threading.Lock()
                    def __len__(self):
                        return 7
                    def __getitem__(self, index):
                        return index
                own = Own()
                number = 5
                """))
            importlib.invalidate_caches()
            gives = {"value": {"dtype": "int64", "shape": []}}
            whole = self.source(spec("own_set:own", samples=7, gives=gives))
            self.assertNotIn("own_set", sys.modules)
            self.assertRegex(whole["code"], "^[0-9a-f]{32}$")
            for call in ("own_set:own", "own_set:Own"):
                source = self.source(spec(call))
                self.assertEqual((source["samples"], source["gives"], source["code"]), (7, gives, whole["code"]))
                self.assertEqual((self.head["functions"], self.head["blobs"]), ({}, []))
            self.refuses('^the data set "own_set:number" is a value of the type int: give an object with __len__ and '
                         "__getitem__, or a class or function that makes one without arguments$", spec("own_set:number"))
            self.refuses('^the source calls "own_set:nothing", and the module own_set has no nothing', spec("own_set:nothing"))
            del sys.modules["own_set"]
        self.refuses('^the source calls "no_such_set:own", and Python finds no module no_such_set: write call = "module:name"',
                     spec("no_such_set:own"))
        self.refuses('^the source calls "own", which is not in ops: give ops={"own": dataset}, or write call = "module:name"$',
                     spec("own"))

    def test_functions_and_classes_go_by_their_path_and_data_sets_by_value(self):
        self.assertEqual(self.source(spec(), {"train": make_items})["samples"], 3)
        self.assertEqual(self.head["functions"], {"train": {"path": "crew_data_sets_test:make_items"}})
        self.source(spec(), {"train": Items(1)})
        self.assertEqual((set(self.head["functions"]["train"]), len(self.blobs)), ({"blob"}, self.head["blobs"][0][1]))

    def test_several_sources(self):
        given, crew = with_functions(pipeline_of({"sources": [{"name": "a", "type": "python", "call": "a"},
                                                              {"name": "b", "type": "npy", "uri": "x"},
                                                              {"name": "c", "type": "python", "call": "c"}]}),
                                     {"a": Items(1, 2), "c": Items("x")})
        sources = json.loads(given.spec)["sources"]
        self.assertEqual([source.get("samples") for source in sources], [2, None, 1])
        self.assertEqual(len(json.loads(crew.input.partition(b"\n")[0])["functions"]), 2)

    def test_without_cloudpickle_data_sets_of_modules_are_pickled_all_the_same(self):
        own = type("Own", (Items,), {"__module__": "__main__"})
        with mock.patch.dict(sys.modules, {"cloudpickle": None}):
            self.source(spec(), {"train": Items(1)})
            self.refuses('^the data set "train" cannot be pickled, and other processes are to call it: PicklingError: Own is of '
                         "the program itself, so that cloudpickle is needed: install it, or move that to a module", spec(),
                         {"train": own(1)})

    def test_sentences(self):
        class Endless(IterableDataset):
            def __iter__(self):
                return iter(range(3))

        class NoLength:
            def __getitem__(self, index):
                return index

        held = Items(1)
        held.lock = threading.Lock()
        for given, words in (
                (Endless(), '^the data set "train" is iterable, and only data sets with __len__ and __getitem__ are taken yet: '
                 r"write __getitem__\(index\) in place of __iter__, let the daemon read the files .*, or keep it in a "
                 r"DataLoader$"),
                (iter([1]), "^the data set \"train\" is iterable"), ((number for number in [1]), "is iterable"),
                (NoLength(), '^the data set "train", a NoLength, has no __len__: give it one, which tells how many items there '
                             'are$'),
                (5, '^the data set "train" is a value of the type int: give an object with'),
                (lambda: 5, '^the data set "train" is a value of the type int'),
                (Items(), '^the data set "train" has no items$'),
                (held, '^the data set "train" cannot be pickled because of its attribute lock, a lock, and other processes are '
                 "to call it: TypeError: cannot pickle '_thread.lock' object. Open files and make such values in __getitem__ "
                 "when it is first called, or give a function that makes the data set in its place$"),
                (functools.partial(int, "x"), '^the data set "train" cannot be made: train raised ValueError: invalid literal')):
            with self.subTest(words):
                self.refuses(words, spec(), {"train": given})

    def test_files_that_are_mapped_are_mapped_in_the_other_processes(self):
        for modules in ({}, {"cloudpickle": None}):
            with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, modules):
                path = Path(folder) / "tokens"
                numpy.arange(2_000_000, dtype=numpy.uint16).tofile(path)
                tokens = numpy.memmap(path, numpy.uint16, "r", offset=10)
                held = Items(tokens, tokens[1000:5000], tokens[10:20].reshape(2, 5), tokens[::2][:3], numpy.asarray(tokens[:3]))
                self.source(spec(), {"train": held})
                self.assertLess(len(self.blobs), 5000)
                back = pickle.loads(self.blobs).items
                for one, other in zip(back, held.items, strict=True):
                    self.assertTrue(numpy.array_equal(one, other))
                self.assertTrue(all(isinstance(one, numpy.memmap) for one in back[:3]))

    def test_a_large_data_set_comes_along_and_one_that_is_too_large_is_told(self):
        self.source(spec(), {"train": TensorDataset(torch.zeros(40, 2**18))})
        self.assertGreater(len(self.blobs), 40 * 2**20)
        with mock.patch("spdld._crew.functions._INPUT_BYTES_MAX", 2**20):
            self.refuses("^what ops brings takes 10 MiB when it is pickled, and 1 MiB are the most: .* give a function that "
                         "makes the data set in its place$", spec(), {"train": TensorDataset(torch.zeros(10, 2**18))})


def interrupted():
    raise KeyboardInterrupt


class Interrupts(unittest.TestCase):
    def test_one_while_a_data_set_is_made_is_the_programs(self):
        with self.assertRaises(KeyboardInterrupt):
            with_functions(pipeline_of(spec()), {"train": interrupted})


class Codes(unittest.TestCase):
    def assert_other(self, *data_sets):
        codes = [code_of_data_set(dataset) for dataset in data_sets]
        self.assertEqual(len(set(codes)), len(codes))
        self.assertTrue(all(len(code) == 32 for code in codes))

    def test_what_it_holds_counts(self):
        self.assert_other(Items(1), Items(2), Items(1, 2), Items([1]), Items({"a": 1}), Items(numpy.arange(3)),
                          Items(numpy.arange(3, dtype=numpy.int32)), Items(torch.arange(3)), Items(b"a"), Items("a"),
                          Items(bytearray(b"b")), Lazy("a"), Lazy("b"), Subset(Items(1, 2), [0]), Subset(Items(1, 2), [1]),
                          Items(numpy.array([None, "a"], dtype=object)), Items(numpy.array([None, "b"], dtype=object)))
        self.assertEqual(code_of_data_set(Items([1], numpy.arange(3))), code_of_data_set(Items([1], numpy.arange(3))))

    def test_the_source_counts_of_bases_and_of_what_a_librarys_class_holds(self):
        program = textwrap.dedent("""
            from torch.utils.data import Subset, TensorDataset
            class Base:
                def __len__(self):
                    return 3
                def __getitem__(self, index):
                    return index * FACTOR
            class Own(Base):
                pass
            def double(x):
                return x * FACTOR
            class Held(Own):
                def __init__(self, transform):
                    self.transform = transform
            from spdld._crew.digests import code_of_data_set
            print(code_of_data_set(Own()), code_of_data_set(Subset(Own(), [1])), code_of_data_set(Subset(Held(double), [1])))
            """)
        told = {}
        with tempfile.TemporaryDirectory() as folder:
            for factor in ("2", "3", "2"):
                path = Path(folder) / f"program{len(told)}.py"
                path.write_text(program.replace("FACTOR", factor))
                told.setdefault(factor, []).append(subprocess.run([sys.executable, path], check=True, capture_output=True,
                                                                  text=True).stdout.split())
        self.assertEqual(told["2"][0], told["2"][1])
        self.assertFalse(set(told["2"][0]) & set(told["3"][0]))
        self.assertEqual(len(set(told["2"][0])), 3)

    def test_a_million_paths_take_no_seconds_and_each_of_them_counts(self):
        paths = [(f"/data/train/{number:07}.jpg", number % 1000) for number in range(1_000_000)]
        begun = time.process_time()
        first = code_of_data_set(Items(paths))
        self.assertLess(time.process_time() - begun, 2)
        paths[567_891] = ("/data/train/other.jpg", 3)
        self.assertNotEqual(code_of_data_set(Items(paths)), first)
        self.assert_other(*[Items({number: str(number + (number == at)) for number in range(5000)}) for at in (3, 4999)])

    def test_equal_values_count_alike_whether_or_not_they_are_one_object(self):
        one = ["".join(["a", "b"])] * 2000
        several = [sys.intern("ab"), *["".join(["a", "b"]) for _ in range(1999)]]
        self.assertEqual(code_of_data_set(Items(one)), code_of_data_set(Items(several)))

    def test_long_lists_of_objects_count_by_a_thousand_of_them(self):
        paths = [Path(f"/data/{number}") for number in range(300_000)]
        begun = time.process_time()
        first = code_of_data_set(Items(paths))
        self.assertLess(time.process_time() - begun, 2)
        self.assertNotEqual(code_of_data_set(Items(paths[1:])), first)
        arrays = [numpy.full(2, number) for number in range(2000)]
        self.assert_other(Items(arrays), Items(arrays[::-1]), Items(arrays[1:]))

    def test_large_arrays_count_by_blocks(self):
        with tempfile.TemporaryDirectory() as folder:
            tokens = numpy.memmap(Path(folder) / "tokens", numpy.uint16, "w+", shape=2 * 10**9)  # 4 GB that were not written
            begun = time.process_time()
            first = code_of_data_set(Items(tokens))
            self.assertLess(time.process_time() - begun, 2)
            tokens[-1] = 1
            self.assertNotEqual(code_of_data_set(Items(tokens)), first)
            self.assertEqual(len(code_of_data_set(Items(tokens[::2]))), 32)
        small = numpy.zeros((2000, 2000))
        other = small.copy()
        other[1234, 567] = 1
        self.assert_other(Items(small), Items(other), Items(other.T), Items(small[:1000]))


@needs_cloudpickle
class Programs(unittest.TestCase):
    def test_a_class_of_the_program_itself_is_pickled_by_value(self):
        own = type("Own", (Items,), {"__module__": "__main__"})
        given, crew = with_functions(pipeline_of(spec()), {"train": own(1, 2)})
        self.assertEqual(json.loads(given.spec)["source"]["samples"], 2)
        self.assertIn(b"Own", crew.input)
