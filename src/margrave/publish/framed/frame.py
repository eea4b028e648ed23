"""What `release.json` says of a release of any way of asking: who made it, what it guarantees, which files it has.

Tables have a manifest of their own, which is older (`margrave.publish.bundle.manifest`); this is the same frame around
what another way asks and publishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from margrave.errors import BundleError, MargraveError
from margrave.files.untrusted import MOST_REPORT
from margrave.planning.asked import Asked
from margrave.publish.bundle.account import FORMAT, VERSION, Checksum, of_kind, read_checksum, read_ledger, unsealed
from margrave.publish.bundle.forms import Forms
from margrave.publish.bundle.words import NOT_PRIVATE, composition


class Framed(Protocol):
    """What is published, whichever way of asking it is of: a value of noisy numbers and what follows from them.

    ``ledger`` says where it was charged, if anywhere.
    """

    @property
    def plan(self) -> Asked: ...

    @property
    def private(self) -> bool: ...

    @property
    def ledger(self) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True)
class Made:
    """What `release.json` says of how a bundle was written, and when, rather than of what is in it."""

    software: str
    forms: Forms
    created: str | None
    files: Mapping[str, Checksum]


@dataclass(frozen=True)
class Frame:
    """What `release.json` says, checked as far as it is the same for all ways; ``said`` is all of it."""

    made: Made
    private: bool
    ledger: Mapping[str, Any] | None
    said: Mapping[str, Any]

    @property
    def files(self) -> Mapping[str, Checksum]:
        return self.made.files

    @property
    def longest_file(self) -> int:
        return MOST_REPORT


def frame_json(
    outcome: Framed, made: Made, spec: Mapping[str, Any], published: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What `release.json` says: ``spec``, what was asked, and ``published``, what is told of the answers."""
    asked = outcome.plan
    found: dict[str, Any] = {"format": FORMAT, "version": VERSION, "way": asked.way, "software": made.software}
    found["forms"] = made.forms.as_dict()
    if asked.title:
        found["title"] = asked.title
    found["private"] = outcome.private
    if not outcome.private:
        found["warning"] = NOT_PRIVATE
    if made.created is not None:
        found["created"] = made.created
    if outcome.ledger is not None:
        found["ledger"] = dict(outcome.ledger)
    return found | {
        "guarantee": {"cost": asked.cost.as_dict(), "words": list(asked.words())},
        "composition": composition(outcome.ledger, asked.way),
        "spec": dict(spec),
        "events": list(asked.events),
        "disclosed": list(asked.disclosed),
        "published": None if published is None else dict(published),
        "files": {name: {"bytes": one.length, "sha256": one.sha256} for name, one in made.files.items()},
    }


@contextmanager
def reading_manifest() -> Iterator[None]:
    """Whatever ``release.json`` says that cannot be is an error about the bundle."""
    try:
        yield
    except BundleError:
        raise
    except MargraveError as error:
        raise BundleError(f"release.json contradicts itself: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        raise BundleError("release.json is incomplete or was changed: it cannot be read") from None


def read_frame(content: bytes) -> Frame:
    """The inverse of `frame_json`, if it is as it was written."""
    said = unsealed(content)
    try:
        created = said.get("created")
        made = Made(
            of_kind(said["software"], str),
            Forms(**said["forms"]),
            None if created is None else of_kind(created, str),
            {name: read_checksum(one) for name, one in said["files"].items()},
        )
        return Frame(made, of_kind(said["private"], bool), read_ledger(said.get("ledger")), said)
    except MargraveError as error:
        raise BundleError(f"release.json contradicts itself: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BundleError("release.json is incomplete or was changed: it cannot be read") from None
