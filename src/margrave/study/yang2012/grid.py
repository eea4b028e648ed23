"""What the study runs over: its tables, its contenders, and the blocks of runs that are handed out.

The six algorithms that are compared. All neighbours are tables that differ by one record added or removed.

    printed     what the paper says it ran: its Table 1 on binary tables, its Table 2 on others, with its own scales
    corrected   the paper's Table 2 on every table, with the noise that it needs
    barak       Barak et al. (2007): Fourier coefficients, on other than binary tables of a binary encoding
    mwem        Hardt, Ligett and McSherry (2010), which the paper calls promising; told the number of records
    margrave    what `margrave release` publishes with the same ε
    adaptive    the same with ``strategy = "adaptive"``

The first three solve the min–max linear program and round each cell to the nearest whole number. Their noise is
discrete, on whole-number multiples of the coefficients; its scale there is 6 or more for ε up to 2, so that it can
hardly be told from the continuous one. Seeded noise is not private; these four tables are public anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from margrave.budget.numbers import exact_text

SUBJECTS = {
    "fungus": "Fungus",
    "czech": "Czech autoworkers",
    "rochdale": "Rochdale",
    "journey": "Journey to work",
}
TABLES = tuple(SUBJECTS)
"""The tables in the paper's order, by the names of the bundled examples."""
TITLES = {
    "printed": "Yang et al., as printed",
    "corrected": "Yang et al., corrected",
    "barak": "Barak et al.",
    "mwem": "MWEM",
    "margrave": "Margrave",
    "adaptive": "Margrave, adaptive",
}
CONTENDERS = tuple(TITLES)
PROGRAMS = ("printed", "corrected", "barak")
"""The contenders that solve a linear program."""
RIVALS = (*PROGRAMS, "mwem", "adaptive")
"""The contenders that Margrave's default is compared with."""
CRITERIA_TEXT = {
    "margins": "in the worst table, L1 is at most n/5: at most one record in ten is counted in a wrong cell",
    "verdict": "the release is not empty, and the model's test at 5 % comes out as on the true table",
    "fit": "the fitted probabilities are nearer to the true ones than half the distance of the uniform distribution",
}
"""When a table is usable: each criterion in words."""
OFTEN = 0.9
"""In which part of the runs a criterion must hold."""
BLOCK = 5
"""Runs that one task does: short enough to stop soon, long enough that handing out work costs nothing."""


@dataclass(frozen=True)
class Task:
    """Some runs of one contender on one table at one ε, a text that names it exactly."""

    table: str
    contender: str
    epsilon: str
    start: int
    count: int


def tasks(epsilons: tuple[Fraction, ...], runs: int) -> list[Task]:
    """All work, in blocks. The first runs of everything come first, so that an early look is at the whole grid."""
    return [
        Task(table, contender, exact_text(epsilon), start, min(BLOCK, runs - start))
        for start in range(0, runs, BLOCK)
        for contender in CONTENDERS
        for table in TABLES
        for epsilon in epsilons
    ]
