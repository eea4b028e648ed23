"""Tokens that were handed out: the collector knows them by their hashes, and refuses all others."""

import pytest

from margrave.errors import DataError, UsageError
from margrave.local.collector import DUPLICATE, UNKNOWN, Collector, collect
from margrave.local.kept import kept_bytes
from margrave.local.simulate import simulate_lines
from margrave.local.tokens import Issued, draw_tokens
from margrave.noise import Generator
from margrave.planning.local.plan import make_local_plan
from tests.local.test_collector import codes_of
from tests.planning.local.shapes import local_spec


@pytest.fixture
def plan():
    return make_local_plan(local_spec(2, 3))


def lines_with(plan, tokens):
    lines = simulate_lines(plan, codes_of(plan, len(tokens)), Generator.seeded("tokens"))
    return [line.rpartition(b",")[0] + b"," + token.encode() for line, token in zip(lines, tokens, strict=True)]


def test_only_tokens_that_were_issued_are_taken_and_each_once(plan):
    tokens = draw_tokens(50, Generator.seeded(1))
    issued = Issued.of(plan, tokens)
    collector = Collector(plan, issued)
    own, made_up = lines_with(plan, tokens), lines_with(plan, [f"made-up-{number:03}" for number in range(7)])
    collector.add([*own, *made_up, *own[:3]])
    found = collector.collected()
    assert (found.reports, found.refused) == (50, {UNKNOWN: 7, DUPLICATE: 3})


def test_a_list_is_read_as_it_was_written_and_tells_neither_tokens_nor_their_order(plan, tmp_path):
    tokens = draw_tokens(200, Generator.seeded(2))
    assert len(set(tokens)) == 200
    content = Issued.of(plan, tokens).content()
    (tmp_path / "issued.txt").write_bytes(content)
    again = Issued.read(plan, tmp_path / "issued.txt")
    assert again == Issued.of(plan, reversed(tokens))
    assert len(again) == 200
    assert content.splitlines()[1:] == sorted(content.splitlines()[1:])
    assert not any(token.encode() in content for token in tokens)


@pytest.mark.parametrize("content", [b"", b"nothing\n", b"margrave-issued,1,0\nabc\n", b"\xff\xfe"])
def test_what_is_no_list_is_refused(plan, tmp_path, content):
    (tmp_path / "issued.txt").write_bytes(content)
    with pytest.raises(DataError, match="no list of issued tokens"):
        Issued.read(plan, tmp_path / "issued.txt")
    with pytest.raises(DataError, match="cannot be read"):
        Issued.read(plan, tmp_path / "nothing")


def test_the_list_of_another_plan_is_refused(plan, tmp_path):
    other = make_local_plan(local_spec(2, 3, epsilon=2))
    (tmp_path / "issued.txt").write_bytes(Issued.of(other, draw_tokens(3, Generator.seeded(3))).content())
    with pytest.raises(DataError, match="another plan"):
        Issued.read(plan, tmp_path / "issued.txt")


def test_a_shuffler_checks_tokens_itself_and_sums_have_none(plan, tmp_path):
    issued = Issued.of(plan, draw_tokens(3, Generator.seeded(4)))
    with pytest.raises(UsageError, match="shuffler who checks"):
        Collector(make_local_plan(local_spec(2, 3, shuffler="the post office")), issued)
    (tmp_path / "kept.json").write_bytes(kept_bytes(plan, Collector(plan).collected()))
    with pytest.raises(UsageError, match="holds sums"):
        collect(plan, [tmp_path / "kept.json"], allowed=issued)


def test_sums_beside_other_files_are_refused_and_not_counted_as_one_malformed_report(plan, tmp_path):
    kept, reports = tmp_path / "kept.json", tmp_path / "reports" / "some.txt"
    reports.parent.mkdir()
    reports.write_bytes(b"\n".join(lines_with(plan, draw_tokens(5, Generator.seeded(6)))))
    kept.write_bytes(kept_bytes(plan, collect(plan, [reports])))
    for sources in ([kept, reports], [kept, kept], [reports.parent, kept]):
        with pytest.raises(UsageError, match="holds sums"):
            collect(plan, sources)
    (reports.parent / "anybody.txt").write_bytes(b"{")
    assert collect(plan, [reports.parent]).reports == 5


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_a_number_of_tokens_that_nobody_needs_is_refused(count):
    with pytest.raises(UsageError, match="tokens can be drawn"):
        draw_tokens(count, Generator.seeded(5))
