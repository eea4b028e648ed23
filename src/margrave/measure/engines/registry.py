"""What an engine that counts is given and gives back, and the engines. Each is a file that registers itself.

An engine makes one pass over a source. It recodes records by the codebook, drops none silently, and counts tables that
contain all that is wanted; `count` sums them down. Records that do not fit make one DataError at the end of the pass,
by column and rule and with no value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Margin
from margrave.algebra.sparse import SparseTable
from margrave.errors import UsageError
from margrave.measure.impossible import Patterns
from margrave.measure.sources.registry import Source
from margrave.progress import Progress
from margrave.spec.choices import AUTO
from margrave.spec.codebook import Codebook


@dataclass(frozen=True)
class RowUnits:
    """How rows stand for records: ``count_column`` of tabulated data, or ``unit_column`` with ``max_records``."""

    count_column: str | None
    unit_column: str | None
    max_records: int | None

    def __post_init__(self) -> None:
        if (self.unit_column is None) != (self.max_records is None):
            raise UsageError("a unit column and max_records go together: give both or neither")
        if self.unit_column is not None and self.count_column is not None:
            raise UsageError("tabulated data has no units: give a count column or a unit column, not both")
        if self.max_records is not None and self.max_records < 1:
            raise UsageError(f"max_records ({self.max_records}) must be at least 1")


@dataclass(frozen=True)
class Counting:
    """What is to be counted in one pass.

    ``tables``: margins of which every cell is counted. ``sparse``: margins of which the occupied cells are. ``names``:
    all attributes that are read, and that every record must fit. ``patterns``: combinations that no record may have;
    the engine looks for those that need every record, and whoever asked for those that a table shows.
    """

    codebook: Codebook
    tables: tuple[Margin, ...]
    sparse: tuple[Margin, ...]
    names: Margin
    units: RowUnits
    patterns: Patterns


@dataclass(frozen=True, eq=False)
class Counted:
    """Exact 64-bit counts, one axis for each attribute, and the occupied cells of sparse margins. Shows no count."""

    tables: dict[Margin, Integers]
    sparse: dict[Margin, SparseTable]

    def __repr__(self) -> str:
        return f"<Counted: {len(self.tables) + len(self.sparse)} tables>"


@dataclass(frozen=True)
class CountingEngine:
    """An engine by its name: why it cannot count a source (None if it can), whether it is worth it, and how it does.

    One that is worth it is taken before one that can count everything and is ``general``.
    """

    name: str
    refusal: Callable[[Source, Counting], str | None]
    worth: Callable[[Source, Counting], bool]
    count: Callable[[Source, Counting, Progress | None], Counted]
    general: bool = False


_ENGINES: dict[str, CountingEngine] = {}


def register(engine: CountingEngine) -> None:
    """Make an engine known by its name."""
    if engine.name in _ENGINES:
        raise UsageError(f"there is an engine {engine.name!r} already")
    _ENGINES[engine.name] = engine


def engine_for(source: Source, wanted: Counting, name: str = AUTO) -> CountingEngine:
    """The engine of that name, or the one that is best for a source."""
    if name != AUTO:
        engine = _ENGINES[name]
        reason = engine.refusal(source, wanted)
        if reason is not None:
            raise UsageError(f"data.engine = {name!r} is not possible: {reason}; leave it out")
        return engine
    engines = sorted(_ENGINES.values(), key=lambda engine: (engine.general, engine.name))
    return next(one for one in engines if one.refusal(source, wanted) is None and one.worth(source, wanted))
