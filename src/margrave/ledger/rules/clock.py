"""The time of an entry, by a clock that may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from time import gmtime, strftime
from typing import Any

from margrave.errors import RefusedError
from margrave.ledger.journal import is_public
from margrave.ledger.records import Grants, Tip
from margrave.ledger.view import View

Clock = Callable[[], int]
"""Tells the nanoseconds since 1970, in UTC."""

PATIENCE = 60 * 10**9
"""Clocks of several machines may differ by so many nanoseconds; one that stands further back is refused."""

A_YEAR, LONG = 366, 60
"""So many days ahead of the last entry a clock needs somebody to say that it is right: after a year in any case, and
before only if a grant would end by it. A ledger that was not used for some weeks is nothing unusual."""


def time_of(kind: str, body: Mapping[str, Any], view: View, now: int, sure: bool) -> str:
    """The time of the next entry; refused if the clock must be wrong, or, unless somebody is sure, may well be.

    What became of a request once data was open is dated as the entry before: it must not move the time by which the
    next request is judged.
    """
    tip = view.get(Tip)
    if tip is None or kind == "clock":
        return iso(now)
    if kind == "rules" or not is_public(kind, body):  # the first comes with an entry that says when
        return tip.time
    time = _time_after(tip.time, now)
    if not sure:
        _check_ahead(view, tip.time, time)
    return time


def _time_after(last: str, now: int) -> str:
    """The time of an entry that follows one of a given time. It never runs back: that would revive what has expired."""
    text = iso(now)
    if last <= text:
        return text
    if last > iso(now + PATIENCE):
        raise RefusedError(
            f"the clock stands at {text}, before the last entry of the ledger ({last}): set the clock right; if it is "
            "the entry that has a wrong date, see 'margrave ledger clock'"
        )
    return last


def _check_ahead(view: View, last: str, time: str) -> None:
    days = _days(last, time)
    ended = list(_ending(view, last, time)) if days > LONG else []
    if days > A_YEAR or ended:
        ends = f", and would end {', '.join(ended[:3])}{' and others' if ended[3:] else ''}" if ended else ""
        raise RefusedError(
            f"the clock stands at {time}, {days} days after the last entry of the ledger ({last}){ends}: nothing was "
            "written. If the clock is right, say so with --clock-is-right (in Python: clock_is_right=True)"
        )


def _ending(view: View, last: str, time: str) -> Iterator[str]:
    """The grants that an entry of this time would end, after one of another, in words."""
    for held in view.every(Grants):
        for one in held.grants:
            if one.ended(time) and not one.ended(last):
                yield f"the grant of {held.account} from {held.pool} (until {one.expires})"


def _days(last: str, time: str) -> int:
    """How many days lie between two times."""
    if last[:10] == time[:10]:
        return 0
    return (date.fromisoformat(time[:10]) - date.fromisoformat(last[:10])).days


def iso(moment: int) -> str:
    """A moment of a `Clock` in ISO 8601."""
    seconds, rest = divmod(moment, 10**9)
    return f"{_second(seconds)}.{rest // 1000:06}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))
