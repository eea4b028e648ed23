"""Reconstruction from random counts: a secret column from the sums of it over random groups of people.

Dinur and Nissim (2003); Dwork, McSherry and Talwar (2007) for linear programming against wild errors. With m random
counts of n people, each with noise of standard deviation s, least squares estimates each bit with a standard deviation
of about 2s/√(m − n): while s stays below √n, a multiple of n counts tells nearly all bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import erf, sqrt

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity

from margrave.algebra.arrays import Flags, Floats
from margrave.budget.units import PureDP
from margrave.noise import Generator
from margrave.planning.asked import Sheet
from margrave.planning.promise.advantage import guessed
from margrave.study.attacks.draws import gaussian_like, laplace
from margrave.study.attacks.result import Attack, Line, Panel, Row, Style, percent, rows_panel
from margrave.study.attacks.terms import Terms

Bits = npt.NDArray[np.float32]

PEOPLE = 1000
MULTIPLES = (1, 2, 5, 10)
NOISES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0)
"""Noise in multiples of √n."""
COLUMNS = ("exact", "each at ε, summed by nobody", "Margrave: ε for all")
_PROGRAM = 100
"""People whom linear programming is shown for; it takes long on dense constraints."""
_WILD = (0.0, 0.05, 0.1, 0.15, 0.2)


@dataclass(frozen=True, eq=False)
class Groups:
    """Random groups of n people, one a row, and their secret bits."""

    members: Bits
    secret: Bits

    @property
    def counts(self) -> Floats:
        """The exact number of people with the secret in each group."""
        return (self.members @ self.secret).astype(np.float64)


def random_groups(people: int, counts: int, generator: Generator) -> Groups:
    """Groups that each person is in with probability one half, and fair secret bits."""
    bits = np.unpackbits(generator.octets(-(-people * counts // 8)))[: people * counts]
    secret = np.unpackbits(generator.octets(-(-people // 8)))[:people]
    return Groups(bits.reshape(counts, people).astype(np.float32), secret.astype(np.float32))


def by_least_squares(members: Bits, answers: Floats) -> Flags:
    """The bits nearest to the answers in the sum of squares, rounded; one column of answers for each attempt."""
    gram = (members.T @ members).astype(np.float64)
    gram[np.diag_indices_from(gram)] += 1e-3
    found = cho_solve(cho_factor(gram), members.T.astype(np.float64) @ answers)
    return np.asarray(found > 0.5)


def by_program(members: Bits, answers: Floats) -> Flags:
    """The fractional bits nearest to the answers in the sum of absolute errors, by linear programming, rounded."""
    counts, people = members.shape
    slack = identity(counts, format="csr")
    matrix = hstack([csr_array(members.astype(np.float64)), slack, -slack], format="csr")
    goal = np.concatenate([np.zeros(people), np.ones(2 * counts)])
    limits = [(0, 1)] * people + [(0, None)] * (2 * counts)
    found = linprog(goal, A_eq=matrix, b_eq=answers, bounds=limits, method="highs")
    return np.asarray(found.x[:people] > 0.5)


def told(guess: Flags, secret: Bits) -> Floats:
    """The share of bits that are right, for each attempt."""
    right = guess == (secret > 0.5)[:, None] if guess.ndim == 2 else (guess == (secret > 0.5))[:, None]
    return np.asarray(right.mean(axis=0))


def reconstruction(terms: Terms) -> Attack:
    """The attack on n = 1,000 people by numbers of counts, and by noise."""
    generator = Generator.seeded(f"{terms.seed} reconstruction")
    runs = terms.times(1)
    results = [_once(terms.epsilon, generator) for _ in range(runs)]
    rows = np.mean([one[0] for one in results], axis=0)
    noise = np.mean([one[1] for one in results], axis=0)
    bound = guessed(PureDP(terms.epsilon), 1, 0.5)
    table = tuple(Row.of(f"{PEOPLE * times:,} counts", rows[at].tolist(), bound) for at, times in enumerate(MULTIPLES))
    wild = _wild(generator)
    return Attack(
        name="reconstruction",
        title="Reconstruction from random counts",
        epsilon=terms.epsilon,
        measure="share of people whose secret bit is told rightly; a coin tells half",
        columns=COLUMNS,
        rows=table,
        paragraph=_paragraph(table, noise, wild),
        panels=(
            rows_panel(table, "counts published", "secrets told rightly", _numbers(), COLUMNS),
            _by_noise(noise),
        ),
        more=(_noise_sheet(noise), _wild_sheet(wild)),
    )


def _once(epsilon: Fraction, generator: Generator) -> tuple[list[list[float]], list[list[float]]]:
    """For each number of counts the three columns; and for each number of counts, the share told at each noise."""
    most = PEOPLE * MULTIPLES[-1]
    groups = random_groups(PEOPLE, most, generator)
    exact = groups.counts
    columns, by_noise = [], []
    for times in MULTIPLES:
        counts = PEOPLE * times
        members, truth = groups.members[:counts], exact[:counts]
        # A bit moves every count that its person is in: all of them together have this sensitivity.
        moved = int(members.sum(axis=0).max())
        attempts = [truth, truth + laplace(1 / epsilon, counts, generator)]
        attempts.append(truth + laplace(moved / epsilon, counts, generator))
        attempts += [truth + gaussian_like(c * sqrt(PEOPLE), counts, generator) for c in NOISES]
        found = told(by_least_squares(members, np.stack(attempts, axis=1)), groups.secret).tolist()
        columns.append(found[:3])
        by_noise.append(found[3:])
    return columns, by_noise


def _numbers() -> list[float]:
    return [float(PEOPLE * times) for times in MULTIPLES]


def predicted(noise: float, counts: int, people: int = PEOPLE) -> float:
    """The share told in theory: a normal error of standard deviation 2s/√(m − n) per bit; half where m ≤ n."""
    if counts <= people:
        return 0.5
    deviation = 2 * noise * sqrt(people) / sqrt(counts - people)
    return 0.5 + 0.5 * erf(0.5 / deviation / sqrt(2))


def _wild(generator: Generator) -> list[tuple[float, float, float]]:
    """A part of the counts is nonsense: what least squares and linear programming make of the rest."""
    groups = random_groups(_PROGRAM, 5 * _PROGRAM, generator)
    found = []
    for part in _WILD:
        answers = groups.counts + gaussian_like(0.1 * sqrt(_PROGRAM), len(groups.members), generator)
        bad = int(part * len(answers))
        answers[:bad] = generator.below(_PROGRAM, bad)
        squares = told(by_least_squares(groups.members, answers[:, None]), groups.secret)
        program = told(by_program(groups.members, answers), groups.secret)
        found.append((part, float(squares[0]), float(program[0])))
    return found


def _by_noise(noise: Floats) -> Panel:
    styles: tuple[Style, ...] = ("chance", "margrave", "wrong", "exact")
    lines = []
    for at, times in reversed(list(enumerate(MULTIPLES))):
        lines.append(Line(f"{times} n counts", styles[at], NOISES, tuple(map(float, noise[at]))))
    theory = tuple(predicted(one, PEOPLE * MULTIPLES[-1]) for one in NOISES)
    lines.append(Line(f"theory, {MULTIPLES[-1]} n", "bound", NOISES, theory))
    return Panel("The threshold at √n", "noise in multiples of √n", "secrets told rightly", tuple(lines), log_x=True)


def _noise_sheet(noise: Floats) -> Sheet:
    headers = ("noise", *(f"{times} n counts" for times in MULTIPLES), f"theory, {MULTIPLES[-1]} n")
    rows = []
    for at, one in enumerate(NOISES):
        told_ = (f"{100 * float(row[at]):.1f} %" for row in noise)
        rows.append((f"{one:g} √n", *told_, f"{100 * predicted(one, PEOPLE * MULTIPLES[-1]):.1f} %"))
    return Sheet("Noise of a standard deviation in multiples of √n, without regard to privacy", headers, tuple(rows))


def _wild_sheet(wild: list[tuple[float, float, float]]) -> Sheet:
    rows = tuple((f"{100 * part:.0f} %", f"{100 * a:.0f} %", f"{100 * b:.0f} %") for part, a, b in wild)
    title = f"Where some counts are nonsense: {_PROGRAM} people, {5 * _PROGRAM} counts, noise 0.1 √n"
    return Sheet(title, ("nonsense", "least squares", "linear programming"), rows)


def _paragraph(rows: tuple[Row, ...], noise: Floats, wild: list[tuple[float, float, float]]) -> str:
    last, at = rows[-1], NOISES.index(0.2)
    return (
        f"Each count is about half of all people and looks harmless. Yet {MULTIPLES[-1]} n of them, each with noise "
        f"of a fifth of √n, tell {100 * float(noise[-1][at]):.1f} % of the secrets by least squares. Noise for ε in "
        f"each count, with nobody adding up, tells {percent(last.wrong, 1)}: its real ε is the number of counts. "
        f"Where ε is spent on all counts together, the attacker tells {percent(last.margrave, 1)}, and no attacker "
        f"more than {percent(last.bound, 1)}. Nonsense in {100 * wild[-2][0]:.0f} % of the counts does not help: "
        f"linear programming still tells {100 * wild[-2][2]:.0f} %."
    )
