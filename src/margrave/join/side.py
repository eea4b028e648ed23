"""One side of a session: who it is, where its folder and its ledger are, and in which order anything leaves.

Nothing leaves before it is reserved. A message is made once: it is held in the folder, the ledger is told which one it
is, and only then does it go. So a retry sends the same bytes, and a folder that was lost, or copied, cannot be used to
draw again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from margrave.errors import RefusedError, UsageError
from margrave.files.content import Content, pieces
from margrave.join.folder import SESSION, SessionFolder
from margrave.join.messages import Message, Step, digest_of, parse, read_file
from margrave.ledger.journal import canonical
from margrave.ledger.ledger import Ledger
from margrave.ledger.values import Charge, DataSetName
from margrave.noise import Generator
from margrave.planning.asked import request_of
from margrave.planning.join.plan import JoinPlan
from margrave.publish.verification.signature import SigningKey


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class ChargedTo:
    """Where an owner is charged."""

    ledger: Ledger
    account: str
    dataset: DataSetName


@dataclass(frozen=True, eq=False)
class Side:
    """An owner in a session. ``plan`` is the owner's, and knows the session once it has begun."""

    plan: JoinPlan
    key: SigningKey
    folder: SessionFolder
    purse: ChargedTo
    clock: Callable[[], datetime] = field(default=now, repr=False)

    def __post_init__(self) -> None:
        owner = self.plan.spec.owners[self.plan.spec.place(self.plan.owner)]
        if self.key.public.raw.hex() != owner.key:
            raise UsageError(f"this is not the key of {owner.name}: the spec has another one")

    @property
    def place(self) -> int:
        return self.plan.spec.place(self.plan.owner)

    @property
    def session(self) -> str:
        return self.plan.session

    def in_session(self, session: str = "") -> Side:
        """The same side in the session of its folder, which is begun if it is new; ``session``: one that came."""
        known = self.folder.settled(SESSION)
        told = {"owner": self.plan.owner, "spec": self.plan.spec.digest}
        if known is None:
            chosen = session or Generator.system().octets(32).tobytes().hex()
            self.folder.settle(SESSION, told | {"session": chosen})
        elif {name: known.get(name) for name in told} != told:
            raise RefusedError(f"{self.folder.path} is the session of another owner, or about another spec")
        else:
            chosen = str(known.get("session"))
        if session and chosen != session:
            raise RefusedError("the message is of another session than this folder: name another folder")
        return Side(self.plan.of(self.plan.owner, chosen), self.key, self.folder, self.purse, self.clock)

    def known_session(self) -> Side:
        """The same side in a session that has begun."""
        if self.folder.settled(SESSION) is None:
            raise UsageError(f"{self.folder.path} holds no session: begin with 'margrave join offer' or 'answer'")
        return self.in_session()

    def check_due(self, charge: Charge | None = None) -> None:
        """Refuse to go on after the deadline: the session is void then, and what was charged stays charged."""
        if self.clock() <= self.plan.spec.due:
            return
        if charge is not None:
            self.purse.ledger.void(charge, touched=True, reason="deadline")
        raise RefusedError(
            f"the deadline of this join was {self.plan.spec.deadline}: the session is void, and what was charged stays "
            "charged; agree on a new spec"
        )

    def reserve(self) -> Charge:
        """Charge the session, or take the charge up again."""
        asked = self.plan
        return self.purse.ledger.reserve(
            request_of(asked, self.purse.dataset, self.purse.account, f"join-{asked.owner}-{asked.session[:32]}")
        )

    def heard(self, path: Path, step: Step, sender: str) -> tuple[Message, bytes]:
        """A message of a step that somebody sent to this side."""
        most = {"offer": 1 << 20, **self.plan.message_bytes(most=True)}.get(step, MOST_RESULT)
        content = read_file(path, most)
        message = parse(content, self.plan.spec, step)
        if message.sender != sender:
            raise RefusedError(f"the {step} is from {message.sender}, and {sender} makes it")
        return message, content

    def deliver(self, step: Step, charge: Charge, make: Callable[[], Message]) -> Path:
        """The file of a message, made if it is not there, once the ledger knows which one it is."""
        if not self.folder.made(step):
            if charge.drawn is not None or charge.content is not None:
                raise RefusedError(
                    f"the {step} of this session was made before, in another folder: it is not made a second time. "
                    "Find that folder, or begin a new session"
                )
            self.folder.hold(step, make().signed(self.key))
        return self.resend(step, charge)

    def resend(self, step: Step, charge: Charge) -> Path:
        """The file of a message that was made."""
        content = self.folder.read(step) or self.folder.pending(step)
        assert content is not None
        self._keep(charge, step, content)
        return self.folder.let_go(step)

    def _keep(self, charge: Charge, step: Step, content: bytes) -> None:
        record = canonical({"message": digest_of(content), "step": step}).encode()
        kept = charge if charge.content is not None else self.purse.ledger.keep(charge, record)
        if kept.content is None and _bytes(kept.drawn) != record:
            raise RefusedError(f"another {step} of this session was made in another folder: only that one may leave")

    def commit(self, charge: Charge, bundle: bytes, identity: str) -> None:
        """Close the charge with what is published."""
        if _bytes(self.purse.ledger.commit(charge, bundle, identity)) != bundle:
            raise RefusedError("this session was finished with another result, in another folder: that one stands")


MOST_RESULT = 1 << 28
"""Bytes of a result, the bundle of a table of at most 65,536 cells."""


def _bytes(content: Content | None) -> bytes:
    return b"" if content is None else b"".join(pieces(content))
