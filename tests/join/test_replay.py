"""An auditor with one side's folder and data: what was sent can be made again, and anything else is noticed."""

import json

import pytest

from margrave.errors import UsageError, VerificationError
from margrave.join.helped import Matching, match
from margrave.join.replay import replay
from tests.join.parties import KEYS, QUICK, parties


@pytest.fixture
def done(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    hospital.finish(airline.answer(offered))
    airline.finish(hospital.message("result"))
    return hospital, airline


def audited(party):
    return replay(party.plan, party.place / party.folder, party.read).lines


def test_each_side_can_be_replayed(done):
    for party, expected in zip(done, ("the offer follows", "the answer follows"), strict=True):
        assert any(line.startswith(expected) for line in audited(party))
        assert audited(party)[-1].startswith("the bundle in the result is in order")


@pytest.mark.parametrize("place", [0, 1])
def test_other_data_is_noticed(done, place):
    party = done[place]
    party.data = party.data.iloc[1:]
    with pytest.raises(VerificationError, match="does not follow from the data"):
        audited(party)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "name"), [(0, "mask"), (0, "points"), (0, "noise"), (1, "noise"), (1, "padding")])
def test_other_secrets_are_noticed(done, place, name):
    party = done[place]
    path = party.place / "session" / "secret.json"
    found = json.loads(path.read_bytes())
    changed = found[name]
    if name == "noise":
        changed[0][0] += 1 if changed[0][0] < 1 else -1
    elif name == "padding":
        changed[0] += 1 if changed[0] < 1 else -1
    else:
        found[name] = changed[:10] + ("0" if changed[10] != "0" else "1") + changed[11:]
    path.write_text(json.dumps(found))
    with pytest.raises(VerificationError):
        audited(party)


def test_what_is_not_finished_is_said(tmp_path):
    hospital, airline = parties(tmp_path)
    (offered,) = hospital.offer()
    assert audited(hospital)[-1] == "the session has no result yet"
    airline.answer(offered)
    assert audited(airline)[-1] == "the session has no result yet"
    with pytest.raises(UsageError, match="no session about this spec"):
        replay(hospital.plan, tmp_path, hospital.read)


def test_owners_with_a_helper_can_be_replayed(tmp_path):
    owners = parties(tmp_path, helper=True, release=QUICK)
    offered, first = owners[0].offer()
    sent = [first, owners[1].answer(offered)]
    assert audited(owners[0])[-1] == "the session has no result yet"
    made = match(Matching(owners[0].plan, KEYS["registry"], tmp_path / "helper"), sent)
    for one in owners:
        one.finish(made)
        assert len(audited(one)) == 3
