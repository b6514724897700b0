"""Plug-ins in C in a pipeline, with a real daemon and real processes."""
import os
from pathlib import Path

import numpy as np
from case import PROGRAM, RestartedDaemon, until
from functions_test import NUMBERS, FunctionsCase, python, tensor

import spdld

ODD = os.environ.get("SPDLD_ODD_PLUGIN", "")


def plugin(call, gives, settings="", library=ODD):
    return {"op": "plugin", "library": library, "call": call, "settings": settings, "gives": gives}


def mapped_by(pid):
    """The files that the process has in its memory."""
    return Path(f"/proc/{pid}/maps").read_text()


class Plugins(FunctionsCase):
    picture = tensor("uint8", 32, 32, 3)

    def number_spec(self, *ops, **changes):
        output = [{"name": "number", "from": "array", "ops": [{"op": "raw-int"}, *ops]}]
        return super().number_spec(**{"output": output, **changes})

    def test_a_plugin_gets_a_picture_and_gives_one(self):
        loader = self.attach(self.picture_spec(plugin("add", self.picture, "3")))
        for batch in loader:
            self.assertTrue(np.array_equal(np.asarray(batch["image"]), np.asarray(batch["plain"]) + np.uint8(3)))

    def test_the_daemon_never_loads_it(self):
        loader = self.attach(self.picture_spec(plugin("add", self.picture, "3")))
        next(iter(loader))
        self.assertNotIn(ODD, mapped_by(self.daemon.process.pid))
        self.assertNotIn(ODD, mapped_by(os.getpid()))
        self.assertIn(ODD, "".join(mapped_by(pid) for pid in self.crew()))

    def test_plugins_functions_and_the_daemons_operations_behind_one_another(self):
        ops = [plugin("add", self.picture, "3"), python("own_functions:negative", self.picture), plugin("add", self.picture, "1"),
               {"op": "random-erasing", "p": 0.0}, plugin("add", self.picture, "1")]
        for batch in self.attach(self.picture_spec(*ops)):
            self.assertTrue(np.array_equal(np.asarray(batch["image"]), 254 - np.asarray(batch["plain"])))

    def test_bytes_for_an_operation_of_the_daemon(self):
        ops = [plugin("turn", "bytes"), python("own_functions:turned", "bytes"), plugin("turn", "bytes"), plugin("turn", "bytes"),
               {"op": "decode-image"}, {"op": "resize", "size": [32, 32]}]
        spec = self.picture_spec()
        spec["output"][0]["ops"] = ops
        for batch in self.attach(spec):
            self.assertTrue(np.array_equal(np.asarray(batch["image"]), np.asarray(batch["plain"])))

    def test_an_integer_is_a_number_of_int64(self):
        for batch in self.attach(self.number_spec(plugin("count", tensor("int64")), python={"processes": 1})):
            self.assertEqual(np.asarray(batch["number"]).dtype, np.int64)

    def test_the_same_bytes_with_one_process_and_four_and_from_a_state_on(self):
        def epoch(processes, **options):
            loader = self.attach(self.picture_spec(plugin("add", self.picture), python={"processes": processes}), **options)
            self.addCleanup(loader.close)
            return loader, [(np.asarray(batch["sample_id"]).tolist(), np.asarray(batch["image"]).copy()) for batch in loader]

        loader, one = epoch(1)
        state = loader.state_dict()
        later = [np.asarray(batch["image"]).copy() for batch in loader]
        _, four = epoch(4, group=self.id() + "four")
        _, rest = epoch(2, group=self.id() + "rest", state=state)
        self.assertEqual([ids for ids, _ in one], [ids for ids, _ in four])
        self.assertTrue(all(np.array_equal(a, b) for (_, a), (_, b) in zip(one, four, strict=True)))
        self.assertTrue(all(np.array_equal(a, b) for a, (_, b) in zip(later, rest, strict=True)))
        first = {i: image for ids, images in one for i, image in zip(ids, images, strict=True)}
        second = {i: image for (ids, images) in rest for i, image in zip(ids, images, strict=True)}
        self.assertFalse(any(np.array_equal(first[i], second[i]) for i in first))  # each epoch draws anew

    def left_out(self, settings):
        """Samples of a plug-in that is wrong on all of them: how many, and the reasons."""
        loader = self.attach(self.number_spec(python("own_functions:as_bytes", "bytes"), plugin("wrong", "bytes", settings),
                                              python("own_functions:length", tensor("int64")), python={"call_limit_s": 0.3}))
        bad = sum(np.asarray(batch["mask"]).tolist().count(0) for batch in loader)
        reasons = str(loader.stats()["reasons"])
        loader.close()
        until(lambda: not self.crew(), "the end of the crew")
        return bad, reasons

    def test_a_bad_sample_and_a_fault_are_left_out_with_the_sentence(self):
        for settings, sentence in (("bad", "the header is cut"), ("fault", "run failed: out of tables")):
            bad, reasons = self.left_out(settings)
            self.assertEqual(bad, NUMBERS)
            self.assertIn(f"wrong of {ODD}: {sentence}", reasons)

    def test_a_plugin_drops_a_sample(self):
        spec = self.number_spec(python("own_functions:all_but_the_seventh", "bytes"), plugin("wrong", "bytes", "drop"),
                                python("own_functions:length", tensor("int64")), on_bad="substitute", on_drop="shorter")
        loader = self.attach(spec)
        ids = [sample for batch in loader for sample in np.asarray(batch["sample_id"]).tolist()]
        self.assertEqual(sorted(ids), [number for number in range(NUMBERS) if number != 7])
        reason, = loader.stats()["reasons"]
        self.assertEqual((reason["kind"], reason["reason"], reason["sample"]), ("dropped", "wrong dropped it", 7))

    def test_a_crash_and_an_endless_loop_cost_one_sample(self):
        for wrong, reason in (("crash", "its process was ended by signal 11"), ("exit", "its process ended by itself"),
                              ("hang", "call_limit_s")):
            spec = self.number_spec(python("own_functions:all_but_the_seventh", "bytes"), plugin("wrong", "bytes", wrong),
                                    python("own_functions:length", tensor("int64")), python={"call_limit_s": 0.5})
            loader = self.attach(spec, group=self.id() + wrong)
            good, bad = [], []
            for batch in loader:
                columns = (np.asarray(batch[name]).tolist() for name in ("number", "sample_id", "mask"))
                for number, sample, is_good in zip(*columns, strict=True):
                    (good if is_good else bad).append(sample)
                    self.assertEqual(number, 4 if is_good else 0)
            self.assertEqual(bad, [7])
            self.assertEqual(sorted(good), [number for number in range(NUMBERS) if number != 7])
            self.assertIn(reason, str(loader.stats()["reasons"]))
            loader.close()

    def test_a_named_pipeline_has_no_plugins(self):
        named = Path(self.folder.name) / "named"
        named.mkdir()
        ops = f'{{ op = "raw-int" }}, {{ op = "plugin", library = "{ODD}", call = "count", gives = "int64 []" }}'
        (named / "numbers.toml").write_text(f'name = "numbers"\n[source]\ntype = "npy"\nuri = "{self.numbers}"\n[[output]]\n'
                                            f'name = "number"\nfrom = "array"\nops = [{ops}]\n[batch]\nsize = 4\n')
        daemon = RestartedDaemon(PROGRAM, f'[pipelines]\ndir = "{named}"\n')
        self.addCleanup(daemon.close)
        with self.assertRaises(spdld.Error) as raised:
            self.attach("numbers", socket=daemon.socket)
        self.assertIn("of the operator's can't call functions of users", str(raised.exception))
        self.assertNotIn(ODD, mapped_by(daemon.process.pid))

    def test_what_is_wrong_with_a_plugin_is_told_in_a_sentence(self):
        def refused(sentence, *ops):
            with self.assertRaises(spdld.Error) as raised:
                next(iter(self.attach(self.picture_spec(*ops))))
            self.assertIn(sentence, str(raised.exception))

        refused("there is no file /nowhere/blur.so: write the path", plugin("add", self.picture, library="/nowhere/blur.so"))
        refused(f"blur of {ODD} is not there: the library has turn, add", plugin("blur", self.picture))
        refused(f"add of {ODD} gives uint8 [32, 32, 3], and `gives` says uint8 [32, 32, 4]: correct `gives`",
                plugin("add", tensor("uint8", 32, 32, 4)))
        refused(f"turn of {ODD} can't work on uint8 [32, 32, 3]: it takes bytes alone", plugin("turn", "bytes"),
                {"op": "decode-image"}, {"op": "resize", "size": [32, 32]})
        refused("must be the name of one of the library's operations", plugin("Add it", self.picture))

    def test_another_build_is_another_run(self):
        own = Path(self.folder.name) / f"{self.id()}.so"
        own.write_bytes(Path(ODD).read_bytes())
        spec = self.picture_spec(plugin("add", self.picture, "3", library=str(own)))
        state = self.attach(spec).state_dict()
        own.unlink()  # a file that a process has mapped is not written to
        own.write_bytes(Path(ODD).read_bytes() + b"\0")
        with self.assertRaises(spdld.ChangedError) as raised:
            self.attach(spec, state=state, group=self.id() + "other")
        self.assertIn("code", str(raised.exception))
