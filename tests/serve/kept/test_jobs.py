"""Jobs are written once, taken up in their order, and stay what they became."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from margrave.errors import LedgerError, RefusedError
from margrave.ledger import Ledger
from margrave.serve.answering import rest_of_class
from margrave.serve.kept import jobs as jobs_module
from margrave.serve.kept.holding import HOLDS, Holder
from margrave.serve.kept.holding import now as _now
from margrave.serve.kept.jobs import Jobs, request_id
from margrave.serve.kept.tables import ServerTables


@pytest.fixture
def tables(tmp_path):
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        found = ServerTables(ledger)
        found.make()
        yield found


@pytest.fixture
def jobs(tables):
    return Jobs(tables)


def test_an_id_stands_for_one_question(jobs):
    job = jobs.put("q1", "ann", "clinic@1", {"a": 1})
    assert jobs.put("q1", "ann", "clinic@1", {"a": 1}) == job
    with pytest.raises(RefusedError, match="another question"):
        jobs.put("q1", "ann", "clinic@1", {"a": 2})
    with pytest.raises(RefusedError, match="another question"):
        jobs.put("q1", "ann", "clinic@2", {"a": 1})


def test_jobs_of_a_data_set_are_taken_up_in_their_order(jobs):
    for number in range(3):
        jobs.put(f"q{number}", "ann", "clinic@1", {"a": number})
    jobs.put("other", "ann", "clinic@2", {})
    jobs.finish("q0", "answered", b"{}")
    assert jobs.next("clinic@1").id == "q1" and jobs.next("clinic@2").id == "other" and jobs.next("none@1") is None


def test_what_became_of_a_job_stays(jobs):
    jobs.put("q1", "ann", "clinic@1", {})
    jobs.finish("q1", "answered", b"first")
    jobs.finish("q1", "refused", b"second")
    jobs.again("q1")
    found = jobs.found("q1", "ann")
    assert (found.state, found.result) == ("answered", b"first") and jobs.found("q1", "bob") is None
    jobs.put("q2", "ann", "clinic@1", {})
    assert jobs.settled(["q1", "q2", "none"]) == {"q1": found} and jobs.settled([]) == {}


def test_after_a_fault_a_job_waits_again(jobs):
    jobs.put("q1", "ann", "clinic@1", {})
    jobs.finish("q1", "fault", b"{}")
    assert jobs.next("clinic@1") is None
    jobs.again("q1")
    assert jobs.next("clinic@1").id == "q1"


def test_an_account_has_so_many_jobs_waiting_and_no_more(jobs, monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_WAITING", 2)
    jobs.put("q1", "ann", "clinic@1", {})
    jobs.put("q2", "ann", "clinic@1", {})
    with pytest.raises(RefusedError, match="wait already"):
        jobs.put("q3", "ann", "clinic@1", {})
    assert jobs.put("q3", "bob", "clinic@1", {}).state == "waiting"
    assert [job.id for _, job in jobs.of("ann", 0, 10)] == ["q1", "q2"] and len(jobs.of(None, 0, 10)) == 3


def test_what_comes_together_is_written_together(jobs, tables, monkeypatch):
    """The first waits for its write while the others come; then these are written at once, each by itself refused."""
    first, go, writes, written = threading.Event(), threading.Event(), [], tables.writing

    def writing(**options):
        writes.append(options)
        if len(writes) == 1:
            first.set()
            go.wait(20)
        return written(**options)

    monkeypatch.setattr(tables, "writing", writing)
    monkeypatch.setattr(jobs_module, "MOST_WAITING", 5)
    asked = [("q0", 0), ("q1", 1), ("q1", 1), ("q2", 2), ("q0", "another"), ("q3", 3), ("q4", 4), ("q5", 5)]

    def put(one):
        try:
            return jobs.put(one[0], "ann", "clinic@1", {"a": one[1]})
        except RefusedError as error:
            return str(error)

    with ThreadPoolExecutor(len(asked)) as pool:
        found = [pool.submit(put, asked[0])]
        assert first.wait(20)
        found += [pool.submit(put, one) for one in asked[1:]]
        until = time.monotonic() + 20
        while len(jobs._putting._wanted) < len(asked) - 1 and time.monotonic() < until:
            time.sleep(0.01)
        go.set()
        told = [one.result(20) for one in found]
    assert len(writes) == 2
    assert "another question" in told[4] and "wait already" in told[7]
    assert [one.id for one in told[:4]] == ["q0", "q1", "q1", "q2"] and told[1] == told[2]
    assert [job.id for _, job in jobs.of("ann", 0, 10)] == ["q0", "q1", "q2", "q3", "q4"]


def test_a_store_that_fails_fails_for_all_who_wait_for_it(jobs, tables, monkeypatch):
    def writing(**options):
        raise LedgerError("away")

    with monkeypatch.context() as patch, ThreadPoolExecutor(8) as pool:
        patch.setattr(tables, "writing", writing)
        found = [pool.submit(jobs.put, f"q{number}", "ann", "clinic@1", {}) for number in range(8)]
        assert all(isinstance(one.exception(20), LedgerError) for one in found)
    assert jobs.put("q1", "ann", "clinic@1", {}).state == "waiting"


def test_jobs_that_wait_are_found_by_an_index(tables):
    """However many were answered: they stay for ever."""
    for where in ("dataset = 'x' AND state = 'waiting' ORDER BY number", "account = 'x' AND state = 'waiting'"):
        with tables.reading() as session:
            (told,) = [row[-1] for row in session.rows(f"EXPLAIN QUERY PLAN SELECT * FROM server_job WHERE {where}")]
        assert "USING INDEX server_job_" in told


def test_keys_of_different_accounts_never_meet():
    assert request_id("ann", "key") != request_id("bob", "key")
    assert request_id("ann", "key") == request_id("ann", "key")


@pytest.mark.parametrize(
    ("taken", "seconds", "rest"), [(0.01, 0.05, 0.04), (0.05, 0.05, 0.0), (0.06, 0.05, 0.04), (3.5, 1.0, 0.5)]
)
def test_a_slot_is_held_to_the_end_of_a_class(taken, seconds, rest):
    assert rest_of_class(taken, seconds) == pytest.approx(rest)


def test_one_server_answers_at_a_time(tables, monkeypatch):
    one, other = Holder(tables, "one"), Holder(tables, "other")
    assert one.held() and one.held() and not other.held()
    with monkeypatch.context() as patch:
        patch.setattr("margrave.serve.kept.holding.now", lambda: _now() + HOLDS + 1)
        assert other.held()
    assert not one.held()
    one.release()
    assert not one.held()
    other.release()
    assert one.held()
