"""The package as a program: `python -m spdld try FILE --sample N`. It is installed as spdld/__main__.py."""
import sys

from spdld._trial.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
