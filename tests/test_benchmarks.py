"""The command that runs all benchmarks puts what they print into their places on the page, and nowhere else."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))
PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def test_output_goes_to_its_place_and_can_be_replaced():
    page = "before\n<!-- a.py -->\nold\n<!-- end -->\nbetween\n<!-- b.py -->\nkept\n<!-- end -->\nafter\n"
    once = RUN["filled"](page, "a.py", "1 \\1 new\n")
    assert once == page.replace("old\n", "```text\n1 \\1 new\n```\n")
    assert RUN["filled"](once, "a.py", "again\n") == page.replace("old\n", "```text\nagain\n```\n")
    assert RUN["filled"](page, "c.py", "nothing") == page


def test_every_place_on_the_page_belongs_to_a_benchmark():
    places = re.findall(r"<!-- (\w+\.py) -->", PAGE)
    assert {"counting.py", "margins.py", "bundles.py", "predictions.py"} <= set(places)
    assert PAGE.count("<!-- end -->") == len(places) == len(set(places))
    for name in (*places, *RUN["QUICK"], *RUN["APART"]):
        assert (ROOT / "benchmarks" / name).exists()
