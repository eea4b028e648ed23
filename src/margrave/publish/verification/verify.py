"""Checking a bundle against itself, whichever way of asking it is of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from margrave.errors import MargraveError, VerificationError
from margrave.files.content import Content
from margrave.progress import Progress
from margrave.publish.bundle.account import check_version
from margrave.publish.bundle.untrusted.reading import Files, archived, manifest_content, opened
from margrave.publish.verification.found import Verified
from margrave.publish.verification.signature import PublicKey, signer_of
from margrave.publish.way import check_there
from margrave.publish.ways.registry import way_in


def verify(
    path: str | Path, progress: Progress | None = None, *, bars: bool = False, key: PublicKey | None = None
) -> Verified:
    """Check a whole bundle; a VerificationError names the first thing that does not fit.

    ``bars``: simulate error bars again from their seed, which takes as long as it took to make them. ``key``: whose
    signature there must be; without one, a signature that is there must fit, whoever made it.
    """
    with opened(Path(path)) as files:
        return _verified(files, progress, bars, key)


def verify_stored(content: Content) -> Verified:
    """Check a whole bundle that is held as one archive."""
    with archived(content) as files:
        return _verified(files, None, False, None)


def _verified(files: Files, progress: Progress | None, bars: bool, key: PublicKey | None) -> Verified:
    check_there(files)
    content = manifest_content(files)
    check_version(content)
    try:
        signer = signer_of(files, content, key)
        return replace(way_in(files).verify(files, progress, bars), signer=signer)
    except VerificationError:
        raise
    except MargraveError as error:
        raise VerificationError(str(error)) from None
