"""Attacks that work when public facts are forgotten, run on invented data.

Averaging (Kifer and Machanavajjhala 2011): k counts ``c₁ … c_k`` are released with independent noise, and the sums of
consecutive ones, ``a_i = c_i + c_{i+1}``, are public. Then every noisy count tells ``c₁`` once more,
``c₁ = a₁ − a₂ + … ± c_i``, and the average of these k guesses has a k-th of the variance.

As a table: the counts stand on a staircase of two attributes, so that consecutive ones share a row or a column, and
all other cells are known to be empty. The public sums are single cells of the two margins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from io import BytesIO
from math import exp, sqrt, tanh
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Attribute, Domain
from margrave.errors import RefusedError, UsageError
from margrave.facts.facts import Facts, KnownCell
from margrave.facts.sensitivity import induced_sensitivity
from margrave.files.writing import write_file
from margrave.noise import DiscreteLaplace, Generator
from margrave.study.attacks.result import Attack, Panel, Row, rows_panel
from margrave.study.attacks.terms import Terms

_AT_ONCE = 1 << 20
"""Noisy counts that are drawn at a time."""


@dataclass(frozen=True)
class Contender:
    """One way to release the k counts, and what the adversary makes of it.

    ``scale``: of the Laplace noise. ``epsilon``: what the release really costs, given the facts. ``rmse``: the
    adversary's error about the first count, and ``predicted``: what it should be. ``found``: how often the adversary's
    guess, rounded, is exactly right.
    """

    scale: Fraction
    epsilon: Fraction
    rmse: float
    predicted: float
    found: float


@dataclass(frozen=True)
class Averaged:
    """The attack on k counts: released as if nothing were public, and with the facts accounted for."""

    counts: int
    forgotten: Contender
    accounted: Contender

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for scripts."""
        found = asdict(self)
        for one in (found["forgotten"], found["accounted"]):
            one |= {"scale": float(one["scale"]), "epsilon": float(one["epsilon"])}
        return found


def consecutive_sums(counts: int) -> Facts:
    """The facts of the attack. Count i, from 0, stands in row ⌈i/2⌉ and column ⌊i/2⌋."""
    rows = tuple(str(row) for row in range(counts // 2 + 1))
    columns = tuple(str(column) for column in range((counts - 1) // 2 + 1))
    domain = Domain((Attribute("row", rows), Attribute("column", columns)))
    # Counts i and i + 1 share a column if i is even, otherwise a row.
    known: list[KnownCell] = [(("column",), (str(i // 2),)) for i in range(0, counts - 1, 2)]
    known += [(("row",), (str((i + 1) // 2),)) for i in range(1, counts - 1, 2)]
    return Facts(domain, cells=tuple(known))


def averaging(epsilon: Fraction, counts: Sequence[int], runs: int, seed: int | str) -> tuple[Averaged, ...]:
    """The attack for each number of counts k, ``runs`` times on invented counts, with noise from a seed."""
    if epsilon <= 0 or runs < 1 or not counts or min(counts) < 2:
        raise UsageError("averaging needs an epsilon above 0, at least one run, and at least 2 counts")
    generator = Generator.seeded(seed)
    found = []
    for k in counts:
        moved = induced_sensitivity(consecutive_sums(k)).value
        noises = (DiscreteLaplace.at_least(scale / epsilon) for scale in (1, moved))
        found.append(Averaged(k, *(_attacked(moved, noise, k, runs, generator) for noise in noises)))
    return tuple(found)


def _attacked(moved: int, noise: DiscreteLaplace, k: int, runs: int, generator: Generator) -> Contender:
    """``moved``: how far the whole table changes in one step that keeps the facts."""
    truth = 20 + np.arange(k, dtype=np.int64) * 7 % 13
    batch = max(1, _AT_ONCE // k)
    errors = np.concatenate(
        [
            guess(truth + noise.sample(some * k, generator).reshape(some, k), truth[:-1] + truth[1:]) - truth[0]
            for some in (min(batch, runs - start) for start in range(0, runs, batch))
        ]
    )
    return Contender(
        scale=noise.scale,
        epsilon=moved / noise.scale,
        rmse=float(np.sqrt((errors**2).mean())),
        predicted=sqrt(noise.variance / k),
        found=float((np.rint(errors) == 0).mean()),
    )


def guess(noisy: NDArray[np.int64], sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """The adversary's estimate of the first count, for each row of noisy counts, given the public sums."""
    sign = (-1) ** np.arange(noisy.shape[1])
    known = np.concatenate([[0], np.cumsum(sign[:-1] * sums)])
    return np.asarray((known + sign * noisy).mean(axis=1))


def least_error(epsilon: float) -> float:
    """The RMSE about a whole number that no estimate from an ε-private release is below (docs/mathematics.md)."""
    ratio = exp(-epsilon)
    return sqrt(2 * ratio) / (1 - ratio)


def most_found(epsilon: float) -> float:
    """How often at most it is exactly right."""
    return tanh(epsilon / 2)


COUNTS = (2, 8, 32, 128)
COLUMNS = ("exact counts", "facts forgotten", "Margrave: facts accounted for")


def averaging_attack(terms: Terms) -> Attack:
    """The attack in the form of the others: the adversary's error about the first count."""
    found = averaging(terms.epsilon, COUNTS, terms.times(1000), terms.seed)
    least = least_error(float(terms.epsilon))
    rows = tuple(Row(f"{one.counts} counts", 0.0, one.forgotten.rmse, one.accounted.rmse, least) for one in found)
    drawn = rows_panel(rows[:], "counts released", "adversary's RMSE", [float(k) for k in COUNTS], COLUMNS)
    last = found[-1]
    return Attack(
        name="averaging",
        title="Averaging over public facts",
        epsilon=terms.epsilon,
        measure="the adversary's error about one count: more is safer",
        columns=COLUMNS,
        rows=rows,
        paragraph=(
            f"The sums of consecutive counts are public, so each of {last.counts} noisy counts tells the first one "
            f"again. Where the facts are forgotten the average is wrong by {last.forgotten.rmse:.2f}: the count "
            f"itself, in {100 * last.forgotten.found:.0f} % of cases. Its real ε is "
            f"{float(last.forgotten.epsilon):g}. Where they are accounted for it is wrong by "
            f"{last.accounted.rmse:.0f}; and whoever has no idea of a count errs by {least:.2f} at least, whatever is "
            "published for ε."
        ),
        panels=(Panel("", drawn.across, drawn.up, drawn.lines[1:], log_x=True, log_y=True),),
        share=False,
    )


def plot(rows: Sequence[Averaged], epsilon: Fraction, path: Path) -> None:
    """The adversary's error against the number of counts, for both releases, as a PNG file."""
    write_file(path, _png(rows, epsilon))


def _png(rows: Sequence[Averaged], epsilon: Fraction) -> bytes:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise RefusedError("a plot needs matplotlib: pip install 'margrave[study]'; the table needs nothing") from None
    figure = Figure(figsize=(7, 4.2), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    counts = [row.counts for row in rows]
    for name, colour, mark in (("forgotten", "#D55E00", "o"), ("accounted", "#0072B2", "s")):
        found = [getattr(row, name) for row in rows]
        label = {"forgotten": "facts forgotten", "accounted": "facts accounted for"}[name]
        axes.loglog(counts, [one.rmse for one in found], mark, color=colour, label=label)
        axes.loglog(counts, [one.predicted for one in found], "-", color=colour, linewidth=1)
    axes.axhline(0.5, color="0.6", linestyle=":", linewidth=1)
    axes.annotate("below: the count itself", (counts[0], 0.5), xytext=(0, -11), textcoords="offset points", fontsize=8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("k: counts released, with public sums of consecutive ones")
    axes.set_ylabel("adversary's RMSE")
    axes.set_title(f"Averaging over public facts, ε = {float(epsilon):g} (marks: measured, lines: theory)", fontsize=10)
    axes.legend(frameon=False)
    out = BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()
