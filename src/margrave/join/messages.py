"""Messages between those who take part: one file each, canonical, signed, and bound to what came before.

    margrave join message 1
    {"body":…,"counts":…,"fields":…,"from":…,"previous":…,"session":…,"spec":…,"step":…}
    points, or whatever the step sends, and at last the 64 bytes of an Ed25519 signature of all before

``previous`` is the SHA-256 of the message that is answered. So whoever has signed the last has signed all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from margrave.errors import RefusedError, UsageError, VerificationError
from margrave.ledger.journal import canonical
from margrave.planning.join.spec import JoinSpec
from margrave.publish.verification.signature import PublicKey, SigningKey

Step = Literal["offer", "answer", "submission", "result"]
STEPS: tuple[Step, ...] = get_args(Step)

MAGIC = b"margrave join message 1\n"
MOST_HEADING = 1 << 22
"""Bytes of a heading: the counts of each category, and the cells of a result."""
_PURPOSE = b"margrave join message signature 1\n"
_SIGNATURE = 64
_SESSION = re.compile(r"[0-9a-f]{64}")
"""The name of a session is also the name of a folder, and so is nothing else."""
_KEYS = {"body", "counts", "fields", "from", "previous", "session", "spec", "step"}


@dataclass(frozen=True)
class Message:
    """What one who takes part tells another. ``counts``: how many rows each batch of the body has."""

    spec: str
    session: str
    step: Step
    sender: str
    previous: str = ""
    counts: tuple[tuple[int, ...], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        if self.step not in STEPS:
            raise UsageError(f"there is no step {self.step!r} of a join")

    def heading(self) -> str:
        return canonical(
            {
                "body": len(self.body),
                "counts": [list(one) for one in self.counts],
                "fields": self.fields,
                "from": self.sender,
                "previous": self.previous,
                "session": self.session,
                "spec": self.spec,
                "step": self.step,
            }
        )

    def signed(self, key: SigningKey) -> bytes:
        """The whole file."""
        content = MAGIC + self.heading().encode() + b"\n" + self.body
        return content + key.signature(_PURPOSE, sha256(content).digest())


def digest_of(content: bytes) -> str:
    """What names a message."""
    return sha256(content).hexdigest()


def read_file(path: Path, most: int) -> bytes:
    """The content of a message that somebody else made; at most so many bytes of body are believed."""
    limit = most + MOST_HEADING + len(MAGIC) + _SIGNATURE
    try:
        if not path.is_file():
            raise UsageError(f"{path} is no file with a message")
        with path.open("rb") as handle:
            content = handle.read(limit + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    if len(content) > limit:
        raise RefusedError(f"{path} is longer than any message of this step: it was not made by Margrave")
    return content


def parse(content: bytes, spec: JoinSpec, step: Step | None = None) -> Message:
    """A message of a step, or of any, if it is whole, signed by one who takes part, and about what was agreed on."""
    if not content.startswith(MAGIC):
        raise RefusedError("this is no message of a join, or one of another version")
    end = content.find(b"\n", len(MAGIC), len(MAGIC) + MOST_HEADING)
    if end < 0 or len(content) < end + 1 + _SIGNATURE:
        raise RefusedError("the message is not whole: have it sent again")
    message = _message(content[len(MAGIC) : end], content[end + 1 : -_SIGNATURE])
    _check_signature(content, message, spec)
    if message.spec != spec.digest:
        raise RefusedError("the message is about another spec: agree on one, and compare what 'margrave plan' says")
    if step is not None and message.step != step:
        raise RefusedError(f"the message is of the step {message.step!r}, and the next one here is {step!r}")
    return message


def _message(heading: bytes, body: bytes) -> Message:
    try:
        found = json.loads(heading)
        good = isinstance(found, dict) and found.keys() == _KEYS and canonical(found).encode() == heading
        good = good and found["body"] == len(body) and isinstance(found["fields"], dict)
        texts = [found[name] for name in ("spec", "session", "from", "previous")] if good else [None]
        good = (
            good and all(isinstance(text, str) for text in texts) and _SESSION.fullmatch(found["session"]) is not None
        )
        counts = tuple(tuple(_count(number) for number in one) for one in found["counts"]) if good else ()
    except (ValueError, TypeError, KeyError, RecursionError):
        good = False
    if not good or found["step"] not in STEPS:
        raise RefusedError("the message is not whole, or its heading was changed: have it sent again")
    heads = found["spec"], found["session"], found["step"], found["from"], found["previous"]
    return Message(*heads, counts, found["fields"], body)


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError
    return number


def _check_signature(content: bytes, message: Message, spec: JoinSpec) -> None:
    keys = {one.name: one.key for one in spec.owners}
    if spec.helper is not None:
        keys[spec.helper.name] = spec.helper.key
    if message.sender not in keys:
        raise RefusedError("the message is from somebody who is not in the spec")
    key, signature = PublicKey.from_hex(keys[message.sender]), content[-_SIGNATURE:]
    if not key.fits(_PURPOSE, sha256(content[:-_SIGNATURE]).digest(), signature):
        raise VerificationError(f"the message is not as {message.sender} signed it: it was changed on its way")
