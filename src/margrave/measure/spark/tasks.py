"""The function that workers are sent.

It is sent as it is written here, not by its name, and needs nothing of Margrave to begin: so a worker that has no
Margrave, or another one, says so instead of failing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import margrave.version
from margrave.version import __version__

OTHER = (
    "the workers of the cluster have another version of Margrave (or of Python) than this program: install the same one"
)
NONE = "the workers of the cluster have no Margrave: install the same version there as here, pip install margrave"


@cache
def identity() -> str:
    """The version of Margrave, with a digest of its code; those of worker and driver must be the same."""
    root = Path(margrave.version.__file__).parent
    digest = blake2b(digest_size=8)
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{__version__} {digest.hexdigest()}"


def task(step: str, work: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A step of the work, for mapInArrow. No exception leaves it: Spark would write it into logs, with what it says."""
    given, expected, other, none = pickle.dumps(work), identity(), OTHER, NONE

    def margrave_counts(batches: Iterable[Any]) -> Iterator[Any]:
        import json

        import pyarrow as pa

        problem = none
        try:
            from margrave.measure.spark.tasks import identity
            from margrave.measure.spark.worker import perform

            problem = "" if identity() == expected else other
        except Exception:
            pass
        if problem:
            note = json.dumps({"errors": [["usage", problem]]}).encode()
            columns = [pa.array([-1], pa.int32()), pa.array([0], pa.int32()), pa.array([note], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=["table", "chunk", "content"])
            return
        yield from perform(step, given, batches)

    return margrave_counts
