"""The value that user code gives for a sample that is to be left out."""
from typing import ClassVar, Final, Optional, final


@final
class Drop:
    """The type of spdld.DROP. A function or a data set's __getitem__ returns spdld.DROP for a sample that is to be left out. The
    pipeline says what comes in its place (on_drop). It is one object: copies of it, and what its pickle gives, are the same."""

    __slots__ = ()
    __module__ = "spdld"
    _only: ClassVar[Optional["Drop"]] = None

    def __new__(cls) -> "Drop":
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "spdld.DROP"

    def __reduce__(self) -> str:
        return "DROP"


DROP: Final = Drop()
