#!/usr/bin/python3
"""The mutants fit the tree, every room has some, and the runner tells what becomes of mutants of a tiny project."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
import mutants
import trials

OPTIONS = cases.options("build")
MUTANTS = ROOT / "tests/mutation/mutants"
ROOMS = ("proto", "config", "base", "metrics", "source", "sampler", "media", "memory", "rows", "mixing", "cache", "batch", "user",
         "pipeline", "delivery", "http", "control", "node", "client", "cli", "store", "parquet", "python")

TINY = {
    "meson.build": "project('tiny', 'c')\ntest('twice', executable('twice_test', 'twice.c'))\n",
    "twice.c": "int twice(int n) { return n * 2; }\nint spare(void) { return 3; }\n"
               "int main(void) { return twice(2) == 4 && twice(3) == 6 ? 0 : 1; }\n",
    ".gitignore": "/build/\n",
}
TINY_MUTANTS = """# What comes before the first mutant is a comment.
== added
It adds.
file: twice.c
tests: twice
-- before
n * 2;
-- after
n + 2;

== spare
Nobody asks for it.
file: twice.c
tests: twice
-- before
return 3;
-- after
return 4;

== no-code
It is no C.
file: twice.c
tests: twice
-- before
int spare
-- after
integer spare

== endless
It does not end.
file: twice.c
tests: twice
-- before
int main(void) {
-- after
int main(void) { for (volatile int n = 1; n;) continue;
"""


class TheMutants(unittest.TestCase):
    def setUp(self):
        self.mutants = mutants.read_all(MUTANTS)

    def test_fit_the_tree(self):
        tests = {test["name"] for test in json.loads((Path(OPTIONS.build) / "meson-info/intro-tests.json").read_text())}
        faults = list(mutants.faults(self.mutants, ROOT, tests))
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_are_spread_over_the_rooms(self):
        self.assertEqual(mutants.thin_rooms(self.mutants, ROOMS), [])
        self.assertEqual({mutant.name.split("/")[0] for mutant in self.mutants}, set(ROOMS))


class Lists(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "twice.c").write_text(TINY["twice.c"])

    def read(self, text):
        path = self.root / "tiny.txt"
        path.write_text(text)
        return mutants.read_list(path)

    def assert_fault(self, before, after, words):
        self.assertIn(before, TINY_MUTANTS)
        faults = list(mutants.faults(self.read(TINY_MUTANTS.replace(before, after, 1)), self.root, {"twice"}))
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def test_what_fits(self):
        read = self.read(TINY_MUTANTS)
        self.assertEqual([mutant.name for mutant in read], ["tiny/added", "tiny/spare", "tiny/no-code", "tiny/endless"])
        self.assertEqual(list(mutants.faults(read, self.root, {"twice"})), [])
        self.assertIn("return n + 2;", read[0].changed(TINY["twice.c"]))
        self.assertEqual(mutants.thin_rooms(read, ("tiny", "other")), ["other"])

    def test_what_does_not(self):
        self.assert_fault("n * 2;\n", "n * 3;\n", "0 times")
        self.assert_fault("return 3;\n", "return \n", "3 times")
        self.assert_fault("return 4;", "return 3;", "changes nothing")
        self.assert_fault("file: twice.c", "file: thrice.c", "no file thrice.c")
        self.assert_fault("tests: twice", "tests: twice; thrice -x", "no test thrice")
        self.assert_fault("tests: twice", "tests: twice twice", 'write ";" before it')
        self.assert_fault("tests: twice", "tests: twice [thrice]", "no case fits [thrice]")
        self.assert_fault("tests: twice", "tests: twice *thrice*", "no case fits *thrice*")
        self.assert_fault("tests: twice", "tests: twice thrice_test.", "no case fits thrice_test.")
        self.assert_fault("== spare", "== added", "two mutants")
        with self.assertRaises(ValueError):
            self.read(TINY_MUTANTS.replace("-- after", "", 1))

    def test_words_that_fit_cases(self):
        (self.root / "tests").mkdir()
        (self.root / "tests/twice_test.cpp").write_text(
            'TEST_CASE("what is given once "\n          "comes twice", "[twice]") {\n}\n')
        (self.root / "tests/thrice_test.py").touch()
        read = self.read(TINY_MUTANTS.replace("tests: twice", 'tests: twice [twice] "*once comes*" thrice_test.', 1))
        self.assertEqual(list(mutants.faults(read, self.root, {"twice"})), [])

    def test_words_behind_a_test(self):
        read = self.read(TINY_MUTANTS.replace("tests: twice", 'tests: twice; thrice "*a b*" [c]', 1))
        self.assertEqual(read[0].tests, (("twice", ()), ("thrice", ("*a b*", "[c]"))))

    def test_nothing_in_the_place(self):
        mutant, = self.read("== gone\nIt goes.\nfile: twice.c\ntests: twice\n-- before\nreturn 3;\n-- after\n\n")
        self.assertEqual((mutant.before, mutant.after), ("return 3;", ""))


class TheCopy(unittest.TestCase):
    def test_has_what_was_installed_below_the_build_folder_and_no_build(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            for name in ("arrow", "tests", "mutation"):
                (root / "build" / name).mkdir(parents=True)
            (root / "build/tests/build.ninja").touch()
            copy = trials.Copy(root, root / "build/mutation", 1, 1)
            copy.link_installed()
            copy.link_installed()  # of an earlier run
            self.assertEqual([path.name for path in (root / "build/mutation/build").iterdir()], ["arrow"])
            self.assertEqual((root / "build/mutation/build/arrow").resolve(), root / "build/arrow")


class TheRunner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("tests/mutation/mutants/tiny.txt", TINY_MUTANTS)
        for name, text in TINY.items():
            self.write(name, text)
        subprocess.run(["git", "init", "--quiet", self.root], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_it(self, *options):
        done = subprocess.run([ROOT / "tests/mutation/run", "--root", self.root, "--least-s", "1", *options],
                              capture_output=True, text=True, timeout=120)
        outcomes = dict(re.findall(r"^tiny/(\S+) +(killed|timed out|survived|not built)\b", done.stdout, re.MULTILINE))
        return done.returncode, outcomes, done.stdout.splitlines()[-1:], done.stderr

    def test_tells_what_became_of_each(self):
        code, outcomes, last, _ = self.run_it()
        self.assertEqual(outcomes, {"added": "killed", "spare": "survived", "no-code": "not built", "endless": "timed out"})
        self.assertEqual(last, ["1 killed, 1 timed out, 1 survived, 1 not built; score 66.7 %"])
        self.assertEqual(code, 1)
        self.assertEqual({name: (self.root / name).read_text() for name in TINY}, TINY)
        self.assertEqual((self.root / "build/mutation/twice.c").read_text(), TINY["twice.c"])

    def test_the_score_that_is_wanted(self):
        self.assertEqual(self.run_it("--only", "tiny/added")[:3],
                         (0, {"added": "killed"}, ["1 killed, 0 timed out, 0 survived, 0 not built; score 100.0 %"]))
        self.assertEqual(self.run_it("--only", "tiny/added", "--only", "*/spare")[0], 1)
        self.assertEqual(self.run_it("--only", "tiny/added", "--only", "*/spare", "--at-least", "50")[0], 0)
        self.assertEqual(self.run_it("--only", "tiny/added", "--only", "*/no-code")[0], 1)

    def test_what_the_unchanged_tree_takes_is_kept_as_long_as_it_stays(self):
        self.assertEqual(self.run_it("--only", "tiny/added")[1], {"added": "killed"})
        kept = self.root / "build/mutation/build/limits.json"
        text = json.loads(kept.read_text())
        text["limits"][0][2] = 0
        kept.write_text(json.dumps(text))
        self.assertEqual(self.run_it("--only", "tiny/added")[1], {"added": "timed out"})
        self.write("more.h", "int more;\n")
        self.assertEqual(self.run_it("--only", "tiny/added")[1], {"added": "killed"})

    def test_an_unchanged_tree_that_fails(self):
        self.write("twice.c", TINY["twice.c"].replace("? 0 : 1", "? 1 : 0"))
        code, outcomes, _, trouble = self.run_it()
        self.assertEqual((code, outcomes), (2, {}))
        self.assertIn("the unchanged tree fails already: twice", trouble)

    def test_a_tree_that_changed_since(self):
        self.write("more.h", "int more;\n")
        self.assertEqual(self.run_it("--only", "tiny/added")[0], 0)
        (self.root / "more.h").unlink()
        self.write("twice.c", TINY["twice.c"].replace("twice(3) == 6", "spare() == 3"))
        self.assertEqual(self.run_it("--only", "tiny/spare")[:2], (0, {"spare": "killed"}))
        self.assertFalse((self.root / "build/mutation/more.h").exists())

    def test_a_test_that_has_come_since(self):
        self.assertEqual(self.run_it("--only", "tiny/spare")[1], {"spare": "survived"})
        self.write("spare.c", "#define main twice_main\n#include \"twice.c\"\n#undef main\n"
                              "int main(void) { return spare() == 3 ? 0 : 1; }\n")
        self.write("meson.build", TINY["meson.build"] + "test('spare', executable('spare_test', 'spare.c'))\n")
        self.write("tests/mutation/mutants/tiny.txt",
                   TINY_MUTANTS.replace("Nobody asks for it.\nfile: twice.c\ntests: twice",
                                        "Nobody asks for it.\nfile: twice.c\ntests: twice; spare"))
        self.assertEqual(self.run_it("--only", "tiny/spare")[1], {"spare": "killed"})

    def test_a_folder_that_is_no_copy_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            theirs = Path(folder, "theirs.txt")
            theirs.write_text("dear\n")
            code, outcomes, _, trouble = self.run_it("--build", folder)
            self.assertEqual((code, outcomes, theirs.read_text()), (2, {}, "dear\n"))
            self.assertIn("was not made by tests/mutation/run", trouble)

    def test_a_list(self):
        code, _, last, _ = self.run_it("--list", "--only", "*/added")
        self.assertEqual((code, last[0].split()), (0, ["tiny/added", "twice.c:", "It", "adds."]))
        self.assertEqual(self.run_it("--only", "none")[0], 2)


if __name__ == "__main__":
    cases.main()
