"""Batches in GPU and pinned memory, on the fake driver: DLPack, CUDA's array interface, streams, errors."""
import os
import unittest
from unittest import mock

import spdld
from case import BATCH, STEPS, DaemonCase
from fake_gpu import FakeGpu

try:
    import torch
except ImportError:
    torch = None

UUID = r"GPU-1\d00face-0000-0000-0000-00000000000\d"
PRELUDE = """
from cuda_consumer import Stream, Taken, synchronize_legacy
"""


class GpuCase(DaemonCase):
    """A daemon with the fake driver, and two GPUs. A test's own process has no driver: trainers are scripts."""

    copy_us = 200

    @classmethod
    def setUpClass(cls):
        cls.gpus = FakeGpu(devices=2, copy_us=cls.copy_us)
        cls.addClassCleanup(cls.gpus.close)
        with mock.patch.dict(os.environ, cls.gpus.environment):
            super().setUpClass()

    def tearDown(self):
        self.assertEqual(self.gpus.violations(), [])

    def trainer(self, text, *arguments, **options):
        """What a script says, with the driver and cuda_consumer.py."""
        environment = {**os.environ, **self.gpus.environment, "SPDLD_SOCKET": str(self.daemon.socket)}
        return self.run_script(PRELUDE + text, *arguments, env=environment, **options)


class HandOver(GpuCase):
    def test_every_byte_of_an_epoch_is_as_on_the_host(self):
        for transport, memory in (("fd", "cuda-fd"), ("handle", "cuda-handle"), ("auto", "cuda-fd")):
            with self.subTest(transport):
                output = self.trainer("""
def epoch(**options):
    with attach(framework="raw", **options) as loader:
        info = loader.info
        if options["device"] != "cpu":
            print(info.memory, info.device, info.gpu)
        for batch in loader:
            taken = {name: Taken(tensor.__dlpack__(max_version=(1, 0))) for name, tensor in batch.items()}
            content = {name: (one.dtype, one.shape, one.strides, one.bytes()) for name, one in taken.items()}
            yield content, {one.device for one in taken.values()}
            for one in taken.values():
                one.release()
host = list(epoch(device="cpu", group="host-" + sys.argv[1]))
gpu = list(epoch(device="cuda:1", transport=sys.argv[1]))
for epoch, device in (host, (1, 0)), (gpu, (2, 1)):
    print(len(epoch), all(devices == {device} for _, devices in epoch))
print([content for content, _ in host] == [content for content, _ in gpu])
""", transport)
                lines = output.splitlines()
                self.assertRegex(lines[0], rf"^{memory} 1 {UUID}$")
                self.assertEqual(lines[1:], [f"{STEPS} True", f"{STEPS} True", "True"])

    def test_mixed_batches_are_as_on_the_host(self):
        """Samples are mixed before the batch is copied to the GPU."""
        output = self.trainer("""
output = [{"name": "image", "from": "image", "ops": [{"op": "decode-image"}, {"op": "resize", "size": [32, 32]},
           {"op": "convert", "dtype": "float16"}]},
          {"name": "label", "from": "class", "ops": [{"op": "one-hot", "classes": 8}]}]
mixup = {"op": "mixup", "images": ["image"], "labels": ["label"], "alpha": 1.0}
def epoch(ops, **options):
    batch = {"size": 4, **({"ops": ops, "lam": "lam"} if ops else {})}
    with attach(framework="raw", changes={"batch": batch, "output": output}, **options) as loader:
        for batch in loader:
            taken = {name: Taken(tensor.__dlpack__(max_version=(1, 0))) for name, tensor in batch.items()}
            yield {name: one.bytes() for name, one in taken.items()}
            for one in taken.values():
                one.release()
plain = list(epoch([], device="cpu", group="plain"))
host = list(epoch([mixup], device="cpu", group="host"))
print(host == list(epoch([mixup], device="cuda:1")))
print([one["image"] for one in plain] == [one["image"] for one in host])
""")
        self.assertEqual(output.splitlines(), ["True", "False"])

    def test_the_array_interfaces(self):
        output = self.trainer("""
gpu, host = attach(framework="raw", device="cuda"), attach(framework="raw", device="cpu", group="host")
one, other = gpu.next()["image"], host.next()["image"]
interface = one.__cuda_array_interface__
address = interface.pop("data")[0]
print(interface)
print(address == Taken(one.__dlpack__()).address, hasattr(one, "__array_interface__"),
      hasattr(other, "__cuda_array_interface__"))
import ctypes
synchronize_legacy(Stream())
print(ctypes.string_at(address, one.nbytes) == np.asarray(other).tobytes())
try:
    np.asarray(one)
except spdld.UnsupportedError as error:
    print(error)
""")
        lines = output.splitlines()
        self.assertEqual(eval(lines[0]), {"version": 3, "typestr": "|u1", "shape": (BATCH, 32, 32, 3), "strides": None,
                                          "stream": 1})
        self.assertEqual(lines[1:3], ["True False False", "True"])
        self.assertIn('device="cpu"', lines[3])

    def test_what_dlpack_is_not_asked_for(self):
        output = self.trainer("""
image = attach(framework="raw", device="cuda:1").next()["image"]
print(image.__dlpack_device__())
for options in ({"dl_device": (1, 0)}, {"dl_device": (2, 0)}, {"copy": True}, {"stream": 0}, {"stream": -2},
                {"stream": "x"}):
    try:
        image.__dlpack__(**options)
    except (BufferError, spdld.InvalidError, TypeError) as error:
        print(type(error).__name__, error)
for options in ({"dl_device": (2, 1)}, {"copy": False}, {"stream": None}, {"stream": 1}, {"stream": 2}, {"stream": -1}):
    assert Taken(image.__dlpack__(**options)).device == (2, 1)
""")
        lines = output.splitlines()
        self.assertEqual(lines[0], "(2, 1)")
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         ["BufferError", "BufferError", "BufferError", "InvalidError", "InvalidError", "TypeError"])
        self.assertIn("on GPU 1", lines[1])
        self.assertIn("1 for the legacy default stream", lines[4])

    def test_pinned_memory_is_host_memory_that_the_gpu_knows(self):
        output = self.trainer("""
pinned, host = attach(framework="numpy", device="pinned"), attach(framework="numpy", device="cpu", group="host")
info = pinned.info
print(info.memory, info.device, info.gpu)
for one, other in zip(pinned, host):
    assert one.tensor("image").__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(one["image"], other["image"])
    one.use(Stream())
print(os.getpid())
""")
        first, pid = output.splitlines()
        self.assertRegex(first, rf"^pinned 0 {UUID}$")
        self.assertGreater(self.gpus.calls("cuMemHostRegister"), 0)
        self.assertEqual(self.gpus.live(int(pid))["registrations"], 0)

    @unittest.skipUnless(torch, "torch is not installed")
    def test_torch_without_cuda_takes_pinned_memory(self):
        output = self.trainer("""
import torch
loader = attach(framework="torch", device="pinned")
batch = loader.next()
image, raw = batch["image"], batch.tensor("image")
print(loader.info.memory, image.device, image.data_ptr() == raw.__array_interface__["data"][0])
print(attach(framework="torch", group="open").info.memory)
""")
        self.assertEqual(output.splitlines(), ["pinned cpu True", "host"])

    def test_a_gpu_of_the_local_rank(self):
        output = self.trainer("""
loaders = [attach(framework="raw", device="cuda", rank=rank, world_size=2, local_rank=rank) for rank in range(2)]
print(*[Taken(loader.next()["image"].__dlpack__()).device for loader in loaders])
print(loaders[0].info.gpu != loaders[1].info.gpu)
""")
        self.assertEqual(output.strip(), "(2, 0) (2, 1)\nTrue")

    def test_the_interpreter_ends_with_live_tensors(self):
        output = self.trainer("""
loader = attach(framework="raw", device="cuda")
batch = loader.next()
threading.kept = [batch, Taken(batch["image"].__dlpack__()), batch["label"].__dlpack__(), loader.next()["image"]]
print(os.getpid())
""")
        live = self.gpus.live(int(output))
        self.assertEqual(set(live.values()), {0})


class NoDriver(GpuCase):
    LOADED = """
print(loader.info.memory, any("libcuda" in line for line in open("/proc/self/maps")))
"""

    def test_cpu_loads_no_driver(self):
        for arguments in ('device="cpu", framework="raw"', 'framework="numpy"', "", 'device="auto"'):
            with self.subTest(arguments):
                output = self.trainer(f"loader = attach({arguments})" + self.LOADED)
                self.assertEqual(output.split(), ["host", "False"])
        self.assertEqual(self.trainer('loader = attach(framework="raw")' + self.LOADED).split(), ["cuda-fd", "True"])

    def test_a_framework_that_has_no_gpus(self):
        for framework in ["numpy"] + ["torch"] * bool(torch):
            for device in ("cuda", "cuda:1", 0):
                with self.subTest((framework, device)):
                    with self.assertRaisesRegex(spdld.UnsupportedError, f"{framework}.*cpu"):
                        self.attach(framework=framework, device=device)

    @unittest.skipUnless(torch, "torch is not installed")
    def test_torchs_devices(self):
        with self.assertRaisesRegex(spdld.UnsupportedError, 'device="cuda:1"'):
            self.attach(device=torch.device("cuda", 1))
        self.assertEqual(self.attach(device=torch.device("cpu")).info.memory, "host")

    def test_words_that_mean_nothing(self):
        for options, word in (({"device": "gpu"}, "device"), ({"device": True}, "device"),
                              ({"device": "cuda:x"}, "cuda"), ({"device": "cpu", "transport": "pigeon"}, "transport")):
            with self.subTest(options), self.assertRaisesRegex(spdld.InvalidError, word):
                self.attach(framework="raw", **options)

    def test_a_trainer_without_a_driver(self):
        # On a machine with a real driver this test's own process may have one.
        script = """
try:
    attach(framework="raw", device="cuda")
except spdld.UnsupportedError as error:
    print(error)
print(attach(framework="raw", device="auto").info.memory)
"""
        output = self.run_script(script, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.assertRegex(output, r"^no-(driver|gpu): .*\nhost\n$")

    def test_a_gpu_that_is_not_there(self):
        output = self.trainer("""
for device, framework in (("cuda:7", "raw"), (5, "raw")):
    try:
        attach(framework=framework, device=device)
    except spdld.UnsupportedError as error:
        print(error)
""")
        self.assertEqual([line.split(":")[0] for line in output.splitlines()], ["gpu-not-visible"] * 2)

    def test_a_forked_child(self):
        output = self.trainer("""
loader = attach(framework="raw", device="cuda")
batch = loader.next()
image = batch["image"]
child = os.fork()
if child == 0:
    refused = []
    for call in (loader.next, lambda: image.__dlpack__(), lambda: image.__cuda_array_interface__, lambda: batch.use(1),
                 batch.wait, lambda: attach(framework="raw", device="cuda", group="child")):
        try:
            call()
            refused.append(None)
        except spdld.ForkedError as error:
            refused.append(str(error))
    for sentence in refused:
        print(sentence, flush=True)
    del batch, image, loader
    gc.collect()
    os._exit(0)
os.waitpid(child, 0)
print(Taken(image.__dlpack__()).device, sum(1 for _ in loader))
""")
        *sentences, last = output.splitlines()
        self.assertNotIn("None", sentences)
        self.assertEqual(len(sentences), 6)
        self.assertEqual(last, "(2, 0) 5")


class Order(GpuCase):
    copy_us = 20_000

    def test_what_is_handed_out_early_is_waited_for(self):
        output = self.trainer("""
early = attach(framework="raw", device="cuda", transport="handle", experimental_ready_early=True)
host = attach(framework="numpy", device="cpu", group="host")
print(early.info.ready_early)
stream = Stream()
def by_stream(batch):
    taken = Taken(batch["image"].__dlpack__(stream=stream.number))
    stream.synchronize()
    return taken
def by_legacy(batch):
    taken = Taken(batch["image"].__dlpack__())
    synchronize_legacy(stream)
    return taken
def by_interface(batch):
    batch["image"].__cuda_array_interface__
    synchronize_legacy(stream)
    return Taken(batch["image"].__dlpack__(stream=stream.number))
def by_host(batch):
    return Taken(batch["image"].__dlpack__(stream=-1))
def by_wait(batch):
    batch.wait()
    return Taken(batch["image"].__dlpack__(stream=stream.number))
for take, one, other in zip((by_stream, by_legacy, by_interface, by_host, by_wait), early, host):
    taken = take(one)
    assert taken.bytes() == other["image"].tobytes(), take
    taken.release()
""")
        self.assertEqual(output.strip(), "True")

    RELEASES = """
class Torch:
    def __init__(self, stream): self.cuda_stream = stream.number
class Cupy:
    def __init__(self, stream): self.ptr = stream.number
def held():
    ring, = spdld.query("describe", "on-" + device, socket=os.environ["SPDLD_SOCKET"])["rings"]
    return ring["held"]
device = sys.argv[1]
loader = attach(framework="raw", device=device, changes={"name": "on-" + device, "order": {"epochs": 0}})
stream = Stream()
def take():
    return loader.next(timeout=20) or loader.next(timeout=20)  # none at an epoch's end
def by_dlpack(batch):
    Taken(batch["image"].__dlpack__(stream=stream.number)).release()
    batch.release()
ways = [lambda batch: batch.release(stream), lambda batch: batch.release(Torch(stream)),
        lambda batch: batch.release(Cupy(stream)), lambda batch: batch.release(stream.number),
        lambda batch: (batch.use(stream), batch.release())]
if device != "pinned": ways.append(by_dlpack)
for way in ways:
    batch = take()
    image, label = batch["image"], batch["label"]
    before = Taken(image.__dlpack__()) if device != "pinned" else None
    ended = threading.Event()
    stream.work(ended)
    if before: before.release()
    del image, label
    begin = time.monotonic()
    way(batch)
    assert time.monotonic() - begin < 5
    for _ in range(3):  # the other slots go on, and by that the daemon hears of this one
        take()
    end = time.monotonic() + 20
    while held() != 1:
        assert time.monotonic() < end
    ended.set()
    while held() != 0:
        assert time.monotonic() < end
print(len(ways))
"""

    def test_release_follows_the_streams(self):
        self.assertEqual(self.trainer(self.RELEASES, "cuda").strip(), "6")

    def test_release_follows_the_streams_of_pinned_memory(self):
        self.assertEqual(self.trainer(self.RELEASES, "pinned").strip(), "5")

    def test_a_framework_whose_streams_nobody_knows(self):
        # As jax: it takes a tensor on one stream, works on another, and drops the tensor before that work has ended.
        output = self.trainer("""
from spdld import _frameworks
compute, ready = Stream(), Stream()
class Late(_frameworks.Framework):
    name = "late"
    def refuses_gpus(self): return None
    def converter(self, memory, device):
        print(memory, device)
        return (lambda tensor: Taken(tensor.__dlpack__(stream=ready.number))), compute.order_legacy
_frameworks._FRAMEWORKS["late"] = Late
loader = attach(framework="late", device="cuda", changes={"name": "late", "order": {"epochs": 0}})
def take():
    return loader.next(timeout=20) or loader.next(timeout=20)  # none at an epoch's end
for _ in range(2):
    image = take()["image"]
    before, ended, taken = image.bytes(), threading.Event(), 0
    compute.work(ended)
    image.release()
    try:
        while taken < 50:
            loader.next(timeout=0.5)
            taken += 1
    except spdld.TimeoutError:
        print(taken < loader.info.slot_count + 2, image.bytes() == before)
    ended.set()
    assert take()
image = take()["image"]
ended.clear()
compute.work(ended)
threading.Timer(0.1, ended.set).start()
image.release()
loader.close()
print(ended.is_set())
""")
        self.assertEqual(output.splitlines(), ["cuda-fd 0", "True True", "True True", "True"])


if __name__ == "__main__":
    unittest.main()
