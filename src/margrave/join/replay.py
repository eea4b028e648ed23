"""What an auditor can do with one side's folder and data: make its messages again, and compare.

The messages are signed and each names the one before, so nobody can have said anything else. That masks and noise were
drawn at random cannot be seen from them; that the noise which is in the result is the one in the folder can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from margrave.errors import UsageError, VerificationError
from margrave.join import helped, pair, protocol
from margrave.join.folder import SECRET, SESSION, SessionFolder
from margrave.join.messages import Message, Step, digest_of, parse
from margrave.join.pair import Read
from margrave.join.result import checked
from margrave.planning.join.plan import JoinPlan


@dataclass(frozen=True)
class Replayed:
    """What was found to be as it should: one line each."""

    lines: tuple[str, ...]


def replay(plan: JoinPlan, path: Path, read: Read) -> Replayed:
    """Make the messages of one side again from its data and its secrets; a VerificationError says what differs."""
    folder = SessionFolder(path)
    told = folder.settled(SESSION)
    if told is None or told.get("spec") != plan.spec.digest:
        raise UsageError(f"{path} holds no session about this spec")
    mine = plan.of(str(told.get("owner")), str(told.get("session")))
    lines = [f"the session {mine.session[:16]} of {mine.owner}, about the agreed spec"]
    lines += _helped(mine, folder, read) if plan.spec.helper is not None else _pair(mine, folder, read)
    return Replayed(tuple(lines))


def _pair(plan: JoinPlan, folder: SessionFolder, read: Read) -> list[str]:
    drawn = pair.masked_from(folder.settled(SECRET))
    offered, previous = _message(plan, folder, "offer")
    if plan.spec.place(plan.owner) == 0:
        _same(pair.offer_message(plan, read(), drawn), offered)
        lines = ["the offer follows from the data and the secrets"]
    else:
        read_again = pair.read_offer(plan, offered)
        masked = protocol.masked_again(read_again, drawn.mask)
        again = pair.answer_message(plan, read_again, masked, read(), drawn, previous)
        _same(again, _message(plan, folder, "answer")[0])
        lines = ["the answer follows from the offer, the data and the secrets"]
    if folder.read("result") is None:
        return [*lines, "the session has no result yet"]
    answered, before = _message(plan, folder, "answer")
    result = _message(plan, folder, "result")[0]
    if (answered.previous, result.previous) != (previous, before):
        raise VerificationError("the messages of the session do not reply to each other")
    told = checked(plan, result, folder.path).counts
    if plan.spec.place(plan.owner) == 0:
        counts = pair.matched(plan, offered, answered, drawn)
        if counts.reshape(-1).tolist() != told.tolist():
            raise VerificationError("the result does not follow from the answer and the noise in the folder")
        lines.append("the result follows from the answer and the noise in the folder")
    return [*lines, "the bundle in the result is in order, and of the agreed table"]


def _helped(plan: JoinPlan, folder: SessionFolder, read: Read) -> list[str]:
    previous, submitted = _message(plan, folder, "offer")[1], _message(plan, folder, "submission")[0]
    again = helped.submission_message(plan, read(), helped.group_key(folder), previous)
    # A sealed text is another one each time it is sealed: what can be compared is all but the text.
    _same(replace(again, body=submitted.body), submitted)
    if len(again.body) != len(submitted.body):
        raise VerificationError("the submission has another length than the data gives it")
    lines = ["the submission is of the agreed length, and signed; what is sealed in it only the helper can compare"]
    if folder.read("result") is None:
        return [*lines, "the session has no result yet"]
    checked(plan, _message(plan, folder, "result")[0], folder.path)
    return [*lines, "the bundle in the result is in order, and of the agreed table"]


def _message(plan: JoinPlan, folder: SessionFolder, step: Step) -> tuple[Message, str]:
    content = folder.read(step)
    if content is None:
        raise UsageError(f"{folder.path} has no {step} to look at")
    return parse(content, plan.spec, step), digest_of(content)


def _same(again: Message, sent: Message) -> None:
    if (again.heading(), again.body) != (sent.heading(), sent.body):
        raise VerificationError(f"the {sent.step} that was sent does not follow from the data and the secrets given")
