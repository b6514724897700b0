"""Plug-ins in C that a pipeline calls: how a trainer finds them, how a crew loads them, and what they get and give."""
import hashlib
import json
import os
import shutil
import struct
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy
from crew_case import BYTES, CrewCase, tensor

import spdld
from spdld._crew.functions import with_functions
from spdld._spec import pipeline_of

ODD = os.environ.get("SPDLD_ODD_PLUGIN", "")


def code_of(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:32]


def step(call, takes=BYTES, gives=BYTES, settings="", library=None, code=None):
    """An operation of the plug-in for tests, as CREW_JOINED tells it."""
    return {"library": library or ODD, "call": call, "settings": settings, "code": code or code_of(ODD), "takes": takes,
            "gives": gives}


def function(call):
    return {"call": call, "code": ""}


def chain(*ops, takes=BYTES, gives=BYTES):
    return {"output": "image", "takes": takes, "gives": gives, "ops": [{**op, "place": place} for place, op in enumerate(ops)]}


def alone(call, settings="", takes=BYTES, gives=BYTES, **more):
    return chain(step(call, takes, gives, settings, **more), takes=takes, gives=gives)


class PluginsCase(CrewCase):
    def setUp(self):
        if not ODD:
            raise RuntimeError("SPDLD_ODD_PLUGIN is not set: the plug-in to test with")
        super().setUp()

    def begin(self, *errands, module="x = 1\n", **more):
        ops = [{"op": "plugin", "library": op["library"], "call": op["call"], "gives": "bytes"}
               for one in errands for op in one["ops"] if "library" in op]
        return super().begin(module, *errands, spec_ops=ops, **more)

    def failure(self, *errands, **more):
        return self.begin(*errands, ready=False, **more).await_said("failed")["text"]


class Values(PluginsCase):
    def test_bytes_come_and_go(self):
        daemon = self.begin(alone("turn"))
        reply = daemon.call(b"abc", room=10)
        self.assertEqual((reply["kind"], reply["data"], reply["text"]), ("done", b"cba", ""))
        self.assertGreater(reply["call_ns"], 0)
        self.assertEqual(daemon.call(b"", room=0)["data"], b"")

    def test_fewer_bytes_than_were_reserved(self):
        daemon = self.begin(alone("wrong"))
        self.assertEqual(daemon.call(b"g", room=10)["data"], b"good")
        self.assertEqual(daemon.call(b"x", room=10)["data"], bytes(8))

    def test_a_tensor_that_differs_in_size(self):
        open_size = tensor("uint8", None, 2)
        daemon = self.begin(alone("add", "3", takes=open_size, gives=open_size))
        reply = daemon.call(bytes([1, 2, 3, 4]), shape=[2, 2], room=100)
        self.assertEqual((reply["kind"], reply["shape"], reply["data"]), ("done", [2, 2], bytes([4, 5, 6, 7])), reply)
        reply = daemon.call(b"", shape=[0, 2], room=0)
        self.assertEqual((reply["kind"], reply["shape"], reply["data"]), ("done", [0, 2], b""))

    def test_a_result_waits_for_its_room(self):
        daemon = self.begin(alone("rows", gives=tensor("uint8", None, 2)))
        first = daemon.call(b"abc", room=2)
        self.assertEqual((first["kind"], first["bytes"], first["shape"]), ("needs room", 6, [3, 2]))
        self.assertEqual(daemon.call(b"a", room=2)["data"], bytes([0, 1]))
        daemon.ask("room", worker=1, number=first["number"], bytes=6)
        self.assertEqual(daemon.reply()["data"], bytes(range(6)))

    def test_a_state_is_kept_and_belongs_to_one_operation_and_worker(self):
        count = alone("count", gives=tensor("int64"))
        daemon = self.begin(count, count, workers=(1, 2))

        def seen(**more):
            return struct.unpack("<q", daemon.call(b"", room=8, **more)["data"])[0]

        self.assertEqual([seen(), seen(), seen(errand=1), seen(worker=2), seen()], [1, 2, 1, 1, 3])

    def test_all_types_of_numbers_reach_a_plugin_by_name(self):
        types = ["uint8", "int32", "int64", "float16", "float32", "float64", "bool", "int8", "int16", "uint16", "uint32",
                 "uint64", "complex64", "complex128"]
        said = self.failure(alone("add", takes=tensor("float64", None), gives=tensor("float64", None)))
        self.assertEqual(said, f"add of {ODD} can't work on float64 [any]: it adds to a tensor of uint8")
        self.end_trainer()
        daemon = self.begin(*[alone("count", takes=tensor(name, 3), gives=tensor("int64")) for name in types])
        for number, name in enumerate(types):
            data = numpy.array([0, 1, 1], dtype=name).tobytes()
            self.assertEqual(daemon.call(data, errand=number, shape=[3], room=8)["data"], struct.pack("<q", 1), name)

    def test_draws_follow_from_the_key(self):
        numbers = tensor("uint8", 50)
        noise = chain(step("add", numbers, numbers), step("add", numbers, numbers), takes=numbers, gives=numbers)
        once = alone("add", takes=numbers, gives=numbers)
        daemon = self.begin(noise, once, workers=(1, 2))
        results = [daemon.call(bytes(50), worker=worker, errand=errand, shape=[50], room=50, key=key)["data"]
                   for worker, errand, key in ((1, 1, 5), (1, 1, 6), (2, 1, 5), (1, 0, 5), (2, 0, 5))]
        self.assertEqual(results[0], results[2])
        self.assertEqual(results[3], results[4])
        self.assertNotEqual(results[0], results[1])
        second = bytes(a - b for a, b in zip(results[3], results[0], strict=True))  # what the second operation has added
        self.assertNotEqual(second, results[0])


class Chains(PluginsCase):
    def test_functions_and_plugins_behind_one_another(self):
        numbers = tensor("uint8", None)
        daemon = self.begin(
            chain(step("turn"), function("made:numbers"), step("add", numbers, numbers, "2"),
                  step("add", numbers, numbers, "3"), function("made:doubled"), takes=BYTES, gives=numbers),
            module="""
                import numpy
                def numbers(data):
                    assert type(data) is bytes
                    return [byte for byte in data]
                def doubled(array):
                    assert type(array) is numpy.ndarray and array.dtype == numpy.uint8 and array.flags.writeable
                    return array * 2
                """)
        reply = daemon.call(bytes([1, 2, 3]), room=3)
        self.assertEqual((reply["kind"], reply.get("data")), ("done", bytes([16, 14, 12])), reply)

    def test_arrays_that_lie_otherwise_are_made_dense(self):
        numbers = tensor("uint8", None, 2)
        daemon = self.begin(
            chain(function("made:other"), step("add", numbers, numbers, "1"), takes=BYTES, gives=numbers),
            module="""
                import numpy
                def other(data):
                    array = numpy.frombuffer(data, numpy.uint8).reshape(2, -1)
                    return {b"b": array[:, ::2].T, b"c": numpy.frombuffer(data, numpy.uint8)}.get(data[:1], array.T)
                """)
        self.assertEqual(daemon.call(b"abcd", room=10)["data"], b"bdce")
        self.assertEqual(daemon.call(b"bbbccc", room=10)["data"], b"cdcd")
        reply = daemon.call(b"cc", room=10)
        self.assertEqual(reply["kind"], "bad")
        self.assertEqual(reply["text"], "made:other gave uint8 [2], and `gives` says uint8 [any, 2]: return such an array, or "
                         "correct `gives`")

    def test_numbers_that_lie_askew_are_moved(self):
        numbers = tensor("float64", 2)
        daemon = self.begin(
            chain(function("made:askew"), step("count", numbers, tensor("int64")), takes=BYTES, gives=tensor("int64")),
            module="""
                import numpy
                def askew(data):
                    array = numpy.frombuffer(bytearray(data), numpy.float64, offset=int(data[:1]))
                    assert array.flags.aligned == (data[:1] == b"0")
                    return array
                """)
        for number, data in enumerate((b"0" + bytes(15), b"1" + bytes(16), b"3" + bytes(18))):
            reply = daemon.call(data, room=8)
            self.assertEqual(reply.get("data"), struct.pack("<q", number + 1), reply)

    def test_bfloat16_passes_between_plugins_and_from_torch(self):
        halves = tensor("bfloat16", None)
        daemon = self.begin(
            chain(step("halves", BYTES, halves), step("halves", halves, halves), takes=BYTES, gives=halves),
            chain(function("made:twos"), step("halves", halves, halves), takes=BYTES, gives=halves),
            module="""
                import torch
                def twos(data):
                    return torch.full([len(data)], 2.0, dtype=torch.bfloat16)
                """)
        for errand, bits in ((0, 0x4000), (1, 0x4080)):
            reply = daemon.call(b"abc", errand=errand, room=6)
            self.assertEqual((reply.get("shape"), reply.get("data")), ([3], struct.pack("<3H", *3 * [bits])), reply)

    def test_a_function_sees_bfloat16_as_the_type_of_ml_dtypes(self):
        halves = tensor("bfloat16", None)
        daemon = self.begin(
            chain(step("halves", BYTES, halves), function("made:doubled"), step("halves", halves, halves), takes=BYTES,
                  gives=halves),
            module="""
                def doubled(array):
                    assert array.dtype.name == "bfloat16"
                    return array * array.dtype.type(2)
                """)
        reply = daemon.call(b"ab", room=4)
        self.assertEqual(reply.get("data"), struct.pack("<2H", 0x4080, 0x4080), reply)


class Faults(PluginsCase):
    def test_bad_content_has_the_plugins_sentence(self):
        daemon = self.begin(alone("wrong", "bad"), alone("wrong", "utf8"), alone("wrong", "unended"), alone("wrong", "too-large"))
        told = [daemon.call(b"x", errand=errand, room=8) for errand in range(4)]
        self.assertEqual({reply["kind"] for reply in told}, {"bad"})
        self.assertEqual([reply["text"] for reply in told],
                         [f"wrong of {ODD}: the header is cut",
                          f"wrong of {ODD}: caf\ufffd \ufffd\ufffd\ufffd \u00e4",
                          f"wrong of {ODD}: " + 1024 * "x",
                          f"wrong of {ODD}: run says that its result has 9 bytes, in a room of 8"])
        self.assertEqual(daemon.call(b"g", room=8)["data"], b"good")

    def test_a_crash_is_the_death_of_the_worker_alone(self):
        daemon = self.begin(alone("wrong", "crash"), alone("wrong", "exit"), workers=(1, 2, 3))
        daemon.ask("call", worker=1, data=b"x".hex(), room=8)
        said = daemon.await_said("ended")
        self.assertEqual((said["number"], said["text"]), (1, "was ended by signal 11 (segmentation fault)"))
        daemon.ask("call", worker=2, errand=1, data=b"x".hex(), room=8)
        self.assertEqual(daemon.await_said("ended")["text"], "ended by itself with the exit code 3")
        self.assertEqual(daemon.call(b"g", worker=3, room=8)["data"], b"good")

    def test_memory_beyond_the_limit_is_bad_content(self):
        daemon = self.begin(alone("rows", gives=tensor("uint8", None, 2)), memory_max=64 * 2**20)
        reply = daemon.call(bytes(48 * 2**20), room=0)
        self.assertEqual((reply["kind"], reply["text"]),
                         ("bad", f"rows of {ODD}: there is no memory for a result of {96 * 2**20} bytes"))
        self.assertEqual(daemon.call(b"a", room=2)["data"], bytes([0, 1]))

    def test_a_library_that_can_not_be_used(self):
        for table, words in (("abi", "speaks version 2 of the plug-ins' ABI, and this spdld version 1: build it with the "
                              "spdld_plugin.h of this spdld"),
                             ("+nameless", 'is faulty: operation 6 of its table has no name of 1 to 64 letters a to z, digits, '
                              '"-" and "_"')):
            said = self.failure(alone("turn"), variables={"ODD_TABLE": table})
            self.assertEqual(said, f"the plug-in {ODD} {words}")
            self.end_trainer()
        none = str(self.folder / "none.so")
        Path(none).write_text("no library")
        said = self.failure(alone("turn", library=none, code=code_of(none)))
        self.assertRegex(said, f"^the plug-in {none} cannot be loaded: {none}: ")

    def test_an_operation_that_can_not_be_used(self):
        self.assertEqual(self.failure(alone("blur")),
                         f"blur of {ODD} is not there: the library has turn, add, count, rows, halves, wrong")
        self.end_trainer()
        self.assertEqual(self.failure(alone("wrong", "bind-bad")),
                         f'wrong of {ODD} can\'t work on bytes with settings = "bind-bad": not with these settings')
        self.end_trainer()
        self.assertEqual(self.failure(alone("turn", gives=tensor("uint8", 3))),
                         f"turn of {ODD} gives bytes, and `gives` says uint8 [3]: correct `gives`")

    def test_a_library_that_has_changed_since(self):
        own = str(self.folder / "own.so")
        shutil.copy(ODD, own)
        said = self.failure(alone("turn", library=own, code="0f"))
        self.assertEqual(said, f"the plug-in {own} has changed since the trainer attached: start the job anew")

    def test_a_crash_at_its_start(self):
        daemon = self.begin(alone("turn"), ready=False, variables={"ODD_TABLE": "crash"})
        said = daemon.said()
        while said is not None and said["what"] in ("joined", "progress"):
            said = daemon.said()
        self.assertEqual(said["what"], "failed", said)
        self.assertIn("signal 11 (segmentation fault)", said["text"])


class Finding(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("here", "path", "other"):
            (self.folder / name).mkdir()

    def library(self, name, text="library"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def resolved(self, library, path=()):
        """The paths of the libraries as a crew is told, and the operation as the daemon is."""
        spec = {"output": [{"name": "image", "ops": [{"op": "plugin", "library": library, "call": "blur", "gives": "bytes"}]}]}
        file = self.folder / "here/p.json"
        file.write_text(json.dumps(spec))
        given = {"SPDLD_PLUGIN_PATH": os.pathsep.join(str(self.folder / name) for name in path)} if path else {}
        with mock.patch.dict(os.environ, given):
            pipeline, crew = with_functions(pipeline_of(str(file)), None)
        head = json.loads(crew.input.partition(b"\n")[0]) if crew.input else None
        return head and head["libraries"], json.loads(pipeline.spec)["output"][0]["ops"][0]

    def test_a_path_is_absolute_or_begins_at_the_pipelines_file(self):
        one = self.library("here/one.so")
        for name in (one, "one.so", "./one.so", "../here/one.so"):
            libraries, op = self.resolved(name)
            self.assertEqual(libraries, {name: one})
            self.assertEqual((op["library"], op["code"]), (name, code_of(one)))

    def test_a_name_is_looked_for_in_folders(self):
        two = self.library("path/two.so")
        self.library("other/two.so", "another")
        self.assertEqual(self.resolved("two.so", ("here", "path", "other"))[0], {"two.so": two})
        here = self.library("here/two.so")
        self.assertEqual(self.resolved("two.so", ("path", "other"))[0], {"two.so": here})

    def test_a_library_that_is_not_there(self):
        with self.assertRaises(spdld.InvalidError) as raised:
            self.resolved("three.so", ("path",))
        self.assertEqual(str(raised.exception), 'an operation calls the plug-in "three.so", and there is no file '
                         f"{self.folder}/here/three.so nor {self.folder}/path/three.so: write the path of the library, from the "
                         "folder of the pipeline's file on, or name its folder in SPDLD_PLUGIN_PATH")
        with self.assertRaises(spdld.InvalidError) as raised:
            self.resolved("./three.so", ("path",))
        self.assertEqual(str(raised.exception), 'an operation calls the plug-in "./three.so", and there is no file '
                         f"{self.folder}/here/three.so: write the path of the library, from the folder of the pipeline's file on")

    def test_a_changed_library_has_another_code(self):
        one = self.library("here/one.so")
        first = self.resolved("one.so")[1]["code"]
        Path(one).write_text("library 2")
        self.assertNotEqual(self.resolved("one.so")[1]["code"], first)

    def test_what_is_no_path_is_for_the_daemon_to_refuse(self):
        for library in ("", 7, "a\0b"):
            self.assertNotIn("code", self.resolved(library)[1])

    def test_a_toml_file_with_a_plugin(self):
        self.library("here/one.so")
        toml = self.folder / "here/p.toml"
        toml.write_text("[[output]]\nname = 'image'\n"
                        "ops = [{ op = 'plugin', library = 'one.so', call = 'a', gives = 'bytes' }]\n")
        pipeline, crew = with_functions(pipeline_of(str(toml)), None)
        self.assertIsNone(pipeline.text)
        self.assertIn(b'"libraries": {"one.so": ', crew.input)
