"""Folders whose content a script owns, and so may delete."""
from pathlib import Path

MARK = "build/made-by"  # in the folder


def claim(folder, owner):
    """Makes the folder, or takes it over again. Raises ValueError, a sentence, where it holds what `owner` did not make: a wrong
    path must not cost anybody's files."""
    folder = Path(folder)
    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()) and not (mark.is_file() and mark.read_text() == f"{owner}\n"):
        raise ValueError(f"{folder} was not made by {owner}, which would delete what lies in it: name a new folder")
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(f"{owner}\n")
