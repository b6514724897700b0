"""Slots that workers write into: where results and values of items go, and what a worker does with a slot that it can't map."""
import struct

from crew_case import BYTES, CrewCase, errand, tensor
from crew_items_test import ITEMS, items, values_of

NUMBERS = """
    import numpy
    def numbers(data):
        return numpy.arange(4, dtype=numpy.int32) + data[0]
    def own(data):
        return data.copy() if data[0] else data
    """


class Slots(CrewCase):
    def look(self, slot):
        return bytes.fromhex(self.daemon.ask("look", slot=slot))

    def test_a_result_lies_in_the_slot(self):
        self.begin(NUMBERS, errand("made:numbers", gives=tensor("int32", 4)))
        self.daemon.ask("slot", worker=1, slot=5, bytes=4096)
        self.daemon.ask("slot", worker=1, slot=6, bytes=8192)
        for number, (slot, at) in enumerate([(5, 0), (6, 8192 - 16), (5, 100)]):
            reply = self.daemon.call(bytes([number]), slot=slot, room=16, room_at=at)
            self.assertEqual((reply["kind"], reply["bytes"]), ("done", 16))
            self.assertEqual(struct.unpack_from("<4i", self.look(slot), at), tuple(range(number, number + 4)))
        seen = self.look(5)
        self.assertFalse(any(seen[16:100]) or any(seen[116:]))

    def test_a_slot_that_goes_is_unmapped(self):
        self.begin(NUMBERS + """
    def maps(data):
        return open("/proc/self/maps").read().encode()
    """, errand("made:numbers", gives=tensor("int32", 4)), errand("made:maps"))

        def mapped():
            text = self.daemon.call(b"x", errand=1, room=200_000)
            return text["data"].decode().count("test-crew")

        self.daemon.call(b"\0", room=100)
        before = mapped()
        self.daemon.ask("slot", worker=1, slot=1, bytes=4096)
        self.assertEqual(mapped(), before + 1)
        self.daemon.ask("slot gone", worker=1, slot=1)
        self.assertEqual(mapped(), before)

    def test_a_slot_that_can_not_be_mapped_is_said_once_a_task_and_no_function_is_called(self):
        self.begin(NUMBERS, errand("made:numbers", gives=tensor("int32", 4)))
        self.daemon.ask("slot", worker=1, slot=1, bytes=4096, told=1 << 30)
        reply = self.daemon.call(b"\1", slot=1, room=16, room_at=0)
        self.assertEqual((reply["kind"], reply["bytes"], reply["text"], reply["call_ns"]), ("no slot", 0, "", 0))
        self.assertEqual(struct.unpack("<4i", self.daemon.call(b"\1", room=16)["data"]), (1, 2, 3, 4))

    def test_values_lie_in_the_slot_and_the_rest_in_the_record(self):
        self.begin(ITEMS, items("made:train", image=tensor("uint8", 2, 3), label=tensor("int64"), text=BYTES))
        self.daemon.ask("slot", worker=1, slot=1, bytes=4096)
        reply = self.daemon.call(index=0, room=1000, slot=1, value_at=[7, 64, None])
        self.assertEqual(values_of(reply["data"], 3), [b"", b"", "grün".encode()])
        seen = self.look(1)
        self.assertEqual((seen[7:13], seen[64:72]), (bytes(range(6)), struct.pack("<q", 7)))
        self.assertFalse(any(seen[:7]) or any(seen[13:64]) or any(seen[72:]))
        reply = self.daemon.call(index=1, room=1000, slot=1, value_at=[None, 128])
        self.assertEqual(values_of(reply["data"], 3), [bytes(range(6)), b"", b""])
        self.assertEqual(self.look(1)[128:136], struct.pack("<q", -8))

    def test_a_record_that_waits_for_room_has_its_values_in_the_slot(self):
        daemon = self.begin(ITEMS, items("made:train", image=tensor("uint8", 2, 3), label=tensor("int64"), text=BYTES))
        daemon.ask("slot", worker=1, slot=1, bytes=4096)
        first = daemon.call(index=0, room=0, slot=1, value_at=[0])
        self.assertEqual((first["kind"], first["bytes"]), ("needs room", 64 + 64 + 5))
        daemon.ask("room", worker=1, number=first["number"], bytes=1000)
        self.assertEqual(values_of(daemon.reply()["data"], 3), [b"", struct.pack("<q", 7), "grün".encode()])
        self.assertEqual(self.look(1)[:6], bytes(range(6)))

    def test_a_daemon_that_names_slots_that_there_are_not_ends_its_worker(self):
        for number, wrong in enumerate([{"slot": 9, "room": 16, "room_at": 0}, {"slot": 1, "room": 16, "room_at": 4081},
                                        {"slot": 1, "room": 8192, "room_at": 0}]):
            with self.subTest(wrong=wrong):
                if number == 0:
                    self.begin(NUMBERS, errand("made:numbers", gives=tensor("int32", 4)))
                else:
                    self.daemon.ask("start", worker=number + 1)
                self.daemon.ask("slot", worker=number + 1, slot=1, bytes=4096)
                self.daemon.ask("call", worker=number + 1, data="01", **wrong)
                ended = self.daemon.await_said("ended")
                self.assertEqual((ended["number"], ended["text"]), (number + 1, "ended by itself with the exit code 1"))
