"""Carries rows of the table from the process that measures to the process that collects, as one line of JSON each."""
import json
import sys

MARK = "=row= "
PASS, FAIL, MEASURED, NOT_POSSIBLE, NOT_TRIED = "pass", "fail", "measured", "not possible", "not tried"


class NotPossible(Exception):
    """Says that this machine cannot do the job. The remaining rows of the job then tell the reason."""


class Report:
    """Writes the rows that a job reports, each row once. `values` go into the JSON as they are."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stdout

    def row(self, name, outcome, measured="", wanted="", remark="", **values):
        row = {"row": name, "outcome": outcome, "measured": measured, "wanted": wanted, "remark": remark, "values": values}
        self.stream.write(MARK + json.dumps(row) + "\n")
        self.stream.flush()

    def check(self, name, holds, measured="", wanted="", remark="", **values):
        self.row(name, PASS if holds else FAIL, measured, wanted, remark, **values)

    def measured(self, name, measured, remark="", **values):
        self.row(name, MEASURED, measured, "", remark, **values)

    def not_possible(self, name, why):
        self.row(name, NOT_POSSIBLE, remark=why)


def rows_in(output):
    """Splits the output of a job into its rows and the other lines."""
    rows, others = [], []
    for line in output.splitlines():
        if line.startswith(MARK):
            rows.append(json.loads(line[len(MARK):]))
        elif line.strip():
            others.append(line)
    return rows, others


def plain(text, width=300):
    """Returns the text as one line, without the character that separates columns in Markdown."""
    text = " ".join(str(text).split()).replace("|", "/")
    return text if len(text) <= width else text[:width - 3] + "..."


def table(rows):
    lines = ["| What | Outcome | Measured | Wanted | Remark |", "| --- | --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(plain(row[key]) for key in ("row", "outcome", "measured", "wanted", "remark")) + " |"
              for row in rows]
    return "\n".join(lines)


def totals(rows):
    count = {outcome: sum(row["outcome"] == outcome for row in rows)
             for outcome in (PASS, FAIL, MEASURED, NOT_POSSIBLE, NOT_TRIED)}
    return ", ".join(f"{number} {outcome}" for outcome, number in count.items())
