"""Where a script puts CutMix and MixUp: in the collate_fn of a DataLoader, or first in the loop over one."""
import ast
from typing import NamedTuple

from spdld._script import Script

_NAMES = [f"torchvision.transforms.v2.{name}" for name in ("RandomChoice", "CutMix", "MixUp")]
DEFAULT_COLLATE = ("torch.utils.data.default_collate", "torch.utils.data.dataloader.default_collate",
            "torch.utils.data._utils.collate.default_collate")


class Mixing(NamedTuple):
    """call: what mixes the batches of a DataLoader; none where nothing does. unplaced: what mixes somewhere in the script."""

    call: ast.Call | None
    unplaced: list[ast.Call]


def mixing_of(script: Script, loader: ast.Call | None, collate: ast.expr | None) -> Mixing:
    """The call that mixes this DataLoader's batches, by the script's text. `collate`: its collate_fn."""
    mixers = _mixers(script)
    placed = (_in_collate(script, collate), *_in_loops(script, loader))
    found = [call for call in mixers for place in placed if place is call]
    return Mixing(found[0], []) if len(found) == 1 else Mixing(None, found or mixers)


def _mixers(script: Script) -> list[ast.Call]:
    """The calls that make CutMix and MixUp, and a RandomChoice that has nothing else."""
    mixes = script.calls(*_NAMES[1:])
    parts = {call: parts_of(script, call) for call in script.calls(_NAMES[0])}
    choices = [call for call, nodes in parts.items() if any(part in mixes for part in nodes)]
    inner = {part for call in choices for part in parts[call] if part is not call}
    return choices + [call for call in mixes if call not in inner]


def parts_of(script: Script, call: ast.Call) -> list[ast.AST]:
    """The nodes of a call, and of what the names in its list stand for."""
    parts = list(ast.walk(call))
    for name in [part for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]:
        found = script.followed_or_none(name)
        parts += [] if found is None or found is name else list(ast.walk(found))
    return parts


def _in_collate(script: Script, collate: ast.expr | None) -> ast.expr | None:
    """Of `lambda batch: mix(*default_collate(batch))`, and of a function with this one line."""
    made = None if collate is None else script.made(collate)
    if isinstance(made, ast.Lambda):
        result: ast.expr | None = made.body
    elif isinstance(made, ast.FunctionDef) and not made.decorator_list and len(made.body) == 1:
        result = made.body[0].value if isinstance(made.body[0], ast.Return) else None
    else:
        return None
    names = [entry.arg for entry in made.args.args]
    if not isinstance(result, ast.Call) or len(result.args) != 1 or result.keywords or len(names) != 1:
        return None
    inner = result.args[0]
    if isinstance(inner, ast.Starred) and isinstance(inner.value, ast.Call) and \
            script.dotted(inner.value.func) in DEFAULT_COLLATE and \
            [ast.unparse(argument) for argument in inner.value.args] == names:
        return script.followed_or_none(result.func)
    return None


def _in_loops(script: Script, loader: ast.Call | None) -> list[ast.expr | None]:
    """Of `for images, labels in loader: images, labels = mix(images, labels)`, where that line comes first."""
    found: list[ast.expr | None] = []
    for loop in script.nodes(ast.For):
        runs, names = loop.iter, loop.target
        if isinstance(runs, ast.Call) and isinstance(runs.func, ast.Name) and runs.func.id == "enumerate" and \
                len(runs.args) == 1 and isinstance(names, ast.Tuple) and len(names.elts) == 2:
            runs, names = runs.args[0], names.elts[1]
        first = loop.body[0]
        if loader is None or script.followed_or_none(runs, True) is not loader:
            continue
        if not isinstance(names, ast.Tuple) or not isinstance(first, ast.Assign):
            continue
        wanted = [ast.unparse(entry) for entry in names.elts]
        if isinstance(first.value, ast.Call) and [ast.unparse(entry) for entry in first.value.args] == wanted and \
                len(first.targets) == 1 and ast.unparse(first.targets[0]) == ast.unparse(names):
            found.append(script.followed_or_none(first.value.func))
    return found
