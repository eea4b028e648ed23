"""The collector: what it takes, what it refuses and why, and that nothing is counted twice."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.errors import DataError, UsageError
from margrave.local.collector import DUPLICATE, MALFORMED, OTHER, RANGE, Collector, collect
from margrave.local.reports import Report, make_report
from margrave.local.simulate import simulate, simulate_lines
from margrave.noise import Generator
from margrave.noise.tape import Tape
from margrave.planning.local.plan import make_local_plan
from tests.planning.local.shapes import local_spec


def codes_of(plan, count, seed=0):
    generator = np.random.default_rng(seed)
    return np.stack([generator.integers(0, size, count) for size in plan.spec.domain.shape()], axis=1)


def collected(plan, lines):
    collector = Collector(plan)
    collector.add(lines)
    return collector.collected()


def same(one, other):
    return one.counts == other.counts and all(
        np.array_equal(a, b) for a, b in zip(one.tallies, other.tallies, strict=True)
    )


@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), st.sampled_from([0.5, 1.5, 4]), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_on_any_domain_reports_are_read_as_they_were_written(sizes, epsilon, seed):
    plan = make_local_plan(local_spec(*sizes, epsilon=epsilon, size=10**9))
    codes = codes_of(plan, 300, seed)
    found = collected(plan, simulate_lines(plan, codes, Generator.seeded(seed)))
    assert (found.reports, found.refused) == (300, {})
    assert same(found, simulate(plan, codes, Generator.seeded(seed)))


@pytest.fixture
def plan():
    return make_local_plan(local_spec(2, 3, 5))


@pytest.fixture
def lines(plan):
    return simulate_lines(plan, codes_of(plan, 200), Generator.seeded("lines"))


def test_refused_reports_are_counted_by_kind(plan, lines):
    other = make_local_plan(local_spec(2, 3, 5, epsilon=2))
    hash_, question, symbol, token = lines[0].split(b",")
    good = lines[1].split(b",")
    bad = [
        (OTHER, simulate_lines(other, codes_of(other, 1), Generator.seeded(1))[0]),
        (DUPLICATE, b",".join([*good[:3], token])),
        (MALFORMED, b"nonsense"),
        (MALFORMED, b",".join([hash_, question, symbol])),
        (MALFORMED, b",".join([hash_, question, symbol, b"short"])),
        (MALFORMED, b",".join([hash_, question, symbol + b"0", b"a-new-token"])),
        (MALFORMED, b",".join([b"not hexadecimal!", question, symbol, b"a-new-token"])),
        (RANGE, b",".join([hash_, b"f" * len(question), symbol, b"another-token"])),
        (RANGE, b",".join([hash_, question, b"g" * len(symbol), b"third-token"])),
        (RANGE, b",".join([hash_, question, b"f" * len(symbol), b"fourth-token"])),
        (MALFORMED, b"\xff\x00,,,"),
    ]
    found = collected(plan, [*lines, *(line for _, line in bad)])
    assert found.reports == len(lines)
    expected = [kind for kind, _ in bad]
    assert found.refused == {kind: expected.count(kind) for kind in dict.fromkeys(expected)}
    assert same(found, collected(plan, lines))


def test_a_report_sent_twice_counts_once(plan, lines):
    found = collected(plan, [*lines, *lines])
    assert (found.reports, found.refused) == (len(lines), {DUPLICATE: len(lines)})


def test_files_folders_and_standard_input_are_read(plan, lines, tmp_path, monkeypatch):
    folder = tmp_path / "in" / "deeper"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_bytes(b"plan,question,symbol,token\r\n" + b"\r\n".join(lines[:50]) + b"\r\n")
    (tmp_path / "in" / "two").write_bytes(b"\n".join(lines[50:120]))
    (tmp_path / "three").write_bytes(b"\n".join(lines[120:150]) + b"\n\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\n".join(lines[150:]))))
    steps = []
    found = collect(plan, [tmp_path / "in", tmp_path / "three", "-"], lambda done, total: steps.append(done))
    assert (found.reports, found.refused, steps) == (200, {}, [1, 2, 3, 4])


def test_a_line_without_end_is_no_report_and_takes_no_memory(plan, lines, tmp_path):
    (tmp_path / "long").write_bytes(b"x" * 40_000_000 + b"\n" + lines[0])
    found = collect(plan, [tmp_path / "long"])
    assert (found.reports, found.refused) == (1, {MALFORMED: 1})


def test_what_is_not_there_is_said(plan, tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        collect(plan, [tmp_path / "nothing"])
    with pytest.raises(UsageError, match="empty folder"):
        collect(plan, [tmp_path])


def test_shuffled_reports_carry_no_token():
    plan = make_local_plan(local_spec(2, 2, shuffler="the post office"))
    lines = simulate_lines(plan, codes_of(plan, 50), Generator.seeded(3))
    found = collected(plan, [*lines, *lines[:1], lines[0] + b"some-token"])
    assert (found.reports, found.refused) == (51, {MALFORMED: 1})  # equal reports are no duplicates
    with pytest.raises(UsageError, match="carry no token"):
        Report(plan, 0, (0,), "some-token")


def test_a_report_needs_all_answers_and_a_token(plan):
    answers = dict.fromkeys(plan.asked, "0")
    tape = Tape.of(Generator.seeded(1))
    assert make_report(plan, answers, tape, "token-001").line.startswith(plan.hash)
    with pytest.raises(UsageError, match="needs a token"):
        make_report(plan, answers, tape)
    with pytest.raises(UsageError, match="answers are needed"):
        make_report(plan, {"a": "0"}, tape, "token-001")
    with pytest.raises(UsageError, match="no value"):
        make_report(plan, answers | {"a": "7"}, tape, "token-001")


def test_simulated_respondents_have_a_code_for_each_attribute(plan):
    with pytest.raises(UsageError, match="a code for each attribute"):
        simulate(plan, np.zeros((3, 2), dtype=int), Generator.seeded(1))
