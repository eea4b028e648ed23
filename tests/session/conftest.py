"""A clinic with people and visits, opened once for questions, and a ledger with its accounts."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pandas as pd
import pytest

from margrave.budget.units import PureDP
from margrave.ledger import Ledger
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.session.session import Session

CANARY = "kanarienvogel"
SPEC = """
title = "A clinic"
unit = "person"
[tables.people]
max_records = 1
rows = 500
[tables.people.columns]
region = ["north", "south"]
age = { range = [0, 110] }
income = { number = [0, 200000], step = 100 }
[tables.visits]
max_records = 5
rows = 1500
[tables.visits.columns]
ward = ["a", "b"]
cost = { number = [0, 500], step = 0.5 }
seen = { days = [2024-01-01, 2024-12-31] }
[public.places]
key = "region"
columns = { region = ["north", "south", "nowhere"], land = ["x", "y", "z"], weight = [1, 2.5, 3] }
"""


def clinic(people=400, visits=1_200):
    random = Random(4)
    first = pd.DataFrame(
        {
            "person": [f"{CANARY}{number}" for number in range(people)],
            "region": [random.choice(["north", "south"]) for _ in range(people)],
            "age": [random.randint(0, 100) for _ in range(people)],
            "income": [min(200_000.0, random.expovariate(1 / 40_000)) for _ in range(people)],
        }
    )
    second = pd.DataFrame(
        {
            "person": [f"{CANARY}{random.randrange(people)}" for _ in range(visits)],
            "ward": [random.choice("ab") for _ in range(visits)],
            "cost": [random.uniform(0, 500) for _ in range(visits)],
            "seen": [f"2024-{random.randint(1, 12):02}-15" for _ in range(visits)],
        }
    )
    return {"people": first, "visits": second}


@pytest.fixture
def ledger(tmp_path):
    spec = DataSpec.load(SPEC)
    with Ledger.create(tmp_path / "ledger.db") as found:
        found.register("clinic@2024", spec.notion, PureDP(Fraction(3)))
        for name in ("ann", "bob"):
            found.add_account(name)
            found.grant(name, "clinic@2024", PureDP(Fraction(1)))
        open_data(spec, clinic(), ledger=found, dataset="clinic@2024", place=tmp_path / "store")
        yield found


@pytest.fixture
def session(ledger):
    with Session.open(ledger, "ann") as found:
        yield found
