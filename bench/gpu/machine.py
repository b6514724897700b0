"""Describes the machine that the figures come from: GPU, driver, processor, system, Python and its frameworks."""
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

ASK_S = 60
FRAMEWORKS = ("torch", "jax", "cupy", "numpy")
# In a process of its own: once initialised, the driver's state would be in all that are forked from it.
LOOK = """\
import ctypes
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    raise SystemExit(f"no driver: {error}")
code = driver.cuInit(0)
if code:
    raise SystemExit(f"the driver cannot start (cuInit: error {code})")
count, version = ctypes.c_int(), ctypes.c_int()
driver.cuDeviceGetCount(ctypes.byref(count))
driver.cuDriverGetVersion(ctypes.byref(version))
if not count.value:
    raise SystemExit("the driver sees no GPU")
name = ctypes.create_string_buffer(256)
driver.cuDeviceGetName(name, 256, 0)
print(count.value, version.value // 1000, version.value % 1000 // 10, name.value.decode(), sep="\\t")
"""


def asked(command):
    """Returns the output of a command without surrounding blanks, or an empty text where the command cannot run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=ASK_S).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def look_for_gpu():
    """Returns (count, CUDA version, name, ""), or (0, "", "", the reason why there is no GPU)."""
    try:
        done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, timeout=ASK_S)
    except subprocess.TimeoutExpired:
        return 0, "", "", f"the driver did not start within {ASK_S} s"
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return 0, "", "", said[-1] if said else f"the driver ended the process that asked it (code {done.returncode})"
    count, major, minor, name = done.stdout.strip().split("\t")
    return int(count), f"{major}.{minor}", name, ""


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def versions():
    """Returns the versions of the installed frameworks. In wheels cupy has other names."""
    names = {distribution.metadata["Name"].lower(): distribution.version
             for distribution in importlib.metadata.distributions() if distribution.metadata["Name"]}
    found = {}
    for framework in FRAMEWORKS:
        name = next((name for name in names if name == framework or (framework == "cupy" and name.startswith("cupy-"))), None)
        if name:
            found[framework] = names[name]
    return found


def facts():
    """Returns a dict of facts by name. The values are texts, and numbers where a program can use them."""
    count, cuda, name, why_none = look_for_gpu()
    system = "\n".join(asked(["sh", "-c", ". /etc/os-release && echo $PRETTY_NAME"]).splitlines()) or platform.system()
    return {"gpus": count, "gpu": name, "why_no_gpu": why_none, "cuda": cuda,
            "driver": (asked(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]).splitlines() or [""])[0],
            "processor": processor(), "cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory_gib()),
            "system": system, "kernel": platform.release(), "libc": " ".join(platform.libc_ver()),
            "python": platform.python_version(), "versions": versions(), "uid": os.geteuid()}


def sentences(facts):
    gpu = f"{facts['gpus']} x {facts['gpu']}, driver {facts['driver'] or '?'} (CUDA {facts['cuda']})" if facts["gpus"] \
        else f"no GPU: {facts['why_no_gpu']}"
    frameworks = ", ".join(f"{name} {version}" for name, version in facts["versions"].items()) or "no framework"
    return [gpu, f"{facts['cores']} cores ({facts['processor']}), {facts['memory_gib']} GiB",
            f"{facts['system']}, kernel {facts['kernel']}, {facts['libc']}",
            f"Python {facts['python']}, {frameworks}; user {facts['uid']}"]
