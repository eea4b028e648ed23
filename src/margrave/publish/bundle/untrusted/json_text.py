"""JSON from somebody else: how many values it has is counted before any of them is made."""

from __future__ import annotations

import json
from typing import Any

from margrave.errors import BundleError
from margrave.files.untrusted import CONTAINER_BYTES, MOST_CONTAINERS, MOST_ENTRIES

_SPARE = 1 << 10
"""Lists and objects of which no bytes are asked."""


def parse(content: bytes, name: str) -> Any:
    """The value that the JSON text of a file stands for."""
    containers = content.count(b"{") + content.count(b"[")
    most = min(MOST_CONTAINERS, _SPARE + len(content) // CONTAINER_BYTES)
    if containers > most or content.count(b",") > MOST_ENTRIES:
        raise BundleError(f"{name} has more lists, objects or values than that of any release")
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError):
        raise BundleError(f"{name} is not readable as JSON: it was changed or cut short") from None
