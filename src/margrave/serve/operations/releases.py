"""What is released: bundles that the ledger keeps and a curator has published here."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from margrave.errors import RefusedError, UsageError
from margrave.files.content import Content, reader_of
from margrave.ledger.earlier import stored_answer
from margrave.ledger.records import RequestRecord
from margrave.ledger.stores.store import MOST_PARTS, Transaction
from margrave.publish.release import Release
from margrave.publish.verification.verify import verify_stored
from margrave.publish.ways.registry import bundle_way
from margrave.serve.kept.tables import moment, now
from margrave.serve.operations.declared import House, HttpReply
from margrave.serve.operations.problems import MISSING, ProblemError

if TYPE_CHECKING:
    import pandas as pd

CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
MOST_CELLS = 1_000_000
"""Cells of a table that is given over HTTP; larger ones are in the bundle."""
_OTHER = "this release is not of tables: fetch its bundle"


@dataclass(frozen=True)
class PublishedRelease:
    """A release as it is listed."""

    id: str
    dataset: str
    request: str
    published: int

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "dataset": self.dataset, "published": moment(self.published)}


@dataclass(frozen=True, eq=False)
class OpenRelease:
    """A release whose tables can be asked for."""

    listed: PublishedRelease
    release: Release

    def described(self) -> dict[str, Any]:
        release = self.release
        tables = [list(margin) for margin in release.plan.spec.margins]
        charge = dict(release.ledger or {})
        words = list(release.plan.words())
        return {**self.listed.to_json(), "tables": tables, "guarantee": words, "charge": charge}

    def estimate(
        self,
        where: Mapping[str, Any],
        minus: Mapping[str, Any] | None = None,
        among: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        return asdict(self.release.query(where, minus=minus, among=among))

    def verified(self, content: bytes) -> dict[str, Any]:
        """What a check of the whole bundle found."""
        return {"holds": True, "not_checked": list(_not_checked(content))}


def published(house: House) -> list[PublishedRelease]:
    """What is released, the oldest first."""
    statement = "SELECT id, dataset, request, published FROM server_release ORDER BY published, id"
    with house.tables.reading() as session:
        return [PublishedRelease(*row) for row in session.rows(statement)]


def publish(house: House, request: str) -> PublishedRelease:
    """Release what a request of the ledger was answered with: for everybody, for ever."""
    found = house.ledger.record(RequestRecord, request)
    if found is None or found.status != "committed":
        raise UsageError("the ledger has no such request that was answered")
    content = _content(house, found)
    if content[:2] != b"PK":
        raise RefusedError("only releases of tables are published here: this request is a question")
    one = PublishedRelease(sha256(content).hexdigest()[:32], found.dataset, request, now())
    with house.tables.writing() as session:
        session.write(
            "INSERT INTO server_release (id, dataset, request, published) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (id) DO NOTHING",
            (one.id, one.dataset, one.request, one.published),
        )
    return one


def begins(session: Transaction, answer: int | None) -> bytes:
    """How a stored answer begins, without the rest of it."""
    statement = "SELECT substr(content, 1, 2) FROM ledger_answer WHERE place = ?"
    found = list(session.rows(statement, (answer * MOST_PARTS,))) if answer is not None else []
    return bytes(found[0][0]) if found else b""


def bundle_bytes(house: House, identity: str) -> bytes:
    """The bundle of a release, byte for byte as the ledger keeps it."""
    found = house.ledger.record(RequestRecord, _listed(house, identity).request)
    if found is None:
        raise ProblemError(MISSING, "nothing is released under that id")
    return _content(house, found)


def release_named(house: House, identity: str) -> OpenRelease:
    """A release by its id."""
    return OpenRelease(_listed(house, identity), _read(bundle_bytes(house, identity)))


def _listed(house: House, identity: str) -> PublishedRelease:
    found = [one for one in published(house) if one.id == identity]
    if not found:
        raise ProblemError(MISSING, "nothing is released under that id")
    return found[0]


def _content(house: House, asked: RequestRecord) -> bytes:
    with house.ledger.store.reading() as session:
        kept: Content = stored_answer(session, asked)[1]
    with reader_of(kept) as file:
        return file.read()


@lru_cache(maxsize=64)
def _not_checked(content: bytes) -> tuple[str, ...]:
    """Of a bundle that holds, what was not checked. Anybody may ask, and it takes long: so each is checked once."""
    return tuple(str(one) for one in verify_stored(content).not_checked)


@lru_cache(maxsize=8)
def _read(content: bytes) -> Release:
    found = bundle_way("release").pack.read(content)
    if not isinstance(found, Release):
        raise RefusedError(_OTHER)
    return found


def table_reply(found: OpenRelease, names: Sequence[str], where: Mapping[str, Sequence[str]], form: str) -> HttpReply:
    """A table, or the rows of it that are meant, in a form."""
    domain = found.release.domain
    margin = domain.margin(names)
    if domain.cells(margin) > MOST_CELLS:
        raise RefusedError(f"a table of more than {MOST_CELLS:,} cells is not given here: fetch the bundle")
    frame = found.release.table(*margin)
    for name, values in where.items():
        if name not in margin:
            raise UsageError("a table is filtered by its own attributes alone")
        frame = frame[frame[name].astype(str).isin(values)]
    if form == "json":
        return HttpReply({"attributes": list(margin), "rows": _rows(frame)})
    if form == "csv":
        return HttpReply(content=frame.to_csv(index=False).encode(), media=CSV)
    return HttpReply(content=_arrow(frame), media=ARROW)


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    plain = frame.astype({name: str for name in frame.columns if frame[name].dtype == "category"})
    return [{str(name): _plain(value) for name, value in row.items()} for row in plain.to_dict("records")]


def _plain(value: Any) -> Any:
    """Whole numbers are exact, as texts."""
    item = value.item() if hasattr(value, "item") else value
    return str(item) if isinstance(item, int) else item


def _arrow(frame: pd.DataFrame) -> bytes:
    import pyarrow as pa

    held = pa.Table.from_pandas(frame, preserve_index=False)
    out = io.BytesIO()
    with pa.RecordBatchStreamWriter(out, held.schema) as writer:
        writer.write_table(held)
    return out.getvalue()
