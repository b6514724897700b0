"""Checks who may use a GPU's batches, and what the error says otherwise: users, namespaces, visible GPUs, forks."""
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

import spdld
from arrays import torch_with_gpu
from jobs import HERE, Job
from node import Daemon, next_batch

OTHER_UID = 12345
NAMESPACES = {"IPC": ("--ipc",), "PID": ("--pid", "--fork", "--mount-proc"), "network": ("--net",)}  # options of unshare
PROBE_S = 60
WAYS = ("fd", "handle")
ALONE = "no setting of the GPU is changed here: try it by hand (nvidia-smi -c 3, then spdlctl bench with device = \"cuda\")"
CAUSES = ("no-driver", "driver-too-old", "no-gpu", "gpu-not-visible", "exclusive-process", "out-of-memory", "other-namespace",
          "other-user", "mig", "same-process", "forked", "context-lost", "unsupported", "failed")
ACCESS = """\
[pipelines]
dir = "@FOLDER@/pipelines"
[pipelines.access."*"]
users = ["*"]
"""
NAMED = """\
name = "named"
seed = 7
[source]
type = "image-folder"
uri = {uri}
[order]
epochs = 0
[[output]]
name = "image"
from = "image"
ops = [{{ op = "decode-image" }}, {{ op = "random-resized-crop", size = 224 }}]
[batch]
size = 8
"""
SEEING = ("transport chosen by auto", "no GPU visible to the trainer", "a GPU that is not there", "fork after CUDA")


def uid_row(way):
    return f"trainer of another user: {way}"


def namespace_row(namespace, way):
    return f"trainer in another {namespace} namespace: {way}"


def jobs(device):
    if device != "cuda":
        return [Job("named pipeline", "rows_sharing:named_pipeline", ("named pipeline: cpu",), 60, ())]
    return [Job("seeing", "rows_sharing:seeing", SEEING, 45),
            Job("other user", "rows_sharing:other_user", tuple(map(uid_row, WAYS)), 75, ("cuda", "root"), WAYS),
            Job("other namespaces", "rows_sharing:other_namespaces",
                tuple(namespace_row(*pair) for pair in product(NAMESPACES, WAYS)), 75, ("cuda", "root")),
            Job("modes", "rows_sharing:modes", ("two containers", "exclusive-process mode", "MPS", "MIG"), 20)]


def probe(prefix, arguments, environment=None, **options):
    """Runs probe.py and returns its answer. Where probe.py fails, it returns a dict with "error" and "sentence" as
    well."""
    command = [*prefix, sys.executable, *arguments]
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PROBE_S,
                              env={**os.environ, **(environment or {})}, **options)
    except (OSError, subprocess.SubprocessError) as error:
        return {"error": "NotRun", "sentence": str(error)}
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        said = done.stderr.splitlines()
        return {"error": "NotRun", "sentence": said[-1] if said else f"it ended with code {done.returncode}"}
    return json.loads(lines[-1])


def named(sentence):
    return sentence.split(":")[0] in CAUSES


def tell(report, row, told):
    """Reports a row. It passes where the batch has equal bytes in GPU memory, or where the batch is refused by a named
    error. Other bytes, host memory and an error without a name fail."""
    if told.get("error") == "NotRun":
        return report.not_possible(row, told["sentence"])
    if "error" in told:
        return report.check(row, named(told["sentence"]), f"refused: {told['error']}", "works, or a named error",
                            told["sentence"], **told)
    fine = told["equal"] and told["memory"].startswith("cuda")
    return report.check(row, fine, f"works, {told['memory']}" if fine else str(told), "works, or a named error", **told)


def open_pipeline(context, daemon):
    """Sets up the operator's pipeline. Returns the folder of the scripts, and the file with the pipeline's first batch
    from the host path."""
    (daemon.folder / "pipelines").mkdir(mode=0o755)
    (daemon.folder / "pipelines/named.toml").write_text(NAMED.format(uri=json.dumps(str(context.corpus))))
    with daemon.attach("named", framework="numpy", group="host") as loader:
        np.save(daemon.folder / "wanted.npy", next_batch(loader)["image"])
    # Neither the script's folder nor the package need be readable by others.
    scripts = daemon.folder / "scripts"
    shutil.copytree(HERE, scripts, ignore=lambda folder, names: [n for n in names if not n.endswith(".py")])
    shutil.copytree(Path(spdld.__file__).resolve().parent, scripts / "spdld")
    for path in [daemon.folder / "wanted.npy", *daemon.folder.rglob("pipelines/*"), scripts, *scripts.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.suffix == ".so" else 0o644)
    (daemon.folder / "pipelines").chmod(0o755)
    (daemon.folder / "home").mkdir()
    return scripts, daemon.folder / "wanted.npy"


def named_pipeline(context, report):
    with Daemon(context, more=ACCESS, open_to_all=True) as daemon:
        open_pipeline(context, daemon)
        with daemon.attach("named") as loader:
            shape = next_batch(loader)["image"].shape
    report.check("named pipeline: cpu", shape == (8, 224, 224, 3), str(shape), "a batch of 8")


def other_user(context, report, *ways):
    torch_with_gpu()
    with Daemon(context, more=ACCESS, open_to_all=True) as daemon:
        scripts, wanted = open_pipeline(context, daemon)
        os.chown(daemon.folder / "home", OTHER_UID, OTHER_UID)
        home = {"HOME": str(daemon.folder / "home"), "USER": str(OTHER_UID),
                "PYTHONPATH": f"{scripts}:{os.environ.get('PYTHONPATH', '')}"}
        for way in ways:
            told = probe([], [scripts / "probe.py", daemon.socket, "named", way, "torch", wanted], home, user=OTHER_UID,
                         group=OTHER_UID, extra_groups=[], cwd=daemon.folder / "home")
            tell(report, uid_row(way), told)


def other_namespaces(context, report):
    """Runs all probes at once, because a probe needs most of its time to import torch."""
    torch_with_gpu()
    with Daemon(context, more=ACCESS, open_to_all=True) as daemon, ThreadPoolExecutor() as pool:
        scripts, wanted = open_pipeline(context, daemon)
        pairs = list(product(NAMESPACES, WAYS))
        answers = [pool.submit(probe, ["unshare", *NAMESPACES[namespace]],
                               [scripts / "probe.py", daemon.socket, "named", way, "torch", wanted])
                   for namespace, way in pairs]
        for pair, answer in zip(pairs, answers):
            tell(report, namespace_row(*pair), answer.result())


def forked_child(loader):
    """Returns the text of the error with which next() ends in a forked child. The child must not hang, and must not get
    a batch of its parent."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "it got a batch"
        try:
            next_batch(loader)
        except BaseException as error:  # the child must not go on in the parent's place
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def seeing(context, report):
    with Daemon(context) as daemon:
        spec = daemon.folder / "spec.json"
        spec.write_text(json.dumps(context.pipeline("seeing", batch=8)))
        with spdld.attach(json.loads(spec.read_text()), socket=daemon.socket, private=False, framework="raw", device="cuda",
                          timeout=60) as loader:
            next_batch(loader)
            ring = daemon.ring("seeing")
            agreed = (loader.info.memory, ring["memory"]) in (("cuda-fd", "cuda_vmm"), ("cuda-handle", "cuda_ipc"))
            report.check(SEEING[0], agreed and loader.info.gpu == ring["gpu"], loader.info.memory, "told alike by both sides",
                         f"describe says {ring['memory']} on {ring['gpu']}")
            said = forked_child(loader)
            report.check(SEEING[3], said.startswith("ForkedError"), said, "ForkedError")
        for row, way, environment in ((SEEING[1], "fd", {"CUDA_VISIBLE_DEVICES": ""}), (SEEING[2], "cuda:99", {})):
            told = probe([], [HERE / "probe.py", daemon.socket, spec, way, "raw"], environment)
            sentence = told.get("sentence", str(told))
            report.check(row, "error" in told and named(sentence), told.get("error", "no error"), "a named error", sentence)


def modes(context, report):
    report.row("two containers", "not tried", remark="needs a container runtime; other namespaces stand in for it (above)")
    report.row("exclusive-process mode", "not tried", remark=ALONE)
    report.row("MPS", "not tried", remark="needs nvidia-cuda-mps-control running beside the daemon")
    report.row("MIG", "not tried", remark="needs a GPU that is cut into slices")
