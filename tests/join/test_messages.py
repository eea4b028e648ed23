"""Messages: whole, signed, canonical, about the right spec and step; a man in the middle is noticed at any byte."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest

from margrave.errors import MargraveError, RefusedError, UsageError, VerificationError
from margrave.join import pair
from margrave.join.messages import MAGIC, MOST_HEADING, Message, parse, read_file
from margrave.planning.join.plan import make_join_plan
from margrave.planning.join.spec import JoinSpec
from margrave.publish.verification.signature import SigningKey
from tests.join.parties import KEYS, QUICK, parties, text

SPEC = JoinSpec.load(text())
PLAN = make_join_plan(SPEC).of("airline", "0" * 64)


def message(**changes):
    found = Message(SPEC.digest, "0" * 64, "offer", "hospital", "", ((1, 2),), {"point": "00"}, b"x" * 96)
    return replace(found, **changes)


def signed(found, key="hospital"):
    return found.signed(KEYS[key])


def test_a_message_is_read_as_it_was_written():
    assert parse(signed(message()), SPEC, "offer") == message()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "no message of a join"),
        (b"margrave join message 2\n{}\n", "another version"),
        (MAGIC, "not whole"),
        (MAGIC + b"{}\n" + bytes(64), "not whole, or its heading"),
        (MAGIC + b"[" * 200_000 + b"\n" + bytes(64), "heading"),
        (MAGIC + b"x" * (MOST_HEADING + 100), "not whole"),
        (signed(message())[:-1], "not whole, or its heading"),
        (signed(message())[: len(signed(message())) // 2], "not whole"),
        (signed(message()) + b"y", "not whole, or its heading"),
        (signed(message(), "airline"), "not as hospital signed it"),
        (signed(message(sender="nobody")), "not in the spec"),
        (signed(message(spec="1" * 64)), "another spec"),
        (signed(message(step="answer")), "the step 'answer'"),
        (signed(message(session="0" * 63)), "heading"),
        (signed(message(session="../" * 21 + "x")), "heading"),
        (signed(message(counts=((-1,),))), "heading"),
    ],
)
def test_what_is_no_message_of_this_step_is_refused(content, text):
    with pytest.raises(MargraveError, match=text):
        parse(content, SPEC, "offer")


def test_a_heading_that_is_not_canonical_is_refused_even_if_it_is_signed():
    good = message()
    heading = json.dumps(json.loads(good.heading()), indent=None).encode()
    content = MAGIC + heading + b"\n" + good.body
    forged = content + KEYS["hospital"].signature(b"margrave join message signature 1\n", sha256(content).digest())
    with pytest.raises(RefusedError, match="heading"):
        parse(forged, SPEC, "offer")


def test_a_signature_for_another_purpose_is_none():
    content = signed(message())[:-64]
    other = json.loads(KEYS["hospital"].sign(sha256(content).digest()))["signature"]
    with pytest.raises(VerificationError):
        parse(content + bytes.fromhex(other), SPEC, "offer")
    with pytest.raises(UsageError, match="no step"):
        message(step="hello")


def test_a_man_in_the_middle_who_changes_any_byte_is_noticed():
    content = bytearray(signed(message()))
    for place in range(len(content)):
        for bit in (0, 3, 7):
            content[place] ^= 1 << bit
            with pytest.raises((RefusedError, VerificationError)):
                parse(bytes(content), SPEC, "offer")
            content[place] ^= 1 << bit
    assert parse(bytes(content), SPEC, "offer") == message()


def test_files_are_bounded_before_they_are_read(tmp_path):
    path = tmp_path / "huge.msg"
    with path.open("wb") as handle:
        handle.truncate(1 << 40)
    with pytest.raises(RefusedError, match="longer than any message"):
        read_file(path, 1000)
    with pytest.raises(UsageError, match="no file"):
        read_file(tmp_path, 1000)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"counts": ((1, 1, 1),)}, "another number of batches"),
        ({"counts": ((1,), (2,))}, "another number of batches"),
        ({"counts": ((1, 3),)}, "another number of points"),
        ({"fields": {}}, "another number of points"),
        ({"fields": {"point": 5}}, "another number of points"),
        ({"fields": {"point": "zz" * 32}}, "another number of points"),
        ({"counts": ((1, 10**9),), "body": b""}, "more than were agreed on"),
    ],
)
def test_an_offer_that_is_not_as_it_says_is_refused(changes, text):
    with pytest.raises(RefusedError, match=text):
        pair.read_offer(PLAN, replace(message(fields={"point": "00" * 32}), **changes))


@pytest.mark.parametrize(
    ("counts", "body", "text"),
    [
        (((1, 1), (1, 1, 1)), b"", "another number of batches"),
        (((1, 1, 1), (1, 1)), b"x" * 5, "another number of points"),
        (((0, 0, 10**9), (1, 1)), b"", "more than were agreed on"),
    ],
)
def test_an_answer_that_is_not_as_it_says_is_refused(counts, body, text):
    with pytest.raises(RefusedError, match=text):
        pair.read_answer(PLAN, message(step="answer", counts=counts, body=body))


def test_a_result_whose_bundle_is_another_is_refused(tmp_path):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    answered = airline.answer(offered)
    hospital.finish(answered)
    result = parse(hospital.message("result").read_bytes(), hospital.plan.spec, "result")
    table = list(result.fields["table"])
    forged = tmp_path / "forged.msg"
    for change, expected in [
        ({"fields": {**result.fields, "table": [table[0] + 1, *table[1:]]}}, "other counts"),
        ({"fields": {**result.fields, "release": "0" * 64}}, "another release than"),
        ({"fields": {}}, "tells no table"),
        ({"body": result.body[:-5]}, "not in order"),
        ({"body": b""}, "not in order"),
        ({"previous": "0" * 64}, "another message"),
        ({"sender": "airline"}, "from airline"),
    ]:
        key = KEYS["airline" if "sender" in change else "hospital"]
        forged.write_bytes(replace(result, **change).signed(key))
        with pytest.raises(RefusedError, match=expected):
            airline.finish(forged)
    forged.write_bytes(result.signed(SigningKey.new()))
    with pytest.raises(VerificationError):
        airline.finish(forged)
    assert airline.spent()[2] == ["reserved"]
