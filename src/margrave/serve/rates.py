"""How often somebody may come: a bucket for each caller, which fills again with time. No bucket depends on data."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from time import monotonic

_MOST_CALLERS = 10_000


def network_of(address: str) -> str:
    """Whose address it is, for counting: whoever has one of version 6 has all that begin with the same 64 bits."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped) if mapped is not None else str(ip_network((int(found), 64), strict=False))
    return address


@dataclass(frozen=True)
class Rate:
    """``burst`` requests at once, and ``a_second`` from then on."""

    burst: float
    a_second: float


class Buckets:
    """Buckets by caller. Those that were not used for long are forgotten: they are full."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait(self, caller: str) -> float:
        """Take one, and return 0; or the seconds after which there is one again."""
        with self._lock:
            time = self._clock()
            left, before = self._held.pop(caller, (self._rate.burst, time))
            left = min(self._rate.burst, left + (time - before) * self._rate.a_second)
            found = 0.0 if left >= 1 else (1 - left) / self._rate.a_second
            self._held[caller] = (left - 1 if left >= 1 else left, time)
            while len(self._held) > _MOST_CALLERS:
                self._held.popitem(last=False)
            return found
