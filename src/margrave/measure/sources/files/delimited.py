"""Delimited text: CSV and its relatives, streamed as bytes so that no reader ever interprets a value."""

from __future__ import annotations

import csv
import io
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from margrave.errors import DataError
from margrave.files.extensions import COMPRESSIONS, DELIMITED
from margrave.measure.failures import guarded, records
from margrave.measure.sources.registry import FileKind, register
from margrave.spec.dialect import USUAL, Dialect

_HEAD = 1 << 20
_NO_TEXT = {
    b"PK\x03\x04": "an Excel or OpenDocument workbook, or another ZIP archive,",
    b"PAR1": "a Parquet file",
    b"$FL2@(#)": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
}
"""How files begin that are not delimited text, whatever their names say."""
_BLOCK = 1 << 22
DELIMITERS = (",", "\t", ";", "|")


@dataclass(frozen=True)
class Delimited:
    """One delimited text file with a header line. The header is taken to be public, everything after it is not."""

    path: Path
    columns: tuple[str, ...]
    delimiter: str
    blank_lines: int
    has_records: bool
    total: int | None = None
    encoding: str = USUAL.encoding

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of the columns as dictionaries of bytes. Empty text is not NULL here; recoding decides.

        The last column is always read too, to see how the file ends.
        """
        if not self.has_records:
            return
        ragged: list[None] = []
        trouble = f"{self.path} cannot be read as delimited text: check quotes, line ends and that the file is complete"
        trouble = _trouble(trouble, Dialect(encoding=self.encoding))
        with guarded(lambda: opened(self.path, self.encoding), trouble) as stream:
            reader = guarded(lambda: self._reader(stream, columns, ragged), trouble)
            end: bytes | None = None
            while (batch := guarded(lambda: next(reader, None), trouble)) is not None:
                if batch.num_rows:
                    end = batch.column(batch.num_columns - 1)[-1].as_py()
                    yield pa.RecordBatch.from_arrays(batch.columns[: len(columns) or 1], names=list(columns) or ["0"])
        if end and b"\n" in end:
            # A quote left open in the last column takes all later records with it, and the reader does not mind.
            raise DataError(
                f"{self.path} ends inside a field with line breaks: close the quote, or end with another field"
            )
        if ragged:
            raise DataError(
                f"{self.path}: {records(len(ragged))} {'has' if len(ragged) == 1 else 'have'} more or fewer "
                f"fields than the {len(self.columns)} of the header; correct or quote them"
            )

    def _reader(self, stream: Any, columns: Sequence[str], ragged: list[None]) -> Iterator[pa.RecordBatch]:
        def skip(_: object) -> str:
            ragged.append(None)
            return "skip"

        last = str(len(self.columns) - 1)
        positions = [*(str(self.columns.index(name)) for name in columns), last]
        single = len(self.columns) == 1
        return iter(
            pyarrow.csv.open_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(
                    block_size=_BLOCK,
                    column_names=[str(position) for position in range(len(self.columns))],
                    skip_rows_after_names=1 + self.blank_lines,
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.delimiter,
                    newlines_in_values=True,
                    # In a file of one column a blank line is a record whose value is missing.
                    ignore_empty_lines=not single,
                    invalid_row_handler=skip,
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=positions,
                    column_types=dict.fromkeys(positions, pa.dictionary(pa.int32(), pa.binary())),
                ),
            )
        )


def open_delimited(path: Path, dialect: Dialect = USUAL) -> Delimited:
    """Reads the header alone."""
    complete = f"{path} cannot be read: check that the file is complete and not damaged"
    head = guarded(lambda: head_of(path, dialect.encoding), _trouble(complete, dialect))
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f'{path} is UTF-16 text: write encoding = "utf-16" under [data], or convert it to UTF-8')
    for begins, kind in _NO_TEXT.items():
        if head.startswith(begins):
            raise DataError(f"{path} is no text, but {kind} by its content: give it the ending of what it is")
    text = guarded(lambda: head.decode("utf-8-sig", errors="surrogateescape"), f"{path} has no readable header")
    delimiter = dialect.delimiter or default_delimiter(path, text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    blank_lines = 0
    header = guarded(lambda: next(rows, None), f"{path} has no readable header")
    while header == []:
        blank_lines += 1
        header = guarded(lambda: next(rows, None), f"{path} has no readable header")
    if header is None:
        raise DataError(f"{path} is empty: delimited text needs a header line with the names of the columns")
    if any("\udc80" <= letter <= "\udcff" for name in header for letter in name):
        raise DataError(
            f"{path} has a header that is not UTF-8: name its encoding under [data], such as "
            "encoding = \"windows-1252\" ('margrave init' finds it), or convert the file to UTF-8"
        )
    more = len(head) >= _HEAD or guarded(lambda: next(rows, None), f"{path} cannot be read") is not None
    return Delimited(path, tuple(header), delimiter, blank_lines, more, encoding=dialect.encoding)


def _trouble(text: str, dialect: Dialect) -> str:
    """What is said of a file that cannot be read; a wrong encoding may be the cause."""
    if dialect.encoding == USUAL.encoding:
        return text
    return f"{text}, and that its encoding is {dialect.encoding}, as [data] says"


def default_delimiter(path: Path, text: str) -> str:
    """The first usual delimiter that the header line contains: comma, tab, semicolon, bar; otherwise the comma."""
    if ".tsv" in path.suffixes:
        return "\t"
    line = text.lstrip("\r\n").partition("\n")[0]
    return next((delimiter for delimiter in DELIMITERS if delimiter in line), ",")


def opened(path: Path, encoding: str = USUAL.encoding) -> Any:
    """A stream of the decompressed bytes, as UTF-8."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    if compression == "xz":
        return _as_utf8(pa.PythonFile(lzma.open(path), mode="r"), encoding)
    return _as_utf8(pa.input_stream(str(path), compression=compression), encoding)


def _as_utf8(stream: Any, encoding: str) -> Any:
    return stream if encoding == USUAL.encoding else pa.transcoding_input_stream(stream, encoding, USUAL.encoding)


def head_of(path: Path, encoding: str = USUAL.encoding) -> bytes:
    """The beginning of a file."""
    with opened(path, encoding) as stream:
        parts: list[bytes] = []
        size = 0
        while size < _HEAD and (part := stream.read(_HEAD - size)):
            parts.append(bytes(part))
            size += len(part)
        return b"".join(parts)


register(
    FileKind("delimited text", DELIMITED, open_delimited, compressions=tuple(COMPRESSIONS), open_as=open_delimited)
)
