#!/usr/bin/python3
"""tests/lint finds each kind of fault in a made-up tree, mends what can be mended, and says what differs from which base."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
import meson_lines

MESON = """project('tiny', 'cpp', default_options: ['cpp_std=c++20'])
executable('tiny', 'daemon/one.cpp', 'daemon/two.cpp', include_directories: include_directories('.'))
"""
CLEAN = {
    "meson.build": MESON,
    "meson_options.txt": "option('fuzz', type: 'boolean', value: false)\n",
    "daemon/one.cpp": "#include \"daemon/shared.h\"\n\nint main() { return twice(0); }\n",
    "daemon/two.cpp": "int unchanged() { return 1; }\n",
    "daemon/shared.h": "#pragma once\n\ninline int twice(int value) { return 2 * value; }\n",
    "tests/helper.py": "import sys\n\nprint(sys.argv)\n",
}
BY_HAND = "lay it out by hand, since comments stand within"
COMMAS = "inline int twice(int value) {\n  int other = 0;\n  other = value, value = 2 * other;\n  return value;\n}\n"


class InATree(unittest.TestCase):
    """Each case has a tree of its own with a commit, whose files are clean."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "tree"
        self.build = Path(folder.name) / "tree/build/lint"
        for name in (".clang-format", ".clang-tidy", ".ruff.toml"):
            self.write(name, (ROOT / name).read_text())
        self.write(".gitignore", "/build/\n")
        for name, text in CLEAN.items():
            self.write(name, text)
        self.git("init", "--quiet", "--initial-branch=work")
        self.commit("first")

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def git(self, *words):
        done = subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def commit(self, subject):
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)

    def lint(self, *options, rc=0):
        """(all lines, [passed, failed, skipped])"""
        done = subprocess.run([ROOT / "tests/lint", "--no-install", "--root", self.root, "--build-dir", self.build, *options],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, rc, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", lines[-1]) if lines else None
        return done.stdout + done.stderr, [int(count) for count in counts.groups()] if counts else None


class TheLayout(InATree):
    def test_a_clean_tree_passes(self):
        _, counts = self.lint("--quick")
        self.assertEqual(counts, [5, 0, 0])  # three of C++, one of Python, one of Meson

    def test_faults_are_named_and_mended(self):
        faults = {"daemon/two.cpp": "int  unchanged( ) { return 1; }\n",
                  "tests/helper.py": "import sys\nimport os\n\nprint(sys.argv)\n",
                  "meson.build": MESON.replace("'daemon/one.cpp', 'daemon/two.cpp'", "'daemon/two.cpp', 'daemon/one.cpp'")}
        for name, text in faults.items():
            self.write(name, text)
        said, counts = self.lint("--quick", rc=1)
        self.assertEqual(counts, [2, 3, 0])
        self.assertIn("daemon/two.cpp: is not laid out as .clang-format says; tests/lint --fix lays it out", said)
        self.assertIn("tests/helper.py:2:8: F401", said)
        self.assertIn("meson.build:2: 'daemon/one.cpp' stands behind 'daemon/two.cpp'", said)
        self.assertEqual({name: (self.root / name).read_text() for name in faults}, faults)
        self.lint("--quick", "--fix")
        for name in faults:
            self.assertEqual((self.root / name).read_text(), CLEAN[name])

    def test_a_fault_that_cannot_be_mended_stays_one(self):
        self.write("tests/helper.py", f"print({', '.join(['1'] * 50)})\n")
        said, counts = self.lint("--quick", "--fix", rc=1)
        self.assertEqual(counts, [4, 1, 0])
        self.assertIn("tests/helper.py:1:131: E501", said)

    def test_programs_in_python_have_no_ending(self):
        self.write("tests/program", "#!/usr/bin/env python3\nimport os\n")
        (self.root / "tests/program").chmod(0o755)
        self.assertIn("tests/program:2:8: F401", self.lint("--quick", rc=1)[0])


class ChangedFiles(InATree):
    def test_only_what_differs_is_looked_at(self):
        said, counts = self.lint("--base", "HEAD")
        self.assertEqual(counts, [5, 0, 0])
        self.assertIn("clang-tidy: 0 files since HEAD", said)
        self.write("daemon/two.cpp", "int changed() { return 1; }\n")
        said, counts = self.lint("--base", "HEAD")
        self.assertEqual(counts, [6, 0, 0])

    def test_a_header_is_looked_at_through_a_file_that_includes_it(self):
        self.write("daemon/shared.h", "#pragma once\n\n" + COMMAS)
        said, counts = self.lint("--base", "HEAD", rc=1)
        self.assertEqual(counts, [5, 1, 0])
        self.assertRegex(said, r"daemon/shared\.h:5:\d+: error: possible misuse of comma operator")
        self.assertIn("daemon/one.cpp: mend it, or say behind // NOLINT(CHECK): why it is right", said)

    def test_a_header_may_be_included_by_way_of_another(self):
        self.write("daemon/inner.h", "#pragma once\n\n" + COMMAS)
        self.write("daemon/shared.h", '#pragma once\n\n#include "daemon/inner.h"\n')
        self.commit("second")
        self.write("daemon/inner.h", "#pragma once\n\n" + COMMAS.replace("other", "more"))
        said, counts = self.lint("--base", "HEAD", rc=1)
        self.assertEqual(counts, [6, 1, 0])
        self.assertIn("daemon/one.cpp: mend it", said)

    def test_the_most_changed_files_come_first(self):
        self.write("daemon/two.cpp", "int changed() { return 1; }\n\nint more() { return 2; }\n")
        self.write("daemon/one.cpp", CLEAN["daemon/one.cpp"].replace("twice(0)", "twice(1)"))
        said, counts = self.lint("--base", "HEAD", "--max", "1")
        self.assertEqual(counts, [6, 0, 1])
        self.assertIn("leaves out 1 files that differ less than the 1 others; --all takes them: daemon/one.cpp", said)

    def test_what_no_build_compiles_is_told(self):
        self.write("daemon/alone.h", "#pragma once\n")
        said, counts = self.lint("--base", "HEAD")
        self.assertIn("clang-tidy leaves daemon/alone.h out", said)
        self.assertEqual(counts, [6, 0, 1])

    def test_the_base(self):
        said, _ = self.lint()
        self.assertIn("of the last commit: this clone has no commit before it", said)
        self.write("daemon/two.cpp", "int changed() { return 1; }\n")
        self.commit("second")
        said, _ = self.lint()
        self.assertIn("1 files since the commit before HEAD", said)
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.write("daemon/one.cpp", CLEAN["daemon/one.cpp"].replace("twice(0)", "twice(1)"))
        self.commit("third")
        self.write("daemon/one.cpp", CLEAN["daemon/one.cpp"].replace("twice(0)", "twice(2)"))
        self.commit("fourth")
        said, _ = self.lint()
        self.assertIn("1 files since this branch left origin/main", said)
        said, _ = self.lint("--base", "nowhere", rc=2)
        self.assertIn("this clone has no revision nowhere: git fetch brings it, or name another one", said)

    def test_a_shallow_clone(self):
        self.write("daemon/two.cpp", "int changed() { return 1; }\n")
        self.commit("second")
        whole, self.root = self.root, self.root.parent / "shallow"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{whole}", self.root], check=True)
        said, counts = self.lint("--build-dir", self.root / "build/lint")
        self.assertIn("clang-tidy: 2 files of the last commit: this clone has no commit before it", said)
        self.assertEqual(counts, [7, 0, 0])

    def test_a_missing_tool_is_named(self):
        program = (ROOT / "tests/lint").read_text()
        self.assertIn('tool_of("clang-tidy-14"', program)
        here = Path(self.root.parent / "bin")
        here.mkdir()
        for name in ("git", "python3", "env"):
            (here / name).symlink_to(shutil.which(name))
        done = subprocess.run([sys.executable, ROOT / "tests/lint", "--no-install", "--quick", "--root", self.root],
                              capture_output=True, text=True, env={"PATH": str(here)})
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no clang-format-14: run tests/lint once without --no-install", done.stderr)


class LinesOfMeson(unittest.TestCase):
    def faults(self, text):
        return [fault for _, fault in meson_lines.faults(text)]

    def test_what_is_clean_stays(self):
        for text in ("a = 1\n", "executable('b', 'a.cpp',\n  'z.cpp')  # why\n", "x = [\n  'z',\n  'a',\n]\n", "",
                     "f(['b.toml', 'a.toml'], 'x.cpp', b, 'a.cpp')\n", "s = '''\nz.cpp, a.cpp\n'''\n", "a = 'no end of line'"):
            with self.subTest(text=text):
                self.assertEqual(self.faults(text), [])
                self.assertEqual(meson_lines.laid_out(text), text)

    def test_names_are_sorted_by_folder(self):
        text = "executable('b', 'z/a.cpp', 'm.cpp', '../x.cpp', 'a.cpp')\n"
        self.assertEqual(len(self.faults(text)), 1)
        self.assertEqual(meson_lines.laid_out(text), "executable('b', 'a.cpp', 'm.cpp', '../x.cpp', 'z/a.cpp')\n")

    def test_long_lists_are_filled_and_a_folder_begins_a_line(self):
        names = [f"'name_{number:02}.cpp'" for number in range(12)] + [f"'sub/name_{number:02}.cpp'" for number in range(3)]
        text = f"lib = static_library('lib', {', '.join(names)}, include_directories: root_inc)\n"
        made = meson_lines.laid_out(text)
        self.assertEqual(self.faults(made), [])
        lines = made.splitlines()
        self.assertEqual(lines[0], "lib = static_library('lib',")
        self.assertTrue(lines[-2].startswith("  'sub/name_00.cpp', "))
        self.assertEqual(lines[-1], "  include_directories: root_inc)")
        self.assertEqual(sorted(re.findall(r"'[^']+\.cpp'", made)), sorted(names))
        self.assertEqual(meson_lines.laid_out(made), made)

    def test_long_lines_are_broken_outside_of_brackets(self):
        text = f"test('a', executable('b', 'c.cpp', dependencies: [{', '.join(['some_dep'] * 7)}]), timeout: 12, suite: 'c')\n"
        self.assertEqual(len(self.faults(text)), 1)
        made = meson_lines.laid_out(text)
        self.assertEqual(self.faults(made), [])
        self.assertEqual(made.replace("\n  ", " "), text)
        self.assertTrue(made.splitlines()[-1].startswith("  timeout: "))

    def test_no_line_is_broken_where_no_bracket_is_open(self):
        text = f"foreach name, wanted : {{'a': [{', '.join(['some_test'] * 12)}]}}\n"
        made = meson_lines.laid_out(text)
        self.assertEqual(self.faults(made), [])
        self.assertTrue(made.startswith("foreach name, wanted : {'a': [some_test, "))

    def test_what_has_comments_within_is_left_to_people(self):
        text = "f('z.cpp',  # first\n  'b.cpp', 'a.cpp')\n"
        self.assertEqual(meson_lines.laid_out(text), text)
        unsorted = f"'a.cpp' stands behind 'b.cpp', and the names of files are sorted, by folder: {BY_HAND}"
        self.assertEqual(self.faults(text), [unsorted])
        wide = [f"132 columns, at most 130 are allowed: {BY_HAND}"]
        self.assertEqual(self.faults("# " + "a" * 130 + "\n"), wide)


if __name__ == "__main__":
    cases.main()
