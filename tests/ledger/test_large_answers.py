"""Answers too large to be held in memory: stored, found and checked piece by piece."""

import errno
import tracemalloc
from collections import namedtuple

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave import pipeline
from margrave.errors import LedgerError, RefusedError, VerificationError
from margrave.files import content as contents
from margrave.files import writing
from margrave.files.content import AnswerFile, digest_of, gathered, pieces
from margrave.ledger import verify
from margrave.ledger.records import Pool, RequestRecord
from margrave.ledger.stores import store as stores
from margrave.planning.written import notion_of
from margrave.publish.bundle.parts import layout
from margrave.publish.charging import published_in
from margrave.publish.verification.verify import verify as verify_bundle
from margrave.publish.ways import release as tables
from tests.ledger.helpers import ask, sha, small

TEXT = bytes(range(256)) * 20


@pytest.fixture
def ledger(url):
    with small(url) as one:
        yield one


@pytest.fixture
def pieces_of_a_thousand(monkeypatch):
    monkeypatch.setattr(contents, "CHUNK", 1000)


def file_of(*parts):
    answer = AnswerFile()
    answer.file.writelines(parts)
    return answer


def joined(content):
    return b"".join(pieces(content))


@pytest.mark.parametrize("size", [0, 999, 1000, 1001, 2000, 5120])
def test_pieces_make_up_the_answer(pieces_of_a_thousand, size):
    whole, file = TEXT[:size], file_of(TEXT[:size])
    for content in (whole, file, gathered(pieces(whole)), gathered(pieces(file))):
        parts = list(pieces(content))
        assert b"".join(parts) == whole and parts
        assert max(map(len, parts)) <= 1000
        assert digest_of(content) == digest_of(whole)
    assert isinstance(gathered(pieces(whole)), bytes) == (size <= 1000)
    assert gathered(iter(())) == b""


@pytest.mark.parametrize("as_file", [False, True])
def test_large_answers_are_kept_in_pieces(ledger, pieces_of_a_thousand, as_file):
    content = file_of(TEXT) if as_file else TEXT
    assert joined(ledger.commit(ledger.reserve(ask(1)), content, sha(1))) == TEXT
    found = ledger.reserve(ask(1)).content
    assert isinstance(found, AnswerFile) and joined(found) == TEXT
    assert verify(ledger).bundles == 1


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM ledger_answer WHERE place = ?", "UPDATE ledger_answer SET place = place + 50 WHERE place = ?"],
)
def test_a_piece_that_is_missing_or_elsewhere_is_noticed(ledger, pieces_of_a_thousand, change):
    ledger.commit(ledger.reserve(ask(1)), file_of(TEXT), sha(1))
    (asked,) = ledger.records(RequestRecord)
    with ledger.store.writing() as session:
        session.begin(["head"])
        session.write(change, (asked.number * stores.MOST_PARTS + 2,))
    with pytest.raises(VerificationError, match="missing or was changed"):
        ledger.reserve(ask(1))
    with pytest.raises(VerificationError, match="missing or was changed"):
        verify(ledger)


def test_an_answer_of_too_many_pieces_leaves_the_request_open(ledger, pieces_of_a_thousand, monkeypatch):
    monkeypatch.setattr(stores, "MOST_PARTS", 4)
    charge = ledger.reserve(ask(1))
    with pytest.raises(LedgerError, match="larger than what a ledger can keep"):
        ledger.commit(charge, file_of(TEXT), sha(1))
    assert ledger.reserve(ask(1)).request == charge.request
    assert ledger.commit(charge, file_of(TEXT[:4000]), sha(1)) is not None
    assert verify(ledger).bundles == 1


@pytest.mark.slow
def test_no_more_than_a_few_pieces_are_held(ledger, monkeypatch):
    monkeypatch.setattr(contents, "CHUNK", 1 << 18)
    answer, charge = file_of(*[bytes(1 << 18)] * 64), ledger.reserve(ask(1))
    tracemalloc.start()
    ledger.commit(charge, answer, sha(1))
    found = ledger.reserve(ask(1)).content
    verify(ledger)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(found, AnswerFile)
    assert peak < 3 << 20


SPEC = {
    "attributes": {f"a{place}": {"range": [0, 5]} for place in range(8)},
    "release": {"all": 3, "nonnegative": "none"},
    "privacy": {"rho": "0.1"},
}


@pytest.fixture
def release(url, monkeypatch):
    """Makes a charged release in the large layout, with small pieces."""
    monkeypatch.setattr(contents, "CHUNK", 1 << 12)
    monkeypatch.setattr(layout, "MOST_TABLES", 0)
    monkeypatch.setattr(layout, "PART_ROWS", 1 << 11)
    plan = mg.plan(mg.Spec.from_dict(SPEC))
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: rng.integers(0, 6, 500) for name in SPEC["attributes"]})
    with mg.Ledger.create(url) as ledger:
        ledger.register("survey@1", notion_of(plan.spec), plan.cost)
        ledger.add_account("ann")
        ledger.grant("ann", "survey@1", plan.cost)

        def make():
            return mg.release(plan, data, ledger=ledger, account="ann")

        make.ledger = ledger
        yield make


@pytest.mark.slow
def test_a_large_release_comes_back_unchanged_and_free(release, tmp_path):
    first, again = release(), release()
    assert isinstance(first.stored, AnswerFile) and joined(first.stored) == joined(again.stored)
    for name, one in (("first", first), ("again", again), ("again.zip", again)):
        one.save(tmp_path / name)
        assert verify_bundle(tmp_path / name).private
    assert joined(first.stored) == (tmp_path / "again.zip").read_bytes()
    names = [path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*.*")]
    assert all((tmp_path / "first" / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in names)
    margin = first.plan.spec.margins[-1]
    np.testing.assert_array_equal(first.unbiased(margin), mg.Release.load(tmp_path / "again.zip").unbiased(margin))
    assert verify(release.ledger, published_in(tmp_path)).published == 3


@pytest.mark.slow
def test_a_full_disk_keeps_the_charge_and_gives_no_answer(release, monkeypatch):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing, "AnswerFile", full)
    with pytest.raises(LedgerError, match=r"No space left on device.*TMPDIR"):
        release()
    (asked,) = release.ledger.records(RequestRecord)
    assert asked.status == "reserved" and asked.touched
    spent = release.ledger.records(Pool)[0].spent
    assert spent.rho > 0
    monkeypatch.undo()
    monkeypatch.setattr(pipeline.run, "measure", lambda *_: pytest.fail("noise was drawn again"))
    release()
    assert release.ledger.records(Pool)[0].spent == spent


def test_what_a_ledger_could_not_keep_is_refused_before_anything_is_spent(release, monkeypatch):
    monkeypatch.setattr(pipeline.run, "measure", lambda *_: pytest.fail("the data was opened"))
    with monkeypatch.context() as patch:
        patch.setattr(tables, "MOST_BYTES", 1000)
        with pytest.raises(RefusedError, match="divide the tables between several releases"):
            release()
    with monkeypatch.context() as patch:
        patch.setattr(tables, "disk_usage", lambda _: namedtuple("Usage", "free")(1000))
        with pytest.raises(RefusedError, match="set TMPDIR"):
            release()
    assert release.ledger.records(RequestRecord) == []
    assert release.ledger.records(Pool)[0].spent.rho == 0


def test_readers_of_one_answer_do_not_disturb_each_other():
    answer = AnswerFile()
    answer.file.write(bytes(range(256)) * 100)
    one, other = answer.reader(), answer.reader()
    assert one.read(3) == b"\x00\x01\x02"
    other.seek(-2, 2)
    assert other.read() == b"\xfe\xff" and one.read(2) == b"\x03\x04"
    assert b"".join(pieces(answer)) == bytes(range(256)) * 100
