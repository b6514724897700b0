#!/usr/bin/env python3
"""Measures a trainer's rate beside another user who does all that a user can do to a daemon, at once.

    bench/neighbour.py FOLDER --build DIR [--seconds 60] [--alone 20] [--threads 2] [--batch 64] [--size 224]
                       [--weight 19] [--nice 19] [--only WHAT,WHAT] [--each] [--out DIR]

FOLDER holds <class>/<name>.jpg. Needs root: the trainer and the other user are real users of other uids. The other user
floods the daemon with queries and connections, holds idle sessions and rings of tiny batches, sends sockets whose
closing takes long, and trains on damaged pictures and on samples that are dear. These are pictures, operations, videos of
large frames, videos with one key frame, transport streams of thousands of streams, long rows of tables, and objects of a
slow store. Each figure stands beside its bound. Makes videos with the ffmpeg program.

The trainer uses a named pipeline, and the operator has given it the cpu_weight of --weight: with equal weights each of
two busy users gets half of the decode threads, whatever one of them does. The other user's own processes run at the
priority of --nice, because the kernel and not the daemon shares the cores among processes. --only leaves the other
user some of these alone: queries, connections, sessions, rings, linger, pictures, operations, videos, groups, streams,
tables, remote. The exit code is 1 when a figure misses its bound, unless --no-fail.

--each measures beside each of them in turn, for --seconds each. The trainer then takes a third of what it could get, so
that the daemon has come down to few threads when the other user comes, after SETTLES_S seconds. Its wait is the time of
one next().
"""
import argparse
import json
import multiprocessing
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "support"))
import figures
import dear_samples
import machine
import own_daemon
from daemon_process import DaemonProcess

WHAT = ("queries", "connections", "sessions", "rings", "linger", "pictures", *dear_samples.CASES)
TRAINER, GREEDY = 12346, 12345
SETTLES_S = 8
RATE_MIN, WAIT_MAX_S, STATUS_MAX_S, FEED_MAX_S = 0.8, 0.5, 0.2, 1.0
SETTINGS = """\
[socket]
mode = "0666"
[pipelines]
dir = "@FOLDER@/pipelines"
[pipelines.access."*"]
users = ["*"]
[[data.roots]]
path = "@FOLDER@/greedy"
users = ["*"]
[[data.roots]]
path = {data}
[[data.stores]]
uri = "{store}"
users = ["*"]
[limits]
cpu_budget = {threads}
[state]
folder = "off"
[gpu]
enabled = false
[log]
level = "error"
"""


def as_user(uid, nice, what, *arguments, after=0.0):
    """Runs `what` in a process of another user, `after` some seconds."""
    def run():
        time.sleep(after)
        os.nice(nice)
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        what(*arguments)
    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    return process


def forever(what):
    """Calls `what` again and again; a refusal is an answer too."""
    while True:
        try:
            what()
        except Exception:
            time.sleep(0.001)


def connected(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(5)
    one.connect(path)
    return one


def flood_queries(path, topic, argument):
    import spdld
    forever(lambda: spdld.query(topic, argument, socket=path))


def flood_connections(path):
    forever(lambda: connected(path).close())


def hold_sessions(path):
    held = []

    def more():
        held.append(connected(path))
        if len(held) > 500:
            held.clear()
    forever(more)


def hold_rings(path, spec):
    import spdld
    held = []

    def more():
        held.append(spdld.attach({**spec, "batch": {"size": 1}}, group=f"ring {len(held)} {time.monotonic()}", socket=path,
                                 private=False, timeout=1, framework="numpy"))
    forever(more)


def lingering():
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listener.getsockname())
    peer, _ = listener.accept()
    listener.close()
    one.setblocking(False)
    try:
        while one.send(bytes(65536)):
            pass
    except BlockingIOError:
        pass
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 40))
    return one, peer


def send_lingering(path):
    peers = []

    def more():
        one, peer = lingering()
        peers.append(peer)
        with connected(path) as connection:
            socket.send_fds(connection, [b"no message"], [one.fileno()])
            one.detach()  # stays open here, so that this process does not wait for it
        if len(peers) > 200:
            peers.clear()
            os.closerange(100, 4096)
    forever(more)


def train_on(path, spec):
    import spdld

    def run():
        with spdld.attach(spec, group=f"bad {time.monotonic()}", socket=path, private=False, timeout=30,
                          framework="numpy") as loader:
            for batch in loader:
                del batch
    forever(run)


def make_pictures(folder, source):
    """Good and damaged copies of some pictures, and large ones of many scans where PIL can make them."""
    good, bad = folder / "good/0", folder / "bad/0"
    good.mkdir(parents=True)
    bad.mkdir(parents=True)
    for i, picture in enumerate(sorted(source.glob("*/*.jpg"))[:64]):
        data = bytearray(picture.read_bytes())
        (good / f"{i:03}.jpg").write_bytes(data)
        data[len(data) // 2:] = os.urandom(len(data) // 4)
        (bad / f"{i:03}.jpg").write_bytes(data)
    try:
        from PIL import Image
    except ImportError:
        return
    Image.new("RGB", (8000, 8000), (9, 99, 200)).save(bad / "bomb0.jpg", progressive=True)
    for i in range(1, 6):
        shutil.copy(bad / "bomb0.jpg", bad / f"bomb{i}.jpg")


def trainer(path, seconds, step_s, pipe):
    """Trains for `step_s` on each batch. Tells (batches a second, longest wait in s)."""
    import spdld
    with spdld.attach("train", socket=path, private=False, framework="numpy", timeout=60) as loader:
        for _ in range(20):
            loader.next(timeout=60)
        count, longest = 0, 0.0
        begin = last = time.monotonic()
        while last - begin < seconds:
            try:
                batch = loader.next(timeout=60)
            except spdld.TimeoutError:
                longest = time.monotonic() - last
                break
            del batch
            now = time.monotonic()
            longest, count = max(longest, now - last), count + 1
            time.sleep(step_s)
            last = time.monotonic() if step_s else now
        pipe.send((count / max(last - begin, seconds), longest))


def train(path, seconds, step_s=0.0):
    here, there = multiprocessing.Pipe(duplex=False)
    process = as_user(TRAINER, 0, trainer, path, seconds, step_s, there)
    if not here.poll(seconds + 180):
        raise SystemExit("the trainer got nowhere")
    told = here.recv()
    process.join()
    return told


class Feeds:
    """The daemon's service manager, which notes the longest time between two signs of life."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.longest, self.last = 0.0, None
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            if b"WATCHDOG=1" not in self.socket.recv(4096):
                continue
            now = time.monotonic()
            if self.last is not None:
                self.longest = max(self.longest, now - self.last)
            self.last = now


class Looks:
    """Root's `spdlctl status`, again and again."""

    def __init__(self, program, path):
        self.longest, self.failed, self.ending = 0.0, 0, threading.Event()
        self.thread = threading.Thread(target=self.look, args=(program, path), daemon=True)
        self.thread.start()

    def look(self, program, path):
        while not self.ending.wait(0.3):
            begin = time.monotonic()
            done = subprocess.run([program, "--socket", path, "status"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.longest = max(self.longest, time.monotonic() - begin)
            self.failed += done.returncode != 0

    def end(self):
        self.ending.set()
        self.thread.join()


def pipeline_text(folder, arguments):
    return (f'name = "train"\nseed = 7\ncpu_weight = {arguments.weight}\n[source]\ntype = "image-folder"\n'
            f'uri = {json.dumps(str(folder))}\n[order]\nepochs = 0\n[batch]\nsize = {arguments.batch}\n'
            f'[[output]]\nname = "image"\nfrom = "image"\n'
            f'ops = [ {{ op = "decode-image" }}, {{ op = "random-resized-crop", size = {arguments.size} }} ]\n')


def wanted_by(arguments):
    """Returns the names of all that the other user does."""
    wanted = arguments.only.split(",") if arguments.only else list(WHAT)
    if not set(wanted) <= set(WHAT):
        raise SystemExit(f"--only takes some of {', '.join(WHAT)}.")
    return wanted


def greedy_at(daemon, arguments, wanted, dear, after):
    """The processes of the user who takes all."""
    folder = daemon.folder / "greedy"
    bad = own_daemon.make_spec("resize", folder / "bad", 8, 1, size=64, name="bad")
    tiny = own_daemon.make_spec("resize", folder / "good", 1, 1, size=8, name="tiny")
    path = daemon.socket
    what = {"queries": (flood_queries, path, "status", None), "connections": (flood_connections, path),
            "sessions": (hold_sessions, path), "rings": (hold_rings, path, tiny), "linger": (send_lingering, path),
            "pictures": (train_on, path, bad), **{name: (train_on, path, spec) for name, spec in dear.items()}}
    return [as_user(GREEDY, arguments.nice, *what[name], after=after) for name in wanted]


class Measured:
    """The trainer beside the other user, who does all that is in `wanted`. `step_s` is what the trainer does with a batch."""

    def __init__(self, daemon, feeds, arguments, wanted, dear, step_s):
        looks = Looks(str(Path(arguments.build) / "client/cli/spdlctl"), daemon.socket)
        feeds.longest = 0.0
        settles_s = SETTLES_S if step_s else 0
        greedy = greedy_at(daemon, arguments, wanted, dear, settles_s)
        self.rate, self.wait = train(daemon.socket, settles_s + arguments.seconds, step_s)
        looks.end()
        for process in greedy:
            process.kill()
            process.join()
        self.status, self.failed, self.feed = looks.longest, looks.failed, feeds.longest


def measure(arguments, cases):
    """Returns the trainer's rate alone, and what was measured in each case: a list of what the other user does."""
    data = Path(arguments.folder).resolve()
    store = dear_samples.serve()
    settings = SETTINGS.format(threads=arguments.threads, data=json.dumps(str(data)), store=store)
    daemon = DaemonProcess([own_daemon.daemon_program()], settings)
    feeds = Feeds(str(daemon.folder / "notify"))
    daemon.environment = {**os.environ, "NOTIFY_SOCKET": str(daemon.folder / "notify"), "WATCHDOG_USEC": "2000000"}
    daemon.folder.chmod(0o755)
    (daemon.folder / "pipelines").mkdir()
    (daemon.folder / "pipelines/train.toml").write_text(pipeline_text(data, arguments))
    folder = daemon.folder / "greedy"
    make_pictures(folder, data)
    dear = dear_samples.make(folder, sorted((folder / "good/0").iterdir()), {name for case in cases for name in case}, store)
    with daemon:
        train(daemon.socket, arguments.alone)  # fills the caches
        alone, _ = train(daemon.socket, arguments.alone)
        step_s = 3 / alone if arguments.each else 0.0
        return alone, [Measured(daemon, feeds, arguments, case, {name: dear[name] for name in case if name in dear}, step_s)
                       for case in cases]


def lines_of(arguments):
    """Returns a list of (name, value, unit, bound, whether the bound is met)."""
    alone, (one,) = measure(arguments, [wanted_by(arguments)])
    share = one.rate / alone
    return [("the trainer's rate alone", alone, "batches/s", None, True),
            ("its rate beside the other user, of that", share, "", f"at least {RATE_MIN}", share >= RATE_MIN),
            ("its longest wait for a batch", one.wait, "s", f"at most {WAIT_MAX_S} s", one.wait <= WAIT_MAX_S),
            ("root's longest `spdlctl status`", one.status, "s", f"at most {STATUS_MAX_S} s", one.status <= STATUS_MAX_S),
            ("root's `spdlctl status` that failed", one.failed, "", "none", one.failed == 0),
            ("longest time between signs of life", one.feed, "s", f"at most {FEED_MAX_S} s", one.feed <= FEED_MAX_S)]


def table_of_all(arguments):
    """Returns the text and whether all bounds are met."""
    lines = lines_of(arguments)
    body = [[what, f"{value:.3g} {unit}".strip(), bound or "", "" if bound is None else "yes" if met else "**no**"]
            for what, value, unit, bound, met in lines]
    return figures.markdown(["what", "measured", "bound", "met"], body, right_from=9), all(line[4] for line in lines)


def table_of_each(arguments):
    """The same of each thing that the other user does alone."""
    names = wanted_by(arguments)
    alone, measured = measure(arguments, [[name] for name in names])
    body, all_met = [], True
    for name, one in zip(names, measured):
        met = one.wait <= WAIT_MAX_S
        all_met &= met
        body.append([name, f"{3 * one.rate / alone:.2f}", f"{one.wait:.2f} s", "yes" if met else "**no**"])
    head = ["the other user's", "batches, of those wanted", "longest wait", f"at most {WAIT_MAX_S} s"]
    return figures.markdown(head, body), all_met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--alone", type=float, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--weight", type=float, default=19)
    parser.add_argument("--nice", type=int, default=19)
    parser.add_argument("--only", default="")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--out", default="")
    parser.add_argument("--no-fail", action="store_true")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("this benchmark needs root: its users are real ones.")
    own_daemon.use_build(arguments.build)
    table, met = table_of_each(arguments) if arguments.each else table_of_all(arguments)
    text = machine.hardware() + "\n\n" + table
    figures.finish("neighbour", text, arguments.out, failed=not met and not arguments.no_fail)


if __name__ == "__main__":
    main()
