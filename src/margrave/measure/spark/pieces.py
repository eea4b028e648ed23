"""Parquet files that workers read themselves, by Arrow: listed where the program runs, cut into pieces, and shared out.

A piece is the row groups of a file whose middle lies between two of its bytes, so that nobody has to open a file to cut
it. What was listed must be what is read: a file that changes in between, or between two tries of a task, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet

from margrave.errors import DataError
from margrave.files.extensions import PARQUET
from margrave.measure.failures import guarded
from margrave.measure.sources.files.parquet import Parquet, constants_of, open_parquet
from margrave.measure.sources.registry import check_columns

_LEAST, _MOST = 1 << 20, 1 << 30
"""Bytes of a share: of fewer its counts would be the larger part, of more a task that is lost is lost work."""
_SHARES = 2
"""Shares for each task that runs at a time, so that none waits long for the last."""


@dataclass(frozen=True)
class Piece:
    """The bytes from ``start`` to ``stop`` of a file, by its number; all of it are ``size``, last ``changed`` then."""

    file: int
    path: str = field(repr=False)
    size: int
    changed: int | None
    start: int
    stop: int


@dataclass(frozen=True)
class ParquetFiles:
    """Files below one place, or one file. ``nested``: the place is a folder, whose paths below it can hold values."""

    place: str
    nested: bool
    files: tuple[Piece, ...] = field(repr=False)

    @cached_property
    def filesystem(self) -> Any:
        return guarded(lambda: filesystem_of(self.place)[0], _trouble(self.place, self.nested))

    def __getstate__(self) -> dict[str, Any]:
        return {"place": self.place, "nested": self.nested, "files": self.files}

    def opened(self, piece: Piece) -> Parquet:
        """The piece as a source of records."""
        return guarded(lambda: self._opened(piece), _trouble(self.place, self.nested))

    def check(self, piece: Piece) -> None:
        """Refuse a file that is no longer what was listed."""
        found = guarded(lambda: self.filesystem.get_file_info(piece.path), _trouble(self.place, self.nested))
        if found.size != piece.size or found.mtime_ns != piece.changed:
            raise DataError(
                f"{_where(self.place, self.nested)} has changed while it was counted: see that nobody writes it, and "
                "try again"
            )

    def _opened(self, piece: Piece) -> Parquet:
        self.check(piece)
        root = filesystem_of(self.place)[1]
        below = PurePosixPath(piece.path).relative_to(root) if self.nested else PurePosixPath()
        file = self.filesystem.open_input_file(piece.path)
        groups = tuple(_between(pa.parquet.ParquetFile(file).metadata, piece))
        return replace(open_parquet(file, constants_of(below), _trouble(self.place, self.nested)), groups=groups)

    def shares(self, slots: int) -> tuple[tuple[Piece, ...], ...]:
        """The files cut up for about twice as many tasks as can run at a time."""
        total = sum(one.size for one in self.files)
        share = min(_MOST, max(_LEAST, -(-total // (_SHARES * slots))))
        pieces = [piece for one in self.files for piece in _cut(one, share)]
        shares: list[list[Piece]] = [[]]
        held = 0
        for piece in pieces:
            if shares[-1] and held + piece.stop - piece.start > share:
                shares.append([])
                held = 0
            shares[-1].append(piece)
            held += piece.stop - piece.start
        return tuple(tuple(one) for one in shares if one)


@dataclass(frozen=True)
class Pieces:
    """Pieces of files as one source: each is opened when the one before is read."""

    columns: tuple[str, ...]
    files: ParquetFiles = field(repr=False)
    pieces: Sequence[Piece] = field(repr=False)
    total: int | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for piece in self.pieces:
            source = self.files.opened(piece)
            try:
                check_columns(source, columns)
            except DataError as error:
                raise DataError(f"file {piece.file + 1} of {len(self.files.files)}: {error}") from None
            yield from source.batches(columns)
            self.files.check(piece)


def filesystem_of(place: str) -> tuple[Any, str]:
    """Where a place is, and its path there. A path without a scheme is one of the machine that reads it."""
    if "://" in place:
        filesystem, path = pa.fs.FileSystem.from_uri(place)
        return filesystem, path
    return pa.fs.LocalFileSystem(), str(Path(place).absolute())


def listed(place: str) -> ParquetFiles:
    """The Parquet files at a place, in the order of their paths."""

    def found() -> tuple[bool, list[Any]]:
        filesystem, path = filesystem_of(place)
        info = filesystem.get_file_info(path)
        if info.type != pa.fs.FileType.Directory:
            return False, [info] if info.type == pa.fs.FileType.File else []
        return True, [
            one
            for one in filesystem.get_file_info(pa.fs.FileSelector(path, recursive=True))
            if one.type == pa.fs.FileType.File and _is_data(PurePosixPath(one.path).relative_to(path))
        ]

    nested, infos = guarded(found, f"{place} cannot be listed: check the path, and that it may be read from here")
    if not infos:
        raise DataError(f"{place} is no Parquet file, and no folder with any ({', '.join(PARQUET)})")
    infos.sort(key=lambda info: info.path)
    pieces = [Piece(number, one.path, one.size, one.mtime_ns, 0, one.size) for number, one in enumerate(infos)]
    return ParquetFiles(place, nested, tuple(pieces))


def _is_data(path: PurePosixPath) -> bool:
    """What begins with a dot or an underscore is not data."""
    return path.suffix.lower() in PARQUET and not any(part.startswith((".", "_")) for part in path.parts)


def _cut(file: Piece, share: int) -> Iterator[Piece]:
    number = max(1, -(-file.size // share))
    for part in range(number):
        yield replace(file, start=file.size * part // number, stop=file.size * (part + 1) // number)


def _between(metadata: Any, piece: Piece) -> Iterator[int]:
    """The row groups whose middle lies in the piece."""
    for number in range(metadata.num_row_groups):
        columns = [metadata.row_group(number).column(place) for place in range(metadata.num_columns)]
        starts = (min(filter(None, (one.dictionary_page_offset, one.data_page_offset))) for one in columns)
        middle = min(starts) + sum(one.total_compressed_size for one in columns) // 2
        if piece.start <= middle < piece.stop:
            yield number


def _where(place: str, nested: bool) -> str:
    """In a folder, errors name the folder, since the path below it may hold values."""
    return f"a file in {place}" if nested else place


def _trouble(place: str, nested: bool) -> str:
    return (
        f"{_where(place, nested)} cannot be read as Parquet: every worker needs it under the same path and may have to "
        "be given access, or it may be damaged"
    )
