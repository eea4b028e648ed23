"""A cursor over an untrusted document that notes every problem and reads on.

Each reading method returns the value, or None after noting what is wrong, so that one pass finds all problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from margrave.budget.numbers import exact_number
from margrave.errors import Problem, UsageError, suggest
from margrave.files.untrusted import MOST_PROBLEMS, MOST_TEXT, MOST_WORDS
from margrave.spec.texts import text_problem
from margrave.spec.toml import below

_Word = TypeVar("_Word", bound=str)
_SUGGESTIONS = 50
_CHOICES = 1000
_EXPONENT = 300
_LONGEST = 10**_EXPONENT


class TooManyError(Exception):
    """So many problems were found that the rest of the document is not worth reading."""


@dataclass(frozen=True)
class Node:
    """A value of the document, the place where it stands, and the list that collects problems for all nodes."""

    value: object
    place: str = ""
    problems: list[Problem] = field(default_factory=list)

    def problem(self, text: str) -> None:
        self.problems.append(Problem(self.place or "spec", text))
        if len(self.problems) >= MOST_PROBLEMS:
            self.problems.append(Problem("spec", "there may be more: it was read no further"))
            raise TooManyError

    def wrong_type(self, wanted: str) -> None:
        self.problem(f"must be {wanted}, not {describe(self.value)}")

    def hint(self, word: str, choices: Iterable[str]) -> str:
        """A suggestion; left out when so many problems were found that looking for more would only take time."""
        if len(self.problems) >= _SUGGESTIONS:
            return ""
        return suggest(word, [choice for choice, _ in zip(choices, range(_CHOICES), strict=False)])

    def child(self, name: str | int, value: object) -> Node:
        return Node(value, below(self.place, name), self.problems)

    def pairs(self, wanted: str = "a table of keys and values") -> dict[str, Node]:
        """The entries of a table, their keys as canonical text."""
        if not isinstance(self.value, Mapping):
            self.wrong_type(wanted)
            return {}
        found: dict[str, Node] = {}
        for name, value in self.value.items():
            text = canonical(name)
            if text is None:
                self.problem(f"a key must be text, not {describe(name)}")
            elif wrong := text_problem(text):
                self.problem(f"a key {wrong}")
            elif len(text) > MOST_TEXT:
                self.problem(f"a key has {len(text)} characters: at most {MOST_TEXT} are possible")
            elif text in found:
                self.problem(f"key {text!r} is given twice")
            else:
                found[text] = self.child(text, value)
        return found

    def table(self, known: Sequence[str], wanted: str = "a table of keys and values") -> dict[str, Node]:
        """The entries of a table whose keys are known beforehand; the others are problems."""
        found = self.pairs(wanted)
        for name in [name for name in found if name not in known]:
            hint = self.hint(name, known) or f"; the keys here are {words(known)}"
            found.pop(name).problem(f"unknown key {name!r}{hint}")
        return found

    def needs(self, keys: Mapping[str, Node], text: str) -> None:
        """Note that a key is absent, unless an unknown key was found here that may be the same one misspelt."""
        if isinstance(self.value, Mapping) and len(self.value) == len(keys):
            self.problem(f"needs {text}")

    def items(self, wanted: str = "a list") -> list[Node] | None:
        if not isinstance(self.value, list | tuple):
            self.wrong_type(wanted)
            return None
        return [self.child(index, value) for index, value in enumerate(self.value)]

    def text(self) -> str | None:
        """A text that is not empty, and that files can hold."""
        found = self.path()
        wrong = None if found is None else text_problem(found)
        if wrong is not None:
            self.problem(wrong)
            return None
        return found

    def path(self) -> str | None:
        """A text that is not empty. The name of a file may be one that is no text to others."""
        if not isinstance(self.value, str):
            self.wrong_type("text")
            return None
        if not self.value.strip():
            self.problem("must not be empty")
            return None
        return self.value if self._fits(self.value, MOST_WORDS) else None

    def _fits(self, text: str, most: int) -> bool:
        if len(text) > most:
            self.problem(f"has {len(text)} characters: at most {most} are possible")
        return len(text) <= most

    def flag(self) -> bool | None:
        if not isinstance(self.value, bool):
            self.wrong_type("true or false")
            return None
        return self.value

    def whole(self) -> int | None:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.wrong_type("a whole number")
            return None
        return self.value if self._short() else None

    def _short(self) -> bool:
        """Whether a whole number has few enough digits to be written; it is a problem otherwise."""
        if not isinstance(self.value, int) or abs(self.value) <= _LONGEST:
            return True
        self.problem(f"must lie between -1e{_EXPONENT} and 1e{_EXPONENT}")
        return False

    def choice(self, options: Sequence[_Word]) -> _Word | None:
        for option in options:
            if self.value == option:
                return option
        if not isinstance(self.value, str):
            self.wrong_type(f"one of {words(options)}")
            return None
        hint = self.hint(self.value, options) or f"; it must be one of {words(options)}"
        self.problem(f"unknown choice {shortened(self.value)!r}{hint}")
        return None

    def number(self) -> Fraction | None:
        """An exact, finite number: ``0.1`` is 1/10; ``"1/3"`` as text is exact too."""
        raw = self.value
        if isinstance(raw, bool) or not isinstance(raw, int | float | str | Decimal | Fraction):
            self.wrong_type("a number")
            return None
        if isinstance(raw, Decimal | float) and not Decimal(raw).is_finite():
            self.problem("must be a finite number")
            return None
        if not self._short():
            return None
        try:
            number = raw if isinstance(raw, Fraction) else exact_number(str(raw).strip())
        except UsageError as error:
            self.problem(str(error))
            return None
        if number != 0 and not Fraction(1, 10**_EXPONENT) <= abs(number) <= 10**_EXPONENT:
            self.problem(f"must lie between 1e-{_EXPONENT} and 1e{_EXPONENT}")
            return None
        return number

    def positive(self) -> Fraction | None:
        number = self.number()
        if number is not None and number <= 0:
            self.problem("must be greater than 0")
            return None
        return number

    def value_text(self) -> str | None:
        """The canonical text of a value of an attribute."""
        text = canonical(self.value)
        if text is None:
            wanted = "text, a whole number, true, false or a date"
            self.wrong_type(f'{wanted} (write "1.5" as text, or use bins)' if _is_fraction(self.value) else wanted)
            return None
        if not text.strip():
            self.problem('empty text means missing, so it cannot be a value; use missing = "…"')
            return None
        if wrong := text_problem(text):
            self.problem(wrong)
            return None
        if text == "*":
            self.problem("'*' stands for all values in published tables and cannot be a value")
            return None
        return text if self._fits(text, MOST_TEXT) else None


def canonical(value: object) -> str | None:
    """Text as it is, whole numbers in decimal, ``true``/``false``, dates as ISO; None for anything else."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if abs(value) <= _LONGEST else None
        case datetime():
            return None
        case date():
            return value.isoformat()
    return None


def _is_fraction(value: object) -> bool:
    return isinstance(value, Decimal | float | Fraction)


def describe(value: object) -> str:
    """The kind of a value in the words of the documentation."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f"the text {value!r}" if len(value) <= 40 else "a text"
        case int():
            return f"the whole number {value}" if abs(value) < 10**20 else "a whole number"
        case Decimal() | float() | Fraction():
            text = str(value)
            return f"the number {text}" if len(text) <= 40 else "a number"
        case datetime() | time():
            return "a time"
        case date():
            return "a date"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
        case None:
            return "nothing"
    return f"a Python {type(value).__name__}"


def shortened(text: str, most: int = 100) -> str:
    """A text as errors quote it."""
    return text if len(text) <= most else f"{text[:most]}…"


def words(options: Sequence[str], most: int = 12) -> str:
    """The options quoted and joined, shortened when they are many."""
    shown = ", ".join(repr(option) for option in options[:most])
    return shown if len(options) <= most else f"{shown} and {len(options) - most} more"
