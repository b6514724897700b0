#!/usr/bin/python3
"""spdlctl as people use it: its exit codes, its tables and its JSON, with a real daemon and without one."""
import json
import os
import pwd
import re
import tempfile
from pathlib import Path

from ctl_case import FINE, NO_DAEMON, OPTIONS, ROOT, USAGE, WRONG, Case, DaemonCase, cases, spdlctl
from daemon import make_pictures, pipeline_text

COMMANDS = re.findall(r"(?m)^COMMAND\((\w+)\)$", (ROOT / "client/cli/commands.inc").read_text())


class WithoutDaemon(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def test_help(self):
        done = spdlctl("--help")
        self.assert_code(done, FINE)
        for word in ("Exit codes", "SPDLD_SOCKET", "--timeout-ms"):
            self.assertIn(word, done.stdout)
        self.assertGreaterEqual(len(COMMANDS), 17)
        listed = done.stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
        self.assertEqual(re.findall(r"(?m)^  (\w+)  +\S", listed), COMMANDS)
        page = (ROOT / "docs/service.md").read_text()
        for command in COMMANDS:
            with self.subTest(command):
                helped = spdlctl(command, "--help")
                self.assert_code(helped, FINE)
                self.assertIn(f"spdlctl {command}", helped.stdout.splitlines()[1])
                self.assertRegex(page, rf"(?m)^\| `spdlctl {command}\b")
        self.assertRegex(spdlctl("--version").stdout, r"^spdlctl \d+\.\d+\.\d+\n$")

    def test_wrong_usage(self):
        for words in ((), ("frobnicate",), ("status", "--frobnicate"), ("describe",), ("check",), ("ping", "-o", "xml"),
                      ("ping", "--timeout-ms", "0"), ("bench", "p", "--world-size", "0")):
            with self.subTest(words=words):
                self.assert_sentence(spdlctl(*words), USAGE)

    def test_a_wrong_word_is_told_what_it_may_have_been(self):
        for words, said in ((("lss",), 'there is no command "lss" (did you mean "ls"?)'),
                            (("lss", "-o", "json"), 'there is no command "lss" (did you mean "ls"?)'),
                            (("Describe", "p"), 'there is no command "Describe" (did you mean "describe"?)'),
                            (("bench", "p", "--epoch", "3"), 'there is no option "--epoch" (did you mean "--epochs"?)'),
                            (("status", "--sokcet", "/s"), 'there is no option "--sokcet" (did you mean "--socket"?)'),
                            (("frobnicate",), 'there is no command "frobnicate"; see'),
                            (("ls\033[31m",), "(did you mean \"ls")):
            with self.subTest(words=words):
                done = spdlctl(*words)
                self.assert_sentence(done, USAGE)
                self.assertNotIn("\033", done.stderr)
                if "\033" not in words[0]:
                    self.assertIn(said, done.stderr)

    def test_help_fits_80_columns(self):
        for command in ((), *((name,) for name in COMMANDS)):
            for line in spdlctl(*command, "--help", env={**os.environ, "COLUMNS": "80"}).stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_no_daemon(self):
        for words in (("ping",), ("status",), ("ls",), ("users",), ("errors",), ("describe", "p"), ("describe", "p", "--watch")):
            with self.subTest(words=words):
                done = spdlctl(*words, "--socket", self.folder / "none.sock")
                self.assert_sentence(done, NO_DAEMON)
                self.assertIn("none.sock", done.stderr)

    def test_check_a_fine_file(self):
        file = self.write("train.toml", pipeline_text("/data/train"))
        done = spdlctl("check", file, ROOT / "config/examples/spdld.toml")
        self.assert_code(done, FINE)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[0].startswith(f"{file}: fine, pipeline small: image-folder /data/train"), lines[0])
        self.assertTrue(lines[0].endswith("; cache auto"), lines[0])
        self.assertEqual(lines[1], f"{file}: data, source: uri: /data/train does not exist here.")
        self.assertIn("spdld.toml: fine, the daemon's file", lines[2])
        self.assertIn("a cache of at most a quarter of the memory", lines[2])

    def test_check_looks_for_lists_of_files_alone(self):
        (self.folder / "groups.txt").write_text("")
        text = pipeline_text("/data/train")
        for order, missing in (('include = ["a.jpg", 7]', []), ('include = "none.txt"', ["include"]),
                               ('part = { fraction = 0.5, groups = "none.txt" }', ["part.groups"]),
                               ('part = { fraction = 0.5, groups = "groups.txt" }', [])):
            with self.subTest(order=order):
                done = spdlctl("check", self.write("train.toml", text.replace("[order]\n", f"[order]\n{order}\n")))
                self.assert_code(done, FINE)
                told = [line for line in done.stdout.splitlines() if "data, order" in line]
                self.assertEqual([line.split("order: ")[1] for line in told],
                                 [f"{key}: {self.folder}/none.txt does not exist here." for key in missing])

    def test_check_looks_for_a_file_of_classes(self):
        (self.folder / "classes.txt").write_text("cat\n")
        for classes, is_missing in (('"classes.txt"', False), ('["cat", "dog"]', False), ('"none.txt"', True)):
            with self.subTest(classes=classes):
                text = pipeline_text("/data/train").replace("[source]\n", f"[source]\nclasses = {classes}\n")
                done = spdlctl("check", self.write("train.toml", text))
                self.assert_code(done, FINE)
                self.assertEqual(f"data, source: classes: {self.folder}/none.txt does not exist here." in done.stdout, is_missing)

    def test_check_knows_the_types_of_outputs_that_follow_a_view(self):
        done = spdlctl("check", ROOT / "config/examples/detection.toml")
        self.assert_code(done, FINE)
        self.assertIn("gives image (uint8), boxes (float32, ragged), classes (int64, ragged), corners (float32, padded);",
                      done.stdout)

    def test_check_says_how_the_cache_is_bounded(self):
        for text, said in (('ram_bytes_max = "256 MiB"\nfolder = "/mnt/ssd"',
                            "a cache of at most 256 MiB and 64.0 GiB in /mnt/ssd"),
                           ('ram_bytes_max = 0\nfolder = "/mnt/ssd"', "a cache of at most 64.0 GiB in /mnt/ssd"),
                           ("ram_bytes_max = 0", "no cache")):
            with self.subTest(text=text):
                done = spdlctl("check", self.write("spdld.toml", f"[cache]\n{text}\n"))
                self.assert_code(done, FINE)
                self.assertIn(f", {said}, ", done.stdout)

    def test_check_tells_every_error_with_its_line(self):
        text = pipeline_text("/data/train").replace('"resize"', '"resise"').replace("size = 4", "size = 0")
        file = self.write("train.toml", text)
        done = spdlctl("check", file)
        self.assert_code(done, WRONG)
        self.assertEqual(len(done.stdout.splitlines()), 2, done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^{file}:10: output\[0\]\.ops\[1\]\.op: ")
        self.assertRegex(done.stdout, rf"(?m)^{file}:15: batch\.size: ")
        verdicts = json.loads(spdlctl("check", file, "-o", "json").stdout)
        self.assertEqual([c["line"] for c in verdicts[0]["complaints"]], [10, 15])
        self.assertFalse(verdicts[0]["fine"])

    def test_check_a_file_that_is_not_there(self):
        done = spdlctl("check", self.folder / "none.toml")
        self.assert_code(done, WRONG)
        self.assertIn("none.toml", done.stdout)

    def test_ops_come_from_the_catalogue(self):
        text, document = spdlctl("ops").stdout, json.loads(spdlctl("-o", "json", "ops").stdout)
        names = [operation["name"] for operation in document["operations"]]
        self.assertIn("random-resized-crop", names)
        for name in names:
            self.assertIn(f"\n  {name}  (", text)

    def test_bench_of_a_wrong_file_needs_no_daemon(self):
        done = spdlctl("bench", self.write("x.toml", "name = 3\n"), "--socket", self.folder / "none.sock")
        self.assert_code(done, WRONG)
        self.assertIn("x.toml:1: name: ", done.stderr)


class WithDaemon(DaemonCase):
    def test_ping(self):
        done = self.ctl("ping")
        self.assert_code(done, FINE)
        self.assertIn(f"pid {self.daemon.process.pid}", done.stdout)
        self.assertEqual(self.document("ping")["pid"], self.daemon.process.pid)

    def test_status_and_list(self):
        for words in (("status",), ("ls",)):
            done = self.ctl(*words)
            self.assert_code(done, FINE)
            self.assertRegex(done.stdout, r"(?m)^PIPELINE +STATE")
            self.assertRegex(done.stdout, r"(?m)^small +\w+")
            self.assertNotIn("\033", done.stdout)
        self.assertEqual(self.document("status")["socket"], str(self.daemon.socket))
        self.assertIn("small", [pipeline["name"] for pipeline in self.document("ls")["pipelines"]])

    def test_users_are_shown_with_what_they_have(self):
        with self.trained("busy"):
            user, = self.document("users")["users"]
            self.assertEqual((user["uid"], user["name"]), (os.getuid(), pwd.getpwuid(os.getuid()).pw_name))
            self.assertIn("busy", user["pipelines"])
            self.assertGreaterEqual(user["sessions"], 2)  # the trainer's and the question's
            self.assertEqual(user["rings"], 1)
            self.assertGreater(user["slots"], 0)
            self.assertGreater(user["slot_bytes"], 0)
            done = self.ctl("users")
            self.assert_code(done, FINE)
            header, line = done.stdout.splitlines()
            self.assertRegex(header, r"^USER +UID +SESSIONS +RINGS +SLOTS +IN THEM +IN FLIGHT +LENT +LISTINGS +PIPELINES$")
            self.assertRegex(line, rf"^{user['name']} +{os.getuid()} +\d+ +1 +{user['slots']} .*\bbusy\b")

    def test_bench_counts_every_image(self):
        for target, world_size in ((self.file, 1), ("small", 3)):
            with self.subTest(target=target, world_size=world_size):
                report = self.document("bench", target, "--epochs", 2, "--world-size", world_size)
                self.assertEqual(report["images"], 2 * 24)
                self.assertEqual(report["batches"], 2 * 24 // 4)
                for key in ("images_per_s", "cpu_ms_per_image", "first_batch_s", "peak_pss_bytes", "wait_s"):
                    self.assertGreater(report[key], 0, key)

    def test_bench_stops_after_its_batches(self):
        done = self.ctl("bench", "small", "--batches", 2)
        self.assert_code(done, FINE)
        self.assertIn("8 images in 2 batches to 1 rank", done.stdout)
        self.assertEqual(done.stderr, "", "no progress bar without a terminal")

    def test_an_exported_listing_pins_and_is_included(self):
        file = self.folder / "small.listing"
        for target in (self.file, "small"):
            done = self.ctl("export", target, file)
            self.assert_code(done, FINE)
            head, lines = file.read_text().splitlines()[:3], file.read_text().splitlines()[3:]
            fingerprint = head[1].split()[-1]
            self.assertEqual(head, ["# spdld listing 1", f"# fingerprint {fingerprint}", "# samples 24"])
            self.assertEqual(lines, [f"{8 * label + number}\tclass-{label}/{number}.jpg"
                                     for label in range(3) for number in range(8)])
            self.assertIn(f"24 samples, fingerprint {fingerprint}", done.stdout)
        self.assertEqual([each.name for each in self.folder.glob("*.part-*")], [])

        some = self.folder / "some.listing"
        some.write_text("\n".join(head + lines[3:9]) + "\n")
        text = pipeline_text(self.folder / "pictures", "chosen")
        text = text.replace("[order]", f'[order]\ninclude = "{some}"').replace(
            "[source]", f'[source]\nfingerprint = "{fingerprint}"')
        chosen = self.folder / "chosen.toml"
        chosen.write_text(text)
        self.assertEqual(self.document("bench", chosen, "--epochs", 1)["images"], 6)
        chosen.write_text(text.replace(fingerprint, "0" * 32))
        refused = self.ctl("export", chosen, file)
        self.assert_sentence(refused, WRONG)
        self.assertIn(f"lists 24 samples in 3 classes, with the fingerprint {fingerprint}", refused.stderr)
        self.assert_sentence(self.ctl("export", self.file, self.folder / "none/file"), WRONG)

    def test_bench_of_what_is_not_there(self):
        self.assert_sentence(self.ctl("bench", "nothing"), WRONG)

    def test_describe(self):
        self.assert_code(self.ctl("bench", "small"), FINE)
        done = self.ctl("describe", "small")
        self.assert_code(done, FINE)
        for word in ("pipeline", "bottleneck", "decode-image > resize", "STAGE", "fetch", "decode", "24 in 3 classes"):
            self.assertIn(word, done.stdout)
        document = self.document("describe", "small")
        self.assertIn(document["verdict"]["limiter"], ("unknown", "fetch", "decode", "trainer"))
        self.assertEqual(document["samples"], 24)
        self.assert_sentence(self.ctl("describe", "nothing"), WRONG)

    def mix(self, name):
        text = pipeline_text(self.folder / "pictures", name=name)
        start = text.index("[source]")
        source = text[start:text.index("\n[", start) + 1]
        tables = [source.replace("[source]", f'[[sources]]\nname = "{part}"\nweight = {weight}\n')
                  for part, weight in (("web", 3), ("rare", 0.5))]
        file = self.folder / f"{name}.toml"
        file.write_text(text.replace(source, "".join(tables)))
        return file

    def test_check_and_describe_show_the_sources(self):
        file, pictures = self.mix("mix"), self.folder / "pictures"
        self.assertIn(f"web = image-folder {pictures}, rare = image-folder {pictures}; gives ",
                      spdlctl("check", file).stdout)
        self.assertEqual(self.document("bench", file, "--epochs", 1)["images"], 48)
        text, document = self.ctl("describe", "mix").stdout, self.document("describe", "mix")
        self.assertRegex(text, rf"(?m)^source +web = image-folder  {pictures}$")
        self.assertRegex(text, r"(?m)^share +web  85\.71 % of the samples \(24 samples of its own, weight 3\)$")
        self.assertRegex(text, r"(?m)^share +rare  14\.29 % of the samples \(24 samples of its own, weight 0\.5\)$")
        self.assertEqual([(source["name"], source["weight"]) for source in document["sources"]],
                         [("web", 3), ("rare", 0.5)])
        self.assertAlmostEqual(sum(source["share"] for source in document["sources"]), 1)
        self.assertEqual(self.document("describe", "small")["sources"], [])

    def test_describe_shows_the_sizes_of_batches(self):
        text, resize = self.file.read_text().replace('"small"', '"sizes"'), '{ op = "resize", size = [32, 32] }'
        self.assertIn(resize, text)
        file = self.folder / "sizes.toml"
        file.write_text(text.replace(resize, '{ op = "aspect-bucket", sizes = ["32x32", "32x48"] }'))
        self.assertEqual(self.document("bench", file, "--epochs", 1)["images"], 24)
        self.assertRegex(self.ctl("describe", "sizes").stdout, r"(?m)^bucket +32 x 48  24 samples$")
        self.assertEqual(self.document("describe", "sizes")["buckets"], [{"height": 32, "width": 48, "samples": 24}])
        self.assertEqual(self.document("describe", "small")["buckets"], [])

    def test_describe_shows_what_is_kept_and_tuned(self):
        with self.trained("kept"):
            text = self.ctl("describe", "kept").stdout
            field, = self.document("describe", "kept")["cache"]["fields"]
        self.assertRegex(text, r"(?m)^listing +3 folders: \d unchanged since the kept listing, \d read$")
        self.assertRegex(text, r"(?m)^cache +decoded \(asked: auto\): all 24 samples fit: about \d+ KiB decoded, of "
                               r"\d+ MiB; hit rate \d+ %$")
        self.assertRegex(text, r"(?m)^CACHED +FORM +IN MEMORY +BYTES +ON DISK +BYTES +HIT RATE +HITS +FROM DISK +MISSES")
        self.assertRegex(text, r"(?m)^image +decoded +24 +[\d.]+ KiB +0 +0 B +\d+ % +[\d,]+ +0 +\d+ +0 +0$")
        self.assertRegex(text, r"(?m)^cached +image: 24 of 24 samples  100 %$")
        self.assertGreater(field["memory_hits"], 0)
        self.assertRegex(text, r"(?m)^tuning +\d+ changes?")
        self.assertRegex(text, r"(?m)^decode +1 +1 +decode threads +pinned$")
        self.assertRegex(text, r"(?m)^fetch +[1-5] +5 +reads at once +measurements$")
        self.assertRegex(text, r"(?m)^depth +2 +4 +batches ahead +pinned$")

    def test_status_shows_limits_and_the_cache(self):
        with self.trained("cached"):
            text, cores = self.ctl("status").stdout, len(os.sched_getaffinity(0))
        self.assertRegex(text, r"(?m)^cpu +1 decode thread on \d+ cores? \(set by: setting\), used ")
        self.assertRegex(text, r"(?m)^cpu limits +(no cgroup quota|cgroup quota of [\d.]+ cores?), affinity to "
                               rf"{cores} cores?, machine of \d+ cores?, NUMA nodes? \d+( and \d+)*$")
        self.assertRegex(text, r"(?m)^concurrency +decode 1, fetch [1-5]$")
        self.assertRegex(text, r"(?m)^cache +[\d.]+ [KM]iB of at most 64\.0 MiB$")
        self.assertRegex(text, rf"(?m)^{self.folder}/pictures +image +decoded +yes +[\d.]+ KiB +0 B$")

    def test_errors_name_the_sample(self):
        (self.folder / "bad/class-0").mkdir(parents=True)
        (self.folder / "bad/class-0/0.jpg").write_bytes(b"no picture at all")
        (self.folder / "bad/class-0/1.jpg").write_bytes((self.folder / "pictures/class-0/1.jpg").read_bytes())
        file = self.folder / "bad.toml"
        file.write_text(pipeline_text(self.folder / "bad", name="bad", batch=2, epochs=1))
        self.assertEqual(self.document("bench", file)["substituted"], 1)
        done = self.ctl("errors", "bad")
        self.assert_code(done, FINE)
        self.assertIn("class-0/0.jpg", done.stdout)
        self.assertRegex(done.stdout, r"(?m) damaged +no picture but text$")
        self.assertEqual(self.ctl("errors", "small").stdout, "no errors\n")


class PrivateDaemon(Case):
    def test_bench_starts_one(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_pictures(folder / "pictures", of_each=4)
            (folder / "x.toml").write_text(pipeline_text(folder / "pictures"))
            environment = {**os.environ, "XDG_RUNTIME_DIR": name, "SPDLD_DAEMON": OPTIONS.daemon}
            environment.pop("SPDLD_SOCKET", None)
            if Path("/run/spdld/spdld.sock").exists():
                self.skipTest("a system's daemon runs here")
            done = spdlctl("bench", folder / "x.toml", "-o", "json", env=environment)
            self.assert_code(done, FINE)
            self.assertEqual(json.loads(done.stdout)["images"], 12)
            status = spdlctl("status", "-o", "json", env=environment)
            self.assert_code(status, FINE)
            status = json.loads(status.stdout)
            self.assertTrue(status["private"])
            os.kill(status["pid"], 15)


if __name__ == "__main__":
    cases.main()
