"""The CSV files of a release of tables, column by column, from what was asked and published and without the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.words import name_of
from margrave.messages.catalogue import say
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.account import Checksum
from margrave.publish.bundle.described import (
    CSVW,
    PACKAGE,
    About,
    CsvColumn,
    Described,
    Kind,
    columns_of,
    csvw,
    data_package,
)
from margrave.publish.bundle.parts.layout import is_large
from margrave.publish.bundle.parts.names import (
    CELLS,
    CUBE,
    FITTED,
    MEASUREMENTS,
    MICRODATA,
    NUMBERS,
    column,
    exact_stems,
    table_stems,
)
from margrave.publish.bundle.parts.shares import SHARES, has_shares
from margrave.publish.microdata import schema
from margrave.reconstruct.held import Margins

if TYPE_CHECKING:
    from margrave.publish.released import Released

_MOST_VALUES = 1000
"""An attribute of more values is described without them."""
_SHARES: tuple[tuple[str, Kind, str], ...] = (
    ("table", "integer", "number of the table"),
    ("of", "string", "the attribute within whose values the share is taken"),
    ("cell", "integer", "number of the cell in the file of the table"),
    ("share", "number", ""),
    ("half_width", "number", ""),
    ("low", "number", ""),
    ("high", "number", ""),
)


def title_of(release: Released) -> str:
    """The title of a release, or its attributes."""
    names = release.domain.names
    if release.plan.spec.title:
        return release.plan.spec.title
    some, left = ", ".join(names[:4]), len(names) - 4
    if left <= 0:
        return say("Tables of %(names)s", names=some)
    return say("Tables of %(names)s and %(count)s more", names=some, count=left)


def about(release: Released, created: str | None) -> About:
    """What a release is as a whole."""
    plan = release.plan
    words = " ".join(plan.promise.words()[:2])
    statement = f"Tables with differential privacy, {approximate(plan.guarantee)}. {words}"
    return About(title_of(release), statement, approximate(plan.guarantee), plan.spec.licence, created)


def metadata(release: Released, created: str | None, checksums: Mapping[str, Checksum]) -> Iterator[tuple[str, bytes]]:
    """The files that say to machines what the CSV files are; a large release has none."""
    if not is_large(release.plan):
        told = about(release, created)
        yield CSVW, csvw(told, described(release))
        yield PACKAGE, data_package(told, described(release), checksums)


def described(release: Released) -> Iterator[Described]:
    """Every CSV file of a release that is not large."""
    plan, domain = release.plan, release.domain
    used = plan.domain.margin(name for one in plan.measurements for name in one.query.margin)
    front = (CsvColumn(column("measurement", used), "integer"), CsvColumn(column("output", used), "integer"))
    back = (
        CsvColumn(column("value", used), "integer", "noisy whole number"),
        CsvColumn(column("variance", used), "number"),
    )
    seen = tuple(CsvColumn(name, "string", "what the output says of this attribute") for name in used)
    yield Described(f"{MEASUREMENTS}.csv", "The noisy measurements", (*front, *seen, *back))
    for margin, stem in exact_stems(plan).items():
        exact = (*_attributes(release, plan.domain, margin), CsvColumn("count", "integer", "exact count"))
        yield Described(f"{stem}.csv", f"Public counts of {name_of(margin)}", exact)
    if plan.cells:
        single = (CsvColumn("cell", "string"), CsvColumn("count", "integer", "exact count"))
        yield Described(f"{CELLS}.csv", "Single public counts", single)
    for margin, stem in table_stems(plan).items():
        columns = (*_attributes(release, domain, margin), *_numbers(release, margin))
        yield Described(f"{stem}.csv", f"Table of {name_of(margin)}", columns)
    if has_shares(release):
        columns = tuple(CsvColumn(*one) for one in _SHARES)
        yield Described(f"{SHARES}.csv", "Shares of rows and columns, with intervals", columns)
    if release.publication is not None:
        yield _published(release)
    some = tuple(
        CsvColumn(name, "string", one.title) for name, one in zip(domain.names, _entries(release), strict=True)
    )
    yield Described(CUBE, "All tables in one", (*some, *_numbers(release, domain.names)))


def _entries(release: Released) -> tuple[CsvColumn, ...]:
    return _attributes(release, release.domain, release.domain.names)


def _attributes(release: Released, domain: Domain, margin: Margin) -> tuple[CsvColumn, ...]:
    """The columns of attributes; those that were encoded before they were measured have no title of their own."""
    titles = {entry.name: entry.title for entry in release.plan.spec.codebook.entries}
    return tuple(CsvColumn(name, "string", titles.get(name, ""), _listed(domain[name].values)) for name in margin)


def _listed(values: tuple[str, ...]) -> tuple[str, ...]:
    return values if len(values) <= _MOST_VALUES else ()


def _numbers(release: Released, margin: Margin) -> tuple[CsvColumn, ...]:
    whole = release.publication is not None and release.publication.whole
    return tuple(
        CsvColumn(column(name, margin), "integer" if name == "count" and whole else "number") for name in NUMBERS
    )


def _published(release: Released) -> Described:
    """The published table: records, or cells that are not whole."""
    publication = release.publication
    assert publication is not None
    names = publication.domain.names
    if not publication.whole:
        apart = isinstance(publication.held, Margins)
        attributes = () if apart else _attributes(release, publication.domain, names)
        cells = (*attributes, CsvColumn("count", "number"))
        return Described(f"{FITTED}.csv", "The fitted table", cells)
    codebook = release.plan.spec.codebook
    entries = {name: (codebook[name].title, _listed(codebook[name].attribute.values)) for name in names}
    return Described(f"{MICRODATA}.csv", "Synthetic records", columns_of(schema(codebook, names), entries))
