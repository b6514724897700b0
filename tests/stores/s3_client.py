"""A small client of S3 for tests: signatures of version 4 over http.client, and nothing that a test did not ask for."""
import datetime
import hashlib
import hmac
import http.client
import threading
import urllib.parse
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SERVICE = "s3"
EMPTY_HASH = hashlib.sha256(b"").hexdigest()
UNSIGNED = "UNSIGNED-PAYLOAD"


def quoted(text):
    """Percent-encodes as signatures of version 4 ask for."""
    return urllib.parse.quote(text, safe="-_.~")


def quoted_path(path):
    return urllib.parse.quote(path, safe="/-_.~")


def _query_text(query):
    return "&".join(f"{quoted(name)}={quoted(value)}" for name, value in sorted(query.items()))


def _digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signer:
    """Signs requests by an access key. The key of a day is made once."""

    def __init__(self, access_key, secret_key, region="us-east-1", token=None):
        self.access_key, self.secret_key, self.region, self.token = access_key, secret_key, region, token
        self._of_day = (None, None)

    def _key(self, day):
        if self._of_day[0] != day:
            key = _digest(_digest(("AWS4" + self.secret_key).encode(), day), self.region)
            self._of_day = (day, _digest(_digest(key, SERVICE), "aws4_request"))
        return self._of_day[1]

    def _signature(self, stamp, canonical):
        scope = f"{stamp[:8]}/{self.region}/{SERVICE}/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        return scope, hmac.new(self._key(stamp[:8]), text.encode(), hashlib.sha256).hexdigest()

    def headers(self, method, host, path, query="", body_hash=EMPTY_HASH, more=None, now=None):
        """Returns all headers of a signed request. `path` and `query` are already percent-encoded, `query` in order."""
        stamp = (now or datetime.datetime.now(datetime.timezone.utc)).strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": host, "x-amz-content-sha256": body_hash, "x-amz-date": stamp,
                   **{name.lower(): value for name, value in (more or {}).items()}}
        if self.token:
            headers["x-amz-security-token"] = self.token
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers))
        scope, signature = self._signature(stamp, f"{method}\n{path}\n{query}\n{lines}\n{names}\n{body_hash}")
        headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope}, SignedHeaders={names}, "
                                    f"Signature={signature}")
        return headers

    def presigned(self, host, path, expires_s=86400, scheme="http", now=None):
        """Returns a URL that anybody may GET until it expires."""
        stamp = (now or datetime.datetime.now(datetime.timezone.utc)).strftime("%Y%m%dT%H%M%SZ")
        query = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Date": stamp, "X-Amz-Expires": str(expires_s),
                 "X-Amz-SignedHeaders": "host",
                 "X-Amz-Credential": f"{self.access_key}/{stamp[:8]}/{self.region}/{SERVICE}/aws4_request"}
        if self.token:
            query["X-Amz-Security-Token"] = self.token
        text = _query_text(query)
        signature = self._signature(stamp, f"GET\n{path}\n{text}\nhost:{host}\n\nhost\n{UNSIGNED}")[1]
        return f"{scheme}://{host}{path}?{text}&X-Amz-Signature={signature}"


class Answer:
    """What a server answered. Attributes: status, headers (with lower-case names), body."""

    def __init__(self, response):
        self.status, self.body = response.status, response.read()
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    def ok(self):
        """Returns this answer, or raises RuntimeError where its status is no success."""
        if self.status >= 300:
            raise RuntimeError(f"status {self.status}: {self.body[:500]!r}")
        return self


def add_options(parser):
    """Adds the options --bucket and --put, which a store's program has, and which fill() obeys."""
    parser.add_argument("--bucket", action="append", default=[], help="a bucket to make; may be given several times")
    parser.add_argument("--put", action="append", default=[], metavar="BUCKET=FOLDER",
                        help="makes the bucket, and puts all files of the folder into it; may be given several times")


def fill(client_of, options):
    """Makes the buckets of the options, and puts the files of the folders into them. client_of(bucket) returns a Client."""
    for bucket in options.bucket:
        client_of(bucket).make_bucket()
    for pair in options.put:
        bucket, _, folder = pair.partition("=")
        client, folder = client_of(bucket), Path(folder)
        client.make_bucket()
        client.put_all((path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(folder.rglob("*"))
                       if path.is_file())


class _Connection(http.client.HTTPConnection):
    """Closes itself when its thread or its client ends."""

    def __del__(self):
        self.close()


class Client:
    """Requests to one bucket of a store, in the path style. Each thread has a connection of its own. Without a signer the
    requests are anonymous."""

    def __init__(self, host, port, bucket, signer=None, timeout_s=60):
        self.host, self.port, self.bucket, self.signer, self.timeout_s = host, port, bucket, signer, timeout_s
        self._local = threading.local()

    @property
    def authority(self):
        return f"{self.host}:{self.port}"

    def path(self, key=""):
        return f"/{self.bucket}" + (f"/{quoted_path(key)}" if key else "")

    def request(self, method, key="", query=None, headers=None, body=None):
        """Returns the Answer. Every header in `headers` is signed."""
        path, text = self.path(key), _query_text(query or {})
        sent = dict(headers or {})
        if self.signer:
            body_hash = hashlib.sha256(body).hexdigest() if body else EMPTY_HASH
            sent = self.signer.headers(method, self.authority, path, text, body_hash, headers)
        for attempt in (0, 1):
            connection = getattr(self._local, "connection", None)
            fresh = connection is None
            if fresh:
                connection = self._local.connection = _Connection(self.host, self.port, timeout=self.timeout_s)
            try:
                connection.request(method, path + (f"?{text}" if text else ""), body=body, headers=sent)
                return Answer(connection.getresponse())
            except (http.client.HTTPException, ConnectionError):
                connection.close()
                self._local.connection = None
                if fresh or attempt:  # a kept connection may have been closed by the server, a new one may not
                    raise

    def make_bucket(self):
        return self.request("PUT").ok()

    def put(self, key, body, headers=None):
        return self.request("PUT", key, headers=headers, body=body).ok()

    def get(self, key, headers=None):
        return self.request("GET", key, headers=headers)

    def head(self, key, headers=None):
        return self.request("HEAD", key, headers=headers)

    def delete(self, key):
        return self.request("DELETE", key).ok()

    def presigned(self, key, expires_s=86400):
        return self.signer.presigned(self.authority, self.path(key), expires_s)

    def put_all(self, objects, threads=8):
        """Puts every (key, bytes) of an iterable, with some threads. Returns how many objects it put."""
        def put(pair):
            self.put(*pair)
            return 1

        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(put, objects))

    def list_page(self, prefix="", token=None, page=None, delimiter=None):
        """Returns one page of ListObjectsV2 as ({key: (size, etag)}, common prefixes, the token of the next page or None)."""
        query = {"list-type": "2"}
        for name, value in (("prefix", prefix), ("continuation-token", token), ("max-keys", page and str(page)),
                            ("delimiter", delimiter)):
            if value:
                query[name] = value
        tree = ElementTree.fromstring(self.request("GET", query=query).ok().body)
        for element in tree.iter():
            element.tag = element.tag.rpartition("}")[2]
        objects = {found.findtext("Key"): (int(found.findtext("Size")), found.findtext("ETag"))
                   for found in tree.iter("Contents")}
        prefixes = [found.findtext("Prefix") for found in tree.iter("CommonPrefixes")]
        more = tree.findtext("IsTruncated") == "true"
        return objects, prefixes, tree.findtext("NextContinuationToken") if more else None

    def list_all(self, prefix="", page=None):
        """Returns {key: (size, etag)} of all pages."""
        found, token = {}, None
        while True:
            objects, _, token = self.list_page(prefix, token, page)
            found.update(objects)
            if token is None:
                return found
