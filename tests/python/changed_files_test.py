"""An archive that changes during a run: its samples are of the listed archive or bad, in memory, on disk and after a restart."""
import io
import os
import tarfile
import tempfile
import time
import unittest
from pathlib import Path

from case import PROGRAM, WAIT_S
from daemon import Daemon

import spdld

SAMPLES = 300
OLD = 100  # the first label of the old archive


def archive_of(first):
    """The bytes of an archive of labels. Archives of other first labels have members of the same names and places."""
    bytes_io = io.BytesIO()
    with tarfile.open(fileobj=bytes_io, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for number in range(SAMPLES):
            label = str(first + number).encode()
            member = tarfile.TarInfo(f"{1000 + number}.cls")
            member.size = len(label)
            tar.addfile(member, io.BytesIO(label))
    return bytes_io.getvalue()


def spec_of(name, archive, epochs):
    return {"name": name, "cache": "encoded", "on_bad": "mask", "source": {"type": "webdataset", "uri": str(archive)},
            "order": {"shuffle": False, "epochs": epochs}, "batch": {"size": 4, "prefetch_depth": 1},
            "output": [{"name": "label", "from": "cls", "ops": [{"op": "parse-int"}]}]}


def counts_of(loader, first):
    """How many samples have the label of the archive that begins with `first`, none, and another one."""
    right = bad = wrong = 0
    for _ in range(loader.epochs):
        for batch in loader:
            for label, number in zip(batch["label"].tolist(), batch["sample_id"].tolist()):
                right += label == first + number
                bad += label == 0
                wrong += label not in (0, first + number)
    return right, bad, wrong


def change(archive, content, is_replaced):
    """With the time of modification set back."""
    before = archive.stat()
    path = archive.with_suffix(".new") if is_replaced else archive
    while True:  # until the file system's clock has gone on
        with open(path, "r+b" if path.exists() else "wb") as file:
            file.write(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        if path.stat().st_ctime_ns != before.st_ctime_ns:
            break
        time.sleep(0.001)
    if is_replaced:
        path.rename(archive)


class ChangedArchive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def daemon(self, cache):
        daemon = Daemon(PROGRAM, f'[cache]\n{cache}\n[state]\nfolder = "{self.folder / "state"}"\n')
        self.addCleanup(lambda: daemon.log.closed or daemon.close())
        return daemon

    def attach(self, daemon, *spec):
        loader = spdld.attach(spec_of(*spec), socket=str(daemon.socket), framework="numpy", timeout=WAIT_S)
        self.addCleanup(loader.close)
        return loader

    def check(self, cache, is_replaced, new):
        archive = self.folder / "labels.tar"
        archive.write_bytes(archive_of(OLD))
        daemon = self.daemon(cache)
        loader = self.attach(daemon, "labels", archive, 3)
        next(iter(loader)).release()
        change(archive, archive_of(new), is_replaced)
        right, bad, wrong = counts_of(loader, OLD)
        self.assertEqual(wrong, 0)
        self.assertGreater(bad, SAMPLES)  # nearly all of three epochs
        self.assertGreater(right, 0)  # read before, or kept
        # Beside the pipeline that has listed the old archive, and keeps samples of it.
        self.assertEqual(counts_of(self.attach(daemon, "beside", archive, 2), new), (2 * SAMPLES, 0, 0))
        loader.close()
        daemon.close()
        daemon = self.daemon(cache)
        self.assertEqual(counts_of(self.attach(daemon, "again", archive, 2), new), (2 * SAMPLES, 0, 0))

    def check_all(self, cache):
        for is_replaced in (True, False):
            # Labels of one size leave the listing's fingerprint as it is, and with it the place in the cache.
            for new in (500, 5000):
                with self.subTest(is_replaced=is_replaced, new=new):
                    self.check(cache, is_replaced, new)

    def test_a_run_whose_archive_changes_gives_what_was_listed_or_nothing_and_the_next_run_the_new_archive(self):
        self.check_all('ram_bytes_max = "64 MiB"')

    def test_the_same_holds_where_the_cache_is_on_disk(self):
        self.check_all(f'ram_bytes_max = 0\nfolder = "{self.folder / "cache"}"')


if __name__ == "__main__":
    unittest.main()
