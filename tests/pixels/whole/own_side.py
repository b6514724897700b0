"""What spdld gives of files: through its Python package, with a daemon of the run's own."""
import json
import os
import threading
import time
import warnings

import daemon as test_daemon

BATCH_BYTES_MAX, BATCH_MAX = 32 << 20, 8
CONFIG = '[limits]\nslot_bytes_max = "8 GiB"\nslot_bytes_per_user_max = "8 GiB"\n[log]\nlevel = "error"\n'


class Watch:
    """Kills the daemon where nothing was done for so many seconds, for a block."""

    def __init__(self, process, seconds):
        self.process, self.seconds, self.fired = process, seconds, False
        self.ended, self.last = threading.Event(), time.monotonic()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.ended.wait(0.2):
            if time.monotonic() - self.last > self.seconds:
                self.fired = self.process.poll() is None
                self.process.kill()
                return

    def done(self):
        self.last = time.monotonic()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


class Spdld:
    def __init__(self, program, seconds):
        self.program, self.seconds, self.daemon, self.runs = program, seconds, None, 0

    def started(self):
        if self.daemon is not None and self.daemon.process.poll() is not None:
            self.close()
        if self.daemon is None:
            self.daemon = test_daemon.Daemon(self.program, CONFIG)
        return self.daemon

    def close(self):
        if self.daemon is not None:
            self.daemon.close()
        self.daemon = None

    def of_all(self, paths, output, bytes_each):
        """Yields each path with its array, or with {"refused"}, {"crash"} or {"time-out"} and words. Each file is read once, but
        where one of a group ended the daemon: then its files are read one by one."""
        try:
            yield from self.of_group(paths, output, bytes_each)
            return
        except GroupFault as fault:
            if len(paths) == 1:
                yield paths[0], fault.verdict
                return
            left = paths[fault.done:]
        for path in left:
            yield from self.of_all([path], output, bytes_each)

    def of_group(self, paths, output, bytes_each):
        import spdld
        warnings.simplefilter("ignore", spdld.DataWarning)  # the reasons are asked for
        own, given, self.runs = self.started(), 0, self.runs + 1
        name = f"whole-{self.runs}"
        manifest = own.folder / f"{name}.jsonl"
        manifest.write_text("".join(json.dumps({"file": os.path.abspath(path)}) + "\n" for path in paths))
        batch = max(1, min(BATCH_MAX, len(paths), BATCH_BYTES_MAX // max(1, bytes_each)))
        spec = {"name": name, "source": {"type": "manifest", "uri": str(manifest), "files": ["file"]},
                "on_bad": "mask", "cache": "off",
                "order": {"epochs": 1, "shuffle": False}, "batch": {"size": batch, "last": "short"}, "output": [output]}
        with Watch(own.process, self.seconds) as watch:
            try:
                with spdld.attach(spec, socket=str(own.socket), private=False, framework="numpy", timeout=self.seconds,
                                  reconnect=0) as loader:
                    for one in loader:
                        watch.done()
                        good = [bool(mark) for mark in one["mask"]]
                        reasons = {} if all(good) else self.reasons(spdld, name)
                        for at, is_good in enumerate(good):
                            value = one[output["name"]][at].copy() if is_good else {
                                "refused": reasons.get(given, "without a reason")}
                            yield paths[given], value
                            given += 1
            except Exception as fault:  # of the package, of any kind; the daemon's end tells more
                raise GroupFault(given, self.verdict_of(own, watch, fault)) from None
        if given != len(paths):
            raise GroupFault(given, {"crash": f"{given} of {len(paths)} samples came"})

    def verdict_of(self, own, watch, fault):
        time.sleep(0.1)  # a daemon that crashes may still be writing its core
        if watch.fired:
            return {"time-out": f"nothing within {self.seconds} s"}
        if own.process.poll() is not None:
            return {"crash": f"the daemon ended with code {own.process.returncode}"}
        return {"refused": f"{fault}"}

    def reasons(self, spdld, name):
        told = spdld.query("errors", name, socket=str(self.daemon.socket), timeout=self.seconds)
        return {one["sample"]: one["reason"] for one in told["errors"]}


class GroupFault(Exception):
    """The run of a group ended behind so many files."""

    def __init__(self, done, verdict):
        super().__init__(str(verdict))
        self.done, self.verdict = done, verdict
