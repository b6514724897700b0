"""Data sets of the user's own in workers: how an item becomes a record, and what is said of one that does not fit."""
import struct

import numpy
from crew_case import BYTES, CrewCase, needs_cloudpickle, tensor


def items(call, samples=100, **fields):
    """An errand that makes items; fields: what each of them holds."""
    gives = {"kind": "record", "fields": [{"name": name.replace("__", "."), **kind} for name, kind in fields.items()]}
    return {"source": "train", "samples": samples, "takes": {"kind": "index"}, "gives": gives,
            "ops": [{"call": call, "code": "", "place": 0}]}


def values_of(record, count):
    """The bytes of each value, at the places that the protocol tells."""
    values, at = [], 8 * count
    for length in struct.unpack_from(f"<{count}Q", record):
        between, at = at, -at // 64 * -64
        assert not any(record[between:at]), "between the values is no other sample's memory"
        values.append(record[at:at + length])
        at += length
    assert at == len(record), (at, len(record))
    return values


ITEMS = """
    import collections, random
    import numpy
    import torch

    Pair = collections.namedtuple("Pair", "left right")

    class Train:
        def __init__(self):
            self.items = {
                0: {"image": numpy.arange(6, dtype=numpy.uint8).reshape(2, 3), "label": 7, "text": "gr\\u00fcn"},
                1: {"label": numpy.int64(-8), "text": b"", "image": torch.arange(6, dtype=torch.uint8).reshape(2, 3)},
                2: collections.OrderedDict(image=numpy.asfortranarray(numpy.ones((2, 3), numpy.uint8)), label=True,
                                           text=memoryview(b"ab")),
                3: {"image": numpy.zeros((2, 4), numpy.uint8), "label": 1, "text": ""},
                4: {"image": numpy.zeros((2, 3), numpy.uint8), "label": 1},
                5: {"image": numpy.zeros((2, 3), numpy.uint8), "label": 1, "text": "", "more": 1},
                6: {"image": numpy.zeros((2, 3), numpy.uint8), "label": 2**63, "text": ""},
                7: {"image": numpy.zeros((2, 3), numpy.uint8), "label": 1, "text": 5},
                8: 5,
                9: {"image": numpy.zeros((2, 3), numpy.uint8), "label": {"a": 1}, "text": ""},
            }
        def __len__(self):
            return 100
        def __getitem__(self, index):
            assert type(index) is int
            if index == 17:
                raise ValueError("this one is broken")
            return self.items[index]

    train = Train()

    class Nested:
        def __len__(self):
            return 100
        def __getitem__(self, index):
            a, b = numpy.float32(index), float(index)
            return [{"image": a, "target": {"boxes": numpy.full((index, 4), index, numpy.float32)}}, {"image": a},
                    ((a, b), index % 2 == 0), Pair(a, b), numpy.full(3, index)][index % 5]

    class Inside(Nested):
        def __getitem__(self, index):
            return {"a": (1, 2.5), "b": Pair([3], {"c": index})}

    class Alone(Nested):
        def __getitem__(self, index):
            return index if index else "zero"

    class Large(Nested):
        def __getitem__(self, index):
            return b"\\xff" * 900

    class Draws(Nested):
        def __getitem__(self, index):
            return random.random(), numpy.random.rand(), torch.rand(1).item()

    def make():
        print("made", flush=True)
        return Train()

    def fails():
        raise OSError("no such disk")

    class NoLength:
        def __getitem__(self, index):
            return index
    """
SMALL = {"image": tensor("uint8", 2, 3), "label": tensor("int64"), "text": BYTES}


class Items(CrewCase):
    def record(self, index, count, room=1000, **more):
        reply = self.daemon.call(index=index, room=room, **more)
        self.assertEqual((reply["kind"], reply["text"], reply["shape"]), ("done", "", []))
        self.assertEqual(reply["bytes"], len(reply["data"]))
        return values_of(reply["data"], count)

    def test_a_dict_is_written_in_the_order_of_the_fields(self):
        self.begin(ITEMS, items("made:train", **SMALL))
        self.assertEqual(self.record(0, 3), [bytes(range(6)), struct.pack("<q", 7), "grün".encode()])
        self.assertEqual(self.record(1, 3), [bytes(range(6)), struct.pack("<q", -8), b""])
        self.assertEqual(self.record(2, 3), [b"\1" * 6, struct.pack("<q", 1), b"ab"])

    def test_a_record_of_known_size_fills_its_room(self):
        self.begin(ITEMS, items("made:Inside", a__0=tensor("int64"), a__1=tensor("float64"), b__0__0=tensor("int64"),
                                b__1__c=tensor("int64")))
        room = 64 * 4 + 8
        self.assertEqual(self.record(9, 4, room=room), [struct.pack("<q", 1), struct.pack("<d", 2.5), struct.pack("<q", 3),
                                                        struct.pack("<q", 9)])

    def test_nothing_of_another_sample_is_left_in_a_record(self):
        self.begin(ITEMS, items("made:train", **SMALL), items("made:Large", value=BYTES))
        for _ in range(64):  # until the memory of each place was used
            self.assertEqual(self.record(0, 1, errand=1), [b"\xff" * 900])
        for _ in range(64):
            self.assertEqual(len(self.record(0, 3)), 3)

    def test_a_value_that_is_no_container_is_the_field_value(self):
        self.begin(ITEMS, items("made:Alone", value=tensor("int64")), items("made:Alone", value=BYTES))
        self.assertEqual(self.record(3, 1), [struct.pack("<q", 3)])
        self.assertEqual(self.record(0, 1, errand=1), [b"zero"])

    def test_a_list_that_has_a_field_of_its_own_is_one_value(self):
        self.begin(ITEMS, items("made:Inside", a=tensor("float32", None), b__0=tensor("int64", 1), b__1__c=tensor("uint8")))
        self.assertEqual(self.record(5, 3), [struct.pack("<2f", 1, 2.5), struct.pack("<q", 3), b"\5"])

    def test_a_record_waits_for_its_room_as_it_was(self):
        daemon = self.begin(ITEMS, items("made:train", **SMALL))
        first = daemon.call(index=0, room=100)
        self.assertEqual((first["kind"], first["bytes"], first["shape"]), ("needs room", 64 + 64 + 64 + 5, []))
        second = daemon.call(index=1, room=0)
        daemon.ask("drop", worker=1, number=second["number"])
        daemon.ask("room", worker=1, number=first["number"], bytes=1000)
        self.assertEqual(values_of(daemon.reply()["data"], 3), [bytes(range(6)), struct.pack("<q", 7), "grün".encode()])

    def test_what_does_not_fit_is_told_with_the_index_and_the_field(self):
        self.begin(ITEMS, items("made:train", **SMALL))
        for index, sentence in (
                (3, 'made:train[3] gave as "image" uint8 [2, 4], and `gives` says uint8 [2, 3]: return such an array, or correct '
                 "`gives`"),
                (4, 'made:train[4] gave no "text": return a value for each field of `gives`, or leave the field out there'),
                (5, 'made:train[5] gave a value of the type int as "more", which is no field of `gives`: return the same fields '
                 "for each item, or correct `gives`"),
                (6, 'made:train[6] gave as "label" a int with values that int64 does not hold: return an array of int64, or '
                 "correct `gives`"),
                (7, 'made:train[7] gave as "text" a value of the type int, and `gives` says bytes: return bytes, a bytearray, a '
                 "memoryview or a str"),
                (8, 'made:train[8] gave a value of the type int as "value", which is no field of `gives`: return the same fields '
                 "for each item, or correct `gives`"),
                (9, 'made:train[9] gave as "label" a value of the type dict: return an array of numpy, a tensor of torch, a '
                 "picture of PIL, a number or a list of numbers")):
            reply = self.daemon.call(index=index, room=1000)
            self.assertEqual((reply["kind"], reply["text"]), ("bad", sentence))
        self.assertEqual(len(self.record(0, 3)), 3)

    def test_an_exception_is_told_with_the_index_and_the_line(self):
        self.begin(ITEMS, items("made:train", **SMALL))
        text = self.daemon.call(index=17, room=1000)["text"]
        self.assertRegex(text, r"^made:train\[17\] raised ValueError: this one is broken \(.*made\.py:\d+, in __getitem__\)$")

    def test_draws_follow_from_the_key(self):
        draws = {"0": tensor("float64"), "1": tensor("float64"), "2": tensor("float64")}
        self.begin(ITEMS, items("made:Draws", **draws), workers=(1, 2))
        first = [self.record(0, 3, key=key) for key in range(5)]
        self.assertEqual([self.record(1, 3, key=key, worker=2) for key in range(5)], first)
        self.assertEqual(len({str(draw) for draw in first}), 5)

    def test_what_makes_a_data_set_makes_it_once(self):
        self.begin(ITEMS, items("made:make", **SMALL), items("made:make", **SMALL), workers=(1, 2))
        for worker in (1, 2):
            self.assertEqual(len(self.record(0, 3, worker=worker)), 3)
        self.assertEqual(self.printed().count("made\n"), 1)

    def test_what_can_not_be_made_is_told(self):
        for call, sentence in (
                ("made:fails", r'^the data set "made:fails" cannot be made: made:fails raised OSError: no such disk '
                               r'\(.*made\.py:'),
                ("made:NoLength", '^the data set "made:NoLength", a NoLength, has no __len__: give it one, which tells how many '
                 "items there are$"),
                ("made:nothing", '^the source calls "made:nothing", and the module made has no nothing: write the name of a data '
                 "set that the module has at its top$"),
                ("nothing", '^the source calls "nothing", and the program that started the crew has no data set of this name: '
                 'give ops={"nothing": dataset}, or write call = "module:name"$')):
            with self.subTest(call):
                daemon = self.begin(ITEMS, items(call, **SMALL), ready=False,
                                    spec_ops=[{"op": "python", "call": "made:make", "gives": "bytes"}])
                self.assertRegex(daemon.await_said("failed")["text"], sentence)
                self.end_trainer()

    def test_a_data_set_that_is_shorter_than_the_pipeline_counts(self):
        daemon = self.begin(ITEMS, items("made:train", samples=101, **SMALL), ready=False,
                            spec_ops=[{"op": "python", "call": "made:make", "gives": "bytes"}])
        self.assertEqual(daemon.await_said("failed")["text"], 'the data set "made:train" has 100 items in the processes that '
                         "call it, and the pipeline counts 101: give every process of the job the same data set, or correct "
                         "source.samples")

    def test_a_bfloat16_tensor_keeps_its_bits(self):
        self.begin("""
            import torch
            class Halves:
                def __len__(self):
                    return 100
                def __getitem__(self, index):
                    return torch.full((2,), index, dtype=torch.bfloat16)
            """, items("made:Halves", value=tensor("bfloat16", 2)))
        self.assertEqual(self.record(1, 1), [struct.pack("<2H", 0x3F80, 0x3F80)])

    def test_hostile_items(self):
        self.begin("""
            class Round(dict):
                pass
            class Bad:
                def __len__(self):
                    return 100
                def __getitem__(self, index):
                    if index == 0:
                        value = {}
                        value["a"] = value
                        return value
                    if index == 1:
                        return {3: 1, None: 2}
                    if index == 2:
                        return {"\\ud800": 1}
                    if index == 3:
                        return {"": 1}
                    return {"a": 1}
            """, items("made:Bad", a=tensor("int64")))
        self.assertEqual(self.record(4, 1), [struct.pack("<q", 1)])
        for index in range(4):
            self.assertEqual(self.daemon.call(index=index, room=1000)["kind"], "bad")
        self.assertEqual(self.record(4, 1), [struct.pack("<q", 1)])

    def test_the_time_beyond_the_item_itself(self):
        daemon = self.begin("""
            import numpy
            import torch
            image = numpy.zeros((3, 8, 8), numpy.float32)
            tensor = torch.zeros((3, 8, 8))
            class Arrays:
                def __len__(self):
                    return 100
                def __getitem__(self, index):
                    return image, index
            class Tensors(Arrays):
                def __getitem__(self, index):
                    return {"image": tensor, "label": index}
            """, items("made:Arrays", **{"0": tensor("float32", 3, 8, 8), "1": tensor("int64")}),
            items("made:Tensors", image=tensor("float32", 3, 8, 8), label=tensor("int64")))
        for number in range(2):
            told = [daemon.ask("measure", worker=1, errand=number, count=600, ahead=16, room=1000) for _ in range(10)]
            least = min(one["us"] for one in told)
            print(f"an item without work, of {('arrays', 'tensors')[number]}: {least:.1f} us", flush=True)
            self.assertLess(least, 100)


class Objects(CrewCase):
    MODULE = """
        import numpy, torch
        from spdld._crew.objects import Objects
        class Boxes:
            def __len__(self):
                return 100
            def __getitem__(self, index):
                return {"boxes": torch.full((index, 4), index), "picture": numpy.full((3, index + 1), index, numpy.uint8),
                        "name": f"item {index}"}
        objects = Objects(Boxes())
        """

    def test_items_of_any_shape_come_as_bytes_that_are_views(self):
        from spdld._crew.objects import unpacked

        daemon = self.begin(self.MODULE, items("made:objects", object=BYTES))
        for index in (0, 1, 7):
            reply = daemon.call(index=index, room=10_000)
            value, = values_of(reply["data"], 1)
            self.assertEqual(len(value) % 64, 0)
            memory = numpy.frombuffer(value, numpy.uint8).copy()
            item = unpacked(memoryview(memory))
            self.assertEqual((item["name"], list(item["boxes"].shape), item["picture"].shape), (f"item {index}", [index, 4],
                                                                                                 (3, index + 1)))
            self.assertTrue((item["boxes"] == index).all() and (item["picture"] == index).all())
            self.assertTrue(numpy.shares_memory(item["picture"], memory))
            if index:
                self.assertTrue(numpy.shares_memory(item["boxes"].numpy(), memory))

    @needs_cloudpickle
    def test_a_class_of_the_program_itself(self):
        daemon = self.begin("", items("dataset", object=BYTES), ops='{"dataset": Objects(Own())}', prelude="""
            import collections
            from spdld._crew.objects import Objects
            Item = collections.namedtuple("Item", "number")
            class Own:
                def __len__(self):
                    return 100
                def __getitem__(self, index):
                    return Item(index)
            """, source={"type": "python", "call": "dataset", "samples": 100, "gives": {"object": "bytes"}})
        reply = daemon.call(index=3, room=1000)
        self.assertIn(b"_of_main", reply["data"])
