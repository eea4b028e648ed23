"""Reply times of neighbouring data sets cannot be told apart: a slot is held to the end of its time class."""

import time
from fractions import Fraction

import pytest
from scipy.stats import ks_2samp

from margrave.budget.units import PureDP
from margrave.ledger import Ledger
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from tests.ledger.helpers import SOAK
from tests.serve.served import Served
from tests.session.conftest import SPEC, clinic

pytestmark = pytest.mark.slow
REPLIES = max(100, int(10_000 * SOAK))
LEVEL = 0.01


def neighbours(folder):
    """A server with a clinic and the same without its first person, the one with most visits; a token for both."""
    url = str(folder / "ledger.db")
    spec, whole = DataSpec.load(SPEC), clinic()
    unit = next(table.unit for table in spec.tables if table.name == "people")
    gone = whole["people"][unit].iloc[0]
    less = {name: table[table[unit] != gone] for name, table in whole.items()}
    with Ledger.create(url) as ledger:
        for version, data in (("whole", whole), ("less", less)):
            ledger.register(f"{version}@1", spec.notion, PureDP(Fraction(10**6)))
            open_data(spec, data, ledger=ledger, dataset=f"{version}@1", place=folder / version)
    served = Served(url, folder, "--workers", "1", "--rate", "1000000")
    token = served.person("ann")
    with Ledger.open(url) as ledger:
        for version in ("whole", "less"):
            ledger.grant("ann", f"{version}@1", PureDP(Fraction(10**6)))
    return served, token


def seconds(client, dataset, number):
    """How long an answer takes, from asking to having it."""
    body = {"text": f"people where age > {number % 90} by region average income", "budget": {"epsilon": "0.01"}}
    key = {"Idempotency-Key": f"{dataset.partition('@')[0]}-{number:08d}"}
    started = time.perf_counter()
    reply = client.post(f"/v1/datasets/{dataset}/questions", json=body, headers=key)
    found = client.get(reply.headers["Location"], params={"wait": 60}).json()
    assert found["state"] == "answered"
    return time.perf_counter() - started


@pytest.mark.skipif(not SOAK, reason="thousands of replies: make soak")
def test_replies_about_neighbouring_data_take_as_long(tmp_path):
    """One repetition is allowed: two samples of the same are told apart once in a hundred times."""
    served, token = neighbours(tmp_path)
    try:
        with served.client(token) as client:
            for version in ("whole@1", "less@1"):
                seconds(client, version, 10**6)
            for attempt in range(2):
                times = {"whole@1": [], "less@1": []}
                for number in range(REPLIES):
                    # In turns, so that what else the machine does falls on both.
                    for version in sorted(times, reverse=number % 2):
                        times[version].append(seconds(client, version, attempt * REPLIES + number))
                found = ks_2samp(times["whole@1"], times["less@1"])
                print(f"{REPLIES} replies each: D = {found.statistic:.4f}, p = {found.pvalue:.3f}")
                if found.pvalue > LEVEL:
                    return
        raise AssertionError(found)
    finally:
        served.stop()
