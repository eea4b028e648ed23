"""The spec of a join: what it says, and every way to get it wrong."""

from dataclasses import replace

import pytest

from margrave.errors import SpecError, UsageError
from margrave.planning.join.spec import JoinSpec
from margrave.planning.ways.registry import load_spec

from .example import HELPER, JOIN, changed, helped, spec


def test_a_spec_is_recognised_and_its_attributes_follow_the_owners():
    found = load_spec(JOIN)
    assert isinstance(found, JoinSpec)
    assert found.table.domain.names == ("disease", "travelled")
    assert found.shape == (2, 3)
    assert found.table.margins == (("disease", "travelled"),)
    assert [one.attributes for one in found.owners] == [("disease",), ("travelled",)]


def test_owners_agree_by_the_digest_of_all_that_matters():
    agreed = spec().digest
    assert spec().digest == agreed
    assert spec(("2099-01-31T12:00:00Z", "2099-01-31T13:00:00+01:00")).digest == agreed
    assert spec(("epsilon = 0.5", "epsilon = 0.50")).digest == agreed
    for change in [
        ('kind = "digits"', 'kind = "text"'),
        ("epsilon = 0.5", "epsilon = 0.6"),
        ("2099-01-31", "2099-02-01"),
        ("at_most = 2000", "at_most = 2001"),
        ('publisher = "hospital"', 'publisher = "airline"'),
        ('"no", "europe"', '"europe", "no"'),
        ("1" * 64, "3" * 64),
        ("sizes = { epsilon = 0.1", "sizes = { epsilon = 0.2"),
        ("at_most = 2000", 'at_most = 2000\nneighbours = "replace"'),
    ]:
        assert spec(change).digest != agreed, change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (('publisher = "hospital"\n', ""), "needs publisher"),
        (('publisher = "hospital"', 'publisher = "nobody"'), "one of whom publishes"),
        (("2099-01-31T12:00:00Z", "2099-01-31T12:00:00"), "a moment with its offset"),
        (("2099-01-31T12:00:00Z", '"tomorrow"'), "a moment with its offset"),
        (("2099-01-31T12:00:00Z", "9999-12-31T23:59:59-01:00"), "no year that there is"),
        (("at_most = 2000", 'at_most = 2000\ndates = "%d.%d.%Y"'), "does not tell days apart"),
        (("at_most = 2000", 'at_most = 2000\ndates = "%Y"'), "does not tell days apart"),
        (('[{ kind = "digits" }]', "[]"), "at least one part"),
        (('kind = "digits"', 'kind = "digit"'), "did you mean 'digits'"),
        (('kind = "digits"', 'kind = "digits", case = "keep"'), "only has a meaning for text"),
        (('columns = ["patient"]', 'columns = ["patient", "born"]'), "the id has 1 parts"),
        (("at_most = 2000", "at_most = 0"), "between 1 and"),
        (("at_most = 2000\n", ""), "needs at_most"),
        (("1" * 64, "1" * 63), "64 hexadecimal digits"),
        (("1" * 64, "2" * 64), "different names and keys"),
        (("[owners.airline]", '[owners."air line"]'), "an owner's name"),
        (('owner = "airline"\n', ""), "needs owner"),
        (('owner = "airline"', 'owner = "airport"'), "unknown choice 'airport'"),
        (('owner = "airline"', 'owner = "hospital"'), "airline holds no attribute"),
        (("epsilon = 0.5\n", ""), "needs epsilon"),
        (("delta = 1e-9\n", ""), "needs"),
        (("sizes = { epsilon = 0.1, delta = 1e-9 }\n", ""), "needs sizes"),
        ((", delta = 1e-9 }", " }"), "needs a delta too"),
        (("epsilon = 0.5", "epsilon = -1"), "greater than 0"),
        (('columns = ["patient"]', 'box = "aa"\ncolumns = ["patient"]'), "only has a meaning with a helper"),
        (("[privacy]", '[release]\ntables = [["disease"]]\n[privacy]'), "no wanted table has 'travelled'"),
        (("[privacy]", '[release]\npublic = [["disease"]]\n[privacy]'), "unknown key 'public'"),
        (("[privacy]\nepsilon = 0.5\n", "[private]\nepsilon = 0.5\n"), "unknown key 'private'"),
        (("at_most = 3000", 'at_most = 3000\n[owners.third]\nkey = "' + "4" * 64 + '"'), "two owners, not 3"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(change, text):
    with pytest.raises(SpecError) as caught:
        spec(change)
    assert text in str(caught.value)


def test_a_helper_needs_boxes_and_has_one_noise():
    found = JoinSpec.load(helped())
    assert found.helper is not None and found.helper.name == "registry"
    assert found.sizes is None and found.delta is None
    with pytest.raises(SpecError, match="needs box"):
        JoinSpec.load(changed(("delta = 1e-9\nsizes = { epsilon = 0.1, delta = 1e-9 }\n", "")) + HELPER)
    with pytest.raises(SpecError, match="unknown key 'sizes'"):
        JoinSpec.load(helped().replace("epsilon = 0.5", "epsilon = 0.5\nsizes = { epsilon = 0.1 }"))


def test_a_spec_that_cannot_be_is_refused_at_birth():
    good = spec()
    for change in [
        {"owners": good.owners[:1]},
        {"owners": good.owners[::-1]},
        {"delta": None},
        {"publisher": "nobody"},
        {"deadline": "soon"},
        {"id": good.id * 2},
    ]:
        with pytest.raises(UsageError):
            replace(good, **change)
    for change in [
        {"name": "a b"},
        {"key": "x"},
        {"columns": ()},
        {"at_most": 0},
        {"records": 0},
        {"records": 2, "columns": ("a", "b")},
    ]:
        with pytest.raises(UsageError):
            replace(good.owners[0], **change)
    with pytest.raises(UsageError, match="no owner 'nobody'"):
        good.place("nobody")


def test_too_many_cells_are_refused():
    values = ", ".join(f'"{number}"' for number in range(5000))
    with pytest.raises(SpecError, match="cells"):
        spec(('"none", "malaria"', values))
