"""The browser computes what Python computes: the same views of the same releases, number by number."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import margrave.publish.explorer.site as room
from margrave.publish.explorer.figures import figures
from margrave.publish.explorer.site import shipped as module
from margrave.publish.explorer.site.shipped import kinds, known, shipped, why_not, why_not_published
from margrave.publish.explorer.view import read

SCRIPT = Path(room.__file__).parent / "numbers.js"
VIEWS = (
    "rows=smoke&columns=age",
    "rows=age&columns=smoke",
    "",
    "rows=age&keep.smoke=yes",
    "rows=age&columns=smoke&keep.age=old&keep.age=young",
    "rows=age&columns=smoke&join.age=1:old&join.age=1:young",
    "rows=smoke&columns=age&share=rows",
    "rows=smoke&columns=age&share=columns&join.age=3:middle&join.age=3:old",
    "rows=smoke&columns=age&share=all",
    "rows=smoke&columns=age&minus.smoke=no",
    "rows=smoke&columns=age&minus.smoke=no&minus.age=old",
    "rows=smoke&columns=age&share=all&minus.smoke=no&minus.age=old",
    "rows=smoke&columns=age&share=rows&minus.smoke=yes",
    "rows=age&columns=unbiased&minus.age=old&join.age=1:middle&join.age=1:old",
)
RUN = """
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
require(input.script);
globalThis.margrave.unpacked(input.release).then((release) => {
  const found = input.views.map((one) => globalThis.margrave.figures(release, globalThis.margrave.read(one)));
  process.stdout.write(JSON.stringify(found));
});
"""


def computed(release, views):
    node = shutil.which("node") or pytest.skip("no node: install it (Debian: apt-get install nodejs)")
    given = json.dumps({"script": str(SCRIPT), "release": shipped(release), "views": views})
    done = subprocess.run([node, "-e", RUN], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parts(expected, found, address):
    """The numbers of both, part by part, in the order of their places."""
    for part in ("cells", "rows", "columns", "total"):
        here, there = getattr(expected, part), found[part]
        assert (here is None) == (there is None), (address, part)
        if here is not None:
            numbers = {
                kind: np.array([np.nan if one[kind] is None else one[kind] for one in there])
                for kind in ("value", "low", "high")
            }
            yield here.shaped((-1,)), numbers


@pytest.mark.parametrize("name", ["laplace", "gauss", "rho", "encoded", "sensitive", "zeros"])
def test_the_browser_computes_the_published_numbers_that_python_does(releases, zeros, name):
    out = zeros if name == "zeros" else releases[name]
    for address, found in zip(VIEWS, computed(out, VIEWS), strict=True):
        for here, there in parts(figures(out, read(address)), found, address):
            for kind, numbers in there.items():
                assert numbers == pytest.approx(getattr(here, kind), abs=2e-6, nan_ok=True), (address, kind)


@pytest.mark.parametrize("name", ["laplace", "gauss", "raw", "encoded", "sensitive", "zeros"])
def test_the_browser_computes_the_unbiased_numbers_that_python_does(releases, zeros, name):
    out, views = zeros if name == "zeros" else releases[name], [f"{one}&numbers=unbiased" for one in VIEWS]
    for address, found in zip(views, computed(out, views), strict=True):
        for here, there in parts(figures(out, read(address)), found, address):
            assert there["value"] == pytest.approx(here.value, abs=2e-6, nan_ok=True), address
            # By the fourth cumulant of the noise, and not by its whole distribution: within three parts of a hundred.
            for kind in ("low", "high"):
                close = 0.03 * np.nan_to_num(here.width) + 2e-6
                assert (np.nan_to_num(np.abs(there[kind] - getattr(here, kind))) <= close).all(), (address, kind)


def test_the_scripts_are_small():
    assert sum(one.stat().st_size for one in SCRIPT.parent.glob("*.js")) <= 40_000


def test_what_cannot_be_shipped_says_why(releases, monkeypatch):
    assert why_not_published(releases["raw"]) == "its tables are published unbiased"
    assert kinds(releases["raw"]) == ("unbiased",)
    assert kinds(releases["laplace"]) == ("published", "unbiased")
    monkeypatch.setattr(module, "MOST_NUMBERS", 10)
    assert "more than 10" in why_not(releases["laplace"])
    assert known(releases["laplace"]) == (("smoke", "age"), ("age", "unbiased"))
