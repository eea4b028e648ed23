"""What may be said about data that does not fit: the column, the rule and how many records, never a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from margrave.errors import DataError, MargraveError
from margrave.measure.looks import Look

NO_LOOKS: Mapping[Look, int] = MappingProxyType({})
"""Of records of which nothing is said but how many they are."""

Step = TypeVar("Step")


def guarded(step: Callable[[], Step], text: str) -> Step:
    """The result of the step; any foreign exception becomes a DataError with the given text and nothing else.

    Readers print offending values in their errors. The new error is raised outside the handler, so that not even its
    ``__context__`` leads back to the old one.
    """
    try:
        return step()
    except MargraveError:
        raise
    except Exception:
        pass
    raise DataError(text)


def records(count: int) -> str:
    """``1 record``, ``2 records``."""
    return f"{count:,} record{'' if count == 1 else 's'}"


class Failures:
    """Counts the records that break each rule over a whole pass, and reports all of them in one error."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._looks: dict[tuple[str, str, str], Counter[Look]] = {}
        self._rows = 0

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __repr__(self) -> str:
        return "<Failures>"

    def saw(self, rows: int) -> None:
        """Notes that so many records were looked at, so that at the end most of them can be told from few."""
        self._rows += rows

    def add(self, place: str, rule: str, remedy: str, count: int, looks: Mapping[Look, int] = NO_LOOKS) -> None:
        """Adds ``count`` records that break the rule at the place (``column 'age'``), and what they look like."""
        if count:
            self._counts[place, rule, remedy] += count
            self._looks.setdefault((place, rule, remedy), Counter()).update(looks)

    def merge(self, other: Failures) -> None:
        """Adds what another pass over other records has found."""
        self._rows += other._rows
        for key, count in other._counts.items():
            self.add(*key, count, other._looks[key])

    def in_order(self, places: Sequence[str]) -> None:
        """Puts what several passes found in the order of the places, and within a place in that of the rules' words."""
        rank = {place: number for number, place in enumerate(places)}
        ordered = sorted(self._counts.items(), key=lambda item: (rank.get(item[0][0], len(rank)), item[0]))
        self._counts = Counter(dict(ordered))

    def plain(self) -> dict[str, Any]:
        """All of it as texts and numbers, to be handed on; no value is among them."""
        found = [
            [*key, count, {look.name: number for look, number in self._looks[key].items()}]
            for key, count in self._counts.items()
        ]
        return {"rows": self._rows, "found": found}

    @classmethod
    def from_plain(cls, form: Mapping[str, Any]) -> Failures:
        """The same again."""
        failures = cls()
        failures.saw(form.get("rows", 0))
        for place, rule, remedy, count, looks in form.get("found", ()):
            failures.add(place, rule, remedy, count, {Look[name]: number for name, number in looks.items()})
        return failures

    def check(self) -> None:
        """Raises one DataError that lists every broken rule, if there is any."""
        if not self._counts:
            return
        lines = [
            f"  {place} {rule}: {records(count)} break{'s' if count == 1 else ''} this; "
            + self._remedy(remedy, count, self._looks[place, rule, remedy])
            for (place, rule, remedy), count in self._counts.items()
        ]
        raise DataError("\n".join(["the data does not fit the spec", *lines]))

    def _remedy(self, remedy: str, count: int, looks: Counter[Look]) -> str:
        """What to do. Where most of a column breaks a rule, a value for the rest would only hide that."""
        look = next((look for look, number in looks.most_common(1) if 2 * number > count), None)
        if look is not None and look.remedy is not None:
            return f"they look like {look.words}: {look.remedy}"
        if not looks or 2 * count <= self._rows or not self._rows:
            return remedy
        seen = "they look like no one kind" if look is None else f"they look like {look.words}"
        return f"these are most of its records, and {seen}: compare what is declared with the codebook of the data"
