"""Questions about rows that somebody made up: exact sums and seeded answers, from a store that is gone afterwards.

Whoever rehearses gives all rows, and learns nothing of anybody. No ledger knows such a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from margrave.measure.questions.engine import Engine, Integers, noisy_answer
from margrave.measure.questions.opening import open_data
from margrave.noise import Generator
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.question import PricedQuestion


class Rehearsal:
    """A store of made-up rows, recoded and asked as any other. Use it as a context."""

    def __init__(self, spec: DataSpec, data: Mapping[str, Any]) -> None:
        self._folder = TemporaryDirectory(prefix="margrave-")
        place = Path(self._folder.name) / "store"
        try:
            open_data(spec, data, place)
            self._engine = Engine(place)
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()
        self._folder.cleanup()

    def exact(self, question: PricedQuestion) -> Integers:
        """The sums that noise would be added to: groups × grid × parts."""
        return self._engine.exact(question.sought)

    def noisy(self, question: PricedQuestion, generator: Generator) -> list[int]:
        """The answer with noise from a generator of one's own."""
        return noisy_answer(self._engine, question, generator)
