"""Whether the account that a bundle gives of itself will have room: known from the plan, before anything is spent."""

from __future__ import annotations

import json

from margrave.algebra.domain import Margin
from margrave.errors import RefusedError
from margrave.files.untrusted import MOST_MANIFEST
from margrave.planning.plan import Plan
from margrave.publish.bundle.parts.layout import is_large
from margrave.publish.bundle.words import MANIFEST

_PER_NAME, _PER_ITEM, _FIXED = 12, 500, 20_000
"""Bytes around a name in a list, of an event or a table beside its names, and those that are always there."""
_PER_TABLE = 4
"""How often the attributes of a wanted table are listed at most: with its files, and how far its counts were moved."""


def manifest_bytes_at_most(plan: Plan) -> int:
    """No fewer bytes than `release.json` will have, and not many times as many."""
    domains = (plan.domain, plan.spec.domain)
    sizes = {one.name: len(json.dumps(one.name)) + _PER_NAME for domain in domains for one in domain}

    def listed(margin: Margin) -> int:
        return _PER_ITEM + sum(sizes[name] for name in margin)

    # Titles, facts and words of the guarantee repeat what the spec says, twice at most.
    said = 3 * len(json.dumps(plan.spec.public_dict(), indent=1))
    events = sum(2 * listed(one.query.margin) for one in plan.measurements)
    # That of a large release does not list its wanted tables: `contents.parquet` does.
    wanted = () if is_large(plan) else plan.spec.margins
    tables = sum(_PER_TABLE * listed(margin) for margin in (*wanted, *plan.exact))
    return _FIXED + said + events + tables


def check_manifest(plan: Plan) -> None:
    """Refuse a release whose `release.json` would be longer than any that is read."""
    most = manifest_bytes_at_most(plan)
    if most > MOST_MANIFEST:
        raise RefusedError(
            f"{MANIFEST} could take {most / 2**20:.0f} MiB, and up to {MOST_MANIFEST / 2**20:.0f} MiB are read: "
            "divide the tables between several releases, or give attributes and values shorter names"
        )
