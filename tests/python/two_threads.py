"""Threads in the package, for any interpreter: it needs nothing but spdld, and says what it found.

    two_threads.py PICTURES      $SPDLD_SOCKET: the daemon; none: a private one is started

Ends with a line `threads: GIL` or `threads: no GIL`.
"""
import sys
import threading
from pathlib import Path

import spdld

EPOCHS = 40
RACES = 200
WAIT_S = 60


def run_all(*functions):
    """Each in a thread of its own, begun together. Raises what one of them raised."""
    begin = threading.Barrier(len(functions))
    raised = []

    def run(function):
        try:
            begin.wait(WAIT_S)
            function()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive(), "a thread hangs"
    if raised:
        raise raised[0]


def attach(pictures, name):
    spec = {"name": name, "source": {"type": "image-folder", "uri": pictures}, "order": {"epochs": EPOCHS},
            "output": [{"name": "image", "from": "image",
                        "ops": [{"op": "decode-image"}, {"op": "resize", "size": [32, 32]}]},
                       {"name": "label", "from": "class"}],
            "batch": {"size": 4}}
    return spdld.attach(spec, group=name, framework="raw", timeout=WAIT_S)


def two_loaders(pictures):
    """Each thread attaches, and gets every batch of its own loader, in order."""
    count = len(list(Path(pictures).glob("*/*.jpg")))

    def drain(name):
        with attach(pictures, name) as loader:
            places, samples = [], 0
            for _ in range(EPOCHS):
                for batch in loader:
                    places.append((batch.epoch, batch.step))
                    samples += batch["label"].shape[0]
                    assert len(batch["image"].__array_interface__["shape"]) == 4
            assert places == sorted(set(places)), places
            assert samples == EPOCHS * count, samples
            assert loader.next(timeout=WAIT_S) is None
    run_all(lambda: drain("one"), lambda: drain("two"))


def one_loader(pictures):
    """Two threads share a loader, and an iterator of it: each batch is given once."""
    with attach(pictures, "shared") as loader:
        places, lock = [], threading.Lock()

        def note(batch):
            with lock:
                places.append((batch.epoch, batch.step))
            assert batch.valid == batch["label"].shape[0]
            batch.release()

        def take():
            while (batch := loader.next(timeout=WAIT_S)) is not None:
                note(batch)

        run_all(take, take)  # an epoch's end is given to one of the two: the other goes on into the next epoch
        while len(places) < EPOCHS * loader.info.steps_per_epoch:
            take()
        assert sorted(places) == sorted(set(places)), "a batch was given twice"

        loader.seek(0)
        places.clear()
        epoch = iter(loader)

        def iterate():
            for batch in epoch:
                note(batch)

        run_all(iterate, iterate)
        assert len(places) >= loader.info.steps_per_epoch, places


def release_while_read(pictures):
    """One thread gives a batch back while another takes its tensors: those are whole, or refused."""
    with attach(pictures, "race") as loader:
        for _ in range(RACES):
            batch = loader.next(timeout=WAIT_S) or loader.next(timeout=WAIT_S)
            if batch is None:
                loader.seek(0)
                continue

            def read():
                try:
                    for _ in range(20):
                        image = batch["image"]
                        assert image.shape[0] == batch.valid
                        assert image.__dlpack__(max_version=(1, 0)) is not None
                        assert repr(batch).startswith("<spdld.Batch epoch")
                        assert len(batch.items()) == 3  # and "sample_id"
                        assert len(batch.copy()) == 3
                except spdld.InvalidError as error:
                    assert "released" in str(error), error

            run_all(read, read, batch.release)


def main():
    pictures = sys.argv[1]
    for check in (two_loaders, one_loader, release_while_read):
        check(pictures)
        print(check.__name__, flush=True)
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()  # after the import: a module may have asked for it
    print("threads:", "GIL" if has_gil else "no GIL")


if __name__ == "__main__":
    main()
