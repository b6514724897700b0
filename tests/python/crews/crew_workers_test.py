"""Python operations in workers: what a function gets, and how its result comes back."""
import struct

import numpy
from crew_case import CrewCase, errand, tensor


class Values(CrewCase):
    def test_bytes_come_and_go(self):
        daemon = self.begin("def turned(data):\n    assert type(data) is bytes\n    return data[::-1]\n", errand("made:turned"))
        reply = daemon.call(b"abc", room=10)
        self.assertEqual((reply["kind"], reply["data"], reply["text"]), ("done", b"cba", ""))
        self.assertGreater(reply["call_ns"], 0)
        self.assertEqual(daemon.call(b"", room=0)["data"], b"")

    def test_a_tensor_is_an_array_that_may_be_written_to(self):
        daemon = self.begin("""
            import numpy
            def half(pixels):
                assert type(pixels) is numpy.ndarray and pixels.flags.writeable and pixels.dtype == numpy.uint8
                pixels //= 2
                return pixels.astype(numpy.float32)
            """, errand("made:half", takes=tensor("uint8", 2, None), gives=tensor("float32", 2, None)))
        reply = daemon.call(bytes([2, 4, 6, 8, 10, 12]), shape=[2, 3], room=100)
        self.assertEqual((reply["kind"], reply["shape"]), ("done", [2, 3]), reply)
        self.assertEqual(struct.unpack("<6f", reply["data"]), (1, 2, 3, 4, 5, 6))
        reply = daemon.call(b"", shape=[2, 0], room=0)
        self.assertEqual((reply["kind"], reply["shape"], reply["data"]), ("done", [2, 0], b""))

    def test_functions_behind_one_another_pass_any_value(self):
        daemon = self.begin("""
            def split(data):
                return {"parts": data.split(b",")}
            def count(value):
                return len(value["parts"])
            """, errand("made:split", "made:count", gives=tensor("int64")))
        reply = daemon.call(b"a,b,c", room=8)
        self.assertEqual((reply["data"], reply["shape"]), (struct.pack("<q", 3), []))

    def test_a_result_waits_for_its_room_while_others_come(self):
        daemon = self.begin("""
            import numpy
            kept = numpy.zeros(300, dtype=numpy.uint8)
            def grown(data):
                if data == b"kept":
                    kept[:] += 1
                    return kept
                return numpy.full(len(data) * 100, data[0], dtype=numpy.uint8)
            """, errand("made:grown", gives=tensor("uint8", None)))
        first = daemon.call(b"\1\1", room=10)
        self.assertEqual((first["kind"], first["bytes"], first["shape"]), ("needs room", 200, [200]))
        second = daemon.call(b"kept", room=0)
        third = daemon.call(b"kept", room=0)
        self.assertEqual([second["kind"], third["kind"]], ["needs room"] * 2)
        daemon.ask("drop", worker=1, number=first["number"])
        daemon.ask("room", worker=1, number=third["number"], bytes=300)
        self.assertEqual(daemon.reply()["data"], b"\2" * 300)
        daemon.ask("room", worker=1, number=second["number"], bytes=400)
        self.assertEqual(daemon.reply()["data"], b"\1" * 300)  # as it was when the function gave it

    def test_a_part_of_the_input_waits_as_it_was(self):
        daemon = self.begin("def part(array):\n    return array[1:]\n",
                            errand("made:part", takes=tensor("uint8", None), gives=tensor("uint8", None)))
        first = daemon.call(bytes(range(100)), shape=[100], room=0)
        for _ in range(70):  # its input's memory is taken anew
            daemon.call(b"\xff" * 100, shape=[100], room=99)
        daemon.ask("room", worker=1, number=first["number"], bytes=99)
        self.assertEqual(daemon.reply()["data"], bytes(range(1, 100)))

    def test_several_workers_and_many_tasks(self):
        daemon = self.begin("import os\ndef who(data):\n    return str(os.getpid())\n", errand("made:who"), workers=(1, 2))
        pids = {worker: {daemon.call(b"", worker=worker, room=20)["data"] for _ in range(50)} for worker in (1, 2)}
        self.assertEqual([len(pids[1]), len(pids[2]), len(pids[1] | pids[2])], [1, 1, 2])

    def test_all_types_of_numbers(self):
        types = ["uint8", "int32", "int64", "float16", "float32", "float64", "bool", "int8", "int16", "uint16", "uint32",
                 "uint64", "complex64", "complex128"]
        daemon = self.begin("def same(array):\n    return array.copy()\n", *[
            errand("made:same", takes=tensor(name, 3), gives=tensor(name, 3)) for name in types])
        for number, name in enumerate(types):
            data = numpy.array([0, 1, 1], dtype=name).tobytes()
            reply = daemon.call(data, errand=number, shape=[3], room=100)
            self.assertEqual((reply["kind"], reply.get("data")), ("done", data), name)
