#!/usr/bin/env python3
"""Runs one page's programs in Python, each with names of its own, as if a reader had typed it in.

    run_blocks.py PRELUDE BLOCKS.json

PRELUDE: a file that makes the names which a page takes for granted (a model, a train_step); it need not be there. BLOCKS: a list
of {"place", "text", "runs"}. A block that does not run, because it needs a GPU, is compiled, and the options that it gives to the
package's functions are looked up. The first error ends the process, with the block's place in the traceback.
"""
import ast
import gc
import importlib
import inspect
import json
import sys
from pathlib import Path

import spdld


def names_of(prelude):
    names = {"__name__": "__main__"}
    if prelude.exists():
        exec(compile(prelude.read_text(), str(prelude), "exec"), names)
    return names


def look_up(tree, place):
    """Every spdld.name is there, and takes the options that a call gives it."""
    for node in ast.walk(tree):
        is_named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "spdld"
        if is_named and not hasattr(spdld, node.attr):
            importlib.import_module(f"spdld.{node.attr}")
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "spdld":
            known = inspect.signature(getattr(spdld, called.attr)).parameters
            for keyword in node.keywords:
                if keyword.arg not in known:
                    raise SystemExit(f"{place}: spdld.{called.attr} has no option {keyword.arg}")


def main():
    prelude, blocks = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    for block in blocks:
        print("===", block["place"], flush=True)
        code = compile(block["text"], block["place"], "exec")
        if not block["runs"]:
            look_up(ast.parse(block["text"]), block["place"])
        else:
            names = names_of(prelude)
            exec(code, names)
            names.clear()
            gc.collect()  # loaders that the block left open are closed before the next one begins


if __name__ == "__main__":
    main()
