#!/usr/bin/env python3
"""nginx as a web server over a folder: http, and https with HTTP/2 by a certificate of its own authority.

    web.py FOLDER

As a program it prints its addresses as one line of JSON, and ends with its standard input or with its parent. Besides the
folder's files at /, these paths give the same files in other ways:

    /redirect/PATH       redirects to /PATH (302)            /moved/PATH      redirects to /PATH (301)
    /elsewhere/PATH      redirects to the other scheme       /loop/           redirects to itself
    /no-ranges/PATH      ignores Range                       /no-etag/PATH    has no ETag and no Last-Modified
    /listed/PATH         folders as pages of HTML
"""
import argparse
import getpass
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import children

STARTS = 3
CONFIG = """\
{user}
daemon off;
pid {own}/nginx.pid;
worker_processes 1;
error_log {own}/error.log warn;
events {{ worker_connections 4096; }}
http {{
  log_format json escape=json '["$scheme","$server_protocol","$request_method","$request_uri",$status,$body_bytes_sent,'
                              '"$http_range"]';
  access_log {own}/access.log json;
  client_body_temp_path {own}/body; proxy_temp_path {own}/proxy; fastcgi_temp_path {own}/fastcgi;
  uwsgi_temp_path {own}/uwsgi; scgi_temp_path {own}/scgi;
  types {{ image/jpeg jpg jpeg; image/png png; application/x-tar tar; text/plain txt; application/json json; }}
  default_type application/octet-stream;
  sendfile on; tcp_nopush on; keepalive_requests 1000000; server_tokens off;
  absolute_redirect off;
  server {{
    listen 127.0.0.1:{port};
    listen 127.0.0.1:{tls_port} ssl http2;
    server_name localhost;
    ssl_certificate {own}/server.pem; ssl_certificate_key {own}/server.key;
    root {folder};
    location /redirect/ {{ rewrite ^/redirect/(.*)$ /$1 redirect; }}
    location /moved/ {{ rewrite ^/moved/(.*)$ /$1 permanent; }}
    location /loop/ {{ return 302 $request_uri; }}
    location /elsewhere/ {{ rewrite ^/elsewhere/(.*)$ $elsewhere/$1 redirect; }}
    location /no-ranges/ {{ alias {folder}/; max_ranges 0; }}
    location /no-etag/ {{ alias {folder}/; etag off; add_header Last-Modified ""; }}
    location = /.ready {{ access_log off; return 204; }}
    location /listed/ {{ alias {folder}/; autoindex on; }}
  }}
  map $scheme $elsewhere {{ http https://localhost:{tls_port}; https http://localhost:{port}; }}
}}
"""


CERTIFICATES = """
[req]
distinguished_name = name
[name]
[authority]
subjectKeyIdentifier = hash
basicConstraints = critical, CA:TRUE
[server]
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1, DNS:localhost
"""


def make_certificates(folder):
    """Makes ca.pem, and server.pem with server.key for 127.0.0.1 and localhost, which the authority signed. The settings of the
    machine's own openssl.cnf have no part in it."""
    (folder / "certificates.cnf").write_text(CERTIFICATES)

    def openssl(*arguments):
        done = subprocess.run(["openssl", "req", "-config", "certificates.cnf", "-x509", "-newkey", "ec", "-pkeyopt",
                               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", *arguments],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"openssl failed: {done.stderr}")

    openssl("-extensions", "authority", "-subj", "/CN=the authority of a test", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("-extensions", "server", "-CA", "ca.pem", "-CAkey", "ca.key", "-subj", "/CN=localhost", "-keyout", "server.key",
            "-out", "server.pem")


class Web:
    """Serves a folder until close(). Attributes: folder, host, port, tls_port, endpoint, tls_endpoint, ca (the path of the
    authority's certificate), own (a temporary folder)."""

    host = "127.0.0.1"

    def __init__(self, folder, wait_s=children.WAIT_S):
        self.folder = Path(folder).resolve()
        self._temporary = children.temporary_folder("web")
        self.own, self.child = Path(self._temporary.name), None
        try:
            make_certificates(self.own)
            self.ca = self.own / "ca.pem"
            for attempt in range(STARTS):
                try:
                    self._start(wait_s)
                    break
                except RuntimeError as error:
                    if "Address already in use" not in str(error) or attempt == STARTS - 1:
                        raise
        except BaseException:
            self.close()
            raise

    def _start(self, wait_s):
        self.port, self.tls_port = children.free_ports(2)
        user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
        (self.own / "nginx.conf").write_text(CONFIG.format(user=user, own=self.own, folder=self.folder, port=self.port,
                                                           tls_port=self.tls_port))
        # By SIGTERM the first process ends its worker too.
        self.child = children.Child(["/usr/sbin/nginx", "-p", self.own, "-e", self.own / "error.log", "-c",
                                     self.own / "nginx.conf"],
                                    self.own / "log", signal.SIGTERM)
        children.wait_for(self._answers, [self.child], "nginx", wait_s)

    def _answers(self):
        connection = http.client.HTTPSConnection(self.host, self.tls_port, timeout=5, context=self.tls_context())
        try:
            connection.request("GET", "/.ready")
            return connection.getresponse().status == 204
        finally:
            connection.close()

    @property
    def endpoint(self):
        return f"http://{self.host}:{self.port}"

    @property
    def tls_endpoint(self):
        return f"https://{self.host}:{self.tls_port}"

    def tls_context(self):
        """Returns an SSLContext that trusts the authority."""
        return ssl.create_default_context(cafile=self.ca)

    def addresses(self):
        return {"endpoint": self.endpoint, "tls_endpoint": self.tls_endpoint, "host": self.host, "port": self.port,
                "tls_port": self.tls_port,
                "ca": str(self.ca), "folder": str(self.folder), "log": str(self.own / "access.log"),
                "pids": [self.child.process.pid]}

    def log(self):
        """Returns each finished request as (scheme, protocol, method, path with query, status, bytes of the body, range). nginx
        writes a line shortly after the last byte of the answer."""
        path = self.own / "access.log"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [tuple(json.loads(line)) for line in lines if line.endswith("\n")]

    def requests(self):
        """Returns {path: (requests, bytes of bodies)}."""
        found = {}
        for _, _, _, target, _, size, _ in self.log():
            path = target.partition("?")[0]
            requests, total = found.get(path, (0, 0))
            found[path] = (requests + 1, total + size)
        return found

    def wait_for_requests(self, count, wait_s=5):
        """Waits until the log has `count` requests; returns them."""
        until = time.monotonic() + wait_s
        while len(found := self.log()) < count and time.monotonic() < until:
            time.sleep(0.01)
        return found

    def forget(self):
        """Empties the log."""
        os.truncate(self.own / "access.log", 0)

    def close(self):
        if self.child:
            self.child.close()
        self._temporary.cleanup()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    children.serve(lambda found: Web(found.folder), parser)


if __name__ == "__main__":
    main()
