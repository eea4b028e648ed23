"""A local collection: its bundle, why no ledger keeps it, and what is shown of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from margrave.planning.asked import Sheet
from margrave.planning.describe import name_of, number
from margrave.planning.ways.local import formulas
from margrave.progress import Progress
from margrave.publish.bundle.untrusted.reading import Files
from margrave.publish.charging import Uncharged
from margrave.publish.framed.bundle import framed_report
from margrave.publish.framed.verify import verify_framed
from margrave.publish.local.framing import FRAMING
from margrave.publish.local.release import LocalRelease
from margrave.publish.report.values import table_title
from margrave.publish.verification.found import Verified
from margrave.publish.way import Asking, BundleWay, Contents, ShownTable

_UNCHARGED = Uncharged(
    "a local collection is charged to no ledger: each report was private when it left its device, and no budget of a "
    "data set is spent on it. Collections add up for those who report to several of them, which the page tells them: "
    "leave the ledger out"
)


def verify(files: Files, progress: Progress | None, bars: bool) -> Verified:
    return verify_framed(FRAMING, files, progress, lambda out: formulas(out.plan), bars)


def contents(out: LocalRelease) -> Contents:
    plan = out.plan
    rows = []
    for margin in plan.spec.margins:
        errors, widths = out.error_bars(margin)
        share = 100 / max(out.reports, 1)
        rows.append(
            (
                name_of(margin),
                str(out.domain.cells(margin)),
                f"{number(share * float(np.sqrt((errors**2).mean())))} %",
                f"±{number(share * float(widths.max()))} %",
            )
        )
    headers = ("table", "cells", "error of a share", "95 % within, at most")
    title = f"{plan.title or 'Local collection'}: {out.reports:,} reports, likelihood ratio at most {plan.odds}"
    tables = [{"table": list(margin), "cells": out.domain.cells(margin)} for margin in plan.spec.margins]
    said = {"guarantee": {"cost": plan.cost.as_dict(), "words": list(plan.words())}, "reports": out.reports}
    example = name_of(plan.spec.margins[-1]).replace(", ", ",")
    return Contents(title, (Sheet("Tables", headers, rows),), plan.words(), {**said, "tables": tables}, example)


def tables_of(out: LocalRelease) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every wanted table."""
    for margin in out.plan.spec.margins:
        yield margin, out.table(*margin)


def table(out: LocalRelease, asking: Asking) -> ShownTable:
    frame = (out.noisy if asking.unbiased else out.table)(*asking.names, level=asking.level)
    codebook = out.plan.spec.base.codebook
    margin = out.domain.margin(asking.names)
    labels = {name: frame[name].map(codebook[name].label) for name in margin}
    return ShownTable(margin, frame, table_title(codebook, margin), frame.assign(**labels))


WAY = BundleWay(
    outcome=LocalRelease.of,
    pack=_UNCHARGED,
    read=LocalRelease.read,
    report=lambda files: framed_report(FRAMING, files),
    verify=verify,
    contents=contents,
    tables=tables_of,
    table=table,
)
