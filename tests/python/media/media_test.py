"""Videos and sounds, all the way to a trainer: batches that no number of threads, no cache and no death changes."""
import io
import itertools
import json
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import numpy as np

import spdld
from case import PROGRAM, WAIT_S, RestartedDaemon
from media_files import SOUNDS, VIDEOS, ffmpeg, make_media

OF_EACH, BATCH, EPOCHS = 3, 4, 2
DECODE = {"op": "decode-video", "frames": 4, "stride": 3}
CROP = [{"op": "random-resized-crop", "size": [40, 56]}, {"op": "horizontal-flip"}]
CLIP = [{**DECODE, "times": "times", "valid": "valid"}, *CROP, {"op": "color-jitter", "brightness": 0.4}]
VIEWS = [{**DECODE, "clips": 3, "draw": "views"}, *CROP, {"op": "convert", "layout": "NCTHW"}]
MEL = [{"op": "decode-audio", "rate": 16000, "seconds": 1}, {"op": "random-gain", "db": [-6, 6]},
       {"op": "mel-spectrogram", "preset": "whisper"}, {"op": "spec-augment"}]
WAVE = [{"op": "decode-audio", "rate": 22050, "seconds": 2, "pad": "keep"}, {"op": "random-speed", "factors": [0.9, 1.0, 1.1]}]
LABEL = {"name": "label", "from": "class"}
OUTPUTS = {
    "videos": [{"name": "clip", "from": "image", "ops": CLIP}, {"name": "views", "from": "image", "ops": VIEWS}, LABEL],
    "sounds": [{"name": "mel", "from": "image", "ops": MEL}, {"name": "wave", "from": "image", "ragged": True, "ops": WAVE},
               LABEL]}
SHAPES = {"clip": [BATCH, 4, 40, 56, 3], "times": [BATCH, 4], "valid": [BATCH, 1], "views": [BATCH, 3, 3, 4, 40, 56],
          "mel": [BATCH, 80, 100]}


def arrays(value):
    """An array, or the values and the offsets of a ragged one."""
    return [value.values, value.offsets] if isinstance(value, spdld.Ragged) else [value]


class Media(unittest.TestCase):
    numbers = itertools.count()

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-media-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        make_media(cls.folder, OF_EACH)

    def daemon(self, threads):
        daemon = RestartedDaemon(PROGRAM, f"[tuning]\ndecode = {threads}\n")
        self.addCleanup(daemon.close)
        return daemon

    def spec(self, medium, cache="off"):
        endings = ",".join(SOUNDS if medium == "sounds" else (ending for ending, _ in VIDEOS))
        return {"name": medium, "source": {"type": "image-folder", "uri": str(self.folder / medium), "extensions": endings},
                "seed": 5, "order": {"epochs": EPOCHS}, "cache": cache, "output": OUTPUTS[medium], "batch": {"size": BATCH}}

    def attach(self, daemon, spec, **options):
        loader = spdld.attach(spec, socket=daemon.socket, timeout=WAIT_S, framework="numpy", **options)
        self.addCleanup(loader.close)
        return loader

    def contents(self, batch):
        for name, shape in SHAPES.items():
            if name in batch:
                self.assertEqual(list(batch[name].shape), shape, name)
        return {name: [array.tobytes() for array in arrays(batch[name])] for name in batch}

    def rest(self, loader):
        """Everything up to the end of the run."""
        return [self.contents(batch) for _ in range(loader.position[0], EPOCHS) for batch in loader]

    def undisturbed(self, medium):
        return self.rest(self.attach(self.daemon(1), self.spec(medium)))

    def test_threads_and_caches_change_nothing(self):
        for medium in OUTPUTS:
            wanted = self.undisturbed(medium)
            self.assertEqual(len(wanted), EPOCHS * OF_EACH)
            self.assertNotEqual(wanted[0], wanted[OF_EACH])
            for threads, cache in ((8, "off"), (8, "encoded"), (1, "encoded"), (8, "decoded"), (1, "decoded")):
                with self.subTest(medium=medium, threads=threads, cache=cache):
                    daemon = self.daemon(threads)
                    for _ in range(2):  # the samples of the first run are all on their way before one of them is kept
                        loader = self.attach(daemon, self.spec(medium, cache))
                        self.assertEqual(self.rest(loader), wanted)
                        loader.close()
                    shelves = spdld.query("status", socket=daemon.socket)["cache"]["shelves"]
                    hits = sum(shelf["memory_hits"] for shelf in shelves if shelf["form"] == cache)
                    kept = cache == "encoded" or (cache == "decoded" and medium == "videos")
                    self.assertEqual(hits > 0, kept, shelves)

    def test_a_run_goes_on_after_its_daemon_was_killed(self):
        for medium in OUTPUTS:
            wanted = self.undisturbed(medium)
            for taken in (1, OF_EACH + 1):
                with self.subTest(medium=medium, taken=taken):
                    daemon = self.daemon(2)
                    loader = self.attach(daemon, self.spec(medium, "encoded"))
                    batches = 0
                    while batches < taken:
                        batches += loader.next() is not None  # None is the end of an epoch
                    state = loader.state_dict()
                    daemon.kill()
                    loader.close()
                    daemon.start_again()
                    self.assertEqual(self.rest(self.attach(daemon, self.spec(medium, "encoded"), state=state)), wanted[taken:])

    def shards(self, medium, name, parts):
        """A tar archive with one file, and a part of it for each of the samples, [start, end) in seconds."""
        made = tempfile.TemporaryDirectory(prefix="spdld-media-")
        self.addCleanup(made.cleanup)
        path = Path(made.name) / "a.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for number, (start, end) in enumerate(parts):
                content = json.dumps({"start": start, "end": end}).encode()
                member = tarfile.TarInfo(f"{number:03}.json")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
                tar.add(self.folder / medium / name, f"{number:03}{Path(name).suffix}")
        return path

    def parts(self, medium, name, parts, output):
        """The batches of a pipeline whose first output has these parts."""
        path = self.shards(medium, name, parts)
        numbers = [{"name": word, "from": f"json:{word}", "ops": [{"op": "parse-float"}]} for word in ("start", "end")]
        output = {**output, "from": Path(name).suffix[1:]}
        output["ops"] = [{**output["ops"][0], "start": "start", "end": "end"}, *output["ops"][1:]]
        spec = {"name": "parts", "source": {"type": "webdataset", "uri": str(path)}, "output": [output, *numbers],
                "on_bad": "mask", "order": {"epochs": 1, "shuffle": False}, "batch": {"size": len(parts)}}
        return self.attach(self.daemon(4), spec).next()

    def test_parts_of_a_video(self):
        parts = [(0, 0.5), (0.4, 1.0), (1.2, 1.5), (0.5, 0.4), (7, 8)]  # of 1.5 s, with 15 frames a second
        output = {"name": "clip", "ops": [{**DECODE, "frames": 4, "stride": 1, "times": "times"},
                                          {"op": "resize", "size": [32, 32]}]}
        batch = self.parts("videos", "class-0/0-0.mp4", parts, output)
        self.assertEqual(batch["mask"].tolist(), [True, True, True, False, False])
        for (start, end), times in zip(parts[:3], batch["times"]):
            self.assertGreaterEqual(times[0], start)
            self.assertLess(times[-1], end)
        self.assertEqual(batch["start"].tolist()[:3], np.float32([0, 0.4, 1.2]).tolist())

    def test_parts_of_a_sound(self):
        parts = [(0, 0.5), (0.25, 1.0), (1.2, 9), (2, 3)]  # of 1.5 s
        output = {"name": "wave", "ops": [{"op": "decode-audio", "rate": 44100, "seconds": 0.25, "pick": "center",
                                           "channels": 2}]}
        for ending in ("flac", "opus"):
            name = f"class-0/{SOUNDS.index(ending)}-0.{ending}"
            whole = self.parts("sounds", name, [(0, 9)],
                               {"name": "wave", "ops": [{"op": "decode-audio", "rate": 44100, "channels": 2,
                                                         "samples": 66150, "pick": "start"}]})["wave"][0]
            batch = self.parts("sounds", name, parts, output)
            self.assertEqual(batch["mask"].tolist(), [True, True, True, False])
            for (start, end), wave in zip(parts, batch["wave"][:3]):
                first = round((start + min(end, 1.5) - 0.25) / 2 * 44100)
                near = [at for at in range(first - 1, first + 2) if np.array_equal(whole[:, at:at + 11025], wave)]
                self.assertEqual(len(near), 1, (ending, start))

    def test_the_sound_of_a_clip(self):
        """The samples of the sound tell their time, so that they tell how far they are from the frames."""
        made = tempfile.TemporaryDirectory(prefix="spdld-media-")
        self.addCleanup(made.cleanup)
        rate, scale = 16000, 8
        cases = {"a.mov": "-c:v libx264 -bf 2 -g 12 -c:a alac", "b.mkv": "-c:v libx264 -bf 2 -c:a flac",
                 "c.mkv": "-c:v mpeg4 -c:a pcm_s16le", "d.mp4": "-c:v libx264 -c:a aac -b:a 256k"}
        (Path(made.name) / "one").mkdir()
        for name, codecs in cases.items():
            ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=4", "-f", "lavfi", "-i",
                   f"aevalsrc=t/{scale}:s=48000:d=4", "-pix_fmt", "yuv420p", *codecs.split(), str(Path(made.name) / "one" / name))
        clip = {**DECODE, "frames": 4, "stride": 5, "times": "times"}
        outputs = [{"name": "wave", "from": "image",
                    "ops": [{"op": "decode-audio", "rate": rate, "seconds": 0.8, "clip": "clip"}]},
                   {"name": "clip", "from": "image", "ops": [clip, {"op": "resize", "size": [32, 32]}]}]
        spec = {"name": "both", "source": {"type": "image-folder", "uri": made.name, "extensions": "mov,mkv,mp4"},
                "output": outputs, "order": {"epochs": 8, "shuffle": False}, "batch": {"size": len(cases)}}
        starts = set()
        loader = self.attach(self.daemon(4), spec)
        for _ in range(8):
            for batch in loader:
                for name, wave, times in zip(cases, batch["wave"], batch["times"]):
                    lossy = 0.01 if name == "d.mp4" else 0.001  # AAC, or times in whole milliseconds
                    middle = len(wave) // 2  # away from the ends of the sound, where the resampler's filter reaches beyond
                    self.assertLess(abs(wave[middle] * scale - (times[0] + middle / rate)), lossy, (name, times[0]))
                    starts.add(float(times[0]))
        self.assertGreater(len(starts), 8)

    def test_a_sound_that_begins_later_than_its_clip(self):
        made = tempfile.TemporaryDirectory(prefix="spdld-media-")
        self.addCleanup(made.cleanup)
        (Path(made.name) / "one").mkdir()
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=2", "-itsoffset", "0.5", "-f", "lavfi", "-i",
               "aevalsrc=0.5:s=16000:d=1.5", "-pix_fmt", "yuv420p", "-c:v", "mpeg4", "-c:a", "flac",
               str(Path(made.name) / "one" / "a.mkv"))
        outputs = [{"name": "clip", "from": "image", "ops": [{**DECODE, "pick": "start"}, {"op": "resize", "size": [32, 32]}]},
                   {"name": "wave", "from": "image",
                    "ops": [{"op": "decode-audio", "rate": 16000, "seconds": 1, "clip": "clip"}]},
                   {"name": "kept", "from": "image", "ragged": True,
                    "ops": [{"op": "decode-audio", "rate": 16000, "seconds": 1, "clip": "clip", "pad": "keep"}]},
                   {"name": "beyond", "from": "image",
                    "ops": [{"op": "decode-audio", "rate": 16000, "seconds": 3, "clip": "clip"}]}]
        spec = {"name": "late", "source": {"type": "image-folder", "uri": made.name, "extensions": "mkv"}, "output": outputs,
                "order": {"epochs": 1}, "batch": {"size": 1}}
        batch = self.attach(self.daemon(1), spec).next()
        sound = np.full(24000, 0.5, np.float32)
        wanted = np.concatenate([np.zeros(8000, np.float32), sound, np.zeros(16000, np.float32)])
        for wave in (batch["wave"][0], batch["kept"][0], batch["beyond"][0]):
            np.testing.assert_allclose(wave, wanted[:len(wave)], atol=1e-4)
        self.assertEqual([len(batch[name][0]) for name in ("wave", "kept", "beyond")], [16000, 16000, 48000])

    def large_video(self):
        """A folder with one video of some 12 MB, and one with the same video in a container that is read as a whole."""
        made = tempfile.TemporaryDirectory(prefix="spdld-media-")
        self.addCleanup(made.cleanup)
        folder = Path(made.name)
        for name in ("mp4", "mkv"):
            (folder / name / "one").mkdir(parents=True)
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=320x240:rate=15:duration=20", "-vf", "noise=alls=60:allf=t",
               "-pix_fmt", "yuv420p",
               "-c:v", "libx264", "-preset", "ultrafast", "-g", "15", str(folder / "mp4" / "one" / "a.mp4"))
        ffmpeg("-i", str(folder / "mp4" / "one" / "a.mp4"), "-c", "copy", str(folder / "mkv" / "one" / "a.mkv"))
        return folder

    def clips_of(self, daemon, folder, cache="auto", epochs=6):
        """The clips of all epochs, and the bytes that were fetched for them."""
        name = f"large-{next(self.numbers)}"
        spec = {"name": name, "source": {"type": "image-folder", "uri": str(folder), "extensions": "mp4,mkv"},
                "cache": cache, "seed": 3, "order": {"epochs": epochs}, "batch": {"size": 1},
                "output": [{"name": "clip", "from": "image",
                            "ops": [{**DECODE, "times": "times"}, {"op": "resize", "size": [60, 80]}]}]}
        loader = self.attach(daemon, spec)
        clips = [batch["clip"].copy() for _ in range(epochs) for batch in loader]
        stages = spdld.query("describe", name, socket=daemon.socket)["stages"]
        loader.close()
        return clips, next(stage for stage in stages if stage["name"] == "fetch")["bytes"]

    def test_of_a_large_video_only_the_parts_of_its_clips_are_read(self):
        folder = self.large_video()
        size = (folder / "mp4" / "one" / "a.mp4").stat().st_size
        self.assertGreater(size, 5_000_000)
        daemon = self.daemon(2)
        wanted, whole_bytes = self.clips_of(daemon, folder / "mkv", "off")
        self.assertGreater(whole_bytes, 6 * size * 0.99)
        for cache in ("off", "auto"):
            clips, read_bytes = self.clips_of(daemon, folder / "mp4", cache)
            np.testing.assert_array_equal(clips, wanted)
            self.assertLess(read_bytes, whole_bytes / 4, cache)
        # An index is kept beyond the run: neither the container is read whole again, nor is the head of the MP4.
        clips, again_bytes = self.clips_of(daemon, folder / "mp4")
        np.testing.assert_array_equal(clips, wanted)
        self.assertLess(again_bytes, read_bytes)
        first = self.clips_of(daemon, folder / "mkv")[1]
        clips, again_bytes = self.clips_of(daemon, folder / "mkv")
        np.testing.assert_array_equal(clips, wanted)
        self.assertLess(again_bytes, first / 2)

    def test_of_a_large_sound_only_the_parts_of_its_segments_are_read(self):
        """Beside the same samples from a container that is read as a whole."""
        made = tempfile.TemporaryDirectory(prefix="spdld-media-")
        self.addCleanup(made.cleanup)
        folder = Path(made.name)
        for name in ("m4a", "flac"):
            (folder / name / "one").mkdir(parents=True)
        ffmpeg("-f", "lavfi", "-i", "anoisesrc=duration=120:seed=5:amplitude=0.4:sample_rate=16000", "-c:a", "alac",
               str(folder / "m4a" / "one" / "a.m4a"))
        ffmpeg("-i", str(folder / "m4a" / "one" / "a.m4a"), "-c:a", "flac", str(folder / "flac" / "one" / "a.flac"))
        size = (folder / "m4a" / "one" / "a.m4a").stat().st_size
        self.assertGreater(size, 2_000_000)
        outputs = [{"name": name, "from": "image", "ops": [{"op": "decode-audio", "rate": rate, "seconds": 2, "draw": name}]}
                   for name, rate in (("wave", 16000), ("low", 8000))]
        daemon, wanted = self.daemon(2), None
        for number, (container, cache) in enumerate((("flac", "off"), ("m4a", "off"), ("m4a", "auto"), ("m4a", "auto"),
                                                     ("flac", "auto"))):
            name = f"sound-{number}"
            spec = {"name": name, "source": {"type": "image-folder", "uri": str(folder / container), "extensions": "m4a,flac"},
                    "seed": 3, "cache": cache, "order": {"epochs": 5}, "batch": {"size": 1}, "output": outputs}
            loader = self.attach(daemon, spec)
            waves = [(batch["wave"].copy(), batch["low"].copy()) for _ in range(5) for batch in loader]
            stages = spdld.query("describe", name, socket=daemon.socket)["stages"]
            loader.close()
            read = next(stage for stage in stages if stage["name"] == "fetch")["bytes"]
            wanted = wanted or waves
            for a, b in zip(waves, wanted):
                np.testing.assert_array_equal(a[0], b[0])
                np.testing.assert_array_equal(a[1], b[1])
            if container == "m4a":
                self.assertLess(read, 5 * size / 4, cache)

    def test_an_index_is_not_used_for_a_video_that_has_taken_its_place(self):
        folder = self.large_video()
        daemon = self.daemon(2)
        self.clips_of(daemon, folder / "mp4")
        path = folder / "mp4" / "one" / "a.mp4"
        path.unlink()
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=320x240:rate=15:duration=20", "-vf", "hflip,noise=alls=60:allf=t",
               "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-g", "10", str(path))
        clips, _ = self.clips_of(daemon, folder / "mp4")
        wanted, _ = self.clips_of(self.daemon(1), folder / "mp4", "off")
        np.testing.assert_array_equal(clips, wanted)

    def clips(self, words, rows):
        """The rows of an epoch, each once: of a record and a part, the frames' luma, their times and how many lie within the
        video."""
        decode = {"op": "decode-video", "pick": "row", "colours": "grey", "times": "times", "valid": "valid", **words}
        numbers = [{"name": name, "from": f"row.{name}"} for name in ("record", "part")]
        clip = {"name": "clip", "from": "image", "ops": [decode, {"op": "center-crop", "size": [112, 176]},
                                                         {"op": "convert", "dtype": "uint8"}]}
        spec = {**self.spec("videos"), "name": "clips", "rows": {"kind": "clips", "from": "image", **rows},
                "output": [clip, *numbers], "order": {"epochs": 1}}
        found = {}
        daemon = self.daemon(4)
        for loader in [self.attach(daemon, spec, rank=rank, world_size=2) for rank in range(2)]:
            for batch in loader:
                for row in zip(*(np.array(batch[name]) for name in ("record", "part", "clip", "times", "valid"))):
                    key = (int(row[0]), int(row[1]))
                    self.assertNotIn(key, found)
                    found[key] = row[2:]
        return found

    def frames_of_all(self):
        """Of each video, in the order of the listing, all frames as FFmpeg decodes them."""
        for path in sorted((self.folder / "videos").glob("*/*")):
            raw = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-vf", "scale=out_range=pc,format=gray", "-fps_mode",
                                  "passthrough", "-f", "rawvideo", "-"], check=True, capture_output=True, timeout=WAIT_S).stdout
            yield np.frombuffer(raw, np.uint8).reshape(-1, 112, 176)

    def test_whole_videos_as_consecutive_clips(self):
        frames, stride = 6, 2
        for step, partial in ((6, "keep"), (4, "keep"), (6, "drop")):
            with self.subTest(step=step, partial=partial):
                found = self.clips({"frames": frames, "stride": stride}, {"step": step, "partial": partial})
                seen = set()
                for record, video in enumerate(self.frames_of_all()):
                    taken, part = video[::stride], 0
                    while True:
                        wanted = taken[part * step:part * step + frames]
                        if part > 0 and len(taken) <= (part - 1) * step + frames or partial == "drop" and len(wanted) < frames:
                            break
                        clip, times, valid = found[record, part]
                        self.assertEqual(valid.tolist(), [len(wanted)])
                        np.testing.assert_allclose(times[:len(wanted)], (part * step + np.arange(len(wanted))) * stride / 15,
                                                   atol=2e-3)
                        filled = np.concatenate([wanted, np.repeat(video[-1:], frames - len(wanted), 0)])
                        far = np.abs(clip.reshape(filled.shape).astype(int) - filled)
                        self.assertLess(np.square(far).mean(), 1, (record, part))
                        seen.add((record, part))
                        part += 1
                self.assertEqual(seen, set(found))

    def test_whole_videos_as_clips_of_a_rate(self):
        found = self.clips({"frames": 4, "fps": 5}, {})
        seen = {(record, part) for record, video in enumerate(self.frames_of_all()) for part in range(-(-len(video) // 12))}
        self.assertEqual(set(found), seen)
        for (record, part), (_, times, valid) in found.items():
            late = part * 0.8 + np.arange(valid[0]) / 5 - times[:valid[0]]  # since the frame that is shown has begun
            self.assertTrue(np.all((late > -2e-3) & (late < 1 / 15 + 2e-3)), (record, part, late))

    def test_a_run_over_clips_goes_on_where_it_was(self):
        spec = {**self.spec("videos"), "rows": {"kind": "clips", "from": "image"}, "output": [
            {"name": "clip", "from": "image", "ops": [{**DECODE, "pick": "row"}, *CROP]}, {"name": "part", "from": "row.part"}]}
        daemon = self.daemon(2)
        loader = self.attach(daemon, spec)
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
        def rest(of):
            return [{name: batch[name].tobytes() for name in batch} for batch in of]

        wanted = rest(batches)
        loader.close()
        self.assertEqual(rest(self.attach(daemon, spec, state=state)), wanted)
        self.assertGreater(len(wanted), 3)

    def test_damage_is_told_and_ends_nothing(self):
        for medium, name in (("videos", "0-0.mp4"), ("sounds", "0-0.flac")):
            with self.subTest(medium=medium):
                made = tempfile.TemporaryDirectory(prefix="spdld-media-")
                self.addCleanup(made.cleanup)
                (Path(made.name) / "one").mkdir()
                whole = (self.folder / medium / "class-0" / name).read_bytes()
                for number in range(BATCH):
                    content = whole[:200] if number == 1 else whole
                    (Path(made.name) / "one" / f"{number}{Path(name).suffix}").write_bytes(content)
                spec = {**self.spec(medium), "on_bad": "mask", "order": {"epochs": 1, "shuffle": False}}
                spec["source"]["uri"] = made.name
                batch = self.attach(self.daemon(2), spec).next()
                self.assertEqual(batch["mask"].tolist(), [True, False, True, True])


if __name__ == "__main__":
    unittest.main()
