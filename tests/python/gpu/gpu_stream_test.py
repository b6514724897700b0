"""Streams of a trainer on the fake driver: streams that end with their object, and releases that wait for Python."""
import unittest

from gpu_test import GpuCase


class Streams(GpuCase):
    def test_a_stream_lives_as_long_as_a_batch_needs_it(self):
        # As cupy: the object of a stream destroys it.
        output = self.trainer("""
destroyed = []
class Owned(Stream):
    def __del__(self):
        destroyed.append(self.driver.cuStreamDestroy_v2(ctypes.c_void_p(self.number)))
import ctypes
loader = attach(framework="raw", device="cuda", changes={"name": "owned", "order": {"epochs": 0}})
def take():
    return loader.next(timeout=20) or loader.next(timeout=20)  # none at an epoch's end
for way in ("batch", "tensor", "release"):
    batch, ended = take(), threading.Event()
    stream = Owned()
    stream.work(ended)
    work = stream._held
    if way == "batch": batch.use(stream)
    if way == "tensor": batch["image"].use(stream)
    if way == "release": batch.release(stream)
    del stream
    gc.collect()
    assert not destroyed, way
    del batch
    for _ in range(3):
        take()
    assert not destroyed, way
    ended.set()
    end = time.monotonic() + 20
    while not destroyed:
        assert time.monotonic() < end
        take()
    assert destroyed == [0], (way, destroyed)
    destroyed.clear()
print("well")
""")
        self.assertEqual(output.strip(), "well")

    def test_the_last_release_waits_without_the_interpreters_lock(self):
        # After the loader's end a release waits for the work on the batch, which here is a Python function.
        for way in ("batch.release()", "del batch", "taken.release()"):
            with self.subTest(way):
                output = self.trainer("""
way = sys.argv[1]
loader = attach(framework="raw", device="cuda")
batch, stream, ended = loader.next(), Stream(), threading.Event()
taken = Taken(batch["image"].__dlpack__(stream=stream.number)) if way == "taken.release()" else None
batch.use(stream)
loader.close()
stream.work(ended)
ended.set()
if taken: del batch
begin = time.monotonic()
exec(way)
print(time.monotonic() - begin < 8)  # a wait of 10 s is given up
""", way)
                self.assertEqual(output.strip(), "True")


if __name__ == "__main__":
    unittest.main()
