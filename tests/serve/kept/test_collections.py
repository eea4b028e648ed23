"""Reports of a local collection are kept once, checked, and given back in an order that tells nothing."""

import numpy as np
import pytest

from margrave.errors import MargraveError, RefusedError
from margrave.ledger import Ledger
from margrave.local.collector import Collector
from margrave.local.simulate import simulate_lines
from margrave.noise import Generator
from margrave.serve.kept.collections import Collections, planned
from margrave.serve.kept.tables import ServerTables

SPEC = """title = "Smoking"
[attributes]
smoke = ["no", "yes"]
drink = ["no", "yes"]
[release]
all = 2
[privacy]
epsilon = 1
[local]
expected_size = 20000
"""


@pytest.fixture
def collections(tmp_path):
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        tables = ServerTables(ledger)
        tables.make()
        yield Collections(tables)


def lines_of(plan, count=20):
    codes = np.zeros((count, len(plan.spec.domain.shape())), dtype=np.int64)
    return [one.decode() for one in simulate_lines(plan, codes, Generator.seeded(3))]


def test_reports_are_kept_once_and_collected_as_if_sent_in_a_file(collections):
    one = collections.open("survey", SPEC)
    assert collections.open("survey", SPEC) == one and [each.name for each in collections.every()] == ["survey"]
    lines = lines_of(one.plan)
    assert collections.take(one, lines) == {} and collections.take(one, lines[:3]) == {}
    assert collections.reports("survey") == sorted(lines)
    changed = ",".join([*lines[0].split(",")[:2], "0" * len(lines[0].split(",")[2]), lines[0].split(",")[3]])
    other = collections.take(one, [changed]) if changed != lines[0] else {"token used before": 1}
    assert other == {"token used before": 1} and collections.reports("survey") == sorted(lines)
    collector = Collector(one.plan)
    collector.add([line.encode() for line in collections.reports("survey")])
    assert collector.collected().reports == len(lines)


@pytest.mark.parametrize("report", ["", "nonsense", "a,b,c,d", "0" * 16 + ",0,0,x", "é,0,0,0", "x\ny"])
def test_what_is_no_report_of_the_plan_is_refused(collections, report):
    one = collections.open("survey", SPEC)
    assert sum(collections.take(one, [report]).values()) == 1 and collections.reports("survey") == []


def test_a_name_stands_for_one_spec(collections):
    collections.open("survey", SPEC)
    with pytest.raises(RefusedError, match="another spec"):
        collections.open("survey", SPEC.replace("20000", "30000"))
    assert collections.named("none") is None


@pytest.mark.parametrize(
    "spec",
    [
        "not = toml = at all",
        "/etc/passwd",
        SPEC.replace("[local]", '[data]\npath = "/etc/passwd"\n[local]'),
        SPEC.replace("all = 2", 'all = 2\npublic = [{table = ["smoke"], counts = "/etc/passwd"}]'),
        SPEC.replace("expected_size = 20000", 'expected_size = 20000\nshuffler = "the office"'),
    ],
)
def test_a_spec_reads_no_file_and_names_no_shuffler(spec):
    with pytest.raises(MargraveError) as found:
        planned(spec)
    assert "root:" not in str(found.value)
