#!/usr/bin/env python3
"""Measures readers of Parquet files beside one another: spdld, pyarrow, LitData, and Hugging Face datasets.

    bench/parquet/peers.py [--build DIR] [--peers DIR] [--install] [--data DIR] [--works NAME,...] [--readers NAME,...]
                           [--seconds 4] [--turns 5] [--trial 2] [--out DIR]

--build    The build directory of spdld, whose daemon and package are measured. Without it: the installed ones.
--peers    The virtual environment of the others (default build/parquet-peers). --install makes it from requirements.txt.
--data     A folder for the files that are read, about 700 MB (default: below the temporary folder). The script corpus.py makes
           missing files.
--works    text-zstd, text-snappy: documents of 2 to 4 KB in batches of 256. jpg: pictures' bytes in batches of 64. pixels: these
           decoded and resized to 224 x 224.
--seconds  The length of one turn. --trial: that of each setting that is tried before.

Each reader's settings (workers, decoders) are tried once for each work. Those with the most rows a second and with the least CPU
a row take turns then. All readers shuffle a window of the same number of rows, and the files are in the page cache. CPU is the
user and system time of the reading process and of all processes below it, among them the daemon. The table has medians over the
turns, and spdld's value divided by each reader's.

All readers have their default settings for memory, by which spdld and others hold what they have decoded. The row "spdld,
decoding anew" may hold less than the column, so that it decodes every row group in each epoch. The row "spdld" is held to the
goals beside all loaders but the readers in ASIDE. The exit code is 1 where spdld misses a goal, unless --no-fail.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]
import figures
import machine
import own_daemon
import readers

LIMIT_S = 300  # of one turn; the first one of a reader may write an index or a cache of its own
WARM_S = 3  # more than an epoch
PICTURES = 2400
# anew_bytes_max: less than the column unpacked, so that every epoch decodes it anew.
TEXT = {"batch": 256, "window": 10_000, "length_max": 4096, "anew_bytes_max": 256 << 20}
JPG = {"batch": 64, "window": 600, "length_max": 2 << 20, "anew_bytes_max": 192 << 20}
WORKS = {"text-zstd": TEXT | {"work": "text", "folder": "text-zstd"},
         "text-snappy": TEXT | {"work": "text", "folder": "text-snappy"},
         "jpg": JPG | {"work": "jpg", "folder": "jpg"}, "pixels": JPG | {"work": "pixels", "folder": "jpg"}}
OWN, ANEW = "spdld", "spdld, decoding anew"
HEAD = ["reader", "rows a second", "spdld's rate by the reader's", "the same, decoding anew", "CPU µs a row",
        "spdld's CPU by the reader's", "the same, decoding anew", "CPU of the daemon alone", "MB/s", "setting"]
# These read in the process that trains, or are no loader's ordinary way: their rows stand in the table, beside the goals.
ASIDE = ("pyarrow, in the trainer", "pyarrow, buffers")
GOAL_RATE, GOAL_CPU = 1.5, 0.6


def is_own(reader):
    return reader.startswith("spdld")


def install(folder):
    if not (folder / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt"], check=True)


def make_data(folder, python):
    pictures = folder / "pictures"
    if not pictures.exists():
        subprocess.run([HERE.parents[1] / "deploy/make_corpus.py", pictures, "--count", str(PICTURES)], check=True)
    if not (folder / "files").exists():
        half = folder / "files.half"
        subprocess.run(["rm", "-rf", half], check=True)
        subprocess.run([python, HERE / "corpus.py", half, pictures], check=True)
        half.rename(folder / "files")


def settings_of(reader):
    """Returns the settings that are tried: [{keys of a job}]."""
    if is_own(reader) or reader == "pyarrow, in the trainer":
        return [{}]
    found = [{"workers": workers} for workers in ((1, 2) if reader == "pyarrow" else (0, 1, 2))]
    if reader == "litdata":
        found = [setting | {"low_memory": low} for setting in found for low in (False, True)]
    return found


def job_of(reader, work, setting, data, seconds):
    return {"workers": 0, "decoder": "pil", "low_memory": False} | WORKS[work] | setting | {
        "reader": reader, "folder": str(data / "files" / WORKS[work]["folder"]), "scratch": str(data / "scratch"),
        "objects": reader == "spdld, objects", "anew": reader == ANEW, "seconds": seconds, "warm_s": WARM_S}


def run(python, job):
    """Returns one turn's figures. Raises RuntimeError where it fails."""
    program = sys.executable if is_own(job["reader"]) else python
    try:
        done = subprocess.run([program, "-B", HERE / "one.py", json.dumps(job)], capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"it took more than {LIMIT_S} s") from error
    if done.returncode != 0 or not done.stdout.strip():
        raise RuntimeError((done.stderr.strip().splitlines() or ["no words"])[-1][:300])
    line = json.loads(done.stdout.splitlines()[-1])
    return line | {"rate": line["rows"] / line["seconds"], "cpu_us": 1e6 * line["cpu_s"] / line["rows"],
                   "daemon_us": 1e6 * line["daemon_cpu_s"] / line["rows"]}


def words_of(setting):
    return ", ".join(str(value) if key == "decoder" else f"{key} {value}" for key, value in setting.items())


def tell(*words):
    print(*words, file=sys.stderr, flush=True)


def quicker_decoder(python, data, seconds):
    found = {}
    for decoder in ("pil", "torchvision"):
        found[decoder] = run(python, job_of("pyarrow, in the trainer", "pixels", {"decoder": decoder}, data, seconds))["cpu_us"]
        tell(f"pixels with {decoder}: {found[decoder]:.1f} us")
    return min(found, key=found.get)


def chosen(python, reader, work, data, seconds, more):
    """Returns the settings of a reader with the most rows a second and with the least CPU a row, which may be the same. `more`
    keys are in all."""
    tried, settings = [], [setting | more for setting in settings_of(reader)]
    if len(settings) == 1:
        return settings if not is_own(reader) else [{}]
    for setting in settings:
        try:
            line = run(python, job_of(reader, work, setting, data, seconds))
        except RuntimeError as error:
            tell(f"{work}, {reader}, {words_of(setting)}: failed: {error}")
            continue
        tell(f"{work}, {reader}, {words_of(setting)}: {line['rate']:.0f} rows/s, {line['cpu_us']:.1f} us")
        tried.append((line["rate"], line["cpu_us"], setting))
    if not tried:
        return []
    fast, frugal = max(tried, key=lambda each: each[0])[2], min(tried, key=lambda each: each[1])[2]
    return [fast] if fast == frugal else [fast, frugal]


def take_turns(python, work, settings, data, arguments):
    """Returns {(reader, setting in words): [figures of each turn]}."""
    lines = {}
    for turn in range(arguments.turns):
        for reader, of_reader in settings.items():
            for setting in of_reader:
                try:
                    line = run(python, job_of(reader, work, setting, data, arguments.seconds))
                except RuntimeError as error:
                    tell(f"{work}, turn {turn + 1}: {reader} failed: {error}")
                    continue
                lines.setdefault((reader, words_of(setting)), []).append(line)
                tell(f"{work}, turn {turn + 1}: {reader}: {line['rate']:.0f} rows/s, {line['cpu_us']:.1f} us")
    return lines


def table(lines):
    """Returns the table, and whether spdld reaches its goals beside all of the others."""
    medians = {key: figures.medians(of_key) for key, of_key in lines.items()}

    def ratio(key, measure, row=OWN):  # within each turn
        own = lines.get((row, ""))
        return statistics.median(mine[measure] / its[measure] for mine, its in zip(own, lines[key])) if own else float("nan")

    body = []
    for key, line in sorted(medians.items(), key=lambda pair: -pair[1]["rate"]):
        body.append([f"**{key[0]}**" if is_own(key[0]) else key[0], f"{line['rate']:.0f}", f"{ratio(key, 'rate'):.2f}",
                     f"{ratio(key, 'rate', ANEW):.2f}", f"{line['cpu_us']:.1f}", f"{ratio(key, 'cpu_us'):.2f}",
                     f"{ratio(key, 'cpu_us', ANEW):.2f}", f"{line['daemon_us']:.1f}" if is_own(key[0]) else "",
                     f"{line['bytes'] / line['seconds'] / 1e6:.0f}", key[1]])
    others = [key for key in lines if not is_own(key[0]) and key[0] not in ASIDE]
    met = all(ratio(key, "rate") >= GOAL_RATE and ratio(key, "cpu_us") <= GOAL_CPU for key in others)
    return figures.markdown(HEAD, body), met


def names(known):
    def parse(text):
        found = text.split(",") if "," not in "".join(known) else [name for name in known if f";{name};" in f";{text};"]
        if not found or set(found) - set(known):
            raise argparse.ArgumentTypeError(f"must be some of: {'; '.join(known)}")
        return found
    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="")
    parser.add_argument("--peers", type=Path, default=HERE.parents[1] / "build/parquet-peers")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "spdld-parquet")
    parser.add_argument("--works", type=names(WORKS), default=list(WORKS))
    parser.add_argument("--readers", type=names(readers.READERS), default=list(readers.READERS), help="separated by semicolons")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--trial", type=float, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", default="")
    parser.add_argument("--no-fail", action="store_true")
    arguments = parser.parse_args()
    own_daemon.use_build(arguments.build)
    if arguments.install:
        install(arguments.peers.absolute())
    python, data = arguments.peers.absolute() / "bin/python", arguments.data.absolute()
    data.mkdir(parents=True, exist_ok=True)
    make_data(data, python)
    machine.warm_page_cache((data / "files").rglob("*.parquet"))
    text, measured, missed = machine.hardware() + f"; medians of {arguments.turns} turns of {arguments.seconds:g} s.\n", {}, False
    for work in arguments.works:
        more = {"decoder": quicker_decoder(python, data, arguments.trial)} if work == "pixels" else {}
        settings = {reader: chosen(python, reader, work, data, arguments.trial, more) for reader in arguments.readers
                    if not (work == "pixels" and reader in ("pyarrow, buffers", "spdld, objects"))}
        lines = take_turns(python, work, settings, data, arguments)
        body, met = table(lines)
        text += f"\n{work}\n\n{body}"
        missed = missed or not met
        measured[work] = [{"reader": reader, "setting": setting, "turns": of_key} for (reader, setting), of_key in lines.items()]
        tell(text)
    figures.finish("parquet", text, arguments.out, measured, failed=missed and not arguments.no_fail)


if __name__ == "__main__":
    main()
