"""Asking the worker: it is started when first needed, guarded by a clock, and started anew after a fault.

An answer is given at the end of a time class that public numbers fix, or of as many such classes as it took, so that
the time it took says as little as can be. Whatever fails has one text.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from select import select
from threading import RLock
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

from margrave.errors import DataError, FaultError, UsageError
from margrave.ledger.journal import canonical
from margrave.planning.questions.every import Question

FAULT = (
    "the question could not be answered: a fault of the machine, which says nothing about the data. It stays charged, "
    "and asking it again is free; the curator's log has the kind of the fault"
)
_START = 60.0
"""Seconds that a worker may take to start."""
_MOST_LINE = 1 << 27


class Answerer:
    """A worker over one store. Use it as a context, or close it."""

    def __init__(self, place: str | Path, *, timed: bool = True) -> None:
        self.place, self.timed = Path(place), timed
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting = False
        self._one = RLock()
        self._owner = os.getpid()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Answerer, {'running' if self._process is not None else 'not running'}>"

    def check(self) -> None:
        """Start the worker, before anything is reserved: a store that cannot be opened costs nothing."""
        self.check_owner()
        with self._one:
            self._start()

    @property
    def owned(self) -> bool:
        """Whether this is the process that made it."""
        return os.getpid() == self._owner

    def check_owner(self) -> None:
        """A forked process would read answers that are meant for its parent, and its parent those meant for it."""
        if not self.owned:
            raise UsageError("this session belongs to the process that opened it: open another one after a fork")

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None and not self._waiting:
            return
        # Whoever asked before may have been interrupted: what the worker still says would answer another question.
        self.close()
        self._waiting = True
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "margrave.measure.questions.worker", str(self.place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self._line(_START).get("kind") != "ready":
            self.close()
            raise DataError(
                f"the store in {self.place} cannot be opened: is it there, is DuckDB installed, may you read it?"
            )
        self._waiting = False

    def numbers(self, question: Question) -> tuple[int, ...]:
        """The noisy whole numbers that answer a question."""
        self.check_owner()
        started, seconds = monotonic(), question.work.seconds
        with self._one:
            reply = self._asked(question, question.work.guard)
        if self.timed:
            _wait(started, seconds)
        if "numbers" not in reply:
            raise FaultError(FAULT)
        return tuple(int(text) for text in reply["numbers"])

    def _asked(self, question: Question, seconds: float) -> dict[str, Any]:
        try:
            self.check()
            assert self._process is not None and self._process.stdin is not None
            self._waiting = True
            self._process.stdin.write(canonical(question.asked_json()).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, DataError):
            self.close()
            return {}
        reply = self._line(seconds)
        if not reply:
            # It is late or gone: whatever it may still say is about a question that was given up.
            self.close()
            return {}
        self._waiting = False
        return reply

    def _line(self, seconds: float) -> dict[str, Any]:
        """What the worker says next; nothing if it stopped, or takes longer than it may."""
        assert self._process is not None and self._process.stdout is not None
        ready, _, _ = select([self._process.stdout], [], [], seconds)
        text = self._process.stdout.readline(_MOST_LINE) if ready else b""
        try:
            found = json.loads(text)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def close(self) -> None:
        """Stop the worker."""
        process, self._process = self._process, None
        if process is None:
            return
        if self.owned:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            # What was not written to a worker that is gone cannot be written now either.
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _wait(started: float, seconds: float) -> None:
    """Wait until the end of the time class, or of as many as it takes."""
    taken = monotonic() - started
    sleep(max(0.0, -(-taken // seconds) * seconds - taken))
