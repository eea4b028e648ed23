"""Conditions that no row can meet, by what is declared: most likely somebody meant another number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import Days, Numbers
from margrave.planning.questions.language.expressions import AllOf, Among, AnyOf, Compare, Condition, Value
from margrave.planning.questions.language.form import LanguageNode
from margrave.planning.questions.language.relations import Where
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.programs.lowering import ColumnShape, Lowered, constant_code, lower
from margrave.planning.questions.programs.rows import rows_of


def vain(node: LanguageNode, data: DataSpec) -> tuple[str, ...]:
    """A sentence, without a full stop, for each condition of a question that no row can meet."""
    return tuple(dict.fromkeys(_vain(node, data)))


def _vain(node: LanguageNode, data: DataSpec) -> Iterator[str]:
    if isinstance(node, Where):
        yield from _never(node.condition, rows_of(node.rows, data).columns)
    for part in node.parts:
        yield from _vain(part, data)


def _never(condition: Condition, columns: Sequence[ColumnShape]) -> Iterator[str]:
    """Comparisons with numbers or days beyond what is declared. A text that is not declared is refused elsewhere."""
    match condition:
        case AllOf(several) | AnyOf(several):
            for part in several:
                yield from _never(part, columns)
        case Compare(sign, left, right):
            one, other = lower(left, columns), lower(right, columns)
            if not _can_be(sign, one, other):
                yield _sentence(condition, ((left, one), (right, other)))
        case Among(value, members):
            one = lower(value, columns)
            kind = one.kind
            if isinstance(kind, Numbers | Days) and not any(_holds(kind, member) for member in members):
                yield _sentence(condition, ((value, one),))


def _holds(kind: Numbers | Days, member: Value) -> bool:
    code = constant_code(kind, member)
    return code is not None and kind.low <= code <= kind.high


def _can_be(sign: str, one: Lowered, other: Lowered) -> bool:
    """Whether a comparison can be true of numbers or of days: by their ranges, whatever the rows are."""
    if not isinstance(one.kind, Numbers | Days) or not isinstance(other.kind, Numbers | Days):
        return True
    (low, high), (least, most) = _ends(one.kind), _ends(other.kind)
    return {
        "<": low < most,
        "<=": low <= most,
        ">": high > least,
        ">=": high >= least,
        "=": low <= most and least <= high,
        "!=": not low == high == least == most,
    }[sign]


def _ends(kind: Numbers | Days) -> tuple[Fraction, Fraction]:
    step = kind.step if isinstance(kind, Numbers) else Fraction(1)
    return kind.low * step, kind.high * step


def _sentence(condition: Condition, sides: Sequence[tuple[Value, Lowered]]) -> str:
    """What is never true, and what the sides that are no constants can be."""
    known = [f"{said(value)} is {one.kind.said()}" for value, one in sides if one.kind is not None and one.used]
    return f"no row can have {said(condition)}" + (f": {' and '.join(known)}" if known else "")
