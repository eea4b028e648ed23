"""What verification finds, and how it compares: the same for bundles of every way of asking."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.algebra.arrays import Flags
from margrave.budget.units import Budget
from margrave.errors import VerificationError
from margrave.progress import Step
from margrave.publish.bundle.account import Checksum, Listed, check_file, checked
from margrave.publish.bundle.forms import Forms
from margrave.publish.bundle.untrusted.reading import Files
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.numbers import DECIMALS
from margrave.publish.verification.signature import SIGNATURE, PublicKey
from margrave.reconstruct.bars import Bars

if TYPE_CHECKING:
    import pyarrow as pa

Place = tuple[str | int, ...]
"""Where something stands in JSON."""

BAR_SHARE, BAR_LEAST = 0.02, 0.05
"""How far a simulated error bar may be from the stated one: a part of it, and of a record. The same software gives the
same bars; another version of numpy, or another processor, may round some simulated count to the other side.
"""
_CLOSE = 1e-6
_SOFTWARE = re.compile(r"margrave [0-9A-Za-z.+!-]{1,64}")
_ABSENT = object()
_WORDS: tuple[Place, ...] = (("warning",), ("composition",), ("guarantee", "words"), ("guarantee", "unit", "words"))
"""Places in a manifest where words stand, whose form another version may have changed."""
_LONGEST = 120


@dataclass(frozen=True)
class NotChecked:
    """A part of a bundle that was not compared with what follows, and the reason."""

    part: str
    reason: str

    @classmethod
    def of_form(cls, part: str, software: str, forms: Forms, own: Forms) -> NotChecked:
        """Of a part that has another form than this Margrave gives it."""
        found, known = getattr(forms, part), getattr(own, part)
        return cls(part, f"made by {software} in form {found}, and this Margrave knows form {known}")

    def __str__(self) -> str:
        names = {"words": "the words", "report": "the report", "bars": "the simulated error bars"}
        return f"Not checked: {names[self.part]}, {self.reason}."


SLOW = NotChecked("bars", "which take as long to simulate again as to make: add --bars to do so")


@dataclass(frozen=True)
class Verified:
    """What was found to be in order, and what was not looked at; ``formulas`` are texts that a spreadsheet computes.

    ``words`` say what was computed again, ``parts`` what was compared as it would be written.
    """

    private: bool
    files: int
    tables: int
    margins: int
    cost: Budget
    not_checked: tuple[NotChecked, ...] = ()
    signer: PublicKey | None = None
    formulas: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    parts: tuple[str, ...] = ("words", "report")


def check_made(software: str, created: str | None, private: bool, ledger: Mapping[str, Any] | None) -> None:
    """The names of the software and of the time, which follow from nothing, are at least such names."""
    if _SOFTWARE.fullmatch(software) is None:
        raise VerificationError(f"{MANIFEST}: software is {short(software)}, not the name of a Margrave")
    if created is None:
        if private:
            raise VerificationError(f"{MANIFEST}: created is missing")
        return
    if not private:
        raise VerificationError(f"{MANIFEST}: created does not follow: a seeded release has no date")
    try:
        datetime.fromisoformat(created)
    except ValueError:
        raise VerificationError(f"{MANIFEST}: created is {short(created)}, which is no time") from None
    if ledger is not None and ledger["time"] != created:
        raise VerificationError(f"{MANIFEST}: created is not the time at which the release was charged")


def compare_bars(place: Callable[[int], str], stated: Bars, wanted: Bars) -> None:
    """The stated bars of a table are those that were simulated again; ``place`` says where those of a cell stand."""
    for name, found, again in zip(("std_error", "half-width"), stated, wanted, strict=True):
        apart = ~(np.abs(found - again) <= BAR_LEAST + BAR_SHARE * again)
        if apart.any():
            row = int(apart.argmax())
            raise VerificationError(f"{place(row)}: {name} is {found[row]:.6g} and simulated again {again[row]:.6g}")


def check_least(place: Callable[[int], str], small: Flags, stated: Bars) -> None:
    """No cell has bars that are smaller than any that are simulated."""
    if small.any():
        row = int(small.argmax())
        errors, widths = stated
        raise VerificationError(
            f"{place(row)}: std_error {errors[row]:.6g} and half-width {widths[row]:.6g} are smaller than any that are "
            "simulated"
        )


def check_files(files: Files, manifest: Listed, step: Step) -> None:
    """Every file that is listed is as it was written, and there is no other."""
    for name in manifest.files:
        check_file(files, manifest, name)
        step()
    extra = sorted(files.names - set(manifest.files) - {MANIFEST, SIGNATURE})
    if extra:
        raise VerificationError(f"{extra[0]!r} is in the bundle, and {MANIFEST} does not list it")


def check_listed(manifest: Listed, expected: set[str]) -> None:
    """A bundle lists the files that such a release has, and no others."""
    for name in sorted(expected ^ set(manifest.files)):
        said = "lists {!r}, which such a release does not have" if name in manifest.files else "does not list {!r}"
        raise VerificationError(f"{MANIFEST} {said.format(name)}")


def check_page(files: Files, manifest: Listed, name: str, expected: bytes) -> None:
    """A page is the one that this Margrave would make, byte for byte."""
    stated = manifest.files[name]
    if Checksum.of(expected) == stated:
        return
    # A page that is far longer need not be read to be another one.
    if stated.length > 2 * len(expected) + (1 << 20):
        raise VerificationError(f"{name} has {stated.length} bytes; the one that follows has {len(expected)}")
    pairs = zip(_lines(checked(files, manifest, name)), _lines(expected), strict=False)
    line = next((number for number, (one, other) in enumerate(pairs, 1) if one != other), None)
    where = "at its end" if line is None else f"from line {line} on"
    raise VerificationError(f"{name} differs from the one that follows from the release, {where}")


def _lines(content: bytes) -> Sequence[bytes]:
    return content.split(b"\n")


def compare(name: str, found: pa.Table, expected: pa.Table) -> None:
    """A table is the one that follows, but for the rounding of numbers with decimals."""
    if found.column_names != expected.column_names or found.schema.types != expected.schema.types:
        raise VerificationError(f"{name} does not have the columns {', '.join(expected.column_names)}")
    for label in expected.column_names:
        values, wanted = found.column(label), expected.column(label)
        if values.equals(wanted):
            continue
        row = _first_difference(values, wanted)
        if row is not None:
            raise VerificationError(
                f"{name}, row {row + 1}: {label} is {values[row]} and follows from the measurements as {wanted[row]}"
            )


def _first_difference(values: Any, wanted: Any) -> int | None:
    """The first row where two columns differ; numbers with decimals may differ by their rounding."""
    import pyarrow as pa

    if pa.types.is_floating(wanted.type) and not values.null_count:
        left, right = values.to_numpy(), wanted.to_numpy()
        different = ~np.isclose(left, right, rtol=_CLOSE, atol=2 * 10.0**-DECIMALS)
    else:
        pairs = zip(values.to_pylist(), wanted.to_pylist(), strict=True)
        different = np.array([one != other for one, other in pairs], dtype=bool)
    return int(different.argmax()) if different.any() else None


def differences(found: Any, wanted: Any, path: Place = ()) -> Iterator[tuple[Place, Any, Any]]:
    """Every place where two JSON values differ, and what stands there."""
    if type(found) is type(wanted) and found == wanted:
        return
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in dict.fromkeys((*wanted, *found)):
            yield from differences(found.get(name, _ABSENT), wanted.get(name, _ABSENT), (*path, name))
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, (*path, number))
    else:
        yield path, found, wanted


def differ_in_words(found: Any, wanted: Any, other: bool, elsewhere: tuple[Place, ...] = ()) -> bool:
    """Whether what a manifest says differs from what follows from the release, in words alone.

    These may differ where they have an ``other`` form; nothing else may, but for what is compared ``elsewhere``.
    """
    words = False
    for path, one, another in differences(found, wanted):
        if _below(path, elsewhere):
            continue
        if not other or not _below(path, _WORDS):
            raise VerificationError(difference_words(path, one, another))
        words = True
    return words


def _below(path: Place, places: tuple[Place, ...]) -> bool:
    return any(path[: len(some)] == some for some in places)


def difference_words(path: Place, found: Any, wanted: Any) -> str:
    """A difference in words: its place, such as ``guarantee.words[2]``, and what stands there."""
    place = "".join(f"[{one}]" if isinstance(one, int) else f".{_plain(one)}" for one in path).removeprefix(".")
    if wanted is _ABSENT:
        return f"{MANIFEST}: {place} does not follow from the release"
    if found is _ABSENT:
        return f"{MANIFEST}: {place} is missing, and follows from the release as {short(wanted)}"
    return f"{MANIFEST}: {place} is {short(found)} and follows from the release as {short(wanted)}"


def _plain(name: str) -> str:
    return name if name.isprintable() else repr(name)


def short(value: Any) -> str:
    """A value in words that fit into a line."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
