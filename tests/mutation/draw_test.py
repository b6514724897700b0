#!/usr/bin/python3
"""The drawn changes: each operator makes the change that it says and touches code alone, the same seed draws the same, and what
rooms.txt and equivalents.txt list fits the tree."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
import drawing
import operators
import trials

OPTIONS = cases.options("build")
HERE = ROOT / "tests/mutation"

CPP = """#include "a < b.h"
// if (a < b) x = 1;
/* a == b */
const char* kText = "a < b && 1";
const char kLetter = '<';
void run(int a, int b) {
  if (a < b) return;
  if (ready && b != 3) stop(a, b);
  const std::scoped_lock lock(mutex_);
  total_ = a + 1;
  known_.clear();
  wake_.notify_one();
  size = std::min<int>(a, b);
  std::vector<int> none;
  while (a >= 1'000) --a;
}
"""
PYTHON = '''"""a < b and 1"""
def run(a, b):
    # if a < b: pass
    if a is not None and a < b:
        return "a < b"
    total = a + 1
    known.clear()
    stop(a, b)
    return [n for n in max(a, b) if n not in b]
'''


def made_by(operator, text, is_python=False):
    """[(the line before, the line after)]."""
    return [change.lines(text) for change in operators.changes_in(text, is_python) if change.operator == operator]


class Operators(unittest.TestCase):
    def assert_makes(self, operator, *wanted, text=CPP, is_python=False):
        made = made_by(operator, text, is_python)
        for pair in wanted:
            self.assertIn(pair, made)
        self.assertEqual(len(made), len(wanted), made)

    def test_of_cpp(self):
        self.assert_makes("comparison-negated", ("if (a < b) return;", "if (a >= b) return;"),
                          ("if (ready && b != 3) stop(a, b);", "if (ready && b == 3) stop(a, b);"),
                          ("while (a >= 1'000) --a;", "while (a < 1'000) --a;"))
        self.assert_makes("comparison-shifted", ("if (a < b) return;", "if (a <= b) return;"),
                          ("while (a >= 1'000) --a;", "while (a > 1'000) --a;"))
        self.assert_makes("condition-negated", ("if (a < b) return;", "if (!(a < b)) return;"),
                          ("if (ready && b != 3) stop(a, b);", "if (!(ready && b != 3)) stop(a, b);"),
                          ("while (a >= 1'000) --a;", "while (!(a >= 1'000)) --a;"))
        self.assert_makes("and-or", ("if (ready && b != 3) stop(a, b);", "if (ready || b != 3) stop(a, b);"))
        self.assert_makes("one-more-or-less", ("total_ = a + 1;", "total_ = a;"))
        self.assert_makes("sign-changed", ("total_ = a + 1;", "total_ = a - 1;"))
        self.assert_makes("statement-left-out", ("if (a < b) return;", "{}"), ("if (ready && b != 3) stop(a, b);", "{}"),
                          ("total_ = a + 1;", "{}"), ("size = std::min<int>(a, b);", "{}"))
        self.assert_makes("lock-left-out", ("const std::scoped_lock lock(mutex_);", "{}"))
        self.assert_makes("notify-left-out", ("wake_.notify_one();", "{}"))
        self.assert_makes("reset-left-out", ("known_.clear();", "{}"))
        self.assert_makes("clamp-left-out", ("size = std::min<int>(a, b);", "size = (a);"))
        self.assert_makes("min-max", ("size = std::min<int>(a, b);", "size = std::max<int>(a, b);"))
        self.assert_makes("arguments-swapped", ("if (ready && b != 3) stop(a, b);", "if (ready && b != 3) stop(b, a);"))
        self.assertIn(("while (a >= 1'000) --a;", "while (a >= 1001) --a;"), made_by("constant-changed", CPP))
        self.assertIn(("while (a >= 1'000) --a;", "while (a >= 999) --a;"), made_by("constant-changed", CPP))

    def test_of_python(self):
        head = "if a is not None and a < b:"
        last = "return [n for n in max(a, b) if n not in b]"
        self.assert_makes("comparison-negated", (head, "if a is None and a < b:"), (head, "if a is not None and a >= b:"),
                          text=PYTHON.replace(" if n not in b", ""), is_python=True)
        self.assertNotIn((last, last.replace("n in", "n not in")), made_by("comparison-negated", PYTHON, True))
        self.assert_makes("comparison-shifted", (head, "if a is not None and a <= b:"), text=PYTHON, is_python=True)
        self.assert_makes("condition-negated", (head, "if not (a is not None and a < b):"), text=PYTHON, is_python=True)
        self.assert_makes("and-or", (head, "if a is not None or a < b:"), text=PYTHON, is_python=True)
        self.assert_makes("one-more-or-less", ("total = a + 1", "total = a"), text=PYTHON, is_python=True)
        self.assert_makes("statement-left-out", ("total = a + 1", "pass"), ("stop(a, b)", "pass"), text=PYTHON, is_python=True)
        self.assert_makes("reset-left-out", ("known.clear()", "pass"), text=PYTHON, is_python=True)
        self.assert_makes("min-max", (last, last.replace("max", "min")), text=PYTHON, is_python=True)
        self.assert_makes("arguments-swapped", ("stop(a, b)", "stop(b, a)"), text=PYTHON, is_python=True)

    def test_each_has_a_place_and_no_other_is_made(self):
        made = {change.operator for text, is_python in ((CPP, False), (PYTHON, True))
                for change in operators.changes_in(text, is_python)}
        self.assertEqual(made, set(operators.OPERATORS))

    def test_comments_and_texts_stay(self):
        for text, is_python, hidden in ((CPP, False, CPP.partition("void run")[0]), (PYTHON, True, '"a < b"')):
            at = text.index(hidden)
            for change in operators.changes_in(text, is_python):
                self.assertFalse(change.begin < at + len(hidden) and change.end > at, (change, change.lines(text)))
                self.assertNotEqual(change.applied(text), text)
                comment = "// if (a < b) x = 1;" if not is_python else "# if a < b: pass"
                self.assertIn(comment, change.applied(text))

    def test_texts_of_all_kinds(self):
        text = 'void f() {\n  g(R"x(a < b)x", \'"\', "\\"a < b", 1\'000 < n);\n}\n'
        self.assertEqual([change.applied(text) for change in operators.changes_in(text, False)
                          if change.operator == "comparison-shifted"], [text.replace("000 < n", "000 <= n")])


class TinyTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("daemon/a/one.cpp", CPP)
        self.write("daemon/b/two.cpp", CPP.replace("total_", "sum_"))
        self.write("client/three.py", PYTHON)
        self.write("daemon/a/all.h", "inline int f(int a) { return a + 1; }\n")
        for number in range(drawing.INCLUDED_BY_MAX + 1):
            self.write(f"daemon/a/user{number}.cpp", '#include "daemon/a/all.h"\n')
        self.write("rooms.txt", "# a comment\na: daemon/a | twice\nb: daemon/b | twice x; other\nc: client | twice\n"
                                "none: daemon/a/none |\n")
        self.rooms = drawing.read_rooms(self.root / "rooms.txt")
        self.names = sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*.*"))

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def draw(self, seed):
        return drawing.Draw(self.root, self.names, self.rooms, seed)

    def drawn(self, seed, count):
        draw = self.draw(seed)
        return [draw.next_of(room) for room, share in draw.shares(count).items() for _ in range(share)]

    def test_the_same_seed_draws_the_same(self):
        self.assertEqual(self.drawn(1, 20), self.drawn(1, 20))
        self.assertNotEqual(self.drawn(1, 20), self.drawn(2, 20))
        self.assertEqual(len({(one.file, one.change) for one in self.drawn(1, 20)}), 20)

    def test_what_a_room_gives_hangs_on_no_other(self):
        alone = drawing.Draw(self.root, self.names, [one for one in self.rooms if one[1] == "a"], 1)
        self.assertEqual([alone.next_of("a") for _ in range(5)], [self.draw(1).next_of("a"), *[
            one for one in self.drawn(1, 30) if one.room == "a"][1:5]])

    def test_rooms_have_even_shares(self):
        self.assertEqual(sorted(self.draw(1).shares(20).values()), [6, 7, 7])
        self.assertEqual(sum(self.draw(3).shares(2).values()), 2)

    def test_a_room_gives_each_change_once(self):
        draw, every = self.draw(1), []
        while (one := draw.next_of("b")) is not None:
            every.append(one)
        self.assertEqual(len({one.change for one in every}), len(operators.changes_in(CPP, False)))
        self.assertEqual(every[0].tests, (("twice", ("x",)), ("other", ())))

    def test_headers_that_many_include_are_left_alone(self):
        self.assertNotIn("daemon/a/all.h", [file for file, _ in self.draw(1).files["a"]])
        self.names.remove("daemon/a/user0.cpp")
        self.assertIn("daemon/a/all.h", [file for file, _ in self.draw(1).files["a"]])
        self.write("daemon/a/through.h", '#include "daemon/a/all.h"\n')  # one more, through another header
        self.write("daemon/a/user0.cpp", '#include "daemon/a/through.h"\n')
        self.names += ["daemon/a/through.h", "daemon/a/user0.cpp"]
        files = [file for file, _ in self.draw(1).files["a"]]
        self.assertNotIn("daemon/a/all.h", files)
        self.assertIn("daemon/a/through.h", files)

    def test_equivalents_are_known_by_their_lines(self):
        self.write("equivalents.txt", "== nobody asks\nfile: daemon/b/two.cpp\nbefore: sum_ = a + 1;\nafter: {}\n")
        known = drawing.read_equivalents(self.root / "equivalents.txt")
        self.assertEqual(list(drawing.faults(self.root, self.names[:0], [], known, set())), [])
        self.write("daemon/b/two.cpp", "\n\n\n" + (self.root / "daemon/b/two.cpp").read_text())
        self.assertEqual(list(drawing.faults(self.root, self.names[:0], [], known, set())), [])
        self.write("daemon/b/two.cpp", CPP)
        self.assertIn("no change makes", "".join(drawing.faults(self.root, self.names[:0], [], known, set())))

    def test_faults_of_the_table(self):
        faults = list(drawing.faults(self.root, [*self.names, "daemon/c/lost.cpp"], self.rooms, {}, {"twice"}))
        self.assertEqual(len(faults), 3, faults)
        self.assertIn("daemon/c/lost.cpp lies in no room", faults[0])
        self.assertIn("no test other", " ".join(faults))
        self.assertIn("there is no daemon/a/none", " ".join(faults))
        self.write("rooms.txt", "daemon/a twice\n")
        with self.assertRaises(ValueError):
            drawing.read_rooms(self.root / "rooms.txt")

    def test_the_table_of_outcomes(self):
        lines = drawing.table([("a", "killed"), ("a", "survived"), ("a", "equivalent"), ("b", "timed out"), ("c", "equivalent")])
        self.assertEqual([line.split() for line in lines[1:]], [
            ["a", "1", "1", "1", "50", "%"], ["b", "1", "0", "0", "100", "%"], ["c", "0", "0", "1", "-"],
            ["all", "2", "1", "2", "67", "%"]])


TINY = {
    "meson.build": "project('tiny', 'cpp', default_options: ['cpp_std=c++17', 'werror=true', 'unity=on'])\n"
                   "test('twice', executable('twice_test', 'daemon/twice.cpp', 'tests/main.cpp'))\n",
    "daemon/twice.cpp": "int twice(int n) {\n  if (n < 0) return 0;\n  return n * 2;\n}\n",
    "tests/main.cpp": "int twice(int n);\nint main() { return twice(2) == 4 ? 0 : 1; }\n",
    "tests/mutation/rooms.txt": "daemon: daemon | twice\n",
    ".gitignore": "/build/\n",
}


LOCKED = """\
#include <mutex>
#include <thread>
std::mutex mutex;
int sum_of_two_threads() {
  int sum = 0;
  const auto add = [&] {
    for (int i = 0; i < 1000; i++) {
      const std::scoped_lock lock(mutex);
      sum += i;
    }
  };
  std::thread other(add);
  add();
  other.join();
  return sum;
}
"""


class TheRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in TINY.items():
            self.write(name, text)
        self.write("tests/mutation/equivalents.txt",
                   "== 0 twice is 0\nfile: daemon/twice.cpp\nbefore: if (n < 0) return 0;\nafter: if (n <= 0) return 0;\n")
        subprocess.run(["git", "init", "--quiet", self.root], check=True)

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def run_it(self, *options):
        """(the exit code, {change: outcome}, the last line of the table)."""
        done = subprocess.run([HERE / "run", "--root", self.root, "--draw", "100", "--least-s", "1", *options],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stderr, "")
        outcomes = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if line.startswith("daemon/")}
        return done.returncode, outcomes, next(line for line in done.stdout.splitlines() if line.startswith("all ")).split()

    def test_draws_and_counts(self):
        self.write("tests/main.cpp", TINY["tests/main.cpp"].replace("== 4 ?", "== 4 && twice(-3) == 0 ?"))
        code, outcomes, last = self.run_it("--at-least", "60")
        self.assertEqual(code, 0, last)
        self.assertEqual(last[3], "1")  # equivalent
        self.assertGreater(int(last[1]), 5)
        self.assertIn("killed", [outcome for name, outcome in outcomes.items() if "comparison-negated" in name])
        self.assertEqual((self.root / "build/mutation/daemon/twice.cpp").read_text(), TINY["daemon/twice.cpp"])

    def test_a_run_goes_on_where_an_earlier_one_ended(self):
        record = self.root / "build/mutation/build/draws/seed1.jsonl"
        _, outcomes, table = self.run_it()
        first = record.read_text().splitlines(keepends=True)
        record.write_text("".join(first[:3]))  # as if the run had been stopped
        self.assertEqual(self.run_it()[1:], (outcomes, table))
        self.assertEqual(record.read_text(), "".join(first))
        record.write_text("".join(first).replace('"survived"', '"killed"'))
        self.assertNotIn("survived", self.run_it()[1].values())  # none was tried again
        self.write("daemon/twice.cpp", TINY["daemon/twice.cpp"] + "\n")
        self.assertEqual(self.run_it()[1:], (outcomes, table))  # of other code nothing is known

    def test_survivors_are_tried_again(self):
        _, before, _ = self.run_it()
        self.write("tests/main.cpp", TINY["tests/main.cpp"].replace("== 4 ?", "== 4 && twice(-3) == 0 ?"))
        self.assertEqual(self.run_it()[1], before)
        _, after, _ = self.run_it("--survivors")
        changed = {name for name in before if before[name] != after[name]}
        self.assertTrue(changed)
        self.assertEqual({before[name] for name in changed}, {"survived"})
        self.assertEqual(self.run_it()[1], after)


    def test_a_lock_that_is_left_out_is_tried_with_the_thread_sanitizer(self):
        self.write("daemon/twice.cpp", LOCKED)
        self.write("tests/main.cpp", 'int sum_of_two_threads();\nint main() { return sum_of_two_threads() > 0 ? 0 : 1; }\n')
        self.write("meson.build", TINY["meson.build"].replace("'tests/main.cpp')", "'tests/main.cpp', dependencies: "
                                                              "dependency('threads'))"))
        _, outcomes, _ = self.run_it()
        self.assertEqual([outcome for name, outcome in outcomes.items() if "lock-left-out" in name], ["killed"])


class ThisTree(unittest.TestCase):
    def test_rooms_and_equivalents_fit(self):
        tests = {test["name"] for test in json.loads((Path(OPTIONS.build) / "meson-info/intro-tests.json").read_text())}
        faults = list(drawing.faults(ROOT, trials.tree_files(ROOT), drawing.read_rooms(HERE / "rooms.txt"),
                                   drawing.read_equivalents(HERE / "equivalents.txt"), tests))
        self.assertEqual(faults, [], "\n" + "\n".join(faults))


if __name__ == "__main__":
    cases.main()
