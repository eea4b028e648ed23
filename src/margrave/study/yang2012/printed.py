"""Every number that the paper prints about its tables, beside the recomputed one, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from margrave.study.yang2012.grid import TABLES
from margrave.study.yang2012.subjects import Studied, needed_scale, real_factor, replaced_factor, subject

AGREES = "agrees"
EPSILONS = (0.01, 1, 2)
"""The columns of Table 8."""


@dataclass(frozen=True)
class Printed:
    """One printed number (or a row of them): where it stands, what it is, how it is printed, what is right, and why."""

    where: str
    table: str
    what: str
    printed: str
    right: str
    reason: str


def comparison() -> list[Printed]:
    """All of them, in the order of the paper."""
    return [*_data(), *_table_7(), *_table_8(), *_text()]


def _data() -> Iterator[Printed]:
    fungus, czech, rochdale, journey = (subject(name).truth.counts for name in TABLES)
    misprint = "cell (A, …, F) = (1, 2, 2, 2, 2, 2) is 11 and is printed as 1"
    yield Printed("Table 3", "fungus", "sum of the cells", "60", str(fungus.sum()), misprint)
    yield _count("Section 4", "fungus", "non-empty cells", "22", int(np.count_nonzero(fungus)))
    yield _count("Section 4", "czech", "cells of 1 to 5", "14", ((czech > 0) & (czech <= 5)).sum())
    yield _count("Section 4", "rochdale", "empty cells", "165", (rochdale == 0).sum())
    small = ((rochdale > 0) & (rochdale <= 4)).sum()
    yield _count("Section 4", "rochdale", "cells of 1 to 4", "58", small)
    column = "a miscount; the 17th column of Table 6, all zeros, is no data"
    yield _count("Section 4", "journey", "empty cells", "183", (journey == 0).sum(), column)


def _count(where: str, table: str, what: str, printed: str, right: int, reason: str = "") -> Printed:
    return Printed(where, table, what, printed, str(int(right)), reason if str(int(right)) != printed else AGREES)


_TABLE_7 = {
    "fungus": ("70", "22.96", "52"),
    "czech": ("1841", "48.18", "42"),
    "rochdale": ("665", "238.18", "225"),
    "journey": ("2291", "365.82", "134"),
}


def _table_7() -> Iterator[Printed]:
    no_convention = "comes out of the data under no order of the axes or common convention"
    for name, (records, statistic, freedom) in _TABLE_7.items():
        whose = subject(name)
        yield _count("Table 7", name, "sample size", records, whose.total)
        where = "the estimate exists" if whose.fit.exists else "no estimate exists; of the extended one, on its face"
        right = f"{whose.fit.g2:.6f}"
        yield Printed("Table 7", name, f"G² of {whose.letters}", statistic, right, f"{no_convention} ({where})")
        extended = f"df of the extended estimate: {whose.fit.df_extended}"
        reason = AGREES if freedom == str(whose.fit.df) else "cells − rank; one too few is printed"
        yield Printed("Table 7", name, "degrees of freedom", freedom, str(whose.fit.df), f"{reason}; {extended}")


_TABLE_8 = {
    "fungus": ("300, 3, 1.5", "38400, 384, 192 × log(12/δ) + 12"),
    "czech": ("550, 5.5, 2.75", "70400, 704, 352 × log(22/δ) + 22"),
    "rochdale": ("362.5, 3.625, 1.8125", "185600, 1856, 928 × log(29/δ) + 29"),
    "journey": ("132, 1.32, 0.66", "8450, 84.5, 42.25 × log(169/δ) + 169"),
}


def _table_8() -> Iterator[Printed]:
    for name, (scale, bound) in _TABLE_8.items():
        whose = subject(name)
        yield Printed(
            "Table 8", name, "scale at ε = 0.01, 1, 2", scale, _over(right_scale(whose)), _scale_reason(whose)
        )
        factor, number, addend = right_bound(whose)
        text = f"{_over(factor)} × log({number}/δ) + {addend:g}"
        yield Printed("Table 8", name, "bound at ε = 0.01, 1, 2", bound, text, _bound_reason(whose))


def right_scale(whose: Studied) -> float:
    """At ε = 1. Table 1's formula with the right |ℬ|; for Table 2, whose formula is wrong, the scale that is needed."""
    if whose.binary:
        return 2 * len(whose.closure) / sqrt(whose.domain.cells())
    return needed_scale(whose) / whose.domain.cells()


def right_bound(whose: Studied) -> tuple[float, int, float]:
    """``(c, m, a)`` of the bound ``c/ε · log(m/δ) + a`` on L1 that holds for every wanted table at once.

    Table 1: the constants of Theorem 1. Table 2: ``∏_all k_j · 2^|α| · 2 · scale · log(N/δ) + N/2``.
    """
    widest = max(len(margin) for margin in whose.wanted)
    if whose.binary:
        number = len(whose.closure)
        return 2.0**widest * 8 * number, number, float(number)
    return prod(whose.domain.shape()) * 2**widest * 2 * right_scale(whose), whose.terms, whose.terms / 2


def _over(value: float) -> str:
    """A number divided by each ε of the table, in five digits."""
    return ", ".join(
        f"{value / epsilon:.5g}" if value / epsilon < 1e5 else f"{value / epsilon:.0f}" for epsilon in EPSILONS
    )


def _scale_reason(whose: Studied) -> str:
    kind = "called a variance, is a Laplace scale"
    if not whose.binary:
        return (
            f"{kind}; Theorem 2's formula gives {2 * whose.terms / whose.domain.cells():.4f} at ε = 1, too little: "
            f"the real ε is {float(real_factor(whose)):.4f} (replacing a record: {float(replaced_factor(whose)):.4f})"
        )
    size = f"ℬ has {len(whose.closure)} margins, not 29" if whose.name == "rochdale" else AGREES
    return f"{size}; {kind}; half of it is enough when records are added or removed"


def _bound_reason(whose: Studied) -> str:
    if not whose.binary:
        return "Theorem 3 is false (see below); this bound holds, with the scale that is needed"
    if whose.name == "czech":
        return "the printed bound covers only [BF]; this one covers [ABCE] too"
    if whose.name == "rochdale":
        return f"ℬ has {len(whose.closure)} margins, not 29"
    return f"{AGREES}; half the factor would do"


_UNIFORM = {"fungus": "0.83", "czech": "0.86", "rochdale": "1.43", "journey": "1.43"}


def _text() -> Iterator[Printed]:
    for name, printed in _UNIFORM.items():
        right = f"{subject(name).from_uniform:.6f}"
        agrees = abs(float(printed) - float(right)) < 0.005
        reason = (
            AGREES
            if agrees
            else "not the distance of the maximum likelihood fit, whose G² is not the printed one either"
        )
        yield Printed("Section 4", name, "L1 between fit and uniform", printed, right, reason)
