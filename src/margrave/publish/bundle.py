"""A release as files: a folder, or one .zip, that says by itself what it is and can be checked by anybody.

The noisy whole numbers in `measurements.parquet` and the plan in `release.json` are the release; every other file
follows from these two and is there for the reader's ease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from margrave.crossing import Answer, Measured
from margrave.errors import BundleError, UsageError
from margrave.publish.manifest import Checksum, Manifest, manifest_bytes, read_manifest
from margrave.publish.parts import (
    CUBE,
    MEASUREMENTS,
    csv_bytes,
    cube_rows,
    exact_stems,
    parquet_bytes,
    parts,
    published_json,
    published_name,
    read_bars,
    read_counts,
    read_measurements,
    read_published,
    table_stems,
)
from margrave.publish.reading import MOST_BYTES, Files, archived, opened, safe_name
from margrave.publish.release import Release
from margrave.publish.report import report_html
from margrave.publish.writing import File, is_archive, write_file, write_files

MANIFEST = "release.json"
REPORT = "report.html"
MOST_MANIFEST = 1 << 28

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, eq=False)
class Bundle:
    """A release as it was read from files, and what its `release.json` says beside it."""

    release: Release
    manifest: Manifest


def save(release: Release, path: str | Path, progress: Progress | None = None) -> Path:
    """Write a release to a new folder, or to a new file if the name ends in .zip."""
    target = Path(path)
    # The clock would make two seeded releases differ, which exist to be compared.
    now = datetime.now(UTC).isoformat(timespec="seconds") if release.private else None
    table = 0 if release.publication is None else 1
    total = 3 + 2 * (1 + table + len(release.plan.exact) + len(release.plan.spec.margins))
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    if release.stored is not None and is_archive(target):
        write_file(target, release.stored)
    elif release.stored is not None:
        with archived(release.stored) as kept:
            write_files(target, ((name, kept.read(name, MOST_BYTES)) for name in sorted(kept.names)), step)
    else:
        write_files(target, bundle_files(release, release.created or now), step)
    return target


def bundle_files(release: Release, created: str | None) -> Iterator[File]:
    """Every file of a bundle, `release.json` last because it holds the checksums of all others."""
    checksums: dict[str, Checksum] = {}
    by_stem = {stem: margin for margin, stem in table_stems(release.plan).items()}
    tables = []
    for stem, part in parts(release):
        if stem in by_stem:
            tables.append((by_stem[stem], part))
        for name, content in ((f"{stem}.csv", csv_bytes(part)), (f"{stem}.parquet", parquet_bytes(part))):
            checksums[name] = Checksum.of(content)
            yield name, content
    cube = b"".join(cube_rows(release.domain, tables))
    report = report_html(release, created).encode()
    for name, content in ((CUBE, cube), (REPORT, report)):
        checksums[name] = Checksum.of(content)
        yield name, content
    in_order = {name: checksums[name] for name in sorted(checksums)}
    yield MANIFEST, manifest_of(release, created, in_order)


def manifest_of(release: Release, created: str | None, files: Mapping[str, Checksum]) -> bytes:
    """The `release.json` of a release whose other files have the given checksums."""
    published = None if release.publication is None else published_json(release.publication)
    tables = table_list(release)
    return manifest_bytes(release.plan, release.private, created, files, tables, release.ledger, published)


def table_list(release: Release) -> list[dict[str, Any]]:
    """What `release.json` says of each wanted table: its attributes, its size and its files."""
    domain, stems = release.domain, table_stems(release.plan)
    return [
        {"table": list(margin), "cells": domain.cells(margin), "csv": f"{stem}.csv", "parquet": f"{stem}.parquet"}
        for margin, stem in stems.items()
    ]


def load(path: str | Path) -> Release:
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
    manifest = read_manifest(files.read(MANIFEST, MOST_MANIFEST))
    plan = manifest.plan
    outputs = read_measurements(plan, checked(files, manifest, f"{MEASUREMENTS}.parquet"))
    answers = tuple(Answer(one, numbers) for one, numbers in zip(plan.measurements, outputs, strict=True))
    exact = {}
    for margin, stem in exact_stems(plan).items():
        name, shape = f"{stem}.parquet", plan.domain.shape(margin)
        exact[margin] = read_counts(checked(files, manifest, name), name, plan.domain.cells(margin)).reshape(shape)
    kept, bars = None, {}
    if manifest.published is not None:
        kept = read_published(plan, manifest.published, checked(files, manifest, published_name(manifest.published)))
        for margin, stem in table_stems(plan).items():
            name = f"{stem}.parquet"
            bars[margin] = read_bars(plan, margin, name, checked(files, manifest, name))
    measured = Measured(answers, exact, manifest.private)
    return Bundle(Release(plan, measured, manifest.ledger, kept=kept, bars=bars), manifest)


def checked(files: Files, manifest: Manifest, name: str) -> bytes:
    """The content of a file, if it is the one that the release was written with."""
    checksum = manifest.files.get(name)
    if checksum is None or not safe_name(name):
        raise BundleError(f"release.json does not list {name!r}, or lists a name that no release has")
    if not 0 <= checksum.length <= MOST_BYTES:
        raise BundleError(f"release.json gives {name} an impossible length")
    content = files.read(name, checksum.length)
    if Checksum.of(content) != checksum:
        raise BundleError(f"{name} was changed after the release was written: its checksum does not fit")
    return content


def report_of(path: str | Path, out: Path | None = None) -> Path:
    """Where the report of a bundle is: inside its folder or, made anew from the numbers, in a new file ``out``."""
    place = Path(path)
    with opened(place) as files:
        bundle = read_bundle(files)
        if out is None and place.is_dir():
            checked(files, bundle.manifest, REPORT)
            return place / REPORT
    if out is None:
        raise UsageError(f"{place} is one file, with the report inside: name a new file with --out to have it apart")
    write_file(out, report_html(bundle.release, bundle.manifest.created).encode())
    return out
