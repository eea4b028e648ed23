"""MWEM in other forms than that of the study of 2012: other queries, numbers of rounds, and numbers of passes.

    python benchmarks/mwem.py --epsilon 1 --runs 20

Prints the mean over runs of the maximal L1 error of a wanted table, before rounding, with its standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from margrave.noise import Generator
from margrave.study.yang2012.grid import TABLES
from margrave.study.yang2012.mwem import PASSES, CellSums, Rounds, cell_queries, mwem, table_queries
from margrave.study.yang2012.subjects import Studied, subject


@dataclass(frozen=True)
class Form:
    """A form of MWEM: its queries, rounds for each wanted table, and passes in a round."""

    title: str
    queries: Callable[..., list[CellSums]]
    rounds: Fraction
    passes: int = PASSES


FORMS = (
    Form("tables, T half as many", table_queries, Fraction(1, 2)),
    Form("**tables, T as many**", table_queries, Fraction(1)),
    Form("tables, T twice as many", table_queries, Fraction(2)),
    Form("tables, T as many, 100 passes", table_queries, Fraction(1), 100),
    Form("tables, T as many, 1 pass", table_queries, Fraction(1), 1),
    Form("cells, T as many", cell_queries, Fraction(1)),
    Form("cells, T twice as many", cell_queries, Fraction(2)),
    Form("cells, T four times as many, 100 passes", cell_queries, Fraction(4), 100),
)


def largest(whose: Studied, counts: np.ndarray) -> float:
    """The maximal L1 error of a wanted table."""
    moved = whose.truth.counts.ravel() - counts
    return max(float(np.abs(query.of(moved)).sum()) for query in table_queries(whose.domain, whose.wanted))


def errors(whose: Studied, form: Form, epsilon: Fraction, runs: int) -> list[float]:
    queries = form.queries(whose.domain, whose.wanted)
    rounds = Rounds(epsilon, -(-len(whose.wanted) * form.rounds // 1))
    truth = whose.truth.counts.ravel()
    generators = (Generator.seeded(f"benchmarks/mwem/{whose.name}/{form.title}/{run}") for run in range(runs))
    return [largest(whose, mwem(truth, queries, rounds, whose.total, one, form.passes)) for one in generators]


def shown(values: list[float]) -> str:
    return f"{np.mean(values):.0f} ± {np.std(values, ddof=1) / sqrt(len(values)):.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    print(f"| queries, rounds T for wanted tables | {' | '.join(TABLES)} |\n|---|{'---|' * len(TABLES)}")
    for form in FORMS:
        cells = [shown(errors(subject(table), form, options.epsilon, options.runs)) for table in TABLES]
        print(f"| {form.title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
