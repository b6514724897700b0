"""Writes the docstrings of the built extension into its stub, because editors and type checkers do not load the extension.

    document_stub.py EXTENSION STUB RESULT
"""
import ast
import importlib.machinery
import importlib.util
import sys
import textwrap
from pathlib import Path

COLUMNS_MAX = 100


def docstring_of(entry):
    """Returns the docstring without the signatures that nanobind puts before it, or None where there is no docstring."""
    entry = entry.fget if isinstance(entry, property) else entry
    signatures = getattr(entry, "__nb_signature__", None)
    if signatures is None:
        return entry.__doc__
    return "\n\n".join(text for _, text, _ in signatures if text) or None


def quoted(text, indent):
    if '"""' in text or "\\" in text or text.endswith('"'):
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    lines = []
    for line in f'"""{text.rstrip()}"""'.splitlines():
        wrap = not line.startswith(" ") and len(line) > COLUMNS_MAX  # an indented line is code
        lines += textwrap.wrap(line, COLUMNS_MAX, break_long_words=False, break_on_hyphens=False) if wrap else [line]
    return "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)


def document(stub, module):
    lines = stub.splitlines(keepends=True)
    edits = []  # (line, whether the body "..." stands on this line, text)

    def visit(body, owner, indent):
        for entry in body:
            if not isinstance(entry, (ast.ClassDef, ast.FunctionDef)):
                continue
            found = vars(owner)[entry.name]
            text = docstring_of(found)
            is_class = isinstance(entry, ast.ClassDef)
            if text:
                line = entry.lineno if is_class else entry.body[0].lineno
                edits.append((line, not is_class, quoted(text, indent + "    ")))
            if is_class:
                visit(entry.body, found, indent + "    ")

    visit(ast.parse(stub).body, module, "")
    for line, has_body, text in sorted(edits, reverse=True):
        if has_body:
            lines[line - 1] = lines[line - 1].rstrip().removesuffix("...").rstrip() + "\n"
        lines.insert(line, text)
    return "".join(lines)


def main():
    extension, stub, result = sys.argv[1:]
    loader = importlib.machinery.ExtensionFileLoader("_spdld", extension)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_spdld", loader, origin=extension))
    loader.exec_module(module)
    Path(result).write_text("# Made from the docstrings of the extension and the stub in the source tree.\n" +
                            document(Path(stub).read_text(), module))


if __name__ == "__main__":
    main()
