"""4ti2, where it is installed: the same Graver bases from another program, faster on large ones."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path
from time import monotonic

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.facts.moves.cache import text_of
from margrave.facts.moves.graver import MOST_MOVES, OutOfTime, unique_up_to_sign
from margrave.files.temporary import temporary_folder

_NAMES = ("4ti2-graver", "graver")
_PACKAGE = "passagemath-latte-4ti2"
_PREFIX = "margrave-facts-"
_LONGEST = 1e6
"""Seconds."""


def program() -> str | None:
    """The path of 4ti2's program for Graver bases: from the search path, or from the Python package that carries it."""
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            return found
    try:
        bundled = Path(str(metadata.distribution(_PACKAGE).locate_file("sage_wheels/bin/graver")))
    except metadata.PackageNotFoundError:
        return None
    return str(bundled) if bundled.is_file() else None


def external_basis(matrix: Integers, deadline: float) -> Integers:
    """As :func:`margrave.facts.moves.graver.graver_basis`, by 4ti2. `OutOfTime` also where it fails."""
    path = program()
    if path is None:
        raise OutOfTime
    with temporary_folder(Path(tempfile.gettempdir()), _PREFIX) as folder:
        base = folder / "facts"
        rows = [" ".join(map(str, row)) for row in matrix.tolist()]
        base.with_suffix(".mat").write_text("\n".join([f"{matrix.shape[0]} {matrix.shape[1]}", *rows, ""]))
        try:
            left = min(max(deadline - monotonic(), 0.1), _LONGEST)
            subprocess.run([path, "-q", str(base)], check=True, capture_output=True, timeout=left)
            numbers = [int(word) for word in text_of(base.with_suffix(".gra")).split()]
        except (OSError, subprocess.SubprocessError, ValueError):
            raise OutOfTime from None
    moves = np.array(numbers[2:], dtype=np.int64).reshape(-1, matrix.shape[1])
    if numbers[:2] != [len(moves), matrix.shape[1]] or (matrix @ moves.T).any() or len(moves) > MOST_MOVES:
        raise OutOfTime
    return unique_up_to_sign(moves) if len(moves) else moves
