"""Slow results kept on disk, and the only file access in the mathematics of public facts. Nothing here is about data.

A stored basis is used only if its file is whole (checksum), made by this version for this very matrix, every stored
move leaves the facts as they are, and the longest one has no proper part among the others. That catches accidents, not
malice: who can write to the cache folder could as well change the program.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.facts.moves.primitive import is_primitive

VERSION = 1
"""Of the file format and of the algorithm: raised whenever either changes."""
FOLDER_VARIABLE = "MARGRAVE_CACHE"
MOST_STORED = 100_000


def folder() -> Path:
    """Where bases are kept: ``$MARGRAVE_CACHE``, or ``margrave`` in the cache folder of the user."""
    if FOLDER_VARIABLE in os.environ:
        return Path(os.environ[FOLDER_VARIABLE])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "margrave"


def load_basis(matrix: Integers) -> Integers | None:
    """The Graver basis stored for a matrix, or None if there is none that passes every check."""
    try:
        stored = json.loads(_path(matrix).read_text(encoding="utf-8"))
        moves = np.array(stored["moves"], dtype=np.int64).reshape(-1, matrix.shape[1])
        whole = stored["version"] == VERSION and stored["key"] == _key(matrix) and stored["check"] == _digest(moves)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    if not whole or not len(moves) or not moves.any(axis=1).all() or (matrix @ moves.T).any():
        return None
    longest = moves[np.abs(moves).sum(axis=1).argmax()]
    return moves if is_primitive(longest, moves) else None


def store_basis(matrix: Integers, moves: Integers) -> None:
    """Keep a basis, written whole or not at all. A folder that cannot be written is no error: it is only a cache."""
    if not 0 < len(moves) <= MOST_STORED:
        return
    text = json.dumps(
        {"version": VERSION, "key": _key(matrix), "check": _digest(moves), "moves": moves.tolist()},
        separators=(",", ":"),
    )
    path = _path(matrix)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        return


def text_of(path: Path) -> str:
    """What another program has written."""
    return path.read_text(encoding="ascii")


def _path(matrix: Integers) -> Path:
    return folder() / f"graver-{_key(matrix)}.json"


def _key(matrix: Integers) -> str:
    return hashlib.sha256(repr((matrix.shape, matrix.tolist())).encode()).hexdigest()[:32]


def _digest(moves: Integers) -> str:
    return hashlib.sha256(repr(moves.tolist()).encode()).hexdigest()
