"""Python operations that fail: exceptions, crashes, endless loops, and what is left of a crew when its daemon or its trainer
is gone."""
import os
import signal
import time

from crew_case import CrewCase, errand, processes_with, tensor, until

GONE_S = 1.0

FAULTY = """
    import os, signal, sys, time
    import numpy

    def inner(data):
        raise ValueError(f"bad  sample\\n{data!r}")

    def faulty(data):
        if data == b"raise":
            inner(data)
        if data == b"exit":
            sys.exit(3)
        if data == b"interrupt":
            raise KeyboardInterrupt
        if data == b"crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if data == b"leave":
            os._exit(7)
        if data == b"hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1)
        if data == b"burst":
            return bytes(numpy.ones(2**30, dtype=numpy.uint8))
        if data == b"fork":
            reads, writes = os.pipe()
            if os.fork() == 0:
                os.setsid()
                os.write(writes, b"x")
                time.sleep(1000)
            os.read(reads, 1)
        if data == b"split":
            os.fork()
        if data == b"split and raise":
            os.fork()
            raise ValueError
        if data == b"print":
            print("out of a function")
            print("err of a function", file=sys.stderr)
        if data == b"flood":
            for number in range(20000):
                print("x" * 10000)
        if data == b"numpy":
            numpy.zeros(3).reshape(7)
        return data
    """


class OfASample(CrewCase):
    def bad(self, data):
        reply = self.daemon.call(data, room=100)
        self.assertEqual(reply["kind"], "bad", reply)
        return reply["text"]

    def test_an_exception_is_told_with_its_place_and_ends_nothing(self):
        daemon = self.begin(FAULTY, errand("made:faulty"))
        file = self.folder / "made.py"
        self.assertEqual(self.bad(b"raise"), f"made:faulty raised ValueError: bad sample b'raise' ({file}:6, in inner)")
        self.assertEqual(self.bad(b"exit"), f"made:faulty raised SystemExit: 3 ({file}:12, in faulty)")
        self.assertEqual(self.bad(b"interrupt"), f"made:faulty raised KeyboardInterrupt ({file}:14, in faulty)")
        # The innermost line of the user's own code, and not of a library.
        self.assertRegex(self.bad(b"numpy"), rf"^made:faulty raised ValueError: cannot reshape .* \({file}:44, in faulty\)$")
        self.assertEqual(daemon.call(b"good", room=100)["data"], b"good")

    def test_the_function_that_failed_is_named(self):
        self.begin("def one(data):\n    return data\ndef two(data):\n    return 1 / 0\n", errand("made:one", "made:two"))
        self.assertRegex(self.bad(b""), r"^made:two raised ZeroDivisionError: division by zero \(.*made.py:4, in two\)$")

    def test_a_function_that_can_not_be_called_so(self):
        self.begin("def two(one, other):\n    return one\n", errand("made:two"))
        self.assertRegex(self.bad(b""), r"^made:two raised TypeError: two\(\) missing 1 required positional argument: 'other'$")

    def test_memory_beyond_the_limit_is_an_exception(self):
        daemon = self.begin(FAULTY, errand("made:faulty"), memory_max=200 * 2**20)
        self.assertRegex(self.bad(b"burst"), "^made:faulty raised .*MemoryError")
        self.assertEqual(daemon.call(b"good", room=100)["data"], b"good")


class OfAWorker(CrewCase):
    def ended(self, worker=1):
        said = self.daemon.said()
        self.assertEqual((said["what"], said["number"]), ("ended", worker), said)
        return said["text"]

    def test_a_crash_is_told_and_ends_that_worker_alone(self):
        daemon = self.begin(FAULTY, errand("made:faulty"), workers=(1, 2))
        daemon.call(b"x", worker=2, room=10)
        daemon.ask("call", worker=1, data=b"crash".hex())
        self.assertEqual(self.ended(), "was ended by signal 11 (segmentation fault)")
        daemon.ask("start", worker=3)
        daemon.ask("call", worker=3, data=b"leave".hex())
        self.assertEqual(self.ended(3), "ended by itself with the exit code 7")
        self.assertEqual(daemon.call(b"x", worker=2, room=10)["data"], b"x")
        daemon.ask("start", worker=1)  # the number is free again
        self.assertEqual(daemon.call(b"y", room=10)["data"], b"y")

    def test_a_worker_that_does_not_answer_is_ended_with_what_it_started(self):
        daemon = self.begin(FAULTY, errand("made:faulty"))
        daemon.ask("call", worker=1, data=b"hang".hex())
        self.assertIsNone(daemon.reply(wait_ms=200))
        daemon.ask("end", worker=1)
        self.assertEqual(self.ended(), "was ended by signal 9 (killed)")

    def test_a_daemon_that_breaks_the_protocol_ends_the_worker_with_a_word(self):
        value = tensor("uint8", 3)
        daemon = self.begin("def same(a):\n    return a\n", errand("made:same", takes=value, gives=value))
        daemon.ask("call", worker=1, shape=[3], input_bytes=4)
        self.assertEqual(self.ended(), "ended by itself with the exit code 1")
        self.assertIn("spdld: a worker ends, because the daemon broke the protocol: it tells memory that there is not, or that "
                      "does not fit its shape\n", self.printed())

    def test_a_forked_process_that_comes_back_replies_nothing(self):
        daemon = self.begin(FAULTY, errand("made:faulty"))
        for number in range(5):
            self.assertEqual(daemon.call(b"split", room=10)["data"], b"split")
            self.assertEqual(daemon.call(b"split and raise", room=10)["kind"], "bad")
            self.assertEqual(daemon.call(b"x%d" % number, room=10)["data"], b"x%d" % number)
        self.assertIsNone(daemon.reply(wait_ms=100))
        printed = self.printed().splitlines()
        self.assertEqual(printed, ["spdld: a process that a Python operation had forked came back from the function, and was "
                                   "ended"] * 10)

    def test_the_end_of_the_nursery_fails_the_crew(self):
        daemon = self.begin(FAULTY, errand("made:faulty"))
        daemon.call(b"x", room=10)  # the worker is there
        parent = next(pid for pid in processes_with(self.mark) if self.is_nursery(pid))
        os.kill(parent, signal.SIGKILL)
        said = daemon.said()
        self.assertEqual((said["what"], said["text"]), (
            "failed", "the process that loads the functions of Python operations and starts workers was ended by signal 9 "
            "(killed)"))

    def is_nursery(self, pid):
        children = [other for other in processes_with(self.mark) if parent_of(other) == pid]
        return bool(children) and parent_of(pid) in processes_with(self.mark) and parent_of(pid) != self.trainer.pid


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


class OfTheCrew(CrewCase):
    def assert_all_gone(self, but=()):
        begin = time.monotonic()
        until(lambda: set(processes_with(self.mark)) <= set(but), f"all have ended: {processes_with(self.mark)}", 5)
        self.assertLess(time.monotonic() - begin, GONE_S)

    def test_all_is_gone_when_the_daemon_is_killed_also_what_ran_away(self):
        daemon = self.begin(FAULTY, errand("made:faulty"), workers=(1, 2, 3))
        self.assertEqual(daemon.call(b"fork", worker=2, room=10)["data"], b"fork")
        daemon.ask("end", worker=2)  # what it has forked is an orphan in a session of its own
        self.assertEqual(daemon.await_said("ended")["number"], 2)
        self.assertEqual(daemon.call(b"fork", worker=3, room=10)["data"], b"fork")
        daemon.ask("call", worker=1, data=b"hang".hex())
        self.assertIsNone(daemon.reply(wait_ms=100))
        self.assertEqual(len(processes_with(self.mark)), 7)
        daemon.kill()
        self.assert_all_gone(but=(self.trainer.pid,))

    def test_all_is_gone_when_the_daemon_cuts_the_crew_loose(self):
        daemon = self.begin(FAULTY, errand("made:faulty"), workers=(1, 2))
        daemon.ask("hang up")
        self.assert_all_gone(but=(self.trainer.pid,))

    def test_all_is_gone_in_the_middle_of_an_import(self):
        daemon = self.begin("""
            import signal
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            while True:
                pass
            """, errand("made:never"), ready=False)
        self.assertEqual([daemon.said()["what"], daemon.said()["what"]], ["joined", "progress"])
        daemon.kill()
        self.assert_all_gone(but=(self.trainer.pid,))

    def test_a_killed_crew_takes_its_processes_along(self):
        daemon = self.begin(FAULTY, errand("made:faulty"), workers=(1, 2))
        daemon.call(b"x", room=10)
        crew = [pid for pid in processes_with(self.mark) if os.getsid(pid) == pid and pid != self.trainer.pid]
        self.assertEqual(len(crew), 1)
        os.kill(crew[0], signal.SIGKILL)
        self.assert_all_gone(but=(self.trainer.pid,))

    def test_signals_of_a_terminal_do_not_reach_it(self):
        daemon = self.begin(FAULTY, errand("made:faulty"))
        os.killpg(self.trainer.pid, signal.SIGINT)
        self.trainer.wait()
        self.assertEqual(daemon.call(b"x", room=10)["data"], b"x")  # it is the daemon that ends it
        for pid in processes_with(self.mark):
            os.kill(pid, signal.SIGINT)
        self.assertEqual(daemon.call(b"y", room=10)["data"], b"y")

    def test_a_crew_that_came_too_late_ends_without_a_word(self):
        self.begin("x = 1\n", ready=False, spec_ops=[{"op": "python", "call": "made:x1", "gives": "bytes"}],
                   prelude="import made; made.x1 = len")
        self.assertEqual(self.daemon.said()["what"], "refused")
        until(lambda: processes_with(self.mark) == [self.trainer.pid], "the crew has ended")
        self.assertEqual(self.printed(), "")

    def test_no_zombie_is_left_below_the_trainer(self):
        self.begin(FAULTY, errand("made:faulty"))
        children = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if lives_below(pid, self.trainer.pid)]
        self.assertEqual(children, [])

    def test_a_function_that_is_not_there_fails_the_crew(self):
        for calls, words in (
                (("missing:blur",), 'the operation calls "missing:blur", and Python finds no module missing: write call = '
                 '"module:function" with a module that the program can import, and add the module\'s folder to PYTHONPATH where '
                 "it needs one"),
                (("made:blurr",), 'the operation calls "made:blurr", and the module made has no blurr: write the name of a '
                 "function that the module has at its top"),
                (("made:number",), 'the operation calls "made:number", which is a value of the type int: write the name of a '
                 "function"),
                (("broken:blur",), 'the operation calls "broken:blur", and the module broken cannot be imported: '
                 "ZeroDivisionError: division by zero"),
                (("blur",), 'the operation calls "blur", and the program that started the crew has no function of this name: '
                 'give ops={"blur": function}, or write call = "module:function"')):
            with self.subTest(calls=calls):
                (self.folder / "broken.py").write_text("1 / 0\n")
                # The spec of the trainer is another one, as where the file of a module was changed since.
                daemon = self.begin("number = 1\ndef good(data):\n    return data\n", errand(*calls), ready=False,
                                    spec_ops=[{"op": "python", "call": "made:good", "gives": "bytes"}])
                said = daemon.await_said("failed")
                self.assertEqual(said["text"], words)
                self.end_trainer()


def lives_below(pid, parent):
    try:
        return parent_of(pid) == parent
    except OSError:
        return False


class Prints(CrewCase):
    def test_lines_of_functions_come_to_the_trainers_stderr(self):
        daemon = self.begin("print('at import')\n" + "import warnings\nwarnings.warn('be careful')\n" +
                            "import sys\ndef say(data):\n    print('out of it')\n    print('err of it', file=sys.stderr)\n"
                            "    return data\n", errand("made:say"))
        daemon.call(b"", room=1)
        printed = self.printed().splitlines()
        for line in ("at import", "out of it", "err of it"):
            self.assertIn(line, printed)
        self.assertTrue(any("be careful" in line for line in printed), printed)

    def test_a_flood_is_bounded_and_counted(self):
        daemon = self.begin(FAULTY, errand("made:faulty"))
        self.assertEqual(daemon.call(b"flood", room=10)["data"], b"flood")
        lines = self.printed().splitlines()
        long = [line for line in lines if line.startswith("xxx")]
        self.assertTrue(all(len(line) < 4096 for line in long))
        self.assertLessEqual(len(long), 200 * 20)
        left_out = sum(int(line.split()[1]) for line in lines if line.startswith("spdld: ") and "left out" in line)
        self.assertEqual(len(long) + left_out, 20000)

    def test_a_trainer_without_descriptors_has_a_crew_all_the_same(self):
        daemon = self.begin(FAULTY, errand("made:faulty"), prelude="import os; os.close(2); os.close(0)")
        self.assertEqual(daemon.call(b"print", room=10)["data"], b"print")
        self.assertEqual(daemon.call(b"raise", room=10)["kind"], "bad")

    def test_a_stderr_that_is_gone_or_that_nobody_reads_stops_nothing(self):
        daemon = self.begin(FAULTY, errand("made:faulty"))
        self.assertEqual(daemon.call(b"flood", room=10)["data"], b"flood")  # more than a pipe holds
        self.trainer.stderr.close()
        self.assertEqual(daemon.call(b"flood", room=10)["data"], b"flood")
        daemon.kill()
        begin = time.monotonic()
        until(lambda: processes_with(self.mark) == [self.trainer.pid], "the crew has ended", 5)
        self.assertLess(time.monotonic() - begin, GONE_S)


