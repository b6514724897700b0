"""What the tests of spdld.torch share."""
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import spdld.torch
import torch
from case import WAIT_S, DaemonCase


def ids(batches, count=None):
    """Of so many batches, or of all."""
    seen = []
    for batch in batches:
        seen.append(batch["sample_id"].tolist())
        if len(seen) == count:
            break
    return seen


class TorchCase(DaemonCase):
    def torch_loader(self, pipeline=None, **options):
        loader = spdld.torch.Loader(self.spec() if pipeline is None else pipeline, **{
            "socket": self.daemon.socket, "group": self.id(), "timeout": WAIT_S, **options})
        self.addCleanup(loader.close)
        return loader


class ShuffledCase(TorchCase):
    def spec(self, **changes):
        return super().spec(**{"order": {"epochs": 0, "shuffle": True}, **changes})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ProcessesCase(ShuffledCase):
    """Several processes on the loopback device, each bounded in time."""

    def torchrun(self, count, script, *arguments):
        """Its exit code, and what its processes said, rank after rank."""
        with tempfile.TemporaryDirectory(prefix="spdld-torchrun-") as logs:
            # Into files, for the defaults of torch 1.13 fail with Python 3.11: of its flags only 1 and 2 are found there.
            command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", f"--nproc_per_node={count}",
                       "--master_addr=127.0.0.1", f"--master_port={free_port()}", "--redirects=1", "--tee=2",
                       f"--log_dir={logs}", script, *map(str, arguments)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={
                **self.daemon.environment(), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"})
            said = ["".join(file.read_text() for file in sorted(Path(logs).glob(f"*/attempt_0/*/{name}.log")))
                    for name in ("stdout", "stderr")]
        return done.returncode, said[0], said[1] or done.stderr


class SameBatches:
    """For tests that hold batches to those of torch's own functions."""

    def assert_same(self, one, other):
        self.assertIs(type(one), type(other))
        if isinstance(one, torch.Tensor):
            self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
            self.assertTrue(torch.equal(one, other))
        elif isinstance(one, dict):
            self.assertEqual(list(one), list(other))
            for key in one:
                self.assert_same(one[key], other[key])
        elif isinstance(one, (list, tuple)):
            self.assertEqual(len(one), len(other))
            for first, second in zip(one, other, strict=True):
                self.assert_same(first, second)
        else:
            self.assertEqual(one, other)
