"""A join through a helper: three owners end to end, what each could misuse, and one noise, drawn once."""

from dataclasses import replace

import numpy as np
import pytest

from margrave.errors import RefusedError, UsageError
from margrave.join import helped
from margrave.join.helped import Matching, common, match
from margrave.join.messages import parse
from margrave.join.sealing import box_of, sealed, unsealed
from margrave.planning.join.plan import make_join_plan
from margrave.planning.join.spec import JoinSpec
from margrave.publish.verification.signature import SigningKey
from tests.join.parties import KEYS, LATE, QUICK, exact, parties, text


def submitted(owners):
    offered, first = owners[0].offer()
    return [first, *(one.answer(offered) for one in owners[1:])]


def helping(owners, place):
    return Matching(owners[0].plan, KEYS["registry"], place / "helper")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "epsilon"), [(2, "800"), (3, "800"), (3, "1")])
def test_owners_end_with_one_table_over_people_whom_all_have(tmp_path, number, epsilon):
    owners = parties(tmp_path, owners=number, helper=True, epsilon=epsilon, size=200, release=QUICK)
    made = match(helping(owners, tmp_path), submitted(owners))
    results = [one.finish(made) for one in owners]
    assert len({one.bundle for one in results}) == 1
    error = results[0].counts.reshape(exact(owners).shape) - exact(owners)
    assert (error == 0).all() == (epsilon == "800")
    assert np.abs(error).max() < 40
    for one in owners:
        assert one.spent() == (one.plan.of(one.name).cost.epsilon, 0, ["committed"])


def test_the_helpers_noise_is_drawn_once(tmp_path):
    owners = parties(tmp_path, helper=True, release=QUICK)
    sent = submitted(owners)
    made = match(helping(owners, tmp_path), sent)
    content = made.read_bytes()
    assert match(helping(owners, tmp_path), sent[::-1]).read_bytes() == content
    other = tmp_path / "other.msg"
    message = parse(sent[0].read_bytes(), owners[0].plan.spec, "submission")
    key = helped.group_key(owners[0].side().folder)
    plan = owners[0].plan.of("hospital", message.session)
    again = helped.submission_message(plan, owners[0].read(), key, message.previous)
    other.write_bytes(again.signed(KEYS["hospital"]))
    with pytest.raises(RefusedError, match="not drawn again"):
        match(helping(owners, tmp_path), [other, sent[1]])


def test_what_is_sent_has_the_same_length_whoever_is_in_it(tmp_path):
    """The size of an owner's data is for the helper alone: everybody else sees the agreed bound."""
    lengths = set()
    for size in (5, 200):
        place = tmp_path / str(size)
        place.mkdir()
        lengths |= {path.stat().st_size for path in submitted(parties(place, helper=True, size=size))[:1]}
    assert len(lengths) == 1


def test_no_other_owner_can_open_a_submission(tmp_path):
    """Another owner has the key of the pseudonyms, and could look up anybody in them."""
    owners = parties(tmp_path, helper=True)
    sent = submitted(owners)
    message = parse(sent[0].read_bytes(), owners[0].plan.spec, "submission")
    plan = owners[0].plan.of("hospital", message.session)
    for name in ("hospital", "airline"):
        with pytest.raises(RefusedError, match="does not open"):
            helped._opened(plan, message, KEYS[name])
    assert sum(map(len, helped._opened(plan, message, KEYS["registry"]))) == 40


def test_the_key_of_the_owners_is_sealed_from_the_helper(tmp_path):
    owners = parties(tmp_path, helper=True)
    offered, _ = owners[0].offer()
    keys = parse(offered.read_bytes(), owners[0].plan.spec, "offer").fields["keys"]
    assert set(keys) == {"airline"}
    for context in ("", "x"):
        with pytest.raises(RefusedError, match="does not open"):
            unsealed(bytes.fromhex(keys["airline"]), KEYS["registry"], context)


def test_pseudonyms_are_others_in_each_session(tmp_path):
    owners = parties(tmp_path, helper=True)
    plan = owners[0].plan.of("hospital", "0" * 64)
    one, other = (helped.pseudonyms(plan, owners[0].read(), key) for key in (b"a" * 32, b"b" * 32))
    rows = [{text[at : at + 32] for at in range(16, 16 + 40 * 32, 32)} for text in (one, other)]
    assert len(rows[0]) == 40 and not rows[0] & rows[1]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda text: text[:-32], "another length"),
        (lambda text: (10**6).to_bytes(8, "big") + text[8:], "more people than were agreed on"),
        (lambda text: text[:16] + text[48:80] + text[16:48] + text[80:], "not sorted"),
        (lambda text: text[:16] + text[16:48] + text[16:48] + text[80:], "twice"),
    ],
)
def test_a_submission_that_no_honest_owner_makes_is_refused(tmp_path, change, text):
    owners = parties(tmp_path, helper=True)
    sent = submitted(owners)
    message = parse(sent[0].read_bytes(), owners[0].plan.spec, "submission")
    plan = owners[0].plan.of("hospital", message.session)
    whole = helped.pseudonyms(plan, owners[0].read(), helped.group_key(owners[0].side().folder))
    box, context = plan.spec.helper.box, helped._context(plan, "registry", "hospital")
    forged = tmp_path / "forged.msg"
    forged.write_bytes(replace(message, body=sealed(change(whole), box, context)).signed(KEYS["hospital"]))
    with pytest.raises(RefusedError, match=text):
        match(helping(owners, tmp_path), [forged, sent[1]])


def test_a_helper_needs_a_submission_of_each_owner_and_of_one_session(tmp_path):
    owners = parties(tmp_path, helper=True)
    sent = submitted(owners)
    for some in (sent[:1], [sent[0], sent[0]], [*sent, sent[1]]):
        with pytest.raises(RefusedError, match="of each owner is needed"):
            match(helping(owners, tmp_path), some)
    for one in owners:
        one.folder = "another"
    with pytest.raises(RefusedError, match="different sessions"):
        match(helping(owners, tmp_path), [sent[0], submitted(owners)[1]])
    with pytest.raises(UsageError, match="not the key of registry"):
        Matching(owners[0].plan, KEYS["hospital"], tmp_path)
    with pytest.raises(UsageError, match="names no helper"):
        Matching(make_join_plan(JoinSpec.load(text())), KEYS["registry"], tmp_path)


def test_a_result_of_other_submissions_or_sessions_is_refused(tmp_path):
    owners = parties(tmp_path, helper=True, release=QUICK)
    made = match(helping(owners, tmp_path), submitted(owners))
    message = parse(made.read_bytes(), owners[0].plan.spec, "result")
    forged = tmp_path / "forged.msg"
    other = {**message.fields, "submissions": {"hospital": "0" * 64, "airline": "0" * 64}}
    forged.write_bytes(replace(message, fields=other).signed(KEYS["registry"]))
    with pytest.raises(RefusedError, match="another submission"):
        owners[0].finish(forged)
    forged.write_bytes(replace(message, session="0" * 64).signed(KEYS["registry"]))
    with pytest.raises(RefusedError, match="another session"):
        owners[0].finish(forged)
    owners[0].clock = lambda: LATE
    with pytest.raises(RefusedError, match="deadline"):
        owners[0].finish(made)
    owners[0].folder = "new"
    with pytest.raises(UsageError, match="holds no session"):
        owners[0].finish(made)


def test_roles_are_those_of_the_spec(tmp_path):
    owners = parties(tmp_path, helper=True)
    with pytest.raises(UsageError, match="hospital offers"):
        owners[1].offer()
    offered, _ = owners[0].offer()
    with pytest.raises(UsageError, match="the others answer"):
        owners[0].answer(offered)


def test_people_common_to_all_are_counted_in_every_cell():
    rng = np.random.default_rng(3)
    points = rng.integers(0, 256, (90, 32), dtype=np.uint8)
    lists, cells = [], []
    for categories in (2, 3, 2):
        chosen = rng.permutation(90)[:70]
        codes = rng.integers(0, categories, 90)
        lists.append(tuple(points[[at for at in chosen if codes[at] == one]] for one in range(categories)))
        cells.append({int(at): int(codes[at]) for at in chosen})
    table = np.zeros((2, 3, 2), dtype=int)
    for at in set(cells[0]) & set(cells[1]) & set(cells[2]):
        table[cells[0][at], cells[1][at], cells[2][at]] += 1
    assert (common(lists) == table).all()


def test_a_box_belongs_to_its_key_and_its_context():
    key = SigningKey.new()
    text = sealed(b"secret", box_of(key), "here")
    assert unsealed(text, key, "here") == b"secret"
    for other, context in ((SigningKey.new(), "here"), (key, "there")):
        with pytest.raises(RefusedError):
            unsealed(text, other, context)
