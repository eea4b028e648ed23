"""Tokens that were handed out: the collector knows them by their hashes, and refuses all others."""

import json

import pytest

from margrave.errors import DataError, UsageError
from margrave.local.collector import DUPLICATE, RANGE, UNKNOWN, Collector, collect, collect_into
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


def test_a_collection_that_goes_on_is_that_of_all_reports_at_once_and_counts_no_token_twice(plan, tmp_path):
    lines, into = lines_with(plan, draw_tokens(60, Generator.seeded(7))), tmp_path / "collection.json"
    days = [lines[:40], [*lines[30:], lines[0]]]
    for number, day in enumerate(days):
        (tmp_path / f"day-{number}.txt").write_bytes(b"\n".join(day))
        found = collect_into(into, plan, [tmp_path / f"day-{number}.txt"])
    assert (found.reports, found.refused) == (60, {DUPLICATE: 11})
    once = Collector(plan)
    once.add(line for day in days for line in day)
    assert into.read_bytes() == kept_bytes(plan, once.collected(), once.tokens)
    assert collect(plan, [into]).reports == 60  # a release takes it as it takes sums
    assert not any(line.rpartition(b",")[2] in into.read_bytes() for line in lines)


def test_what_cannot_go_on_is_refused_and_stays_as_it_is(plan, tmp_path):
    (tmp_path / "reports.txt").write_bytes(b"\n".join(lines_with(plan, draw_tokens(5, Generator.seeded(8)))))
    sums, into = tmp_path / "sums.json", tmp_path / "collection.json"
    sums.write_bytes(kept_bytes(plan, collect(plan, [tmp_path / "reports.txt"])))
    with pytest.raises(UsageError, match="sums alone"):
        collect_into(sums, plan, [tmp_path / "reports.txt"])
    shuffled = make_local_plan(local_spec(2, 3, shuffler="the post office"))
    with pytest.raises(UsageError, match="collect all at once"):
        collect_into(into, shuffled, [tmp_path / "reports.txt"])
    collect_into(into, plan, [tmp_path / "reports.txt"])
    said = json.loads(into.read_text(encoding="utf-8"))
    with pytest.raises(DataError, match="does not exist"):
        collect_into(into, plan, [tmp_path / "nothing.txt"])
    assert json.loads(into.read_text(encoding="utf-8")) == said
    for tokens, error in ((said["tokens"][64:], UsageError), (said["tokens"][2:], DataError), (1, DataError)):
        into.write_text(json.dumps(said | {"tokens": tokens}), encoding="utf-8")
        with pytest.raises(error):
            collect_into(into, plan, [tmp_path / "reports.txt"])


def test_a_token_is_used_up_by_a_report_whose_symbol_is_none(plan):
    """Who knows somebody's token can use it up in any case, by a report with a symbol of her own making."""
    line = lines_with(plan, ["token-of-hers"])[0]
    hash_, question, symbol, token = line.split(b",")
    collector = Collector(plan)
    collector.add([b",".join([hash_, question, b"g" * len(symbol), token]), line])
    assert collector.collected().refused == {RANGE: 1, DUPLICATE: 1}


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_a_number_of_tokens_that_nobody_needs_is_refused(count):
    with pytest.raises(UsageError, match="tokens can be drawn"):
        draw_tokens(count, Generator.seeded(5))
