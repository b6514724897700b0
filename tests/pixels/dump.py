"""pixel_dump as an object: the daemon's decoder and resampler with one chain of operations."""
import json
import pathlib
import subprocess

import numpy as np

from compare_png import spec_of


class Program:
    """A program that answers requests over its standard input and output, for a block: `with Program(command) as program`."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


class Daemon(Program):
    """The daemon's decoder and resampler with one chain. With the name of a form of the cache ("decoded"), pictures that
    have the form are rendered from it."""

    started = 0

    def __init__(self, program, folder, decode, ops, further="", form=None):
        Daemon.started += 1
        spec = pathlib.Path(folder, f"spec-{Daemon.started}.toml")
        spec.write_text(spec_of(f'{{ op = "decode-image", {decode} }}, {ops}', further))
        super().__init__([program, spec, form] if form else [program, spec])

    def of(self, path, sample=0):
        self.process.stdin.write(f"{sample} {path}\n".encode())
        self.process.stdin.flush()
        header = json.loads(self.process.stdout.readline())
        self.header = header
        if "error" in header:
            raise RuntimeError(f"{path}: {header['error']}")
        values = np.frombuffer(self.process.stdout.read(header["bytes"]), header["dtype"])
        return values.reshape(header["shape"]).astype(np.float64 if "float" in header["dtype"] else np.int64)
