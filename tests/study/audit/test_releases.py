"""The audit of a spec: it accepts every kind of plan, and sees bugs that are planted in the program itself."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import margrave as mg
from margrave.budget.events import Protection
from margrave.budget.units import ZCDP, amount
from margrave.measure import run, units
from margrave.planning.planner import make_plan
from margrave.spec.sections import DataSection, Unit
from margrave.spec.workload import PublicFact
from margrave.study.audit.findings import Effort
from margrave.study.audit.neighbours import answers, worst
from margrave.study.audit.releases import audit_spec, neighbours_of
from tests.shapes import spec_of

pytestmark = pytest.mark.slow

QUICK = Effort(samples=20_000, releases=24)


def with_facts(sizes, text, tables):
    public = tuple(PublicFact(tuple(part)) for part in text.split("+"))
    return spec_of(sizes, tables, public=public, induced="worst-case")


def with_total(total, counts=None):
    """Three one-way tables and their total, which is given; so are they, where they have counts."""
    public = (PublicFact((), None, (total,)), *(PublicFact((name,), None, counts) for name in "abc"))
    return spec_of((2, 2, 2), ["abc"], public=public, induced="worst-case")


def with_units(neighbours):
    return replace(spec_of((2, 3), ["ab"], neighbours=neighbours), data=DataSection(unit=Unit("owner", 3)))


SPECS = {
    "add-remove": spec_of((2, 3, 2), ["ab", "bc"]),
    "replace": spec_of((2, 3, 2), ["ab", "bc"], neighbours="replace"),
    "rho": spec_of((2, 3, 2), ["ab", "bc"], ZCDP(Fraction(1, 2))),
    "sensitive": spec_of((2, 3, 2), ["ab", "bc"], sensitive=("b",), neighbours="replace"),
    "fourier": spec_of((2, 3, 2), ["ab", "bc"], strategy="fourier"),
    "facts": with_facts((2, 2, 2), "a+b+c", ["ab", "bc"]),
    "few records": with_total(2),
    "few records, all given": with_total(2, (1, 1)),
    "enough records": with_total(40),
    "units": with_units("add-remove"),
    "replaced units": with_units("replace"),
    "impossible": spec_of((2, 3), ["ab"], impossible=({"a": frozenset("0"), "b": frozenset("1")},)),
}


@pytest.mark.parametrize("name", SPECS)
def test_no_violation_is_found_and_what_is_spent_is_seen(name):
    found = audit_spec(SPECS[name], QUICK)
    price, noise, releases, _ = found.findings
    assert not found.violated and "No violation found" in found.verdict and "prove" in found.verdict
    assert price.complete
    assert price.found == price.stated if name != "fourier" else price.found <= price.stated
    assert noise.found > 0.15 * price.found, "the audit must be able to see what is spent"
    assert releases.samples == 24


def test_whole_releases_show_what_is_spent_too():
    releases = audit_spec(SPECS["add-remove"], replace(QUICK, releases=400)).findings[2]
    assert 0.2 < releases.found <= 1


def test_the_bundled_examples_are_audited_whole():
    for name in ("fungus", "journey"):
        found = audit_spec(mg.Spec.load(mg.examples.path(name)), QUICK)
        assert not found.violated and found.findings[0].complete


def test_large_domains_are_priced_by_moves_at_random():
    spec = spec_of((9, 9, 9, 9), ["ab", "bc", "cd"], neighbours="replace")
    plan = make_plan(spec)
    found = worst(plan, "large")
    assert not found.complete and 0 < found.price <= plan.cost.epsilon
    facts = with_facts((4, 4, 4, 4), "ab+cd", ["ac", "bd"])
    found = worst(make_plan(facts), "large")
    assert not found.complete and 0 < found.price <= 1


def test_a_price_for_the_wrong_neighbours_is_seen():
    plan = make_plan(SPECS["add-remove"])
    wrong = replace(plan, protection=Protection("replace"))
    assert worst(wrong, "wrong").price > amount(plan.cost)


def test_noise_that_is_halved_inside_the_program_is_seen(monkeypatch):
    honest = run.sample_many

    def halved(requests, generator):
        for number, noise in honest(requests, generator):
            yield number, np.sign(noise) * (np.abs(noise) // 3)

    monkeypatch.setattr(run, "sample_many", halved)
    price, noise, releases, _ = audit_spec(SPECS["add-remove"], replace(QUICK, releases=400)).findings
    assert not price.violated and not noise.violated and releases.violated


def test_a_unit_bound_that_is_not_kept_is_seen(monkeypatch):
    def keep_all(owners, ids, codes, most, key):
        return np.arange(len(owners))

    spec = replace(spec_of((2, 3), ["ab"]), data=DataSection(unit=Unit("owner", 2)))
    effort = replace(QUICK, releases=400)
    assert not audit_spec(spec, effort).violated
    monkeypatch.setattr(units, "_keep", keep_all)
    assert audit_spec(spec, effort).findings[2].violated


def test_neighbours_differ_by_the_move_alone():
    plan = make_plan(SPECS["facts"])
    audited = neighbours_of(plan, worst(plan, "facts").move)
    for before, after, change_from, change_to in zip(
        audited.answers(plan, True),
        audited.answers(plan, False),
        answers(plan, audited.move.taken),
        answers(plan, audited.move.put),
        strict=True,
    ):
        assert (after - before == change_to - change_from).all()
