"""Records of every type that both sides read, and what is asked about them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import combinations

import numpy as np
import pyarrow as pa

from margrave.measure.engines.count import count_margins
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range

EDGES = (Decimal("-1.5"), Decimal(0), Decimal("2.5"), Decimal(7))
BORN = (date(1950, 1, 1), date(1980, 6, 1), date(2001, 1, 1))
BOOK = Codebook(
    (
        CodebookEntry("word", Categories(("a", "A", "ä")), missing="none", other="else"),
        CodebookEntry("yes", Categories(("true", "false"), boolean=True)),
        CodebookEntry("level", Range(0, 4), other="else"),
        CodebookEntry("exact", Bins(EDGES), other="else"),
        CodebookEntry("real", Bins(EDGES, closed="right"), other="else", missing="none"),
        CodebookEntry("born", Bins(BORN), other="else"),
        CodebookEntry("moment", Bins(BORN), other="else"),
        CodebookEntry("many", Range(0, 299)),
    )
)
NAMES = BOOK.domain.names
PAIRS = [*combinations(NAMES, 2), ()]
KEY = bytes(range(32))


def people(rows=3000, seed=1):
    """Who owns a record is in `who`, how often it counts in `times`."""
    chance = np.random.default_rng(seed)

    def some(values, kind=None):
        return pa.array([values[place] for place in chance.integers(0, len(values), rows)], kind)

    days = [None, date(1949, 12, 31), date(1950, 1, 1), date(1999, 1, 1), date(2001, 1, 1), date(2010, 1, 1)]
    moments = [None if day is None else datetime(day.year, day.month, day.day, 23, 59, 59, 999_999) for day in days]
    return pa.table(
        {
            "word": some(["a", "A", "ä", "a ", "", None, "zz"]),
            "yes": some([True, False]),
            "level": some([None, -1, 0, 1, 4, 5], pa.int16()),
            "exact": some([None, *(Decimal(n) / 4 for n in range(-9, 33))], pa.decimal128(9, 2)),
            "real": some([None, float("nan"), -1.5, 0.0, -0.0, 2.5, 7.0, 7.5]),
            "born": some(days),
            "moment": some(moments, pa.timestamp("us", "UTC")),
            "many": some(list(range(300)), pa.int32()),
            "who": some([f"person {n}" for n in range(rows // 4)]),
            "times": some(list(range(5)), pa.int64()),
        }
    )


def counted(data, margins=PAIRS, book=BOOK, **options):
    return count_margins(open_source(data), book, margins, **options)


def same(there, here):
    """Bit for bit."""
    assert there.keys() == here.keys()
    for margin, counts in here.items():
        np.testing.assert_array_equal(there[margin], counts, err_msg=str(margin))
