"""Functions that take several samples a call, and async ones: what a worker gives them, and replies to the daemon."""
import os
import struct

from crew_case import CrewCase, errand, processes_with, tensor


def bunched(call, batch=8, **more):
    one = errand(call, **more)
    one["ops"][0]["batch"] = batch
    return one


def later(call, in_flight=None, call_limit_s=60, **more):
    one = errand(call, **more)
    one["call_limit_s"] = call_limit_s
    if in_flight is not None:
        one["ops"][0]["in_flight"] = in_flight
    return one


def ints(*values):
    return struct.pack(f"<{len(values)}q", *values)


def task(data, **more):
    return {"data": data, "room": 4096, **more}


PAIR = tensor("int64", 2)
MODULE = """
import asyncio, os
import numpy

def kinds(values):
    assert type(values) is numpy.ndarray and values.flags.writeable and values.dtype == numpy.int64
    return [[len(values), value[0]] for value in values]

def written(values):
    if len(values) > 1:
        values[:] = 99
        raise ValueError("not together")
    return values

def lists(values):
    assert type(values) is list
    if len(values) > 1:
        values[0] = None  # a list of its own
        raise ValueError("not together")
    return values

def shapes(values):
    return [str([value.shape for value in values]).encode()] * len(values)

def drawn(values, rng):
    assert len(rng) == len({id(one) for one in rng}) == len(values)
    return numpy.stack([one.integers(0, 1 << 60, 2) for one in rng])

def drawn_alone(value, rng):
    return rng.integers(0, 1 << 60, 2)

async def drawn_later(value, rng):
    first = rng.integers(0, 1 << 60)
    await asyncio.sleep(0.01 * (int(value[0]) % 3))
    return numpy.array([first, rng.integers(0, 1 << 60)])

def turned(values):
    return values[:, ::-1]

def narrow(values):
    return values.astype(numpy.int32)

def from_torch(values):
    import torch
    return torch.from_numpy(values) + 1

def large(values):
    return numpy.repeat(values, 1000, axis=1)

def bad_seven(values):
    return [b"seven" if value[0] == 7 else value for value in values]

def splits(values):
    if os.fork() == 0:
        return values
    return values

async def waits(data):
    if data == b"never":
        await asyncio.sleep(1000)
    await asyncio.sleep(0.05 if data == b"slow" else 0)
    return data

async def large_later(data):
    await asyncio.sleep(0)
    return data * 5000
"""


class Bunches(CrewCase):
    def values_of(self, replies, form="<2q"):
        self.assertEqual([reply["kind"] for reply in replies], ["done"] * len(replies), replies)
        return [struct.unpack(form, reply["data"]) for reply in replies]

    def pairs(self, *keys):
        return [task(ints(key, key + 1), shape=[2], key=key) for key in keys]

    def begin_bunched(self, *calls, takes=PAIR, gives=PAIR, batch=8):
        return self.begin(MODULE, *[bunched(f"made:{call}", batch, takes=takes, gives=gives) for call in calls])

    def test_a_bunch_is_an_array_of_its_own_and_no_larger_than_it_may_be(self):
        daemon = self.begin_bunched("kinds", batch=4)
        values = self.values_of(daemon.call_all(*self.pairs(*range(10))))
        self.assertEqual(values, [(4, key) for key in range(8)] + [(2, 8), (2, 9)])
        self.assertEqual(self.values_of([daemon.call(**self.pairs(5)[0])]), [(1, 5)])

    def test_a_bunch_that_fails_is_asked_for_again_and_each_sample_finds_what_it_had(self):
        daemon = self.begin_bunched("written")
        self.assertEqual([reply["kind"] for reply in daemon.call_all(*self.pairs(1, 2, 3))], ["again"] * 3)
        daemon = self.ended_and_begun(bunched("made:written", takes=PAIR, gives=PAIR))
        replies = daemon.call_all(*[{**one, "alone": True} for one in self.pairs(1, 2, 3)])
        self.assertEqual(self.values_of(replies), [(1, 2), (2, 3), (3, 4)])

    def ended_and_begun(self, *errands):
        self.end_trainer()
        return self.begin(MODULE, *errands)

    def test_bytes_are_a_list(self):
        daemon = self.begin(MODULE, bunched("made:lists"))
        self.assertEqual([reply["kind"] for reply in daemon.call_all(task(b"x"), task(b"yy"))], ["again"] * 2)
        self.assertEqual([reply["data"] for reply in daemon.call_all(task(b"x", alone=True), task(b"", alone=True))], [b"x", b""])

    def test_arrays_of_different_shapes_are_a_list_and_so_are_those_that_happen_to_be_alike(self):
        daemon = self.begin(MODULE, bunched("made:shapes", takes=tensor("int64", None)))
        replies = daemon.call_all(task(ints(1), shape=[1]), task(ints(1, 2), shape=[2]))
        self.assertEqual({reply["data"] for reply in replies}, {b"[(1,), (2,)]"})
        replies = daemon.call_all(task(ints(1), shape=[1]), task(ints(2), shape=[1]))
        self.assertEqual({reply["data"] for reply in replies}, {b"[(1,), (1,)]"})

    def test_each_sample_s_generator_stands_as_if_it_were_alone(self):
        daemon = self.begin(MODULE, bunched("made:drawn", takes=PAIR, gives=PAIR),
                            errand("made:drawn_alone", takes=PAIR, gives=PAIR), later("made:drawn_later", takes=PAIR, gives=PAIR))
        drawn = self.values_of(daemon.call_all(*self.pairs(3, 4, 5)))
        self.assertEqual(len(set(drawn)), 3)
        self.assertEqual(self.values_of(daemon.call_all(*self.pairs(5, 3))), [drawn[2], drawn[0]])
        for number in (1, 2):
            tasks = [{**one, "errand": number} for one in self.pairs(3, 4, 5)]
            self.assertEqual(self.values_of(daemon.call_all(*tasks)), drawn)

    def test_results_of_other_layouts_libraries_and_types(self):
        daemon = self.begin_bunched("turned", "narrow", "from_torch")
        turned, narrow, torched = (daemon.call_all(*[{**one, "errand": number} for one in self.pairs(1, 2)])
                                   for number in range(3))
        self.assertEqual(self.values_of(turned), [(2, 1), (3, 2)])
        self.assertEqual(self.values_of(torched), [(2, 3), (3, 4)])
        self.assertEqual([reply["kind"] for reply in narrow], ["bad"] * 2)
        self.assertIn("made:narrow gave int32 [2], and `gives` says int64 [2]", narrow[0]["text"])

    def test_one_value_that_does_not_fit_is_bad_alone(self):
        daemon = self.begin_bunched("bad_seven")
        replies = daemon.call_all(*self.pairs(6, 7, 8))
        self.assertEqual([reply["kind"] for reply in replies], ["done", "bad", "done"])
        self.assertIn("made:bad_seven gave a value of the type bytes", replies[1]["text"])

    def test_results_that_need_room_wait_for_it(self):
        daemon = self.begin_bunched("large", gives=tensor("int64", None))
        replies = daemon.call_all(*self.pairs(1, 2))
        self.assertEqual([(reply["kind"], reply["bytes"]) for reply in replies], [("needs room", 16000)] * 2)
        daemon.ask("drop", worker=1, number=replies[0]["number"])
        daemon.ask("room", worker=1, number=replies[1]["number"], bytes=16000)
        reply = daemon.reply()
        self.assertEqual((reply["number"], reply["data"]), (replies[1]["number"], ints(*[2] * 1000, *[3] * 1000)))

    def test_tasks_of_other_errands_between_do_not_part_a_bunch(self):
        daemon = self.begin(MODULE, bunched("made:kinds", takes=PAIR, gives=PAIR),
                            errand("made:drawn_alone", takes=PAIR, gives=PAIR))
        tasks = [{**one, "errand": number % 2} for number, one in enumerate(self.pairs(*range(6)))]
        replies = self.values_of(daemon.call_all(*tasks))
        self.assertEqual(replies[::2], [(3, 0), (3, 2), (3, 4)])

    def test_all_calls_of_a_bunch_count_as_begun(self):
        daemon = self.begin_bunched("kinds")
        daemon.call_all(*self.pairs(1, 2, 3))
        self.assertEqual(daemon.ask("begun", worker=1), [[1, 0], [2, 0], [3, 0]])

    def test_a_forked_process_that_comes_back_replies_nothing(self):
        daemon = self.begin_bunched("splits")
        self.assertEqual(self.values_of(daemon.call_all(*self.pairs(1, 2))), [(1, 2), (2, 3)])
        self.assertIsNone(daemon.reply(wait_ms=100))


class Later(CrewCase):
    def test_calls_overtake_one_another_and_each_has_its_reply(self):
        daemon = self.begin(MODULE, later("made:waits"))
        daemon.ask("call all", worker=1, calls=[task(b"slow".hex()), task(b"fast".hex())])
        self.assertEqual([daemon.reply()["data"] for _ in range(2)], [b"fast", b"slow"])
        self.assertEqual(daemon.ask("begun", worker=1), [[1, 16], [2, 16]])

    def test_a_call_that_is_to_be_alone_waits_for_the_others_and_they_for_it(self):
        daemon = self.begin(MODULE, later("made:waits", in_flight=8))
        daemon.ask("call all", worker=1, calls=[task(b"slow".hex()), task(b"alone".hex(), alone=True), task(b"last".hex())])
        self.assertEqual([daemon.reply()["data"] for _ in range(3)], [b"slow", b"alone", b"last"])

    def test_no_more_calls_are_under_way_than_may_be(self):
        daemon = self.begin(MODULE, later("made:waits", in_flight=2))
        daemon.ask("call all", worker=1, calls=[task(b"slow".hex())] * 2 + [task(b"fast".hex())])
        self.assertEqual([daemon.reply()["data"] for _ in range(3)], [b"slow", b"slow", b"fast"])

    def test_a_late_call_is_cancelled_and_others_go_on(self):
        daemon = self.begin(MODULE, later("made:waits", call_limit_s=0.2))
        never, slow = daemon.call_all(task(b"never"), task(b"slow"))
        self.assertEqual(slow["data"], b"slow")
        self.assertEqual((never["kind"], never["text"]), (
            "bad", "made:waits did not return within 0.2 s (call_limit_s of [python]), and was cancelled"))

    def test_results_that_need_room_wait_for_it(self):
        daemon = self.begin(MODULE, later("made:large_later"))
        needs = daemon.call(b"x", room=10)
        self.assertEqual((needs["kind"], needs["bytes"]), ("needs room", 5000))
        self.assertEqual(daemon.call(b"", room=10)["data"], b"")
        daemon.ask("room", worker=1, number=needs["number"], bytes=5000)
        self.assertEqual(daemon.reply()["data"], b"x" * 5000)

    def test_a_worker_without_tasks_sleeps(self):
        daemon = self.begin(MODULE, later("made:waits"))
        self.assertEqual(daemon.call(b"x", room=10)["data"], b"x")
        before = self.worker_cpu()
        self.assertIsNone(daemon.reply(wait_ms=1000))
        self.assertLess(self.worker_cpu() - before, 0.1)

    def worker_cpu(self):
        """Of all processes of the test, in seconds."""
        ticks = 0
        for pid in processes_with(self.mark):
            with open(f"/proc/{pid}/stat") as file:
                ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def test_it_ends_with_the_daemon(self):
        daemon = self.begin(MODULE, later("made:waits"))
        daemon.ask("call", worker=1, data=b"never".hex(), room=10)
        self.assertIsNone(daemon.reply(wait_ms=100))
        daemon.kill()  # and all processes are gone when the test ends

    def test_what_a_function_is_not_written_for_fails_the_crew(self):
        for one, words in (
                (later("made:kinds", in_flight=2), 'the operation calls "made:kinds" with in_flight, which is for async '
                 "functions, and it is none: leave in_flight out, or define the function by async def"),
                (bunched("made:waits"), 'the operation calls "made:waits" with batch, and it is an async function, which is '
                 "called for one sample at a time: write in_flight in place of batch")):
            daemon = self.begin(MODULE, one, ready=False)
            self.assertEqual(daemon.await_said("failed")["text"], words)
            self.end_trainer()
