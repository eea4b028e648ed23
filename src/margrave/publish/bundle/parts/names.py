"""What the files of a bundle with numbers are called, and their columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import TYPE_CHECKING

from margrave.algebra.domain import Margin
from margrave.algebra.words import stored_name

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

MEASUREMENTS = "measurements"
MICRODATA = "microdata"
FITTED = "fitted"
CELLS = "exact/cells"
CUBE = "cube.csv"
NUMBERS = ("count", "std_error", "low", "high", "unbiased", "variance")


def column(name: str, attributes: Collection[str]) -> str:
    """The name of a column beside those of attributes: as it is, or with underscores where an attribute has it."""
    while name in attributes:
        name += "_"
    return name


def stem(folder: str, index: int, margin: Margin) -> str:
    """The name of a table's files without the ending: a number, and as much of its attributes as file names allow."""
    plain = unicodedata.normalize("NFKD", stored_name(margin)).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")
    return f"{folder}/{index + 1:03}-{slug}".rstrip("-")


def table_stems(plan: Plan) -> dict[Margin, str]:
    """The files of each wanted table."""
    return {margin: stem("tables", index, margin) for index, margin in enumerate(plan.spec.margins)}


def exact_stems(plan: Plan) -> dict[Margin, str]:
    """The files of each table that is published without noise."""
    return {margin: stem("exact", index, margin) for index, margin in enumerate(plan.exact)}
