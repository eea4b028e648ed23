"""Tables: their bundle, and how a ledger keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import disk_usage
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from margrave.crossing import Measured
from margrave.errors import RefusedError, UsageError
from margrave.files.content import Content
from margrave.files.untrusted import MOST_BYTES
from margrave.files.writing import File, archive_of
from margrave.planning.asked import Sheet
from margrave.planning.describe import FORECAST_HEADERS, forecast_rows
from margrave.planning.plan import Plan
from margrave.planning.promise.guarantee import approximate
from margrave.progress import Progress
from margrave.publish.bundle.bundle import bundle_files, read_bundle
from margrave.publish.bundle.manifest import guarantee_json
from margrave.publish.bundle.parts.drawn import drawn_bytes, pack, unpack
from margrave.publish.bundle.parts.large import bundle_bytes
from margrave.publish.bundle.parts.layout import is_large
from margrave.publish.bundle.untrusted.reading import Files, archived
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.release import Release
from margrave.publish.report.values import table_title
from margrave.publish.way import Asking, BundleWay, Contents, ShownTable, Teller
from margrave.reconstruct.publication import INTERRUPTED

if TYPE_CHECKING:
    from margrave.publish.verification.found import Verified


class TablesPack:
    """The noisy answers to a plan of tables, and their bundle as one archive."""

    at_once = False

    def check(self, asked: Plan) -> None:
        check_room(asked)

    def keep(self, asked: Plan, drawn: Measured) -> Content:
        return pack(asked, asked.question, drawn)

    def kept(self, asked: Plan, content: Content) -> Measured:
        return unpack(asked, asked.question, content)

    def write(self, asked: Plan, drawn: Measured, charge: Mapping[str, Any]) -> tuple[Content, str]:
        return _written(Release(asked, drawn, charge))

    def read(self, content: Content) -> Release:
        with archived(content) as files:
            return replace(Release.of(read_bundle(files).release), stored=content)


def check_room(plan: Plan) -> None:
    """Refuse a release whose bundle could not be kept, before anything is spent on it."""
    if not is_large(plan):
        return
    needed = bundle_bytes(plan) + drawn_bytes(plan)
    if needed > MOST_BYTES:
        raise RefusedError(
            f"the bundle may take {needed / 2**30:.1f} GiB, and a ledger keeps answers of up to "
            f"{MOST_BYTES / 2**30:.0f} GiB: divide the tables between several releases"
        )
    folder = Path(gettempdir())
    free = disk_usage(folder).free
    if needed > free:
        raise RefusedError(
            f"the bundle may take {needed / 2**30:.1f} GiB on disk before the ledger has it, and {folder} has "
            f"{free / 2**30:.1f} GiB left: make room, or set TMPDIR to another folder"
        )


def _written(release: Release) -> tuple[Content, str]:
    """A bundle as one archive, and the identity of the release: the SHA-256 of its `release.json`."""
    identity = ""

    def files() -> Iterator[File]:
        nonlocal identity
        for name, content in bundle_files(release, release.created):
            if name == MANIFEST:
                identity = sha256(content).hexdigest()
            yield name, content

    content = archive_of(files(), large=is_large(release.plan))
    return content, identity


def report(files: Files) -> bytes:
    """The report of a bundle, made anew from its numbers."""
    from margrave.publish.report.page import report_html

    bundle = read_bundle(files)
    return report_html(bundle.release, bundle.manifest.created, bundle.manifest.software).encode()


def verify(files: Files, progress: Progress | None, bars: bool) -> Verified:
    """Check the whole of a bundle."""
    from margrave.publish.verification.tables import verify_tables

    return verify_tables(files, progress, bars)


def contents(release: Release) -> Contents:
    plan = release.plan
    title = f"{plan.title or 'Release'}: {len(plan.spec.margins)} tables, {approximate(plan.guarantee)}"
    tables = [{"table": list(row.margin), "cells": row.cells, "std_error": row.std_error} for row in plan.forecast]
    said = {"guarantee": guarantee_json(plan), "tables": tables}
    sheet = Sheet("", FORECAST_HEADERS, forecast_rows(plan, 40))
    return Contents(title, (sheet,), plan.words(), said, ",".join(plan.spec.margins[-1]) or "total")


def table(release: Release, asking: Asking) -> ShownTable:
    if len(set(asking.names)) < len(asking.names):
        raise UsageError(f"{','.join(asking.names)!r} names an attribute twice")
    frame = (release.noisy if asking.unbiased else release.table)(*asking.names, level=asking.level)
    entries = {entry.name: entry for entry in release.plan.spec.codebook.entries}
    margin = release.domain.margin(asking.names)
    title = table_title(release.plan.spec.codebook, margin)
    named = {name: frame[name].map(entries[name].label) for name in frame.columns if name in entries}
    return ShownTable(margin, frame, title, frame.assign(**named))


def finish(release: Release, teller: Teller) -> None:
    """Make what is published, and simulate its error bars."""
    with teller.watching("Fitting") as told:
        release.prepare_tables(told)
    if release.publication is not None and INTERRUPTED in release.publication.notes:
        teller.notice(f"{INTERRUPTED}.")
    with teller.counting("Simulating error bars") as update:
        release.prepare(update)


WAY = BundleWay(
    outcome=Release,
    pack=TablesPack(),
    read=lambda files: Release.of(read_bundle(files).release),
    report=report,
    verify=verify,
    contents=contents,
    tables=lambda release: release.tables(),
    table=table,
    finish=finish,
)
