"""The page on log-linear models: its example runs, and its numbers are those that the code gives."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from margrave.algebra.table import Table
from margrave.models.loglinear import fit

PAGE = (Path(__file__).parents[2] / "docs" / "loglinear.md").read_text(encoding="utf-8")


def rows(name):
    """The rows of the page's tables about one bundled table."""
    return [
        [entry.strip() for entry in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line.startswith(f"| `{name}` |")
    ]


def test_the_example_runs():
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "docs/loglinear.md", "exec"), {})


@pytest.mark.parametrize("name", ["fungus", "czech", "rochdale", "journey"])
def test_the_numbers_are_right(name, bundled):
    model, table = bundled(name)
    found = fit(model, table)
    fits, printed = rows(name)
    letters = dict(zip(model.domain.names, "ABCDEFGH", strict=False))
    assert fits[1] == "".join(f"[{''.join(letters[part] for part in margin)}]" for margin in model.generators)
    cells = f"{found.face.cells.sum()} of {table.counts.size}"
    exists = "yes" if found.exists else "no"
    numbers = [f"{found.g2:.6f}", f"{found.x2:.6f}", str(found.df), str(found.df_extended)]
    assert fits[2:] == [*numbers, cells, exists, found.method]
    distance = np.abs(found.probabilities.counts - 1 / table.counts.size).sum()
    assert [printed[2], printed[4], printed[6]] == [f"{found.g2:.6f}", str(found.df), f"{distance:.6f}"]


def test_the_other_claims_hold(bundled):
    model, table = bundled("fungus")
    misprinted = table.counts.copy()
    misprinted[0, 1, 1, 1, 1, 1] = 1
    assert f"{fit(model, Table(table.domain, table.margin, misprinted)).g2:.6f}" in PAGE
    p_values = {name: fit(*bundled(name)).p_value for name in ("fungus", "czech", "rochdale", "journey")}
    assert p_values.pop("journey") < 1e-60
    assert min(p_values.values()) > 0.05
