"""Checking the bundle of any way of asking against itself: files, words, cost, every part, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from margrave.errors import VerificationError
from margrave.progress import Progress, counted
from margrave.publish.bundle.account import Checksum, checked
from margrave.publish.bundle.described import CSVW, PACKAGE
from margrave.publish.bundle.parts.parts import csv_pieces
from margrave.publish.bundle.untrusted.parquet import read_like
from margrave.publish.bundle.untrusted.reading import Files
from margrave.publish.bundle.words import REPORT
from margrave.publish.framed.bundle import Framing, framed_metadata, read_framed
from margrave.publish.framed.frame import Frame, frame_json
from margrave.publish.verification.found import (
    NotChecked,
    Verified,
    check_files,
    check_listed,
    check_made,
    check_page,
    compare,
    differ_in_words,
)

Formulas = Callable[[Any], tuple[str, ...]]
"""Texts of a release that a spreadsheet would compute."""


def verify_framed(
    framing: Framing, files: Files, progress: Progress | None, formulas: Formulas, bars: bool = False
) -> Verified:
    """Check a whole bundle. The cost follows from the events when its value is made of them again."""
    frame, outcome = read_framed(framing, files)
    step = counted(progress, 2 * len(frame.files))
    check_made(frame.made.software, frame.made.created, frame.private, frame.ledger)
    check_files(files, frame, step)
    left = [*_check_statements(framing, frame, outcome)]
    tables = 0
    for stem, expected in framing.parts(outcome):
        name = f"{stem}.parquet"
        found = read_like(checked(files, frame, name), name, expected)
        compare(name, found, expected)
        if Checksum.of_pieces(csv_pieces(found)) != frame.files.get(f"{stem}.csv"):
            raise VerificationError(f"{stem}.csv and {stem}.parquet differ")
        tables += 1
        step()
    words = framing.check(outcome)
    left += [*_check_report(framing, files, frame, outcome), *framing.bars(outcome, frame, bars)]
    return Verified(
        frame.private,
        len(frame.files) + 1,
        tables,
        0,
        outcome.plan.cost,
        tuple(left),
        formulas=formulas(outcome),
        words=words,
        parts=framing.compared,
    )


def _check_statements(framing: Framing, frame: Frame, outcome: Any) -> Iterator[NotChecked]:
    """Nothing else stands in `release.json` than what follows from the release."""
    stems = [stem for stem, _ in framing.parts(outcome)]
    told = {CSVW, PACKAGE}
    if frame.made.forms.report != framing.forms.report:  # another form may have none
        told &= set(frame.files)
    check_listed(frame, {f"{stem}.{kind}" for stem in stems for kind in ("csv", "parquet")} | {REPORT} | told)
    expected = frame_json(outcome, frame.made, framing.spec(outcome), framing.published(outcome))
    if differ_in_words(dict(frame.said), expected, frame.made.forms.words != framing.forms.words):
        yield NotChecked.of_form("words", frame.made.software, frame.made.forms, framing.forms)


def _check_report(framing: Framing, files: Files, frame: Frame, outcome: Any) -> Iterator[NotChecked]:
    if frame.made.forms.report != framing.forms.report:
        yield NotChecked.of_form("report", frame.made.software, frame.made.forms, framing.forms)
        return
    check_page(files, frame, REPORT, framing.report(outcome, frame.made.created, frame.made.software).encode())
    for name, expected in framed_metadata(framing, outcome, frame.made.created, frame.files):
        check_page(files, frame, name, expected)
