"""The owner's own side: every person once, in one category, and no value in any error."""

import numpy as np
import pandas as pd
import pytest

from margrave import pipeline
from margrave.errors import DataError
from margrave.planning.join.plan import make_join_plan
from margrave.planning.join.spec import JoinSpec
from tests.planning.join.example import changed, spec

CANARY = "77123"


def members(frame, *pairs, owner="hospital"):
    return pipeline.members(make_join_plan(spec(*pairs)).of(owner), frame)


def patients(ids, diseases=None):
    return pd.DataFrame({"patient": ids, "disease": diseases or ["none"] * len(ids), "unused": 1})


@pytest.mark.parametrize("ids", [["01", "2 ", "3"], [1, 2, 3]])
def test_rows_become_normal_ids_and_categories(ids):
    found = members(patients(ids, ["none", "malaria", "none"]))
    assert [one[4:] for one in found.ids] == [b"1", b"2", b"3"]
    assert found.categories.tolist() == [0, 1, 0]
    assert [len(batch) for batch in found.batches(3)] == [2, 1, 0]


def test_categories_are_the_cells_of_all_the_owners_attributes(tmp_path):
    text = changed(("[privacy]", '[attributes.sex]\nowner = "hospital"\nvalues = ["f", "m"]\n\n[privacy]'))
    frame = patients(["1", "2", "3"], ["none", "malaria", "malaria"]).assign(sex=["m", "f", "m"])
    frame.to_csv(tmp_path / "patients.csv", index=False)
    plan = make_join_plan(JoinSpec.load(text)).of("hospital")
    assert plan.spec.table.domain.names == ("disease", "sex", "travelled")
    for data in (frame, tmp_path / "patients.csv"):
        assert pipeline.members(plan, data).categories.tolist() == [1, 2, 3]


def test_an_owners_file_is_read_as_the_spec_says_that_it_is_written(tmp_path):
    way = ('columns = ["patient"]', 'columns = ["patient"]\ndelimiter = "|"\nencoding = "latin-1"')
    (tmp_path / "patients.txt").write_bytes("patient|disease|näme\n1|none|x\n2|malaria|y\n".encode("latin-1"))
    assert members(tmp_path / "patients.txt", way).categories.tolist() == [0, 1]


def test_an_id_may_have_several_parts_written_differently_on_each_side():
    rule = ('[{ kind = "digits" }]', '[{ kind = "text" }, { kind = "date" }]')
    here = ('columns = ["patient"]', 'columns = ["patient", "born"]\ndates = "%d.%m.%Y"')
    there = ('columns = ["passenger"]', 'columns = ["passenger", "birth"]')
    first = patients([" José  P."]).assign(born=["03.02.2001"])
    second = pd.DataFrame({"passenger": ["JOSE\u0301 P."], "birth": [pd.Timestamp("2001-02-03")], "travelled": ["no"]})
    one = members(first, rule, here, there)
    assert list(one.ids) == list(members(second, rule, here, there, owner="airline").ids)


@pytest.mark.parametrize("ids", [["1", "abc"], ["1", ""], ["1", None], ["1", "000"]])
def test_an_id_that_normalises_to_nothing_is_refused(ids):
    with pytest.raises(DataError, match="something of each must be left once it is normalised: 1 record"):
        members(patients(ids))


def test_the_same_person_twice_is_refused_unless_that_is_agreed():
    several = ("at_most = 2000", "at_most = 2000\nrecords = 3")
    mixed = patients([CANARY, f"0{CANARY}", "5"], ["malaria", "none", "malaria"])
    with pytest.raises(DataError, match="name each person once: 1 record") as caught:
        members(mixed)
    assert CANARY not in str(caught.value)
    with pytest.raises(DataError, match="1 ids in column 'patient' are written in several ways") as caught:
        members(mixed, several)
    assert CANARY not in str(caught.value)
    frame = patients([CANARY, CANARY, "5"], ["malaria", "none", "malaria"])
    found = [members(frame.iloc[order], several) for order in ([0, 1, 2], [1, 0, 2])]
    for one in found:
        assert sorted(zip((x[4:] for x in one.ids), one.categories.tolist(), strict=True)) == [
            (b"5", 1),
            (CANARY.encode(), 0),
        ]


def test_more_people_than_agreed_are_refused():
    with pytest.raises(DataError, match="agreed bound of 2 "):
        members(patients(["1", "2", "3"]), ("at_most = 2000", "at_most = 2"))


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (patients([1.5]), "holds floats"),
        (patients([True]), "holds booleans"),
        (patients([pd.Timestamp("2001-01-01")]), "holds dates"),
        (patients(["1"]).rename(columns={"patient": "person"}), "patient"),
        (patients([CANARY], ["cholera"]), "one of the 2 declared values"),
    ],
)
def test_what_does_not_fit_is_refused_without_a_value(frame, text):
    with pytest.raises(DataError, match=text) as caught:
        members(frame)
    assert CANARY not in str(caught.value) and "cholera" not in str(caught.value)


def test_no_rows_are_no_people():
    found = members(patients(["1"]).iloc[:0])
    assert len(found.ids) == 0 and found.categories.dtype == np.int64
