"""Samples that cost much CPU time beside their few bytes, and pipelines over them: what one user may send to a daemon that
others use as well."""
import http.server
import json
import os
import random
import shutil
import struct
import subprocess
import threading
import time

LISTENS = "127.0.0.1"
SIDE = 13000  # a picture of so many pixels on each side is as large as pictures may be


def encoded(path, source, options):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, *options, "-pix_fmt", "yuv420p", str(path)], check=True)


def copies(path, count):
    for number in range(1, count):
        os.link(path, path.with_name(f"{number}{path.suffix}"))


def image_folder(folder, extensions, outputs, batch=4, **more):
    source = {"type": "image-folder", "uri": str(folder), "extensions": extensions}
    return {"name": folder.name, "seed": 1, "cache": "off", "source": source, "order": {"epochs": 0}, "batch": {"size": batch},
            "output": outputs, **more}


def clip_of(size, **parameters):
    return {"name": "clip", "from": "image",
            "ops": [{"op": "decode-video", **parameters}, {"op": "resize", "size": [size, size]}]}


def operations(folder, pictures, _):
    """One picture of few pixels, which becomes large and is blurred there."""
    (folder / "0").mkdir(parents=True)
    for number, picture in enumerate(pictures[:8]):
        shutil.copy(picture, folder / f"0/{number}.jpg")
    ops = [{"op": "decode-image"}, {"op": "resize", "size": [SIDE, SIDE]},
           {"op": "gaussian-blur", "kernel_size": 127, "sigma": [20.0, 20.0]}, {"op": "center-crop", "size": [64, 64]}]
    return image_folder(folder, "jpg", [{"name": "image", "from": "image", "ops": ops}], on_bad="mask")


def videos(folder, *_):
    """A small file of large frames, which a clip needs nearly all of."""
    encoded(folder / "0/0.mp4", "testsrc2=size=2560x1440:rate=30:duration=10",
            ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "45", "-g", "1000"])
    copies(folder / "0/0.mp4", 8)
    return image_folder(folder, "mp4", [clip_of(64, frames=8, stride=36)])


def groups(folder, *_):
    """A long video with one key frame."""
    encoded(folder / "0/0.mp4", "testsrc2=size=640x360:rate=30:duration=120",
            ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "40", "-g", "100000"])
    copies(folder / "0/0.mp4", 8)
    return image_folder(folder, "mp4", [clip_of(64, frames=4, stride=2)])


def crc_of(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc


def section(table, number, body):
    head = struct.pack(">BHHBBB", table, 0xB000 | len(body) + 9, number, 0xC1, 0, 0)
    return head + body + struct.pack(">I", crc_of(head + body))


def packets(pid, payload):
    """A section as packets of a transport stream."""
    payload, made = b"\0" + payload, b""
    for at in range(0, len(payload), 184):
        first = 0x4000 if at == 0 else 0
        made += struct.pack(">BHB", 0x47, first | pid, 0x10 | at // 184 % 16) + payload[at:at + 184].ljust(184, b"\xff")
    return made


def streams(folder, *_):
    """A transport stream with thousands of streams, whose parameters are to be found."""
    (folder / "0").mkdir(parents=True)
    programs = range(1, 26)
    made = [packets(0, section(0, 1, b"".join(struct.pack(">HH", program, 0xE000 | program + 15) for program in programs)))]
    pid = 100
    pids = []
    for program in programs:
        kinds = b""
        for _ in range(190):
            kinds += struct.pack(">BHH", 0x1B, 0xE000 | pid, 0xF000)
            pids.append(pid)
            pid += 1
        made.append(packets(program + 15, section(2, program, struct.pack(">HH", 0xE000 | pids[-1], 0xF000) + kinds)))
    draw = random.Random(5)
    for pid in pids * 4:  # each transport packet begins a packet of video that no later one goes on with
        head = b"\0\0\1\xe0\0\0\x80\x80\x05" + bytes([0x21, 0, 1, 0, 1]) + b"\0\0\0\1\x41" + draw.randbytes(64)
        filled = bytes([183 - len(head), 0]).ljust(184 - len(head), b"\xff")
        made.append(struct.pack(">BHB", 0x47, 0x4000 | pid, 0x30) + filled + head)
    (folder / "0/0.ts").write_bytes(b"".join(made))
    copies(folder / "0/0.ts", 8)
    return image_folder(folder, "ts", [clip_of(64, frames=4)], on_bad="mask")


def tables(folder, *_):
    """Rows of many megabytes of JSON."""
    folder.mkdir(parents=True)
    numbers = "[" + ",".join(str(number % 1000 / 8) for number in range(2_000_000)) + "]"
    with open(folder / "rows.jsonl", "w") as out:
        for number in range(8):
            out.write(f'{{"id": {number}, "values": {numbers}}}\n')
    values = {"name": "values", "from": "values", "pad": "longest", "length_max": 2_000_000,
              "ops": [{"op": "parse-list", "dtype": "float32"}]}
    return {"name": "tables", "seed": 1, "cache": "off", "source": {"type": "manifest", "uri": str(folder / "rows.jsonl")},
            "order": {"epochs": 0}, "batch": {"size": 4}, "output": [values]}


class Slow(http.server.BaseHTTPRequestHandler):
    """Answers a request for any object. Its bytes come a few at a time, for some seconds."""
    protocol_version = "HTTP/1.1"
    BYTES = 4096

    def do_HEAD(self):
        self.head()

    def head(self):
        self.send_response(200)
        self.send_header("Content-Length", str(self.BYTES))
        self.send_header("ETag", '"1"')
        self.end_headers()

    def do_GET(self):
        self.head()
        for _ in range(self.BYTES // 128):
            self.wfile.write(bytes(128))
            time.sleep(0.1)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """The daemon has gone, or wants the object no more."""


def serve():
    """Starts a slow server, and returns its address."""
    server = Server((LISTENS, 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{LISTENS}:{server.server_port}"


def remote(folder, _, store):
    """Objects of a store that answers slowly."""
    folder.mkdir(parents=True)
    rows = [json.dumps({"file": f"{store}/{number}.jpg"}) for number in range(4096)]
    (folder / "rows.jsonl").write_text("\n".join(rows) + "\n")
    output = {"name": "bytes", "from": "file", "ops": [{"op": "pad-bytes", "length": 8192}]}
    return {"name": "remote", "seed": 1, "cache": "off",
            "source": {"type": "manifest", "uri": str(folder / "rows.jsonl"), "files": "file"},
            "order": {"epochs": 0}, "batch": {"size": 64}, "output": [output]}


CASES = {"operations": operations, "videos": videos, "groups": groups, "streams": streams, "tables": tables, "remote": remote}


def make(folder, pictures, names, store):
    """Makes the samples of these cases, and returns the pipelines over them by name. `store` is the address of serve()."""
    return {name: CASES[name](folder / name, pictures, store) for name in CASES if name in names}
