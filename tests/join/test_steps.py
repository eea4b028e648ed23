"""Whole sessions of two owners: from offer to bundle, resent, repeated, late, lost, and in both stores."""

import os
import shutil
from dataclasses import replace

import pytest

from margrave.errors import DataError, RefusedError, UsageError
from margrave.join.folder import SECRET, SessionFolder
from margrave.join.messages import digest_of, parse
from margrave.join.side import Side
from margrave.ledger import verify
from margrave.publish.bundle.bundle import read_bundle
from margrave.publish.bundle.untrusted.reading import archived
from margrave.publish.verification.verify import verify as verify_bundle
from tests.join.parties import KEYS, LATE, QUICK, exact, parties


def whole(hospital, airline):
    (offered,) = hospital.offer()
    answered = airline.answer(offered)
    first = hospital.finish(answered)
    return first, airline.finish(hospital.message("result"))


def cost(party):
    found = party.plan.of(party.name).cost
    return found.epsilon, found.delta


@pytest.mark.slow
@pytest.mark.parametrize("stores", [("sqlite", "sqlite"), ("sqlite", "postgresql")])
def test_both_sides_end_with_the_same_bundle_and_are_charged_once(tmp_path, stores, request):
    urls = [
        str(tmp_path / f"{number}.db") if store == "sqlite" else request.getfixturevalue("server").new_schema("join0")
        for number, store in enumerate(stores)
    ]
    owners = parties(tmp_path, urls)
    one, other = whole(*owners)
    assert one.bundle == other.bundle and one.identity == other.identity
    for party in owners:
        epsilon, delta, states = party.spent()
        assert (epsilon, delta) == cost(party) and states == ["committed"]
        verify(party.ledger)
    place = tmp_path / "bundle.zip"
    place.write_bytes(one.bundle)
    assert verify_bundle(place, bars=True).private
    with archived(one.bundle) as files:
        release = read_bundle(files).release
    assert release.plan.spec.title == "T: people in the data of hospital and airline"
    assert (release.measured.answers[0].outputs == one.counts.reshape(2, 3)).all()
    assert {"count", "std_error", "low", "high"} <= set(release.table("of_hospital", "of_airline").columns)


def test_at_a_huge_epsilon_the_table_is_the_join_itself(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    owners = parties(tmp_path, size=300, epsilon="800", sizes=("800", "0.01"), release=QUICK)
    result, _ = whole(*owners)
    hospital, airline = (party.data for party in owners)
    found = duckdb.sql("select of_hospital, of_airline, count(*) n from hospital join airline using (id) group by all")
    counted = {(a, b): n for a, b, n in found.fetchall()}
    values = [party.plan.spec.table.domain[f"of_{party.name}"].values for party in owners]
    table = [[counted.get((a, b), 0) for b in values[1]] for a in values[0]]
    assert result.counts.reshape(2, 3).tolist() == table == exact(owners).tolist()
    assert hospital is not None and airline is not None


def test_what_is_done_again_sends_the_same_bytes_and_costs_nothing(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    first = offered.read_bytes()
    assert hospital.offer()[0].read_bytes() == first
    answered = airline.answer(offered)
    second = answered.read_bytes()
    hospital.data = airline.data = None  # data is not even looked at a second time
    assert airline.answer(offered).read_bytes() == second
    one = hospital.finish(answered)
    third = hospital.message("result").read_bytes()
    assert hospital.finish(answered).bundle == one.bundle and hospital.message("result").read_bytes() == third
    for _ in range(2):
        assert airline.finish(hospital.message("result")).bundle == one.bundle
    assert hospital.offer()[0].read_bytes() == first and airline.answer(offered).read_bytes() == second
    for party in (hospital, airline):
        epsilon, delta, states = party.spent()
        assert (epsilon, delta) == cost(party) and states == ["committed"]


def test_a_step_repeated_with_other_bytes_is_refused(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    airline.answer(offered)
    hospital.folder = "other"
    (another,) = hospital.offer()
    with pytest.raises(RefusedError, match="another session"):
        airline.answer(another)
    first, second = (parse(path.read_bytes(), hospital.plan.spec) for path in (offered, another))
    forged = tmp_path / "forged.msg"
    forged.write_bytes(replace(second, session=first.session).signed(KEYS["hospital"]))
    with pytest.raises(RefusedError, match="not repeated with other bytes"):
        airline.answer(forged)


def test_a_folder_that_was_lost_cannot_be_used_to_draw_again(tmp_path):
    """Noise drawn anew on a retry would let the other side average it away."""
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    sent = tmp_path / "sent.msg"
    shutil.copy(offered, sent)
    airline.answer(sent)
    shutil.rmtree(airline.place / "session")
    with pytest.raises(RefusedError, match="not made a second time"):
        airline.answer(sent)
    (hospital.place / "session" / "1-offer.msg").unlink()
    with pytest.raises(RefusedError, match="not made a second time"):
        hospital.offer()
    assert airline.spent()[0] == cost(airline)[0]


def test_of_two_copies_of_a_folder_one_may_send(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    held = []
    ledger = airline.ledger
    keep, airline.ledger.keep = ledger.keep, lambda *given: held.append(given) or (_ for _ in ()).throw(OSError)
    for folder in ("one", "two"):
        airline.folder = folder
        with pytest.raises(OSError):
            airline.answer(offered)
    airline.ledger.keep = keep
    airline.folder = "one"
    airline.answer(offered)
    airline.folder = "two"
    with pytest.raises(RefusedError, match="only that one may leave"):
        airline.answer(offered)
    assert not airline.message("answer").exists()


def test_a_result_of_a_copied_folder_does_not_replace_the_first(tmp_path):
    hospital, airline = parties(tmp_path, release="")
    (offered,) = hospital.offer()
    answered = airline.answer(offered)
    shutil.copytree(hospital.place / "session", hospital.place / "copy")
    hospital.finish(answered)
    hospital.folder = "copy"
    with pytest.raises(RefusedError, match="finished with another result"):
        hospital.finish(answered)
    assert not hospital.message("result").exists()


def test_nothing_is_charged_for_what_is_refused_without_data(tmp_path):
    hospital, airline = parties(tmp_path)
    with pytest.raises(UsageError, match="hospital offers"):
        airline.offer()
    (offered,) = hospital.offer()
    with pytest.raises(UsageError, match="airline answers"):
        hospital.answer(offered)
    broken = tmp_path / "broken.msg"
    broken.write_bytes(offered.read_bytes()[:-1])
    for message in (broken, tmp_path / "absent.msg", tmp_path):
        with pytest.raises((RefusedError, UsageError)):
            airline.answer(message)
    with pytest.raises(Exception, match="changed on its way"):
        broken.write_bytes(offered.read_bytes()[:-1] + b"x")
        airline.answer(broken)
    with pytest.raises(UsageError, match="holds no session"):
        airline.finish(offered)
    assert airline.spent() == (0, 0, [])


def test_data_that_does_not_fit_stays_charged_and_can_be_corrected(tmp_path):
    hospital, _ = parties(tmp_path)
    good = hospital.data
    hospital.data = good.assign(id=1)
    with pytest.raises(DataError, match="each person once"):
        hospital.offer()
    assert not hospital.message("offer").exists()
    hospital.data = good
    hospital.offer()
    assert hospital.spent()[0] == cost(hospital)[0]


def test_a_budget_that_does_not_suffice_is_refused_before_anything_leaves(tmp_path):
    hospital, _ = parties(tmp_path, epsilon="2000000")
    with pytest.raises(RefusedError, match="ε"):
        hospital.offer()
    assert not hospital.message("offer").exists()


def test_after_the_deadline_a_session_is_void_and_stays_charged(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    airline.clock = lambda: LATE
    with pytest.raises(RefusedError, match="deadline"):
        airline.answer(offered)
    assert airline.spent() == (0, 0, [])
    airline.clock = hospital.clock
    answered = airline.answer(offered)
    hospital.clock = lambda: LATE
    with pytest.raises(RefusedError, match="void, and what was charged stays charged"):
        hospital.finish(answered)
    with pytest.raises(RefusedError, match="deadline"):
        hospital.offer()
    assert hospital.spent()[0] == cost(hospital)[0]
    assert not hospital.message("result").exists()


def test_what_was_finished_in_time_can_be_had_again_later(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    one, _ = whole(hospital, airline)
    hospital.clock = airline.clock = lambda: LATE
    assert hospital.finish(airline.message("answer")).bundle == one.bundle
    assert airline.finish(hospital.message("result")).bundle == one.bundle


def test_messages_of_another_session_or_to_another_message_are_refused(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    hospital.folder = airline.folder = "one"
    (offered,) = hospital.offer()
    answered = airline.answer(offered)
    hospital.folder = airline.folder = "two"
    (again,) = hospital.offer()
    airline.answer(again)
    with pytest.raises(RefusedError, match="another session"):
        hospital.finish(answered)
    hospital.folder = "one"
    hospital.finish(answered)
    with pytest.raises(RefusedError, match="another session"):
        airline.finish(hospital.message("result"))
    with pytest.raises(RefusedError, match="the step 'answer'"):
        airline.finish(answered)


def test_a_folder_belongs_to_one_owner_and_one_spec(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    airline.place = hospital.place
    with pytest.raises(RefusedError, match="another owner"):
        airline.answer(offered)


def test_while_one_process_works_on_a_session_no_other_does(tmp_path):
    hospital, _ = parties(tmp_path)
    side = hospital.side()
    with side.folder.alone(), pytest.raises(RefusedError, match="another process works on the session"):
        hospital.offer()


def test_a_key_that_is_not_the_owners_is_refused(tmp_path):
    _, airline = parties(tmp_path)
    side = airline.side()
    with pytest.raises(UsageError, match="not the key of hospital"):
        Side(side.plan.of("hospital"), side.key, side.folder, side.purse)


def test_secrets_and_the_folder_are_for_their_owner_alone(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    whole(hospital, airline)
    folder = hospital.place / "session"
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == [
        "1-offer.msg", "2-answer.msg", "3-result.msg", "secret.json", "session.json",
    ]  # fmt: skip


def test_each_message_names_the_one_before(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    whole(hospital, airline)
    files = [hospital.message(step).read_bytes() for step in ("offer", "answer", "result")]
    read = [
        parse(content, hospital.plan.spec, step)
        for content, step in zip(files, ("offer", "answer", "result"), strict=True)
    ]
    assert [one.previous for one in read] == ["", digest_of(files[0]), digest_of(files[1])]
    assert {one.session for one in read} == {read[0].session}


def test_lost_secrets_end_a_session(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    answered = airline.answer(offered)
    secret = hospital.place / "session" / "secret.json"
    kept = secret.read_bytes()
    for content, text in ((b"{}", "were changed"), (b"[]", "was changed"), (None, "are gone")):
        secret.unlink() if content is None else secret.write_bytes(content)
        with pytest.raises(RefusedError, match=text):
            hospital.finish(answered)
    secret.write_bytes(kept)
    assert hospital.finish(answered).counts.sum() != 10**6


def test_an_offer_that_is_found_out_only_when_it_is_masked_costs_nothing(tmp_path):
    """P and P + (0, 0) are different points, both canonical, with one product."""
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    message = parse(offered.read_bytes(), hospital.plan.spec, "offer")
    rows = sorted(message.body[at : at + 32] for at in range(0, 32 * message.counts[0][0], 32))
    twin = pow(int.from_bytes(rows[0], "little"), -1, 2**255 - 19).to_bytes(32, "little")
    rows = sorted([*rows[:-1], twin])
    forged = tmp_path / "forged.msg"
    body = b"".join(rows) + message.body[32 * len(rows) :]
    forged.write_bytes(replace(message, body=body).signed(KEYS["hospital"]))
    with pytest.raises(RefusedError, match="twice"):
        airline.answer(forged)
    assert airline.spent() == (0, 0, [])


def test_a_session_that_was_killed_before_it_was_charged_is_not_charged_by_its_end(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    answered = airline.answer(offered)
    hospital.folder = "other"
    hospital.side().in_session(parse(offered.read_bytes(), hospital.plan.spec).session)
    before = hospital.spent()
    with pytest.raises(UsageError, match="has sent no offer yet"):
        hospital.finish(answered)
    assert hospital.spent() == before


def test_secrets_are_readable_by_their_owner_alone_whatever_lay_there_before(tmp_path):
    for name in (SECRET, f"{SECRET}.{os.getpid()}.new"):
        (tmp_path / name).write_bytes(b"{}")
        (tmp_path / name).chmod(0o644)
    SessionFolder.at(tmp_path).settle(SECRET, {"mask": "00"})
    assert (tmp_path / SECRET).stat().st_mode & 0o777 == 0o600
