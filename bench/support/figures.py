"""Medians, quantiles, slopes, tables in Markdown, and the files that they are saved in."""
import json
import math
import statistics
import sys
from pathlib import Path


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def medians(lines):
    """Makes one line with the medians of several lines that have the same keys. Values that are not numbers come from
    the first line."""
    merged = dict(lines[0])
    for key, value in merged.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            merged[key] = statistics.median(line[key] for line in lines)
    return merged


def slope(times, values):
    """Returns (slope, standard error) of the least-squares line. It needs at least three points, at two or more
    different times."""
    count, mean_time, mean_value = len(times), statistics.fmean(times), statistics.fmean(values)
    spread = sum((time - mean_time) ** 2 for time in times)
    rise = sum((time - mean_time) * (value - mean_value) for time, value in zip(times, values)) / spread
    left = sum((value - mean_value - rise * (time - mean_time)) ** 2 for time, value in zip(times, values))
    return rise, math.sqrt(left / (count - 2) / spread)


def markdown(head, rows, right_from=1):
    """Returns a table in Markdown. Columns from `right_from` on hold numbers, and are aligned to the right."""
    rule = ["---" if column < right_from else "---:" for column in range(len(head))]
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in [head, rule, *rows])


def save(folder, files):
    """Writes {name: text} into a folder, which is made where it is missing. Writes nothing where the folder's name is
    empty."""
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (Path(folder) / name).write_text(text)


def finish(name, text, folder, measured=None, failed=False):
    """Ends a script: prints its text, saves the text as NAME.md and what was measured as NAME.json, and exits with code 1
    where it failed. For the folder, see save()."""
    print(text)
    save(folder, {f"{name}.md": text, **({f"{name}.json": json.dumps(measured, indent=1) + "\n"}
                                         if measured is not None else {})})
    sys.exit(1 if failed else 0)
