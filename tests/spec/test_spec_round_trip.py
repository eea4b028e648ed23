"""Every spec survives being written: as TOML, and as the JSON that is published."""

from __future__ import annotations

import json
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.spec.attributes import name_problem, plain_decimal
from margrave.spec.choices import INDUCED, NEIGHBOURS, NONNEGATIVE, OBJECTIVES, ROUNDING, STRATEGIES
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range, Rule
from margrave.spec.sections import DataSection, Unit
from margrave.spec.spec import Spec
from margrave.spec.workload import PublicFact, Wanted

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
names = texts.filter(lambda text: name_problem(text) is None)
values = texts.filter(lambda text: text.strip() != "" and text != "*")
titles = texts.filter(lambda text: text.strip() != "")
numbers = st.fractions(min_value=Fraction(1, 10**12), max_value=10**6)
decimals = st.decimals(-1000, 1000, places=3).map(lambda number: plain_decimal(str(number)))
days = st.integers(0, 50_000).map(lambda count: date(1900, 1, 1) + timedelta(days=count))


@st.composite
def rules(draw: Any) -> Rule:
    kind = draw(st.sampled_from(["values", "booleans", "range", "numbers", "dates"]))
    if kind == "values":
        return Categories(tuple(draw(st.lists(values, min_size=1, max_size=4, unique=True))))
    if kind == "booleans":
        return Categories(tuple(draw(st.permutations(["true", "false"]))), boolean=True)
    if kind == "range":
        low = draw(st.integers(-20, 20))
        return Range(low, low + draw(st.integers(0, 5)))
    edges = draw(st.lists(decimals if kind == "numbers" else days, min_size=2, max_size=5, unique=True))
    return Bins(tuple(sorted(edges)), draw(st.sampled_from(["left", "right"])))


@st.composite
def entries(draw: Any, name: str) -> CodebookEntry:
    rule = draw(rules())
    extra = st.none() | st.sampled_from(["n/a", "else where", "?"])
    entry = CodebookEntry(name, rule, draw(st.just("") | titles), draw(extra), draw(extra))
    labels = draw(st.dictionaries(st.sampled_from(entry.attribute.values), titles, max_size=2))
    return CodebookEntry(name, rule, entry.title, entry.missing, entry.other, labels)


@st.composite
def codebooks(draw: Any) -> Codebook:
    found = [draw(entries(name)) for name in draw(st.lists(names, min_size=1, max_size=4, unique=True))]
    if len(found) > 1 and draw(st.booleans()):
        first, target = found[0], found[-1].attribute
        implied = {value: draw(st.sampled_from(target.values)) for value in first.attribute.values}
        found[0] = CodebookEntry(
            first.name, first.rule, first.title, first.missing, first.other, first.labels, {target.name: implied}
        )
    return Codebook(tuple(found))


@st.composite
def specs(draw: Any) -> Spec:
    codebook = draw(codebooks())
    domain = codebook.domain
    margins = [margin for size in range(len(domain) + 1) for margin in combinations(domain.names, size)]
    some_margins = st.lists(st.sampled_from(margins), max_size=3, unique=True)
    tables = tuple(Wanted(margin, draw(st.just(Fraction(1)) | numbers)) for margin in draw(some_margins))
    public = [PublicFact(margin) for margin in draw(some_margins)]
    public += [
        PublicFact(margin, tuple(draw(st.sampled_from(domain[name].values)) for name in margin))
        for margin in draw(some_margins)
        if margin
    ]
    sensitive = () if public else draw(st.sampled_from(margins))
    return Spec(
        codebook=codebook,
        budget=draw(budgets),
        tables=tables,
        all_ways=draw(st.integers(0 if tables else 1, len(domain))),
        public=tuple(public),
        impossible=tuple(draw(st.lists(patterns(codebook), max_size=2))),
        sensitive=sensitive,
        strategy=draw(st.sampled_from(STRATEGIES)),
        objective=draw(st.sampled_from(OBJECTIVES)),
        nonnegative=draw(st.sampled_from(NONNEGATIVE)),
        rounding=draw(st.sampled_from(ROUNDING)),
        neighbours="replace" if sensitive else draw(st.sampled_from(NEIGHBOURS)),
        induced=draw(st.sampled_from(INDUCED)) if public else None,
        data=draw(st.none() | data_sections),
        title=draw(st.just("") | titles),
        draft=draw(st.booleans()),
    )


@st.composite
def patterns(draw: Any, codebook: Codebook) -> dict[str, frozenset[str]]:
    names = draw(st.lists(st.sampled_from(codebook.domain.names), min_size=1, unique=True))
    pattern = {
        name: frozenset(draw(st.lists(st.sampled_from(codebook.domain[name].values), min_size=1)))
        for name in codebook.domain.margin(names)
    }
    if all(len(found) == codebook.domain[name].size for name, found in pattern.items()):
        return draw(patterns(codebook)) if codebook.domain.cells() > 1 else draw(st.nothing())
    return pattern


budgets = st.one_of(
    numbers.map(PureDP),
    numbers.map(ZCDP),
    st.builds(ApproxDP, numbers, st.fractions(Fraction(1, 10**12), Fraction(99, 100))),
)
data_sections = st.one_of(
    st.builds(DataSection, st.none() | titles, st.none() | st.just("a count, named oddly"), st.booleans()),
    st.builds(DataSection, titles, st.none(), st.booleans(), st.builds(Unit, titles, st.integers(1, 9))),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(specs())
def test_toml_round_trip(spec: Spec) -> None:
    assert Spec.parse(spec.to_toml()) == spec


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(specs())
def test_public_dict_round_trip_through_json(spec: Spec) -> None:
    published = json.loads(json.dumps(spec.public_dict()))
    assert "data" not in published
    assert Spec.from_dict(published) == spec.without_data()


def test_exact_numbers_stay_exact() -> None:
    spec = Spec.parse(
        'attributes.a = ["x"]\nrelease.tables = [{ of = ["a"], weight = 0.1 }]\nprivacy.epsilon = "1/3"\n'
    )
    assert spec.public_dict()["privacy"] == {"epsilon": "1/3", "neighbours": "add-remove"}
    assert 'epsilon = "1/3"' in spec.to_toml()
    assert "weight = 0.1 " in spec.to_toml()
    assert Spec.parse(spec.to_toml()) == spec


def test_where_the_file_lay_is_not_part_of_equality() -> None:
    text = '[data]\nsource = "x.csv"\n[attributes]\na = ["x"]\n[release]\nall = 1\n[privacy]\nrho = 0.5\n'
    assert Spec.parse(text, Path("one")) == Spec.parse(text, Path("two"))
    assert Decimal("0.5") == Decimal(str(float(Spec.parse(text).budget.rho)))  # type: ignore[union-attr]
