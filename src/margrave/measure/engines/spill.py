"""A private temporary folder for records that do not fit in memory.

Where the system allows it, a file loses its name as soon as it is open, so that its content is gone with the process,
however that ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from margrave.errors import DataError
from margrave.files.temporary import remove_orphans as remove_orphans_in
from margrave.files.temporary import temporary_folder

PREFIX = "margrave-spill-"


class Folder:
    """An open temporary folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = 0

    def __repr__(self) -> str:
        return "<Folder>"

    def new_file(self) -> BinaryIO:
        """A new file, open for writing and reading; it is gone when closed."""
        path = self._path / str(self._files)
        self._files += 1
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):
            path.unlink()
        return os.fdopen(descriptor, "w+b")


@contextmanager
def private_folder() -> Iterator[Folder]:
    """A folder for the time of one pass over the data."""
    path: Path | None = None
    with ExitStack() as stack:
        with suppress(OSError):
            path = stack.enter_context(temporary_folder(Path(tempfile.gettempdir()), PREFIX))
        if path is None:
            raise DataError(
                "the records of all units do not fit in memory and no temporary folder can be made: set TMPDIR"
            )
        yield Folder(path)


def remove_orphans() -> None:
    """Removes what killed runs of this user have left behind."""
    with suppress(OSError):
        remove_orphans_in(Path(tempfile.gettempdir()), PREFIX)
