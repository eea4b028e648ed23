"""The owner's own side of a join: every person once, by a normalised id, in one category."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from margrave.crossing import People
from margrave.errors import DataError
from margrave.measure.failures import Failures, records
from margrave.measure.recode import Recoder
from margrave.measure.sources.columns import kind_of, plain
from margrave.measure.sources.files.commas import as_written, number_columns
from margrave.measure.sources.sources import check_columns, open_source
from margrave.planning.join.ids import IdPart, whole_id
from margrave.planning.join.owners import Owner
from margrave.planning.join.spec import JoinSpec
from margrave.progress import Progress

_NO_IDS = ("floats", "booleans")


def read_members(spec: JoinSpec, owner_name: str, data: Any, progress: Progress | None = None) -> People:
    """Read all rows of an owner; whatever does not fit is refused as a whole, by rule and number."""
    owner = spec.owners[spec.place(owner_name)]
    codebook, failures = spec.codebook(owner), Failures()
    source = as_written(open_source(data, dialect=owner.dialect), owner.dialect, number_columns(codebook))
    wanted = list(dict.fromkeys([*owner.attributes, *owner.columns]))
    check_columns(source, wanted)
    recoders = [Recoder(codebook[name]) for name in owner.attributes]
    sizes = [recoder.entry.attribute.size for recoder in recoders]
    ids: list[bytes] = []
    written: dict[bytes, set[str]] = defaultdict(set)
    categories = []
    total = source.total if progress else None
    for batch in source.batches(wanted):
        codes = []
        for recoder in recoders:
            recoded = recoder(batch.column(recoder.entry.name))
            recoder.report(recoded, failures)
            codes.append(recoded.codes.astype(np.int64))
        categories.append(np.ravel_multi_index(codes, sizes))
        found = _ids(batch, spec.id, owner, failures)
        if owner.records > 1:
            for one, text in zip(found, _raw(batch.column(owner.columns[0]), owner.columns[0]), strict=True):
                written[one].add(text)
        ids += found
        if progress:
            progress(len(ids), total)
    failures.check()
    _check_written(written, owner)
    return _once(ids, np.concatenate(categories) if categories else np.zeros(0, dtype=np.int64), owner)


def _ids(batch: pa.RecordBatch, parts: Sequence[IdPart], owner: Owner, failures: Failures) -> list[bytes]:
    """The id of each row. Where one is nothing the place is held by an empty one, and the failure is noted."""
    columns = [_texts(batch.column(name), name, part, owner) for name, part in zip(owner.columns, parts, strict=True)]
    found = [whole_id(row) for row in zip(*columns, strict=True)]
    nothing = sum(one is None for one in found)
    names = ", ".join(repr(name) for name in owner.columns)
    rule = "must name the person: something of each must be left once it is normalised"
    failures.add(f"the id in {names}", rule, "remove or correct these records", nothing)
    return [one or b"" for one in found]


def _texts(column: pa.Array, name: str, part: IdPart, owner: Owner) -> list[str]:
    column = plain(column, name)
    kind = kind_of(column.type, name)
    if kind in _NO_IDS or (kind == "dates" and part.kind != "date"):
        raise DataError(f"column {name!r} holds {kind}, which do not tell people apart as {part.kind}: name another")
    return [_text(value, part, owner.dates) for value in column.to_pylist()]


def _raw(column: pa.Array, name: str) -> list[str]:
    return [str(value) for value in plain(column, name).to_pylist()]


def _check_written(written: Mapping[bytes, set[str]], owner: Owner) -> None:
    """Refuse ids that are written in several ways: each is a unit in the ledger, and two would make up one person."""
    several = sum(len(texts) > 1 for texts in written.values())
    if several:
        raise DataError(
            f"{several:,} ids in column {owner.columns[0]!r} are written in several ways, each of which is a unit of "
            "its own in the ledger: write each in one way"
        )


def _text(value: Any, part: IdPart, dates: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return ""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    if isinstance(value, date) or part.kind == "date":
        return part.normal(value, dates)
    return part.normal(str(value))


def _once(ids: list[bytes], categories: npt.NDArray[np.int64], owner: Owner) -> People:
    """Each person once, in the least category of all rows: this depends on no other row, and on no order."""
    if len(set(ids)) < len(ids):
        if owner.records == 1:
            twice = len(ids) - len(set(ids))
            raise DataError(
                f"the id is to name each person once: {records(twice)} repeat{'s' if twice == 1 else ''} another's; "
                "remove them, or declare how many records a person may have (records)"
            )
        least: dict[bytes, int] = {}
        for one, category in zip(ids, categories.tolist(), strict=True):
            least[one] = min(category, least.get(one, category))
        ids, categories = list(least), np.fromiter(least.values(), dtype=np.int64, count=len(least))
    if len(ids) > owner.at_most:
        raise DataError(f"there are more people than the agreed bound of {owner.at_most:,} (at_most): agree on more")
    return People(ids, categories)
