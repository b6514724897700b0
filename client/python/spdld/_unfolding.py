"""Makes a script's text plain, step by step, until nothing changes any more: see Inliner, Objects, Namespaces and Folder."""
import ast
from collections.abc import Sequence
from typing import Any

from spdld._arguments import Reader
from spdld._folding import Builder, Folder, Unroller
from spdld._inlining import Inliner
from spdld._objects import Namespaces, Objects
from spdld._renaming import rename_locals

_ROUNDS_MAX = 40


def unfold(script: Any, tree: ast.Module, arguments: Sequence[str] | None) -> None:
    """script: a _script.Script of this tree, which looks at the tree anew after each change."""
    rename_locals(tree, script.names)
    script.look()
    objects = Objects(script, tree)
    objects.find()
    script.look()
    namespaces = Namespaces(script, Reader(script, arguments))
    counted: list[int] = [0, 0]

    def inlined() -> bool:
        return Inliner(tree, script.names, script.dotted, objects.methods, counted).run()

    def folded() -> bool:
        folder = Folder(script)
        folder.visit(tree)
        return folder.changed

    steps = (inlined, folded, lambda: Unroller(script, tree).run(), lambda: Builder(script, tree).run(), namespaces.run,
             objects.name_more)
    for _ in range(_ROUNDS_MAX):
        for step in steps:
            if step():
                script.look()
                break
        else:
            return
