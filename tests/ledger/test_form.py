"""Tables, guards and the schema's row changed by other means: `verify` names them, and a further table is nobody's."""

import pytest

from margrave.errors import LedgerError, VerificationError
from margrave.ledger import Ledger, verify
from margrave.ledger.stores.form import Form, check_forms
from tests.ledger.helpers import released, small

SQLITE = {
    "ledger_journal_no_update of the table ledger_journal was removed": ["DROP TRIGGER ledger_journal_no_update"],
    "ledger_journal_no_delete of the table ledger_journal was changed": [
        "DROP TRIGGER ledger_journal_no_delete",
        "CREATE TRIGGER ledger_journal_no_delete BEFORE DELETE ON ledger_journal BEGIN SELECT 1; END",
    ],
    "has a trigger other that no ledger has": [
        "CREATE TRIGGER other AFTER INSERT ON ledger_state BEGIN SELECT 1; END",
    ],
    "ledger_journal is no longer an ordinary table, but a view": [
        "CREATE TABLE elsewhere AS SELECT * FROM ledger_journal",
        "DROP TABLE ledger_journal",
        "CREATE VIEW ledger_journal AS SELECT * FROM elsewhere",
    ],
    "table ledger_state has other columns, constraints or keys": [
        "CREATE TABLE elsewhere AS SELECT * FROM ledger_state",
        "DROP TABLE ledger_state",
        "ALTER TABLE elsewhere RENAME TO ledger_state",
    ],
    "no table ledger_answer": ["DROP TABLE ledger_answer"],
}
POSTGRESQL = {
    "ledger_journal_append_only of the table ledger_journal was removed": [
        "DROP TRIGGER ledger_journal_append_only ON ledger_journal"
    ],
    "changed or switched off": ["ALTER TABLE ledger_journal DISABLE TRIGGER ALL"],
    "ledger_journal_append_only of the table ledger_journal was changed": [
        "CREATE OR REPLACE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN NULL; END $$"
    ],
    "has a trigger other that no ledger has": [
        "CREATE TRIGGER other AFTER INSERT ON ledger_state FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only()"
    ],
    "ledger_journal is no longer an ordinary table, but a view": [
        "ALTER TABLE ledger_journal RENAME TO elsewhere",
        "CREATE VIEW ledger_journal AS SELECT * FROM elsewhere",
    ],
    "table ledger_journal has other columns, constraints or keys": [
        "ALTER TABLE ledger_journal DROP CONSTRAINT ledger_journal_pkey"
    ],
    "table ledger_state has other columns, constraints or keys": [
        "ALTER TABLE ledger_state ALTER COLUMN value DROP NOT NULL"
    ],
    "but a table that a crash empties": ["ALTER TABLE ledger_answer SET UNLOGGED"],
    "but a table that hides rows": ["ALTER TABLE ledger_journal ENABLE ROW LEVEL SECURITY"],
    "but a table with rewriting rules": ["CREATE RULE no AS ON DELETE TO ledger_state DO INSTEAD NOTHING"],
    "but a table with heirs or parents": ["CREATE TABLE heir () INHERITS (ledger_journal)"],
    "no table ledger_answer": ["DROP TABLE ledger_answer"],
}


def changed(url, statements):
    with small(url) as ledger:
        released(ledger, 1)
        verify(ledger)
        with ledger.store.connection() as connection:
            for statement in statements:
                connection.execute(statement)


@pytest.mark.parametrize("text", SQLITE)
def test_what_was_changed_in_a_file_is_named(tmp_path, text):
    changed(str(tmp_path / "ledger.db"), SQLITE[text])
    with Ledger.open(tmp_path / "ledger.db") as ledger, pytest.raises(VerificationError, match=text):
        verify(ledger)


@pytest.mark.parametrize("text", POSTGRESQL)
def test_what_was_changed_in_a_server_is_named(server, text):
    url = server.new_schema(f"form{list(POSTGRESQL).index(text)}")
    changed(url, POSTGRESQL[text])
    with Ledger.open(url) as ledger, pytest.raises(VerificationError, match=text):
        verify(ledger)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ledger_schema",
        "INSERT INTO ledger_schema VALUES (1)",
        "UPDATE ledger_schema SET version = 0",
        "UPDATE ledger_schema SET version = -1",
        "DROP TABLE ledger_schema",
    ],
)
def test_a_schema_that_does_not_say_its_version_is_no_ledger_to_go_on_with(url, statement):
    changed(url, [statement])
    with pytest.raises(VerificationError, match="does not say which version"):
        Ledger.open(url)
    with pytest.raises((VerificationError, LedgerError), match=r"does not say which version|exists already"):
        Ledger.create(url)


def test_other_tables_beside_a_ledger_are_left_alone(url):
    others = ["CREATE TABLE notes (text TEXT)", "CREATE INDEX ledger_quick ON ledger_state (value)"]
    changed(url, [*others, "CREATE VIEW ledger_summary AS SELECT count(*) FROM ledger_journal"])
    with Ledger.open(url) as ledger:
        released(ledger, 2)
        verify(ledger)


def test_a_table_that_was_never_made_is_named_by_its_absence():
    made = {"ledger_journal": Form("table", {"number": True}, ("number",), {})}
    check_forms(made, made, {})
    with pytest.raises(VerificationError, match="no table ledger_journal"):
        check_forms({}, made, {})
