"""A release as files: a folder, or one .zip, that says by itself what it is and can be checked by anybody.

The noisy whole numbers in `measurements.parquet` (`measurements/*.parquet` of a large release) and the plan in
`release.json` are the release; every other file follows from these and is there for the reader's ease.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.crossing import Answer, Measured
from margrave.errors import BundleError
from margrave.facts.declared import Codes
from margrave.files.untrusted import MOST_BYTES
from margrave.files.writing import File, is_archive, write_file, write_files
from margrave.progress import Progress, counted
from margrave.publish.bundle.account import Checksum, checked, sealed
from margrave.publish.bundle.forms import FORMS
from margrave.publish.bundle.manifest import Manifest, Writing, read_manifest
from margrave.publish.bundle.origin import manifest_of, read_origin
from margrave.publish.bundle.parts.description import metadata
from margrave.publish.bundle.parts.large import large_parts
from margrave.publish.bundle.parts.layout import Layout, is_large
from margrave.publish.bundle.parts.names import CELLS, CUBE, MEASUREMENTS, exact_stems, table_stems
from margrave.publish.bundle.parts.parts import (
    csv_bytes,
    cube_rows,
    parquet_bytes,
    parts,
    published_name,
    read_bars,
    read_counts,
    read_measurements,
    read_published,
)
from margrave.publish.bundle.parts.shares import SHARES, has_shares, read_shares
from margrave.publish.bundle.parts.stored import Read, stored_answers, stored_bars, stored_exact
from margrave.publish.bundle.untrusted.reading import Files, archived, manifest_content, opened
from margrave.publish.bundle.words import MANIFEST, software
from margrave.publish.released import Released
from margrave.publish.verification.signature import SigningKey, signed
from margrave.reconstruct.bars import Bars


@dataclass(frozen=True, eq=False)
class Bundle:
    """A release as it was read from files, and what its `release.json` says beside it."""

    release: Released
    manifest: Manifest


def save(release: Released, path: str | Path, progress: Progress | None = None, sign: SigningKey | None = None) -> Path:
    """Write a release to a new folder, or to a new file if the name ends in .zip; signed, if there is a key."""
    target = Path(path)
    # The clock would make two seeded releases differ, which exist to be compared.
    now = datetime.now(UTC).isoformat(timespec="seconds") if release.private else None
    step = counted(progress, _file_count(release) + (sign is not None))

    def with_signature(files: Iterator[File]) -> Iterator[File]:
        return files if sign is None else signed(files, sign, MANIFEST)

    if release.stored is not None and is_archive(target) and sign is None:
        write_file(target, release.stored)
    elif release.stored is not None:
        with archived(release.stored) as kept:
            files = ((name, kept.read(name, MOST_BYTES)) for name in sorted(kept.names))
            write_files(target, with_signature(files), step)
    else:
        write_files(target, with_signature(bundle_files(release, release.created or now)), step)
    return target


def _file_count(release: Released) -> int:
    """How many files a bundle has."""
    from margrave.publish.report.page import page_names

    plan, table = release.plan, int(release.publication is not None)
    if is_large(plan):
        return 4 + Layout.of(plan).files + bool(plan.cells) + table
    shares, pages = int(has_shares(release)), len(page_names(plan))
    return 4 + pages + 2 * (1 + table + shares + len(plan.exact) + bool(plan.cells) + len(plan.spec.margins))


def bundle_files(release: Released, created: str | None) -> Iterator[File]:
    """Every file of a bundle, `release.json` last because it holds the checksums of all others."""
    large = is_large(release.plan)
    checksums: dict[str, Checksum] = {}
    for name, content in large_parts(release) if large else _small_files(release):
        checksums[name] = Checksum.of(content)
        yield name, content
    from margrave.publish.report.page import report_pages

    for name, content in (*report_pages(release, created, software()), *metadata(release, created, checksums)):
        checksums[name] = Checksum.of(content)
        yield name, content
    in_order = {name: checksums[name] for name in sorted(checksums)}
    forms, layout = replace(FORMS, bars=release.bars_form), Layout.of(release.plan) if large else None
    yield MANIFEST, sealed(manifest_of(release, Writing(software(), forms, created, in_order, layout)))


def _small_files(release: Released) -> Iterator[File]:
    """The files with numbers of a release that has a file for each table."""
    by_stem = {stem: margin for margin, stem in table_stems(release.plan).items()}
    tables = []
    for stem, part in parts(release):
        if stem in by_stem:
            tables.append((by_stem[stem], part))
        yield f"{stem}.csv", csv_bytes(part)
        yield f"{stem}.parquet", parquet_bytes(part)
    yield CUBE, b"".join(cube_rows(release.domain, tables))


def load(path: str | Path) -> Released:
    """The release in a bundle. What is read is checked against its checksum; `verify` checks everything."""
    return load_bundle(path).release


def load_bundle(path: str | Path) -> Bundle:
    """The release in a bundle, with what its `release.json` says beside it."""
    with opened(Path(path)) as files:
        return read_bundle(files)


def read_bundle(files: Files) -> Bundle:
    """The release in the files of a bundle."""
    if MANIFEST not in files.names:
        raise BundleError(f"there is no {MANIFEST}: this is not a release")
    manifest = read_manifest(manifest_content(files))
    plan = manifest.plan

    def read(name: str) -> bytes:
        return checked(files, manifest, name)

    cells: dict[Codes, int] = {}
    if plan.cells:
        counts = read_counts(read(f"{CELLS}.parquet"), f"{CELLS}.parquet", len(plan.cells))
        cells = dict(zip(plan.cells, counts.tolist(), strict=True))
    kept = None
    if manifest.published is not None:
        kept = read_published(plan, manifest.published, read(published_name(manifest.published)))
    stored = _small_numbers if manifest.layout is None else _large_numbers
    answers, exact, bars = stored(manifest, read)
    measured = Measured(answers, exact, manifest.private, cells)
    release = Released(plan, measured, manifest.ledger, kept=kept, bars=bars, level=manifest.level)
    if manifest.published is None:
        return Bundle(release, manifest)
    origin, totals = read_origin(plan, manifest.forms, manifest.published)
    both = ChainMap[Margin, Bars](totals, bars)  # type: ignore[arg-type]  # only the first is ever written to
    name = f"{SHARES}.parquet"
    shares = read_shares(plan, read(name)) if name in manifest.files else {}
    return Bundle(replace(release, bars=both, shares=shares, origin=origin), manifest)


Numbers = tuple[Sequence[Answer], Mapping[Margin, NDArray[np.int64]], Mapping[Margin, Bars]]
"""Noisy answers, exact tables, and the error bars of published tables."""


def _small_numbers(manifest: Manifest, read: Read) -> Numbers:
    """The numbers of a bundle that has a file for each table, all read at once."""
    plan = manifest.plan
    outputs = read_measurements(plan, read(f"{MEASUREMENTS}.parquet"))
    answers = tuple(Answer(one, numbers) for one, numbers in zip(plan.measurements, outputs, strict=True))
    exact, bars = {}, {}
    for margin, stem in exact_stems(plan).items():
        name, shape = f"{stem}.parquet", plan.domain.shape(margin)
        exact[margin] = read_counts(read(name), name, plan.domain.cells(margin)).reshape(shape)
    for margin, stem in table_stems(plan).items() if manifest.published is not None else ():
        name = f"{stem}.parquet"
        bars[margin] = read_bars(plan, margin, name, read(name))
    return answers, exact, bars


def _large_numbers(manifest: Manifest, read: Read) -> Numbers:
    """The numbers of a large bundle, each file of which is read when something in it is asked for."""
    plan, layout = manifest.plan, manifest.layout
    assert layout is not None
    bars = {} if manifest.published is None else stored_bars(plan, layout, read)
    return stored_answers(plan, layout, read), stored_exact(plan, layout, read), bars
