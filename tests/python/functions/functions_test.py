"""Functions of the user's own in a pipeline, with a real daemon and real processes."""
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
from case import PROGRAM, DaemonCase, RestartedDaemon, until
from crew_case import needs_cloudpickle, processes_with

import spdld

NUMBERS = 40


def batches_of(loader):
    """Of one epoch after another."""
    while True:
        yield from loader


def python(call, gives):
    return {"op": "python", "call": call, "gives": gives}


def tensor(dtype, *shape):
    return {"dtype": dtype, "shape": list(shape)}


class FunctionsCase(DaemonCase):
    """Each test's processes have a word of its own in their environment."""

    def setUp(self):
        super().setUp()
        self.word = f"OWN_TEST={self.id()}-{os.getpid()}"
        self.set_env("OWN_TEST", self.word.partition("=")[2])
        self.numbers = Path(self.folder.name) / "numbers"
        if not self.numbers.exists():
            self.numbers.mkdir()
            np.save(self.numbers / "x.npy", np.arange(NUMBERS, dtype=np.int64))

    def set_env(self, name, value):
        before = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if before is None else os.environ.update({name: before}))

    def crew(self):
        """The processes of the test's crew."""
        return [pid for pid in processes_with(self.word) if pid != os.getpid()]

    def picture_spec(self, *ops, **changes):
        outputs = [{"name": "image", "from": "image", "ops": [{"op": "decode-image"}, {"op": "resize", "size": [32, 32]}, *ops]},
                   {"name": "plain", "from": "image", "ops": [{"op": "decode-image"}, {"op": "resize", "size": [32, 32]}]}]
        return self.spec(output=outputs, **changes)

    def number_spec(self, faults="", call="own_functions:faulty", **changes):
        self.set_env("OWN_FAULTS", faults)
        spec = {"name": "numbers", "source": {"type": "npy", "uri": str(self.numbers)}, "order": {"epochs": 1},
                "output": [{"name": "number", "from": "array", "ops": [{"op": "raw-int"}, python(call, tensor("int64"))]}],
                "batch": {"size": 4}, "on_bad": "mask"}
        return {**spec, **changes}

    def taken(self, loader):
        """The numbers of an epoch, and the ids of samples that were left out."""
        good, left_out = [], []
        for batch in loader:
            mask = np.asarray(batch["mask"]).tolist()
            numbers, samples = np.asarray(batch["number"]).tolist(), np.asarray(batch["sample_id"]).tolist()
            for number, sample, is_good in zip(numbers, samples, mask, strict=True):
                (good if is_good else left_out).append(sample)
                if is_good:
                    self.assertEqual(number, sample)
        return sorted(good), sorted(left_out)

    def check_left_out(self, faults, left_out, reason="", **changes):
        loader = self.attach(self.number_spec(faults, **changes))
        good, missing = self.taken(loader)
        self.assertEqual(missing, left_out)
        self.assertEqual(good, [number for number in range(NUMBERS) if number not in left_out])
        reasons = " ".join(str(entry) for entry in loader.stats()["reasons"])
        if reason:
            self.assertIn(reason, reasons)
        loader.close()
        until(lambda: not self.crew(), "the end of the crew")
        return reasons


class Values(FunctionsCase):
    def test_a_function_gets_a_picture_and_gives_one(self):
        loader = self.attach(self.picture_spec(python("own_functions:negative", tensor("uint8", 32, 32, 3))))
        for batch in loader:
            self.assertTrue(np.array_equal(np.asarray(batch["image"]), 255 - np.asarray(batch["plain"])))

    @needs_cloudpickle
    def test_a_function_of_this_program_comes_along(self):
        scale = 3

        def larger(number):
            return number * scale

        loader = self.attach(self.number_spec(call="larger"), ops={"larger": larger})
        for batch in loader:
            self.assertEqual(np.asarray(batch["number"]).tolist(), [3 * i for i in np.asarray(batch["sample_id"]).tolist()])

    def test_bytes_and_ragged_results(self):
        spec = self.number_spec()
        spec["output"] = [{"name": "counts", "from": "array", "ragged": True, "length_max": NUMBERS,
                           "ops": [{"op": "raw-int"}, python("own_functions:count_up", tensor("int64", -1))]}]
        spec["on_bad"] = "substitute"
        for batch in self.attach(spec):
            rows = batch["counts"]
            for row, sample in enumerate(np.asarray(batch["sample_id"]).tolist()):
                self.assertEqual(np.asarray(rows[row]).tolist(), list(range(sample)))

    def test_the_same_bytes_with_one_process_and_four_and_from_a_state_on(self):
        noisy = python("own_functions:noisy", tensor("uint8", 32, 32, 3))

        def epoch(processes, **options):
            loader = self.attach(self.picture_spec(noisy, python={"processes": processes}), **options)
            self.addCleanup(loader.close)
            steps = [(np.asarray(batch["sample_id"]).tolist(), np.asarray(batch["image"]).copy()) for batch in loader]
            state = loader.state_dict()
            steps += [(np.asarray(batch["sample_id"]).tolist(), np.asarray(batch["image"]).copy()) for batch in loader]
            loader.close()
            return steps, state

        one, state = epoch(1)
        four, _ = epoch(4, group=self.id() + "four")
        rest = self.attach(self.picture_spec(noisy, python={"processes": 2}), state=state, group=self.id() + "rest")
        later = [(np.asarray(batch["sample_id"]).tolist(), np.asarray(batch["image"]).copy()) for batch in rest]
        self.assertEqual([ids for ids, _ in one], [ids for ids, _ in four])
        self.assertTrue(all(np.array_equal(a, b) for (_, a), (_, b) in zip(one, four, strict=True)))
        self.assertEqual([ids for ids, _ in later], [ids for ids, _ in one[len(one) // 2:]])
        self.assertTrue(all(np.array_equal(a, b) for (_, a), (_, b) in zip(later, one[len(one) // 2:], strict=True)))
        first = {i: image for ids, images in one[:len(one) // 2] for i, image in zip(ids, images, strict=True)}
        second = {i: image for ids, images in one[len(one) // 2:] for i, image in zip(ids, images, strict=True)}
        self.assertFalse(all(np.array_equal(first[i], second[i]) for i in first))  # each epoch draws anew

    def test_texts_have_the_same_hash_in_every_crew(self):
        seen = set()
        for number in range(3):
            loader = self.attach(self.number_spec(call="own_functions:first_of_a_set"), group=f"{self.id()}-{number}")
            seen |= {value for batch in loader for value in np.asarray(batch["number"]).tolist()}
            loader.close()
            until(lambda: not self.crew(), "the end of the crew")
        self.assertEqual(len(seen), 1)

    def test_the_ranks_of_a_job_share_a_crew_and_divide_what_one_rank_gets(self):
        spec = self.number_spec(python={"processes": 1})
        ranks = [self.attach(spec, rank=rank, world_size=2, group=self.id()) for rank in range(2)]
        good = []
        for loader in ranks:
            numbers, left_out = self.taken(loader)
            good += numbers
            self.assertEqual(left_out, [])
        self.assertEqual(sorted(good), list(range(NUMBERS)))
        self.assertEqual(len(self.crew()), 3)  # the crew, the process that loads the functions, and a worker

    @needs_cloudpickle
    def test_a_changed_function_is_another_run(self):
        def one(number):
            return number

        def two(number):
            return number + 0

        spec = self.number_spec(call="f")
        state = self.attach(spec, ops={"f": one}).state_dict()
        self.attach(spec, ops={"f": one}, state=state, group=self.id() + "same")
        with self.assertRaises(spdld.ChangedError) as raised:
            self.attach(spec, ops={"f": two}, state=state, group=self.id() + "other")
        self.assertIn("code", str(raised.exception))


class Faults(FunctionsCase):
    def test_an_exception_is_bad_content_with_its_line(self):
        reasons = self.check_left_out("7:raises", [7], "own_functions:faulty raised ValueError: this one can't be used")
        self.assertIn("own_functions.py:", reasons)

    def test_a_process_that_ends_is_replaced_and_its_sample_left_out(self):
        self.check_left_out("3:exits 9:crashes 30:exits", [3, 9, 30], "its process")

    def test_a_sample_is_tried_once_more(self):
        self.set_env("OWN_ONCE", str(Path(self.folder.name) / f"once-{self.id()}"))
        self.check_left_out("5:once", [])

    def test_an_endless_loop_is_ended(self):
        self.check_left_out("11:hangs", [11], "call_limit_s", python={"call_limit_s": 0.3})

    def test_memory_beyond_the_limit_is_bad_content(self):
        self.check_left_out("13:bursts", [13], "MemoryError", python={"memory": "512 MiB"})

    def test_nothing_that_a_function_starts_is_left(self):
        self.check_left_out("2:leaves 17:leaves", [])

    def test_all_faults_together(self):
        faults = {4: "raises", 8: "exits", 12: "hangs", 16: "bursts", 20: "crashes", 24: "raises"}
        self.check_left_out(" ".join(f"{number}:{fault}" for number, fault in faults.items()), sorted(faults),
                            python={"call_limit_s": 0.3, "memory": "512 MiB", "processes": 3})

    @needs_cloudpickle
    def test_what_is_wrong_with_a_function_is_told_in_a_sentence(self):
        def refused(sentence, spec, **options):
            with self.assertRaises(spdld.Error) as raised:
                loader = self.attach(spec, **options)
                next(iter(loader))
            self.assertRegex(str(raised.exception), sentence)

        refused("Python finds no module nosuch", self.number_spec(call="nosuch:f"))
        refused("has no nosuch", self.number_spec(call="own_functions:nosuch"))
        refused("not in ops", self.number_spec(call="f"))
        lock = __import__("threading").Lock()
        refused("lock", self.number_spec(call="f"), ops={"f": lambda number: lock and number})
        refused("gives", self.number_spec(call="own_functions:faulty", output=[
            {"name": "number", "from": "array", "ops": [{"op": "raw-int"}, python("own_functions:faulty", "int65")]}]))

    @needs_cloudpickle
    def test_a_result_of_another_type_is_told_in_a_sentence(self):
        loader = self.attach(self.number_spec(call="f"), ops={"f": lambda number: np.float32(number)})
        good, left_out = self.taken(loader)
        self.assertEqual((good, len(left_out)), ([], NUMBERS))
        self.assertIn("f gave float32 []", str(loader.stats()["reasons"]))


class Deaths(FunctionsCase):
    SCRIPT = textwrap.dedent("""
        import sys
        import numpy as np
        import spdld
        loader = spdld.attach({spec!r}, socket={socket!r}, framework="numpy")
        for batch in loader:
            print(np.asarray(batch["sample_id"]).tolist(), flush=True)
            if {waits}:
                sys.stdin.readline()
    """)

    def trainer(self, spec, waits=True, socket=None):
        script = self.SCRIPT.format(spec=spec, socket=str(socket or self.daemon.socket), waits=waits)
        process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_nothing_is_left_when_the_trainer_was_killed(self):
        trainer = self.trainer(self.number_spec("5:leaves"))
        trainer.stdout.readline()
        until(lambda: len(self.crew()) > 3, "the crew")
        trainer.kill()
        trainer.wait()
        until(lambda: not self.crew(), "the end of the crew")

    def test_nothing_is_left_when_a_worker_is_in_an_endless_loop(self):
        spec = self.number_spec(" ".join(f"{number}:hangs" for number in range(NUMBERS)))
        trainer = self.trainer(spec)
        until(lambda: len(self.crew()) > 3, "the crew")
        trainer.kill()
        trainer.wait()
        until(lambda: not self.crew(), "the end of the crew")

    def test_ctrl_c_in_the_trainer_leaves_no_process(self):
        trainer = self.trainer(self.number_spec(), waits=True)
        trainer.stdout.readline()
        trainer.send_signal(signal.SIGINT)
        trainer.wait(10)
        until(lambda: not self.crew(), "the end of the crew")

    def test_a_killed_worker_costs_nothing(self):
        loader = self.attach(self.number_spec(order={"epochs": 0, "shuffle": False}, on_bad="substitute",
                                              python={"processes": 2}))
        batches = batches_of(loader)
        seen = []
        for step in range(3 * NUMBERS // 4):
            seen += np.asarray(next(batches)["number"]).tolist()
            if step % 5 == 2:
                workers = sorted(self.crew())[2:]
                if workers:
                    os.kill(workers[0], signal.SIGKILL)
        self.assertEqual(seen, 3 * list(range(NUMBERS)))

    def test_a_killed_crew_comes_again(self):
        loader = self.attach(self.number_spec(order={"epochs": 0, "shuffle": False}, on_bad="substitute"))
        batches = batches_of(loader)
        seen = []
        for step in range(3 * NUMBERS // 4):
            seen += np.asarray(next(batches)["number"]).tolist()
            if step in (4, 17):
                for pid in self.crew():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        self.assertEqual(seen, 3 * list(range(NUMBERS)))

    def test_a_killed_daemon_takes_its_crew_along_and_the_next_one_gets_another(self):
        daemon = RestartedDaemon(PROGRAM)
        self.addCleanup(daemon.close)
        loader = self.attach(self.number_spec(order={"epochs": 0, "shuffle": False}, on_bad="substitute"), socket=daemon.socket)
        batches = batches_of(loader)
        seen = []
        for step in range(2 * NUMBERS // 4):
            if step == 5:
                before = set(self.crew())
                daemon.kill()
                until(lambda: not before & set(self.crew()), "the end of the crew")
                daemon.start_again()
            seen += np.asarray(next(batches)["number"]).tolist()
        self.assertEqual(seen, 2 * list(range(NUMBERS)))

    def test_what_functions_print_comes_to_the_trainers_stderr(self):
        trainer = self.trainer(self.number_spec("6:prints"), waits=False)
        _, err = trainer.communicate(timeout=30)
        self.assertEqual(trainer.returncode, 0, err)
        self.assertIn("a line of the user's\n", err)
        self.assertIn("and one of the user's on stderr\n", err)


class Operators(FunctionsCase):
    def numbers_file(self):
        """The content of a file with a pipeline that calls a function."""
        return textwrap.dedent(f"""
            name = "numbers"
            [source]
            type = "npy"
            uri = "{self.numbers}"
            [[output]]
            name = "number"
            from = "array"
            ops = [{{ op = "raw-int" }}, {{ op = "python", call = "own_functions:faulty", gives = "int64 []" }}]
            [batch]
            size = 4
        """)

    def test_a_named_pipeline_has_no_functions(self):
        daemon = RestartedDaemon(PROGRAM, f'[pipelines]\ndir = "{self.folder.name}/named"\n')
        self.addCleanup(daemon.close)
        named = Path(self.folder.name) / "named"
        named.mkdir()
        (named / "numbers.toml").write_text(self.numbers_file())
        with self.assertRaises(spdld.Error) as raised:
            self.attach("numbers", socket=daemon.socket)
        self.assertIn("of the operator's can't call functions of users", str(raised.exception))

    def test_a_client_that_starts_no_crew_is_told_what_to_use(self):
        ctl = os.environ["SPDLD_CTL"]
        path = Path(self.folder.name) / "crew.toml"
        path.write_text(self.numbers_file())
        told = subprocess.run([ctl, "bench", str(path)], env=self.daemon.environment(), capture_output=True, text=True,
                              timeout=60)
        self.assertNotEqual(told.returncode, 0)
        self.assertIn("spdld.torch.Loader", told.stdout + told.stderr)


class Time(FunctionsCase):
    def test_the_stage_is_shown_with_its_workers(self):
        loader = self.attach(self.number_spec(python={"processes": 2}))
        self.taken(loader)
        document = spdld.query("describe", "numbers", socket=self.daemon.socket)
        stages = {stage["name"]: stage for stage in document["stages"]}
        self.assertIn("python", stages)
        self.assertEqual(stages["python"]["samples"], NUMBERS)

    @needs_cloudpickle
    def test_each_function_has_its_time_in_describe(self):
        def slow(number):
            end = time.perf_counter() + 0.003
            while time.perf_counter() < end:
                pass
            return number

        spec = self.number_spec("8:raises")
        spec["output"][0]["ops"].append(python("slow", tensor("int64")))
        loader = self.attach(spec, ops={"slow": slow})
        self.taken(loader)
        document = spdld.query("describe", "numbers", socket=self.daemon.socket)
        found = {entry["op"]: entry for entry in document["operations"] if entry["stage"] == "python"}
        self.assertEqual({call: (entry["output"], entry["samples"]) for call, entry in found.items()},
                         {"own_functions:faulty": ("number", NUMBERS), "slow": ("number", NUMBERS - 1)})
        self.assertGreaterEqual(found["slow"]["busy_s"], 0.003 * (NUMBERS - 1))
        self.assertGreater(found["slow"]["busy_s"], found["own_functions:faulty"]["busy_s"])
        text = subprocess.run([os.environ["SPDLD_CTL"], "--socket", self.daemon.socket, "describe", "numbers"],
                              capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertRegex(text, r"number +slow +python +\d+(\.\d+)? ms +\d+ %")


