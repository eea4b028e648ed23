"""The bundle of any way of asking: its parts as CSV and Parquet, a report, and `release.json` around them.

A way says what its parts are, and how its value is made of them again (`Framing`); all else is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.files.content import Content
from margrave.files.untrusted import MOST_BYTES
from margrave.files.writing import File, archive_of, is_archive, write_file, write_files
from margrave.planning.promise.guarantee import approximate
from margrave.progress import Progress, counted
from margrave.publish.bundle.account import Checksum, checked, sealed
from margrave.publish.bundle.described import CSVW, PACKAGE, About, Described, columns_of, csvw, data_package
from margrave.publish.bundle.forms import Forms
from margrave.publish.bundle.parts.parts import csv_bytes, parquet_bytes
from margrave.publish.bundle.untrusted.reading import Files, archived, manifest_content
from margrave.publish.bundle.words import MANIFEST, REPORT, software
from margrave.publish.framed.frame import Frame, Framed, Made, frame_json, read_frame
from margrave.publish.verification.found import NotChecked
from margrave.publish.verification.signature import SigningKey, signed

if TYPE_CHECKING:
    import pyarrow as pa

Read = Callable[[str], bytes]
"""The content of a file of a bundle, once its checksum fits."""

CheckBars = Callable[[Any, Frame, bool], Iterator[NotChecked]]


def arrow_table(columns: Mapping[str, Any]) -> pa.Table:
    """Columns as a table of a bundle: whole numbers, fractions, and all else as text."""
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        array = np.asarray(values)
        kind = {"f": pa.float64(), "i": pa.int64()}.get(array.dtype.kind, pa.string())
        arrays[name] = pa.array(array.tolist(), type=kind)
    return pa.table(arrays)


def no_bars(outcome: Any, frame: Frame, again: bool) -> Iterator[NotChecked]:
    """Nothing is simulated, and nothing left unchecked."""
    return iter(())


@dataclass(frozen=True)
class Framing:
    """What a way of asking puts into the frame of a bundle.

    ``forms`` of the words and of the report that are written now. ``spec`` and ``published``: what `release.json` says
    of what was asked, and of the answers. ``parts``: each table by its name without an ending. ``report``: the page, by
    the time and the software that the bundle names. ``rebuilt`` makes the value of what was read. ``check``, when a
    bundle is verified, looks at what does not follow from noisy numbers alone, and says in sentences what holds.
    ``bars`` looks at simulated error bars, simulating them again only if told to; ``compared`` names what is compared
    as it would be written.
    """

    forms: Forms
    spec: Callable[[Any], Mapping[str, Any]]
    published: Callable[[Any], Mapping[str, Any] | None]
    parts: Callable[[Any], Iterator[tuple[str, pa.Table]]]
    report: Callable[[Any, str | None, str], str]
    rebuilt: Callable[[Frame, Read], Any]
    check: Callable[[Any], tuple[str, ...]]
    bars: CheckBars = field(default=no_bars)
    compared: tuple[str, ...] = ("words", "report")


def created_of(outcome: Framed) -> str | None:
    """When a release was charged; without a ledger, now. Seeded ones exist to be compared, and have no time."""
    if outcome.ledger is not None:
        return str(outcome.ledger["time"])
    return datetime.now(UTC).isoformat(timespec="seconds") if outcome.private else None


def framed_files(framing: Framing, outcome: Framed, created: str | None) -> Iterator[File]:
    """Every file of a bundle, `release.json` last because it holds the checksums of all others."""
    checksums: dict[str, Checksum] = {}
    for name, content in _contents(framing, outcome, created):
        checksums[name] = Checksum.of(content)
        yield name, content
    for name, content in framed_metadata(framing, outcome, created, dict(checksums)):
        checksums[name] = Checksum.of(content)
        yield name, content
    made = Made(software(), framing.forms, created, {name: checksums[name] for name in sorted(checksums)})
    yield MANIFEST, sealed(frame_json(outcome, made, framing.spec(outcome), framing.published(outcome)))


def _contents(framing: Framing, outcome: Framed, created: str | None) -> Iterator[File]:
    for stem, part in framing.parts(outcome):
        yield f"{stem}.csv", csv_bytes(part)
        yield f"{stem}.parquet", parquet_bytes(part)
    yield REPORT, framing.report(outcome, created, software()).encode()


def framed_metadata(
    framing: Framing, outcome: Framed, created: str | None, checksums: Mapping[str, Checksum]
) -> Iterator[File]:
    """The files that say to machines what the CSV files are."""
    asked = outcome.plan
    words = " ".join(asked.words()[:2])
    about = About(asked.title or f"A release by {asked.way}", words, approximate(asked.cost), created=created)
    files = [Described(f"{stem}.csv", stem, columns_of(part.schema, {})) for stem, part in framing.parts(outcome)]
    yield CSVW, csvw(about, files)
    yield PACKAGE, data_package(about, files, checksums)


def save(
    framing: Framing,
    outcome: Framed,
    path: str | Path,
    *,
    stored: Content | None = None,
    sign: SigningKey | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write a new folder, or a new .zip file, as a whole or not at all; what a ledger has ``stored``, if it has."""
    target, step = Path(path), counted(progress, None)
    if stored is not None and is_archive(target) and sign is None:
        write_file(target, stored)
        return target
    if stored is None:
        files = framed_files(framing, outcome, created_of(outcome))
        write_files(target, files if sign is None else signed(files, sign, MANIFEST), step)
        return target
    with archived(stored) as kept:
        files = ((name, kept.read(name, MOST_BYTES)) for name in sorted(kept.names))
        write_files(target, files if sign is None else signed(files, sign, MANIFEST), step)
    return target


def read_framed(framing: Framing, files: Files) -> tuple[Frame, Any]:
    """What a bundle says, and the value in it. What is read is checked against its checksum."""
    frame = read_frame(manifest_content(files))
    return frame, framing.rebuilt(frame, lambda name: checked(files, frame, name))


def framed_report(framing: Framing, files: Files) -> bytes:
    """The report of a bundle, made anew from its numbers."""
    frame, outcome = read_framed(framing, files)
    return framing.report(outcome, frame.made.created, frame.made.software).encode()


def framed_archive(framing: Framing, outcome: Framed) -> tuple[Content, str]:
    """A bundle as one archive, and the identity of the release: the SHA-256 of its `release.json`."""
    files = list(framed_files(framing, outcome, created_of(outcome)))
    return archive_of(iter(files), large=False), sha256(dict(files)[MANIFEST]).hexdigest()
