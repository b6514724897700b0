"""The two ends of the fault proxy's connections: the reader's (Front) and the store's (Back). Bytes of bodies pass through
as they come; only heads are looked at. Everything runs in the thread of one event loop."""
import asyncio
import re
import socket
import struct
from http.client import responses

HEAD_BYTES_MAX = 64 * 1024
TICK_S = 0.02  # of a body that trickles
RESET_AFTER_S = 0.05  # the reader has read the part of the body by then
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r]*chunked", re.IGNORECASE)
CLOSE = re.compile(rb"\r\nconnection:[ \t]*close", re.IGNORECASE)
RANGE = re.compile(rb"\r\nrange:[ \t]*([^\r]*)", re.IGNORECASE)
EXPECT = re.compile(rb"\r\nexpect:[ \t]*100-continue", re.IGNORECASE)
ETAG = re.compile(rb"\r\netag:[^\r]*", re.IGNORECASE)
S3_CODES = {429: "TooManyRequests", 500: "InternalError", 503: "SlowDown"}


def reset(transport):
    """Ends a connection by RST."""
    sock = transport.get_extra_info("socket")
    if sock is not None and not transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


class Body:
    """Finds the end of a body: of a length, in chunks, or (length None) at the end of the connection."""

    def __init__(self, head):
        self.chunked = bool(CHUNKED.search(head))
        found = None if self.chunked else LENGTH.search(head)
        self.length = int(found[1]) if found else None
        self.left = self.length
        self.line, self.trailer = b"", False

    def take(self, chunk):
        """Returns how many bytes of `chunk` belong to the body, and whether the body ends with them."""
        if self.chunked:
            return self._take_chunks(chunk)
        if self.left is None:
            return len(chunk), False
        taken = min(self.left, len(chunk))
        self.left -= taken
        return taken, self.left == 0

    def _take_chunks(self, chunk):
        at = 0
        self.left = self.left or 0  # of the current chunk and its line end
        while at < len(chunk):
            if self.left:
                step = min(self.left, len(chunk) - at)
                self.left -= step
                at += step
                continue
            end = chunk.find(b"\n", at)
            if end < 0:
                self.line += chunk[at:]
                return len(chunk), False
            line, self.line, at = (self.line + chunk[at:end]).strip(), b"", end + 1
            if self.trailer:
                if not line:
                    return at, True
            elif (size := int(line.split(b";")[0], 16)) == 0:
                self.trailer = True
            else:
                self.left = size + 2
        return at, False


class Back(asyncio.Protocol):
    """A connection to the store. It serves one Front at a time, and none while it is idle."""

    def __init__(self, proxy):
        self.proxy, self.front, self.transport, self.head, self.body = proxy, None, None, b"", None
        self.fresh, self.close_after = True, False

    def connection_made(self, transport):
        self.transport = transport
        self.proxy.backs.add(self)

    def connection_lost(self, error):
        self.proxy.backs.discard(self)
        if self in self.proxy.idle:
            self.proxy.idle.remove(self)
        if self.front:
            front, self.front = self.front, None
            front.back_lost(self.body is not None and self.body.length is None and not self.body.chunked)

    def pause_writing(self):
        if self.front and self.front.transport:
            self.front.transport.pause_reading()

    def resume_writing(self):
        if self.front and self.front.transport:
            self.front.transport.resume_reading()

    def data_received(self, chunk):
        if self.front is None:
            self.transport.abort()
            return
        while chunk and self.front:
            if self.body is not None:
                self._pass_on(chunk)
                return
            self.head += chunk
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            head, chunk, self.head = self.head[:end + 4], self.head[end + 4:], b""
            status = int(head[9:12])
            if 100 <= status < 200:
                self.front.transport.write(head)
                continue
            self.body = Body(head)
            if self.front.method == "HEAD" or status in (204, 304) or self.body.length == 0:
                self.body.length = self.body.left = 0
                self.body.chunked = False
            self.close_after = bool(CLOSE.search(head)) or head[:8] == b"HTTP/1.0" or (self.body.length is None
                                                                                       and not self.body.chunked)
            self.front.answer_head(head, status, self.body, self.close_after)
            if self.front and self.body.length == 0:
                self._done()

    def _pass_on(self, chunk):
        taken, last = self.body.take(chunk)
        self.front.answer_body(chunk if taken == len(chunk) else chunk[:taken])
        if last and self.front:
            self._done()

    def _done(self):
        front, self.front, self.body = self.front, None, None
        if self.close_after:
            self.transport.close()
        else:
            self.proxy.keep(self)
        front.answer_ends()


class Front(asyncio.Protocol):
    """A connection of a reader. It has one request at a time; bytes of later requests wait."""

    def __init__(self, proxy):
        self.proxy, self.transport, self.back, self.timer, self.paused = proxy, None, None, None, False
        self.buffer, self.busy, self.swallow, self.sending, self.queue = b"", False, None, None, None
        self.pending = None  # bytes for a Back that is not connected yet

    def connection_made(self, transport):
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.proxy.fronts.add(self)
        self.proxy.counts.connected(len(self.proxy.fronts))

    def connection_lost(self, error):
        self.proxy.fronts.discard(self)
        if self.timer:
            self.timer.cancel()
        if self.busy:
            self.proxy.counts.ended()
        if self.back:
            back, self.back = self.back, None
            back.front = None
            back.transport.abort()
        self.transport = None

    def pause_writing(self):
        self.paused = True
        if self.back:
            self.back.transport.pause_reading()

    def resume_writing(self):
        self.paused = False
        if self.back:
            self.back.transport.resume_reading()

    def data_received(self, chunk):
        if self.sending is not None:  # a request's body
            chunk = self._send_body(chunk)
        self.buffer = self.buffer + chunk if self.buffer else chunk
        if not self.busy:
            self._next_request()
        elif len(self.buffer) > HEAD_BYTES_MAX and self.sending is None:
            self.transport.pause_reading()

    def _send_body(self, chunk):
        taken, last = self.sending.take(chunk)
        if self.swallow is None:
            self._to_store(chunk[:taken])
        if last:
            self.sending = None
            if self.swallow is not None:
                answer, self.swallow = self.swallow, None
                answer()
        return chunk[taken:]

    def _to_store(self, chunk):
        if self.pending is not None:
            self.pending.append(chunk)
        elif self.back:
            self.back.transport.write(chunk)

    def _next_request(self):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self.buffer) > HEAD_BYTES_MAX:
                self.transport.abort()
            return
        head, rest, self.buffer = self.buffer[:end + 4], self.buffer[end + 4:], b""
        self.method, self.target, _ = head[:head.index(b"\r\n")].decode("latin-1").split(" ", 2)
        byte_range = RANGE.search(head)
        self.plan = self.proxy.rules.plan(self.method, self.target, byte_range[1].decode("latin-1") if byte_range else "")
        self.busy, self.answered, self.sent, self.swallow = True, False, 0, None
        self.close_after = bool(CLOSE.search(head)) or head[:head.index(b"\r\n")].endswith(b"HTTP/1.0")
        self.waits = bool(EXPECT.search(head))
        self.count = self.proxy.counts.begin(self.method, self.target, self.plan)
        body = Body(head)
        if not body.chunked and not body.length:
            body = None
        self.sending, self.pending, self.retry = body, [head], None if body else head
        plan = self.plan
        if plan and (plan.hang or plan.status or plan.end_at == "head"):
            self._after(plan.delay_s, self._answer_alone)
        else:
            self._after(plan.delay_s if plan else 0, self._ask)
        if self.sending is not None and rest:
            rest = self._send_body(rest)
        self.buffer += rest

    def _after(self, delay_s, call):
        if delay_s:
            self.timer = self.proxy.loop.call_later(delay_s, call)
        else:
            call()

    def _answer_alone(self):
        """Answers without the store. A body of the request is read to its end before."""
        plan = self.plan
        if plan.end_at == "head":
            reset(self.transport)
        elif plan.hang:
            self.swallow = lambda: None
        elif self.sending is not None and not self.waits:
            self.swallow = self._answer_status
        else:
            self.close_after = self.close_after or self.sending is not None  # the reader sends no body now
            self._answer_status()

    def _answer_status(self):
        plan = self.plan
        text = plan.body
        if text is None:
            code = S3_CODES.get(plan.status, "Fault")
            text = (f'<?xml version="1.0" encoding="UTF-8"?>\n'
                    f'<Error><Code>{code}</Code><Message>A fault of the test.</Message></Error>')
        body = text.encode()
        lines = [f"HTTP/1.1 {plan.status} {responses.get(plan.status, 'Fault')}", f"Content-Length: {len(body)}",
                 "Content-Type: application/xml"]
        if plan.retry_after is not None:
            lines.append(f"Retry-After: {plan.retry_after}")
        if plan.location is not None:
            lines.append(f"Location: {plan.location}")
        self.proxy.counts.status(plan.status)
        self.transport.write("\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if self.method == "HEAD" else body))
        self.answer_ends()

    def _ask(self):
        self.timer = None
        back = self.proxy.take()
        if back is None:
            self.proxy.connect(self)
        else:
            self.use(back)

    def use(self, back):
        """Goes on with a connection to the store."""
        if self.transport is None:
            self.proxy.keep(back)
            return
        self.back, back.front, self.close_back = back, self, False
        back.transport.write(b"".join(self.pending) if len(self.pending) > 1 else self.pending[0])
        self.pending = None
        if self.paused:
            back.transport.pause_reading()

    def back_lost(self, at_end):
        """The store has ended its connection."""
        back, self.back = self.back, None
        if self.transport is None:
            return
        if self.answered and at_end:
            self.close_after = True
            self.answer_ends()
        elif not self.answered and not back.fresh and self.retry:  # an idle connection that the store closed meanwhile
            self.pending, self.retry = [self.retry], None
            self.proxy.connect(self)
        else:
            self.transport.abort()

    def no_store(self):
        """The store refuses connections."""
        if self.transport:
            self.transport.abort()

    def answer_head(self, head, status, body, close_after):
        self.answered, plan, self.limit, self.flip_at, self.queue = True, self.plan, None, None, None
        self.close_after = self.close_after or close_after
        self.proxy.counts.status(status)
        if plan:
            if plan.etag:
                head = ETAG.sub(f'\r\nETag: "{plan.etag}"'.encode(), head, 1)
            if plan.end:
                self.limit = int((body.length if body.length is not None else 0) * plan.end_at)
            if plan.flip and body.length:
                self.flip_at = int(body.length * plan.draw)
            if plan.rate and body.length != 0:
                self.queue = bytearray()
        self.transport.write(head)
        if self.limit == 0:
            self._cut()

    def answer_body(self, chunk):
        if self.flip_at is not None and self.sent <= self.flip_at < self.sent + len(chunk):
            changed = bytearray(chunk)
            changed[self.flip_at - self.sent] ^= 1
            chunk = bytes(changed)
        over = self.limit is not None and self.sent + len(chunk) >= self.limit
        if over:
            chunk = chunk[:self.limit - self.sent]
        self.sent += len(chunk)
        if self.queue is not None:
            self.queue += chunk
            if over:
                self._let_go()
            if not self.timer:
                self._trickle()
            return
        self.count[1] += len(chunk)
        self.transport.write(chunk)
        if over:
            self._cut()

    def _trickle(self):
        """Sends a share of what waits, and calls itself again. The store's connection is read no further meanwhile."""
        self.timer = None
        step = max(1, int(self.plan.rate * TICK_S))
        chunk = bytes(self.queue[:step])
        del self.queue[:step]
        self.count[1] += len(chunk)
        self.transport.write(chunk)
        if self.back:
            (self.back.transport.pause_reading if len(self.queue) > HEAD_BYTES_MAX else self.back.transport.resume_reading)()
        if self.queue or self.back:
            self.timer = self.proxy.loop.call_later(len(chunk) / self.plan.rate or TICK_S, self._trickle)
        elif self.limit is not None:
            self._cut()
        else:
            self._finish()

    def _let_go(self):
        """Ends the connection to the store, because the reader needs no more bytes."""
        back, self.back = self.back, None
        if back:
            back.front = None
            back.transport.abort()

    def _cut(self):
        """Ends the answer in the middle of the body."""
        self._let_go()
        if self.plan.end == "short":
            self.transport.close()
        elif self.plan.end == "reset":
            self.timer = self.proxy.loop.call_later(RESET_AFTER_S if self.sent else 0, reset, self.transport)

    def answer_ends(self):
        self.back = None
        if self.transport is not None and self.queue is None:
            self._finish()

    def _finish(self):
        self.busy, self.timer, self.queue = False, None, None
        self.proxy.counts.ended()
        if self.close_after:
            self.transport.close()
            return
        self.transport.resume_reading()
        if self.buffer:
            self._next_request()
