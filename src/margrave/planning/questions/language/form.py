"""What every node of the language has: a kind, fields that are checked at birth, and canonical JSON.

A node is written as ``{"kind": …, field: …}``, its fields in turn nodes, lists, texts, whole numbers, true, false or
null. What is read back is checked as strictly as what is made in Python: the language is closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar, Self

from margrave.budget.numbers import exact_text
from margrave.errors import RefusedError, UsageError, suggest
from margrave.files.untrusted import MOST_TEXT

MOST_DEPTH = 60
"""Levels of a question. Each may double the work of the engine that plans it; honest questions have a dozen."""
MOST_NODES = 2_000
"""Nodes of a question."""
_LONGEST_WHOLE = 1 << 62

_KINDS: dict[str, type[LanguageNode]] = {}
_FIELDS: dict[type[LanguageNode], Mapping[str, Field[Any]]] = {}


def _declared(kind: type[LanguageNode]) -> Mapping[str, Field[Any]]:
    """The fields of a kind of node, by name: looked for once, since questions have many nodes."""
    found = _FIELDS.get(kind)
    if found is None:
        found = _FIELDS[kind] = {one.name: one for one in fields(kind)}
    return found


@dataclass(frozen=True)
class LanguageNode:
    """A node of the language. Each final class names its ``kind`` when it is declared."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind:
            if kind in _KINDS:
                raise TypeError(f"{_KINDS[kind].__name__} and {cls.__name__} are both of the kind {kind!r}")
            cls.kind = kind
            _KINDS[kind] = cls

    def to_json(self) -> dict[str, Any]:
        """The node as JSON values; `read_form` reads it back."""
        found: dict[str, Any] = {"kind": self.kind}
        for name, one in _declared(type(self)).items():
            value = getattr(self, name)
            if one.default is MISSING or value != one.default:
                found[name] = _written(value)
        return found

    @property
    def parts(self) -> Iterator[LanguageNode]:
        """The nodes right below this one."""
        for name in _declared(type(self)):
            value = getattr(self, name)
            if isinstance(value, LanguageNode | tuple):
                yield from _forms(value)

    def _check(self, name: str, wanted: type[LanguageNode] | tuple[type[LanguageNode], ...]) -> None:
        """Refuse a field that is not of the wanted kind of node."""
        if not isinstance(getattr(self, name), wanted):
            raise UsageError(f"{name!r} of {self.kind!r} is of the wrong kind")

    def _check_list(self, name: str, wanted: type[LanguageNode], least: int = 1) -> None:
        """Make a field a tuple, all of whose members are of the wanted kind of node."""
        value = getattr(self, name)
        if not isinstance(value, list | tuple) or not all(isinstance(one, wanted) for one in value):
            raise UsageError(f"{name!r} of {self.kind!r} must be a list of nodes of the right kind")
        if len(value) < least:
            raise UsageError(f"{name!r} of {self.kind!r} needs at least {least}")
        object.__setattr__(self, name, tuple(value))

    def _check_name(self, name: str) -> None:
        value = getattr(self, name)
        if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > MOST_TEXT:
            raise UsageError(
                f"{name!r} of {self.kind!r} must be a name of 1 to {MOST_TEXT} characters, all of them visible"
            )

    def _check_word(self, name: str, options: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value not in options:
            hint = suggest(value, options) if isinstance(value, str) else ""
            raise UsageError(f"{name!r} of {self.kind!r} must be one of {', '.join(options)}{hint}")

    def _check_whole(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if type(value) is not int or not least <= value < _LONGEST_WHOLE:
            said = name.removeprefix("most_").replace("_", " ")
            raise UsageError(f"{said!r} of {self.kind!r} must be a whole number from {least} on")

    def _check_bound(self, name: str, least: int = 1) -> None:
        """Refuse a bound that is neither left out nor a whole number large enough."""
        if getattr(self, name) is not None:
            self._check_whole(name, least)


def read_form(value: object) -> LanguageNode:
    """The node that a JSON value writes; anything else is refused."""
    _check_size(value)
    found = _read(value)
    if not isinstance(found, LanguageNode):
        raise UsageError("a question is an object with a 'kind'")
    return found


def read_as(value: object, wanted: type[Self]) -> Self:  # type: ignore[misc]
    """The node that a JSON value writes, which must be of one class."""
    found = read_form(value)
    if not isinstance(found, wanted):
        raise UsageError(f"a {found.kind!r} cannot stand here")
    return found


def nodes_of(form: LanguageNode) -> Iterator[LanguageNode]:
    """A node and all below it."""
    yield form
    for part in form.parts:
        yield from nodes_of(part)


def check_form_size(form: LanguageNode) -> None:
    """Refuse a question with too many nodes or levels: what it may take is known before anything is reserved."""
    level, total, depth = [form], 0, 0
    while level:
        total, depth = total + len(level), depth + 1
        if total > MOST_NODES or depth > MOST_DEPTH:
            raise RefusedError(f"a question may have {MOST_NODES:,} parts in {MOST_DEPTH} levels: ask a simpler one")
        level = [part for one in level for part in one.parts]


def _check_size(value: object) -> None:
    level, total, depth = [value], 0, 0
    while level:
        total, depth = total + len(level), depth + 1
        if total > 8 * MOST_NODES or depth > 3 * MOST_DEPTH:
            raise RefusedError("the question is too large: ask a simpler one")
        inner: list[object] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list | tuple):
                inner += one
        level = inner


def _written(value: Any) -> Any:
    if isinstance(value, LanguageNode):
        return value.to_json()
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    if isinstance(value, Fraction):
        return exact_text(value)
    return value.isoformat() if isinstance(value, date) else value


def _forms(value: Any) -> Iterator[LanguageNode]:
    if isinstance(value, LanguageNode):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _forms(one)


def _read(value: object) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_read(one) for one in value)
    if not isinstance(value, dict):
        if value is None or isinstance(value, bool | int | str):
            return value
        raise UsageError(f"a question has no {type(value).__name__}: write numbers as exact texts")
    kind = value.get("kind")
    known = _KINDS.get(kind) if isinstance(kind, str) else None
    if known is None:
        hint = suggest(kind, _KINDS) if isinstance(kind, str) else ""
        raise UsageError(f"there is no kind of node {str(kind)[:40]!r}{hint}")
    given = {str(name): _read(one) for name, one in value.items() if name != "kind"}
    declared = _declared(known)
    for name in given:
        if name not in declared:
            raise UsageError(f"{known.kind!r} has no field {name[:40]!r}{suggest(name, declared)}")
    absent = [name for name, one in declared.items() if name not in given and one.default is MISSING]
    if absent:
        raise UsageError(f"{known.kind!r} needs {', '.join(absent)}")
    return known(**given)
