"""What other programs give of a file: Pillow of a picture, the ffmpeg program of a sound or a video. One file at a time, in a
process of its own that may crash or hang."""
import fractions
import json
import multiprocessing
import subprocess

import numpy as np

SECONDS_MAX, FRAMES_MAX, PIXELS_MAX = 30, 8, 40_000_000
SCALING = "accurate_rnd+full_chroma_int+full_chroma_inp"


class Refused(Exception):
    """The other program does not read the file, with its words."""


def of_picture(path):
    """The first picture of a file, upright, as docs/pipelines.md says it: {"shape", "colours", "pixels"}."""
    import PIL.Image
    import PIL.ImageOps
    PIL.Image.MAX_IMAGE_PIXELS = None
    with PIL.Image.open(path) as picture:
        if picture.width * picture.height > PIXELS_MAX:
            raise Refused(f"not compared: {picture.width} x {picture.height} pixels are more than {PIXELS_MAX}")
        kind = picture.format
        picture.load()
        if picture.mode in ("F", "I") and kind != "PNG":
            raise Refused(f"not compared: Pillow's mode {picture.mode} has no 8 bits")
        if picture.mode.startswith("I"):  # Pillow would cut 16 bits at 255
            grey = ((np.asarray(picture, np.int64) & 0xFFFF) >> 8).astype(np.uint8)
            pixels, colours = np.dstack([grey] * 3), "rgb"
        else:
            upright = picture if kind in ("TIFF", "JXL") else PIL.ImageOps.exif_transpose(picture)
            colours = "rgba" if "A" in upright.mode or "transparency" in upright.info else "rgb"
            pixels = np.asarray(upright.convert(colours.upper()))
    return {"shape": list(pixels.shape[:2]), "colours": colours, "values": pixels, "format": kind}


def run(*command, seconds):
    try:
        return subprocess.run(command, capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        raise Refused(f"{command[0]} takes more than {seconds} s") from None


def stream_of(path, medium, seconds):
    """The stream that the ffmpeg program takes: the one of most pixels or channels."""
    told = run("ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_format", path, seconds=seconds)
    found = json.loads(told.stdout or "{}")
    streams = [one for one in found.get("streams", []) if one.get("codec_type") == medium
               and not one["disposition"]["attached_pic"]]
    if not streams:
        raise Refused(told.stderr.decode(errors="replace").strip()[-200:] or f"it has no stream of {medium}")
    stream = max(streams, key=lambda one: one["width"] * one["height"] if medium == "video" else one["channels"])
    return stream, found["format"]["format_name"].split(",")[0]


def of_sound(path, seconds):
    """The first SECONDS_MAX of a sound: {"rate", "channels", "values" [samples, channels]}."""
    stream, container = stream_of(path, "audio", seconds)
    rate, channels = int(stream["sample_rate"]), stream["channels"]
    codec = stream["codec_name"]
    decoder = ["-c:a", codec + "float"] if codec in ("mp1", "mp2") else []  # as docs/pipelines.md has it
    done = run("ffmpeg", "-v", "error", *decoder, "-i", path, "-map", f"0:{stream['index']}", "-vn", "-ac", str(channels),
               "-ar", str(rate), "-t", str(SECONDS_MAX), "-f", "f32le", "-", seconds=seconds)
    values = np.frombuffer(done.stdout[:len(done.stdout) // (4 * channels) * 4 * channels], np.float32).reshape(-1, channels)
    if not len(values):
        raise Refused(done.stderr.decode(errors="replace").strip()[-200:] or "it has no samples")
    return {"medium": "sound", "rate": rate, "channels": channels, "values": values[:SECONDS_MAX * rate],
            "format": f"{container}: {codec}", "complaint": done.stderr.decode(errors="replace").strip()[-200:]}


def matrix_of(stream):
    """swscale's name of the matrix between YCbCr and RGB; where the video has no tag, it is the matrix that docs/pipelines.md
    names."""
    told = stream.get("color_space", "unknown")
    if told != "unknown":
        return {"bt709": "bt709", "bt2020nc": "bt2020", "smpte240m": "smpte240m", "fcc": "fcc"}.get(told, "bt601")
    return "bt709" if stream["width"] >= 1280 or stream["height"] > 576 else "bt601"


LUMA = {"bt601": (0.299, 0.587, 0.114), "bt709": (0.2126, 0.7152, 0.0722), "bt2020": (0.2627, 0.678, 0.0593),
        "smpte240m": (0.212, 0.701, 0.087), "fcc": (0.3, 0.59, 0.11)}


def of_video(path, seconds):
    """The first frames of a video, upright, with square pixels: {"shape", "values" [frames, height, width, 3]}. A file without a
    stream of video is a sound."""
    try:
        stream, container = stream_of(path, "video", seconds)
    except Refused as fault:
        if "no stream of video" in str(fault):
            return of_sound(path, seconds)
        raise
    matrix = matrix_of(stream)
    ratio = stream.get("sample_aspect_ratio", "1:1").replace(":", "/")
    is_square = ratio.startswith("0/") or fractions.Fraction(ratio) == 1
    is_interlaced = stream.get("field_order", "progressive") not in ("progressive", "unknown")
    if stream["width"] * stream["height"] * FRAMES_MAX > PIXELS_MAX or not is_square or is_interlaced:
        raise Refused("not compared: its frames are large, interlaced, or of pixels that are not square")
    done = run("ffmpeg", "-v", "error", "-i", path, "-map", f"0:{stream['index']}", "-frames:v", str(FRAMES_MAX),
               "-vsync", "passthrough",
               *([] if "color_space" in stream else ["-vf", f"scale=in_color_matrix={matrix}"]), "-sws_flags", SCALING, "-f",
               "rawvideo", "-pix_fmt", "rgb24", "-", seconds=seconds)
    turned = any(abs(one.get("rotation", 0)) % 180 == 90 for one in stream.get("side_data_list", []))
    height, width = (stream["width"], stream["height"]) if turned else (stream["height"], stream["width"])
    frames = len(done.stdout) // (height * width * 3)
    if frames == 0:
        raise Refused(done.stderr.decode(errors="replace").strip()[-200:] or "it has no frames")
    values = np.frombuffer(done.stdout[:frames * height * width * 3], np.uint8).reshape(frames, height, width, 3)
    return {"shape": [height, width], "values": values, "format": f"{container}: {stream['codec_name']}", "luma": LUMA[matrix],
            "complaint": done.stderr.decode(errors="replace").strip()[-200:]}


def answer(requests, seconds):
    """The process: a medium and a path come in, a reference goes out."""
    while True:
        medium, path = requests.recv()
        try:
            given = {"picture": of_picture, "sound": of_sound,
                     "video": of_video}[medium](path, *([] if medium == "picture" else [seconds]))
        except Exception as fault:  # whatever a reader of damaged files raises
            given = {"refused": f"{fault}" if isinstance(fault, Refused) else f"{type(fault).__name__}: {fault}"}
        requests.send(given)


class References:
    """Asks the process, and starts another one where it crashed or takes too long."""

    def __init__(self, seconds):
        self.seconds, self.process = seconds, None

    def of(self, medium, path):
        if self.process is None:
            self.requests, end = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=answer, args=(end, self.seconds), daemon=True)
            self.process.start()
            end.close()
        try:
            self.requests.send((medium, str(path)))
            if self.requests.poll(self.seconds * 3):
                return self.requests.recv()
            why = f"no answer within {self.seconds * 3} s"
        except (EOFError, BrokenPipeError, ConnectionResetError):
            why = "its process crashed"
        self.close()
        return {"refused": why}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.requests.close()
        self.process = None
