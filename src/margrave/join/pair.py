"""A join of two owners, step by step: offer, answer, finish, finish. docs/join.md says what each reveals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.crossing import People
from margrave.errors import RefusedError, UsageError
from margrave.join import protocol
from margrave.join.batches import TAG, Batches
from margrave.join.curve import Points, as_points
from margrave.join.folder import SECRET
from margrave.join.messages import Message, Step, digest_of, parse
from margrave.join.protocol import Masked, Offer, Reply
from margrave.join.result import Result, checked, published, told
from margrave.join.side import Side
from margrave.join.worker import WIDTH
from margrave.ledger.journal import canonical
from margrave.noise import Generator
from margrave.planning.join.noise import PairNoise
from margrave.planning.join.plan import JoinPlan
from margrave.publish.charging import noted

Read = Callable[[], People]
"""Reads the owner's own data."""


def offer(side: Side, read: Read) -> Path:
    """The first owner's message to the second."""
    if side.place != 0:
        raise UsageError(f"{side.plan.spec.owners[0].name} offers, and {side.plan.owner} answers")
    begun = side.in_session()
    begun.check_due()
    charge = begun.reserve()

    def make() -> Message:
        with noted(begun.purse.ledger, charge):
            return offer_message(begun.plan, read(), _drawn(begun))

    return begun.deliver("offer", charge, make)


def answer(side: Side, path: Path, read: Read) -> Path:
    """The second owner's message to the first, who sent an offer."""
    spec = side.plan.spec
    if side.place != 1:
        raise UsageError(f"{spec.owners[1].name} answers, and {side.plan.owner} offers")
    message, content = side.heard(path, "offer", spec.owners[0].name)
    side.check_due()
    offered = read_offer(side.plan, message)
    begun = side.in_session(message.session)
    begun.folder.receive("offer", content)
    if begun.folder.made("answer"):
        return begun.resend("answer", begun.reserve())
    drawn = _drawn(begun)
    again = protocol.masked_again(offered, drawn.mask)  # what is wrong with an offer is found before it costs anything
    charge = begun.reserve()

    def make() -> Message:
        with noted(begun.purse.ledger, charge):
            return answer_message(begun.plan, offered, again, read(), drawn, digest_of(content))

    return begun.deliver("answer", charge, make)


def finish(side: Side, path: Path) -> Result:
    """Close the session: the first owner by the answer, which becomes the result, the second by the result."""
    begun = side.known_session()
    return _match(begun, path) if begun.place == 0 else _accept(begun, path)


def _match(side: Side, path: Path) -> Result:
    message, content, sent = _replied(side, path, "answer", "offer", side.plan.spec.owners[1].name)
    charge = side.reserve()
    if charge.content is None:
        side.check_due(charge)
    side.folder.receive("answer", content)
    held = side.folder.read("result") or side.folder.pending("result")
    if held is None:
        drawn = masked_from(side.folder.settled(SECRET))
        counts = matched(side.plan, parse(sent, side.plan.spec, "offer"), message, drawn)
        made = published(side.plan, counts, side.key)
        held = result_message(side.plan, made, digest_of(content)).signed(side.key)
        side.folder.hold("result", held)
    result = checked(side.plan, parse(held, side.plan.spec, "result"), side.folder.path)
    side.commit(charge, result.bundle, result.identity)
    side.folder.let_go("result")
    return result


def _accept(side: Side, path: Path) -> Result:
    message, content, _ = _replied(side, path, "result", "answer", side.plan.spec.owners[0].name)
    charge = side.reserve()
    if charge.content is None:
        side.check_due(charge)
    result = checked(side.plan, message, side.folder.path)
    side.folder.receive("result", content)
    side.commit(charge, result.bundle, result.identity)
    return result


def _replied(side: Side, path: Path, step: Step, before: Step, sender: str) -> tuple[Message, bytes, bytes]:
    """A message that replies to one that was sent from here, its bytes, and those of the one that was sent."""
    message, content = side.heard(path, step, sender)
    sent = side.folder.read(before)
    if sent is None:
        raise UsageError(f"{side.folder.path} has sent no {before} yet")
    if message.session != side.session:
        raise RefusedError("the message is of another session than this folder: name another folder")
    if message.previous != digest_of(sent):
        raise RefusedError(f"the {message.step} replies to another message than the one that was sent from here")
    return message, content, sent


def offer_message(plan: JoinPlan, members: People, drawn: Masked) -> Message:
    """The offer that follows from an owner's data and what was drawn."""
    made = protocol.offer(members, drawn, hash_key(plan))
    counts = tuple(len(one) for one in made.batches)
    body = b"".join(one.tobytes() for one in made.batches)
    fields = {"point": made.point.hex()}
    return Message(plan.spec.digest, plan.session, "offer", plan.owner, "", (counts,), fields, body)


def answer_message(
    plan: JoinPlan, offered: Offer, again: Sequence[Points], members: People, drawn: Masked, previous: str
) -> Message:
    """The answer that follows from an offer, its points masked again, an owner's data and what was drawn."""
    made = protocol.reply(offered, again, members, drawn, hash_key(plan), _noise(plan).second.reach)
    counts = tuple(tuple(len(one) for one in batches) for batches in (made.batches, made.returned))
    body = b"".join(one.tobytes() for one in (*made.batches, *made.returned))
    return Message(plan.spec.digest, plan.session, "answer", plan.owner, previous, counts, {}, body)


def result_message(plan: JoinPlan, result: Result, previous: str) -> Message:
    """The result, with its bundle."""
    head = plan.spec.digest, plan.session
    return Message(*head, "result", plan.owner, previous, (), told(result), result.bundle)


def matched(plan: JoinPlan, offer_sent: Message, answered: Message, drawn: Masked) -> NDArray[np.int64]:
    """The counts with both noises."""
    offered, replied = read_offer(plan, offer_sent), read_answer(plan, answered)
    counts = protocol.match(replied, offered, drawn.mask, _noise(plan).second.reach)
    return counts + np.array(drawn.noise, dtype=np.int64)


def read_offer(plan: JoinPlan, message: Message) -> Offer:
    """The points of an offer."""
    noise, categories = _noise(plan), plan.spec.shape[0]
    counts = _counts(message, (categories,))[0]
    most = plan.spec.owners[0].at_most + 2 * categories * noise.sizes.reach
    point = message.fields.get("point")
    try:
        raw = bytes.fromhex(point) if isinstance(point, str) else b""
    except ValueError:
        raw = b""
    if sum(counts) > most or len(message.body) != WIDTH * sum(counts) or len(raw) != WIDTH:
        raise RefusedError("the offer has another number of points than it says, or more than were agreed on")
    return Offer(_batches(message.body, counts, WIDTH), raw)


def read_answer(plan: JoinPlan, message: Message) -> Reply:
    """The points of an answer."""
    first, second = plan.spec.shape
    own, returned = _counts(message, (second, first))
    most = plan.padded(1, most=True) + plan.dummies
    place = WIDTH * sum(own)
    if sum(own) > most or len(message.body) != place + TAG * sum(returned):
        raise RefusedError("the answer has another number of points than it says, or more than were agreed on")
    return Reply(_batches(message.body[:place], own, WIDTH), _batches(message.body[place:], returned, TAG))


def _counts(message: Message, categories: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    if tuple(map(len, message.counts)) != categories:
        raise RefusedError(f"the {message.step} has another number of batches than there are categories")
    return message.counts


def _batches(body: bytes, counts: tuple[int, ...], width: int) -> Batches:
    return tuple(np.split(as_points(body, width), np.cumsum(counts)[:-1]))


def hash_key(plan: JoinPlan) -> bytes:
    """The key of the hash, fresh in each session: nothing of one session can be compared with another."""
    return bytes.fromhex(digest_of(canonical({"join": plan.spec.digest, "session": plan.session}).encode()))


def _noise(plan: JoinPlan) -> PairNoise:
    assert isinstance(plan.noise, PairNoise)
    return plan.noise


def _drawn(side: Side) -> Masked:
    """Everything that is drawn for this side of the session, kept as confidential as data."""
    drawn = draw(side.plan, Generator.system())
    side.folder.settle(SECRET, secrets_json(drawn))
    return drawn


def draw(plan: JoinPlan, generator: Generator) -> Masked:
    """Mask, key, padding and noise of the owner whose plan this is, for one session."""
    noise, (rows, columns), place = _noise(plan), plan.spec.shape, plan.spec.place(plan.owner)
    kind = noise.second if place else noise.first
    return Masked(
        generator.octets(WIDTH).tobytes(),
        generator.octets(WIDTH).tobytes(),
        protocol.padding(noise.sizes, plan.spec.shape[place], generator),
        tuple(map(tuple, kind.sample(rows * columns, generator).reshape(rows, columns).tolist())),
    )


def secrets_json(drawn: Masked) -> dict[str, Any]:
    return {
        "mask": drawn.mask.hex(),
        "points": drawn.points.hex(),
        "padding": list(drawn.padding),
        "noise": [list(row) for row in drawn.noise],
    }


def masked_from(found: dict[str, Any] | None) -> Masked:
    """What was drawn, from the folder."""
    if found is None:
        raise RefusedError("the secrets of this session are gone: it cannot go on, and stays charged")
    try:
        masks = bytes.fromhex(found["mask"]), bytes.fromhex(found["points"])
        return Masked(*masks, tuple(found["padding"]), tuple(tuple(row) for row in found["noise"]))
    except (KeyError, TypeError, ValueError):
        raise RefusedError("the secrets of this session were changed: it cannot go on, and stays charged") from None
