"""The audit of questions: prices are met on neighbours that are made up, and known bugs are found."""

from dataclasses import replace

import pytest

from margrave.errors import RefusedError
from margrave.measure.questions import opening
from margrave.noise import DiscreteLaplace, Generator
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.price.price import UnitMove
from margrave.planning.questions.programs import rows, sought
from margrave.planning.questions.several import partition
from margrave.study.audit.findings import Effort
from margrave.study.audit.questions import audit_questions
from margrave.study.audit.registry import audit
from margrave.study.audit.units import as_declared, frames, units, within

pytestmark = pytest.mark.slow

SPEC = """
unit = "person"
neighbours = "add-remove"
[tables.visits]
max_records = 3
[tables.visits.columns]
ward = ["a", "b"]
"""
MORE = """cost = { number = [0, 2], step = 0.5 }
[tables.people]
max_records = 1
[tables.people.columns]
born = { days = [2024-02-28, 2024-03-01] }
age = { bins = [0, 18, 65, 120] }
"""
QUICK = Effort(samples=100, releases=8)
FEW = Effort(samples=100, releases=500, confidence=0.95)


def of(found, name):
    return next(one for one in found.findings if one.check == name)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_prices_of_questions_are_met_and_not_exceeded(tmp_path, neighbours):
    path = tmp_path / "data.toml"
    path.write_text((SPEC + MORE).replace("add-remove", neighbours))
    found = audit(str(path), QUICK)
    assert found.what == "questions" and not found.violated
    for name in (
        "visits count", "visits by ward count", "visits by ward average cost", "people cumulative born",
        "visits union visits by ward count",
    ):  # fmt: skip
        assert of(found, name).found == pytest.approx(1.0, abs=1e-6)
    assert all(one.found > 0.2 for one in found.findings if one.way == "recomputed")
    assert of(found, "all of these in ρ").found == pytest.approx(0.5, abs=1e-6)
    times = 1 if neighbours == "add-remove" else 2
    assert of(found, "people partition by age, ε = 1 for each part").found == pytest.approx(times, abs=1e-6)
    assert sum("join public" in one.check for one in found.findings) == 2
    assert sum("interval" in one.check for one in found.findings) == 2
    assert min(one.found for one in found.findings if "interval" in one.check) > 0.4


def test_a_move_that_is_stated_too_small_is_seen(monkeypatch):
    honest = sought.rows_move

    def halved(bounds, *rest):
        return honest(replace(bounds, rows=1, per_group=1, groups=1), *rest)

    monkeypatch.setattr(sought, "rows_move", halved)
    assert of(audit_questions(DataSpec.load(SPEC), QUICK), "visits count").found == pytest.approx(3.0, abs=1e-6)


def join_unbounded(patch):
    """A join that is taken to leave as many rows as its left side has."""
    honest = rows._join
    patch.setattr(rows, "_join", lambda left, right, how: replace(honest(left, right, how), most=left.most))
    return "people join (visits select joined = cost) count", 3


def bound_undone(patch):
    """A union that is taken to keep the bound of its left side."""
    honest = rows._combine
    patch.setattr(rows, "_combine", lambda how, left, right: replace(honest(how, left, right), most=left.most))
    return "visits union visits by ward count", 2


def fanout_forgotten(patch):
    """A join with a public table that is taken to leave as many rows as there were."""
    honest = rows._lookup
    patch.setattr(rows, "_lookup", lambda node, inner, data: replace(honest(node, inner, data), most=inner.most))
    return "visits join public", 2


def average_too_cheap(patch):
    """An average whose parts are charged as if they moved half as far."""
    honest = sought.rows_move

    def wrong(bounds, weight, parts, neighbours):
        move = honest(bounds, weight, parts, neighbours)
        return move if parts != 2 else UnitMove(move.l1 // 2, move.l2_squared // 4)

    patch.setattr(sought, "rows_move", wrong)
    return "visits by ward average cost", 2


def clamp_left_out(patch):
    """A sum that is priced by its clamp, which is applied after all units were added up, if at all."""
    honest = sought._sum
    patch.setattr(sought, "_sum", lambda aggregate, asked: replace(honest(aggregate, asked), clamp=None))
    return "visits union visits by ward sum cost low 0 high 2", 3


def replaced_is_added(patch):
    """A partition that is charged under replace as if a unit came or went, which touches its parts once."""
    honest = partition.escrow_cost
    patch.setattr(partition, "escrow_cost", lambda purses, parts, neighbours: honest(purses, parts, "add-remove"))
    return "people partition by age, ε = 1 for each part", 2


BUGS = {
    "add-remove": [join_unbounded, bound_undone, fanout_forgotten, average_too_cheap, clamp_left_out],
    "replace": [replaced_is_added],
}


@pytest.mark.parametrize("neighbours", BUGS)
def test_seeded_bugs_are_found(neighbours, monkeypatch):
    """Each is seen in its own question, which no other changes."""
    expected = [bug(monkeypatch) for bug in BUGS[neighbours]]
    found = audit_questions(DataSpec.load((SPEC + MORE).replace("add-remove", neighbours)), QUICK)
    for name, lost in expected:
        seen = next(one for one in found.findings if one.check.startswith(name))
        assert seen.violated and seen.found == pytest.approx(lost, abs=1e-6), name
    assert not of(found, "visits by ward units").violated


def test_rows_beyond_the_bound_of_a_unit_are_seen(monkeypatch):
    written = opening.open_data
    from margrave.measure.questions import rehearsal

    def unbounded(spec, data, place):
        several = {table.name: len(data[table.name]) for table in spec.tables}
        wide = tuple(replace(table, max_records=max(1, several[table.name])) for table in spec.tables)
        written(replace(spec, tables=wide), data, place)

    monkeypatch.setattr(rehearsal, "open_data", unbounded)
    monkeypatch.setattr(rehearsal, "noisy_answer", lambda engine, question, generator: [0])
    assert of(audit_questions(DataSpec.load(SPEC), QUICK), "visits count").found == pytest.approx(4.0, abs=1e-6)


def test_noise_that_is_lost_on_the_way_is_seen_in_answers(monkeypatch):
    spec = DataSpec.load(SPEC)
    answers = next(one for one in audit_questions(spec, FEW).findings if one.way == "sampled")
    assert 0.1 < answers.found <= 1
    honest = DiscreteLaplace.sample
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda self, size, generator: honest(self, size, generator) // 9)
    answers = next(one for one in audit_questions(spec, FEW).findings if one.way == "sampled")
    assert answers.violated and answers.found > 1.5


def test_the_audited_unit_brings_more_rows_than_it_may_have():
    spec = as_declared(DataSpec.load(SPEC + MORE))
    for one in units(spec, Generator.seeded("units")):
        rows = [len(table) for table in frames(spec, [one]).values()]
        assert all(count in (0, 4, 12) for count in rows) and any(rows)
        assert {name: len(found) for name, found in within(spec, one).items()}.items() <= {
            ("people", 1),
            ("people", 0),
            ("visits", 3),
            ("visits", 0),
        }


def test_a_data_set_whose_questions_are_all_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("margrave.study.audit.questions._MOST_CELLS", 0)
    with pytest.raises(RefusedError):
        audit_questions(DataSpec.load(SPEC), QUICK)
