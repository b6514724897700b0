#!/usr/bin/python3
"""Debian's own Prometheus asks a daemon: it takes /metrics, and every expression of the alerts and the dashboard."""
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/http"))
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
from served import TOKEN, WAIT_S, ServedCase, wait_for

OPTIONS = cases.options("daemon", "ctl")
DEPLOY = ROOT / "deploy/prometheus"
# Of parts that this test has none of: their names are the schema's.
ABSENT = ("spdld_store_", "spdld_gpu_", "spdld_operation_")


def promtool(*words, **options):
    return subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=WAIT_S * 2, **options)


def rules():
    """Each expression of the alerts, by its name; the file is plain enough to be read by lines."""
    found, name = {}, None
    for line in (DEPLOY / "spdld.rules.yml").read_text().splitlines():
        if match := re.match(r" *- alert: (\w+)", line):
            name = match[1]
        elif match := re.match(r" *expr: (?!>)(.+)", line):
            found[name] = match[1]
        elif name and name not in found and re.match(r" {10,}\S", line) and "annotations" not in line:
            found[name] = found.pop(name + "+", "") + line
    return found


def panels():
    """Each expression of the dashboard, with values in the place of its variables."""
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for variable, value in (("$__rate_interval", "30s"), ("$__range", "1h"), ("$instance", ".*"), ("$pipeline", ".*")):
                expression = expression.replace(variable, value)
            yield panel["title"], expression


class TheFiles(unittest.TestCase):
    def test_the_rules_are_in_order(self):
        done = promtool("check", "rules", DEPLOY / "spdld.rules.yml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("10 rules found", done.stdout)

    def test_each_alert_fires_on_its_trouble_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / "tests/deploy/prometheus/rules.test.yml", folder)
            rules_file = Path(folder, "spdld.rules.yml")
            shutil.copy(DEPLOY / "spdld.rules.yml", rules_file)
            done = promtool("test", "rules", Path(folder, "rules.test.yml"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rules_file.write_text(rules_file.read_text().replace("> 0.05", "> 0.5"))
            done = promtool("test", "rules", Path(folder, "rules.test.yml"))
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_the_example_is_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            file, rules_file, token = (Path(folder, name) for name in ("prometheus.yml", "spdld.rules.yml", "token"))
            shutil.copy(DEPLOY / "spdld.rules.yml", rules_file)
            token.write_text(TOKEN)
            text = (DEPLOY / "prometheus.yml").read_text()
            for path, own in (("/etc/prometheus/spdld.rules.yml", rules_file), ("/etc/prometheus/spdld-token", token)):
                self.assertEqual(text.count(path), 1)
                text = text.replace(path, str(own))
            file.write_text(text)
            done = promtool("check", "config", file)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Scraped(ServedCase):
    options = OPTIONS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            cls.address = f"127.0.0.1:{probe.getsockname()[1]}"
        data = cls.folder / "prometheus"
        (cls.folder / "prometheus.yml").write_text(
            f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{DEPLOY}/spdld.rules.yml']\n"
            "scrape_configs:\n"
            f"  - job_name: spdld\n    authorization: {{credentials_file: '{cls.token}'}}\n"
            f"    static_configs: [{{targets: ['127.0.0.1:{cls.port}']}}]\n")
        log = cls.enterClassContext(open(cls.folder / "prometheus.log", "w"))
        process = subprocess.Popen(["prometheus", f"--config.file={cls.folder}/prometheus.yml", f"--storage.tsdb.path={data}",
                                    f"--web.listen-address={cls.address}"], stdout=log, stderr=log)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.kill)

    def query(self, expression):
        """The values by their labels; nothing where Prometheus does not answer yet."""
        address = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it begins
                return []
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        except urllib.error.URLError:
            return []
        self.assertEqual(found["status"], "success", found)
        return [(one["metric"], float(one["value"][1])) for one in found["data"]["result"]]

    def test_prometheus_takes_what_the_daemon_tells(self):
        log = self.folder / "prometheus.log"
        wait_for(lambda: self.query('up{job="spdld"} == 1'), "Prometheus gets no metrics: " + log.read_text()[-2000:], 60)
        (labels, rate), = wait_for(lambda: self.query('rate(spdld_pipeline_samples_total[10s]) > 0'), "there is no rate", 60)
        self.assertEqual(labels["pipeline"], "small")
        self.assertGreater(rate, 0)
        states = {labels["state"]: value for labels, value in self.query("spdld_pipeline_state")}
        self.assertEqual({state for state, value in states.items() if value}, {"running"})
        quantile, = self.query('histogram_quantile(0.5, rate(spdld_stage_duration_seconds_bucket{stage="decode"}[10s]))')
        self.assertTrue(1e-7 < quantile[1] < 10, quantile)
        self.assertEqual(self.query('{__name__=~"spdld.*", pipeline!="", pipeline!="small"}'), [])
        damaged, = self.query("spdld_pipeline_damaged_total")
        self.assertGreater(damaged[1], 0)

    def test_the_text_is_in_order(self):
        status, kind, text = self.ask("/metrics")
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        done = promtool("check", "metrics", input=text)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.ask("/metrics", token=None)[0], 401)

    def test_alerts_and_dashboard_ask_for_what_there_is(self):
        names = set(re.findall(r"^# TYPE (\w+)", self.ask("/metrics")[2], re.MULTILINE))
        schema = (ROOT / "daemon/metrics/figures.h").read_text()
        expressions = [*rules().items(), *panels()]
        self.assertGreater(len(expressions), 30)
        for title, expression in expressions:
            asked = set(re.findall(r"\bspdld_\w+", expression))
            self.assertTrue(asked or title == "SpdldDown", f"{title}: {expression}")
            for name in asked:
                plain = re.sub(r"_bucket$", "", name)
                if plain.startswith(ABSENT):
                    number = re.sub(r"(_seconds)?(_total)?$", "", plain.split("_", 2)[2])
                    self.assertIn(f'{{"{number}", ', schema, f"{title}: {name}")
                else:
                    self.assertIn(plain, names, title)
        for title, expression in expressions:
            if expression.strip():
                wait_for(lambda: self.query("up"), "Prometheus does not answer", 60)
                self.query(expression)  # fails where Prometheus does not understand it


if __name__ == "__main__":
    cases.main()
