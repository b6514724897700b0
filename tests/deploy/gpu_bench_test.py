"""bench/gpu without a GPU: it is packed, runs from the pack with nothing of this tree, tells of every row, and never hangs."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "bench/gpu")]
import cases
import jobs
import report
from daemon import make_pictures

OPTIONS = cases.options("build")
FAKE_DRIVER = Path(OPTIONS.build) / "tests/support/fake_cuda/fake_cuda_run"
BARE = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
WAIT_S = 120
LOADER = b"/lib64/ld-linux-x86-64.so.2"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=WAIT_S, **options)


class Packed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-gpu-bench-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        make_pictures(cls.folder / "pictures", classes=2, of_each=8)
        cls.bundle = cls.folder / "bundle"
        done = run(sys.executable, ROOT / "bench/gpu/pack", cls.bundle, "--build", OPTIONS.build, "--corpus",
                   cls.folder / "pictures")
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    def run_bundle(self, out, *options):
        done = run(sys.executable, self.bundle / "run.py", "--out", out, *options, env=BARE, cwd="/")
        self.assertTrue((out / "result.json").is_file(), done.stdout + done.stderr)
        return done, json.loads((out / "result.json").read_text())

    def test_every_row_is_told(self):
        out = self.folder / "out"
        done, result = self.run_bundle(out, "--device", "cpu", "--quick")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = {row["row"]: row for row in result["rows"]}
        self.assertEqual(len(rows), len(result["rows"]))
        for row in rows.values():
            if "no GPU" in row["remark"]:
                self.assertEqual(row["outcome"], report.NOT_POSSIBLE, row)
            elif "cannot be imported" not in row["remark"]:
                self.assertIn(row["outcome"], (report.PASS, report.MEASURED), row)
        for name in ("equal in numpy: cpu", "READY to tensor: cpu", "descriptor readable to spdld_next's tensor: cpu",
                     "memory after killed trainers: cpu", "batch in use when the daemon is killed: cpu", "named pipeline: cpu",
                     "time of an attach: cpu", "other batches beside the forked workers of a killed trainer: cpu"):
            self.assertIn(rows[name]["outcome"], (report.PASS, report.MEASURED, report.NOT_POSSIBLE), name)
        for name in ("equal in torch: fd", "equal in jax: handle", "matrix products while fed 3 GB/s: fd",
                     "memory after killed trainers: handle", "trainer of another user: fd", "MIG", "end of the copy to READY",
                     "small kernels beside copies", "batches after a daemon was killed mid-copy",
                     "other batches after a trainer was killed in a kernel that writes"):
            self.assertEqual(rows[name]["outcome"], report.NOT_POSSIBLE, name)
        self.assertEqual(len([line for line in (out / "table.md").read_text().splitlines() if line.startswith("| ")]),
                         len(rows) + 2)

    def test_a_run_that_has_no_time_says_how_to_go_on(self):
        out, after, runs = self.folder / "parts", [], 0
        while runs == 0 or after:
            done, result = self.run_bundle(out, "--device", "cpu", "--quick", "--limit", "61", *after)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            after = ["--after", result["after"]] if result["after"] is not None else []
            if after:
                self.assertIn(f"Go on with: python3 {self.bundle}/run.py --out {out} --after '{result['after']}'", done.stdout)
                self.assertIn(report.NOT_TRIED, {row["outcome"] for row in result["rows"]})
            runs += 1
            self.assertLess(runs, 20)
        self.assertGreater(runs, 1)
        whole = [row for row in result["rows"] if row["outcome"] == report.NOT_TRIED]
        self.assertEqual(whole, [])
        names = [row["row"] for row in result["rows"]]
        self.assertEqual(len(names), len(set(names)))
        done = run(sys.executable, self.bundle / "run.py", "--device", "cpu", "--after", "no such job", env=BARE)
        self.assertIn("latency", done.stderr)

    def test_no_job_waits_for_more_than_the_whole_has(self):
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'bench/gpu'}:{Path(OPTIONS.build) / 'client/python'}"}
        program = ("import run, sys, importlib; sys.path.append(str(run.HERE.parent / 'support'))\n"
                   "print(*[job.limit_s for part in run.PARTS for job in importlib.import_module(part).jobs('cuda')])")
        done = run(sys.executable, "-c", program, env=environment)
        limits = [int(word) for word in done.stdout.split()]
        self.assertGreater(len(limits), 20, done.stderr)
        self.assertLessEqual(max(limits), 90)

    def test_the_jobs_of_the_driver_alone(self):
        for job, count in (("captures", 3), ("attach", 3), ("shared sizes", 2), ("ready lag", 1), ("killed mid-copy", 1),
                           ("forked workers", 1), ("killed daemon, fd", 2)):
            with self.subTest(job):
                out = self.folder / job.replace(" ", "-")
                done = run(FAKE_DRIVER, "--copy-us=2000", "--", sys.executable, self.bundle / "run.py", "--out", out, "--quick",
                           "--only", job, env=BARE)
                rows = json.loads((out / "result.json").read_text())["rows"]
                self.assertEqual(len(rows), count, done.stdout + done.stderr)
                needs_torch = job == "killed daemon, fd"
                for row in rows:
                    wanted = (report.NOT_POSSIBLE,) if needs_torch else (report.PASS, report.MEASURED)
                    self.assertIn(row["outcome"], wanted, row)
                broken = [line for line in done.stderr.splitlines() if line.startswith("fake CUDA: ")]
                if job == "ready lag":  # it looks on purpose while a slot is filled
                    broken = [line for line in broken if "overwritten while a stream still read it" not in line]
                self.assertEqual(broken, [])
                self.assertIn(done.returncode, (0, 99) if job == "ready lag" else (0,), done.stdout + done.stderr)

    def test_the_archive(self):
        folder = self.folder / "archived"
        done = run(sys.executable, ROOT / "bench/gpu/pack", folder, "--build", OPTIONS.build, "--no-python", "--corpus",
                   self.folder / "pictures", "--tar")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        archive = Path(f"{folder}.tar")
        self.assertLessEqual(archive.stat().st_size, 64 << 20)
        self.assertIn(f"{folder.name}/run.py", run("tar", "-tf", archive).stdout.splitlines())

    def test_it_brings_all_libraries(self):
        loader = self.bundle / "lib/glibc/ld-linux-x86-64.so.2"
        for program in ("bin/spdld", "bin/spdlctl"):
            done = run(loader, "--inhibit-cache", "--library-path", f"{self.bundle}/lib/glibc:{self.bundle}/lib", "--list",
                       self.bundle / program, env=BARE)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = [line.split(" => ")[1] for line in done.stdout.splitlines() if " => " in line]
            self.assertTrue(found)
            self.assertEqual([path for path in found if not path.startswith(f"{self.bundle}/")], [])

    def test_it_runs_where_the_systems_loader_will_not_do(self):
        programs = [self.bundle / "bin/spdld", self.bundle / "bin/spdlctl"]
        kept = [program.read_bytes() for program in programs]
        self.addCleanup(lambda: [program.write_bytes(content) for program, content in zip(programs, kept)])
        for program, content in zip(programs, kept):
            self.assertIn(LOADER, content)
            program.write_bytes(content.replace(LOADER, LOADER.replace(b"linux", b"absnt")))
        done, result = self.run_bundle(self.folder / "old", "--device", "cpu", "--quick", "--only", "named pipeline")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(result["loader"], "the packed loader")
        self.assertEqual([row["outcome"] for row in result["rows"]], [report.PASS])

    def test_what_is_missing_is_said(self):
        done = run(sys.executable, self.bundle / "run.py", "--device", "cpu", "--corpus", self.folder / "none", env=BARE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no pictures", done.stderr)

    def test_a_bundle_is_not_packed_over_another(self):
        done = run(sys.executable, ROOT / "bench/gpu/pack", self.bundle, "--build", OPTIONS.build)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not empty", done.stderr)


class Jobs(unittest.TestCase):
    """However a job ends, each of its rows has an outcome and a reason."""
    MODULE = """\
import os, subprocess, sys, time
from report import NotPossible
def hang(context, report):
    report.check("one", True)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "LEFT-BEHIND-" + context.mark])
    time.sleep(600)
def crash(context, report):
    os.abort()
def fail(context, report):
    report.check("one", False, "3", "4")
    raise RuntimeError("no luck")
def impossible(context, report):
    raise NotPossible("nothing here to do it with")
def forget(context, report):
    report.measured("two", "2 us")
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="spdld-gpu-bench-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "cases_here.py").write_text(self.MODULE)
        package = Path(OPTIONS.build) / "client/python"
        self.environment = {**os.environ, "PYTHONPATH": f"{self.folder}:{package}", "PYTHONDONTWRITEBYTECODE": "1"}

    def rows_of(self, name, limit_s=60, needs=(), absent=()):
        job = jobs.Job(name, f"cases_here:{name}", ("one", "two"), limit_s, needs)
        context = self.folder / "context.json"
        context.write_text(json.dumps({"mark": self.folder.name,
                                       "jobs": [{"function": job.function, "given": [], "rows": job.rows}]}))
        rows = jobs.run(job, context, self.environment, 3600, dict(absent))
        self.assertEqual([row["row"] for row in rows], ["one", "two"])
        return rows

    def test_one_that_hangs_is_ended_with_all_it_started(self):
        began = time.monotonic()
        one, two = self.rows_of("hang", limit_s=6)
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual((one["outcome"], two["outcome"]), (report.PASS, report.FAIL))
        self.assertIn("no answer within 6 s", two["remark"])
        mark = f"LEFT-BEHIND-{self.folder.name}".encode()
        left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in self.content_of(path)]
        self.assertEqual(left, [])

    @staticmethod
    def content_of(path):
        try:
            return path.read_bytes()
        except OSError:  # it has ended since
            return b""

    def test_one_that_crashes(self):
        for row in self.rows_of("crash"):
            self.assertEqual(row["outcome"], report.FAIL)
            self.assertIn("SIGABRT", row["remark"])

    def test_one_that_fails(self):
        one, two = self.rows_of("fail")
        self.assertEqual((one["measured"], one["wanted"], one["outcome"]), ("3", "4", report.FAIL))
        self.assertEqual((two["outcome"], two["remark"]), (report.FAIL, "RuntimeError: no luck"))

    def test_one_that_cannot_be(self):
        for row in self.rows_of("impossible"):
            self.assertEqual((row["outcome"], row["remark"]), (report.NOT_POSSIBLE, "nothing here to do it with"))

    def test_one_that_forgets_a_row(self):
        one, two = self.rows_of("forget")
        self.assertEqual((one["outcome"], two["outcome"]), (report.FAIL, report.MEASURED))

    def test_one_that_lacks_something(self):
        self.assertEqual({row["outcome"] for row in self.rows_of("fail", needs=("cuda",), absent=[("cuda", "no GPU")])},
                         {report.NOT_POSSIBLE})
        self.assertEqual({row["outcome"] for row in self.rows_of("fail", needs=("root",), absent=[("root", "needs root")])},
                         {report.NOT_TRIED})


if __name__ == "__main__":
    cases.main()
