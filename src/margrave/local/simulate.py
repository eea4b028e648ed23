"""Many respondents at once, for experiments: the reports that people with known answers would make.

The same mechanisms as on a device, drawn in bulk. Whoever holds the answers of many people is no respondent: this is
for trials with data that is not confidential, or that was generated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from margrave.crossing import Collected
from margrave.errors import UsageError
from margrave.local.reports import question_digits
from margrave.noise import Generator
from margrave.planning.local.mechanism import Columns, Mechanism
from margrave.planning.local.plan import LocalPlan
from margrave.planning.local.question import WEIGHTS

_TOGETHER = 1 << 16


def simulate(plan: LocalPlan, codes: NDArray[np.integer], generator: Generator) -> Collected:
    """What a collector would have: a row of ``codes`` for each respondent, a column for each attribute of the spec."""
    drawn = _drawn(plan, codes, generator)
    tallies, counts = [], []
    for number, one in enumerate(plan.questions):
        mine = codes[drawn == number][:, [plan.spec.domain.position(name) for name in one.margin]].astype(np.int64)
        tally = np.zeros(one.mechanism.tally_shape, dtype=np.int64)
        for start in range(0, len(mine), _TOGETHER):
            part = mine[start : start + _TOGETHER]
            tally += one.mechanism.tally(one.mechanism.encode_many(part, generator))
        tallies.append(tally)
        counts.append(len(mine))
    return Collected(tuple(tallies), tuple(counts))


def simulate_lines(plan: LocalPlan, codes: NDArray[np.integer], generator: Generator) -> list[bytes]:
    """The same as the lines that devices would send, with tokens that count up."""
    drawn = _drawn(plan, codes, generator)
    digits, shuffled = question_digits(plan), plan.spec.shuffler is not None
    lines: list[bytes] = [b""] * len(codes)
    for number, one in enumerate(plan.questions):
        places = np.flatnonzero(drawn == number)
        mine = codes[places][:, [plan.spec.domain.position(name) for name in one.margin]].astype(np.int64)
        start = f"{plan.hash},{number:0{digits}x},"
        for place, symbol in zip(
            places.tolist(), _texts(one.mechanism, one.mechanism.encode_many(mine, generator)), strict=True
        ):
            lines[place] = f"{start}{symbol},{'' if shuffled else f'token-{place:010}'}".encode()
    return lines


def _drawn(plan: LocalPlan, codes: NDArray[np.integer], generator: Generator) -> NDArray[np.int64]:
    """The number of the question that each respondent's device draws."""
    if codes.ndim != 2 or codes.shape[1] != len(plan.spec.domain):
        raise UsageError("simulated respondents need a code for each attribute of the spec")
    bounds = np.cumsum([one.weight for one in plan.questions])
    return np.asarray(np.searchsorted(bounds, generator.below(WEIGHTS, len(codes)), side="right"))


def _texts(mechanism: Mechanism, columns: Columns) -> list[str]:
    """Symbols as they are written."""
    parts = []
    for field, column in zip(mechanism.fields, columns, strict=True):
        if not field.mask:
            parts.append([f"{value:0{field.digits}x}" for value in column.tolist()])
            continue
        padded = np.zeros((len(column), 8 * -(-field.size // 8)), dtype=np.uint8)
        padded[:, : field.size] = column
        packed = np.packbits(padded[:, ::-1], axis=1)
        parts.append([row.tobytes().hex()[-field.digits :] for row in packed])
    return ["".join(symbol) for symbol in zip(*parts, strict=True)]
