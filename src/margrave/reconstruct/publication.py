"""What is published: non-negative whole counts, as one full table or as records, from which every table is summed.

It is computed from the noisy estimates alone. Its cells are counts of synthetic records, so that all published tables
agree with each other, hold no negative and no fractional number, and are the cross-tabulations of the microdata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from margrave.algebra.arrays import Counts
from margrave.algebra.domain import Domain, Margin
from margrave.crossing import Measured
from margrave.reconstruct.held import Held
from margrave.reconstruct.records.spread import Spreads

AS_MEASURED = "with so little noise the whole numbers are those of the unbiased tables"
NOT_AS_MEASURED = (
    "with so little noise the unbiased tables are whole, but no full table of counts with all of them was found: "
    "single cells of the published tables differ from the unbiased ones"
)
INTERRUPTED = "the fit was interrupted: these are the best records so far"


@dataclass(frozen=True, eq=False)
class Published:
    """Counts over all attributes that a wanted table uses, and how they came about.

    ``changes``: for each wanted table, the largest change of one of its cells by rounding. Of fitted records, the
    ``temperature`` that they were fitted at, and ``misfits``: for each wanted table χ² for each degree of freedom; and
    how far off counts are, as a part of the unbiased ones' errors, in tables that a model predicts (``spreads``).
    """

    domain: Domain
    held: Held
    method: str
    rounding: str
    changes: dict[Margin, float]
    notes: tuple[str, ...] = ()
    temperature: float | None = None
    misfits: dict[Margin, float] = field(default_factory=dict)
    spreads: Spreads = ()

    @property
    def whole(self) -> bool:
        """Whether the counts are whole numbers, and so have microdata."""
        return self.rounding != "none"

    @property
    def table(self) -> Counts:
        """The full table, where it is not too large."""
        return self.held.full()

    def margin(self, margin: Margin) -> Counts:
        """The published counts of some attributes."""
        return self.held.margin(margin)


def digest(measured: Measured) -> str:
    """A text made of the noisy answers, from which everything random after the noise is seeded."""
    return sha256(b"".join(one.outputs.tobytes() for one in measured.answers)).hexdigest()
