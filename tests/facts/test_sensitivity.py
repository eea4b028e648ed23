"""Induced sensitivity: reductions and closed forms against the Graver basis of the whole, unreduced table."""

import numpy as np
import pytest

from margrave.errors import RefusedError, UsageError
from margrave.facts import sensitivity
from margrave.facts.facts import Facts
from margrave.facts.moves.reductions import reduce_margins
from margrave.facts.sensitivity import Sensitivity, induced_sensitivity
from margrave.spec.workload import PublicFact
from tests.facts.oracle import all_moves, facts_of, hierarchies, largest
from tests.shapes import domain_of

BINARY_FOUR = {
    "a+bcd": 4, "ab+acd": 4, "ab+cd": 8, "abc+abd": 4, "a+b+cd": 8, "a+bc+bd": 12, "ab+ac+ad": 6, "ab+ac+bcd": 8,
    "ab+ac+bd": 10, "ab+acd+bcd": 8, "abc+abd+acd": 8, "a+b+c+d": 10, "a+bc+bd+cd": 14, "ab+ac+ad+bc": 12,
    "ab+ac+ad+bcd": 12, "ab+ac+bd+cd": 10, "abc+abd+acd+bcd": 16, "ab+ac+ad+bc+bd": 14, "ab+ac+ad+bc+bd+cd": 18,
}  # fmt: skip


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 2, 3), (3, 2, 2)])
def test_every_hierarchical_set_of_three_attributes(sizes):
    for text in hierarchies(3):
        facts = facts_of(sizes, text)
        found = induced_sensitivity(facts)
        assert found.exact
        assert found.value == largest(all_moves(facts)), text


@pytest.mark.slow
def test_every_hierarchical_set_of_four_binary_attributes():
    sets = hierarchies(4)
    assert len(sets) == 166
    for text in sets:
        facts = facts_of((2, 2, 2, 2), text)
        found = induced_sensitivity(facts)
        assert found.exact
        assert found.value == largest(all_moves(facts)), text


@pytest.mark.parametrize(("text", "value"), BINARY_FOUR.items())
def test_known_values(text, value):
    assert induced_sensitivity(facts_of((2, 2, 2, 2), text)).value == value


def test_more_facts_may_cost_less():
    assert induced_sensitivity(facts_of((2, 2, 2, 2), "a+bc+bd")).value == 12
    assert induced_sensitivity(facts_of((2, 2, 2, 2), "ab+bc+bd")).value == 6


@pytest.mark.parametrize(
    ("sizes", "text", "value"),
    [
        ((2, 5, 7), "ab+ac+bc", 20),
        ((2, 3, 3), "ab+ac+bc", 12),
        ((2, 2, 100), "a+b+c", 8),
        ((2, 3, 9), "a+b+c", 16),
        ((2, 2, 2, 10), "a+b+c+d", 20),
        ((3, 3, 3), "ab+bc+ac", 24),
    ],
)
def test_large_domains_reduce_to_small_problems(sizes, text, value):
    assert induced_sensitivity(facts_of(sizes, text)) == _exactly(value)


class _exactly:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Sensitivity) and other.exact and other.value == self.value


def test_a_hundred_attributes():
    domain = domain_of(*([3] * 60))
    first, second = domain.names[:20], domain.names[15:40]
    assert induced_sensitivity(Facts(domain, (first, second))).value == 2 * 3**15


def test_differences_bound_what_they_do_not_decide(monkeypatch):
    monkeypatch.setattr(sensitivity, "MOST_CORE_CELLS", 0)
    found = induced_sensitivity(facts_of((2, 3, 5), "a+b+c"))
    assert not found.exact
    assert found.value == 16 >= 12  # 2×3×3 has 12, and more values never have less


def test_facts_that_say_nothing():
    assert induced_sensitivity(facts_of((2, 3), "")).value == 1
    assert induced_sensitivity(Facts(domain_of(2, 3), ((),))).value == 2
    assert induced_sensitivity(facts_of((2, 3), "ab")).value == 0
    assert induced_sensitivity(facts_of((1, 3), "a")).value == 2
    assert induced_sensitivity(facts_of((1, 3), "b")).value == 0


def test_the_reduction():
    reduced = reduce_margins(facts_of((2, 3, 2, 4, 5, 2, 7, 1), "abe+acde+cdegh"))
    assert (reduced.condition, reduced.free) == (("e",), ("f",))
    sizes = dict(zip(reduced.groups, reduced.core.shape, strict=True))
    assert sizes == {("a",): 2, ("b",): 3, ("c", "d"): 8, ("g",): 7}


def test_refusal_names_the_facts_and_what_would_do():
    with pytest.raises(RefusedError, match=r"\{a\}, \{b\}, \{c\} together.*would do: \{.\}, \{.\}"):
        induced_sensitivity(facts_of((5, 5, 5), "a+b+c"), time_limit=0.3)
    with pytest.raises(RefusedError, match="covers every record"):
        induced_sensitivity(facts_of((2, 2), "", [{"a": 0}]), notion="markov")
    with pytest.raises(UsageError, match="notion"):
        induced_sensitivity(facts_of((2, 2), "a"), notion="best")


def test_a_public_number_of_records_is_a_bound():
    found = induced_sensitivity(facts_of((5, 5, 5), "a+b+c"), time_limit=0.2, records=7)
    assert (found.value, found.exact) == (14, False)
    assert induced_sensitivity(facts_of((2, 2), "a+b"), records=7).value == 4
    with pytest.raises(UsageError, match="public fact"):
        induced_sensitivity(facts_of((2, 2), "", [{"a": 0}]), records=7)


def test_facts_from_a_spec_and_their_checks():
    domain = domain_of(2, 3)
    facts = Facts.of(domain, [PublicFact(("a",)), PublicFact(("a", "b"), ("0", "2"))])
    assert facts.margins == (("a",),)
    assert facts.cells == ((("a", "b"), ("0", "2")),)
    assert str(facts) == "{a}, {a=0, b=2}"
    for wrong in ({"margins": (("b", "a"),)}, {"cells": ((("a",), ("0", "1")),)}, {"cells": ((("a",), ("7",)),)}):
        with pytest.raises(UsageError):
            Facts(domain, **wrong)


def test_cells_that_make_up_a_margin_are_the_margin():
    facts = facts_of((2, 3), "", [{"a": 0}, {"a": 1}])
    assert facts.whole == (("a",),)
    assert not facts.loose


def random_partial(generator, cuboids=2):
    """Facts that are some cells of two random margins, some of them known in full."""
    sizes = generator.integers(1, 4, size=int(generator.integers(2, 4)))
    names = "abc"[: len(sizes)]
    facts_margins, cells = [], []
    for _ in range(cuboids):
        margin = [name for name in names if generator.random() < 0.6]
        if generator.random() < 0.15:
            facts_margins.append("".join(margin))
            continue
        chance = generator.random()
        shape = [sizes[names.index(name)] for name in margin]
        chosen = [values for values in np.ndindex(*shape) if generator.random() < chance]
        cells += [dict(zip(margin, map(int, values), strict=True)) for values in chosen]
    domain = domain_of(*sizes)
    known = tuple((tuple(cell), tuple(map(str, cell.values()))) for cell in cells)
    return Facts(domain, tuple(tuple(text) for text in facts_margins), known)


@pytest.mark.slow
def test_closed_forms_for_known_cells_of_one_or_two_cuboids():
    generator = np.random.default_rng(5)
    seen = set()
    for _ in range(1200):
        facts = random_partial(generator, cuboids=int(generator.integers(1, 3)))
        found = induced_sensitivity(facts)
        assert found.value == largest(all_moves(facts)), facts
        assert not facts or "closed form" in found.method
        seen.add(found.value)
    assert seen == {0, 1, 2, 3, 4}


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "shared"), [((4, 4, 1), ""), ((3, 4, 2), "c"), ((4, 5, 1), "")])
def test_closed_form_for_known_cells_of_two_crossing_cuboids(sizes, shared):
    generator = np.random.default_rng(7)
    seen = set()
    for _ in range(60):
        cells = []
        for first in "ab":
            chance = generator.random() ** 0.3
            margin = [first, *shared]
            shape = [sizes["abc".index(name)] for name in margin]
            chosen = [values for values in np.ndindex(*shape) if generator.random() < chance]
            cells += [dict(zip(margin, map(int, values), strict=True)) for values in chosen]
        facts = facts_of(sizes, "", cells)
        found = induced_sensitivity(facts)
        assert found.value == largest(all_moves(facts)), facts
        seen.add(found.value)
    assert max(seen) == 2 * min(sizes[:2])
    assert any(value % 2 for value in seen)


def test_known_cells_of_more_cuboids():
    generator = np.random.default_rng(6)
    for _ in range(120):
        facts = random_partial(generator, cuboids=3)
        assert induced_sensitivity(facts).value == largest(all_moves(facts)), facts
