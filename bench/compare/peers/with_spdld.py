"""spdld, with a daemon of its own below this process. Where a cache is measured, earlier epochs have filled it."""
import clips
import objects
import own_daemon

DAEMON = BEFORE = None
SHARE_MIN = 0.9
TAKEN = ("image", "global-1", "clip", "clip-1", "sound")  # the tensor that is looked at, by the work


def cache_bytes(job):
    """Room for every picture in the form that is asked for, planes being some 4 to 20 times the bytes of JPEGs."""
    return 0 if job.cache == "off" else max(1 << 30, 24 * job.corpus_bytes)


def spec_of(job, epochs):
    if job.work == "detection-masks":
        return own_daemon.make_detection_spec(objects.annotated(job.folder, job.scratch), job.folder, job.batch, epochs)
    if job.work in clips.CLIPS:
        return own_daemon.make_clips_spec(job.work, job.folder, job.batch, epochs, cache=job.cache)
    if job.work == "audio":
        return own_daemon.make_sounds_spec(job.folder, job.batch, epochs)
    return own_daemon.make_spec(job.work, job.folder, job.batch, epochs, job.cache, job.antialias, resampling=job.way)


def take_all(loader):
    for _ in range(loader.epochs):
        for batch in loader:
            taken = next(batch[name] for name in TAKEN if name in batch)
            yield taken, len(taken)


def cache_counts(job):
    """(hits, misses) of the form that is measured, since the daemon began."""
    shelves = [shelf for shelf in DAEMON.query("status")["cache"]["shelves"] if shelf["form"] == job.cache]
    return tuple(sum(shelf[key] for shelf in shelves) for key in ("memory_hits", "misses"))


def prepare(job):
    global DAEMON, BEFORE
    DAEMON = own_daemon.OwnDaemon(job.threads, cache_bytes(job))
    DAEMON.__enter__()
    DAEMON.query("ping")  # imports the package: other peers' imports are not in their first batch either
    if job.cache != "off":
        with DAEMON.attach(spec_of(job, 2)) as loader:  # of one epoch alone a daemon may keep nothing
            for _ in take_all(loader):
                pass
        BEFORE = cache_counts(job)


def batches(job):
    with DAEMON.attach(spec_of(job, job.epochs)) as loader:
        for taken, rows in take_all(loader):
            yield taken, rows * job.clips


def told(job):
    """Facts to show beside the figures. Raises where the cache did not serve what is measured."""
    if job.work == "detection-masks":
        with DAEMON.attach(spec_of(job, 1)) as loader:
            return objects.told(batch for _ in range(1) for batch in loader)
    if job.cache == "off":
        return {}
    hits, misses = (after - before for after, before in zip(cache_counts(job), BEFORE))
    wanted = job.pictures * job.epochs
    if hits < SHARE_MIN * wanted:  # those without planes (CMYK, turned by EXIF) are decoded in every epoch
        raise RuntimeError(f"{hits} of {wanted} pictures came from the cache, {misses} did not")
    return {"hit_rate": hits / (hits + misses)}


def close():
    if DAEMON is not None:
        DAEMON.__exit__()
