"""Engines that count: which one is asked, what it is given, and what is made of what it gives back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from margrave.errors import DataError, UsageError
from margrave.measure.engines import registry
from margrave.measure.engines.count import count_margins, count_tables
from margrave.measure.engines.registry import Counted, CountingEngine, RowUnits, engine_for
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Categories, Codebook, CodebookEntry

BOOK = Codebook(tuple(CodebookEntry(name, Categories(("0", "1"))) for name in "abc"))
DATA = pa.table({"a": list("0011"), "b": list("0101"), "c": list("0001")})


class Elsewhere:
    """A source whose records no engine of this machine could read."""

    columns = ("a", "b", "c")
    total = None

    def batches(self, columns):
        raise AssertionError("the records stay where they are")


@pytest.fixture
def asked(monkeypatch):
    """What an engine for such sources was asked; every cell of every table holds one record."""
    given = []

    def count(source, wanted, progress):
        given.append(wanted)
        shape = wanted.codebook.domain.shape
        return Counted({table: np.ones(shape(table), dtype=np.int64) for table in wanted.tables}, {})

    monkeypatch.setattr(registry, "_ENGINES", dict(registry._ENGINES))
    registry.register(
        CountingEngine(
            "elsewhere", lambda source, _: None if isinstance(source, Elsewhere) else "no", lambda *_: True, count
        )
    )
    return given


def test_the_engine_that_accepts_a_source_is_asked(asked):
    assert engine_for(Elsewhere(), None).name == "elsewhere"
    assert engine_for(open_source(DATA), None).name == "local"


def test_what_an_engine_counts_is_summed_down(asked):
    counts = count_margins(Elsewhere(), BOOK, [("a", "b"), ("b",), ()], unit_column="id", max_records=2, checked=("c",))
    assert {margin: table.tolist() for margin, table in counts.items()} == {
        ("a", "b"): [[1, 1], [1, 1]],
        ("b",): [2, 2],
        (): 4,
    }
    (wanted,) = asked
    assert wanted.tables == (("a", "b"),)
    assert wanted.names == ("a", "b", "c")
    assert wanted.units == RowUnits(None, "id", 2)


def test_impossible_combinations_are_found_whatever_engine_counts(asked):
    with pytest.raises(DataError, match="is declared impossible"):
        count_tables(Elsewhere(), BOOK, [("a",)], impossible=[{"b": frozenset({"0"}), "c": frozenset({"1"})}])


def test_an_engine_is_registered_once_and_shows_no_count(asked):
    with pytest.raises(UsageError, match="already"):
        registry.register(engine_for(Elsewhere(), None))
    assert repr(Counted({("a",): np.array([3, 1])}, {})) == "<Counted: 1 tables>"
