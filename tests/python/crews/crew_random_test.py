"""Random draws of Python operations: the same for a sample in whatever process, others for others."""
import json
import subprocess
import sys

from crew_case import CrewCase, errand

DRAWS = """
    import json, os, random
    import numpy
    import torch

    def draws(data, rng):
        assert rng is not None
        ours = [random.random(), random.gauss(0, 1), random.getrandbits(40), float(numpy.random.rand()),
                float(numpy.random.randn()), int(numpy.random.randint(2**31)), float(rng.random()), float(rng.normal()),
                int(rng.integers(2**31, dtype="uint32")), torch.rand(1).item(), torch.randn(1).item(), torch.randn(20).tolist()]
        return json.dumps(ours)

    def twice(data, rng):
        first = json.loads(draws(data, rng))
        return json.dumps([first, json.loads(draws(data, rng))])

    def wrapped(text, rng):
        return json.dumps([json.loads(text), json.loads(draws(b"", rng))])
    """


class Draws(CrewCase):
    def drawn(self, key, worker=1, number=0):
        reply = self.daemon.call(b"", worker=worker, key=key, errand=number, room=4000)
        self.assertEqual(reply["kind"], "done", reply["text"])
        return json.loads(reply["data"])

    def test_they_follow_from_the_key_alone(self):
        self.begin(DRAWS, errand("made:draws"), workers=(1, 2))
        first = [self.drawn(key) for key in range(20)]
        self.assertEqual([self.drawn(key, worker=2) for key in reversed(range(20))], first[::-1])
        self.drawn(2**64 - 1)
        self.assertEqual(self.drawn(7), first[7])
        for place, values in enumerate(zip(*first, strict=True)):
            self.assertEqual(len(set(map(str, values))), 20, f"draw {place} of different keys")

    def test_draws_within_a_call_go_on(self):
        self.begin(DRAWS, errand("made:twice"), errand("made:draws"))
        first, second = self.drawn(3)
        self.assertFalse(any(one == other for one, other in zip(first, second, strict=True)))
        self.assertEqual(first, self.drawn(3, number=1))

    def test_operations_and_outputs_draw_other_numbers(self):
        self.begin(DRAWS, errand("made:draws", "made:wrapped"), errand("made:draws", output="other"))
        first, second = self.drawn(5)
        third = self.drawn(5, number=1)
        for one, other, another in zip(first, second, third, strict=True):
            self.assertEqual(len({str(one), str(other), str(another)}), 3)

    def test_a_module_that_comes_during_a_call_stands_at_its_state_at_once(self):
        daemon = self.begin("""
            def late(data):
                import numpy
                import torch
                return str([numpy.random.rand(), numpy.random.randn(), torch.rand(1).item(), torch.randn(1).item(),
                            torch.get_num_threads()])
            """, errand("made:late"), workers=(1, 2))
        first = daemon.call(b"", key=1, room=400)["data"]
        second = daemon.call(b"", key=2, worker=2, room=400)["data"]
        self.assertEqual(daemon.call(b"", key=2, room=400)["data"], second)
        self.assertEqual(daemon.call(b"", key=1, worker=2, room=400)["data"], first)
        self.assertNotEqual(first, second)
        self.assertTrue(first.endswith(b" 1]"), first)

    def test_numbers_look_random(self):
        """The mean of many keys' first draws, of each generator."""
        self.begin(DRAWS, errand("made:draws"))
        drawn = [self.drawn(key) for key in range(2000)]
        flat, normal = (0.5, 0.29), (0, 1)
        for place, (mean, deviation) in {0: flat, 1: normal, 3: flat, 4: normal, 6: flat, 7: normal, 9: flat, 10: normal}.items():
            found = sum(values[place] for values in drawn) / len(drawn)
            self.assertLess(abs(found - mean), 5 * deviation / len(drawn)**0.5, f"draw {place}")


class Generators(CrewCase):
    """Of spdld._crew.randomness alone, in a process of its own."""

    def setUp(self):
        self.mark = "SPDLD_TEST_CREW=none"

    def run_script(self, text):
        program = "import random, sys\nimport numpy\n" + text
        return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout

    def test_all_generators_are_written_to_natively_here(self):
        self.assertEqual(self.run_script("""
import torch
from spdld._crew import randomness
class Watched:
    def __getattr__(self, name):
        print(name)
        return lambda *arguments: None
watched = Watched()
randomness._add_python(watched)
randomness._add_numpy(watched)
randomness._add_torch(watched)
"""), "of_python\nof_numpy\nof_generator\nof_generators\nof_torch\n")

    def test_generators_of_another_layout_are_seeded_and_follow_from_the_key_too(self):
        for fault in ("randomness._words_at = lambda *_: ()", "randomness._numpy_addresses = lambda *_: None",
                      "randomness._is_pcg = lambda *_: False", "randomness._takes_state = lambda *_: False"):
            with self.subTest(fault=fault):
                self.run_script(f"""
import torch
from spdld._crew import randomness
{fault}
keyed = randomness.keyed()
def draws(key):
    keyed.reset(key, 0, "image")
    return [random.random(), random.gauss(0, 1), numpy.random.rand(), numpy.random.randn(), keyed.rng.random(),
            torch.rand(1).item(), torch.randn(1).item()]
first = draws(2**63 + 5)
assert not any(one == other for one, other in zip(first, draws(6)))
assert first == draws(2**63 + 5)
""")

    def test_a_look_at_the_generators_changes_no_state(self):
        self.run_script("""
import torch
from spdld._crew import randomness
random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
before = random.getstate(), numpy.random.get_state(), torch.get_rng_state()
keyed = randomness.keyed()
randomness._add_torch(keyed)
after = random.getstate(), numpy.random.get_state(), torch.get_rng_state()
assert before[0] == after[0] and str(before[1]) == str(after[1]) and torch.equal(before[2], after[2])
""")
