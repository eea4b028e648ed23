"""The bundle of a local collection: its parts, what `release.json` says of it, and the value made of them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.algebra.table import Table
from margrave.crossing import Collected
from margrave.errors import BundleError, VerificationError
from margrave.files.untrusted import MOST_RECORDS
from margrave.planning.limits import FULL_CELLS
from margrave.planning.local.plan import LocalPlan, plan_of
from margrave.planning.local.spec import LocalSpec
from margrave.publish.bundle.account import of_kind
from margrave.publish.bundle.forms import Forms
from margrave.publish.bundle.parts.names import column, stem
from margrave.publish.bundle.untrusted.parquet import read_parquet
from margrave.publish.framed.bundle import Framing, Read, arrow_table
from margrave.publish.framed.frame import Frame, reading_manifest
from margrave.publish.local.answers import LocalAnswers
from margrave.publish.local.bars import check_bars
from margrave.publish.local.page import local_page
from margrave.publish.microdata import columns
from margrave.reconstruct.held import FullTable, Records
from margrave.reconstruct.publication import Published
from margrave.spec.spec import possible_mask

if TYPE_CHECKING:
    import pyarrow as pa

FORMS = Forms(words=1, report=4, bars=3)
"""The forms of words, report and bars. A number is raised whenever the same collection would get another output."""


def table_stems(plan: LocalPlan) -> dict[Margin, str]:
    """The files of each wanted table."""
    return {margin: stem("tables", index, margin) for index, margin in enumerate(plan.spec.margins)}


def parts(out: LocalAnswers) -> Iterator[tuple[str, pa.Table]]:
    """Every table of a bundle by its name without an ending."""
    import pyarrow as pa

    questions = range(len(out.plan.questions))
    yield "reports", arrow_table({"question": list(questions), "reports": list(out.collected.counts)})
    sizes = [one.size for one in out.collected.tallies]
    values = np.concatenate([one.ravel() for one in out.collected.tallies])
    places = np.concatenate([np.arange(size) for size in sizes])
    yield "tallies", arrow_table({"question": np.repeat(np.array(questions), sizes), "place": places, "value": values})
    for margin, name in table_stems(out.plan).items():
        yield name, _table_part(out, margin)
    if out.publication is not None:
        yield "cells", _cells(out.publication)
        if out.publication.whole:
            yield "microdata", pa.table(columns(out.publication, out.plan.spec.base.codebook))


def _table_part(out: LocalAnswers, margin: Margin) -> pa.Table:
    frame = Table(out.domain, margin, np.zeros(out.domain.shape(margin))).to_pandas()
    values = {name: frame[name].astype(str).to_numpy(dtype=object) for name in margin}
    numbers = {column(name, margin): numbers for name, numbers in out.numbers(margin).items()}
    return arrow_table(values | numbers)


def _cells(published: Published) -> pa.Table:
    """The occupied cells of the published table: the code of each attribute, and the count."""
    names = published.domain.names
    if published.domain.cells() <= FULL_CELLS:
        table = published.table
        found = np.nonzero(table)
        codes, counts = np.stack(found, axis=1), table[found]
    else:
        codes, counts = np.unique(published.held.records().astype(np.int64), axis=0, return_counts=True)
    coded = {name: codes[:, axis].astype(np.int64) for axis, name in enumerate(names)}
    return arrow_table(coded | {column("count", names): counts})


def published_json(out: LocalAnswers) -> dict[str, Any]:
    """What is told of the collection: how many reports, refused ones by reason, and how tables were made of them."""
    found: dict[str, Any] = {"reports": out.reports, "refused": dict(out.collected.refused)}
    if (together := out.shuffled) is not None and out.plan.spec.shuffler is not None:
        guarantee = None if together.guarantee is None else together.guarantee.as_dict()
        found["shuffled"] = {"by": out.plan.spec.shuffler.name, "neighbours": "replace", "guarantee": guarantee}
    if (table := out.publication) is None:
        return found | {"table": None}
    rows = _cells(table).num_rows
    said = {"method": table.method, "rounding": table.rounding, "notes": list(table.notes), "rows": rows}
    return found | {"table": said}


@reading_manifest()
def rebuilt(frame: Frame, read: Read) -> LocalAnswers:
    """The collection in a bundle. Its plan is made of its spec and its events."""
    plan = plan_of(LocalSpec.load(frame.said["spec"]), [dict(one) for one in frame.said["events"]])
    said = frame.said["published"]
    collected = _collected(plan, said, read)
    kept, bars = None, {}
    if said["table"] is not None:
        kept = _published(plan, said["table"], read)
        for margin, name in table_stems(plan).items():
            labels = [column(label, margin) for label in ("std_error", "half_width")]
            found = read_parquet(read(f"{name}.parquet"), name, plan.spec.domain.cells(margin), labels)
            bars[margin] = (_floats(found, labels[0]), _floats(found, labels[1]))
    return LocalAnswers(plan, collected, kept, bars)


def _floats(table: pa.Table, name: str) -> NDArray[np.float64]:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)


def _whole(read: Read, name: str, rows: int, label: str) -> NDArray[np.int64]:
    values = read_parquet(read(f"{name}.parquet"), f"{name}.parquet", rows, [label]).column(label).to_numpy()
    if values.dtype != np.int64:
        raise BundleError(f"{name}.parquet: {label} must be whole numbers")
    return np.asarray(values)


def _collected(plan: LocalPlan, said: Mapping[str, Any], read: Read) -> Collected:
    shapes = [one.mechanism.tally_shape for one in plan.questions]
    sizes = [int(np.prod(shape)) for shape in shapes]
    values = _whole(read, "tallies", sum(sizes), "value")
    counts = _whole(read, "reports", len(shapes), "reports").tolist()
    pieces = np.split(values, np.cumsum(sizes)[:-1])
    refused = {str(kind): of_kind(number, int) for kind, number in said["refused"].items()}
    if min(counts) < 0 or sum(counts) != said["reports"]:
        raise BundleError("reports.parquet does not add up to the number of reports")
    return Collected(tuple(one.reshape(shape) for one, shape in zip(pieces, shapes, strict=True)), counts, refused)


def _published(plan: LocalPlan, said: Mapping[str, Any], read: Read) -> Published:
    spec = plan.spec.base
    domain = spec.domain.restrict(spec.domain.margin(name for margin in spec.margins for name in margin))
    rows = of_kind(said["rows"], int)
    if not 0 <= rows <= MOST_RECORDS:
        raise BundleError("release.json announces more cells than can be read")
    label = column("count", domain.names)
    table = read_parquet(read("cells.parquet"), "cells.parquet", rows, [*domain.names, label])
    codes = np.stack([table.column(name).to_numpy() for name in domain.names], axis=1)
    counts = table.column(label).to_numpy()
    if ((codes < 0) | (codes >= np.array(domain.shape()))).any() or (counts <= 0).any():
        raise BundleError("cells.parquet holds cells that no such collection has")
    if domain.cells() <= FULL_CELLS:
        full = np.zeros(domain.shape(), dtype=counts.dtype)
        full[tuple(codes.T)] = counts
        held: FullTable | Records = FullTable(domain, full)
    else:
        held = Records(domain, np.repeat(codes, counts, axis=0))
    return Published(domain, held, str(said["method"]), str(said["rounding"]), {}, tuple(map(str, said["notes"])))


def check(out: LocalAnswers) -> tuple[str, ...]:
    """The tallies can be those of as many reports, and the published table holds as many records, none impossible."""
    for one, tally, count in zip(out.plan.questions, out.collected.tallies, out.collected.counts, strict=True):
        if np.abs(tally).max(initial=0) > count:
            raise VerificationError(f"tallies.parquet: {', '.join(one.margin)} has larger sums than reports")
    said = f"The unbiased tables follow from the sums of {out.reports:,} reports."
    if (table := out.publication) is None:
        return (said,)
    total = float(table.margin(()))
    if abs(total - out.reports) > 1e-6 * max(out.reports, 1):
        raise VerificationError(f"cells.parquet holds {total:g} records, and there were {out.reports} reports")
    for margin in out.plan.spec.margins:
        if np.asarray(table.margin(margin)).ravel()[~possible_mask(out.plan.spec.base, margin).ravel()].any():
            raise VerificationError("cells.parquet holds records that the spec calls impossible")
    return (f"{said} The published tables are those of one table of as many records.",)


FRAMING = Framing(
    forms=FORMS,
    spec=lambda out: out.plan.spec.public_dict(),
    published=published_json,
    parts=parts,
    report=local_page,
    rebuilt=rebuilt,
    check=check,
    bars=lambda out, frame, again: check_bars(out, frame, FORMS, again),
    compared=("words", "report", "bars"),
)
