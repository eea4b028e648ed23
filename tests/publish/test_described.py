"""What a bundle says of its CSV files to machines is read, and found right, by programs that know no Margrave."""

import json
import re

import pandas as pd
import pytest

import margrave as mg
from margrave.errors import VerificationError
from margrave.publish.report.page import report_html
from margrave.publish.verification.verify import verify
from margrave.spec.spec import Spec
from tests.publish.conftest import BASE
from tests.publish.graphs.friends import EDGES, SPEC

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:::frictionless|csvw|rdflib")]


@pytest.fixture(params=["laplace", "raw", "sensitive", "encoded", "total", "facts", "graph"])
def saved(request, releases, data, tmp_path):
    if request.param == "graph":
        edges = pd.DataFrame(EDGES, columns=["one", "other"])
        return mg.release(mg.GraphSpec.load(SPEC), edges, seed=1).save(tmp_path / "bundle")
    if request.param == "facts":
        release = {**BASE["release"], "public": [["smoke"]]}
        spec = Spec.from_dict({**BASE, "release": release, "licence": "CC-BY-4.0"})
        return mg.release(spec, data, seed=1).save(tmp_path / "bundle")
    return releases[request.param].save(tmp_path / "bundle")


def test_frictionless_reads_the_data_package(saved):
    from frictionless import Package

    found = Package(str(saved / "datapackage.json")).validate()
    assert found.valid, found.flatten(["title", "note"])
    listed = json.loads((saved / "datapackage.json").read_text(encoding="utf-8"))["resources"]
    assert {one["path"] for one in listed} == {path.relative_to(saved).as_posix() for path in saved.rglob("*.csv")}


def test_csvw_reads_the_metadata(saved):
    from csvw import CSVW

    found = CSVW(str(saved / "csv-metadata.json"), validate=True)
    assert found.is_valid, found.warnings
    assert len(found.tables) == len(list(saved.rglob("*.csv")))
    for table in found.tables:
        rows = sum(1 for _ in table)
        text = (saved / table.url.string).read_text(encoding="utf-8")
        assert rows == text.count("\n") - 1


def test_readers_notice_a_column_that_is_not_as_described(releases, tmp_path):
    from frictionless import Package

    folder = releases["laplace"].save(tmp_path / "bundle")
    path = next((folder / "tables").glob("001*.csv"))
    path.write_text(path.read_text(encoding="utf-8").replace("young", "ancient", 1), encoding="utf-8")
    assert not Package(str(folder / "datapackage.json")).validate().valid


def test_verify_compares_what_is_said_to_machines(folder, reseal):
    path = folder / "datapackage.json"
    path.write_text(path.read_text(encoding="utf-8").replace("A small survey", "A large survey"), encoding="utf-8")
    reseal(folder)
    with pytest.raises(VerificationError, match=r"datapackage\.json differs"):
        verify(folder)


def test_licence_title_and_guarantee_stand_in_all_three(data, tmp_path):
    out = mg.release(Spec.from_dict({**BASE, "licence": "CC-BY-4.0"}), data, seed=1)
    folder = out.save(tmp_path / "bundle")
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    csvw = json.loads((folder / "csv-metadata.json").read_text(encoding="utf-8"))
    block = json.loads(re.search(r"ld\+json\">(.*?)</script>", report_html(out), re.DOTALL)[1])
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]
    assert csvw["dc:license"] == block["license"] == "CC-BY-4.0"
    for one in (package["description"], csvw["dc:description"], block["description"]):
        assert "ε = 1" in one
    assert mg.Release.load(folder).plan.spec.licence == "CC-BY-4.0"
