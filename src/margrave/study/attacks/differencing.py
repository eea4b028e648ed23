"""Differencing: two harmless counts whose difference is one person; the same question again; analysts who collude.

How many members of the House have the sickle cell trait? How many, other than the Speaker? Each count is about
hundreds of people. Their difference is about one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.budget.units import PureDP
from margrave.errors import RefusedError
from margrave.files.temporary import temporary_folder
from margrave.ledger import DataSetName, Ledger, Notion, Request
from margrave.noise import Generator
from margrave.planning.asked import Sheet
from margrave.planning.promise.advantage import guessed
from margrave.study.attacks.draws import laplace
from margrave.study.attacks.result import Attack, Row, percent, rows_panel
from margrave.study.attacks.subjects import Subject, domain_of, uniform
from margrave.study.attacks.terms import Terms

MEMBERS = 435
TIMES = (1, 4, 16, 64, 256)
COLUMNS = ("exact counts", "fresh noise for each analyst", "Margrave: one cap for all")
PURSES = 4
"""So many purses of equal size are what the cap allows."""
_DATA = DataSetName("house", "1")


def house(trait: bool, generator: Generator) -> Subject:
    """The members: who is the Speaker, and who has the trait; the Speaker has it as told."""
    codes = np.zeros((MEMBERS, 2), dtype=np.int64)
    codes[:, 1] = uniform(generator, MEMBERS) < 0.08
    codes[0] = (1, int(trait))
    return Subject(domain_of({"speaker": ("no", "yes"), "trait": ("no", "yes")}), codes, "the House")


def told(answers: Floats, truth: Floats, generator: Generator) -> float:
    """How often the nearer of 0 and 1 is right, given estimates of the difference; ties are decided by a coin."""
    coin = generator.below(2, len(truth))
    guess = np.where(answers == 0.5, coin, answers > 0.5)
    return float((guess == truth).mean())


def asked_again(epsilon: Fraction, times: int, runs: int, generator: Generator) -> float:
    """Two counts, each asked so many times with fresh noise for ε, averaged and subtracted."""
    truth = generator.below(2, runs).astype(np.float64)
    total = np.zeros(runs)
    for _ in range(times):
        total += laplace(1 / epsilon, runs, generator) - laplace(1 / epsilon, runs, generator)
    return told(truth + total / times, truth, generator)


def through_margrave(epsilon: Fraction, analysts: int, runs: int, seed: str, generator: Generator) -> float:
    """The same by releases: each analyst has a release of the two counts for her purse, and they pool what they
    have."""
    truth = generator.below(2, runs).astype(np.float64)
    purse = epsilon / PURSES
    plan = house(True, generator).plan([("speaker", "trait")], purse)
    estimates = np.zeros(runs)
    for run, trait in enumerate(truth.tolist()):
        subject = house(bool(trait), generator)
        outs = [subject.released(plan, f"{seed} {analysts} {run} {one}") for one in range(analysts)]
        # count(trait) − count(trait, others) is the Speaker's cell; her other cell tells as much once more.
        cells = [out.unbiased(("speaker", "trait"))[1] for out in outs]
        estimates[run] = np.mean([(1 + cell[1] - cell[0]) / 2 for cell in cells])
    return told(estimates, truth, generator)


def served(epsilon: Fraction, analysts: int, folder: Path) -> int:
    """How many of these analysts a ledger gives a purse, and answers, before the cap is given away."""
    with Ledger.create(folder / f"{analysts}.db") as ledger:
        ledger.register(_DATA, Notion(), PureDP(epsilon))
        for number in range(analysts):
            who, purse = f"analyst-{number}", PureDP(epsilon / PURSES)
            ledger.add_account(who)
            try:
                ledger.grant(who, str(_DATA), purse)
                question = sha256(who.encode()).hexdigest()
                ledger.reserve(Request(_DATA, who, question, purse, Notion()))
            except RefusedError:
                return number
    return analysts


def differencing(terms: Terms) -> Attack:
    """The attack by how often, or by how many, it is asked."""
    generator = Generator.seeded(f"{terms.seed} differencing")
    runs = terms.times(300)
    with temporary_folder(Path(gettempdir()), "margrave-attack-") as folder:
        answered = {times: served(terms.epsilon, times, folder) for times in TIMES}
    ours = {
        count: through_margrave(terms.epsilon, count, runs, f"{terms.seed} differencing", generator)
        for count in sorted(set(answered.values()))
    }
    bound = guessed(PureDP(terms.epsilon), 2, 0.5)
    rows = tuple(
        Row(f"{n} analysts", 1.0, asked_again(terms.epsilon, n, 20 * runs, generator), ours[answered[n]], bound)
        for n in TIMES
    )
    sheet = tuple((str(n), str(answered[n]), str(2 * n * terms.epsilon), str(terms.epsilon)) for n in TIMES)
    return Attack(
        name="differencing",
        title="Differencing: everybody, and everybody but one",
        epsilon=terms.epsilon,
        measure="how often the Speaker's trait is told rightly; a coin tells half",
        columns=COLUMNS,
        rows=rows,
        paragraph=_paragraph(rows, answered),
        panels=(rows_panel(rows, "analysts who collude", "told rightly", [float(n) for n in TIMES], COLUMNS),),
        more=(Sheet("What is spent", ("analysts", "answered by the ledger", "real ε without one", "with it"), sheet),),
    )


def _paragraph(rows: Sequence[Row], answered: dict[int, int]) -> str:
    last = rows[-1]
    return (
        f"Exact counts of {MEMBERS} and {MEMBERS - 1} people differ by the Speaker's trait. Fresh noise for ε in each "
        f"answer helps once; {TIMES[-1]} analysts who average theirs tell it {percent(last.wrong)} of the time. Asked "
        "again, Margrave gives the same answer; and however many analysts there are, the ledger gives purses to "
        f"{answered[TIMES[-1]]} of them, because the cap is about the data and not about who asks. Pooling these, "
        f"they tell it {percent(last.margrave)} of the time, and never more than {percent(last.bound, 1)}."
    )
