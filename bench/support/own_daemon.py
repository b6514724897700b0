"""A daemon for one benchmark, in a temporary folder, and the pipelines that are measured."""
import os
import shutil
import sys
from pathlib import Path

import clips
import objects
import processes
from daemon_process import DaemonProcess

SETTINGS = """\
[limits]
cpu_budget = {threads}
slot_bytes_max = "16 GiB"
slot_bytes_per_user_max = "16 GiB"
{limits}
[cache]
ram_bytes_max = {cache_bytes}
[state]
folder = "@FOLDER@/state"
[gpu]
enabled = false
[log]
level = "warn"
"""
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SIDE, SHORTER = 224, 256  # of what trainers get; of the resize before the crop of the work "validate"
FOLDER_OF_CLASSES = "image-folder"  # the type of source that reads <class>/<name>.mp4 and of sounds
# Of the work "detection-masks".
OBJECT_SIDE, SCALE, SIZE_MIN = 512, (0.4, 1.0), 2
COLOURS = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}
WORKS = ("train", "crop8", "resize", "validate", "rand-augment", "multi-crop")
EXAMPLES = Path(__file__).resolve().parents[2] / "config/examples"


def check_build(folder):
    """Returns the path of a build directory of Meson. Ends the program with a sentence where the directory lacks the
    daemon or the package."""
    build = Path(folder).resolve()
    for needed in (build / "daemon/spdld", build / "client/python/spdld"):
        if not needed.exists():
            raise SystemExit(f"{build} holds no {needed.name}: build it with ninja first, or name another build directory.")
    return build


def use_build(folder):
    """Takes the daemon, the package and the client library from a build directory of Meson, or from the system where
    the name is empty."""
    if folder:
        build = check_build(folder)
        os.environ["SPDLD_DAEMON"] = str(build / "daemon/spdld")
        package = str(build / "client/python")
        os.environ["PYTHONPATH"] = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        sys.path.insert(0, package)


def daemon_program():
    program = os.environ.get("SPDLD_DAEMON") or shutil.which("spdld")
    if not program:
        raise SystemExit("there is no spdld: name a build directory with --build, or put it into PATH or $SPDLD_DAEMON.")
    return program


def make_spec(work, folder, batch=64, epochs=1, cache="off", antialias=True, size=SIDE, name="bench", resampling=""):
    """Returns the spec for a work in WORKS. The work "train" is random-resized-crop, flip and normalise, as float32 NCHW.
    Of "crop8" there is random-resized-crop and flip, as uint8, and of "resize" a resize, as uint8. The work "validate" resizes
    the shorter side to 256, cuts out the middle and normalises. In "rand-augment" RandAugment stands before the normalising of
    "train". The work "multi-crop" is the example of DINOv2's ten crops. `resampling` is decode-image's, where it is not empty."""
    source = {"type": "image-folder", "uri": str(Path(folder).resolve()), "extensions": "jpg,png,webp"}
    if work == "multi-crop":
        import tomllib  # other loaders run with older Pythons
        spec = tomllib.loads((EXAMPLES / "multi-crop.toml").read_text())
        return {**spec, "name": name, "seed": 7, "cache": cache, "source": source, "order": {"epochs": epochs},
                "batch": {"size": batch}}
    ops = [{"op": "decode-image", **({"resampling": resampling} if resampling else {})}]
    if work == "resize":
        ops.append({"op": "resize", "size": [size, size], "antialias": antialias})
    elif work == "validate":
        ops += [{"op": "resize", "size": SHORTER, "antialias": antialias}, {"op": "center-crop", "size": size}]
    else:
        ops += [{"op": "random-resized-crop", "size": size, "antialias": antialias}, {"op": "horizontal-flip"}]
    if work == "rand-augment":
        ops.append({"op": "rand-augment", "filter": "bilinear"})
    if work in ("train", "validate", "rand-augment"):
        ops.append({"op": "normalize", "mean": MEAN, "std": STD})
    return {"name": name, "seed": 7, "cache": cache, "source": source,
            "order": {"epochs": epochs}, "batch": {"size": batch},
            "output": [{"name": "image", "from": "image", "ops": ops}, {"name": "label", "from": "class"}]}


def make_detection_spec(annotations, folder, batch=16, epochs=1, name="bench"):
    """Returns the spec for the work "detection-masks": a random-resized-crop to 512 x 512, a flip, colour jitter and
    normalise, with the boxes, labels and masks of the objects, padded to the batch's most objects."""
    padded = {"view": "picture", "pad": "longest", "length_max": objects.OBJECTS_MAX}
    image = [{"op": "decode-image", "exif": False}, {"op": "random-resized-crop", "size": OBJECT_SIDE, "scale": list(SCALE)},
             {"op": "horizontal-flip"}, {"op": "color-jitter", **COLOURS}, {"op": "normalize", "mean": MEAN, "std": STD}]
    boxes = [{"op": "boxes", "format": "xywh", "gives": "xyxy", "min_size": SIZE_MIN}]
    return {"name": name, "seed": 7, "source": {"type": "coco", "uri": str(Path(annotations).resolve()),
                                                "images": str(Path(folder).resolve())},
            "order": {"epochs": epochs}, "batch": {"size": batch},
            "output": [{"name": "image", "from": "image", "view": "picture", "ops": image},
                       {"name": "boxes", "from": "boxes", "ops": boxes, **padded},
                       {"name": "labels", "from": "labels", "ops": [{"op": "keep-with", "of": "boxes"}], **padded},
                       {"name": "masks", "from": "segmentations", "ops": [{"op": "instance-masks", "of": "boxes"}], **padded}]}


def make_clips_spec(work, folder, batch=8, epochs=1, name="bench", cache="off"):
    """Returns the spec for the works "clips" and "clips-4": frames of a video, with one crop and one flip for each clip."""
    ops = [{"op": "decode-video", "frames": clips.FRAMES, "stride": clips.STRIDE, "pick": "random"},
           {"op": "random-resized-crop", "size": [SIDE, SIDE]}, {"op": "horizontal-flip"},
           {"op": "normalize", "mean": MEAN, "std": STD, "dtype": "float32", "layout": "NCHW"}]
    copies = {"copies": clips.CLIPS[work]} if clips.CLIPS[work] > 1 else {}
    spec = of_classes(folder, clips.VIDEOS, batch, epochs, name, {"name": "clip", "from": "image", "ops": ops, **copies})
    return {**spec, "cache": cache}


def make_sounds_spec(folder, batch=8, epochs=1, name="bench"):
    """Returns the spec for the work "audio"."""
    ops = [{"op": "decode-audio", "rate": clips.RATE, "samples": clips.RATE * clips.SECONDS},
           {"op": "mel-spectrogram", "preset": "librosa", "mels": clips.MELS, "n_fft": clips.WINDOW, "hop": clips.HOP,
            "values": "log10"}]
    return of_classes(folder, clips.SOUNDS, batch, epochs, name, {"name": "sound", "from": "image", "ops": ops})


def of_classes(folder, extensions, batch, epochs, name, output):
    """Returns a spec with one output beside the classes of a folder's files."""
    source = {"type": FOLDER_OF_CLASSES, "uri": str(Path(folder).resolve()),
              "extensions": ",".join(extension[1:] for extension in extensions)}
    return {"name": name, "seed": 7, "source": source, "order": {"epochs": epochs}, "batch": {"size": batch},
            "output": [output, {"name": "label", "from": "class"}]}


class OwnDaemon(DaemonProcess):
    """A daemon for a block: `with OwnDaemon(threads) as daemon`. See DaemonProcess."""

    def __init__(self, threads, cache_bytes=0, more="", limits=""):
        super().__init__([daemon_program()], SETTINGS.format(threads=threads, cache_bytes=cache_bytes, limits=limits) + more)

    def attach(self, spec, **options):
        import spdld
        options = {"framework": "numpy", "timeout": 60, "group": f"bench-{os.getpid()}", **options}
        return spdld.attach(spec, socket=self.socket, private=False, **options)

    def query(self, topic, argument=None):
        import spdld
        return spdld.query(topic, argument, socket=self.socket)

    def cache_entry_bytes(self):
        """Returns the bytes of the entries that the cache holds, without the free room in its segments."""
        return sum(shelf["memory_bytes"] for shelf in self.query("status")["cache"]["shelves"])

    def own_bytes(self):
        """Returns the daemon's proportional set size less slots and cache."""
        return processes.pss_without_slots(self.process.pid) - self.cache_entry_bytes()
