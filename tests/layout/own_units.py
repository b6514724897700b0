"""A build of the tree in which each file has a command of its own, with the headers that the build generates.

It compiles nothing.
"""
import json
import os
import subprocess


def set_up(root, build, *options):
    """Sets the build up, if it is not there. Returns {absolute path of a C++ file: its command}."""
    if not (build / "build.ninja").exists():
        subprocess.run(["meson", "setup", build, root, "-Dunity=off", *options], check=True, capture_output=True, text=True,
                       env={**os.environ, "CXX": "clang++", "CC": "clang"})
    targets = json.loads(subprocess.run(["meson", "introspect", "--targets", build], check=True, capture_output=True).stdout)
    made = [os.path.relpath(file, build) for target in targets if target["type"] == "custom"
            for file in target["filename"] if file.endswith((".h", ".inc"))]
    subprocess.run(["ninja", "-C", build, "build.ninja", *made], check=True, capture_output=True, text=True)
    return {os.path.realpath(build / entry["file"]): entry["command"]
            for entry in json.loads((build / "compile_commands.json").read_text())}
