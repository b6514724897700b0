#!/usr/bin/python3
"""What a private daemon leaves of its errors, as `spdlctl errors --last` shows it."""
import json
import os
import tempfile
import time
from pathlib import Path

from ctl_case import FINE, NO_DAEMON, OPTIONS, WRONG, Case, cases, spdlctl
from daemon import WAIT_S, make_pictures, pipeline_text


class LastErrors(Case):
    def test_its_errors_outlive_it(self):
        if Path("/run/spdld/spdld.sock").exists():
            self.skipTest("a system's daemon runs here")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_pictures(folder / "pictures", classes=1, of_each=4)
            (folder / "pictures/class-0/9.jpg").write_bytes(b"8BPS and so on")
            (folder / "pictures/empty").mkdir()
            text = pipeline_text(folder / "pictures").replace('[order]', 'on_missing = "warn"\n[order]')
            (folder / "x.toml").write_text(text)
            environment = {**os.environ, "XDG_RUNTIME_DIR": name, "XDG_CACHE_HOME": name, "SPDLD_DAEMON": OPTIONS.daemon,
                           "COLUMNS": "400"}
            for variable in ("SPDLD_SOCKET", "CACHE_DIRECTORY"):
                environment.pop(variable, None)
            none = spdlctl("errors", "--last", env=environment)
            self.assert_sentence(none, WRONG)
            self.assertIn("last-errors.json", none.stderr)
            self.assert_code(spdlctl("bench", folder / "x.toml", env=environment), FINE)
            pid = json.loads(spdlctl("status", "-o", "json", env=environment).stdout)["pid"]
            os.kill(pid, 15)
            until = time.monotonic() + WAIT_S
            while spdlctl("ping", env=environment).returncode != NO_DAEMON and time.monotonic() < until:
                time.sleep(0.05)
            while Path(f"/proc/{pid}/fd").exists() and time.monotonic() < until and not self._is_zombie(pid):
                time.sleep(0.05)
            last = spdlctl("errors", "--last", env=environment)
            self.assert_code(last, FINE)
            self.assertRegex(last.stdout, rf"^spdld [\d.]+, pid {pid}, written 2\d\d\d-")
            self.assertRegex(last.stdout, r"(?m)^small +the class folder empty holds no file ending in")
            self.assertRegex(last.stdout, r"(?m)class-0/9.jpg +\d +\d+ +unsupported +a Photoshop picture: "
                                          r"this build decodes JPEG")
            document = json.loads(spdlctl("errors", "--last", "small", "-o", "json", env=environment).stdout)
            self.assertEqual([error["name"] for error in document["errors"]], ["class-0/9.jpg"])
            self.assertEqual(spdlctl("errors", "--last", "other", env=environment).stdout.splitlines()[-1], "no errors")
            (folder / "spdld/last-errors.json").write_text("{")
            self.assert_sentence(spdlctl("errors", "--last", env=environment), WRONG)
            (folder / "spdld/last-errors.json").unlink()
            os.mkfifo(folder / "spdld/last-errors.json")  # nobody waits for who might write to it
            self.assert_sentence(spdlctl("errors", "--last", env=environment), WRONG)

    @staticmethod
    def _is_zombie(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True


if __name__ == "__main__":
    cases.main()
