"""The command that runs the benchmarks puts what they print into their places on the pages, and nowhere else."""

import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
RUN = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))
PLOTS = runpy.run_path(str(ROOT / "docs" / "images" / "growth.py"))
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}


def test_output_goes_to_its_place_and_can_be_replaced():
    page = "before\n<!-- a.py -->\nold\n<!-- end -->\nbetween\n<!-- b.py -->\nkept\n<!-- end -->\nafter\n"
    once = RUN["filled"](page, "a.py", "| 1 \\1 |\n")
    assert once == page.replace("old\n", "\n| 1 \\1 |\n\n")
    assert RUN["filled"](once, "a.py", "| again |\n") == page.replace("old\n", "\n| again |\n\n")
    assert RUN["filled"](page, "c.py", "nothing") == page


def test_every_benchmark_that_is_run_has_one_place_and_every_place_a_benchmark():
    places = [name for page in PAGES.values() for name in re.findall(r"<!-- (\w+\.py) -->", page)]
    assert sorted(places) == sorted(RUN["SCRIPTS"])
    assert sum(page.count("<!-- end -->") for page in PAGES.values()) == len(places)
    assert all((ROOT / "benchmarks" / name).exists() for name in places)


def test_every_benchmark_is_named_on_the_page():
    """But for peers, which have an environment, a command and a page of their own."""
    scripts = [path.name for path in (ROOT / "benchmarks").glob("*.py") if not path.name.startswith("peers")]
    assert [name for name in scripts if f"benchmarks/{name}" not in PAGES["benchmarks.md"]] == []


def test_the_plots_are_those_of_the_tables_on_the_page():
    page = PAGES["benchmarks.md"]
    rows, cells = PLOTS["by_rows"](page), PLOTS["by_cells"](page)
    assert [size for size, _, _ in rows] == [1_000_000, 3_000_000, 10_000_000]
    assert [size for size, _, _ in cells] == [124_600, 1_159_200, 19_723_000, 162_196_000]
    for name, what, sizes in (
        ("rows", "Counting against rows", rows),
        ("cells", "Plan, noise and fit against cells", cells),
    ):
        drawn = (ROOT / "docs" / "images" / f"growth-{name}.svg").read_text(encoding="utf-8")
        assert drawn == PLOTS["draw"](name, what, sizes)


def test_the_numbers_asked_for_are_on_the_page():
    """What the page was measured at, not what this machine does now."""
    page = PAGES["benchmarks.md"]
    ratio = re.search(r"DuckDB's formulations takes ([\d.]+) times", page)
    assert ratio and float(ratio[1]) >= 8
    assert all(gib < 1.5 for _, _, gib in PLOTS["by_rows"](page))
    assert all(PLOTS["number"](row[6]) <= 0.5 for row in PLOTS["table"](page, "margins.py")[2:])
    assert all(gib < 2 for _, _, gib in PLOTS["by_cells"](page))
