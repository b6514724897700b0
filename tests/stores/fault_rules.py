"""Which requests a fault hits, and what the fault does to each. The rules know nothing of connections.

A rule is a dictionary. `kind` says what it does:

    delay     answers later: `ms`, or with `tail` (a shape such as 1.5) ms times a Pareto draw, so that few delays are very long;
              `max_ms`
    reset     ends the connection by RST: `at` (default 0) is the share of the body before it, or "head" for no answer at all
    status    answers `status` (default 503) without asking the store; `retry_after` in seconds; `body`
    short     sends the whole Content-Length's head, but only the share `at` (default 0.5) of the body, and closes the connection
    stall     sends the share `at` (default 0.5) of the body, and then nothing more
    hang      never answers
    trickle   sends `bytes_per_s` of the body
    flip      flips one bit of the body
    etag      answers another ETag: `etag`, or one that it makes
    redirect  answers `status` (default 307) with the Location `location`

These choose the requests, and all of them must hold; a rule without any hits every request:

    match        a regular expression that is searched in "METHOD /path?query"
    probability  hits this share of the requests
    every        hits each n-th of the matching requests
    first        hits only this many requests
    tries        hits only the first n requests of the same method, path and range, so that a later try succeeds
    for_s        holds for this many seconds after it was set

All rules that hit a request apply to it; of those that answer a status, the first does. A draw depends on the seed, the rule's
number, the request's method, path and range, and how often the same was asked for before: not on the order in which requests of
several connections arrive.
"""
import hashlib
import math
import re
import time

KINDS = {"delay": {"ms", "tail", "max_ms"}, "reset": {"at"}, "status": {"status", "retry_after", "body"}, "short": {"at"},
         "stall": {"at"}, "hang": set(), "trickle": {"bytes_per_s"}, "flip": set(), "etag": {"etag"},
         "redirect": {"status", "location"}}
CHOICES = {"kind", "match", "probability", "every", "first", "tries", "for_s"}
AT_DEFAULT = {"reset": 0, "short": 0.5, "stall": 0.5}


class Plan:
    """What is done to one request. `draw` is a number in [0, 1) for the place of a flipped bit."""

    __slots__ = ("delay_s", "status", "retry_after", "body", "location", "hang", "end", "end_at", "rate", "flip", "etag",
                 "draw", "kinds")

    def __init__(self):
        self.delay_s, self.kinds, self.hang, self.draw = 0.0, [], False, 0.0
        self.status = self.retry_after = self.body = self.location = None
        self.end = self.end_at = self.rate = self.etag = None  # end: reset, short, stall
        self.flip = False


class Rule:
    def __init__(self, number, text, seed):
        kind = text.get("kind")
        if kind not in KINDS:
            raise ValueError(f"there is no kind {kind!r}; there are: {', '.join(KINDS)}")
        if wrong := set(text) - CHOICES - KINDS[kind]:
            raise ValueError(f"a rule of the kind {kind} has no {', '.join(sorted(wrong))}")
        self.number, self.text, self.kind, self.seed = number, text, kind, seed
        self.match = re.compile(text["match"]) if "match" in text else None
        self.until = time.monotonic() + text["for_s"] if "for_s" in text else math.inf
        self.probability, self.every = text.get("probability", 1), text.get("every", 1)
        self.first, self.tries = text.get("first", math.inf), text.get("tries", math.inf)
        self.matched = self.hits = 0

    def draw(self, request, what=""):
        words = f"{self.seed}/{self.number}/{what}/{request}".encode()
        return int.from_bytes(hashlib.blake2b(words, digest_size=7).digest(), "big") / (1 << 56)

    def hits_it(self, line, identity, attempt):
        if self.match and not self.match.search(line):
            return False
        self.matched += 1
        if self.matched % self.every or self.hits >= self.first or attempt >= self.tries or time.monotonic() > self.until:
            return False
        if self.probability < 1 and self.draw((identity, attempt)) >= self.probability:
            return False
        self.hits += 1
        return True

    def _delay_s(self, request):
        text = self.text
        ms = text.get("ms", 50)
        if "tail" in text:
            ms *= (1 - self.draw(request, "delay")) ** (-1 / text["tail"])
        return min(ms, text.get("max_ms", math.inf)) / 1000

    def apply(self, plan, request):
        kind, text = self.kind, self.text
        plan.kinds.append(kind)
        if kind == "delay":
            plan.delay_s += self._delay_s(request)
        elif kind in ("status", "redirect") and plan.status is not None:
            pass  # an earlier rule has said what is answered
        elif kind == "status":
            plan.status, plan.retry_after, plan.body = text.get("status", 503), text.get("retry_after"), text.get("body")
        elif kind == "redirect":
            plan.status, plan.location = text.get("status", 307), text.get("location", "/")
        elif kind == "hang":
            plan.hang = True
        elif kind in AT_DEFAULT:
            plan.end, plan.end_at = kind, text.get("at", AT_DEFAULT[kind])
        elif kind == "trickle":
            plan.rate = text.get("bytes_per_s", 100)
        elif kind == "flip":
            plan.flip, plan.draw = True, self.draw(request, "flip")
        else:
            plan.etag = text.get("etag", f"changed-{self.number}-{self.hits}")


class Rules:
    """The rules that hold now, in their order."""

    def __init__(self, seed=0):
        self.seed, self.rules, self.asked, self.number = seed, [], {}, 0

    def set(self, texts):
        self.rules, self.asked, self.number = [], {}, 0
        self.add(texts)

    def add(self, texts):
        made = [Rule(self.number + index, text, self.seed) for index, text in enumerate(texts)]
        self.number += len(made)
        self.rules.extend(made)

    def plan(self, method, target, byte_range):
        """Returns the Plan for a request, or None if no rule hits it."""
        if not self.rules:
            return None
        identity = f"{method} {target.partition('?')[0]} {byte_range}"
        attempt = self.asked.get(identity, 0)
        self.asked[identity] = attempt + 1
        plan, line = None, f"{method} {target}"
        for rule in self.rules:
            if rule.hits_it(line, identity, attempt):
                plan = plan or Plan()
                rule.apply(plan, (identity, attempt))
        return plan
