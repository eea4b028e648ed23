"""The experiments that a draft on exact cuboids in a noisy data cube left empty: what exact cuboids cost, and what
they save.

The base table is published with Laplace noise of scale S/ε, where S is the generic sensitivity given the exact
cuboids, and then made consistent with them by least squares. Consistency replaces the residuals that the cuboids tell,
so the variance of a cell falls, on average over cells, to the share of residuals that they leave open. Theorem 6.1,
corrected:

    before = Var(Lap(S/ε)),    after = before · (1 − known/cells),    known = Σ d_T over the downward closure

Whether the exact cuboids were worth it is told by comparing ``after`` with the variance at S = 1, without any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import downward_closure
from margrave.errors import RefusedError, UsageError
from margrave.facts.facts import Facts
from margrave.facts.sensitivity import induced_sensitivity
from margrave.files.writing import check_target, write_file
from margrave.noise import DiscreteLaplace, Generator
from margrave.spec.workload import PublicFact
from margrave.study.attacks.figures import png
from margrave.study.attacks.reconstruction.solver import incidence
from margrave.study.attacks.result import Attack, Line, Panel, Row
from margrave.study.attacks.subjects import Subject, bundled, domain_of

RUNS = 400
_SECONDS = 20.0


@dataclass(frozen=True)
class Cuboids:
    """One set of exact cuboids. ``overlap``: attributes that are in more than one of them.

    ``price``: S. ``before``, ``after``: the variance of a cell before and after consistency, at the given ε, and
    ``measured``: after, over many draws. ``worth``: after, as a part of what noise without any facts would leave.
    ``planned``: the RMSE per cell of Margrave's own plan for the base table with these facts; None if it is refused.
    """

    table: str
    exact: tuple[Margin, ...]
    overlap: int
    price: int
    before: float
    after: float
    measured: float
    worth: float
    planned: float | None

    @property
    def name(self) -> str:
        return ", ".join("{" + ", ".join(margin) + "}" for margin in self.exact) or "none"


def fact_table() -> Subject:
    """The draft's own fact table: eight people with sex, age and salary."""
    domain = domain_of(
        {
            "sex": ("F", "M"),
            "age": ("0-10", "11-20", "21-30", "31-40", "41-50", "51-60", "60+"),
            "salary": ("0-10k", "10-50k", "50-200k", "200-500k", "500k+"),
        }
    )
    rows = [(0, 2, 1), (0, 2, 1), (0, 3, 2), (0, 4, 4), (1, 2, 1), (1, 2, 2), (1, 3, 2), (1, 6, 4)]
    return Subject(domain, np.array(rows, dtype=np.int64), "the draft's fact table")


def czech() -> Subject:
    """Four attributes of the Czech car factory."""
    return bundled("czech").only(("smoke", "mental", "physical", "pressure"))


SETS: dict[str, tuple[str, ...]] = {
    "fact table": ("", "s", "a", "s+a", "s+y", "a+y", "sa", "sa+y", "sa+ay", "sa+sy", "sa+ay+sy"),
    "Czech": ("", "s", "s+m", "s+m+h", "sm", "sm+hp", "sm+mh", "sm+mh+hp", "smh", "smh+mhp", "smh+shp"),
}
_LETTERS = {"fact table": {"s": "sex", "a": "age", "y": "salary"}}
_LETTERS["Czech"] = {"s": "smoke", "m": "mental", "h": "physical", "p": "pressure"}


def study(epsilon: Fraction, runs: int, seed: str) -> tuple[Cuboids, ...]:
    """Every set of exact cuboids on both tables."""
    if runs < 2:
        raise UsageError(f"runs ({runs}) must be at least 2")
    generator = Generator.seeded(f"{seed} cuboids")
    found = []
    for table, subject in (("fact table", fact_table()), ("Czech", czech())):
        for text in SETS[table]:
            names = [[_LETTERS[table][letter] for letter in part] for part in text.split("+") if part]
            exact = tuple(subject.domain.margin(one) for one in names)
            found.append(_one(table, subject, exact, epsilon, runs, generator))
    return tuple(found)


def _one(
    table: str, subject: Subject, exact: tuple[Margin, ...], epsilon: Fraction, runs: int, generator: Generator
) -> Cuboids:
    domain = subject.domain
    price = induced_sensitivity(Facts(domain, exact), time_limit=_SECONDS).value if exact else 1
    noise = DiscreteLaplace.at_least(price / epsilon)
    known = sum(int(np.prod([domain[name].size - 1 for name in margin])) for margin in downward_closure(exact))
    cells = domain.cells()
    draws = noise.sample(runs * cells, generator).reshape(runs, cells).astype(np.float64)
    return Cuboids(
        table=table,
        exact=exact,
        overlap=sum(sum(name in margin for margin in exact) > 1 for name in domain.names),
        price=price,
        before=noise.variance,
        after=noise.variance * (1 - known / cells),
        measured=float((consistent(subject, exact, draws) ** 2).mean()),
        worth=noise.variance * (1 - known / cells) / DiscreteLaplace.at_least(1 / epsilon).variance,
        planned=_planned(subject, exact, epsilon),
    )


def consistent(subject: Subject, exact: Sequence[Margin], errors: Floats) -> Floats:
    """What is left of errors of the base table when it is fitted to the exact cuboids: their part outside the
    margins."""
    if not exact:
        return errors
    matrix = incidence(subject.domain, tuple(exact)).toarray()
    return np.asarray(errors - errors @ (np.linalg.pinv(matrix) @ matrix))


def _planned(subject: Subject, exact: tuple[Margin, ...], epsilon: Fraction) -> float | None:
    settings = {"public": tuple(PublicFact(margin) for margin in exact), "induced": "worst-case"} if exact else {}
    try:
        return subject.plan([subject.domain.names], epsilon, **settings).rmse
    except RefusedError:
        return None


def reproduce(
    folder: Path, epsilon: Fraction = Fraction(1), runs: int = RUNS, seed: str = "cuboids"
) -> tuple[Cuboids, ...]:
    """Run the study, and write its numbers and its figure into a new folder."""
    check_target(folder)
    rows = study(epsilon, runs, seed)
    picture = png(as_attack(rows, epsilon))
    folder.mkdir(parents=True)
    write_file(folder / "cuboids.json", json.dumps([asdict(row) for row in rows], indent=1).encode())
    write_file(folder / "cuboids.png", picture)
    return rows


def as_attack(rows: Sequence[Cuboids], epsilon: Fraction) -> Attack:
    """The study in the frame in which pictures are drawn."""
    panels = tuple(_panel([row for row in rows if row.table == table], table) for table in SETS)
    lines = tuple(Row(row.name, row.before, row.after, row.planned) for row in rows)
    columns = ("before consistency", "after", "Margrave's plan")
    return Attack("cuboids", "Exact cuboids", epsilon, "variance", columns, lines, reading(rows), panels, share=False)


def _panel(rows: Sequence[Cuboids], table: str) -> Panel:
    places = tuple(float(at) for at in range(len(rows)))
    lines = (
        Line("S, the price", "chance", places, tuple(float(row.price) for row in rows)),
        Line("variance before", "wrong", places, tuple(row.before for row in rows)),
        Line("variance after: theory", "bound", places, tuple(row.after for row in rows)),
        Line("variance after: measured", "margrave", places, tuple(row.measured for row in rows)),
    )
    ticks = tuple(text or "none" for text in SETS[table])
    return Panel(table, "set of exact cuboids, by initials", "of one cell", lines, log_y=True, ticks=ticks)


def reading(rows: Sequence[Cuboids]) -> str:
    """What the study says, honestly."""
    facts = [row for row in rows if row.exact]
    saved = [row for row in facts if row.worth < 1]
    dearest = max(facts, key=lambda row: row.worth)
    off = max(abs(row.measured / row.after - 1) for row in rows if row.after)
    told = f"{len(saved)} of {len(facts)} sets of exact cuboids leave less variance than no facts at all"
    return (
        f"{told}. The dearest is {dearest.name} of the {dearest.table}: {dearest.worth:.0f} times as much, with S = "
        f"{dearest.price}. Consistency always helps, by exactly the share of residuals that become known (measured "
        f"within {100 * off:.0f} %), but the price is squared and the share is not."
    )
