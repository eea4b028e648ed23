"""Whatever is charged to a ledger: in which order it is reserved, drawn, kept and committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from margrave.errors import BundleError, MargraveError, UsageError
from margrave.files.content import Content
from margrave.ledger.values import Charge, ChargedBundle, Head, Request
from margrave.planning.asked import Asked
from margrave.publish.bundle.account import ledger_section
from margrave.publish.bundle.untrusted.reading import manifest_content, opened
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.verification.signature import signer_of

if TYPE_CHECKING:
    from margrave.ledger.ledger import Ledger

A = TypeVar("A", bound=Asked, contravariant=True)
M = TypeVar("M")
R = TypeVar("R", covariant=True)


class Pack(Protocol[A, M, R]):
    """How one way of asking writes for a ledger to keep: noisy answers as drawn, and what is published of them.

    ``A`` is asked, ``M`` is what was measured, ``R`` what is published. ``at_once``: whether `write` only writes the
    noisy answers down, so that nothing is worked out between drawing and committing.
    """

    at_once: bool

    def check(self, asked: A) -> None:
        """Refuse what could not be kept, before anything is spent on it."""

    def keep(self, asked: A, drawn: M) -> Content:
        """Noisy answers as bytes. How many depends on what is asked, and never on the data."""

    def kept(self, asked: A, content: Content) -> M:
        """The inverse of `keep`. What does not fit is refused."""

    def write(self, asked: A, drawn: M, charge: Mapping[str, Any]) -> tuple[Content, str]:
        """What is published, which says where it was charged, and its identity: a SHA-256."""

    def read(self, content: Content) -> R:
        """What is published, from the bytes of `write`."""


class Uncharged:
    """The pack of a way of asking that spends nobody's budget: all that a ledger would do with it is refused."""

    def __init__(self, reason: str) -> None:
        """``reason``: why there is nothing to charge, as a sentence."""
        self._reason = reason

    at_once = True

    def _refuse(self, *asked: Any) -> Any:
        raise UsageError(self._reason)

    check = keep = kept = write = read = _refuse


def charged(ledger: Ledger, asked: A, request: Request, draw: Callable[[], M], pack: Pack[A, M, R]) -> R:
    """What is published of what is asked, once it is charged."""
    return pack.read(charged_content(ledger, asked, request, draw, pack))


def charged_content(ledger: Ledger, asked: A, request: Request, draw: Callable[[], M], pack: Pack[A, M, R]) -> Content:
    """Reserve, draw, keep, commit: in this order, so that whatever is interrupted, nothing is there without its charge.

    This is the only way to spend; what comes back is what the ledger keeps. What can be known without data comes first:
    whether the ledger could keep the answer.

    Noisy answers are kept as soon as they are drawn, by themselves or with the answer that they are. Whatever fails
    afterwards is repeated from them: drawing again until it succeeds would be another, dearer question. A failure costs
    no more and no less than an answer.
    """
    _check_request(asked, request)
    pack.check(asked)
    charge = ledger.reserve(request)
    if charge.content is None and charge.drawn is None:
        with noted(ledger, charge):
            answers = pack.keep(asked, draw())
        written = _at_once(asked, answers, charge, pack)
        if written is not None:
            return ledger.commit(charge, *written)
        charge = ledger.keep(charge, answers)
    if charge.content is not None:
        return charge.content
    assert charge.drawn is not None
    with noted(ledger, charge):
        content, identity = pack.write(asked, pack.kept(asked, charge.drawn), _section(charge))
    return ledger.commit(charge, content, identity)


def _at_once(asked: A, answers: Content, charge: Charge, pack: Pack[A, M, R]) -> tuple[Content, str] | None:
    """What is published, where it needs no more than to be written down: keeping and committing are then one step.

    None where it must be worked out, or could not be written: then the noisy answers are kept by themselves first.
    """
    if pack.at_once:
        with suppress(Exception):
            return pack.write(asked, pack.kept(asked, answers), _section(charge))
    return None


def _check_request(asked: Asked, request: Request) -> None:
    """What is charged is what is asked."""
    if (request.question, request.cost, request.notion) != (asked.question, asked.cost, asked.notion):
        raise UsageError("a request must be for what is asked: its question, its cost and whom it protects")


@contextmanager
def noted(ledger: Ledger, charge: Charge) -> Iterator[None]:
    """Has the ledger note, for the curator, what failed once data may have been touched."""
    try:
        yield
    except Exception as error:
        # What failed is to be told first, and not that it could not be noted as well.
        with suppress(MargraveError):
            ledger.void(charge, touched=True, reason=type(error).__name__)
        raise


def _section(charge: Charge) -> dict[str, Any]:
    """What a bundle says of its charge."""
    head = charge.head
    return {
        "id": head.ledger,
        "dataset": str(charge.dataset),
        "entry": head.number,
        "hash": head.hash,
        "time": charge.time,
    }


def published_in(path: str | Path) -> Iterator[ChargedBundle]:
    """What the bundles at a path, or in a folder, say of their charges. Those made without a ledger say nothing."""
    place = Path(path)
    if not place.exists():
        raise UsageError(f"{place}: there is no such folder or file")
    inside = sorted(place.iterdir()) if place.is_dir() and not (place / MANIFEST).exists() else [place]
    for one in inside:
        if one.suffix.lower() == ".zip" or (one / MANIFEST).exists():
            found = _published(one)
            if found is not None:
                yield found


def _published(place: Path) -> ChargedBundle | None:
    with opened(place) as files:
        if MANIFEST not in files.names:
            return None
        content = manifest_content(files)
        signer = signer_of(files, content)
    section = ledger_section(content)
    if section is None:
        return None
    try:
        head = Head(section["id"], section["entry"], section["hash"])
    except (KeyError, UsageError):
        raise BundleError(f"{place}: {MANIFEST} does not say where its ledger stood") from None
    return ChargedBundle(str(place), head, sha256(content).hexdigest(), None if signer is None else signer.raw.hex())
