"""`python -m spdld try`: one sample through a pipeline's chains, as a table."""
import argparse
import json
import os
import re
import shutil
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import spdld
from spdld._errors import DeniedError, Error, InvalidError, NoDaemonError, TimeoutError, TrialError
from spdld._trial.blocks import blocks_text
from spdld._trial.pictures import save
from spdld._trial.steps import Trial

_FINE, _WRONG, _USAGE, _NO_DAEMON, _DENIED, _TIMED_OUT = range(6)
# As in the processes of a crew: texts have the same hash everywhere, and sums are made in one order.
_SETTINGS = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_MORE = """\
Each line of the table is a step: what an operation gave for this sample, its type, its shape, its least and largest value and
the mean, and for a function the time of its call. An operation of the daemon's shows what a chain gives that ends there.

Functions of your own (op = "python") run in this process: breakpoint() in a function opens the debugger, and what a function
prints comes as usual. They are imported from this folder and from PYTHONPATH. Random draws are the same as in this epoch
of a run. A debugger may hold a function for an hour.

exit codes: 0 success; 1 the sample or the pipeline is wrong; 2 wrong usage; 3 no daemon reachable; 4 denied; 5 timed out

examples:
  %(prog)s train.toml --sample 17
  %(prog)s train.toml --sample 17 --epoch 3 --pdb
  %(prog)s train.toml --sample cats/0017.jpg --save seen
"""


def main(words: Sequence[str]) -> int:
    wishes = _parsed(words)
    missing = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    if missing:  # they are read when Python begins
        os.environ.update(missing)
        os.execv(sys.executable, sys.orig_argv)
    try:
        trial = spdld.try_sample(wishes.pipeline, wishes.sample, epoch=wishes.epoch, socket=wishes.socket, timeout=wishes.timeout)
    except TrialError as error:
        return _tell_bad(error, wishes)
    except Error as error:
        print(f"{_program()}: {error}", file=sys.stderr)
        return _code_of(error)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if type(error).__name__ == "BdbQuit":
            return _WRONG
        raise
    return _tell(trial, wishes)


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"{os.path.basename(sys.executable or 'python3')} -m spdld")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "try", help="run one sample through a pipeline's chains, and show each step", epilog=_MORE,
        description="Run one sample through a pipeline's chains, and show each step.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("pipeline", metavar="FILE", help="the pipeline's file, .toml or .json")
    command.add_argument("--sample", required=True, type=_sample, metavar="N", help="the sample's number, or its name")
    command.add_argument("--epoch", type=_count, default=0, metavar="E", help="the epoch, counted from 0")
    command.add_argument("--socket", metavar="PATH", help="the daemon's socket")
    command.add_argument("--timeout", type=float, metavar="S", help="how many seconds attaching may take (default: 30 minutes)")
    command.add_argument("--pdb", action="store_true", help="open the debugger where a function raises an exception")
    command.add_argument("--pictures", action="store_true", help="draw the pictures in the terminal, as coloured blocks")
    command.add_argument("--save", metavar="FOLDER", help="write each step into this folder: pictures as .png, the rest as .npy")
    command.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how to print")
    return parser.parse_args(words)


def _sample(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no whole number, from 0 on")
    return int(text)


def _program() -> str:
    return os.environ.get("SPDLD_TRY_AS", "spdld")


def _tell(trial: Trial, wishes: argparse.Namespace) -> int:
    if wishes.save is not None:
        try:
            save(trial, wishes.save)
        except OSError as error:
            print(f"{_program()}: cannot write into {wishes.save}: {error.strerror}", file=sys.stderr)
            return _WRONG
    if wishes.output == "json":
        print(json.dumps(document_of(trial)))
    else:
        print(_printable(str(trial)), flush=True)
        if wishes.pictures:
            print(blocks_text(trial, shutil.get_terminal_size().columns), flush=True)
    return _FINE


def _tell_bad(error: TrialError, wishes: argparse.Namespace) -> int:
    if isinstance(error.trial, Trial) and error.trial.steps:
        _tell(error.trial, wishes)
    if error.exception is not None:
        frames = error.__traceback__
        lines = traceback.format_exception(type(error.exception), error.exception, _of_function(frames))
        print(_printable("".join(lines)), file=sys.stderr, end="")
    print(f"{_program()}: {_printable(str(error))}", file=sys.stderr, flush=True)
    if wishes.pdb and error.exception is not None:
        import pdb

        pdb.post_mortem(error.__traceback__)
    return _WRONG


def _of_function(frames: Any) -> Any:
    """The traceback behind the frames of this package."""
    own = os.path.dirname(os.path.abspath(spdld.__file__)) + os.sep
    entry = frames
    while entry is not None and entry.tb_frame.f_code.co_filename.startswith(own):
        entry = entry.tb_next
    return frames if entry is None else entry


def document_of(trial: Trial) -> dict[str, Any]:
    names = ("output", "place", "operation", "kind", "dtype", "shape", "minimum", "maximum", "mean", "seconds")
    steps: list[dict[str, Any]] = [{name: getattr(step, name) for name in names} for step in trial.steps]
    for entry, step in zip(steps, trial.steps, strict=True):
        if step.error is not None:
            entry["error"] = f"{type(step.error).__name__}: {step.error}"
        for name in ("minimum", "maximum", "mean"):  # JSON has no numbers for these
            if entry[name] is not None and entry[name] != entry[name] or entry[name] in (float("inf"), float("-inf")):
                entry[name] = str(entry[name])
    return {"sample": trial.sample, "name": trial.name, "epoch": trial.epoch, "seed": trial.seed, "dropped": trial.dropped,
            "steps": steps,
            "outputs": {name: {"dtype": value.dtype.name, "shape": list(value.shape)} for name, value in trial.outputs.items()},
            "notes": trial.notes}


def _printable(text: str) -> str:
    return re.sub(r"[^\n\x20-\x7e\u00a0-\U0010ffff]", "?", text)


def _code_of(error: Error) -> int:
    codes = ((NoDaemonError, _NO_DAEMON), (DeniedError, _DENIED), (TimeoutError, _TIMED_OUT), (InvalidError, _WRONG))
    return next((code for kind, code in codes if isinstance(error, kind)), _WRONG)
