"""Checking the bundle of a release of tables: every number again from the measurements, agreement, and the cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.budget.units import budget_from_dict
from margrave.errors import MargraveError, VerificationError
from margrave.planning.checks import check_plan
from margrave.planning.plan import Plan
from margrave.progress import Progress, Step, counted
from margrave.publish.bundle.account import Checksum, checked
from margrave.publish.bundle.bundle import Bundle, read_bundle
from margrave.publish.bundle.described import CSVW, PACKAGE
from margrave.publish.bundle.forms import FORMS, Forms
from margrave.publish.bundle.manifest import guarantee_json
from margrave.publish.bundle.parts.large import (
    CONTENTS,
    VALUES,
    alike,
    contents_part,
    exact_part,
    measurements_part,
    tables_part,
    values_part,
)
from margrave.publish.bundle.parts.layout import Layout
from margrave.publish.bundle.parts.names import CELLS, CUBE, MEASUREMENTS, MICRODATA, column, exact_stems, table_stems
from margrave.publish.bundle.parts.parts import (
    csv_pieces,
    cube_rows,
    derived_parts,
    known_cells_part,
    microdata_pieces,
    published_name,
    published_part,
    read_microdata,
)
from margrave.publish.bundle.parts.shares import SHARES, has_shares
from margrave.publish.bundle.untrusted.parquet import read_like
from margrave.publish.bundle.untrusted.reading import Files, manifest_content
from margrave.publish.bundle.words import MANIFEST, REPORT
from margrave.publish.report.page import page_names
from margrave.publish.verification.agreement import Agreement
from margrave.publish.verification.found import Verified, check_files, check_listed, compare
from margrave.publish.verification.statements import check_bars, check_report, check_statements
from margrave.reconstruct.bars import replicates
from margrave.spec.sections import DataSection, Unit
from margrave.spec.texts import formulas

if TYPE_CHECKING:
    import pyarrow as pa

_UNNAMED = "*"
"""Stands for a column that is not public; no attribute has this name."""
_ROOM = Fraction(1, 10**6)


def verify_tables(files: Files, progress: Progress | None, bars: bool) -> Verified:
    """Check the whole bundle of a release of tables; ``bars``: simulate error bars again from their seed."""
    bundle = _own_bars(read_bundle(files))
    release, layout, listed = bundle.release, bundle.manifest.layout, len(bundle.manifest.files)
    again = replicates(release.publication) if bars and release.publication is not None else 0
    total = listed + (len(release.plan.spec.margins) if layout is None else layout.files) + again
    step = counted(progress, total)
    _check_names(bundle)
    check_files(files, bundle.manifest, step)
    _check_guarantee(bundle)
    left = [*check_statements(manifest_content(files), bundle)]
    if layout is None:
        margins = _check_agreement(release.domain, _check_parts(files, bundle, step))
    else:
        margins = _check_large(files, bundle, layout, step)
    left += [*check_report(files, bundle), *check_bars(bundle, step if bars else None)]
    tables = len(release.plan.spec.margins)
    found = formulas(release.plan.spec.domain)
    return Verified(
        release.private,
        listed + 1,
        tables,
        margins,
        release.plan.guarantee,
        tuple(left),
        formulas=found,
        words=(f"Tables that follow from the measurements: {tables}. Margins they share, and agree on: {margins}.",),
        parts=("words", "report", "bars"),
    )


def _own_bars(bundle: Bundle) -> Bundle:
    """The bundle with error bars as they follow: those of its files are needed only where they were simulated."""
    return bundle if bundle.release.simulates else replace(bundle, release=replace(bundle.release, bars={}))


def _check_guarantee(bundle: Bundle) -> None:
    """What is stated follows from the events, and the plan is one that could be made from its spec."""
    plan, stated = bundle.release.plan, bundle.manifest.stated
    derived = guarantee_json(plan)
    # Bundles without forms may have a higher bound on what public facts cost, which is never too low.
    dear = bool(plan.spec.public) and bundle.manifest.forms == Forms()
    for key in ("cost", "guarantee"):
        _same_budget(f"the {key}", stated.get(key), derived[key], dear)
    groups = stated.get("groups")
    if not isinstance(groups, Mapping) or groups.keys() != derived["groups"].keys():
        raise VerificationError(f"{MANIFEST} does not state the guarantee for groups of 2, 5 and 10")
    for size, budget in derived["groups"].items():
        _same_budget(f"the guarantee for groups of {size}", groups[size], budget, dear)
    room = _ROOM if plan.guarantee.delta else Fraction(0)
    try:
        check_plan(_with_units(plan), room)
    except MargraveError as error:
        raise VerificationError(f"{MANIFEST}: {error}") from None


def _with_units(plan: Plan) -> Plan:
    """The plan with units of as many records as it protects, or rows of counted ones: its spec has lost its [data]."""
    if plan.protection.counted:
        return replace(plan, spec=replace(plan.spec, data=DataSection(count=_UNNAMED, count_public=True)))
    if plan.protection.records == 1:
        return plan
    return replace(plan, spec=replace(plan.spec, data=DataSection(unit=Unit("unit", plan.protection.records))))


def _same_budget(what: str, stated: Any, derived: Mapping[str, str], dear: bool) -> None:
    """The stated budget is the derived one; where an older version knew no better price, it may be ``dear``."""
    try:
        found, expected = budget_from_dict(stated), budget_from_dict(derived)
    except (MargraveError, AttributeError, TypeError, ValueError):
        raise VerificationError(f"{MANIFEST}: {what} is not readable") from None
    # A conversion to (ε, δ) goes through floating point, which other versions may round elsewhere.
    room = _ROOM if expected.delta else 0
    pairs = [(found.amount, expected.amount), (found.delta, expected.delta)]
    if not found.same_unit(expected) or any(
        other - one > room * other or (not dear and one - other > room * other) for one, other in pairs
    ):
        raise VerificationError(f"{MANIFEST} states {what} as {found}; the events give {expected}")


def _check_parts(files: Files, bundle: Bundle, step: Step) -> list[tuple[Margin, str, pa.Table]]:
    """Every Parquet file follows from the measurements, and every CSV file says the same."""
    release = bundle.release
    by_stem = {stem: margin for margin, stem in table_stems(release.plan).items()}
    tables = []
    for stem, expected in derived_parts(release):
        name = f"{stem}.parquet"
        found = read_like(checked(files, bundle.manifest, name), name, expected)
        compare(name, found, expected)
        _check_text(bundle, stem, csv_pieces(found))
        if stem in by_stem:
            tables.append((by_stem[stem], stem, found))
            step()
    _check_published(files, bundle)
    cube = cube_rows(release.domain, [(margin, table) for margin, _, table in tables])
    if Checksum.of_pieces(cube) != bundle.manifest.files[CUBE]:
        raise VerificationError(f"{CUBE} and the tables differ")
    return tables


def _check_text(bundle: Bundle, stem: str, pieces: Iterable[bytes]) -> None:
    """A CSV file, whose checksum fits, says what its Parquet file says."""
    if Checksum.of_pieces(pieces) != bundle.manifest.files[f"{stem}.csv"]:
        raise VerificationError(f"{stem}.csv and {stem}.parquet differ")


def _check_published(files: Files, bundle: Bundle) -> None:
    """The published table's file is in the order that is written, and its CSV file, where it has one, says the same."""
    release, said, small = bundle.release, bundle.manifest.published, bundle.manifest.layout is None
    if release.publication is None or said is None:
        return
    name = published_name(said)
    content = checked(files, bundle.manifest, name)
    if not release.publication.whole or not said["rows"]:
        stem, expected = published_part(release, release.publication)
        found = read_like(content, name, expected)
        compare(name, found, expected)
        pieces = csv_pieces(found)
    else:
        stem, pieces = MICRODATA, microdata_pieces(release.plan, _sorted(name, release.plan, said["rows"], content))
    if small:
        _check_text(bundle, stem, pieces)
    else:
        for _ in pieces:
            pass


def _sorted(name: str, plan: Plan, rows: int, content: bytes) -> Iterator[NDArray[np.int64]]:
    """The records of a file, some at a time, if they are in the order of the cells."""
    last: NDArray[np.int64] | None = None
    for codes in read_microdata(plan, rows, content):
        both = codes if last is None else np.concatenate([last, codes])
        ahead = np.diff(both, axis=0)
        first = np.take_along_axis(ahead, (ahead != 0).argmax(axis=1)[:, None], axis=1) if ahead.size else ahead
        if (first < 0).any():
            raise VerificationError(f"{name} does not list the records in the order of the cells")
        yield codes
        last = codes[-1:]


def _check_large(files: Files, bundle: Bundle, layout: Layout, step: Step) -> int:
    """The same for a large bundle, one file after the other. Counts the margins that tables share."""
    release, margins = bundle.release, bundle.release.plan.spec.margins

    def same(name: str, expected: pa.Table) -> pa.Table:
        found = read_like(checked(files, bundle.manifest, name), name, expected)
        compare(name, found, expected)
        return found

    same(CONTENTS, contents_part(release.plan, layout.tables))
    same(VALUES, values_part(release.domain))
    if release.plan.cells:
        same(f"{CELLS}.parquet", known_cells_part(release))
    _check_published(files, bundle)
    for stored, made in ((layout.measurements, measurements_part), (layout.exact, exact_part)):
        for part in range(len(stored)):
            same(stored.name(part), made(release, stored, part))
            step()
    agreement, stored = Agreement(release.domain, margins), layout.tables
    for part in range(len(stored)):
        table = same(stored.name(part), tables_part(release, stored, part))
        numbers = {kind: table.column(kind).to_numpy() for kind in ("count", "unbiased") if kind in table.column_names}
        for blocks in alike(release.plan, stored.blocks(part)):
            rows = slice(stored.rows(blocks[0]).start, stored.rows(blocks[-1]).stop)
            named = [(margins[block], f"{stored.name(part)}, table {block + 1},") for block in blocks]
            for kind, counts in numbers.items():
                agreement.add(kind, named, counts[rows])
        step()
    return agreement.shared


def _check_names(bundle: Bundle) -> None:
    """A bundle lists the files that such a release has, and no others."""
    plan, layout = bundle.release.plan, bundle.manifest.layout
    expected = {f"{CELLS}.parquet"} if plan.cells else set()
    if bundle.manifest.published is not None:
        expected.add(published_name(bundle.manifest.published))
    if layout is None:
        shares = (SHARES,) if has_shares(bundle.release) else ()
        stems = (MEASUREMENTS, *exact_stems(plan).values(), *table_stems(plan).values(), *shares)
        expected.update(f"{stem}.parquet" for stem in stems)
        expected |= {name.replace(".parquet", ".csv") for name in expected} | {CUBE}
    else:
        expected |= {CONTENTS, VALUES}
        for stored in (layout.measurements, layout.exact, layout.tables):
            expected.update(map(stored.name, range(len(stored))))
    told = {*page_names(plan), *((CSVW, PACKAGE) if layout is None else ())}
    if bundle.manifest.forms.report != FORMS.report:  # another form may have fewer
        told &= {REPORT, *bundle.manifest.files}
    check_listed(bundle.manifest, expected | told)


def _check_agreement(domain: Domain, tables: Sequence[tuple[Margin, str, pa.Table]]) -> int:
    """Tables that share a margin agree on it, published and unbiased, down to the total. Counts those margins."""
    agreement = Agreement(domain, [margin for margin, _, _ in tables])
    for kind in ("count", "unbiased"):
        for margin, stem, table in tables:
            agreement.add(kind, [(margin, stem)], table.column(column(kind, margin)).to_numpy())
    return agreement.shared
