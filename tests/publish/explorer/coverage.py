"""How often intervals of sums, shares and differences hold the truth, over seeded releases of one small table."""

from itertools import product

import numpy as np
import pandas as pd

import margrave as mg
from margrave.publish.explorer.figures import figures
from margrave.publish.explorer.view import read
from margrave.spec.spec import Spec

COUNTS = np.array([[120, 45, 60, 30], [80, 95, 20, 25], [40, 70, 110, 15]])
VALUES = (("low", "middle", "high"), ("north", "east", "south", "west"))
SUM = "keep.income=middle&keep.place=north&keep.place=east&keep.place=south"
SHARE = "columns=place&keep.income=middle&share=rows"
DIFFERENCE = "rows=income&keep.income=low&keep.income=high&keep.place=south&minus.income=low"
SHARES_APART = "rows=income&columns=place&keep.income=low&keep.income=high&share=rows&minus.income=low"


def spec(privacy, method):
    return Spec.from_dict(
        {
            "title": "Coverage",
            "attributes": {"income": list(VALUES[0]), "place": list(VALUES[1])},
            "release": {"tables": [["income", "place"]], "nonnegative": method},
            "privacy": privacy,
        }
    )


def data():
    rows = [cell for cell, count in zip(product(*VALUES), COUNTS.ravel(), strict=True) for _ in range(count)]
    return pd.DataFrame(rows, columns=["income", "place"])


def truths():
    """One number of each view, by its address: its place, and what it is without noise."""
    shares = COUNTS / COUNTS.sum(axis=1, keepdims=True)
    return {
        SUM: ((0, 0), COUNTS[1, :3].sum()),
        SHARE: ((1, 0), shares[1, 1]),
        DIFFERENCE: ((1, 0), COUNTS[2, 2] - COUNTS[0, 2]),
        SHARES_APART: ((1, 2), shares[2, 2] - shares[0, 2]),
    }


def covered(privacy, kind, seeds, method="least-squares"):
    """For each view, how often the interval of its number held the truth; ``method`` of non-negativity."""
    plan, table = mg.plan(spec(privacy, method)), data()
    found = dict.fromkeys(truths(), 0)
    for seed in seeds:
        out = mg.release(plan, table, seed=seed)
        for address, (place, truth) in truths().items():
            cells = figures(out, read(f"{address}&numbers={kind}")).cells
            found[address] += bool(cells.low[place] - 1e-6 <= truth <= cells.high[place] + 1e-6)
    return {address: count / len(seeds) for address, count in found.items()}
