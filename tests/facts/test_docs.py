"""The page on public facts: its example runs, and its tables say what the code says."""

import re
from pathlib import Path

import pytest

from margrave.facts.sensitivity import induced_sensitivity
from tests.facts.oracle import facts_of

PAGE = (Path(__file__).parents[2] / "docs" / "public-facts.md").read_text(encoding="utf-8")


def test_the_example_runs():
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "docs/public-facts.md", "exec"), {})


@pytest.mark.slow
def test_the_table_of_sensitivities():
    found = re.findall(r"\| ([abcd, ]+?) \| (\d+) (?=\|)", PAGE)
    assert len(found) == 24
    for text, value in found:
        facts = facts_of((2, 2, 2, 2), text.replace(", ", "+"))
        assert induced_sensitivity(facts).value == int(value), text


@pytest.mark.slow
def test_the_table_of_notions():
    rows = re.findall(r"\| ([abcd, ]+) on (2×2×2|2×2×3|2⁴) \| (\d+) \| (\d+) \| (\d+) \|", PAGE)
    assert len(rows) == 7
    for text, shape, *values in rows:
        sizes = (2, 2, 2, 2) if shape == "2⁴" else tuple(int(size) for size in shape.split("×"))
        facts = facts_of(sizes, text.replace(", ", "+"))
        found = [induced_sensitivity(facts, notion=notion).value for notion in ("worst-case", "positive", "markov")]
        assert found == [int(value) for value in values], text
