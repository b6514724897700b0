#!/usr/bin/env python3
"""A reverse proxy for HTTP/1.1 in front of a store, which counts requests and answers wrongly where a rule says so.

    fault_proxy.py HOST:PORT [--seed N] [--rules JSON]

As a program it prints its addresses as one line of JSON, obeys commands in JSON, one on each line of standard input, and ends
with its standard input or with its parent. Each command gets a line in answer. fault_rules.py describes the rules.

    {"set": [RULE, ...]}         replaces all rules            {"add": [RULE, ...]}      adds rules after them
    {"counts": true}             returns the counts            {"forget": true}          counts from 0 again
    {"refuse_s": S, "drop": B}   closes the listening socket for S seconds, and with drop resets all connections
    {"drop": true}               resets all connections        {"store": "HOST:PORT"}    changes the store

The Host header is passed on as the reader sent it, so that signatures stay valid.
"""
import argparse
import asyncio
import gc
import json
import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import children
import fault_rules
import proxy_wire

BACKLOG = 1024
ANSWER_S = 30  # for a command


class Counts:
    """What the proxy has seen. Bytes are those of bodies that were given to the reader's connection."""

    def __init__(self):
        self.by_path, self.statuses, self.faults = {}, {}, {}
        self.connections = self.connections_max = self.in_flight_max = 0
        self.in_flight = 0

    def connected(self, now):
        self.connections += 1
        self.connections_max = max(self.connections_max, now)

    def begin(self, method, target, plan):
        """Counts a request; returns its path's [requests, bytes], to which the bytes are added later."""
        self.in_flight += 1
        if self.in_flight > self.in_flight_max:
            self.in_flight_max = self.in_flight
        for kind in plan.kinds if plan else ():
            self.faults[kind] = self.faults.get(kind, 0) + 1
        count = self.by_path.setdefault(f"{method} {target.partition('?')[0]}", [0, 0])
        count[0] += 1
        return count

    def ended(self):
        self.in_flight -= 1

    def status(self, status):
        self.statuses[status] = self.statuses.get(status, 0) + 1

    def forget(self):
        in_flight = self.in_flight
        self.__init__()
        self.in_flight = in_flight

    def told(self):
        return {"requests": sum(count[0] for count in self.by_path.values()),
                "bytes": sum(count[1] for count in self.by_path.values()),
                "by_path": self.by_path, "statuses": self.statuses, "faults": self.faults, "connections": self.connections,
                "connections_max": self.connections_max, "in_flight_max": self.in_flight_max, "in_flight": self.in_flight}


class Proxy:
    """The proxy in a thread of its own. Only obey(), addresses() and close() may be called from another thread."""

    def __init__(self, store, seed=0, rules=()):
        self.rules, self.counts = fault_rules.Rules(seed), Counts()
        self.rules.set(list(rules))
        self.fronts, self.backs, self.idle = set(), set(), []
        self.host, self.port, self.server = "127.0.0.1", None, None
        self._point_at(store)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="proxy")
        self.thread.start()
        self._call(self._listen())

    def _point_at(self, store):
        host, _, port = store.rpartition("://")[2].rstrip("/").rpartition(":")
        self.store = (host, int(port))

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(ANSWER_S)

    async def _listen(self):
        self.server = await self.loop.create_server(lambda: proxy_wire.Front(self), self.host, self.port or 0, backlog=BACKLOG)
        self.port = self.server.sockets[0].getsockname()[1]

    def addresses(self):
        return {"endpoint": f"http://{self.host}:{self.port}", "host": self.host, "port": self.port}

    def take(self):
        """Returns an idle connection to the store, or None."""
        return self.idle.pop() if self.idle else None

    def keep(self, back):
        back.fresh = False
        back.transport.resume_reading()
        self.idle.append(back)

    def connect(self, front):
        """Opens a connection to the store, which `front` then uses."""
        self.loop.create_task(self._connect(front))

    async def _connect(self, front):
        try:
            transport, back = await self.loop.create_connection(lambda: proxy_wire.Back(self), *self.store)
        except OSError:
            front.no_store()
            return
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        front.use(back)

    def _drop(self):
        for front in list(self.fronts):
            proxy_wire.reset(front.transport)

    async def _listen_again(self, after_s):
        await asyncio.sleep(after_s)
        await self._listen()

    async def _obey(self, command):
        known = {"set", "add", "counts", "forget", "refuse_s", "drop", "store"}
        if not command or (wrong := set(command) - known):
            raise ValueError(f"no command {', '.join(sorted(wrong)) if command else ''}; there are: {', '.join(sorted(known))}")
        if "set" in command:
            self.rules.set(command["set"])
        if "add" in command:
            self.rules.add(command["add"])
        if "store" in command:
            self._point_at(command["store"])
            for back in self.idle:
                back.transport.abort()
            self.idle.clear()
        if "refuse_s" in command:
            self.server.close()
            self.again = self.loop.create_task(self._listen_again(command["refuse_s"]))
        if command.get("drop"):
            self._drop()
        answer = json.loads(json.dumps(self.counts.told())) if command.get("counts") else {}
        if command.get("forget"):
            self.counts.forget()
        return answer

    def obey(self, command):
        return self._call(self._obey(command))

    async def _end(self):
        self.server.close()
        for end in [*self.fronts, *self.backs]:
            end.transport.abort()

    def close(self):
        self._call(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


class FaultProxy(children.HelperProgram):
    """The proxy in a process of its own, until close(). `store` is "HOST:PORT" or "http://HOST:PORT".
    Attributes: endpoint, host, port."""

    def __init__(self, store, seed=0, rules=()):
        super().__init__(Path(__file__).resolve(), store, "--seed", seed, "--rules", json.dumps(list(rules)))
        self.endpoint, self.host, self.port = (self.addresses[name] for name in ("endpoint", "host", "port"))

    def set(self, *rules):
        """Replaces all rules; without arguments no request gets a fault."""
        self.tell({"set": rules})

    def add(self, *rules):
        self.tell({"add": rules})

    def counts(self, forget=False):
        """Returns {requests, bytes, by_path: {"GET /path": [requests, bytes]}, statuses, faults, connections, connections_max,
        in_flight, in_flight_max}. With `forget` the next counts begin at 0."""
        return self.tell({"counts": True, "forget": forget})

    def refuse(self, seconds, drop=True):
        """Refuses connections for some seconds, on the same port; with `drop` all that are open are reset."""
        self.tell({"refuse_s": seconds, "drop": drop})

    def drop(self):
        """Resets all connections of readers."""
        self.tell({"drop": True})

    def point_at(self, store):
        self.tell({"store": store})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", metavar="HOST:PORT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", type=json.loads, default=[], metavar="JSON")
    gc.disable()  # connections have no cycles that matter in a test's time, and a collection would delay answers
    children.serve(lambda found: Proxy(found.store, found.seed, found.rules), parser, Proxy.obey)


if __name__ == "__main__":
    main()
