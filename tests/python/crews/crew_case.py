"""What the tests of Python operations share: a daemon that wants a crew, and what it says of the crew."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

PROGRAM = os.environ.get("SPDLD_FAKE_CREW_DAEMON", "")
CLOUDPICKLE = Path(__file__).resolve().parents[3] / "build" / "cloudpickle"
if CLOUDPICKLE.is_dir() and str(CLOUDPICKLE) not in sys.path:  # for this process, and for the trainers that it starts
    sys.path.append(str(CLOUDPICKLE))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(CLOUDPICKLE)]))
needs_cloudpickle = unittest.skipUnless(CLOUDPICKLE.is_dir(), "tests/install installs cloudpickle")
WAIT_S = 20
BYTES = {"kind": "bytes"}


def tensor(dtype, *shape):
    return {"kind": "tensor", "dtype": dtype, "shape": list(shape)}


def errand(*calls, takes=BYTES, gives=BYTES, output="image"):
    return {"output": output, "takes": takes, "gives": gives,
            "ops": [{"call": call, "code": "", "place": place} for place, call in enumerate(calls)]}


def until(condition, what, wait_s=WAIT_S):
    """Asks again until it is true: for what another process does in its own time."""
    end = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {wait_s} s: {what}")
        time.sleep(0.005)


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def processes_with(variable):
    """All processes that have this text in their environment, but for this one's own children that the test knows."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if variable.encode() in (folder / "environ").read_bytes().split(b"\0") and lives(int(folder.name)):
                    found.append(int(folder.name))
            except OSError:
                pass
    return found


class CrewDaemon:
    """The fake daemon; errands: what its pipeline wants done."""

    def __init__(self, folder, errands, memory_max=0):
        self.socket = str(Path(folder) / "s")
        text = json.dumps({"errands": errands}) if errands else ""
        self.process = subprocess.Popen([PROGRAM, self.socket, "secret", text, str(memory_max)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "listening\n"

    def ask(self, what, **more):
        self.process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def said(self, wait_ms=10_000):
        return self.ask("said", wait_ms=wait_ms)

    def await_said(self, what):
        """What the crew says of this kind; progress before it is passed over."""
        while True:
            said = self.said()
            if said is None or said["what"] == what:
                return said
            if said["what"] != "progress" and said["what"] != "joined":
                raise AssertionError(f"the crew says {said} in place of {what}")

    def call(self, data=b"", worker=1, **more):
        """The reply to one task."""
        self.ask("call", worker=worker, data=bytes(data).hex(), **more)
        return self.reply(worker)

    def call_all(self, *tasks, worker=1):
        """Tasks that come at once; returns the replies, by the tasks' places."""
        asked = [{**task, "data": bytes(task.get("data", b"")).hex()} for task in tasks]
        numbers = self.ask("call all", worker=worker, calls=asked)
        replies = {}
        for _ in numbers:
            reply = self.reply(worker)
            replies[reply["number"]] = reply
        return [replies[number] for number in numbers]

    def reply(self, worker=1, wait_ms=10_000):
        reply = self.ask("reply", worker=worker, wait_ms=wait_ms)
        if reply and "data" in reply:
            reply["data"] = bytes.fromhex(reply["data"])
        return reply

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


class CrewCase(unittest.TestCase):
    """Each test has a daemon and a trainer of its own; the trainer's functions are in a module `made`."""

    def setUp(self):
        if not PROGRAM:
            raise RuntimeError("SPDLD_FAKE_CREW_DAEMON is not set: the daemon to test crews with")
        folder = tempfile.TemporaryDirectory(prefix="spdld-crew-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.mark = f"SPDLD_TEST_CREW={self.folder.name}"
        self.addCleanup(self.assert_nothing_is_left)

    def assert_nothing_is_left(self):
        until(lambda: not processes_with(self.mark), "all processes have ended", 5)

    def begin(self, module, *errands, ops="None", prelude="", memory_max=0, workers=(1,), ready=True, variables=None,
              spec_ops=None, imports="", attach="spdld.attach", source=None):
        """A trainer attaches with functions of `module`, and its crew starts workers."""
        (self.folder / "made.py").write_text(textwrap.dedent(module))
        self.daemon = CrewDaemon(self.folder, errands, memory_max)
        self.addCleanup(self.daemon.close)
        calls = [{"op": "python", "call": op["call"], "gives": {}} for one in errands for op in one["ops"]]
        spec = {"name": "small", "output": [{"name": "image", "ops": spec_ops or calls}]}
        if source is not None:
            spec = {"name": "small", "source": source}
        program = textwrap.dedent("""
            {imports}
            import sys, spdld
            sys.path.insert(0, {folder!r})
            {prelude}
            loader = {attach}({spec!r}, ops={ops}, socket={socket!r}, group="g", framework="raw", timeout=20)
            print("attached", flush=True)
            sys.stdin.read()
            """).format(folder=str(self.folder), spec=spec, ops=ops, socket=self.daemon.socket,
                        prelude=textwrap.dedent(prelude), imports=imports, attach=attach)
        name, _, value = self.mark.partition("=")
        self.trainer = subprocess.Popen([sys.executable, "-c", program], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                        env={**os.environ, name: value, **(variables or {})})
        self.addCleanup(self.end_trainer)
        self.assertEqual(self.trainer.stdout.readline(), "attached\n", "" if self.trainer.poll() is None else self.trainer.stderr)
        if ready:
            said = self.daemon.await_said("ready")
            self.assertIsNotNone(said, "the crew is not ready")
            for worker in workers:
                self.daemon.ask("start", worker=worker)
        return self.daemon

    def end_trainer(self):
        if self.trainer.poll() is None:
            self.trainer.kill()
        self.trainer.wait()
        self.daemon.close()
        self.assert_nothing_is_left()  # the processes that have the trainer's stderr have ended
        for stream in (self.trainer.stdin, self.trainer.stdout, self.trainer.stderr):
            stream.close()

    def printed(self):
        """All that came to the trainer's stderr, once all processes have ended."""
        if self.trainer.poll() is None:
            os.killpg(self.trainer.pid, signal.SIGKILL)
        self.trainer.wait()
        self.daemon.kill()
        return self.trainer.stderr.read()
