"""The process that has jobs answered: one slot for each data set, in which one question at a time has its time class.

When an answer comes depends on the questions that were asked before it, and on their public time classes: a slot is
held to the end of the class, however soon the answer was there, and whether it was drawn, stored or refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

from margrave import pipeline
from margrave.errors import FaultError, MargraveError
from margrave.files.content import reader_of
from margrave.ledger.ledger import Ledger
from margrave.ledger.records import Opened
from margrave.planning.questions.every import Question
from margrave.planning.questions.several.batch import Batch
from margrave.serve.kept.jobs import Job, Jobs, State, asked_in
from margrave.serve.kept.tables import ServerTables
from margrave.serve.operations.problems import AWAY, REFUSED, note_fault, problem_json, problem_of

POLL = 0.02
"""Seconds between two looks for a job, or for a data set that was opened meanwhile."""
_LOOK = 2.0
_PATIENCE = 5.0
FAULT = (
    "the question could not be answered: a fault of the machine, which says nothing about the data. If it was charged "
    "it stays so, and asking it again with the same key is free"
)

UNREADABLE = "the question was taken by another version of the server, and cannot be read any more: ask it anew"


def seconds_of(asked: Question | Batch) -> float:
    """The time class, by public numbers alone."""
    every = asked.questions if isinstance(asked, Batch) else (asked,)
    return sum(one.work.seconds for one in every)


class Slot:
    """The slot of one data set. ``timed``: each question holds it for its whole time class."""

    def __init__(self, ledger: Ledger, opened: Opened, *, timed: bool = True) -> None:
        self._ledger, self._dataset, self._timed = ledger, opened.dataset, timed
        self._jobs = Jobs(ServerTables(ledger))
        self._answerer = pipeline.answerer(opened.place, timed=False)

    def close(self) -> None:
        self._answerer.close()

    def step(self, stopped: Event) -> bool:
        """Have the next job answered; False if none waits."""
        job = self._jobs.next(self._dataset)
        if job is None:
            return False
        started = monotonic()
        try:
            asked = asked_in(job)
        except (MargraveError, KeyError, TypeError, ValueError):
            # Written by another version: whoever asked asks anew, and those behind it are not to wait for ever.
            self._jobs.finish(job.id, "refused", _told(problem_json(REFUSED, UNREADABLE)))
            return True
        state, result = self._answered(job, asked)
        if self._timed and stopped.wait(rest_of_class(monotonic() - started, seconds_of(asked))):
            # The job waits on, and is found answered after the restart: its time tells nothing of this one.
            return False
        self._jobs.finish(job.id, state, result)
        return True

    def _answered(self, job: Job, asked: Question | Batch) -> tuple[State, bytes]:
        try:
            return "answered", self._content(job, asked)
        except FaultError:
            return "fault", _told(problem_json(AWAY, FAULT))
        except MargraveError as error:
            found = problem_of(error)
            if found.kind.status >= 500:
                return "fault", _told(problem_json(AWAY, FAULT))
            return "refused", _told(problem_json(found.kind, found.detail))
        except Exception as error:
            note_fault(error)
            return "fault", _told(problem_json(AWAY, FAULT))

    def _content(self, job: Job, asked: Question | Batch) -> bytes:
        """The stored answer as bytes: charged and drawn the one way there is."""
        found = pipeline.answer_content(
            asked, self._answerer, ledger=self._ledger, dataset=job.dataset, account=job.account, request=job.id
        )
        with reader_of(found) as file:
            return file.read()


def rest_of_class(taken: float, seconds: float) -> float:
    """How long until the end of the class, or of as many as it took."""
    return max(0.0, -(-taken // seconds) * seconds - taken)


def _told(problem: dict[str, Any]) -> bytes:
    return json.dumps(problem).encode()


def hold_slot(slot: Slot, stopped: Event) -> None:
    """Answer the jobs of one data set until it is stopped. A store that is away is waited for."""
    while not stopped.is_set():
        try:
            busy = slot.step(stopped)
        except Exception as error:
            if not isinstance(error, MargraveError):
                note_fault(error)
            busy = False
            stopped.wait(_PATIENCE)
        if not busy:
            stopped.wait(POLL)


def answer_jobs(ledger: Ledger, stopped: Event, *, timed: bool, held: Callable[[], bool]) -> None:
    """Answer the jobs of every data set that is open, also of those that are opened later, until stopped.

    ``held``: whether this process is the one that answers.
    """
    slots: dict[str, tuple[Slot, Thread]] = {}
    try:
        while not stopped.is_set():
            with suppress(MargraveError):
                opened = ledger.records(Opened) if held() else []
                for one in opened:
                    if one.dataset not in slots:
                        slot = Slot(ledger, one, timed=timed)
                        thread = Thread(target=hold_slot, args=(slot, stopped), name=one.dataset, daemon=True)
                        slots[one.dataset] = slot, thread
                        thread.start()
            stopped.wait(_LOOK if slots else POLL)
    finally:
        stopped.set()
        for slot, thread in slots.values():
            thread.join(_PATIENCE)
            slot.close()
