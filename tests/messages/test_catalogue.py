"""Pages speak the reader's language, wholly, and write numbers and dates in her form."""

import importlib.util
from pathlib import Path

import pytest

from margrave.algebra.words import number
from margrave.errors import UsageError
from margrave.messages.catalogue import ENGLISH, messages_of, preferred, say, speaking
from margrave.publish.report.values import written

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    found = importlib.util.spec_from_file_location("messages_tool", ROOT / "tools" / "messages.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_german_has_every_message_and_no_other(tool):
    found = tool.catalogue(tool.ROOM / "de.po")
    assert tool.lacking(found) == set()
    assert {one.id for one in found if one.id} == tool.wanted()
    assert tool.packed(found) == (tool.ROOM / "de.mo").read_bytes()


def test_translations_have_the_places_of_their_originals(tool):
    for one in tool.catalogue(tool.ROOM / "de.po"):
        if one.id:
            assert sorted(_places(one.id)) == sorted(_places(one.string)), one.id


def _places(text):
    return [part.partition(")")[0] for part in text.split("%(")[1:]]


def test_numbers_and_dates_are_in_the_readers_form():
    german = messages_of("de")
    assert (ENGLISH.localised("1,234,567"), german.localised("1,234,567")) == ("1,234,567", "1.234.567")
    assert (ENGLISH.localised("12.5%"), german.localised("12.5%")) == ("12.5%", "12,5\u202f%")
    assert (ENGLISH.day("2026-01-31T00:00:00Z"), german.day("2026-01-31T00:00:00Z")) == ("2026-01-31", "31.01.2026")


@pytest.mark.parametrize(
    ("header", "language"),
    [("de-AT,de;q=0.9,en;q=0.5", "de"), ("fr, de;q=0.8", "de"), ("en-GB, de", "en"), ("", "en"), ("xx;;,,", "en")],
)
def test_a_browser_gets_the_first_language_that_there_is(header, language):
    assert preferred(header).language == language


def test_other_languages_are_refused():
    with pytest.raises(UsageError, match="must be one of en, de"):
        messages_of("fr")


def test_what_is_said_is_in_the_language_that_is_spoken_there():
    assert say("The tables") == "The tables"
    with speaking(messages_of("de")):
        assert (say("The tables"), written(1234.5, 0.1), number(0.25)) == ("Die Tabellen", "1.234,5", "0,25")
    assert say("The tables") == "The tables"
