"""Each mistake, and the one line that it prints."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from margrave.errors import SpecError
from margrave.spec.spec import Spec

ATTRIBUTES = 'a = ["x", "y"]\nb = { range = [1, 3] }'


def problems(
    attributes: str = ATTRIBUTES, release: str = "all = 1", privacy: str = "epsilon = 1", top: str = ""
) -> list[str]:
    """The problems of a spec, in order; empty where it has none."""
    text = f"{top}\n[attributes]\n{attributes}\n[release]\n{release}\n[privacy]\n{privacy}\n"
    try:
        Spec.parse(text)
    except SpecError as error:
        return [f"{problem.place}: {problem.text}" for problem in error.problems]
    return []


def test_a_sound_spec_has_none() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", "attributes: declare at least one attribute"),
        ("a = []", "attributes.a: needs at least one value"),
        ("a = 3", "attributes.a: must be a list of values or a table such as"),
        ("a = {}", "attributes.a: needs one of 'values', 'bins', 'range'"),
        (
            "a = { values = ['x'], range = [1, 2] }",
            "needs exactly one of 'values', 'bins', 'range', not 'values', 'range'",
        ),
        ("a = { vaules = ['x'] }", "attributes.a.vaules: unknown key 'vaules': did you mean 'values'?"),
        ("a = ['x', 'x']", "attributes.a[1]: value 'x' is listed twice"),
        ("a = [1, '1']", "attributes.a[1]: value '1' is listed twice"),
        ("a = [2024-01-01, '2024-01-01']", "value '2024-01-01' is listed twice"),
        ("a = ['x', '']", "attributes.a[1]: empty text means missing"),
        ("a = ['*']", "attributes.a[0]: '*' stands for all values"),
        ("a = [1.5]", 'attributes.a[0]: must be text, a whole number, true, false or a date (write "1.5" as text'),
        ("a = [07:32:00]", "must be text, a whole number, true, false or a date, not a time"),
        ("a = [['x']]", "attributes.a[0]: must be text, a whole number, true, false or a date, not a list"),
        ("a = [true, 'no']", "attributes.a: mixes true/false with other values"),
        ("a = { range = [1] }", "attributes.a.range: must be [lowest, highest], not a list of 1"),
        ("a = { range = [2, 1] }", "attributes.a.range: the lowest (2) must not exceed the highest (1)"),
        ("a = { range = [1, 2.5] }", "attributes.a.range[1]: must be a whole number, not the number 2.5"),
        ("a = { range = [1, true] }", "attributes.a.range[1]: must be a whole number, not true"),
        ("a = { range = [1, 10_000_000] }", "attributes.a.range: has more than 1,000,000 values; use bins"),
        ("a = { range = 5 }", "attributes.a.range: must be a list [lowest, highest], not the whole number 5"),
        ("a = { bins = [1] }", "attributes.a.bins: needs at least two edges"),
        ("a = { bins = [1, 2, 2] }", "attributes.a.bins[2]: edges must increase, but 2 comes after 2"),
        ("a = { bins = [2021-01-01, 2020-01-01] }", "edges must increase, but 2020-01-01 comes after 2021-01-01"),
        ("a = { bins = [1, 2020-01-01] }", "attributes.a.bins: must not mix numbers and dates"),
        ("a = { bins = [1, inf] }", "attributes.a.bins[1]: must be finite; give a last edge"),
        ("a = { bins = [nan, 1] }", "attributes.a.bins[0]: must be finite"),
        ("a = { bins = [0, 1e400] }", "attributes.a.bins[1]: must lie between"),
        ("a = { bins = [0, 1e99999999999999999999] }", "attributes.a.bins[1]: must be finite"),
        ("a = { bins = [0, 'x'] }", "attributes.a.bins[1]: 'x' is not a number"),
        ("a = { bins = [0, '1/3'] }", "attributes.a.bins[1]: must be a decimal number or a date"),
        ("a = { bins = ['2020-02-31', '2021-01-01'] }", "attributes.a.bins[0]: there is no date 2020-02-31"),
        ("a = { bins = [0, 2020-01-01T00:00:00] }", "attributes.a.bins[1]: must be a number or a date, not a time"),
        ("a = { bins = 5 }", "attributes.a.bins: must be a list of edges, not the whole number 5"),
        ("a = { bins = [0, 1], closed = 'lift' }", "attributes.a.closed: unknown choice 'lift': did you mean 'left'?"),
        ("a = { range = [0, 1], closed = 'left' }", "attributes.a.closed: only bins have a closed side"),
        ("a = { bins = [0, 9], other = '5' }", "attributes.a.other: '5' reads as a point inside the bins"),
        ("a = { values = ['x'], missing = '' }", "attributes.a.missing: empty text means missing"),
        ("a = { values = ['x'], other = ['y'] }", "attributes.a.other: must be text"),
        ("a = { values = ['x'], title = '' }", "attributes.a.title: must not be empty"),
        (
            "a = { values = ['x'], labels = { y = 'Y' } }",
            "attributes.a.labels.y: 'a' has no value 'y'; its values are 'x'",
        ),
        ("a = { values = ['x'], labels = { x = 1 } }", "attributes.a.labels.x: must be text, not the whole number 1"),
        ("a = { values = ['x'], labels = 'x' }", "attributes.a.labels: must be a table from values to words"),
        ("'a,b' = ['x']", 'attributes."a,b": the name of an attribute must not contain a comma'),
        ("' a' = ['x']", "must not begin or end with a space"),
        ("'' = ['x']", "an attribute needs a name"),
        ("'*' = ['x']", "'*' cannot name an attribute"),
        ("count = ['x']", "attributes.count: 'count' is a column of every published table"),
    ],
)
def test_attributes(attributes: str, expected: str) -> None:
    found = problems(attributes)
    assert expected in found[0]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("determines", "expected"),
    [
        ("{ c = {} }", "attributes.a.determines.c: unknown attribute 'c'; declared are 'a', 'b'"),
        ("{ a = { x = 'x', y = 'y' } }", "attributes.a.determines.a: an attribute cannot determine itself"),
        ("{ b = { x = '1' } }", "attributes.a.determines.b: says nothing about 'y', 'n/a'; every value of 'a' must be"),
        ("{ b = { x = 1, y = 9, 'n/a' = 2 } }", "attributes.a.determines.b.y: 'b' has no value '9'; its values are"),
        ("{ b = { x = 1, y = 2, z = 2, 'n/a' = 3 } }", "attributes.a.determines.b.z: 'a' has no value 'z'"),
        ("{ b = 'x' }", "attributes.a.determines.b: must be a table from each value here"),
        ("'b'", "attributes.a.determines: must be a table from attributes to maps of values, not the text 'b'"),
    ],
)
def test_determines(determines: str, expected: str) -> None:
    attributes = f"a = {{ values = ['x', 'y'], missing = 'n/a', determines = {determines} }}\nb = {{ range = [1, 3] }}"
    found = problems(attributes)
    assert expected in found[0]
    assert len(found) == 1


def test_determines_in_a_circle() -> None:
    attributes = """
a = { values = ['x'], determines = { b = { x = 'x' } } }
b = { values = ['x'], determines = { c = { x = 'x' } } }
c = { values = ['x'], determines = { a = { x = 'x' } } }
d = { values = ['x'], determines = { a = { x = 'x' } } }
"""
    assert problems(attributes) == [
        f"attributes.{name}.determines: {name!r} determines itself through others" for name in "abc"
    ]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("", "release: no table is wanted"),
        ("tables = []", "release: no table is wanted"),
        ("tabels = [['a']]\nall = 1", "release.tabels: unknown key 'tabels': did you mean 'tables'?"),
        ("tables = 'a'", "release.tables: must be a list of tables"),
        ("tables = ['a']", 'release.tables[0]: must be a list of attributes: write ["a"]'),
        ("tables = [['a', 'c']]", "release.tables[0][1]: unknown attribute 'c'; declared are 'a', 'b'"),
        ("tables = [['a', 1]]", "release.tables[0][1]: must be the name of an attribute, not the whole number 1"),
        ("tables = [['a', 'a']]", "release.tables[0][1]: attribute 'a' is named twice"),
        ("tables = [['a', 'b'], ['b', 'a']]", "release.tables[1]: the table of 'a', 'b' is listed twice"),
        ("tables = [[], []]", "release.tables[1]: the table of nothing, the grand total, is listed twice"),
        ("tables = [{ weight = 2 }]", "release.tables[0]: needs of"),
        (
            "tables = [{ of = ['a'], wieght = 2 }]",
            "release.tables[0].wieght: unknown key 'wieght': did you mean 'weight'?",
        ),
        ("tables = [{ of = ['a'], weight = 0 }]", "release.tables[0].weight: must be greater than 0"),
        ("tables = [{ of = ['a'], weight = nan }]", "release.tables[0].weight: must be a finite number"),
        ("tables = [{ of = ['a'], weight = true }]", "release.tables[0].weight: must be a number, not true"),
        ("all = 0", "release.all: must be between 1 and the number of attributes, 2"),
        ("all = 3", "release.all: must be between 1 and the number of attributes, 2"),
        ("all = '2'", "release.all: must be a whole number, not the text '2'"),
        ("all = 1\npublic = ['a']", "release.public[0]: must be a list of attributes, not the text 'a'"),
        ("all = 1\npublic = [['a'], ['a']]", "release.public[1]: is listed twice"),
        ("all = 1\npublic = [{ cel = { a = 'x' } }]", "release.public[0].cel: unknown key 'cel': did you mean 'cell'?"),
        (
            "all = 1\npublic = [{ cell = {} }]",
            "release.public[0].cell: names no attribute; the grand total is written []",
        ),
        (
            "all = 1\npublic = [{ cell = { a = 'z' } }]",
            "release.public[0].cell.a: 'a' has no value 'z'; its values are",
        ),
        ("all = 1\npublic = [{ cell = { c = 'z' } }]", "release.public[0].cell.c: unknown attribute 'c'"),
        ("all = 1\npublic = [{ cell = 1 }]", "release.public[0].cell: must be a table from attributes to values"),
        ("all = 1\nimpossible = [{}]", "release.impossible[0]: names no attribute"),
        ("all = 1\nimpossible = [{ a = [] }]", "release.impossible[0].a: needs at least one value"),
        ("all = 1\nimpossible = [{ a = ['x', 'y'] }]", "release.impossible[0]: would make every record impossible"),
        ("all = 1\nimpossible = [{ a = 'x', b = 7 }]", "release.impossible[0].b: 'b' has no value '7'"),
        ("all = 1\nimpossible = [{ a = 1.5 }]", "release.impossible[0].a: must be a value of 'a', not the number 1.5"),
        ("all = 1\nimpossible = { a = 'x' }", "release.impossible: must be a list of patterns, not a table"),
        ("all = 1\nsensitive = 'a'", "release.sensitive: must be a list of attributes"),
        ("all = 1\nsensitive = ['aa']", "release.sensitive[0]: unknown attribute 'aa': did you mean 'a'?"),
        ("all = 1\nsensitive = ['a']\npublic = [[]]", "release.sensitive: contradicts public"),
        ("all = 1\nstrategy = 'furier'", "release.strategy: unknown choice 'furier': did you mean 'fourier'?"),
        ("all = 1\nobjective = 'zzz'", "release.objective: unknown choice 'zzz'; it must be one of 'mean', 'max'"),
        ("all = 1\nnonnegative = true", "release.nonnegative: must be one of 'auto'"),
        ("all = 1\nrounding = 'up'", "release.rounding: unknown choice 'up'"),
    ],
)
def test_release(release: str, expected: str) -> None:
    found = problems(release=release)
    assert expected in found[0]
    assert len(found) == 1


def test_too_many_tables() -> None:
    attributes = "\n".join(f"a{index} = ['x']" for index in range(100))
    assert problems(attributes, "all = 4") == ["release.all: asks for 4,087,975 tables; at most 2,000,000 are possible"]
    assert len(problems(attributes, "all = 100")) == 1


@pytest.mark.parametrize(
    ("privacy", "expected"),
    [
        ("", "privacy: needs epsilon, or epsilon and delta, or rho"),
        ("delta = 0.1", "privacy: needs epsilon, or epsilon and delta, or rho, not delta alone"),
        ("epsilon = 1\nrho = 1", "privacy: needs epsilon, or epsilon and delta, or rho, not epsilon and rho"),
        ("epsilon = 0", "privacy.epsilon: must be greater than 0"),
        ("epsilon = -0.0", "privacy.epsilon: must be greater than 0"),
        ("rho = -1", "privacy.rho: must be greater than 0"),
        ("epsilon = inf", "privacy.epsilon: must be a finite number"),
        ("epsilon = nan", "privacy.epsilon: must be a finite number"),
        ("epsilon = true", "privacy.epsilon: must be a number, not true"),
        ("epsilon = 'much'", "privacy.epsilon: 'much' is not a number"),
        ("epsilon = '1/0'", "privacy.epsilon: '1/0' is not a number"),
        ("epsilon = 1e999", "privacy.epsilon: must lie between 1e-300 and 1e300"),
        ("epsilon = 1\ndelta = 0", "privacy.delta: delta = 0 is pure differential privacy: leave delta out"),
        ("epsilon = 1\ndelta = 1", "privacy.delta: must be greater than 0 and less than 1"),
        ("epsilon = 1\ndelta = -1", "privacy.delta: must be greater than 0 and less than 1"),
        ("epsilon = 1\nneighbours = 'replaced'", "unknown choice 'replaced': did you mean 'replace'?"),
        ("epsilon = 1\ninduced = 'markov'", "privacy.induced: only has a meaning together with public facts"),
    ],
)
def test_privacy(privacy: str, expected: str) -> None:
    found = problems(privacy=privacy)
    assert expected in found[0]
    assert len(found) == 1


def test_a_misspelt_budget() -> None:
    assert problems(privacy="epsilom = 1") == [
        "privacy.epsilom: unknown key 'epsilom': did you mean 'epsilon'?",
    ]


def test_sensitive_with_add_remove() -> None:
    found = problems(release="all = 1\nsensitive = ['a']", privacy="rho = 1\nneighbours = 'add-remove'")
    assert found == ['privacy.neighbours: contradicts sensitive, which protects replaced values: use "replace"']


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ("titel = 'x'", "titel: unknown key 'titel': did you mean 'title'?"),
        ("title = 5", "title: must be text, not the whole number 5"),
        ("draft = 'yes'", "draft: must be true or false, not the text 'yes'"),
        ("data = 'x.csv'", "data: must be a table of keys and values, not the text 'x.csv'"),
        ("[data]\nsource = ''", "data.source: must not be empty"),
        ("[data]\nconfidental = false", "data.confidental: unknown key 'confidental': did you mean 'confidential'?"),
        ("[data]\nconfidential = 'no'", "data.confidential: must be true or false"),
        ("[data]\ncount = 'a'", "data.count: 'a' is an attribute"),
        ("[data]\ncount = 'n'\nunit = { column = 'p', max_records = 1 }", "data.unit: contradicts count"),
        ("[data]\nunit = { column = 'p' }", "data.unit: needs max_records"),
        ("[data]\nunit = { column = 'p', max_records = 0 }", "data.unit.max_records: must be at least 1"),
        ("[data]\nunit = 'p'", "data.unit: must be a table such as"),
    ],
)
def test_top_and_data(top: str, expected: str) -> None:
    found = problems(top=top)
    assert expected in found[0]
    assert len(found) == 1


def test_missing_sections() -> None:
    with pytest.raises(SpecError) as caught:
        Spec.parse("")
    assert [problem.text for problem in caught.value.problems] == [
        "the section [attributes] is missing",
        "the section [release] is missing",
        "the section [privacy] is missing",
    ]


def test_no_echo_of_a_broken_attribute() -> None:
    """A table over an attribute that is declared wrongly is not a second problem."""
    found = problems("a = []", "tables = [['a']]\nimpossible = [{ a = 'x' }]\npublic = [{ cell = { a = 'q' } }]")
    assert found == ["attributes.a: needs at least one value"]


def test_no_echo_of_a_broken_public_fact() -> None:
    found = problems(release="all = 1\npublic = [['z']]", privacy="rho = 1\ninduced = 'markov'")
    assert found == ["release.public[0][0]: unknown attribute 'z'; declared are 'a', 'b'"]


def test_all_problems_at_once_with_their_lines() -> None:
    text = """\
titel = "x"
[attributes]
age = { bins = [
  0,
  18, 17,
] }
smoke = ["no", "yes"]
[attributes.county]
values = ["n"]
[release]
tables = [
  ["age"],
  ["smok"],
]
[privacy]
epsilon = 0
"""
    with pytest.raises(SpecError) as caught:
        Spec.parse(text)
    assert str(caught.value).splitlines() == [
        "spec: 4 problems",
        "  line 1, titel: unknown key 'titel': did you mean 'title'?",
        "  line 5, attributes.age.bins[2]: edges must increase, but 17 comes after 18",
        "  line 13, release.tables[1][0]: unknown attribute 'smok': did you mean 'smoke'?",
        "  line 16, privacy.epsilon: must be greater than 0",
    ]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("a = \n", 1, "Invalid value"),
        ("a = 1\na = 2\n", 2, "Cannot overwrite a value"),
        ("a = '''\n", None, "Expected"),
        ("a = " + "[" * 5000 + "\n", None, "nested too deeply"),
        ("a = " + "9" * 5000 + "\n", None, "thousands of digits"),
    ],
)
def test_syntax(text: str, line: int | None, part: str) -> None:
    with pytest.raises(SpecError) as caught:
        Spec.parse(text)
    (problem,) = caught.value.problems
    assert problem.place == "syntax"
    assert problem.line == line
    assert part in problem.text
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("mapping", [{1.5: 2}, {"attributes": None}, {"release": object()}, {"privacy": [1]}])
def test_odd_mappings(mapping: Any) -> None:
    with pytest.raises(SpecError):
        Spec.from_dict(mapping)


def test_thousands_of_problems_are_quick() -> None:
    tables = ", ".join(f"['z{index}']" for index in range(5000))
    assert len(problems(release=f"tables = [{tables}]")) == 5000


@pytest.mark.slow
def test_after_very_many_problems_a_spec_is_read_no_further() -> None:
    tables = ", ".join(f"['z{index}']" for index in range(30_000))
    found = problems(release=f"tables = [{tables}]")
    assert len(found) == 10_001
    assert "spec: there may be more: it was read no further" in found


@pytest.mark.parametrize(
    "number", ["9" * 300_000, "0." + "3" * 300_000, '"1/' + "7" * 300_000 + '"', "1e" + "9" * 4000]
)
@pytest.mark.parametrize("key", ["epsilon", "rho"])
def test_numbers_of_very_many_digits_are_refused_in_few_words(number: str, key: str) -> None:
    (found,) = problems(privacy=f"{key} = {number}")
    assert len(found) < 200


def test_long_ranges_are_refused_together() -> None:
    attributes = "\n".join(f"x{index} = {{ range = [0, 99999] }}" for index in range(100))
    (found,) = problems(attributes=attributes)
    assert found == "attributes: the attributes up to 'x20' have more than 2,097,152 values together; use bins"


@pytest.mark.parametrize(
    "attributes",
    [
        f"{'x' * 1001} = ['a']",
        f"x = ['{'a' * 1001}']",
        f"x = {{ values = ['a'], title = '{'t' * 10_001}' }}",
        f"x = {{ values = ['a'], labels = {{ a = '{'t' * 10_001}' }} }}",
    ],
)
def test_long_texts_are_refused(attributes: str) -> None:
    found = problems(attributes=attributes)
    assert any("characters: at most" in problem for problem in found)
    assert all(len(problem) < 1500 for problem in found)


def test_unknown_names_are_quoted_in_short() -> None:
    (found,) = problems(release=f"tables = [['{'z' * 100_000}']]")
    assert len(found) < 300


@pytest.mark.parametrize("key", ["a.", "'a b'.", '"a\\"b" . '])
def test_keys_of_very_many_parts_are_refused(key: str) -> None:
    with pytest.raises(SpecError, match="100 words are joined by dots"):
        Spec.parse(f"[attributes]\n{key * 100_000}a = 1\n")


def test_many_decimals_and_dots_in_a_row_are_no_keys() -> None:
    edges = ", ".join(f"{index}.5" for index in range(500))
    assert problems(attributes=f"x = {{ bins = [{edges}], title = '{'. ' * 300}' }}") == []


@pytest.mark.slow
def test_a_long_chain_of_determined_attributes_is_read() -> None:
    names = [f"x{index}" for index in range(3000)]

    def implies(name: str, other: str) -> str:
        return f"{name} = {{ values = ['a'], determines = {{ {other} = {{ a = 'a' }} }} }}"

    lines = [implies(name, after) for name, after in pairwise(names)]
    assert problems(attributes="\n".join([*lines, f"{names[-1]} = ['a']"])) == []
    assert len(problems(attributes="\n".join([*lines, implies(names[-1], names[0])]))) == 3000
