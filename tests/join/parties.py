"""Two owners, or three and a helper, each with a key, a ledger and data, for tests."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from margrave import pipeline
from margrave.budget.units import ApproxDP
from margrave.join import steps
from margrave.join.folder import SessionFolder
from margrave.join.sealing import box_of
from margrave.join.side import ChargedTo, Side
from margrave.ledger import DataSetName, Ledger
from margrave.ledger.records import Pool, RequestRecord
from margrave.planning.join.plan import make_join_plan
from margrave.planning.join.spec import JoinSpec
from margrave.publish.verification.signature import SigningKey

CAP = ApproxDP(Fraction(10**6), Fraction(3, 4))
PEOPLE = DataSetName("people", "1")
EARLY, LATE = datetime(2030, 1, 1, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)
NAMES = ("hospital", "airline", "bank")
VALUES = {"hospital": ("none", "malaria"), "airline": ("no", "europe", "overseas"), "bank": ("poor", "rich")}
KEYS = {name: SigningKey.new() for name in (*NAMES, "registry")}


def text(*, owners=2, helper=False, epsilon="2", delta="0.01", sizes=("2", "0.01"), release="", deadline="2030-06-01"):
    parts = [f'title = "T"\n[join]\nid = [{{ kind = "digits" }}]\ndeadline = {deadline}T00:00:00Z']
    parts.append(f'publisher = "{NAMES[0]}"')
    for name in NAMES[:owners]:
        box = f'box = "{box_of(KEYS[name])}"' if helper else ""
        head = f'[owners.{name}]\nkey = "{KEYS[name].public.raw.hex()}"\n{box}'
        parts.append(f'{head}\ncolumns = ["id"]\nat_most = 5000')
        values = ", ".join(f'"{value}"' for value in VALUES[name])
        parts.append(f'[attributes.of_{name}]\nowner = "{name}"\nvalues = [{values}]')
    if helper:
        key = KEYS["registry"]
        parts.append(f'[helper]\nname = "registry"\nkey = "{key.public.raw.hex()}"\nbox = "{box_of(key)}"')
    parts.append(f"[release]\nall = {owners}\n{release}" if release else "")
    parts.append(f"[privacy]\nepsilon = {epsilon}")
    if not helper:
        parts.append(f"delta = {delta}\nsizes = {{ epsilon = {sizes[0]}, delta = {sizes[1]} }}")
    return "\n".join(parts)


QUICK = 'nonnegative = "none"\nrounding = "none"'


def frame(name, size=40, start=1, seed=0):
    """People of an owner, some of whom others have as well."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    ids = rng.permutation(np.arange(start, start + 2 * size))[:size]
    return pd.DataFrame({"id": ids, f"of_{name}": rng.choice(VALUES[name], size)})


@dataclass(eq=False)
class Party:
    """One owner, in a folder of its own."""

    name: str
    plan: object
    place: Path
    ledger: Ledger
    data: pd.DataFrame = field(repr=False)
    folder: str = "session"
    clock: object = lambda: EARLY

    def side(self):
        purse = ChargedTo(self.ledger, "ann", PEOPLE)
        return Side(
            self.plan.of(self.name), KEYS[self.name], SessionFolder.at(self.place / self.folder), purse, self.clock
        )

    def read(self):
        return pipeline.members(self.plan.of(self.name), self.data)

    def offer(self):
        return steps.offer(self.side(), self.read)

    def answer(self, message):
        return steps.answer(self.side(), message, self.read)

    def finish(self, message):
        return steps.finish(self.side(), message)

    def message(self, step):
        return SessionFolder(self.place / self.folder).message(step)

    def spent(self):
        """ε and δ that were charged, and the state of each request."""
        total = self.ledger.records(Pool)[0].spent
        return total.epsilon + total.approx, total.delta, [one.status for one in self.ledger.records(RequestRecord)]


OPEN = []
"""Ledgers that are open, to be closed when a test ends."""


def ledger_at(url, plan, name):
    ledger = Ledger.create(url)
    OPEN.append(ledger)
    ledger.register(PEOPLE, plan.of(name).notion, CAP, event_delta=Fraction(1, 2))
    ledger.add_account("ann")
    ledger.grant("ann", str(PEOPLE), CAP, event_delta=Fraction(1, 2))
    return ledger


def parties(place, urls=None, size=40, **options):
    """The owners of a join, each with its ledger."""
    plan = make_join_plan(JoinSpec.load(text(**options)))
    found = []
    for number, owner in enumerate(plan.spec.owners):
        home = place / owner.name
        home.mkdir()
        url = str(home / "ledger.db") if urls is None else urls[number]
        ledger = ledger_at(url, plan, owner.name)
        found.append(Party(owner.name, plan, home, ledger, frame(owner.name, size)))
    return found


def exact(owners):
    """The table over people whom all have, by pandas."""
    joined = owners[0].data
    for one in owners[1:]:
        joined = joined.merge(one.data, on="id")
    shape = tuple(len(VALUES[one.name]) for one in owners)
    codes = [[VALUES[one.name].index(value) for value in joined[f"of_{one.name}"]] for one in owners]
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, tuple(np.array(code, dtype=np.int64) for code in codes), 1)
    return table
