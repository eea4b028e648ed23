"""A view: what somebody wants to see of a release, as a value with a permanent address (docs/explorer.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from margrave.errors import UsageError
from margrave.messages.catalogue import say

SHARES = ("none", "rows", "columns", "all")
"""What a number is a share of: nothing (it is a count), the total of its row, of its column, or of all."""
ORDERS = ("declared", "largest", "smallest")
CHARTS = ("table", "bars", "heat", "panels")
NUMBERS = ("published", "unbiased")
MOST_ADDRESS = 16_384
"""The longest address that is read, in characters."""

Kept = tuple[tuple[str, tuple[str, ...]], ...]
"""For each attribute that is filtered, the values of the records that count."""
Joined = tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
"""For each attribute with collapsed values, the groups of values that are shown as one."""
_KEEP, _JOIN, _MINUS = "keep.", "join.", "minus."


@dataclass(frozen=True)
class TableView:
    """Attributes down and across, filters, collapsed values, and what is shown of each cell.

    ``minus``: attributes, each with one of its values; every number is then shown less that of these values, or of the
    groups that have them: of one attribute those beside it, of all attributes one and the same cell. ``share`` comes
    first: with both, differences of shares are shown.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    keep: Kept = ()
    join: Joined = ()
    share: str = "none"
    minus: tuple[tuple[str, str], ...] = ()
    order: str = "declared"
    chart: str = "table"
    numbers: str = "published"

    def __post_init__(self) -> None:
        shown = (*self.rows, *self.columns)
        if len(set(shown)) < len(shown):
            raise UsageError(say("a view can have an attribute down or across, and only once"))
        for word, value, known in self.choices():
            if value not in known:
                raise UsageError(
                    say("%(word)s (%(value)r) must be one of %(known)s", word=word, value=value, known=", ".join(known))
                )
        for name, values in self.keep:
            if not values or len(set(values)) < len(values):
                raise UsageError(say("the filter of %(name)r must name values, each once", name=name))
        for name, groups in self.join:
            self._check_groups(name, groups)
        for name, _ in self.minus:
            if name not in shown:
                raise UsageError(say("differences are along %(name)r, so it must be down or across", name=name))

    def choices(self) -> Iterable[tuple[str, str, tuple[str, ...]]]:
        yield "share", self.share, SHARES
        yield "order", self.order, ORDERS
        yield "chart", self.chart, CHARTS
        yield "numbers", self.numbers, NUMBERS

    def _check_groups(self, name: str, groups: tuple[tuple[str, ...], ...]) -> None:
        every = [value for group in groups for value in group]
        if len(set(every)) < len(every) or not all(groups):
            raise UsageError(say("the groups of %(name)r must name values, each once", name=name))
        if name not in (*self.rows, *self.columns):
            raise UsageError(say("values of %(name)r are collapsed, so it must be down or across", name=name))

    @property
    def shown(self) -> tuple[str, ...]:
        """The attributes down, then those across."""
        return (*self.rows, *self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """All attributes that the view speaks of: shown, or filtered by."""
        return (*self.shown, *(name for name, _ in self.keep if name not in self.shown))

    def address(self) -> str:
        """The view as a query string. Equal views have equal addresses, and `read` makes the same view of it again."""
        return urlencode(pairs_of(self))


def pairs_of(view: TableView) -> list[tuple[str, str]]:
    """The words of the address of a view, each with its value; those that are as usual are left out."""
    pairs = [("rows", name) for name in view.rows] + [("columns", name) for name in view.columns]
    pairs += [(_KEEP + name, value) for name, values in view.keep for value in values]
    pairs += [
        (_JOIN + name, f"{number}:{value}")
        for name, groups in view.join
        for number, group in enumerate(groups, 1)
        for value in group
    ]
    pairs += [(_MINUS + name, value) for name, value in view.minus]
    plain = TableView()
    return pairs + [(word, value) for word, value, _ in view.choices() if value != getattr(plain, word)]


def read(address: str, numbers: str = "published") -> TableView:
    """The view that an address names. Words without a value are as if left out: forms send these.

    ``numbers``: the kind that is meant where the address names none.
    """
    if len(address) > MOST_ADDRESS:
        raise UsageError(say("the address of a view has at most %(count)s characters", count=f"{MOST_ADDRESS:,}"))
    try:
        pairs = parse_qsl(address, max_num_fields=1000, errors="strict")
    except ValueError:
        text = say("the address of this view cannot be read: it has too many parts, or is not UTF-8")
        raise UsageError(text) from None
    many: dict[str, list[str]] = {}
    for word, value in pairs:
        many.setdefault(word, []).append(value)
    single = {word: _only(word, many.pop(word)) for word in ("share", "order", "chart", "numbers") if word in many}
    rows, columns = tuple(many.pop("rows", ())), tuple(many.pop("columns", ()))
    keep = _prefixed(many, _KEEP)
    join = tuple((name, _groups(name, values)) for name, values in _prefixed(many, _JOIN))
    minus = tuple((name, _only(_MINUS + name, values)) for name, values in _prefixed(many, _MINUS))
    if many:
        raise UsageError(say("the address of a view has no word %(word)r", word=min(many)))
    groups = tuple((name, found) for name, found in join if found)
    return TableView(rows, columns, keep, groups, minus=minus, **{"numbers": numbers, **single})


def _only(word: str, values: Sequence[str]) -> str:
    if len(values) != 1:
        raise UsageError(say("the address of a view has %(word)r only once", word=word))
    return values[0]


def _prefixed(many: dict[str, list[str]], prefix: str) -> Kept:
    """The words that begin so, without the prefix, by name; they are taken out."""
    found = sorted(word for word in many if word.startswith(prefix))
    return tuple((word.removeprefix(prefix), tuple(many.pop(word))) for word in found)


def _groups(name: str, members: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The groups of two values and more, of members such as ``1:young``: a group's number, and a value."""
    groups: dict[str, list[str]] = {}
    for member in members:
        number, colon, value = member.partition(":")
        if not colon or not number.isdecimal():
            raise UsageError(
                say(
                    "a collapsed value of %(name)r is written with the number of its group, such as 1:%(value)s",
                    name=name,
                    value=value,
                )
            )
        groups.setdefault(number, []).append(value)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)
