from __future__ import annotations

import tomllib
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.spec.toml import below, dump, dump_document, key, line_of, locate, quote

texts = st.text(st.characters(codec="utf-8"))


@given(texts)
def test_quoted_text_reads_back(text: str) -> None:
    assert tomllib.loads(f"x = {quote(text)}") == {"x": text}
    assert "\n" not in quote(text)


@given(texts)
def test_keys_read_back(name: str) -> None:
    assert tomllib.loads(f"{key(name)} = 1") == {name: 1}


@given(st.recursive(texts | st.integers(-(10**9), 10**9) | st.booleans() | st.dates(), lambda inner: st.lists(inner)))
def test_values_read_back(value: object) -> None:
    assert tomllib.loads(f"x = {dump(value)}") == {"x": value}


@pytest.mark.parametrize("number", ["0.1", "-2.5", "1e-9", "1e20", "1.5e-12", "12"])
def test_numbers_read_back_exactly(number: str) -> None:
    exact = Fraction(number)
    for value in (exact, Decimal(number)):
        read = tomllib.loads(f"x = {dump(value)}", parse_float=Decimal)["x"]
        assert Fraction(read) == exact


def test_a_ratio_is_written_as_text() -> None:
    assert dump(Fraction(1, 3)) == '"1/3"'


def test_unknown_types_are_refused() -> None:
    with pytest.raises(TypeError):
        dump(object())


def test_document() -> None:
    text = dump_document({"a": 1, "s": {"x y": [date(2024, 1, 2)], "t": {"u": "v"}}})
    assert text == 'a = 1\n\n[s]\n"x y" = [2024-01-02]\nt = { u = "v" }\n'


SAMPLE = '''title = """
[not.a.header]
fake = 1 \\"""
"""
other = \'\'\'
[nor.this]\'\'\'
[one] # a [comment] = "x"
a = "# no comment"
"b.c" = [
  1,  # one
  [2, 3],

  { x = "]", y = [
1 ] },
]
d.e = { f = "}" , "g\\u00e9" = \'=\' }
[one.two."th ree"]
k = 1979-05-27
[[many]]
m = true
[[many]]
m = false
'''


def test_lines_of_every_kind_of_key() -> None:
    lines = locate(SAMPLE)
    assert lines["title"] == 1
    assert "fake" not in lines
    assert lines["other"] == 5
    assert lines["one"] == 7
    assert lines["one.a"] == 8
    assert lines['one."b.c"'] == 9
    assert lines['one."b.c"[0]'] == 10
    assert lines['one."b.c"[1][1]'] == 11
    assert lines['one."b.c"[2].y'] == 13
    assert lines['one."b.c"[2].y[0]'] == 14
    assert lines["one.d.e"] == lines['one.d.e."gé"'] == 16
    assert lines['one.two."th ree".k'] == 18
    assert lines["many[0].m"] == 20
    assert lines["many[1].m"] == 22


def test_the_sample_is_valid() -> None:
    tomllib.loads(SAMPLE)


def test_the_nearest_known_place() -> None:
    lines = {"a": 1, "a.b": 2, "a.b[3]": 5}
    assert line_of("a.b[3].c", lines) == 5
    assert line_of("a.b[2]", lines) == 2
    assert line_of("a.x.y", lines) == 1
    assert line_of("z", lines) is None


@given(texts)
def test_the_locator_never_fails(text: str) -> None:
    locate(text)


@given(st.lists(texts, min_size=1, max_size=5, unique=True))
def test_every_key_is_found(keys: list[str]) -> None:
    text = "[s]\n" + "\n".join(f"{key(name)} = [\n1, {quote(name)}]" for name in keys)
    lines = locate(text)
    for index, name in enumerate(keys):
        assert lines[below("s", name)] == 2 + 2 * index
        assert lines[below(below("s", name), 1)] == 3 + 2 * index


def test_windows_line_ends() -> None:
    assert locate("a = 1\r\n\r\nb = 2\r\n") == {"a": 1, "b": 3}
