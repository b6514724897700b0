"""spdld.try_sample runs functions in the calling thread: debuggers, Ctrl-C, and what is left."""
import io
import os
import pdb
import random
import signal
import sys
import threading
import unittest
from contextlib import redirect_stdout

import numpy as np
from case import until
from crew_case import processes_with
from functions_test import python, tensor
from trial_case import CROPPED, NOISY, TrialCase

import spdld


class Process(TrialCase):
    def test_the_function_runs_in_this_thread_and_leaves_the_generators_alone(self):
        seen = []

        def where(picture, rng):
            seen.append((os.getpid(), threading.get_ident(), random.random(), rng.random()))
            print("printed")
            return picture

        random.seed(1)
        np.random.seed(1)
        expected = random.getstate(), np.random.get_state()[1].tolist()
        hooks = list(sys.meta_path)
        output = io.StringIO()
        with redirect_stdout(output):
            for _ in range(2):
                self.trial(self.picture_spec(python("where", tensor("uint8", 32, 32, 3))), ops={"where": where})
        self.assertEqual(output.getvalue(), "printed\nprinted\n")
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0][:2], (os.getpid(), threading.get_ident()))
        self.assertEqual((random.getstate(), np.random.get_state()[1].tolist()), expected)
        self.assertEqual(sys.meta_path, hooks)

    def test_nothing_is_left(self):
        threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            self.trial(self.chain(*CROPPED, NOISY))
        until(lambda: not self.crew(), "the end of the processes")
        self.assertEqual(threading.active_count(), threads)
        self.assertEqual(len(os.listdir("/proc/self/fd")), descriptors)
        self.assertEqual([name for name in os.listdir("/tmp") if name.startswith(f"spdld-try-{os.getpid()}-")], [])
        until(lambda: self.daemon_pipelines() == [], "the daemon lists no pipeline of a trial")

    def daemon_pipelines(self):
        return [entry["name"] for entry in spdld.query("list", socket=self.daemon.socket)["pipelines"]
                if entry["name"].startswith("try-")]

    def test_breakpoint_opens_the_debugger_in_the_function(self):
        text = """
            def halve(picture):
                smallest = int(picture.min()) + 4000
                breakpoint()
                return picture // 2
            spec = spec_of(sys.argv[1])
            spec["output"][0]["ops"].append({"op": "python", "call": "halve", "gives": "uint8 [32, 32, 3]"})
            trial = spdld.try_sample(spec, 17, socket=sys.argv[2], ops={"halve": halve})
            print("largest", trial.outputs["image"].max())
            """
        with self.script("from case import spec_of\n" + "\n".join(line[12:] for line in text.splitlines()), self.pictures,
                         self.daemon.socket) as process:
            output, errors = process.communicate("p smallest\np picture.shape\nc\n", timeout=60)
        self.assertEqual((process.returncode, errors), (0, ""), output)
        self.assertIn("(Pdb) 4000\n(Pdb) (32, 32, 3)\n(Pdb) largest 127\n", output)

    def test_leaving_the_debugger_ends_the_trial(self):
        def stops(picture):
            pdb.Pdb(stdin=io.StringIO("q\n"), stdout=io.StringIO()).set_trace()
            return picture

        with self.assertRaises(pdb.bdb.BdbQuit):
            self.trial(self.picture_spec(python("stops", tensor("uint8", 32, 32, 3))), ops={"stops": stops})

    def test_post_mortem_stands_in_the_function(self):
        def breaks(picture):
            inner = picture.sum() * 0 + 41
            raise ValueError(f"{inner + 1} is too much")

        error = self.assert_bad(self.picture_spec(python("breaks", tensor("uint8", 32, 32, 3))), ops={"breaks": breaks})
        entry = error.__traceback__
        while entry.tb_next is not None:
            entry = entry.tb_next
        self.assertEqual(entry.tb_frame.f_code.co_name, "breaks")
        self.assertEqual(entry.tb_frame.f_locals["inner"], 41)
        self.assertEqual(entry.tb_frame.f_locals["picture"].shape, (32, 32, 3))  # its memory is there
        self.assertIsInstance(error.exception, ValueError)

    def interrupted(self, text):
        """A program that is interrupted when it says "now"; what it says then."""
        with self.script(text, self.pictures, self.daemon.socket) as process:
            self.assertEqual(process.stdout.readline(), "now\n")
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (0, ""), output)
        return output

    def test_ctrl_c_in_a_function(self):
        output = self.interrupted("""
            from case import spec_of
            def endless(picture):
                print("now", flush=True)
                while True:
                    pass
            spec = spec_of(sys.argv[1])
            spec["output"][0]["ops"].append({"op": "python", "call": "endless", "gives": "uint8 [32, 32, 3]"})
            try:
                spdld.try_sample(spec, 17, socket=sys.argv[2], ops={"endless": endless})
            except KeyboardInterrupt:
                print("interrupted", threading.active_count())
            """)
        self.assertEqual(output, "interrupted 1\n")

    def test_ctrl_c_while_the_daemon_works(self):
        output = self.interrupted(f"""
            from case import spec_of
            daemon = {self.daemon.process.pid}
            spec = spec_of(sys.argv[1])
            def first(data):
                os.kill(daemon, signal.SIGSTOP)
                print("now", flush=True)
                return data
            spec["output"][0]["ops"].insert(0, {{"op": "python", "call": "first", "gives": "bytes"}})
            try:
                spdld.try_sample(spec, 17, socket=sys.argv[2], ops={{"first": first}})
            except KeyboardInterrupt:
                print("interrupted", threading.active_count())
            finally:
                os.kill(daemon, signal.SIGCONT)
            """)
        self.assertEqual(output, "interrupted 1\n")

    def test_a_private_daemon_is_started_and_ends(self):
        with self.script("""
            from case import spec_of
            print(spdld.try_sample(spec_of(sys.argv[1]), 17).outputs["image"].shape)
            """, self.pictures, env={**os.environ, "XDG_RUNTIME_DIR": self.folder.name, "SPDLD_SOCKET": "",
                                     "OWN_TEST": self.id()}) as process:
            output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output), (0, "(32, 32, 3)\n"), errors)
        until(lambda: not processes_with(f"OWN_TEST={self.id()}"), "the private daemon ends", 60)


if __name__ == "__main__":
    unittest.main()
