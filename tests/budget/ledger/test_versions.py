"""Ledgers of older schemas are brought up to date, newer ones are refused."""

import json
from pathlib import Path

import pytest

from margrave.budget.ledger import Ledger, store, verify
from margrave.budget.ledger.ledger import open_store
from margrave.budget.ledger.records import Asked, Pool
from margrave.errors import LedgerError, VerificationError
from tests.budget.ledger.helpers import ask, eps, small

OLD = json.loads((Path(__file__).parent / "golden" / "version2.json").read_text())
"""All rows of a ledger as it was written under version 2 of the schema; version 1 only lacked the journal's guards."""


def older(url, version, **changed):
    """Put the old ledger into a store, each answer in two parts, some of its records changed."""
    rows = [("ledger_journal", row) for row in OLD["journal"]]
    rows += [("ledger_state", (key, changed.get(key, text))) for key, text in OLD["state"]]
    for digest, _, text in OLD["bundle"]:
        rows += [("ledger_bundle", (digest, part, half.encode())) for part, half in enumerate((text[:3], text[3:]))]
    place = open_store(url, create=True)
    later = len(list(place.migrations(version)))
    statements = [*list(place.migrations(0))[:-later], "CREATE TABLE ledger_schema (version BIGINT NOT NULL)"]
    with place.connection() as connection:
        for statement in (*statements, f"INSERT INTO ledger_schema VALUES ({version})"):
            connection.execute(statement)
        mark = "?" if place.dialect == "sqlite" else "%s"
        for table, row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(row))})", row)
    return place


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_schema_is_brought_up_to_date(url, version):
    older(url, version).close()
    with Ledger.open(url) as ledger:
        assert ledger.store.schema_version() == len(store.MIGRATIONS)
        checked = verify(ledger)
        assert [checked.entries, checked.bundles, checked.head.hash] == [22, 4, OLD["journal"][-1][2]]
        assert [ledger.reserve(ask(number)).content for number in range(1, 5)] == [
            f"answer {number}".encode() for number in range(1, 5)
        ]
        assert {one.id: one.status for one in ledger.records(Asked)} == {
            **{f"ann-{number}": "committed" for number in range(1, 5)},
            "bob-4": "committed",
            "ann-5": "reserved",
            "ann-6": "void",
            "ann-7": "void",
        }
        assert ledger.records(Pool)[0].spent.epsilon == eps("6/10").epsilon + eps("1/3").epsilon
        with pytest.raises(Exception, match="append-only"), ledger.store.connection() as connection:
            connection.execute("DELETE FROM ledger_journal")


@pytest.mark.parametrize(
    ("key", "old", "new"), [("pool/survey", "14/15", "1/15"), ("tip", '"number":22', '"number":23')]
)
def test_an_older_ledger_that_was_changed_stays_as_it_is(url, key, old, new):
    text = dict(map(tuple, OLD["state"]))[key]
    assert old in text
    place = older(url, 2, **{key: text.replace(old, new)})
    with pytest.raises(VerificationError, match="does not follow from the journal"):
        Ledger.open(url)
    assert place.schema_version() == 2
    place.close()


def test_a_newer_schema_is_refused(url):
    with small(url) as ledger, ledger.store.connection() as connection:
        connection.execute("UPDATE ledger_schema SET version = 99")
    with pytest.raises(LedgerError, match="use a newer Margrave"):
        Ledger.open(url)
