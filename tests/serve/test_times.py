"""Reply times of neighbouring data sets cannot be told apart: a slot is held to the end of its time class."""

import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import pytest
from scipy.stats import ks_2samp

from margrave.budget.units import PureDP
from margrave.ledger import Ledger
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve.kept.people import PeopleTable
from margrave.serve.kept.tables import ServerTables
from margrave.serve.kept.tokens import ALLOWED, Tokens
from tests.ledger.helpers import SOAK
from tests.serve.served import PASSWORD, Served
from tests.session.conftest import SPEC, clinic

pytestmark = pytest.mark.slow
PAIRS = 4
"""Each has slots of its own, and is asked by a client of its own: most of the time all of them wait."""
EACH = max(25, int(10_000 * SOAK) // PAIRS)
"""Replies about each data set."""
LEVEL = 0.01


def neighbours(folder):
    """A server with clinics, and the same without their first person, the one with most visits; a token for all."""
    url = str(folder / "ledger.db")
    spec, whole = DataSpec.load(SPEC), clinic()
    unit = next(table.unit for table in spec.tables if table.name == "people")
    gone = whole["people"][unit].iloc[0]
    less = {name: table[table[unit] != gone] for name, table in whole.items()}
    every = [(f"{kind}{pair}@1", data) for pair in range(PAIRS) for kind, data in (("whole", whole), ("less", less))]
    with Ledger.create(url) as ledger:
        ledger.add_account("ann")
        for name, data in every:
            ledger.register(name, spec.notion, PureDP(Fraction(10**6)))
            open_data(spec, data, ledger=ledger, dataset=name, place=folder / name)
            ledger.grant("ann", name, PureDP(Fraction(10**6)))
        tables = ServerTables(ledger)
        tables.make()
        people = PeopleTable(tables)
        ann = people.accept(people.invite("analyst", "ann"), "ann", PASSWORD)
        token = Tokens(tables).make(ann, ALLOWED["analyst"])[1]
    return Served(url, folder, "--workers", "1", "--rate", "1000000"), token


def seconds(client, dataset, number):
    """How long an answer takes, from asking to having it."""
    rows = f"people where age > {number % 90} and income > {100 * (number // 90 % 2_000)}"
    body = {"text": f"{rows} by region average income", "budget": {"epsilon": "0.01"}}
    key = {"Idempotency-Key": f"{dataset.partition('@')[0]}-{number:08d}"}
    started = time.perf_counter()
    reply = client.post(f"/v1/datasets/{dataset}/questions", json=body, headers=key)
    found = client.get(reply.headers["Location"], params={"wait": 60}).json()
    assert found["state"] == "answered"
    return time.perf_counter() - started


def replies(served, token, numbers, pair):
    """Reply times of one pair of neighbours, in turns, so that what else the machine does falls on both."""
    times = {"whole": [], "less": []}
    with served.client(token) as client:
        for kind in times:
            seconds(client, f"{kind}{pair}@1", 10**6 + numbers[0])
        for number in numbers:
            for kind in sorted(times, reverse=number % 2):
                times[kind].append(seconds(client, f"{kind}{pair}@1", number))
    return times


@pytest.mark.skipif(not SOAK, reason="thousands of replies: make soak")
def test_replies_about_neighbouring_data_take_as_long(tmp_path):
    """One repetition is allowed: two samples of the same are told apart once in a hundred times."""
    served, token = neighbours(tmp_path)
    try:
        for attempt in range(2):
            numbers, times = range(attempt * EACH, (attempt + 1) * EACH), {"whole": [], "less": []}
            with ThreadPoolExecutor(PAIRS) as pool:
                for found in pool.map(partial(replies, served, token, numbers), range(PAIRS)):
                    for kind, some in found.items():
                        times[kind] += some
            found = ks_2samp(times["whole"], times["less"])
            print(f"{EACH * PAIRS} replies each: D = {found.statistic:.4f}, p = {found.pvalue:.3f}")
            if found.pvalue > LEVEL:
                return
        raise AssertionError(found)
    finally:
        served.stop()
