"""The account that a bundle gives of itself, `release.json`, as far as it is the same for every way of asking.

It lists the length and the checksum of every other file, and ends with the digest of all that it says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

from margrave.errors import BundleError
from margrave.files.untrusted import MOST_REPORT
from margrave.publish.bundle.untrusted.json_text import parse
from margrave.publish.bundle.untrusted.reading import Files, safe_name
from margrave.publish.bundle.words import MANIFEST

FORMAT = "margrave-release"
VERSION = 3
"""The newest version of the format: that of other ways of asking than tables. Those are written in version 1, and
large ones in version 2."""
LARGE = 2


@dataclass(frozen=True)
class Checksum:
    """The length of a file in bytes, and its SHA-256 in hexadecimal digits."""

    length: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> Checksum:
        return cls(len(content), sha256(content).hexdigest())

    @classmethod
    def of_pieces(cls, pieces: Iterable[bytes]) -> Checksum:
        """The checksum of pieces put together, of which only one is held."""
        found, length = sha256(), 0
        for piece in pieces:
            found.update(piece)
            length += len(piece)
        return cls(length, found.hexdigest())


class Listed(Protocol):
    """What lists the files of a bundle: the length and checksum of each, and the most bytes that one can have."""

    @property
    def files(self) -> Mapping[str, Checksum]: ...

    @property
    def longest_file(self) -> int: ...


def sealed(found: Mapping[str, Any]) -> bytes:
    """The content of `release.json`: what it says, and the digest of that."""
    return _canonical({**found, "digest": _digest(found)})


def unsealed(content: bytes) -> dict[str, Any]:
    """The inverse of `sealed`: what `release.json` says, if it is as it was written."""
    found = parsed(content)
    _check_number(found["version"])
    digest = found.pop("digest", None)
    if digest != _digest(found) or content != _canonical(found | {"digest": digest}):
        raise BundleError(f"{MANIFEST} was changed after it was written: its digest does not fit")
    return found


def ledger_section(content: bytes) -> Mapping[str, Any] | None:
    """Where a release was charged, by its `release.json`; None without a ledger."""
    try:
        return read_ledger(unsealed(content).get("ledger"))
    except (KeyError, TypeError):
        raise BundleError(f"{MANIFEST} is incomplete or was changed: it cannot be read") from None


def parsed(content: bytes) -> dict[str, Any]:
    """The JSON object, once it is known to be that of a release."""
    found = parse(content, MANIFEST)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BundleError(f"{MANIFEST} is not that of a Margrave release")
    number = found.get("version")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise BundleError(f"{MANIFEST} does not say which version of the format it has")
    return found


def check_version(content: bytes) -> None:
    """Refuse a release of a newer format version; what is not readable at all is left to others to report."""
    try:
        number = parsed(content)["version"]
    except BundleError:
        return
    _check_number(number)


def _check_number(number: int) -> None:
    if number > VERSION:
        raise BundleError(
            f"the release has format version {number} and this Margrave reads up to {VERSION}: use a newer Margrave"
        )


def of_kind(value: Any, kind: type) -> Any:
    """A value of JSON that must be of this very type; a TypeError if it is not."""
    if type(value) is not kind:
        raise TypeError
    return value


def read_ledger(value: Any) -> Mapping[str, Any] | None:
    """Where the release was charged, as `Release.ledger` holds it."""
    if value is None:
        return None
    kinds = {"id": str, "dataset": str, "entry": int, "hash": str, "time": str}
    if of_kind(value, dict).keys() != kinds.keys():
        raise TypeError
    return {name: of_kind(value[name], kind) for name, kind in kinds.items()}


def read_checksum(value: Mapping[str, Any]) -> Checksum:
    return Checksum(of_kind(value["bytes"], int), of_kind(value["sha256"], str))


def _canonical(value: Mapping[str, Any]) -> bytes:
    """One text for one value, in the order it was built."""
    try:
        large = value["version"] != 1
        return ((_lines(value) if large else json.dumps(value, indent=1, ensure_ascii=False)) + "\n").encode()
    except UnicodeEncodeError:
        raise BundleError("a name or a value holds half a character, which is no text: no bundle can hold it") from None
    except RecursionError:
        raise BundleError(f"{MANIFEST} has lists or objects too deep in one another") from None


def _lines(value: Mapping[str, Any]) -> str:
    """A line for each entry and for each measurement: a hundred thousand of them are written and read in a second."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    events = ",\n".join(map(encode, value["events"]))
    texts = (f"[\n{events}\n]" if name == "events" else encode(entry) for name, entry in value.items())
    return "{\n" + ",\n".join(f"{encode(name)}: {text}" for name, text in zip(value, texts, strict=True)) + "\n}"


def _digest(value: Mapping[str, Any]) -> str:
    return sha256(_canonical(value)).hexdigest()


def checked(files: Files, manifest: Listed, name: str) -> bytes:
    """The content of a file, if it is the one that the release was written with."""
    content = files.read(name, _stated(manifest, name).length)
    if Checksum.of(content) != manifest.files[name]:
        raise BundleError(f"{name} was changed after the release was written: its checksum does not fit")
    return content


def check_file(files: Files, manifest: Listed, name: str) -> None:
    """The same for a file whose content is not needed, and so is not held."""
    if Checksum(*files.digest(name, _stated(manifest, name).length)) != manifest.files[name]:
        raise BundleError(f"{name} was changed after the release was written: its checksum does not fit")


def _stated(manifest: Listed, name: str) -> Checksum:
    """What `release.json` says of a file, if such a file can be."""
    checksum = manifest.files.get(name)
    if checksum is None or not safe_name(name):
        raise BundleError(f"release.json does not list {name!r}, or lists a name that no release has")
    if not 0 <= checksum.length <= (MOST_REPORT if name.endswith(".html") else manifest.longest_file):
        raise BundleError(f"release.json gives {name} an impossible length")
    return checksum
