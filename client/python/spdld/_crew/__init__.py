"""Python operations: functions of the user's, which run in processes of the user's beside the daemon. functions.py is the
trainer's side; process.py, nursery.py and worker.py are the processes of a crew."""
from typing import NamedTuple


class Crew(NamedTuple):
    """The program that runs the functions beside the daemon, and what it reads from its stdin behind the daemon's words."""

    command: list[str] = []  # noqa: RUF012: nobody changes it
    input: bytes = b""
