from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import SpecError, UsageError
from margrave.spec.codebook import Bins, Categories, Codebook, Range
from margrave.spec.sections import Unit
from margrave.spec.spec import Spec, possible_mask
from margrave.spec.workload import PublicFact, Wanted

FULL = """
title = "A survey"
[data]
source       = "survey.parquet"
confidential = true
unit         = { column = "person_id", max_records = 3 }
[attributes]
smoke    = ["no", "yes"]
age      = { bins = [0, 18, 30, 45, 65, 120], missing = "unknown" }
rooms    = { range = [1, 9], other = "10+" }
region   = { values = ["N", "S"], labels = { N = "North", S = "South" }, other = "elsewhere" }
county   = { values = ["n1", "n2", "s1"], determines = { region = { n1 = "N", n2 = "N", s1 = "S" } } }
[release]
tables    = [["smoke", "age"], { of = ["region", "age"], weight = 2.5 }]
all       = 2
public    = [[], ["region"], { cell = { region = "N", smoke = "no" } }]
impossible = [{ age = "0-17", rooms = ["8", 9] }]
strategy  = "auto"
objective = "max"
nonnegative = "records"
rounding = "nearest"
[privacy]
epsilon    = 0.1
neighbours = "replace"
"""


def small(
    attributes: str = 'a = ["x", "y"]', release: str = "all = 1", privacy: str = "epsilon = 1", top: str = ""
) -> Spec:
    return Spec.parse(f"{top}\n[attributes]\n{attributes}\n[release]\n{release}\n[privacy]\n{privacy}\n")


@pytest.fixture(scope="module")
def full() -> Spec:
    return Spec.parse(FULL, Path("folder"))


def test_every_section_is_read(full: Spec) -> None:
    assert full.title == "A survey"
    assert full.data is not None
    assert full.data.location == str(Path("folder/survey.parquet"))
    assert full.data.unit == Unit("person_id", 3)
    assert full.records_per_unit == 3
    assert full.confidential
    assert full.domain.names == ("smoke", "age", "rooms", "region", "county")
    assert full.domain["age"].values == ("0-17", "18-29", "30-44", "45-64", "65-120", "unknown")
    assert full.domain["rooms"].values[-2:] == ("9", "10+")
    assert full.codebook["region"].label("N") == "North"
    assert full.tables == (Wanted(("smoke", "age")), Wanted(("age", "region"), Fraction(5, 2)))
    assert full.public == (PublicFact(()), PublicFact(("region",)), PublicFact(("smoke", "region"), ("no", "N")))
    assert full.impossible == ({"age": frozenset({"0-17"}), "rooms": frozenset({"8", "9"})},)
    assert (full.strategy, full.objective, full.nonnegative, full.rounding) == ("auto", "max", "records", "nearest")
    assert full.budget == PureDP(Fraction(1, 10))
    assert (full.neighbours, full.induced) == ("replace", "worst-case")
    assert not full.draft


def test_defaults() -> None:
    spec = small()
    assert spec.data is None
    assert spec.confidential
    assert spec.records_per_unit == 1
    assert (spec.strategy, spec.objective, spec.nonnegative, spec.rounding) == ("auto", "mean", "auto", "controlled")
    assert (spec.neighbours, spec.induced, spec.sensitive, spec.public) == ("add-remove", None, (), ())


def test_a_spec_is_frozen_and_hashable(full: Spec) -> None:
    assert hash(full) == hash(Spec.parse(FULL))
    with pytest.raises(FrozenInstanceError):
        full.draft = True  # type: ignore[misc]


def test_workload_is_canonical_and_a_listed_weight_wins(full: Spec) -> None:
    assert full.margins[:5] == tuple((name,) for name in full.domain.names)
    assert len(full.margins) == 5 + 10 == len(set(full.margins))
    weights = {wanted.margin: wanted.weight for wanted in full.workload}
    assert weights[("age", "region")] == Fraction(5, 2)
    assert weights[("smoke", "age")] == 1


def test_the_total_is_wanted_only_where_listed() -> None:
    assert small().margins == (("a",),)
    assert small(release="tables = [[]]\nall = 1").margins == ((), ("a",))


def test_load_from_file_text_and_mapping(tmp_path: Path) -> None:
    text = '[data]\nsource = "d/*.csv"\n[attributes]\na = ["x"]\n[release]\nall = 1\n[privacy]\nrho = 1\n'
    path = tmp_path / "spec.toml"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    for source in (path, str(path)):
        loaded = Spec.load(source)
        assert loaded == Spec.load(text)
        assert loaded.data is not None
        assert loaded.data.location == str(tmp_path / "d/*.csv")
    mapping: dict[str, Any] = {"attributes": {"a": ("x",)}, "release": {"all": 1}, "privacy": {"rho": 1.0}}
    assert Spec.load(mapping) == Spec.load(text).without_data()


@pytest.mark.parametrize("source", ["/absolute/x.csv", "https://host/x.csv", "postgresql://host/db"])
def test_absolute_sources_stay(source: str) -> None:
    text = f'[data]\nsource = "{source}"\n[attributes]\na = ["x"]\n[release]\nall = 1\n[privacy]\nrho = 1\n'
    data = Spec.parse(text, Path("base")).data
    assert data is not None
    assert data.location == source


@pytest.mark.parametrize(
    ("privacy", "budget"),
    [
        ("epsilon = 0.1", PureDP(Fraction(1, 10))),
        ("epsilon = 2", PureDP(Fraction(2))),
        ('epsilon = "1/3"', PureDP(Fraction(1, 3))),
        ("epsilon = 1\ndelta = 1e-9", ApproxDP(Fraction(1), Fraction(1, 10**9))),
        ("rho = 0.30000000000000000000000000001", ZCDP(Fraction("0.30000000000000000000000000001"))),
    ],
)
def test_budgets_are_exact(privacy: str, budget: object) -> None:
    assert small(privacy=privacy).budget == budget


def test_a_python_float_is_the_decimal_it_prints_as() -> None:
    mapping = {"attributes": {"a": ["x"]}, "release": {"all": 1}, "privacy": {"epsilon": 0.1}}
    assert Spec.from_dict(mapping).budget == PureDP(Fraction(1, 10))


def test_values_become_canonical_text() -> None:
    spec = small('a = [1, -2, "x", 2024-02-29]\nb = [true, false]\nc = { values = [3], title = "C", missing = 9 }')
    assert spec.codebook["a"].rule == Categories(("1", "-2", "x", "2024-02-29"))
    assert spec.codebook["b"].rule == Categories(("true", "false"), boolean=True)
    assert spec.domain["c"].values == ("3", "9")
    assert spec.codebook["c"].title == "C"


def test_rules() -> None:
    spec = small(
        """
r = { range = [-1, 1] }
n = { bins = [0, 0.50, 1e1], closed = "right" }
d = { bins = [2020-01-01, 2021-01-01] }
"""
    )
    assert spec.codebook["r"].rule == Range(-1, 1)
    assert spec.codebook["n"].rule == Bins((Decimal(0), Decimal("0.5"), Decimal(10)), "right")
    assert spec.domain["n"].values == ("[0, 0.5]", "(0.5, 10]")
    assert spec.codebook["d"].rule == Bins((date(2020, 1, 1), date(2021, 1, 1)))


def test_other_and_missing_may_name_a_value() -> None:
    spec = small('a = { values = ["x", "y"], other = "y", missing = "y" }\nb = { bins = [0, 5, 9], other = "0-4" }')
    assert spec.domain["a"].values == ("x", "y")
    assert spec.domain["b"].values == ("0-4", "5-9")


def test_one_value_is_enough() -> None:
    assert small('a = ["only"]').domain.cells() == 1


def test_sensitive_attributes_are_protected_by_replacement() -> None:
    spec = small('a = ["x"]\nb = ["y", "z"]', 'all = 1\nsensitive = ["b", "a"]')
    assert spec.sensitive == ("a", "b")
    assert spec.neighbours == "replace"


def test_induced_can_be_chosen() -> None:
    assert small(release="all = 1\npublic = [[]]", privacy='rho = 1\ninduced = "markov"').induced == "markov"


def test_structural_zeros(full: Spec) -> None:
    assert full.structural_zeros == (
        {"age": frozenset({"0-17"}), "rooms": frozenset({"8", "9"})},
        {"county": frozenset({"n1", "n2"}), "region": frozenset({"S", "elsewhere"})},
        {"county": frozenset({"s1"}), "region": frozenset({"N", "elsewhere"})},
    )


def test_possible_mask(full: Spec) -> None:
    mask = possible_mask(full, ("region", "county"))
    assert mask.tolist() == [[True, True, False], [False, False, True], [False, False, False]]
    rooms = possible_mask(full, ("age", "rooms"))
    assert np.argwhere(~rooms).tolist() == [[0, 7], [0, 8]]
    assert possible_mask(full, ("age",)).all()
    assert possible_mask(full, ()).tolist() is True


def test_a_pattern_with_all_values_outside_the_margin_still_counts() -> None:
    spec = small('a = ["x", "y"]\nb = ["u", "v"]', 'all = 2\nimpossible = [{ a = "x", b = ["u", "v"] }]')
    assert possible_mask(spec, ("a",)).tolist() == [False, True]
    assert possible_mask(spec, ("b",)).all()


def test_mask_agrees_with_brute_force_on_the_full_table() -> None:
    spec = small(
        'a = ["0", "1", "2"]\nb = ["0", "1"]\nc = { values = ["0", "1"], determines = { b = { 0 = "1", 1 = "1" } } }',
        'all = 2\nimpossible = [{ a = ["0", "2"], c = "1" }, { b = "0", a = "1" }]',
    )
    mask = possible_mask(spec, spec.domain.names)
    for cell in np.ndindex(mask.shape):
        named = {name: str(code) for name, code in zip(spec.domain.names, cell, strict=True)}
        hit = any(all(named[name] in values for name, values in zero.items()) for zero in spec.structural_zeros)
        assert mask[cell] == (not hit)


def test_births_are_checked(full: Spec) -> None:
    wrong: list[dict[str, Any]] = [
        {"codebook": Codebook(()), "tables": (), "public": (), "induced": None},
        {"tables": (), "all_ways": 0},
        {"induced": None},
        {"public": ()},
        {"sensitive": ("smoke",)},
        {"tables": (Wanted(("age", "smoke")),)},
        {"tables": (Wanted(("nobody",)),)},
        {"all_ways": 6},
        {"strategy": "magic"},
        {"induced": "never"},
        {"impossible": ({"age": frozenset({"old"})},)},
        {"public": (PublicFact(("smoke",), ("maybe",)),)},
    ]
    for change in wrong:
        with pytest.raises(UsageError):
            replace(full, **change)
    with pytest.raises(UsageError):
        Wanted(("a",), Fraction(0))
    with pytest.raises(UsageError):
        Wanted(("a",), 1.0)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        PublicFact(("a",), ("x", "y"))
    with pytest.raises(UsageError):
        Unit("", 1)


@pytest.mark.slow
def test_a_large_workload_is_quick_to_declare() -> None:
    attributes = "\n".join(f'a{index} = ["0", "1"]' for index in range(100))
    spec = small(attributes, "all = 3")
    assert len(spec.workload) == 100 + 4950 + 161_700


def test_bundled_examples_parse() -> None:
    folder = Path(__file__).parents[2] / "src/margrave/examples"
    for path in folder.glob("*.toml"):
        assert not Spec.load(path).confidential


def test_missing_file_folder_and_bad_encoding(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text("")
    (tmp_path / "latin.toml").write_bytes(b"# one\ntitle = '\xe9'\n")
    for name, text in {
        "surwey.toml": "file: no such file: did you mean 'survey.toml'?",
        "": "is a folder",
        "latin.toml": "line 2, file: is not UTF-8",
        "nowhere/x.toml": "no such file",
        "x" * 5000: "cannot be read",
    }.items():
        with pytest.raises(SpecError) as caught:
            Spec.load(tmp_path / name)
        assert text in str(caught.value)
        assert str(caught.value).startswith(str(tmp_path / name) + ": 1 problem")
        assert caught.value.__cause__ is None
