#!/usr/bin/env python3
"""Simulates many decode threads on the locks and the shared cache lines that are left on a tiny sample's way.

    bench/pipeline/many_threads.py [--threads 1,2,4,8,16,32] [--sample-ns 450] [--batch 1024] [--hold-scale 1] [--line-ns 100]

A machine with few cores cannot show how many threads get on together. This is a discrete-event simulation of the
threads' ways through the code of daemon/pipeline/stream.cpp and daemon/base/fair_pool.cpp, for samples that lie in the
cache's memory. What it assumes:

- A sample takes `sample_ns` of a core, from bench/pipeline/tiny_samples with one thread. Memory bandwidth has no bound.
- A thread takes a run of up to 32 samples, and at most a 2T-th of what is left of the batch (but 4), by two atomic additions
  (OpenBatch::take, Stream::count_taken). Each is on a cache line that all threads share: it holds the line for LINE ns, the
  time that a line takes from core to core (some 50 to 100 ns within a socket, and more between sockets).
- A task that finds its batch taken takes the stream's lock once to leave it and to find its next run (Stream::leave), for LEAVE
  ns and another SETTLE ns where it finishes the batch. Each time another core held the lock before, the lock's line and
  the lists' lines are moved: four times LINE.
- A turn ends after 200 us. The thread takes the pool's lock three times then (submit, take, and the clock's look
  between), for POOL ns each, and two times LINE where another core held the lock before.
- The pool's lanes hold a task for every thread at all times, and slots are always free: the trainer costs nothing.
- A thread that waits for a lock for more than SPIN ns sleeps, and goes on WAKE ns after its turn. The lock does not wait for
  it: other threads take it meanwhile.

SETTLE is measured: perf gave waking the trainer 4 % of the time of tiny_samples with one thread and batches of 256, which
is 5 us a batch. LEAVE and POOL are estimated, from 40 ns for an uncontended lock and the length of what stands under it.
--hold-scale multiplies all three, and --line-ns is the cores' part, to see how much the result depends on them.
"""
import argparse
import heapq

RUN_MAX, RUN_MIN, TURN_NS = 32, 4, 200_000
LEAVE_NS, SETTLE_NS, POOL_NS = 150, 5_000, 120
SPIN_NS, WAKE_NS = 100, 5_000


class Shared:
    """Something that one core has at a time: a lock, or a cache line."""

    def __init__(self):
        self.free_ns, self.owner = 0.0, None
        self.busy_ns = 0.0

    def use(self, thread, now_ns, hold_ns, move_ns, sleeps=False):
        """Returns when the thread is done with it."""
        begin_ns = max(now_ns, self.free_ns)
        hold_ns += move_ns if self.owner not in (None, thread) else 0
        self.owner, self.free_ns = thread, begin_ns + hold_ns
        self.busy_ns += hold_ns
        return self.free_ns + (WAKE_NS if sleeps and begin_ns - now_ns > SPIN_NS else 0)


class Batch:
    def __init__(self, size):
        self.left, self.unfinished, self.next_line = size, size, Shared()


class Thread:
    def __init__(self, number):
        self.number, self.batch, self.turn_end_ns, self.finished = number, None, TURN_NS, 0


def simulate(threads, args, seconds=0.02):
    """Returns samples a second, and the shares of the time in which each lock and line was busy."""
    stream, pool, to_assign = Shared(), Shared(), Shared()
    line, scale = args.line_ns, args.hold_scale
    current = Batch(args.batch)
    done, end_ns = 0, seconds * 1e9
    next_lines_ns = 0.0
    events = [(0.0, number) for number in range(threads)]
    crew = [Thread(number) for number in range(threads)]
    heapq.heapify(events)
    while events:
        now_ns, number = heapq.heappop(events)
        if now_ns >= end_ns:
            break
        thread = crew[number]
        if now_ns >= thread.turn_end_ns:
            for _ in range(3):
                now_ns = pool.use(number, now_ns, POOL_NS * scale, 2 * line, sleeps=True)
            thread.turn_end_ns = now_ns + TURN_NS
        batch = thread.batch
        if batch is None or batch.left == 0:
            settles = False
            if batch is not None:
                batch.unfinished -= thread.finished
                settles = batch.unfinished == 0
                thread.finished = 0
            now_ns = stream.use(number, now_ns, (LEAVE_NS + (SETTLE_NS if settles else 0)) * scale, 4 * line, sleeps=True)
            if current.left == 0:
                next_lines_ns += current.next_line.busy_ns
                current = Batch(args.batch)
            thread.batch = batch = current
        run = min(max(RUN_MIN, min(RUN_MAX, batch.left // (2 * threads))), batch.left)
        now_ns = batch.next_line.use(number, now_ns, 10, line)
        now_ns = to_assign.use(number, now_ns, 10, line)
        batch.left -= run
        thread.finished += run
        done += run
        heapq.heappush(events, (now_ns + run * args.sample_ns, number))
    busy = [100 * shared / end_ns for shared in (stream.busy_ns, pool.busy_ns, to_assign.busy_ns, next_lines_ns)]
    return done / seconds, busy


def main():
    parser = argparse.ArgumentParser(description="simulates many decode threads on tiny samples")
    parser.add_argument("--threads", default="1,2,4,8,16,32")
    parser.add_argument("--sample-ns", type=float, default=450)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--hold-scale", type=float, default=1)
    parser.add_argument("--line-ns", type=float, default=100)
    args = parser.parse_args()
    print("threads  M samples/s  times one  stream lock %  pool lock %  to_assign line %  next line %")
    first = None
    for threads in map(int, args.threads.split(",")):
        rate, busy = simulate(threads, args)
        first = first or rate
        print(f"{threads:7d}  {rate * 1e-6:11.2f}  {rate / first:9.2f}  {busy[0]:13.1f}  {busy[1]:11.1f}  {busy[2]:16.1f}  "
              f"{busy[3]:11.1f}")


if __name__ == "__main__":
    main()
