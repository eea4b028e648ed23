"""Ledgers of older schemas are brought up to date, newer ones are refused."""

import json
from pathlib import Path

import pytest

from margrave.errors import LedgerError, RefusedError, UsageError, VerificationError
from margrave.files.content import pieces
from margrave.ledger import Ledger, verify
from margrave.ledger.records import END, Pool, RequestRecord
from margrave.ledger.rules.entries import NEWEST
from margrave.ledger.statements.statement import statement
from margrave.ledger.statements.words import sentence
from margrave.ledger.stores import store
from margrave.ledger.stores.opening import open_store
from margrave.ledger.view import decode
from tests.ledger.helpers import Clock, ask, eps, granted, small

GOLDEN = Path(__file__).parent / "golden"
OLD = {version: json.loads((GOLDEN / f"version{version}.json").read_text()) for version in (2, 3, 4)}
"""All rows of a ledger as it was written under older versions of the schema; 1 only lacked the journal's guards."""


def tips(ledger):
    """Where the ledger stands, as it is kept."""
    with ledger.store.reading() as session:
        return [decode(key, text) for key, text in session.state([END]).items()]


def older(url, version, old=None, **changed):
    """Put the old ledger into a store, each answer in two parts, some of its records changed."""
    old = old or OLD[max(version, 2)]
    rows = [("ledger_journal", row) for row in old["journal"]]
    rows += [("ledger_state", (key, changed.get(key, text))) for key, text in old["state"]]
    for digest, _, text in old.get("bundle", ()):
        rows += [("ledger_bundle", (digest, part, half.encode())) for part, half in enumerate((text[:3], text[3:]))]
    rows += [("ledger_answer", (place, text.encode())) for place, text in old.get("answer", ())]
    place = open_store(url, create=True)
    later = len(list(place.migrations(version)))
    statements = [*list(place.migrations(0))[: -later or None], "CREATE TABLE ledger_schema (version BIGINT NOT NULL)"]
    if version >= 3:
        statements.append("DROP TABLE ledger_bundle")
    with place.connection() as connection:
        for statement in (*statements, f"INSERT INTO ledger_schema VALUES ({version})"):
            connection.execute(statement)
        mark = "?" if place.dialect == "sqlite" else "%s"
        for table, row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(row))})", row)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_an_older_schema_is_brought_up_to_date(url, version):
    older(url, version).close()
    with Ledger.open(url, clock=Clock("2030-01-02")) as ledger:
        assert ledger.store.schema_version() == len(store.MIGRATIONS)
        with ledger.store.reading() as session:  # a program of an older version that still runs finds no last entry
            assert not session.state(["tip", "end", "entry"])
        checked = verify(ledger)
        assert [checked.entries, checked.bundles, checked.head.hash] == [22, 4, OLD[2]["journal"][-1][2]]
        assert [b"".join(pieces(ledger.reserve(ask(number)).content)) for number in range(1, 5)] == [
            f"answer {number}".encode() for number in range(1, 5)
        ]
        assert {one.id: one.status for one in ledger.records(RequestRecord)} == {
            **{f"ann-{number}": "committed" for number in range(1, 5)},
            "bob-4": "committed",
            "ann-5": "reserved",
            "ann-6": "void",
            "ann-7": "void",
        }
        assert ledger.records(Pool)[0].spent.epsilon == eps("6/10").epsilon + eps("1/3").epsilon
        with pytest.raises(Exception, match="append-only"), ledger.store.connection() as connection:
            connection.execute("DELETE FROM ledger_journal")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "key", "old", "new"),
    [
        (2, "pool/survey", "14/15", "1/15"),
        (2, "tip", '"number":22', '"number":23'),
        (3, "pool/survey", "14/15", "1/15"),
        (3, "pool/survey", '"1/3":1', '"1/3":2'),
        (3, "asked/ann-5", '"closed":null', '"closed":9'),
        (4, "entry", '"number":22', '"number":23'),
    ],
)
def test_an_older_ledger_that_was_changed_stays_as_it_is(url, version, key, old, new):
    text = dict(map(tuple, OLD[version]["state"]))[key]
    assert old in text
    place = older(url, version, **{key: text.replace(old, new)})
    with pytest.raises(VerificationError, match="does not follow from the journal"):
        Ledger.open(url)
    assert place.schema_version() == version
    place.close()


def test_a_newer_schema_is_refused(url):
    with small(url) as ledger, ledger.store.connection() as connection:
        connection.execute("UPDATE ledger_schema SET version = 99")
    with pytest.raises(LedgerError, match="use a newer Margrave"):
        Ledger.open(url)


def test_reading_an_older_ledger_leaves_its_journal_alone(url):
    older(url, 4).close()
    with Ledger.open(url, clock=Clock("2030-01-02")) as ledger:
        head = ledger.head
        verify(ledger)
        statement(ledger, "survey")
        assert [one.rules for one in tips(ledger)] == [1]
        assert ledger.head == head


def test_the_first_writing_of_an_older_ledger_says_that_the_newest_rules_hold_from_there_on(url):
    older(url, 4).close()
    with Ledger.open(url, clock=Clock("2030-01-02")) as ledger:
        ledger.reserve(ask(30))
        ledger.reserve(ask(31))
        kinds = [entry.kind for entry, _ in ledger.entries()]
        assert kinds[22:] == ["rules", "reserve", "reserve"]
        assert [one.rules for one in tips(ledger)] == [NEWEST]
        assert verify(ledger).entries == 25
        assert any(f"rules {NEWEST} hold" in sentence(entry) for entry, _ in ledger.entries())


def test_a_refused_request_leaves_an_older_ledger_as_it_was(url):
    older(url, 4).close()
    with Ledger.open(url, clock=Clock("2030-01-02")) as ledger:
        with pytest.raises(RefusedError):
            ledger.reserve(ask(30, eps(100)))
        assert ledger.head.number == 22
        assert [one.rules for one in tips(ledger)] == [1]


def test_a_new_ledger_says_its_rules_when_it_is_opened(url):
    with small(url) as ledger:
        assert next(iter(ledger.entries()))[0].body["rules"] == NEWEST
        assert "rules" not in [entry.kind for entry, _ in ledger.entries()]
        assert [one.rules for one in tips(ledger)] == [NEWEST]


@pytest.mark.parametrize(("number", "match"), [(1, "hold already"), (99, "use a newer Margrave"), (True, "a number")])
def test_rules_are_only_ever_replaced_by_newer_ones_that_are_known(url, number, match):
    with small(url) as ledger, pytest.raises((RefusedError, UsageError), match=match):
        ledger._write("rules", {"rules": number})


def test_a_running_program_stops_at_rules_that_it_does_not_know(url):
    with small(url) as ledger:
        tip = tips(ledger)[0]
        with ledger.store.writing() as session:
            session.begin([])
            session.write("UPDATE ledger_state SET value = ? WHERE key = ?", (tip._replace(rules=99).text, END))
        with pytest.raises(LedgerError, match="use a newer Margrave"):
            ledger.reserve(ask(1))


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 3])
def test_stored_answers_of_an_older_ledger_are_paid_for_by_the_new_rule(url, version):
    older(url, version).close()
    with Ledger.open(url, clock=Clock("2030-06-01")) as ledger:
        spent = ledger.records(Pool)[0].spent
        before = {name: granted(ledger, name) for name in ("ann", "uni")}
        ledger.add_account("new")
        with pytest.raises(RefusedError, match="new holds no grant"):
            ledger.reserve(ask(1, account="new"))
        ledger.grant("new", "survey@1", eps("0.1"))
        assert b"".join(pieces(ledger.reserve(ask(1, account="new")).content)) == b"answer 1"
        with pytest.raises(RefusedError, match="the grant of new from survey"):
            ledger.reserve(ask(2, account="new"))
        assert b"".join(pieces(ledger.reserve(ask(4, account="bob")).content)) == b"answer 4"
        assert ledger.reserve(ask(5)).request == "ann-5"
        assert ledger.records(Pool)[0].spent == spent
        assert {name: granted(ledger, name) for name in ("ann", "uni")} == before
        assert ledger.reserve(ask(6)).request != "ann-6"
        assert granted(ledger, "ann") == before["ann"] + eps("0.1").epsilon, "noise of then was not kept"
        verify(ledger)
