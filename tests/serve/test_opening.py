"""Opening data sets over HTTP: curators name files of one folder, and whoever takes requests looks at none."""

from fractions import Fraction

import pytest

from margrave.budget.units import PureDP
from margrave.errors import DataError, MargraveError, RefusedError, UsageError
from margrave.ledger import Ledger
from margrave.ledger.records import Opened
from margrave.serve.kept.openings import Openings, declared, names_source
from margrave.serve.kept.tables import ServerTables
from margrave.serve.opening import files_in, fulfil, open_one, source_in
from margrave.serve.pages.opening import EXAMPLE
from tests.serve.test_attacks import client, house, ledger, token

__all__ = ["client", "house", "ledger", "token"]
CANARY = "kanarienvogel"


def spec_from(source):
    return EXAMPLE.replace("people.csv", source)


@pytest.fixture
def sources(tmp_path):
    """A folder with people, with somebody in it who fits no declaration, and with ways out."""
    folder = tmp_path / "sources"
    (folder / "more").mkdir(parents=True)
    (folder / "people.csv").write_text("region,age,income\nnorth,30,100\nsouth,40,200\n")
    (folder / "more" / "wrong.csv").write_text(f"region,age,income\n{CANARY},30,100\n")
    (folder / ".hidden.csv").write_text("region,age,income\n")
    (tmp_path / "outside.csv").write_text("region,age,income\nnorth,30,100\n")
    (folder / "link.csv").symlink_to(tmp_path / "outside.csv")
    (folder / "up").symlink_to(tmp_path)
    return folder


@pytest.fixture
def registered(tmp_path):
    with Ledger.create(tmp_path / "ledger.db") as one:
        ServerTables(one).make()
        one.register("people@1", declared(EXAMPLE).notion, PureDP(Fraction(1)))
        yield one


OUTSIDE = ["/etc/passwd", "../x.csv", "a/../../x.csv", "~/x.csv", "http://x/y.csv", "postgresql://x", "*.csv", "-"]
OUTSIDE += [
    ".hidden.csv",
    "a//b.csv",
    "./a.csv",
    "a/.b/c.csv",
    "C:/x.csv",
    "a;b.csv",
    "a?.csv",
    "[a].csv",
    "a..csv/../b",
]


@pytest.mark.parametrize("source", [*OUTSIDE, "x" * 201, "a.csv ; rm", ""])
def test_only_files_of_the_folder_can_be_named(source):
    assert not names_source(source)
    with pytest.raises(MargraveError):
        declared(spec_from(source))


def test_a_table_without_a_file_is_refused():
    with pytest.raises(UsageError, match="names no file"):
        declared(EXAMPLE.replace('source = "people.csv"\n', ""))


def test_no_link_leads_out_of_the_folder(sources):
    assert source_in(sources, "people.csv") == (sources / "people.csv").resolve()
    told = set()
    for name in ("link.csv", "up/outside.csv", "none.csv", "more", "../outside.csv"):
        with pytest.raises(UsageError, match="no file") as error:
            source_in(sources, name)
        told.add(str(error.value).replace(repr(name), ""))
    assert len(told) == 1
    assert list(files_in(sources)) == ["people.csv", "more/wrong.csv"] and list(files_in(None)) == []


def test_a_wish_is_fulfilled_once(sources, registered, tmp_path):
    openings = Openings(ServerTables(registered))
    one = openings.put("people@1", EXAMPLE)
    with pytest.raises(RefusedError, match="being opened already"):
        openings.put("people@1", EXAMPLE)
    left = tmp_path / f"people-1-{one.id}.store"
    left.mkdir()  # of an earlier try that was killed
    fulfil(str(tmp_path / "ledger.db"), sources, one.id)
    assert openings.found(one.id).state == "open" and openings.next() is None
    (opened,) = registered.records(Opened)
    assert opened.place == str(left) and "people.csv" not in str(opened.declared)
    open_one(registered, sources, one)
    assert len(registered.records(Opened)) == 1


def test_what_fails_says_why_without_a_value_or_a_place(sources, registered, tmp_path):
    openings = Openings(ServerTables(registered))
    for source in ("more/wrong.csv", "none.csv", "link.csv"):
        one = openings.put("people@1", spec_from(source))
        fulfil(str(tmp_path / "ledger.db"), sources, one.id)
        found = openings.found(one.id)
        assert found.state == "failed" and found.told
        assert CANARY not in found.told and str(tmp_path) not in found.told
    assert registered.records(Opened) == [] and not list(tmp_path.glob("*.store")) + list(tmp_path.glob(".*.tmp"))
    one = openings.put("people@1", EXAMPLE)
    fulfil(str(tmp_path / "ledger.db"), None, one.id)
    assert "--sources" in openings.found(one.id).told


def test_data_that_does_not_fit_is_an_error_of_data(sources, registered):
    one = Openings(ServerTables(registered)).put("people@1", spec_from("more/wrong.csv"))
    with pytest.raises(DataError, match="region"):
        open_one(registered, sources, one)


def test_curators_register_and_open_and_nobody_else(client, house):
    curator = house.people.accept(house.people.invite("curator", "carla"), "carla", "correct horse battery")
    secret = house.tokens.make(curator, ("read", "curate"))[1]
    carla = {"Authorization": f"Bearer {secret}"}
    body = {"name": "town@1", "spec": EXAMPLE, "cap": {"epsilon": "1"}}
    place = "/v1/datasets/town@1/opening"
    assert client("POST", "/v1/datasets", json=body).status_code == 403
    assert client("GET", "/v1/sources").status_code == client("GET", "/v1/openings").status_code == 403
    assert client("POST", place, json={"spec": EXAMPLE}).status_code == 403
    told = client("POST", "/v1/declarations", json={"spec": EXAMPLE}, headers=carla).json()
    assert told["sources"] == {"people": "people.csv"} and "people.csv" not in str(told["declared"])
    assert client("POST", place, json={"spec": EXAMPLE}, headers=carla).status_code == 409
    house.opens = True
    assert client("POST", place, json={"spec": EXAMPLE}, headers=carla).status_code == 404
    assert client("POST", "/v1/datasets", json=body, headers=carla).status_code == 201
    assert client("POST", "/v1/datasets", json=body, headers=carla).status_code in (400, 409)
    other = EXAMPLE.replace("rows = 10000", 'rows = 10000\nunit = "id"\nmax_records = 3')
    assert client("POST", place, json={"spec": other}, headers=carla).status_code == 409
    made = client("POST", place, json={"spec": EXAMPLE}, headers=carla)
    assert made.status_code == 202 and made.json()["state"] == "waiting"
    assert client("GET", "/v1/openings", headers=carla).json()["items"] == [made.json()]
    assert client("POST", place, json={"spec": spec_from("../x.csv")}, headers=carla).status_code == 400
    house.openings.list_sources(["b.csv", "a.csv"])
    assert client("GET", "/v1/sources", headers=carla).json()["items"] == ["a.csv", "b.csv"]
