"""The time of an entry, by a clock that may be wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from time import gmtime, strftime

from margrave.errors import RefusedError

Clock = Callable[[], int]
"""Tells the nanoseconds since 1970, in UTC."""

PATIENCE = 60 * 10**9
"""Clocks of several machines may differ by so many nanoseconds; one that stands further back is refused."""


def time_after(last: str | None, now: int) -> str:
    """The time of an entry that follows one of a given time. It never runs back: that would revive what has expired."""
    text = iso(now)
    if last is None or last <= text:
        return text
    if last > iso(now + PATIENCE):
        raise RefusedError(
            f"the clock stands at {text}, before the last entry of the ledger ({last}): set the clock right"
        )
    return last


def iso(moment: int) -> str:
    """A moment of a `Clock` in ISO 8601."""
    seconds, rest = divmod(moment, 10**9)
    return f"{_second(seconds)}.{rest // 1000:06}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))
