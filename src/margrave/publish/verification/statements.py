"""What a bundle says beside its tables, compared with what follows: `release.json`, the report, simulated error bars.

Whatever has a form that this Margrave writes (`bundle.forms`) must be as it would write it. What has another
form may still agree; where it does not, that is said and is no failure. The version of the software that a bundle names
decides nothing: anybody can write another one there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.algebra.domain import Margin
from margrave.algebra.words import name_of
from margrave.errors import VerificationError
from margrave.planning.publication.methods import METHODS, SHRUNK, TRIMMED
from margrave.planning.publication.publishing import GRAPHICAL, RECORDS
from margrave.planning.publication.raises import RAISED
from margrave.progress import Step
from margrave.publish.bundle.account import parsed
from margrave.publish.bundle.forms import FORMS
from margrave.publish.bundle.manifest import Manifest, Writing
from margrave.publish.bundle.origin import manifest_of
from margrave.publish.bundle.parts.description import metadata
from margrave.publish.bundle.parts.names import table_stems
from margrave.publish.bundle.parts.shares import SHARES, shared, totals
from margrave.publish.bundle.untrusted.reading import Files
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.released import Released
from margrave.publish.report.page import report_pages
from margrave.publish.verification.found import (
    BAR_SHARE,
    SLOW,
    NotChecked,
    Place,
    check_least,
    check_made,
    check_page,
    compare_bars,
    differ_in_words,
    short,
)
from margrave.reconstruct.bars import Bars, replicates, too_small
from margrave.spec.choices import STRATEGIES
from margrave.spec.spec import possible_mask

if TYPE_CHECKING:
    from margrave.publish.bundle.bundle import Bundle


SHARE_LEAST = 0.001
"""How far the simulated half-width of a share may be from the stated one, beside a part of it."""
_BUDGETS: tuple[Place, ...] = (("guarantee", "cost"), ("guarantee", "guarantee"), ("guarantee", "groups"))
"""Compared as numbers, elsewhere."""


def check_statements(content: bytes, bundle: Bundle) -> Iterator[NotChecked]:
    """Nothing else stands in `release.json` than what follows from the release."""
    manifest = bundle.manifest
    check_made(manifest.software, manifest.created, manifest.private, manifest.ledger)
    stated = parsed(content)
    stated.pop("digest", None)
    writing = Writing(manifest.software, manifest.forms, manifest.created, manifest.files, manifest.layout)
    expected = manifest_of(_with_total(bundle.release, "forms" in stated), writing)
    if "forms" not in stated:
        _without_forms(expected)
    if "level" not in stated:
        del expected["level"]
    other = manifest.forms.words != FORMS.words
    words = differ_in_words(stated, expected, other, _BUDGETS)
    _check_methods(bundle.release)
    if words:
        yield NotChecked.of_form("words", manifest.software, manifest.forms, FORMS)


def _with_total(release: Released, needed: bool) -> Released:
    """The release with some bars for its total, so that nothing is simulated where none are stated."""
    if not release.simulates or () in release.bars:
        return release
    if needed:
        raise VerificationError(f"{MANIFEST}: published.bars is missing, though error bars are simulated")
    return replace(release, bars={(): (np.zeros(1), np.zeros(1))})


def _without_forms(expected: dict[str, Any]) -> None:
    """What is not in bundles that state no forms."""
    del expected["forms"]
    if expected["published"] is not None:
        del expected["published"]["bars"]


def _check_methods(release: Released) -> None:
    """What was measured and published is said to be done in a way that there is, and that the spec asks for."""
    published, spec = release.publication, release.plan.spec
    said: list[tuple[str, str, str, tuple[str, ...]]]
    said = [("plan.strategy", release.plan.strategy, spec.strategy, (*STRATEGIES, "search"))]
    if published is not None:
        method = published.method.removesuffix(TRIMMED).removesuffix(SHRUNK)
        # Where the full table is too large to be held, 'simple' becomes another method.
        wanted = release.plan.publishing.method if spec.nonnegative == "simple" else spec.nonnegative
        said.append(("published.method", method, wanted, (*METHODS, RECORDS, GRAPHICAL, *RAISED)))
        ways = ("controlled",) if published.method in (RECORDS, GRAPHICAL) else (spec.rounding, "none")
        said.append(("published.rounding", published.rounding, "auto", ways))
    for place, found, asked, there in said:
        if found == "auto" or found not in ((asked,) if asked != "auto" else there):
            raise VerificationError(f"{MANIFEST}: {place} is {short(found)}, which the spec does not ask for")


def check_report(files: Files, bundle: Bundle) -> Iterator[NotChecked]:
    """The report is the pages that this Margrave would make, byte for byte."""
    manifest = bundle.manifest
    if manifest.forms.report != FORMS.report:
        yield NotChecked.of_form("report", manifest.software, manifest.forms, FORMS)
        return
    release, created = bundle.release, manifest.created
    for name, expected in report_pages(release, created, manifest.software):
        check_page(files, manifest, name, expected)
    for name, expected in metadata(release, created, manifest.files):
        check_page(files, manifest, name, expected)


def check_bars(bundle: Bundle, step: Step | None) -> Iterator[NotChecked]:
    """Simulated error bars are not impossibly small and, if each simulation may take a ``step``, as simulated again."""
    release, manifest = bundle.release, bundle.manifest
    if not release.simulates:
        return
    known = manifest.forms.bars == FORMS.bars
    if known:
        _check_least(release, manifest)
    if step is None:
        yield SLOW
        return
    again = replace(release, bars={})
    _prepared(again, step)
    try:
        _compare_bars(release, again, manifest)
        _compare_shares(release, again)
    except VerificationError:
        if known:
            raise
        yield NotChecked.of_form("bars", manifest.software, manifest.forms, FORMS)


def _prepared(release: Released, step: Step) -> None:
    """Simulates, with one step for each simulation: several may be made at once, or turn out to be the same."""
    left = replicates(release.publication) if release.publication is not None else 0

    def told(done: int, total: int | None, misfit: float | None = None) -> None:
        nonlocal left
        while total and left > total - done:
            left -= 1
            step()

    release.prepare(told)
    told(1, 1)


def _margins(release: Released) -> Iterator[tuple[Margin, Bars]]:
    """The stated bars of each table, and of totals, which may be no tables of their own."""
    for margin in dict.fromkeys((*release.plan.spec.margins, (), *totals(release.plan))):
        if margin in release.bars:
            yield margin, release.bars[margin]


def _check_least(release: Released, manifest: Manifest) -> None:
    assert release.publication is not None
    for margin, stated in _margins(release):
        uncertain = (possible_mask(release.plan.spec, margin) & ~release.plan.certain(margin)).ravel()
        counts = np.asarray(release.published(margin), dtype=np.float64).ravel()
        small = uncertain & too_small(counts, *stated, release.level, whole=release.publication.whole)
        check_least(partial(_bar_place, release, manifest, margin), small, stated)


def _compare_bars(release: Released, again: Released, manifest: Manifest) -> None:
    for margin, stated in _margins(release):
        compare_bars(partial(_bar_place, release, manifest, margin), stated, again.error_bars(margin))


def _compare_shares(release: Released, again: Released) -> None:
    """The half-widths of shares, a row of whose file is a cell of a table and its share of one total."""
    assert again.simulated is not None
    row = 0
    for _, margin, whole in shared(release.plan) if release.shares else ():
        found, wanted = release.shares[margin, whole], again.simulated.share_widths(margin, whole, release.level)
        apart = ~(np.abs(found - wanted) <= SHARE_LEAST + BAR_SHARE * wanted)
        if apart.any():
            at = int(apart.argmax())
            raise VerificationError(
                f"{SHARES}.parquet, row {row + at + 1}: half_width is {found[at]:.6g} and simulated again "
                f"{wanted[at]:.6g}"
            )
        row += len(found)


def _bar_place(release: Released, manifest: Manifest, margin: Margin, row: int) -> str:
    """Where the bars of a cell are stated."""
    if margin not in release.plan.spec.margins:
        return f"{MANIFEST}: published.bars.{'attributes' if margin else 'total'}"
    if manifest.layout is None:
        return f"{table_stems(release.plan)[margin]}.parquet, row {row + 1}"
    tables, block = manifest.layout.tables, release.plan.spec.margins.index(margin)
    return f"{tables.name(tables.part(block))}, table {block + 1} ({name_of(margin)}), cell {row}"
