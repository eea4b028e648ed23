"""The steps of a join as owners take them, whether there is a helper or not. One process at a time works on a session.

offer     the first owner begins a session
answer    the others take part in it
match     the helper, if there is one, makes the result
finish    every owner closes the session, with the same bundle
"""

from __future__ import annotations

from pathlib import Path

from margrave.join import helped, pair
from margrave.join.pair import Read
from margrave.join.result import Result
from margrave.join.side import Side


def offer(side: Side, read: Read) -> tuple[Path, ...]:
    """The files to send: the offer to the other owners and, with a helper, the submission to it."""
    with side.folder.alone():
        return (pair.offer(side, read),) if side.plan.spec.helper is None else helped.offer(side, read)


def answer(side: Side, message: Path, read: Read) -> Path:
    """The file to send: the answer to the first owner or, with a helper, the submission to it."""
    with side.folder.alone():
        if side.plan.spec.helper is None:
            return pair.answer(side, message, read)
        return helped.answer(side, message, read)


def finish(side: Side, message: Path) -> Result:
    """The result of a session. The first of two owners has to send it on to the other."""
    with side.folder.alone():
        return pair.finish(side, message) if side.plan.spec.helper is None else helped.finish(side, message)
