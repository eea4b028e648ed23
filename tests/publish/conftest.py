"""Small releases of every kind, and a way to change a bundle so that its checksums still fit."""

import json
from pathlib import Path

import pandas as pd
import pytest

import margrave as mg
from margrave.publish.bundle import account
from margrave.publish.bundle.account import Checksum
from margrave.publish.report.page import report_html
from margrave.spec.spec import Spec

BASE = {
    "title": "A small survey",
    "attributes": {
        "smoke": {"title": "Smoking", "values": ["no", "yes"], "labels": {"no": "does not smoke", "yes": "smokes"}},
        "age": {"values": ["young", "middle", "old"]},
        "unbiased": ["a", "b"],
    },
    "release": {"tables": [["smoke", "age"], ["age", "unbiased"]], "strategy": "margins"},
    "privacy": {"epsilon": 1},
}


def _spec(release=(), privacy=()):
    changed = {**BASE, "release": {**BASE["release"], **dict(release)}}
    return Spec.from_dict(changed if not privacy else {**changed, "privacy": dict(privacy)})


SPECS = {
    "laplace": _spec(),
    "gauss": _spec({"strategy": "residual"}, {"epsilon": 1, "delta": "1e-6"}),
    "rho": _spec({"strategy": "auto", "all": 2}, {"rho": "0.5", "neighbours": "replace"}),
    "encoded": _spec({"strategy": "fourier"}),
    "sensitive": _spec(
        {"sensitive": ["smoke"], "strategy": "auto", "tables": [["smoke", "age"], ["age", "unbiased", "smoke"]]}
    ),
    "raw": _spec({"nonnegative": "none"}),
    "total": _spec({"tables": [[], ["smoke"]]}),
}


@pytest.fixture(scope="session")
def data():
    rows = [("no", "young", "a")] * 31 + [("yes", "old", "b")] * 17 + [("no", "middle", "b")] * 9
    return pd.DataFrame(rows, columns=["smoke", "age", "unbiased"])


@pytest.fixture(scope="session")
def releases(data):
    """A seeded release of each kind, by name."""
    return {name: mg.release(spec, data, seed=7) for name, spec in SPECS.items()}


LONG = "an attribute with a rather long name that nobody shortened and_without_any_spaces_in_its_second_half"


@pytest.fixture(scope="session")
def hostile():
    """Long and hostile names, many values, large tables, and more of them than are open."""
    evil = '<script>alert("x")</script>'
    spec = Spec.from_dict(
        {
            "title": f"{evil} & {LONG}",
            "attributes": {
                LONG: {"values": [evil, "'\"><img src=//evil.example>", "x" * 90], "labels": {"x" * 90: "</svg><b>"}},
                "many": {"range": [1, 20]},
                "some": {"range": [1, 12]},
                **{f"more {index}": ["no", "yes"] for index in range(5)},
            },
            "release": {"all": 2, "strategy": "residual"},
            "privacy": {"rho": "0.1"},
        }
    )
    row = {LONG: evil, "many": 3, "some": 4, **{f"more {index}": "no" for index in range(5)}}
    return mg.release(spec, pd.DataFrame([row] * 50), seed=3)


@pytest.fixture(scope="session")
def reports(releases, hostile, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    journey = mg.release(mg.plan(mg.examples.path("journey")), seed=1)
    found = {}
    for name, out in {**releases, "hostile": hostile, "journey": journey}.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(report_html(out), encoding="utf-8")
    return found


@pytest.fixture(params=SPECS)
def out(request, releases):
    return releases[request.param]


@pytest.fixture
def folder(releases, tmp_path):
    """A bundle to be spoilt."""
    return releases["laplace"].save(tmp_path / "bundle")


def _reseal(folder: Path, change=lambda found: None) -> None:
    """Make `release.json` fit the files again, after a change to them or to itself."""
    found = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    del found["digest"]
    for name in found["files"]:
        if (folder / name).is_file():
            one = Checksum.of((folder / name).read_bytes())
            found["files"][name] = {"bytes": one.length, "sha256": one.sha256}
    change(found)
    text = account._canonical(found | {"digest": account._digest(found)})
    (folder / "release.json").write_bytes(text)


@pytest.fixture
def reseal():
    return _reseal
