"""What a source is, and the kinds that there are. Each is a small file that registers itself when it is imported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from margrave.errors import DataError, UsageError, suggest
from margrave.spec.dialect import Dialect


class Source(Protocol):
    """Records that can be streamed. ``total`` is their number where that is cheap to know, for progress only."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def total(self) -> int | None: ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of just these columns, in this order; with no columns, batches of any one, for counting records."""


@dataclass(frozen=True)
class ColumnLabels:
    """What the header of a file says of a column: its ``title``, and words for its ``values``. Taken to be public."""

    title: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class Labelled(Protocol):
    """A source whose header says what its columns and values mean."""

    @property
    def labels(self) -> Mapping[str, ColumnLabels]: ...


@dataclass(frozen=True)
class SourceKind:
    """One kind of data that can be opened.

    ``accepts``: whether it can open what it is given; no two kinds accept the same, except that one which is
    ``general`` is asked only when none of the others does. ``open``: from the data, and the folder that paths are
    relative to. ``extensions``: those of its files, if it has files. ``open_as`` opens text that is written in a
    dialect of its own; None where data says itself how it is written.
    """

    name: str
    accepts: Callable[[Any], bool]
    open: Callable[[Any, Path], Source]
    extensions: tuple[str, ...] = ()
    general: bool = False
    open_as: Callable[[Any, Path, Dialect], Source] | None = None


@dataclass(frozen=True)
class FileKind:
    """One kind of file, known by its ``extensions``, after which one of ``compressions`` may follow.

    ``in_folder``: opens a file as a part of a folder; None where folders of such files are not read. ``open_as`` opens
    text that is written in a dialect of its own; None where a file says itself how it is written.
    """

    name: str
    extensions: tuple[str, ...]
    open: Callable[[Path], Source]
    compressions: tuple[str, ...] = ()
    in_folder: Callable[[Path, Path], Source] | None = None
    open_as: Callable[[Path, Dialect], Source] | None = None

    def accepts(self, path: Path) -> bool:
        """Whether a file is of this kind, by its name."""
        suffixes = [suffix.lower() for suffix in path.suffixes]
        packed = len(suffixes) > 1 and suffixes[-1] in self.compressions
        return bool(suffixes) and suffixes[-2 if packed else -1] in self.extensions


_URL = re.compile(r"[A-Za-z][\w+.-]+:/")

_SOURCES: dict[str, SourceKind] = {}
_FILES: dict[str, FileKind] = {}


def register(kind: SourceKind | FileKind) -> None:
    """Make a kind of source, or of file, known by its name."""
    if kind.name in _SOURCES or kind.name in _FILES:
        raise UsageError(f"there is a source {kind.name!r} already")
    if isinstance(kind, SourceKind):
        _SOURCES[kind.name] = kind
    else:
        _FILES[kind.name] = kind


def source_kinds() -> tuple[SourceKind, ...]:
    """All kinds, those that are general last."""
    return tuple(sorted(_SOURCES.values(), key=lambda kind: (kind.general, kind.name)))


def file_kinds() -> tuple[FileKind, ...]:
    """All kinds of file."""
    return tuple(sorted(_FILES.values(), key=lambda kind: kind.name))


def kind_of_file(path: Path) -> str | None:
    """The name of the kind that a file is of, by its name."""
    return next((kind.name for kind in file_kinds() if kind.accepts(path)), None)


def is_url(data: str | Path) -> bool:
    """Whether text is a URL; one letter before the colon is a drive, and a Path keeps only one of two slashes."""
    return _URL.match(str(data)) is not None


def names_part(data: Any, extensions: tuple[str, ...]) -> bool:
    """Whether data names a file with one of these extensions, with or without a part of it behind ``?``."""
    if not isinstance(data, str | Path) or is_url(data):
        return False
    return Path(str(data).partition("?")[0]).suffix.lower() in extensions


def no_dialect(name: str) -> UsageError:
    """Only delimited text can be written in this way or that."""
    return UsageError(f"delimiter and encoding are of delimited text, which {name} are not: leave them out of [data]")


def check_columns(source: Source, wanted: Sequence[str]) -> None:
    """Every wanted column must be there exactly once; column names are public."""
    times = Counter(source.columns)
    for name in wanted:
        if not times[name]:
            close = suggest(name, times)
            none = not close and len(wanted) > 1 and not any(times[other] for other in wanted)
            more = ", nor any other that is asked for: does its first line name the columns?" if none else close
            raise DataError(f"the data has no column {name!r}{more}")
        if times[name] > 1:
            raise DataError(f"the data has {times[name]} columns called {name!r}: rename all but one")
