"""Whatever words a spec is accepted with, its release can be written, read and checked; the others cost nothing."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import margrave as mg
from margrave.errors import SpecError, UsageError
from margrave.files.writing import check_target
from margrave.publish.bundle.room import manifest_bytes_at_most
from margrave.publish.verification.verify import verify
from margrave.spec.codebook import Categories, Codebook
from margrave.spec.codebook import CodebookEntry as Entry
from margrave.spec.spec import Spec
from tests.shapes import spec_of

pytestmark = pytest.mark.slow

HALVES = ["\ud800", "a\udfff", "\udcff"]
ODD = [*HALVES, "\0", "a\0b", "\x1b[31m", "\x85", "\u2028", "\ufeff", "\uffff", "\U0010ffff", "a\r\nb", '"', "]]>",
       "<b>", "=1+1", "x" * 300, "\u202e", "e\u0301", "é", "NaN", "count", "unbiased", "measurement", "cell", "..", "/",
       "CON", "a:0", "__index_level_0__", "minus", "{0}", "%s", "[red]", "*", "", " x", "a,b"]  # fmt: skip
WORDS = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=()), max_size=4)
PLACES = ("title", "attribute", "name", "value", "label", "missing", "other", "cell", "insensitive")


def document(words):
    """A spec with words at some places, in the shape of its file."""
    name, value = words.get("name", "a"), words.get("value", "x")
    entry = {"values": [value, "y"], "title": words.get("attribute", "A"), "labels": {value: words.get("label", "ex")}}
    release = {"tables": [[name, "b"]], "rounding": "none", "nonnegative": "none", "strategy": "margins"}
    entry |= {key: words[key] for key in ("missing", "other") if key in words}
    if "cell" in words:
        release["public"] = [{"cell": {name: value}}]
    elif "insensitive" in words:
        release |= {"sensitive": ["b"], "rounding": "controlled", "nonnegative": "auto"}
    return {
        "title": words.get("title", "t"),
        "attributes": {name: entry, "b": ["0", "1"]},
        "release": release,
        "privacy": {"epsilon": 1},
    }


@given(st.dictionaries(st.sampled_from(PLACES), WORDS, max_size=4))
@example({"name": "unbiased", "insensitive": ""})
@example({"value": "a\r\nb", "cell": ""})
@settings(max_examples=60, deadline=None)
def test_what_a_spec_accepts_can_be_released_written_and_checked(words):
    used = [word for place, word in words.items() if place not in ("cell", "insensitive")]
    try:
        spec = Spec.from_dict(document(words))
    except SpecError as error:
        str(error).encode()
        return
    assert not any(half in word for half in "\ud800\udfff\udcff\0" for word in used)
    names = spec.domain.names
    records = pd.DataFrame(list(product(*(spec.domain[name].values for name in names))), columns=list(names))
    out = mg.release(mg.plan(spec), records, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        out.save(Path(folder) / "out")
        size = (Path(folder) / "out" / "release.json").stat().st_size
        assert size <= manifest_bytes_at_most(out.plan) <= 20 * size + 100_000
        verify(Path(folder) / "out")
        mg.Release.load(Path(folder) / "out").table(*names)
    assert Spec.parse(f"\n{spec.to_toml()}") == spec


@pytest.mark.parametrize("word", [*HALVES, "a\0b"])
@pytest.mark.parametrize("place", ["title", "attribute", "name", "value", "label", "missing", "other"])
def test_words_that_no_file_can_hold_are_refused_with_their_place(place, word):
    with pytest.raises(SpecError, match=r"half a character|NUL") as caught:
        Spec.from_dict(document({place: word}))
    assert str(caught.value).encode()


@pytest.mark.parametrize("word", ["\ud800", "a\0b"])
def test_a_spec_made_of_values_is_checked_as_one_from_a_file(word):
    plain = spec_of((2, 2), ["ab"])
    with pytest.raises(UsageError, match=r"half a character|NUL"):
        replace(plain, title=word)
    for entry in (Entry(word, Categories(("0", "1"))), Entry("a", Categories((word, "1"))),
                  Entry("a", Categories(("0", "1")), title=word), Entry("a", Categories(("0", "1")), other=word),
                  Entry("a", Categories(("0", "1")), labels={"0": word})):  # fmt: skip
        with pytest.raises(UsageError, match=r"half a character|NUL"):
            Spec(Codebook((entry,)), plain.budget, all_ways=1)
    with pytest.raises(UsageError, match="is a column of every published table"):
        Spec(Codebook((Entry("count", Categories(("0", "1"))),)), plain.budget, all_ways=1)
    with pytest.raises(UsageError, match="half a character"):
        replace(
            plain,
            codebook=Codebook((Entry("a", Categories(("\ud83d", "\ude00"))), *plain.codebook.entries[1:])),
        )


def test_the_name_of_a_file_of_data_need_not_be_text():
    spec = Spec.from_dict(document({}) | {"data": {"source": "caf\udce9.csv"}})
    assert spec.data.source == "caf\udce9.csv"
    with pytest.raises(SpecError, match="half a character"):
        Spec.from_dict(document({}) | {"data": {"count": "caf\udce9"}})


@pytest.mark.parametrize("low", [2**63 - 1, 2**63, -(2**63), -(2**64), 10**30])
def test_numbers_beyond_64_bits_are_published_as_text(tmp_path, low):
    spec = Spec.parse(f"""
        [attributes]
        a = {{ range = [{low}, {low + 1}] }}
        [release]
        all = 1
        [privacy]
        epsilon = 100
    """)
    out = mg.release(spec, pd.DataFrame({"a": [str(low), str(low + 1)] * 20}), seed=1)
    out.save(tmp_path / "out")
    verify(tmp_path / "out")
    assert len(mg.Release.load(tmp_path / "out").microdata()) == len(out.microdata())


@pytest.mark.parametrize("digits", [4000, 5000])
def test_numbers_of_thousands_of_digits_are_no_fault(digits):
    for rule in ({"range": [10**digits, 10**digits + 1]}, {"values": [10**digits]}, {"bins": [0, 10**digits]}):
        found = document({}) | {"attributes": {"a": rule, "b": ["0", "1"]}}
        try:
            mg.plan(Spec.from_dict(found))
        except SpecError as error:
            assert len(str(error)) < 1000


@pytest.mark.parametrize("name", ["x" * 300, "x\0y", "\ud800", "é" * 200, "x" * 252 + ".zip"])
def test_a_place_that_cannot_be_written_is_known_before(tmp_path, name):
    with pytest.raises(UsageError, match="cannot be written"):
        check_target(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path):
    check_target(tmp_path / ("x" * 255))
    check_target(tmp_path / "caf\udce9")
    assert not list(tmp_path.iterdir())
