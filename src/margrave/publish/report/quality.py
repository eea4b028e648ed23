"""How good some counts are, said from the counts themselves and not from what was hoped for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.messages.catalogue import later, say
from margrave.publish.report.values import Intervals, written

CLOSE, FAIR = 0.05, 0.25
"""Half-widths of a typical interval, as parts of a typical count, up to which counts are called close, and fair."""
_MEAN = 0.8
"""The mean size of an error in standard errors, for normal errors."""


@dataclass(frozen=True)
class Quality:
    """Counts beside their errors.

    ``cells`` in all and ``exact`` ones among them; of the others the median ``count``, the median half-``width`` of the
    interval, how many intervals reach ``zero``, the sum of the counts and of the sizes of errors to be expected.
    """

    cells: int
    exact: int
    count: float
    width: float
    zero: int
    counted: float
    noise: float

    @classmethod
    def of(cls, tables: Iterable[tuple[Intervals, NDArray[Any]]]) -> Quality:
        """Of some tables, each with the standard errors of its cells."""
        parts = [(numbers, np.asarray(errors, dtype=np.float64).ravel()) for numbers, errors in tables]
        noisy = [~numbers.exact.ravel() for numbers, _ in parts]
        pairs = list(zip(parts, noisy, strict=True))
        count = np.concatenate([numbers.value.ravel()[some] for (numbers, _), some in pairs] or [np.zeros(0)])
        width = np.concatenate([numbers.width.ravel()[some] for (numbers, _), some in pairs] or [np.zeros(0)])
        error = np.concatenate([errors[some] for (_, errors), some in pairs] or [np.zeros(0)])
        return cls(
            cells=sum(numbers.value.size for numbers, _ in parts),
            exact=sum(int(numbers.exact.sum()) for numbers, _ in parts),
            count=float(np.median(count)) if count.size else 0.0,
            width=float(np.median(width)) if width.size else 0.0,
            zero=sum(int(numbers.reaches_zero.sum()) for numbers, _ in parts),
            counted=float(np.maximum(count, 0).sum()),
            noise=float(_MEAN * error.sum()),
        )

    @property
    def noisy(self) -> int:
        return self.cells - self.exact

    def sentence(self, level: float) -> str:
        """How good these counts are, in one sentence."""
        if not self.noisy:
            return say("Every count here is exact: it was public already, and no noise was added.")
        width = written(self.width, self.width)
        if self.count <= 0:
            return say(
                "These counts are small beside their noise: more than half of them are published as 0, and a typical "
                "one may be off by %(width)s.",
                width=width,
            )
        often = (
            say("19 times in 20") if level == 0.95 else say("with %(level)s %% probability", level=f"{100 * level:g}")
        )
        typical = say(
            "a typical one is %(count)s, and the truth is within %(width)s of it, %(often)s",
            count=written(self.count),
            width=width,
            often=often,
        )
        if self.width <= CLOSE * self.count:
            return say("These counts are close to the truth: %(typical)s.", typical=typical)
        if self.width <= FAIR * self.count:
            text = later("These counts show what is large and what is small, but no fine differences: %(typical)s.")
        elif self.width <= self.count:
            text = later("These counts are rough: %(typical)s. Read them for the large picture only.")
        else:
            text = later("Most of these counts are too noisy to be used one by one: %(typical)s.")
        return say(text, typical=typical)

    def remarks(self) -> list[str]:
        """What else a reader should know at once: cells that may be empty, and cells that are exact."""
        found = []
        if self.zero:
            found.append(
                say(
                    "In %(some)s of %(all)s cells the interval includes 0: whether anybody is there cannot be told.",
                    some=written(self.zero),
                    all=written(self.cells),
                )
            )
        if self.exact and self.noisy:
            found.append(
                say(
                    "%(some)s of %(all)s cells are exact, and marked so: they are public, or cannot hold anybody.",
                    some=written(self.exact),
                    all=written(self.cells),
                )
            )
        return found

    def warnings(self) -> list[str]:
        """What a reader of one table must know before using it; nothing where it is usable."""
        found = []
        if 2 * self.zero > self.noisy:
            found.append(
                say(
                    "Most intervals of this table include 0 (%(some)s of %(all)s): single cells of it say little.",
                    some=written(self.zero),
                    all=written(self.noisy),
                )
            )
        if self.noisy and self.noise > self.counted:
            found.append(
                say(
                    "The noise outweighs the counts: added up, errors of about %(noise)s are to be expected beside "
                    "counts of %(counts)s.",
                    noise=written(self.noise),
                    counts=written(self.counted),
                )
            )
        return found
