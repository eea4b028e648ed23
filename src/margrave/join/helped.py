"""A join of two or more owners through a helper who has no data, matches pseudonyms, and adds one noise.

The first owner draws a key and seals it for the others. With it every id becomes a pseudonym that the helper cannot
read. Each owner seals its pseudonyms, by category, for the helper: another owner, who has the key, could read them. The
helper sees exact cells, sizes and multiplicities; together with any owner it could look up anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from margrave.crossing import People
from margrave.errors import RefusedError, UsageError
from margrave.join.batches import Batches, check_distinct, check_order, in_order, row_keys
from margrave.join.curve import as_points, hashed
from margrave.join.folder import SECRET, SessionFolder
from margrave.join.messages import Message, digest_of, parse, read_file
from margrave.join.pair import Read
from margrave.join.result import Result, checked, published, told
from margrave.join.sealing import sealed, unsealed
from margrave.join.side import Side
from margrave.ledger.journal import canonical
from margrave.noise import Generator
from margrave.planning.join.noise import HelperNoise
from margrave.planning.join.owners import Helper
from margrave.planning.join.plan import POINT, JoinPlan
from margrave.publish.charging import noted
from margrave.publish.verification.signature import SigningKey

_NUMBER = 8
_KEY = 32
_SEALED = 1 << 10
"""Bytes that sealing adds at most."""


def offer(side: Side, read: Read) -> tuple[Path, Path]:
    """The first owner's key for the others, and the own submission to the helper."""
    spec = side.plan.spec
    if side.place != 0:
        raise UsageError(f"{spec.owners[0].name} offers, and {side.plan.owner} answers")
    begun = side.in_session()
    begun.check_due()
    begun.reserve()
    content = begun.folder.read("offer")
    if content is None:
        key = Generator.system().octets(_KEY).tobytes()
        boxes = {one.name: one.box for one in spec.owners[1:]}
        keys = {name: sealed(key, box, _context(begun.plan, name)).hex() for name, box in boxes.items()}
        head = spec.digest, begun.session
        content = Message(*head, "offer", begun.plan.owner, "", (), {"keys": keys}).signed(begun.key)
        begun.folder.settle(SECRET, {"key": key.hex()})
        begun.folder.receive("offer", content)
    return begun.folder.message("offer"), _submit(begun, read, content)


def answer(side: Side, path: Path, read: Read) -> Path:
    """Another owner's submission to the helper, with the key from an offer."""
    if side.place == 0:
        raise UsageError(f"{side.plan.owner} offers, and the others answer")
    message, content = side.heard(path, "offer", side.plan.spec.owners[0].name)
    side.check_due()
    keys = message.fields.get("keys")
    mine = keys.get(side.plan.owner) if isinstance(keys, dict) else None
    begun = side.in_session(message.session)
    try:
        found = bytes.fromhex(mine) if isinstance(mine, str) else b""
    except ValueError:
        found = b""
    key = unsealed(found, begun.key, _context(begun.plan, begun.plan.owner))
    if len(key) != _KEY:
        raise RefusedError("the offer holds no key for this owner")
    begun.folder.receive("offer", content)
    begun.folder.settle(SECRET, {"key": key.hex()})
    return _submit(begun, read, content)


def _submit(side: Side, read: Read, offered: bytes) -> Path:
    charge = side.reserve()

    def make() -> Message:
        with noted(side.purse.ledger, charge):
            return submission_message(side.plan, read(), group_key(side.folder), digest_of(offered))

    return side.deliver("submission", charge, make)


def submission_message(plan: JoinPlan, members: People, key: bytes, previous: str) -> Message:
    """The pseudonyms of an owner by category, as long as if there were as many people as may be, and sealed."""
    text = pseudonyms(plan, members, key)
    body = sealed(text, _helper(plan).box, _context(plan, _helper(plan).name, plan.owner))
    return Message(plan.spec.digest, plan.session, "submission", plan.owner, previous, (), {}, body)


def pseudonyms(plan: JoinPlan, members: People, key: bytes) -> bytes:
    """The size of each category, the pseudonyms of each in order, and zeros for all who are not there."""
    place = plan.spec.place(plan.owner)
    batches = [
        in_order(as_points(b"".join(hashed(one, key).digest() for one in ids)))
        for ids in members.batches(plan.spec.shape[place])
    ]
    check_distinct(batches, "what is to be sent")
    sizes = b"".join(len(one).to_bytes(_NUMBER, "big") for one in batches)
    missing = plan.spec.owners[place].at_most - len(members.ids)
    return sizes + b"".join(one.tobytes() for one in batches) + bytes(POINT * missing)


def group_key(folder: SessionFolder) -> bytes:
    """The key of the owners, from the folder."""
    found = folder.settled(SECRET)
    try:
        return bytes.fromhex((found or {})["key"])
    except (KeyError, TypeError, ValueError):
        raise RefusedError("the key of this session is gone, or was changed: it cannot go on") from None


@dataclass(frozen=True)
class Matching:
    """The helper's work: its key, and a folder with one inside for each session."""

    plan: JoinPlan
    key: SigningKey
    path: Path = field(repr=False)

    def __post_init__(self) -> None:
        if self.key.public.raw.hex() != _helper(self.plan).key:
            raise UsageError(f"this is not the key of {_helper(self.plan).name}: the spec has another one")


def match(matching: Matching, paths: Sequence[Path]) -> Path:
    """The result of a session, for all owners, from the submission of each. Its noise is drawn once."""
    plan = matching.plan
    heard = [_heard(plan, path) for path in paths]
    owners = [one.name for one in plan.spec.owners]
    if sorted(message.sender for message, _ in heard) != sorted(owners):
        raise RefusedError(f"a submission of each owner is needed, once: {', '.join(owners)}")
    if len({(message.session, message.previous) for message, _ in heard}) > 1:
        raise RefusedError("the submissions are of different sessions")
    heard.sort(key=lambda one: owners.index(one[0].sender))
    digests = {message.sender: digest_of(content) for message, content in heard}
    SessionFolder.at(matching.path)
    folder = SessionFolder.at(matching.path / heard[0][0].session)
    with folder.alone():
        return _matched(matching, folder, [message for message, _ in heard], digests)


def _matched(matching: Matching, folder: SessionFolder, heard: list[Message], digests: dict[str, str]) -> Path:
    sent = folder.read("result")
    if sent is not None:
        if parse(sent, matching.plan.spec, "result").fields.get("submissions") != digests:
            raise RefusedError("this session has its result, of other submissions: its noise is not drawn again")
        return folder.message("result")
    plan = JoinPlan(matching.plan.spec, matching.plan.table, matching.plan.noise, session=heard[0].session)
    made = published(plan, counted(plan, heard, matching.key, Generator.system()), matching.key)
    head = plan.spec.digest, plan.session, "result", _helper(plan).name, digest_of(canonical(digests).encode())
    fields = {**told(made), "submissions": digests}
    folder.hold("result", Message(*head, (), fields, made.bundle).signed(matching.key))  # type: ignore[arg-type]
    return folder.let_go("result")


def counted(plan: JoinPlan, heard: Sequence[Message], key: SigningKey, generator: Generator) -> NDArray[np.int64]:
    """The counts over people who are in all submissions, with the helper's noise."""
    assert isinstance(plan.noise, HelperNoise)
    exact = common([_opened(plan, message, key) for message in heard])
    return exact + plan.noise.only.sample(exact.size, generator).reshape(exact.shape)


def finish(side: Side, path: Path) -> Result:
    """Close an owner's session by the helper's result."""
    begun = side.known_session()
    message, content = begun.heard(path, "result", _helper(begun.plan).name)
    sent = begun.folder.read("submission")
    if sent is None:
        raise UsageError(f"{begun.folder.path} has sent no submission yet")
    if message.session != begun.session:
        raise RefusedError("the message is of another session than this folder: name another folder")
    known = message.fields.get("submissions")
    if not isinstance(known, dict) or known.get(begun.plan.owner) != digest_of(sent):
        raise RefusedError("the result is of another submission than the one that was sent from here")
    charge = begun.reserve()
    if charge.content is None:
        begun.check_due(charge)
    result = checked(begun.plan, message, begun.folder.path)
    begun.folder.receive("result", content)
    begun.commit(charge, result.bundle, result.identity)
    return result


def _heard(plan: JoinPlan, path: Path) -> tuple[Message, bytes]:
    content = read_file(path, plan.message_bytes(most=True)["submission"] + _sizes(plan) + _SEALED)
    return parse(content, plan.spec, "submission"), content


def _sizes(plan: JoinPlan) -> int:
    return _NUMBER * max(plan.spec.shape)


def _opened(plan: JoinPlan, message: Message, key: SigningKey) -> Batches:
    """The pseudonyms of one owner by category, as the helper sees them."""
    place = plan.spec.place(message.sender)
    categories, most = plan.spec.shape[place], plan.spec.owners[place].at_most
    text = unsealed(message.body, key, _context(plan, _helper(plan).name, message.sender))
    head = _NUMBER * categories
    if len(text) != head + POINT * most:
        raise RefusedError(f"the submission of {message.sender} has another length than was agreed on")
    sizes = [int.from_bytes(text[at : at + _NUMBER], "big") for at in range(0, head, _NUMBER)]
    if sum(sizes) > most:
        raise RefusedError(f"the submission of {message.sender} has more people than were agreed on")
    rows = as_points(text[head:])[: sum(sizes)]
    found = tuple(np.split(rows, np.cumsum(sizes)[:-1]))
    check_order(found, f"the submission of {message.sender}")
    check_distinct(found, f"the submission of {message.sender}")
    return found


def common(lists: Sequence[Batches]) -> NDArray[np.int64]:
    """How many pseudonyms are in one batch of each owner, for every choice of batches."""
    shape = tuple(map(len, lists))
    keys = row_keys(np.concatenate(lists[0]))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    cells = np.repeat(np.arange(shape[0]), [len(one) for one in lists[0]])[order]
    for batches in lists[1:]:
        other = row_keys(np.concatenate(batches))
        where = np.argsort(other, kind="stable")
        owner = np.repeat(np.arange(len(batches)), [len(one) for one in batches])[where]
        _, here, there = np.intersect1d(keys, other[where], assume_unique=True, return_indices=True)
        keys, cells = keys[here], cells[here] * len(batches) + owner[there]
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(np.int64).reshape(shape)


def _helper(plan: JoinPlan) -> Helper:
    if plan.spec.helper is None:
        raise UsageError("the spec names no helper")
    return plan.spec.helper


def _context(plan: JoinPlan, *names: str) -> str:
    return canonical({"spec": plan.spec.digest, "session": plan.session, "names": list(names)})
