"""Adding reports up. What is kept of them, sums over many, is private by construction: each report was, by itself."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from margrave.crossing import Collected
from margrave.errors import DataError, UsageError
from margrave.files.writing import replace_file
from margrave.local import STANDARD_INPUT
from margrave.local.kept import Kept, is_kept, kept_bytes, read_kept
from margrave.local.memory import alone
from margrave.local.reports import TOKEN, question_digits, read_symbols
from margrave.local.tokens import Allowed, AnyToken, token_hash
from margrave.planning.local.plan import LocalPlan
from margrave.progress import Progress

_TOGETHER = 1 << 16
"""Symbols of one question that are added up at a time."""
_CHUNK = 1 << 24
_LONGEST = 1 << 14
"""Bytes of a line that could be a report: the longest symbol has some thousand digits."""
_HEADER = b"plan,question,symbol,token"

OTHER, MALFORMED, RANGE = "of another plan", "malformed", "out of range"
UNKNOWN, DUPLICATE = "token never issued", "token used before"
REFUSALS = (OTHER, MALFORMED, RANGE, UNKNOWN, DUPLICATE)
"""Why a report is refused."""


class Collector:
    """What has been collected so far for a plan."""

    def __init__(self, plan: LocalPlan, allowed: Allowed | None = None, before: Kept | None = None) -> None:
        """``allowed``: the tokens that were handed out, where others are to be refused. ``before``: what goes on."""
        if allowed is not None and plan.spec.shuffler is not None:
            raise UsageError("reports to a shuffler carry no token: it is the shuffler who checks which were issued")
        self.plan = plan
        self._allowed = AnyToken() if allowed is None else allowed
        self._tallies = [np.zeros(one.mechanism.tally_shape, dtype=np.int64) for one in plan.questions]
        self._counts = [0] * len(plan.questions)
        self._refused: Counter[str] = Counter()
        self.tokens: set[bytes] = set()
        """The hashes of those that were used."""
        if before is not None:
            self._tallies = [one.copy() for one in before.collected.tallies]
            self._counts = list(before.collected.counts)
            self._refused.update(before.collected.refused)
            self.tokens.update(before.tokens or ())
        self._waiting: list[list[bytes]] = [[] for _ in plan.questions]
        digits = question_digits(plan)
        self._numbers = {f"{number:0{digits}x}".encode(): number for number in range(len(plan.questions))}

    def add(self, lines: Iterable[bytes]) -> None:
        """Take reports, a line each; those refused are counted by kind. Of equal tokens the first counts.

        A token is used up by the first report that is written as one, even if its symbol then turns out to be none.
        """
        own, numbers, waiting, tokens = self.plan.hash.encode(), self._numbers, self._waiting, self.tokens
        widths = [one.mechanism.digits for one in self.plan.questions]
        shuffled, refused, token_like = self.plan.spec.shuffler is not None, self._refused, TOKEN.fullmatch
        allowed, hash_ = self._allowed, self.plan.hash
        for line in lines:
            parts = line.split(b",")
            if len(parts) != 4:
                if line:
                    refused[MALFORMED] += 1
                continue
            plan, question, symbol, token = parts
            if plan != own:
                refused[_other(line)] += line != _HEADER
                continue
            number = numbers.get(question)
            if number is None or len(symbol) != widths[number]:
                refused[RANGE if number is None and len(question) == len(next(iter(numbers))) else MALFORMED] += 1
            elif token if shuffled else token_like(token) is None:
                refused[MALFORMED] += 1
            elif not shuffled and (hashed := token_hash(hash_, token)) not in allowed:
                refused[UNKNOWN] += 1
            elif not shuffled and hashed in tokens:
                refused[DUPLICATE] += 1
            else:
                if not shuffled:
                    tokens.add(hashed)
                waiting[number].append(symbol)
                if len(waiting[number]) >= _TOGETHER:
                    self._count(number)

    def _count(self, number: int) -> None:
        """Add up the symbols of a question that wait for it."""
        texts, self._waiting[number] = self._waiting[number], []
        if not texts:
            return
        mechanism = self.plan.questions[number].mechanism
        columns, good = read_symbols(mechanism, texts)
        self._refused[RANGE] += int((~good).sum())
        if good.any():
            self._tallies[number] += mechanism.tally(columns)
            self._counts[number] += int(good.sum())

    def collected(self) -> Collected:
        """Everything taken so far."""
        for number in range(len(self._waiting)):
            self._count(number)
        refused = {kind: self._refused[kind] for kind in REFUSALS if self._refused[kind]}
        return Collected(tuple(one.copy() for one in self._tallies), tuple(self._counts), refused)


def _other(line: bytes) -> str:
    """Whether a line with another hash than the plan's is a report of another plan, or none at all."""
    hash_ = line.partition(b",")[0]
    return OTHER if len(hash_) == 16 and all(byte in b"0123456789abcdef" for byte in hash_) else MALFORMED


def collect(
    plan: LocalPlan,
    sources: Iterable[str | Path],
    progress: Progress | None = None,
    allowed: Allowed | None = None,
) -> Collected:
    """The reports of files, of all files of folders, and of standard input (``-``); or what was kept of them before.

    ``allowed``: the tokens that were handed out, where others are to be refused.
    """
    listed = list(sources)
    if len(listed) == 1 and is_kept(Path(listed[0])):
        if allowed is not None:
            raise UsageError(f"{listed[0]} holds sums, and no tokens: give the issued ones when reports are collected")
        return read_kept(plan, Path(listed[0])).collected
    return _collect(Collector(plan, allowed), listed, progress).collected()


def collect_into(
    path: Path,
    plan: LocalPlan,
    sources: Iterable[str | Path],
    progress: Progress | None = None,
    allowed: Allowed | None = None,
) -> Collected:
    """Add reports to the collection in a file, which is made if there is none; no token counts twice in all of it."""
    if plan.spec.shuffler is not None:
        raise UsageError("reports to a shuffler carry no token by which one could be found again: collect all at once")
    with alone(path):
        before = read_kept(plan, path) if path.exists() else Kept(Collector(plan).collected(), frozenset())
        if before.tokens is None:
            raise UsageError(f"{path} holds sums alone, without the tokens that were used: begin a new collection")
        collector = _collect(Collector(plan, allowed, before), list(sources), progress)
        collected = collector.collected()
        replace_file(path, kept_bytes(plan, collected, collector.tokens))
    return collected


def _collect(collector: Collector, listed: Sequence[str | Path], progress: Progress | None) -> Collector:
    sums = next((one for one in listed if is_kept(Path(one))), None)
    if sums is not None:  # a file in a folder may be anybody's, and is only counted as malformed
        raise UsageError(
            f"{sums} holds sums, in which no token can be looked up: give it alone, or all reports in one collection"
        )
    for number, source in enumerate(_files(listed)):
        with _opened(source) as handle:
            for lines in _lines(handle):
                collector.add(lines)
        if progress is not None:
            progress(number + 1, None)
    return collector


def _files(sources: Iterable[str | Path]) -> Iterator[str | Path]:
    for source in sources:
        if str(source) == STANDARD_INPUT:
            yield STANDARD_INPUT
            continue
        path = Path(source)
        if not path.exists():
            raise DataError(f"{path} does not exist: name files or folders of reports, or - for standard input")
        found = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        if not found:
            raise UsageError(f"{path} is an empty folder: no report is in it")
        yield from found


def _opened(source: str | Path) -> IO[bytes]:
    if source == STANDARD_INPUT:
        return io.BufferedReader(sys.stdin.buffer)  # type: ignore[type-var]
    try:
        return Path(source).open("rb")
    except OSError as error:
        raise DataError(f"{source} cannot be read: {error.strerror or error}") from None


def _lines(handle: IO[bytes]) -> Iterator[list[bytes]]:
    """The lines of a file, some at a time. One without an end is cut where it is too long to be a report."""
    rest = b""
    while chunk := handle.read(_CHUNK):
        *whole, rest = (rest + chunk).replace(b"\r", b"").split(b"\n")
        rest = rest[: _LONGEST + 1]
        yield [line[: _LONGEST + 1] for line in whole]
    yield [rest]
