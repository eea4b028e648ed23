"""Every error that Margrave raises on purpose.

    MargraveError                 exit code 1
    ├── SpecError                 1   the public spec is wrong; carries every problem found
    ├── DataError                 1   the data does not fit the spec; never carries a value
    ├── BundleError               1   a release bundle cannot be read or written
    ├── LedgerError               1   a ledger cannot be read or written
    ├── UsageError                2   a call that no data could make right
    ├── FaultError                1   a machine failed after a question was charged; asking again is free
    ├── RefusedError              3   understood, but not safe or not affordable
    └── VerificationError         4   a bundle or ledger contradicts itself

The command line turns each into one message and its exit code; a stack trace is never what a person sees first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


class MargraveError(Exception):
    """Root of the tree. The text says what was wrong, where, and what to do."""

    exit_code = 1


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with a spec: the place (``attributes.age.bins``), the text, and the line in the file if known."""

    place: str
    text: str
    line: int | None = None

    def __str__(self) -> str:
        where = self.place if self.line is None else f"line {self.line}, {self.place}"
        return f"{where}: {self.text}"


class SpecError(MargraveError):
    """A spec with one or more problems, all reported at once."""

    def __init__(self, problems: Iterable[Problem], source: str = "spec") -> None:
        self.problems = tuple(problems)
        self.source = source
        count = len(self.problems)
        head = f"{source}: {count} problem{'s' if count != 1 else ''}"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]))


class DataError(MargraveError):
    """Data that does not fit the spec. Names the column, the rule and how many records, never a value."""


class DataWarning(UserWarning):
    """Something about the data that only the curator may see, said while a release is made. Names no value."""


class BundleError(MargraveError):
    """A release bundle that cannot be read or written."""


class LedgerError(MargraveError):
    """A ledger that cannot be read or written. Nothing was written, or the text says how to find out."""


class UsageError(MargraveError):
    """A call that is wrong whatever the data: an unknown name, contradictory options."""

    exit_code = 2


class FaultError(MargraveError):
    """A fault of the machine once a question was charged. Its text is always the same, and depends on no data."""


class RefusedError(MargraveError):
    """A request that was understood and is refused: unsafe, over budget, or too large."""

    exit_code = 3


class VerificationError(MargraveError):
    """A bundle or ledger whose parts contradict each other."""

    exit_code = 4


_LONGEST = 60
"""Longer words are not compared: it takes time with the product of their lengths, and nobody mistypes one."""


def suggest(word: str, choices: Iterable[str]) -> str:
    """``": did you mean 'age'?"`` when one of the choices is close to the word, otherwise the empty string."""
    likely = [choice for choice in choices if len(choice) <= _LONGEST] if len(word) <= _LONGEST else []
    same = [choice for choice in likely if choice.casefold() == word.casefold()]
    close = same[:1] or get_close_matches(word, likely, n=1, cutoff=0.6)
    return f": did you mean {close[0]!r}?" if close else ""
