"""The end of a session: noisy counts become an ordinary bundle, the same bytes on every side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.crossing import Answer, Measured
from margrave.errors import MargraveError, RefusedError
from margrave.files.content import pieces
from margrave.files.temporary import temporary_folder
from margrave.files.writing import File, archive_of
from margrave.join.messages import Message
from margrave.planning.join.plan import JoinPlan
from margrave.publish.bundle.bundle import bundle_files, load
from margrave.publish.bundle.untrusted.reading import manifest_content, opened
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.release import Release
from margrave.publish.verification.signature import SigningKey, signed
from margrave.publish.verification.verify import verify

BUNDLE = "bundle.zip"
_PREFIX = ".margrave-join-"


@dataclass(frozen=True, eq=False)
class Result:
    """A bundle as one archive, the identity of its release, and the noisy counts in it."""

    bundle: bytes
    identity: str
    counts: NDArray[np.int64]


def published(plan: JoinPlan, counts: NDArray[np.int64], key: SigningKey) -> Result:
    """The bundle of noisy counts, signed by the one who makes it."""
    (measurement,) = plan.table.measurements
    shaped = counts.reshape(measurement.query.shape(plan.table.domain))
    release = Release(plan.table, Measured((Answer(measurement, shaped),), {}, private=True))
    identity, created = "", datetime.now(UTC).isoformat(timespec="seconds")

    def files() -> Iterator[File]:
        nonlocal identity
        for name, content in signed(bundle_files(release, created), key, MANIFEST):
            if name == MANIFEST:
                identity = sha256(content).hexdigest()
            yield name, content

    bundle = b"".join(pieces(archive_of(files(), large=False)))
    return Result(bundle, identity, counts)


def told(result: Result) -> dict[str, Any]:
    """What the heading of a result says of it."""
    return {"table": result.counts.reshape(-1).tolist(), "release": result.identity}


def checked(plan: JoinPlan, message: Message, folder: Path) -> Result:
    """The result in a message, if its bundle is whole, and is the table that was agreed on and is told."""
    with temporary_folder(folder, _PREFIX) as place:
        path = place / BUNDLE
        path.write_bytes(message.body)
        try:
            verify(path)
            release = load(path)
            with opened(path) as files:
                found = sha256(manifest_content(files)).hexdigest()
        except MargraveError as error:
            raise RefusedError(f"the bundle in the result is not in order: {error}") from None
        table, identity = _table(message.fields)
        if found != identity:
            raise RefusedError("the bundle in the result is another release than the result tells")
        agreed = plan.table
        same = (release.plan.spec, release.plan.measurements) == (agreed.spec.without_data(), agreed.measurements)
        if not same or not release.private:
            raise RefusedError("the bundle in the result is not that of the agreed table")
        if release.measured.answers[0].outputs.reshape(-1).tolist() != table:
            raise RefusedError("the bundle in the result has other counts than the result tells")
    return Result(message.body, identity, np.array(table, dtype=np.int64))


def _table(fields: Mapping[str, Any]) -> tuple[list[int], str]:
    table, identity = fields.get("table"), fields.get("release")
    if not isinstance(table, list) or any(type(one) is not int for one in table) or not isinstance(identity, str):
        raise RefusedError("the result tells no table: it was not made by Margrave")
    return table, identity
