"""What pages say, in the reader's language: one catalogue of messages for each, by gettext; numbers and dates as well.

English is what stands in the code and in the templates. People edit `de.po`; `tools/messages.py` makes `de.mo` of it,
which is read here. Code says what it says by `say`, in the language that is spoken just then (`speaking`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO

from margrave.errors import UsageError

LANGUAGES = ("en", "de")


@dataclass(frozen=True)
class WrittenForm:
    """How numbers and dates are written; ``day`` is made of year, month and day."""

    thousands: str
    decimal: str
    percent: str
    day: str


_FORMS = {"en": WrittenForm(",", ".", "%", "{0}-{1}-{2}"), "de": WrittenForm(".", ",", "\u202f%", "{2}.{1}.{0}")}


@dataclass(frozen=True)
class Messages:
    """The messages of a language."""

    language: str = "en"
    catalogue: NullTranslations = field(default_factory=NullTranslations, repr=False)

    def say(self, text: str, **values: object) -> str:
        """A message, with its values filled in."""
        return self.catalogue.gettext(text) % values if values else self.catalogue.gettext(text)

    @property
    def form(self) -> WrittenForm:
        return _FORMS[self.language]

    def localised(self, number: str) -> str:
        """A number that is written as in English, in the form of the reader."""
        if self.language == "en":
            return number
        found = number.translate({ord(","): self.form.thousands, ord("."): self.form.decimal})
        return found.replace("%", self.form.percent)

    def day(self, time: str) -> str:
        """The day of a time such as 2026-01-31T12:00:00Z."""
        return self.form.day.format(*time[:10].split("-"))


ENGLISH = Messages()
_SPOKEN: ContextVar[Messages] = ContextVar("spoken", default=ENGLISH)


def spoken() -> Messages:
    """The messages of the language that is spoken now, in this thread or task: English if nobody said otherwise."""
    return _SPOKEN.get()


@contextmanager
def speaking(messages: Messages) -> Iterator[None]:
    """Within it everything is said in one language."""
    token = _SPOKEN.set(messages)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def say(text: str, **values: object) -> str:
    """A message in the language that is spoken, with its values filled in: ``say("%(count)s tables", count=3)``."""
    return spoken().say(text, **values)


def later(text: str) -> str:
    """A message that is said later, by `say`: so that the catalogue has it."""
    return text


@cache
def messages_of(language: str) -> Messages:
    """The messages of a language, by its code of two letters."""
    if language not in LANGUAGES:
        raise UsageError(f"language ({language!r}) must be one of {', '.join(LANGUAGES)}")
    if language == "en":
        return ENGLISH
    content = files("margrave.messages").joinpath(f"{language}.mo").read_bytes()
    return Messages(language, GNUTranslations(BytesIO(content)))


def preferred(header: str) -> Messages:
    """The messages that a browser asks for first, by its Accept-Language; English where none of them is known."""
    for part in header.split(","):
        language = part.partition(";")[0].strip()[:2].lower()
        if language in LANGUAGES:
            return messages_of(language)
    return ENGLISH
