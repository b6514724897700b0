"""spdlctl beside pipelines of one name, commands that only look, and what a step has."""
import contextlib
import os
import shutil
import subprocess
import time
import unittest

from ctl_case import FINE, OPTIONS, USAGE, WAIT_S, WRONG, DaemonCase, cases, spdlctl
from daemon import make_pictures, pipeline_text


class LookingCase(DaemonCase):
    def file_of(self, name, text=None, **how):
        file = self.folder / f"{name}.toml"
        file.write_text(text or pipeline_text(self.folder / "pictures", name=name, **how))
        return file

    def names(self):
        return sorted(pipeline["name"] for pipeline in self.document("ls")["pipelines"])

    @contextlib.contextmanager
    def running(self, file, world_size=1):
        """A job of endless epochs takes batches of the file's pipeline."""
        job = subprocess.Popen([OPTIONS.ctl, "bench", file, "--epochs", "1000000000", "--world-size", str(world_size)],
                               stdout=subprocess.DEVNULL, env=self.daemon.environment())
        try:
            until = time.monotonic() + WAIT_S
            while not any(pipeline["rings"] == world_size and pipeline["batches"] > 3 * world_size
                          for pipeline in self.document("ls")["pipelines"]):
                self.assertLess(time.monotonic(), until, "it does not run")
                time.sleep(0.01)
            yield
        finally:
            job.kill()
            job.wait()


class Names(LookingCase):
    def test_a_name_means_the_pipeline_with_a_trainer(self):
        file = self.file_of("train", epochs=1)
        self.assert_code(self.ctl("bench", file), FINE)
        self.assertEqual(self.document("describe", "train")["name"], "train")
        self.file_of("train", batch=2, epochs=0)
        with self.running(file):
            self.assertEqual([name for name in self.names() if name.startswith("train")], ["train", "train#2"])
            self.assertEqual(self.document("describe", "train")["name"], "train#2")
            self.assertEqual(len(self.document("describe", "train")["rings"]), 1)
            self.assertEqual(self.document("why", "train")["pipeline"], "train#2")
            self.assertIn("train#2", self.ctl("top", "train", "--iterations", 1).stdout)
            self.assertEqual(self.document("describe", "train#2")["name"], "train#2")
            self.assertEqual(self.document("describe", "train#1")["name"], "train")
            self.assertEqual(self.document("describe", "train#1")["rings"], [])
            self.assert_sentence(self.ctl("describe", "train#3"), WRONG)
        until = time.monotonic() + WAIT_S
        while self.document("describe", "train#2")["rings"]:
            self.assertLess(time.monotonic(), until)
        self.assertEqual(self.document("describe", "train")["name"], "train#2", "it had a trainer last")

        with self.running(self.file_of("first", text=pipeline_text(self.folder / "pictures", name="train", epochs=1)
                                       .replace("epochs = 1", "epochs = 0"))):
            pass  # a third one
        # The one that was idle for longest is closed, and its name is free; no other name is given twice.
        for number in range(9):
            self.assert_code(self.ctl("bench", self.file_of(f"other{number}", epochs=1)), FINE)
        until = time.monotonic() + WAIT_S
        while "train" in self.names():
            self.assertLess(time.monotonic(), until)
        with self.running(self.file_of("train", batch=3, epochs=0)):
            names = self.names()
            self.assertEqual(len(names), len(set(names)), names)
            self.assertIn("train", names)


class Looks(LookingCase):
    def test_looking_leaves_no_pipeline_and_no_count_behind(self):
        make_pictures(self.folder / "damaged", classes=1, of_each=4)
        (self.folder / "damaged/class-0/1.jpg").write_bytes(b"\xff\xd8 no picture")
        file = self.file_of("quiet", text=pipeline_text(self.folder / "damaged", name="quiet"))
        before = self.names(), self.document("errors")["total"]
        self.assert_code(self.ctl("export", file, self.folder / "quiet.listing"), FINE)
        self.assert_code(self.ctl("show", file, self.folder / "quiet.png", "--samples", 4), FINE)
        self.assert_code(self.ctl("samples", file), FINE)
        self.assertEqual((self.names(), self.document("errors")["total"]), before)
        metrics = self.document("top", "--iterations", 1)
        self.assertNotIn("quiet", [pipeline["name"] for pipeline in metrics["now"]["pipelines"]])
        self.assert_sentence(self.ctl("describe", "quiet"), WRONG)

    def test_looking_does_not_touch_the_job_that_runs(self):
        file = self.file_of("busy", epochs=0)
        with self.running(file):
            names = self.names()
            cached = self.document("describe", "busy")["cache"]["fields"]
            for words in (("export", file, self.folder / "busy.listing"), ("show", file, self.folder / "busy.png"),
                          ("samples", file, "--step", 2)):
                self.assert_code(self.ctl(*words), FINE)
                described = self.document("describe", "busy")
                self.assertEqual(len(described["rings"]), 1, words)
                self.assertEqual(len(described["cache"]["fields"]), len(cached))
            self.assertEqual(self.names(), names)

    def test_top_and_status_show_one_memory(self):
        with self.running(self.file_of("memory", epochs=0)):
            seen = []
            for _ in range(20):
                status = self.document("status")["memory"]["pss_bytes"]
                metrics = self.document("top", "--iterations", 1)
                seen.append((status, metrics["now"]["pss_bytes"], metrics["last_10_s"]["pss_bytes"]))
                if len(set(seen[-1])) == 1:
                    return
            self.fail(f"they differ: {seen}")

    def test_show_draws_the_samples_of_a_rank(self):
        text = pipeline_text(self.folder / "pictures", name="ranks").replace("[order]", "[order]\nshuffle = false")
        file = self.file_of("ranks", text=text)
        for words, first in (((), "class-0/0.jpg"), (("--rank", 1, "--world-size", 2), "class-0/4.jpg"),
                             (("--rank", 1, "--world-size", 2, "--step", 1), "class-1/4.jpg")):
            done = self.ctl("show", file, "--terminal", "blocks", "--samples", 1, *words)
            self.assert_code(done, FINE)
            self.assertIn(first, done.stdout)
        self.assert_sentence(self.ctl("show", file, "--terminal", "blocks", "--rank", 1), USAGE)


class Samples(LookingCase):
    def ids(self, *words):
        return [sample["id"] for sample in self.document("samples", *words)["samples"]]

    def test_a_file_in_order(self):
        text = pipeline_text(self.folder / "pictures", name="inorder").replace("[order]", "[order]\nshuffle = false")
        file = self.file_of("inorder", text=text)
        self.assertEqual(self.ids(file), [0, 1, 2, 3])
        self.assertEqual(self.ids(file, "--step", 5), [20, 21, 22, 23])
        self.assertEqual(self.ids(file, "--step", 1, "--world-size", 2), list(range(8, 16)))
        self.assertEqual(self.ids(file, "--step", 1, "--world-size", 2, "--rank", 1), list(range(12, 16)))
        self.assertEqual(self.ids(file, "--step", 2, "--batch-size", 7), list(range(14, 21)))
        done = self.ctl("samples", file, "--step", 1, "--rank", 0)
        self.assert_code(done, FINE)
        self.assertRegex(done.stdout, r"inorder, epoch 0, step 1 of 6, 1 rank with batches of 4")
        self.assertRegex(done.stdout, r"(?m)^ +0 +0 +4 +class-0/4\.jpg")

    def test_an_epoch_has_every_sample_once_however_it_is_cut(self):
        file = self.file_of("shuffled")
        steps = [self.ids(file, "--epoch", 1, "--step", step) for step in range(6)]
        self.assertEqual(sorted(sum(steps, [])), list(range(24)))
        self.assertNotEqual(steps[0], self.ids(file, "--epoch", 0))
        self.assertEqual(sum(steps[:3], []), self.ids(file, "--epoch", 1, "--world-size", 3))

    def test_what_is_not_there_is_told_in_one_sentence(self):
        file = self.file_of("short")
        for words, wanted in ((("--step", 6), "has no step 6: it has 6"), (("--epoch", 2), "has no epoch 2: it has 2"),
                              (("--rank", 1), "no rank 1 of 1"), (("--world-size", 2, "--rank", 2), "no rank 2 of 2")):
            done = self.ctl("samples", file, *words)
            self.assert_sentence(done, WRONG)
            self.assertIn(wanted, done.stderr)
        self.assert_sentence(self.ctl("samples", "nothing"), WRONG)
        pushed = pipeline_text(self.folder / "pictures", name="pushed").replace("[order]", '[order]\nshuffle = "client"')
        done = self.ctl("samples", self.file_of("pushed", text=pushed))
        self.assert_sentence(done, WRONG)
        self.assertIn("it alone knows what a step has", done.stderr)

    def test_a_name_has_the_cut_of_the_job_that_runs(self):
        file = self.file_of("two", epochs=0)
        with self.running(file, world_size=2):
            document = self.document("samples", "two", "--step", 1)
            self.assertEqual((document["world_size"], document["batch_size"], len(document["samples"])), (2, 4, 8))
            self.assertEqual([sample["rank"] for sample in document["samples"]], [0] * 4 + [1] * 4)
            self.assertEqual([sample["id"] for sample in document["samples"]],
                             self.ids(file, "--step", 1, "--world-size", 2))
        until = time.monotonic() + WAIT_S
        while self.document("samples", "two", "--step", 1)["world_size"] != 1:  # the daemon hears of the job's end by and by
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_orders_by_weight_are_waited_for(self):
        weights = self.folder / "weights.txt"
        weights.write_text("".join(f"{number}\t{1 + number % 3}\n" for number in range(24)))
        for replacement in ("true", "false"):
            text = pipeline_text(self.folder / "pictures", name=f"weighted-{replacement}").replace(
                "[order]", f'[order]\nweights = "{weights}"\nreplacement = {replacement}')
            file = self.file_of(f"weighted-{replacement}", text=text)
            first = self.ids(file, "--epoch", 1, "--step", 1)
            self.assertEqual(len(first), 4)
            self.assertEqual(self.ids(file, "--epoch", 1, "--step", 1), first)


class WhetherDataIsThere(LookingCase):
    def test_check_looks_whether_the_data_is_there(self):
        fine = self.ctl("check", self.file)
        self.assert_code(fine, FINE)
        self.assertEqual(len(fine.stdout.splitlines()), 1, fine.stdout)
        file = self.file_of("gone", text=pipeline_text(self.folder / "none", name="gone"))
        (self.folder / "bare").mkdir(exist_ok=True)
        bare = self.file_of("bare", text=pipeline_text(self.folder / "bare", name="bare").replace(
            "[order]", f'[order]\ninclude = "{self.folder / "no.txt"}"'))
        done = self.ctl("check", file, bare)
        self.assert_code(done, FINE)
        self.assertIn(f"{file}: data, source: uri: {self.folder / 'none'} does not exist here.", done.stdout)
        self.assertIn(f"source: uri: {self.folder / 'bare'} is an empty folder.", done.stdout)
        self.assertIn(f"order: include: {self.folder / 'no.txt'} does not exist here.", done.stdout)
        self.assertEqual([len(verdict["data"]) for verdict in self.document("check", file, bare)], [1, 2])
        done = spdlctl("check", self.file_of("remote", text=pipeline_text("s3://bucket/prefix", name="remote")))
        self.assert_code(done, FINE)
        self.assertNotIn(": data,", done.stdout)

    def test_a_folder_with_other_pictures_among_its_jpegs_gets_a_remark(self):
        folder = self.folder / "various"
        make_pictures(folder, classes=2, of_each=3)
        for name in ("class-1/b.png", "class-0/deep/a.WEBP", "class-0/notes.txt", "class-0/.hidden.png"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(b"")
        long_ago = time.time() - 3600  # so that the listing is kept
        for each in (folder, *folder.rglob("*")):
            os.utime(each, (long_ago, long_ago))
        for batch, kept in ((4, False), (2, True)):
            file = self.file_of("various", text=pipeline_text(folder, name="various", batch=batch, epochs=1))
            self.assert_code(self.ctl("bench", file), FINE)
            listing = self.document("describe", "various")["listing"]
            self.assertEqual(listing["kept"] > 0, kept)
            self.assertEqual(listing["remarks"], [
                "2 pictures of other formats, such as class-0/deep/a.WEBP, are left out: source.extensions takes only .jpg, "
                '.jpeg. Write extensions = "jpg,jpeg,WEBP" to take such files as well.'])
            self.assertEqual(listing["missing_count"], 0)

    def test_an_output_is_called_mask_unless_the_pipeline_makes_one(self):
        text = pipeline_text(self.folder / "pictures", name="masked").replace('name = "label"', 'name = "mask"')
        file = self.file_of("masked", text=text)
        self.assert_code(self.ctl("check", file), FINE)
        self.assert_code(self.ctl("bench", file, "--batches", 1), FINE)
        self.assert_code(self.ctl("show", file, self.folder / "masked.png"), FINE)
        file.write_text('on_bad = "mask"\n' + text)
        done = self.ctl("check", file)
        self.assert_code(done, WRONG)
        self.assertIn('on_bad or on_drop = "mask" gives every batch a tensor of this name', done.stdout)


SOUNDS = """name = "sounds"
[source]
type = "image-folder"
uri = "{folder}"
extensions = "mp3"
[[output]]
name = "wave"
from = "image"
ops = [{{ op = "decode-audio", samples = 100 }}]
[order]
epochs = 1
[batch]
size = 1
"""


@unittest.skipUnless(shutil.which("ffmpeg"), "the ffmpeg program makes the sounds")
class Trimmed(LookingCase):
    def test_describe_counts_sounds_of_which_a_tag_was_left_out(self):
        sounds = self.folder / "sounds/a"
        sounds.mkdir(parents=True)
        for name in ("1.mp3", "2.mp3"):
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=duration=1", sounds / name], check=True,
                           stdin=subprocess.DEVNULL)
        with open(sounds / "2.mp3", "ab") as file:
            file.write(bytes(5000))
        done = self.ctl("bench", self.file_of("sounds", text=SOUNDS.format(folder=sounds.parent)))
        if done.returncode != FINE and "FFmpeg" in done.stderr:
            self.skipTest("the daemon was built without FFmpeg's libraries")
        self.assert_code(done, FINE)
        trimmed = self.document("describe", "sounds")["trimmed"]
        self.assertGreater(trimmed["samples"], 0)
        self.assertEqual(trimmed["last"], 1)
        self.assertRegex(self.ctl("describe", "sounds").stdout,
                         r"trimmed .*left out of \d+ sounds?; the last one is of sample 1\n")


if __name__ == "__main__":
    cases.main()
