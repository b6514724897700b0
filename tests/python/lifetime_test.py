"""How long a batch stays, and who may give it back: names, views, threads, forks, the interpreter's end."""
import gc
import threading
import unittest

import numpy as np

import spdld
from case import STEPS, DaemonCase

try:
    import torch
except ImportError:
    torch = None


class Leases(DaemonCase):
    def test_a_batch_is_held_by_what_was_made_of_it(self):
        loader = self.attach()
        batch = loader.next()
        view = batch["image"][1:, ::2]
        copy = view.copy()
        batch.release()
        self.assertIn("released", repr(batch))
        with self.assertRaisesRegex(spdld.InvalidError, "released"):
            batch["image"]
        for _ in range(STEPS - 1):  # every slot but the view's is filled anew
            loader.next()
        np.testing.assert_array_equal(view, copy)
        self.await_held(1)
        del view
        self.await_held(0)

    def test_every_consumer_holds(self):
        loader = self.attach()
        made = {
            "tensor": lambda batch: batch.tensor("image"),
            "numpy": lambda batch: batch["image"],
            "dlpack": lambda batch: np.from_dlpack(batch.tensor("image")),
            "capsule": lambda batch: batch.tensor("image").__dlpack__(),
            "versioned capsule": lambda batch: batch.tensor("image").__dlpack__(max_version=(1, 0)),
        }
        if torch:
            made["torch"] = lambda batch: torch.from_dlpack(batch.tensor("image"))
            made["torch's view"] = lambda batch: torch.from_dlpack(batch.tensor("image"))[1:].transpose(1, 2)
        for name, make in made.items():
            with self.subTest(name):
                loader.set_epoch(0)
                kept = make(loader.next())
                gc.collect()
                loader.next()
                self.await_held(1)
                del kept
                self.await_held(0)

    def test_a_batch_outlives_its_loader(self):
        loader = self.attach()
        batch = loader.next()
        image = batch["image"]
        before = image.copy()
        loader.close()
        del loader
        gc.collect()
        other = self.attach()
        for _ in other:
            pass
        np.testing.assert_array_equal(image, before)
        image += 1
        np.testing.assert_array_equal(batch["image"], before + np.uint8(1))

    def test_all_held_is_an_error_and_no_deadlock(self):
        loader = self.attach(self.spec(order={"epochs": 0}), held_wait=0)
        held = []
        with self.assertRaisesRegex(spdld.LimitError, "held"):
            for _ in range(loader.info.slot_count + 2):
                held.append(loader.next(timeout=20))  # None at an epoch's end
        held.pop(0).release()
        self.assertIsNotNone(loader.next(timeout=20) or loader.next(timeout=20))

    def test_another_threads_garbage_collector_gives_back(self):
        loader = self.attach()
        cycle = [loader.next()["image"]]
        cycle.append(cycle)
        loader.next()
        self.await_held(1)
        del cycle
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
        self.await_held(0)

    def test_threads_take_turns(self):
        loader, seen = self.attach(), []

        def take():
            while True:
                batch = loader.next(timeout=20)
                if batch is None:
                    return
                seen.append(batch.step)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        # Each end of an epoch ends one thread; the second epoch's ends another, and the pipeline's the rest.
        for thread in threads:
            thread.join(30)
        self.assertEqual(sorted(seen), sorted(2 * list(range(STEPS))))


class Processes(DaemonCase):
    def test_a_forked_child_gives_nothing_back(self):
        output = self.run_script("""
            loader = attach()
            batch = loader.next()
            image, rest = batch["image"], loader.next()
            before = image.copy()
            child = os.fork()
            if child == 0:
                repr(batch), repr(loader), image.sum()
                refused = 0
                for call in (loader.next, lambda: loader.seek(0), lambda: next(iter(loader)), lambda: loader.set_epoch(1)):
                    try:
                        call()
                    except spdld.ForkedError:
                        refused += 1
                del batch, image, rest
                loader.close()
                del loader
                gc.collect()
                sys.exit(40 + refused)
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status))
            steps = [2 + i for i, _ in enumerate(loader)]
            np.testing.assert_array_equal(image, before)
            def ring():
                rings = spdld.query("describe", "small", socket=sys.argv[1])["rings"]
                return next(ring for ring in rings if ring["group"] == sys.argv[2])
            end = time.monotonic() + 10
            while ring()["held"] != 2 and time.monotonic() < end: time.sleep(0.01)
            print(ring()["held"], steps == list(range(2, len(loader))))
            del batch, image, rest
            while ring()["held"] != 0 and time.monotonic() < end: time.sleep(0.01)
            now = ring()
            print(now["held"], now["free"] + now["filling"] + now["ready"] == now["slots"])
            """, self.daemon.socket, self.id())
        self.assertEqual(output.split("\n"), ["44", "2 True", "0 True", ""])

    def test_a_fork_while_a_thread_waits(self):
        output = self.run_script("""
            loader = attach(changes={"order": {"epochs": 0}})
            stop = threading.Event()
            def pull():
                while not stop.is_set(): loader.next()
            thread = threading.Thread(target=pull)
            thread.start()
            codes = set()
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    try:
                        loader.next()
                    except spdld.ForkedError:
                        loader.close()
                        os._exit(7)
                codes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            stop.set()
            thread.join()
            print(codes)
            """)
        self.assertEqual(output.strip(), "{7}")

    def test_a_child_attaches_for_itself(self):
        output = self.run_script("""
            loader = attach()
            batch = loader.next()
            child = os.fork()
            if child == 0:
                os._exit(sum(1 for _ in attach(group="child")))
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sum(1 for _ in loader))
            """)
        self.assertEqual(output.split(), [str(STEPS), str(STEPS - 1)])

    def test_the_interpreter_ends_with_live_tensors(self):
        frameworks = ["numpy", "raw"] + (["torch"] if torch else [])
        for framework in frameworks:
            with self.subTest(framework):
                self.run_script("""
                    loader = attach(framework=sys.argv[1])
                    batch = loader.next()
                    image = batch["image"]
                    capsule = batch.tensor("label").__dlpack__()
                    cycle = [loader.next()["image"], iter(loader)]
                    cycle.append(cycle)
                    sys.kept = [loader.next()["label"]]
                    threading.kept = sys.kept
                    """, framework)
        loader = self.attach()  # the ended process has given its rank and its slots back
        self.assertEqual(sum(1 for _ in loader), STEPS)

    def test_the_interpreter_ends_while_a_thread_waits(self):
        self.run_script("""
            loader = attach(changes={"order": {"epochs": 1}})
            def pull():
                while True: loader.next(timeout=20)
            threading.Thread(target=pull, daemon=True).start()
            time.sleep(0.2)
            """)


if __name__ == "__main__":
    unittest.main()
