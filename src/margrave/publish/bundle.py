"""A release as files: a folder, or one .zip, that says by itself what it is and can be checked by anybody.

The noisy whole numbers in `measurements.parquet` and the plan in `release.json` are the release; every other file
follows from these two and is there for the reader's ease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from margrave.crossing import Answer, Measured
from margrave.errors import BundleError
from margrave.publish.manifest import Checksum, Manifest, manifest_bytes, read_manifest
from margrave.publish.parts import (
    CUBE,
    MEASUREMENTS,
    csv_bytes,
    cube_rows,
    exact_stems,
    parquet_bytes,
    parts,
    read_counts,
    read_measurements,
    table_stems,
)
from margrave.publish.reading import MOST_BYTES, Files, opened, safe_name
from margrave.publish.release import Release
from margrave.publish.report import report_html
from margrave.publish.writing import File, write_file, write_files

MANIFEST = "release.json"
REPORT = "report.html"
_MOST_MANIFEST = 1 << 28

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
    created = datetime.now(UTC).isoformat(timespec="seconds") if release.private else None
    total = 3 + 2 * (1 + len(release.plan.exact) + len(release.plan.spec.margins))
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    write_files(target, bundle_files(release, created), step)
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
    yield MANIFEST, manifest_bytes(release.plan, release.private, created, in_order, _table_list(release))


def _table_list(release: Release) -> list[dict[str, Any]]:
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
    manifest = read_manifest(files.read(MANIFEST, _MOST_MANIFEST))
    plan = manifest.plan
    outputs = read_measurements(plan, checked(files, manifest, f"{MEASUREMENTS}.parquet"))
    answers = tuple(Answer(one, numbers) for one, numbers in zip(plan.measurements, outputs, strict=True))
    exact = {}
    for margin, stem in exact_stems(plan).items():
        name, shape = f"{stem}.parquet", plan.domain.shape(margin)
        exact[margin] = read_counts(checked(files, manifest, name), name, plan.domain.cells(margin)).reshape(shape)
    return Bundle(Release(plan, Measured(answers, exact, manifest.private)), manifest)


def checked(files: Files, manifest: Manifest, name: str) -> bytes:
    """The content of a file, if it is the one that the release was written with."""
    checksum = manifest.files.get(name)
    if checksum is None or not safe_name(name):
        raise BundleError(f"release.json does not list {name!r}, or lists a name that no release has")
    if not 0 <= checksum.bytes <= MOST_BYTES:
        raise BundleError(f"release.json gives {name} an impossible length")
    content = files.read(name, checksum.bytes)
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
        raise BundleError(f"{place} is one file, with the report inside: name a new file with --out to have it apart")
    write_file(out, report_html(bundle.release, bundle.manifest.created).encode())
    return out
