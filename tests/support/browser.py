"""Headless Chromium, told what to do over its DevTools protocol, through a pipe: no port, no driver, no library."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

WAIT_S = 60
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")


def program():
    """The path of the program; None: it is not installed."""
    return shutil.which("chromium")


class Browser:
    """One page in one browser, until close(). What the page logs and asks for is gathered in `logged` and `requests`."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="spdld-browser-", ignore_cleanup_errors=True)
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        # The browser reads commands from descriptor 3 and answers on descriptor 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"', "bash", program(), *FLAGS,
             f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.profile.name, "DBUS_SESSION_BUS_ADDRESS": "disabled:"})
        os.close(theirs_in), os.close(theirs_out)
        self.pending, self.number, self.session, self.logged, self.requests = b"", 0, None, [], []
        try:
            target = self.wait_for(lambda: next((one for one in self.call("Target.getTargets")["targetInfos"]
                                                 if one["type"] == "page"), None))
            self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def close(self):
        os.close(self.to), os.close(self.back)
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + WAIT_S
        while True:
            answer = self._receive(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _receive(self, until):
        while b"\0" not in self.pending:
            if not select.select([self.back], [], [], max(until - time.monotonic(), 0))[0]:
                raise TimeoutError("the browser does not answer")
            some = os.read(self.back, 1 << 20)
            if not some:
                raise RuntimeError("the browser ended")
            self.pending += some
        whole, _, self.pending = self.pending.partition(b"\0")
        return json.loads(whole)

    def _note(self, event):
        what, about = event.get("method"), event.get("params", {})
        if what == "Runtime.exceptionThrown":
            self.logged.append(about["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif what == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.logged.append(about["entry"]["text"])
        elif what == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def wait_for(self, what, seconds=WAIT_S):
        until = time.monotonic() + seconds
        while not (found := what()):
            if time.monotonic() > until:
                raise TimeoutError("it did not come")
            time.sleep(0.05)
        return found

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address):
        self.call("Page.navigate", url=address)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "an exception"))
        return result["result"].get("value")

    def text(self):
        return self.value("document.body.innerText")

    def picture(self, file):
        """The whole page, as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        file.write_bytes(base64.b64decode(shot["data"]))
