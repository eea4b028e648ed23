"""Reconstruction from published tables: every record of a small block from its tables, as the 2010 census was attacked.

All tables of up to so many attributes are whole-number equations for the unknown full table. A solver finds a table
that satisfies them, the most likely one for who knows the rest of the population, and tells whether it is the only
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain
from margrave.budget.units import PureDP
from margrave.errors import RefusedError
from margrave.noise import Generator
from margrave.planning.asked import Sheet
from margrave.planning.promise.advantage import guessed
from margrave.study.attacks.draws import laplace
from margrave.study.attacks.reconstruction.last_record import MOST_SUPPOSED, Told, last_record, mean_of
from margrave.study.attacks.reconstruction.solver import (
    BLOCK,
    incidence,
    margrave_table,
    nearest,
    overlap,
    solve,
    tables_up_to,
)
from margrave.study.attacks.result import Attack, Panel, Row, percent, rows_panel
from margrave.study.attacks.subjects import Subject, bundled, shuffled
from margrave.study.attacks.terms import Terms

MOST_WAYS = 4
SMALL = ("wife_active", "husband_unemployed", "young_child", "asian", "other_worker")
"""Five rare and telling attributes of Rochdale's eight."""
COLUMNS = ("exact tables", "each table at ε, summed by nobody", "Margrave: ε for all")
SECRET = "wife_active"
ACROSS = "attributes in a table"
_MOST_CELLS = 4096
_RELEASES = 50
"""Draws of the noise from which the last record is told."""
_LEAST = 0.05
"""The weight of a record that nobody else has, among those of the rest of the population."""


def secrets_told(truth: Integers, guess: Floats, likely: Floats, axis: int) -> float:
    """Of all people, whose secret is told rightly by who knows their other attributes and takes the guess for true."""
    found = guess.reshape(truth.shape).astype(float) + 1e-6 * likely.reshape(truth.shape)
    said = np.expand_dims(found.argmax(axis=axis), axis)
    return float(np.take_along_axis(truth, said, axis).sum() / truth.sum())


def reconstruction_tables(terms: Terms) -> Attack:
    """The attack on blocks of 100 people, by the number of attributes in a table."""
    whole = terms.subject or bundled("rochdale").only(SMALL)
    if whole.domain.cells() > _MOST_CELLS or len(whole) < 2 * BLOCK:
        raise RefusedError(f"this attack needs at most {_MOST_CELLS} cells and at least {2 * BLOCK} records")
    secret = SECRET if SECRET in whole.domain.names else whole.domain.names[-1]
    generator = Generator.seeded(f"{terms.seed} blocks")
    blocks = [_block(whole, secret, terms, generator, run) for run in range(terms.times(3))]
    chance, by_chance, bound = (float(np.mean([one[at] for one in (b.fixed for b in blocks)])) for at in range(3))
    rows, sheet = [], []
    for at, ways in enumerate(_ways(whole.domain)):
        records, told = (
            [float(np.mean([getattr(block, kind)[at][column] for block in blocks])) for column in range(3)]
            for kind in ("records", "told")
        )
        alone = sum(block.unique[at] is True for block in blocks)
        rows.append(Row.of(f"up to {ways}-way", records))
        sheet.append((f"up to {ways}-way", *(f"{100 * share:.0f} %" for share in told), f"{alone} of {len(blocks)}"))
    every = [float(ways) for ways in _ways(whole.domain)]
    last = [mean_of([block.last[at] for block in blocks]) for at in range(len(every))] if blocks[0].last else []
    wider = () if terms.subject else (_wider(terms),)
    title = f"Whose '{secret}' is told, by who knows the rest; {percent(chance)} by chance, {percent(bound)} at most"
    return Attack(
        name="reconstruction-tables",
        title="Reconstruction from published tables",
        epsilon=terms.epsilon,
        measure=f"share of the records of {BLOCK} people that are recovered; {percent(by_chance)} by chance",
        columns=COLUMNS,
        rows=tuple(rows),
        paragraph=_paragraph(rows, sheet, by_chance, last),
        panels=(
            rows_panel(rows, ACROSS, "records recovered", every, COLUMNS),
            *_last_panel(last, every),
        ),
        more=(Sheet(title, ("tables", *COLUMNS, "only one solution"), tuple(sheet)), *wider, *_last_sheet(last)),
        confidential=whole.confidential,
    )


def _ways(domain: Domain) -> range:
    """So many attributes in a table; with five there are tables of up to three, with more of up to four."""
    return range(1, min(MOST_WAYS, max(1, len(domain) - 2)) + 1)


def _wider(terms: Terms) -> Sheet:
    """The same from exact tables of all eight attributes."""
    whole, rows = bundled("rochdale"), []
    generator = Generator.seeded(f"{terms.seed} wider blocks")
    orders = [shuffled(generator, len(whole)) for _ in range(terms.times(3))]
    for ways in (MOST_WAYS - 1, MOST_WAYS):
        found, alone = [], 0
        for order in orders:
            block, likely = whole.take(order[:BLOCK]), _likely(whole.take(order[BLOCK:]))
            counts, only = _exact(block, block.table(), likely, ways)
            found.append(overlap(block.table(), counts))
            alone += only is True
        rows.append((f"up to {ways}-way", percent(float(np.mean(found))), f"{alone} of {len(orders)}"))
    title = "Blocks with all eight attributes, from exact tables"
    return Sheet(title, ("tables", "records recovered", "only one solution"), tuple(rows))


def _likely(rest: Subject) -> Floats:
    """How likely each record is, by the rest of the population."""
    likely = (rest.table().astype(float) + _LEAST).ravel()
    return np.asarray(likely / likely.sum())


@dataclass(frozen=True)
class Block:
    """One block: by number of ways and column, secrets told and records recovered.

    ``last``: how often the last record is told by who knows all others, by number of ways; nothing on large domains.
    ``fixed``: secrets told by chance, records recovered by chance, and the secrets that ε allows to be told.
    """

    told: list[list[float]]
    records: list[list[float]]
    unique: list[bool | None]
    last: list[Told]
    fixed: tuple[float, float, float]


def _block(whole: Subject, secret: str, terms: Terms, generator: Generator, run: int) -> Block:
    order = shuffled(generator, len(whole))
    block, rest = whole.take(order[:BLOCK]), whole.take(order[BLOCK:])
    truth, axis = block.table(), block.domain.position(secret)
    likely = _likely(rest)
    told, records, unique, last = [], [], [], []
    for ways in _ways(block.domain):
        if block.domain.cells() <= MOST_SUPPOSED:
            tables, seed = tables_up_to(block.domain, ways), f"{terms.seed} block {run} {ways}"
            last.append(last_record(block, likely, tables, terms.epsilon, _RELEASES, seed))
        exact, only = _exact(block, truth, likely, ways)
        guesses = [exact, _wrong(block, truth, ways, terms.epsilon, generator)]
        guesses.append(margrave_table(block, ways, terms.epsilon, f"{terms.seed} block {run} {ways}"))
        told.append([secrets_told(truth, guess, likely, axis) for guess in guesses])
        records.append([overlap(truth, guess) for guess in guesses])
        unique.append(only)
    expected = np.rint(likely * BLOCK)
    prior = likely.reshape(truth.shape) / likely.reshape(truth.shape).sum(axis=axis, keepdims=True)
    best = np.minimum(prior.max(axis=axis), 1 - 1e-9)
    limit = np.vectorize(lambda before: guessed(PureDP(terms.epsilon), 2, before))(best)
    people = truth.sum(axis=axis)
    chance = secrets_told(truth, likely, likely, axis)
    fixed = (chance, overlap(truth, expected), float((limit * people).sum() / len(block)))
    return Block(told, records, unique, last, fixed)


def _last_sheet(last: Sequence[Told]) -> tuple[Sheet, ...]:
    if not last:
        return ()
    title = f"One person's whole record, told by who knows the {BLOCK - 1} others"
    rows = tuple(
        (f"up to {ways}-way", *(percent(share, 1) for share in astuple(one))) for ways, one in enumerate(last, 1)
    )
    return (Sheet(title, ("tables", *COLUMNS, "by chance", "bound"), rows),)


def _last_panel(last: Sequence[Told], every: Sequence[float]) -> tuple[Panel, ...]:
    if not last:
        return ()
    rows = [Row(str(at), one.exact, one.wrong, one.margrave, one.bound) for at, one in enumerate(last)]
    drawn = rows_panel(rows, ACROSS, "last record told", every, COLUMNS)
    return (replace(drawn, title=f"By who knows the {BLOCK - 1} others"),)


def _exact(block: Subject, truth: Integers, likely: Floats, ways: int) -> tuple[Floats, bool | None]:
    matrix = incidence(block.domain, tables_up_to(block.domain, ways))
    found = solve(matrix, matrix @ truth.ravel().astype(float), likely)
    return found.counts, found.unique


def _wrong(block: Subject, truth: Integers, ways: int, epsilon: Fraction, generator: Generator) -> Floats:
    """Noise for ε in every table, as if each were the only one: its real ε is the number of tables."""
    matrix = incidence(block.domain, tables_up_to(block.domain, ways))
    answers = matrix @ truth.ravel().astype(float)
    return nearest(matrix, answers + laplace(1 / epsilon, len(answers), generator), len(block))


def _paragraph(rows: Sequence[Row], sheet: Sequence[tuple[str, ...]], by_chance: float, told: Sequence[Told]) -> str:
    last = rows[-1]
    return (
        f"The exact tables of {len(rows)} attributes leave one possible full table in {sheet[-1][-1]} blocks, and "
        f"{percent(last.exact)} of the records are recovered, names or not. Noise for ε in each table, with nobody "
        f"adding up, gives {percent(last.wrong)}. From Margrave's tables it is {percent(last.margrave)}; "
        f"{percent(by_chance)} come out by guessing from the rest of the population."
        + (f" {_last_words(told[-1])}" if told else "")
    )


def _last_words(told: Told) -> str:
    return (
        f"Who knows the {BLOCK - 1} others tells the last record from exact tables in {percent(told.exact)} of cases, "
        f"with noise that nobody adds up in {percent(told.wrong)}, from Margrave's in {percent(told.margrave)}: "
        f"{percent(told.chance)} are right by chance, and {percent(told.bound)} is the most that ε allows."
    )
