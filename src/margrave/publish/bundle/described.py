"""What the CSV files of a bundle are, for machines: CSV on the Web, a Frictionless data package, and schema.org.

Each is one function from a description of the files to JSON. Nothing in them is new: they say in words that programs
know what `release.json`, the codebook and the files themselves say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from margrave.publish.bundle.account import Checksum

if TYPE_CHECKING:
    import pyarrow as pa

CSVW, PACKAGE = "csv-metadata.json", "datapackage.json"
Kind = Literal["integer", "number", "string", "boolean", "date"]
_PLAIN = re.compile(r"[^a-z0-9._-]+")
_MEANINGS = {
    "count": "published count",
    "std_error": "standard error of the published count",
    "low": "lower end of the interval",
    "high": "upper end of the interval",
    "unbiased": "unbiased estimate of the true count",
    "variance": "variance of the unbiased estimate",
    "share": "share of the total that the column of names gives",
    "half_width": "half of the interval",
}


@dataclass(frozen=True)
class CsvColumn:
    """A column of a CSV file; ``values`` are all that it can hold, where these are declared."""

    name: str
    kind: Kind
    title: str = ""
    values: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        return self.title or _MEANINGS.get(self.name.rstrip("_"), "")


@dataclass(frozen=True)
class Described:
    """A CSV file of a bundle."""

    file: str
    title: str
    columns: tuple[CsvColumn, ...]


@dataclass(frozen=True)
class About:
    """What a bundle as a whole is: ``statement`` says what it guarantees, ``loss`` is its cost in a few letters."""

    title: str
    statement: str
    loss: str
    licence: str = ""
    created: str | None = None


def columns_of(schema: pa.Schema, entries: Mapping[str, tuple[str, tuple[str, ...]]]) -> tuple[CsvColumn, ...]:
    """The columns of a table as it is written; ``entries`` has title and values of those that are attributes."""
    import pyarrow as pa

    found = []
    for field in schema:
        kind: Kind = "string"
        if pa.types.is_boolean(field.type):
            kind = "boolean"
        elif pa.types.is_integer(field.type):
            kind = "integer"
        elif pa.types.is_floating(field.type):
            kind = "number"
        elif pa.types.is_date(field.type):
            kind = "date"
        title, values = entries.get(field.name, ("", ()))
        found.append(CsvColumn(field.name, kind, title, values if kind == "string" else ()))
    return tuple(found)


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def csvw(about: About, files: Iterable[Described]) -> bytes:
    """The files as CSV on the Web has them (W3C, Metadata Vocabulary for Tabular Data)."""
    tables = [
        {
            "url": quote(one.file),
            "dc:title": one.title,
            "tableSchema": {"columns": [_csvw_column(column, at) for at, column in enumerate(one.columns, 1)]},
        }
        for one in files
    ]
    head: dict[str, Any] = {"@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}], "dc:title": about.title}
    head["dc:description"] = about.statement
    if about.licence:
        head["dc:license"] = about.licence
    return _json({**head, "tables": tables})


def _csvw_column(column: CsvColumn, at: int) -> dict[str, Any]:
    name = _PLAIN.sub("_", column.name.lower()).strip("_.-")
    kind: Any = {"base": "boolean", "format": "True|False"} if column.kind == "boolean" else column.kind
    if column.values:
        kind = {"base": "string", "format": "|".join(map(re.escape, column.values))}
    described = {"dc:description": column.meaning} if column.meaning else {}
    return {"name": f"{name or 'column'}_{at}", "titles": column.name, "datatype": kind, **described}


def data_package(about: About, files: Iterable[Described], checksums: Mapping[str, Checksum]) -> bytes:
    """The files as a tabular data package has them (Frictionless Data)."""
    resources = [
        {
            "name": _PLAIN.sub("-", one.file.removesuffix(".csv").lower()).strip("-."),
            "path": one.file,
            "profile": "tabular-data-resource",
            "title": one.title,
            "format": "csv",
            "mediatype": "text/csv",
            "encoding": "utf-8",
            "bytes": checksums[one.file].length,
            "hash": f"sha256:{checksums[one.file].sha256}",
            "schema": {"fields": [_field(column) for column in one.columns], "missingValues": []},
        }
        for one in files
    ]
    name = _PLAIN.sub("-", about.title.lower()).strip("-.") or "release"
    head: dict[str, Any] = {"profile": "tabular-data-package", "name": name, "title": about.title}
    head["description"] = about.statement
    if about.created is not None:
        head["created"] = about.created
    if about.licence:
        head["licenses"] = [{"name": about.licence}]
    return _json({**head, "resources": resources})


def _field(column: CsvColumn) -> dict[str, Any]:
    found: dict[str, Any] = {"name": column.name, "type": column.kind}
    if column.meaning:
        found["title"] = column.meaning
    if column.values:
        found["constraints"] = {"enum": list(column.values)}
    return found


def schema_org(about: About, measured: Sequence[str], files: Sequence[str] = ()) -> dict[str, Any]:
    """The release as schema.org has it: what search engines for data sets read from its page."""
    found: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "name": about.title,
        "description": about.statement,
        "variableMeasured": list(measured),
        "measurementTechnique": f"differential privacy, {about.loss}",
        "isAccessibleForFree": True,
        "distribution": [
            {"@type": "DataDownload", "encodingFormat": "text/csv", "contentUrl": quote(file)} for file in files
        ],
    }
    if about.created is not None:
        found["dateCreated"] = about.created[:10]
    if about.licence:
        found["license"] = about.licence
    return found
