"""Values and conditions become whole-number programs, each with a kind, whose range is proven here.

A number is n · step; sums are made at the common step, products at the product of the steps. No number on the way
reaches 2⁶², so the engine's 64 bits never overflow: `Numbers` refuses what might.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import cast

from margrave.errors import UsageError, suggest
from margrave.planning.questions.kinds import EPOCH, MOST_WHOLE, Days, Kind, Numbers, Values, common_step
from margrave.planning.questions.language.expressions import (
    AllOf,
    Among,
    AnyOf,
    Arithmetic,
    Binned,
    Case,
    Column,
    Compare,
    Condition,
    DatePart,
    Day,
    Divide,
    IsMissing,
    Missing,
    Negation,
    Numeral,
    Text,
    Value,
)
from margrave.planning.questions.programs.programs import (
    Absent,
    AllTests,
    Calendar,
    Either,
    Fixed,
    Member,
    Opposite,
    Order,
    Pick,
    Quotient,
    Reckon,
    RowField,
    Test,
    Whole,
)
from margrave.spec.attributes import plain_decimal
from margrave.spec.codebook import Bins

_PARTS = {"month": (1, 12), "day": (1, 31), "weekday": (1, 7)}
_NEVER = MOST_WHOLE


@dataclass(frozen=True)
class ColumnShape:
    """A column of rows: its name and kind, and how many different values (missing is one) a unit has at most."""

    name: str
    kind: Kind
    spread: int


@dataclass(frozen=True)
class Lowered:
    """A whole-number program, the kind of its values (None: always missing), and the fields that it uses."""

    program: Whole
    kind: Kind | None
    used: frozenset[int]


def lower(value: Value, columns: Sequence[ColumnShape]) -> Lowered:
    """The program of a value over rows with these columns."""
    match value:
        case Column(name):
            at = position(name, columns)
            return Lowered(RowField(at), columns[at].kind, frozenset({at}))
        case Numeral(number):
            step = Fraction(1, number.denominator)
            return Lowered(Fixed(number.numerator), Numbers(number.numerator, number.numerator, step), frozenset())
        case Day(day):
            number_of_days = (day - EPOCH).days
            return Lowered(Fixed(number_of_days), Days(number_of_days, number_of_days), frozenset())
        case Text(text):
            return Lowered(Fixed(0), Values((text,)), frozenset())
        case Missing():
            return Lowered(Fixed(None), None, frozenset())
        case Arithmetic():
            return _arithmetic(value, columns)
        case Divide():
            return _quotient(value, columns)
        case Case():
            return _case(value, columns)
        case Binned():
            return _binned(value, columns)
        case DatePart():
            return _date_part(value, columns)
    raise UsageError(f"a {value.kind!r} cannot stand here")


def lower_test(condition: Condition, columns: Sequence[ColumnShape]) -> Test:
    """The program of a condition over rows with these columns."""
    match condition:
        case Compare():
            return _compare(condition, columns)
        case Among(value, members):
            return _among(lower(value, columns), members)
        case IsMissing(value):
            return Absent(lower(value, columns).program)
        case AllOf(conditions):
            return AllTests(tuple(lower_test(one, columns) for one in conditions))
        case AnyOf(conditions):
            return Either(tuple(lower_test(one, columns) for one in conditions))
        case Negation(inner):
            return Opposite(lower_test(inner, columns))
    raise UsageError(f"a {condition.kind!r} cannot stand here")


def position(name: str, columns: Sequence[ColumnShape]) -> int:
    """Where a column of this name is."""
    names = [one.name for one in columns]
    if name not in names:
        hint = suggest(name, names) or f"; there are {', '.join(names)}"
        raise UsageError(f"the rows have no column {name!r}{hint}")
    return names.index(name)


def need_numbers(lowered: Lowered, what: str) -> Numbers:
    """The kind of a program that must be of numbers."""
    if not isinstance(lowered.kind, Numbers):
        raise UsageError(f"{what} needs a number, and has {_said(lowered.kind)}")
    return lowered.kind


def at_step(lowered: Lowered, step: Fraction) -> Whole:
    """The program of a number as a multiple of a finer step."""
    kind = cast(Numbers, lowered.kind)
    times = kind.step / step
    assert times.denominator == 1
    Numbers(kind.low * times.numerator, kind.high * times.numerator, step)
    if isinstance(lowered.program, Fixed) and lowered.program.value is not None:
        return Fixed(lowered.program.value * times.numerator)
    return lowered.program if times == 1 else Reckon("*", lowered.program, Fixed(times.numerator))


def _said(kind: Kind | None) -> str:
    if isinstance(kind, Values) and len(kind.values) == 1:
        return f"the text {kind.values[0][:100]!r}"
    return "what is always missing" if kind is None else kind.said()


def _arithmetic(value: Arithmetic, columns: Sequence[ColumnShape]) -> Lowered:
    left, right = lower(value.left, columns), lower(value.right, columns)
    used = left.used | right.used
    if left.kind is None or right.kind is None:
        return Lowered(Fixed(None), None, used)
    if value.sign == "-" and isinstance(left.kind, Days) and isinstance(right.kind, Days):
        kind = Numbers(left.kind.low - right.kind.high, left.kind.high - right.kind.low)
        return Lowered(Reckon("-", left.program, right.program), kind, used)
    what = f"'{value.sign}'"
    one, other = need_numbers(left, what), need_numbers(right, what)
    if value.sign == "*":
        ends = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
        kind = Numbers(min(ends), max(ends), one.step * other.step)
        return Lowered(Reckon("*", left.program, right.program), kind, used)
    step = common_step(one.step, other.step)
    a, b = (int(kind.step / step) for kind in (one, other))
    low, high = (other.low, other.high) if value.sign == "+" else (-other.high, -other.low)
    kind = Numbers(one.low * a + low * b, one.high * a + high * b, step)
    return Lowered(Reckon(value.sign, at_step(left, step), at_step(right, step)), kind, used)


def _quotient(value: Divide, columns: Sequence[ColumnShape]) -> Lowered:
    """⌊n · step / by⌋, whole: with step = p/q it is ⌊n · p / (q · by)⌋.

    What may be negative is shifted by a multiple of the divisor first, so that engines that round towards zero agree.
    """
    inner = lower(value.value, columns)
    if inner.kind is None:
        return inner
    kind = need_numbers(inner, "'//'")
    fine = Fraction(1, kind.step.denominator)
    by = value.by * kind.step.denominator
    if by >= MOST_WHOLE:
        raise UsageError("'//' divides by a number that is too large")
    low, high = (floor(end * kind.step / value.by) for end in (kind.low, kind.high))
    shift = max(0, -low)
    shifted: Whole = at_step(inner, fine)
    if shift:
        Numbers(0, (high + shift + 1) * by)
        shifted = Reckon("+", shifted, Fixed(shift * by))
    found: Whole = Quotient(shifted, by)
    return Lowered(Reckon("-", found, Fixed(shift)) if shift else found, Numbers(low, high), inner.used)


def _case(value: Case, columns: Sequence[ColumnShape]) -> Lowered:
    tests = [lower_test(branch.condition, columns) for branch in value.branches]
    read = frozenset().union(*(fields_of(test) for test in tests))
    results = [lower(one, columns) for one in (*(branch.value for branch in value.branches), value.default)]
    programs, kind = _aligned(results)
    used = read.union(*(one.used for one in results))
    return Lowered(Pick(tuple(zip(tests, programs[:-1], strict=True)), programs[-1]), kind, used)


def _aligned(results: Sequence[Lowered]) -> tuple[list[Whole], Kind | None]:
    """The programs of a case's values, all of one kind."""
    kinds = [one.kind for one in results if one.kind is not None]
    if not kinds:
        return [one.program for one in results], None
    if len({type(kind) for kind in kinds}) > 1:
        raise UsageError("the values of a case must all be numbers, all days, or all texts")
    if isinstance(kinds[0], Days):
        low, high = min(kind.low for kind in kinds), max(kind.high for kind in kinds)
        return [one.program for one in results], Days(low, high)
    if isinstance(kinds[0], Values):
        return _aligned_texts(results)
    step = kinds[0].step
    for kind in kinds:
        step = common_step(step, cast(Numbers, kind).step)
    scaled = [one.program if one.kind is None else at_step(one, step) for one in results]
    ends = [(int(k.low * k.step / step), int(k.high * k.step / step)) for k in cast(list[Numbers], kinds)]
    return scaled, Numbers(min(low for low, _ in ends), max(high for _, high in ends), step)


def _aligned_texts(results: Sequence[Lowered]) -> tuple[list[Whole], Kind]:
    kinds = [one.kind for one in results if isinstance(one.kind, Values)]
    every = tuple(dict.fromkeys(text for kind in kinds for text in kind.values))
    programs: list[Whole] = []
    for one in results:
        codes = [every.index(text) for text in one.kind.values] if isinstance(one.kind, Values) else []
        if isinstance(one.program, Fixed) or codes == list(range(len(codes))):
            programs.append(Fixed(codes[0]) if isinstance(one.program, Fixed) and codes else one.program)
        else:
            moved = tuple((Order("=", one.program, Fixed(at)), Fixed(code)) for at, code in enumerate(codes))
            programs.append(Pick(moved, Fixed(None)))
    return programs, Values(every)


def _binned(value: Binned, columns: Sequence[ColumnShape]) -> Lowered:
    inner = lower(value.value, columns)
    kind = need_numbers(inner, "bins")
    edges = [edge.value for edge in value.edges]
    if any(edge != Fraction(plain := Decimal(edge.numerator) / edge.denominator) or plain.is_nan() for edge in edges):
        raise UsageError("edges of bins must be decimal numbers")
    labels = Bins(tuple(plain_decimal(str(Decimal(edge.numerator) / edge.denominator)) for edge in edges)).values
    branches: list[tuple[Test, Whole]] = [(Order("<", inner.program, Fixed(ceil(edges[0] / kind.step))), Fixed(None))]
    for at, edge in enumerate(edges[1:-1]):
        branches.append((Order("<", inner.program, Fixed(ceil(edge / kind.step))), Fixed(at)))
    branches.append((Order("<=", inner.program, Fixed(floor(edges[-1] / kind.step))), Fixed(len(labels) - 1)))
    return Lowered(Pick(tuple(branches), Fixed(None)), Values(labels), inner.used)


def _date_part(value: DatePart, columns: Sequence[ColumnShape]) -> Lowered:
    inner = lower(value.value, columns)
    if not isinstance(inner.kind, Days):
        raise UsageError(f"{value.part!r} needs a day, and has {_said(inner.kind)}")
    low, high = _PARTS.get(value.part, (inner.kind.first.year, inner.kind.last.year))
    return Lowered(Calendar(value.part, inner.program), Numbers(low, high), inner.used)


def _compare(condition: Compare, columns: Sequence[ColumnShape]) -> Test:
    left, right, sign = lower(condition.left, columns), lower(condition.right, columns), condition.sign
    if left.kind is None or right.kind is None:
        return Order(sign, left.program, right.program)
    if isinstance(left.kind, Values) or isinstance(right.kind, Values):
        return _compare_texts(condition, columns)
    if type(left.kind) is not type(right.kind):
        raise UsageError(f"{_said(left.kind)} cannot be compared with {_said(right.kind)}")
    if isinstance(left.kind, Days):
        return Order(sign, left.program, right.program)
    if isinstance(right.program, Fixed):
        return _with_constant(left, sign, cast(Numeral, condition.right).value)
    if isinstance(left.program, Fixed):
        return _with_constant(right, Compare.swapped[sign], cast(Numeral, condition.left).value)
    step = common_step(need_numbers(left, sign).step, need_numbers(right, sign).step)
    return Order(sign, at_step(left, step), at_step(right, step))


def _with_constant(lowered: Lowered, sign: str, number: Fraction) -> Test:
    """n · step compared with a number, as n compared with a whole number."""
    exact = number / need_numbers(lowered, sign).step
    if sign in ("<", ">="):
        bound = ceil(exact)
    elif sign in ("<=", ">"):
        bound = floor(exact)
    else:
        bound = exact.numerator if exact.denominator == 1 else _NEVER
    return Order(sign, lowered.program, Fixed(max(-_NEVER, min(_NEVER, bound))))


def _compare_texts(condition: Compare, columns: Sequence[ColumnShape]) -> Test:
    """A column of values compared with a text, by position; two columns, where their lists are the same."""
    if condition.sign not in ("=", "!="):
        raise UsageError(
            f"texts are equal or not; {condition.sign!r} is for numbers and days, which are written without quotes, "
            "2024-12-31, in SQL DATE '2024-12-31'"
        )
    left, right = lower(condition.left, columns), lower(condition.right, columns)
    if isinstance(condition.left, Text) and not isinstance(condition.right, Text):
        left, right, condition = right, left, Compare(condition.sign, condition.right, condition.left)
    if not isinstance(left.kind, Values) or not isinstance(right.kind, Values):
        raise UsageError(f"{_said(left.kind)} cannot be compared with {_said(right.kind)}")
    if isinstance(condition.right, Text):
        return Order(condition.sign, left.program, Fixed(_code(left.kind, condition.right.value)))
    if left.kind != right.kind:
        raise UsageError("two columns of values can be compared only where their lists of values are the same")
    return Order(condition.sign, left.program, right.program)


def _code(kind: Values, text: str) -> int:
    found = kind.code(text)
    if found is None:
        raise UsageError(f"there is no value {text[:100]!r}{suggest(text, kind.values)}")
    return found


def constant_code(kind: Kind, constant: Value) -> int | None:
    """The whole number that stands for a constant in a column of this kind; None where no row can have it."""
    if isinstance(kind, Values) and isinstance(constant, Text):
        return _code(kind, constant.value)
    if isinstance(kind, Days) and isinstance(constant, Day):
        return (constant.value - EPOCH).days
    if isinstance(kind, Numbers) and isinstance(constant, Numeral):
        exact = constant.value / kind.step
        return exact.numerator if exact.denominator == 1 and kind.low <= exact <= kind.high else None
    raise UsageError(f"a {constant.kind!r} cannot be compared with {kind.said()}")


def constant_at(kind: Kind, code: int) -> Value:
    """The constant that a whole number stands for in a column of this kind, exactly: `constant_code` gives it back."""
    if isinstance(kind, Numbers):
        return Numeral(code * kind.step)
    return Day(kind.show(code)) if isinstance(kind, Days) else Text(kind.show(code))


def _among(lowered: Lowered, members: Sequence[Value]) -> Test:
    if lowered.kind is None:
        return Member(lowered.program, (0,))
    codes = (constant_code(lowered.kind, one) for one in members)
    found = tuple(dict.fromkeys(code for code in codes if code is not None and abs(code) < _NEVER))
    return Member(lowered.program, found or (_NEVER,))


def fields_of(test: Test) -> frozenset[int]:
    """The fields that a test uses."""
    match test:
        case Order(_, left, right):
            return _fields(left) | _fields(right)
        case Member(value, _) | Absent(value):
            return _fields(value)
        case AllTests(tests) | Either(tests):
            return frozenset().union(*(fields_of(one) for one in tests))
        case Opposite(inner):
            return fields_of(inner)


def _fields(program: Whole) -> frozenset[int]:
    match program:
        case RowField(at):
            return frozenset({at})
        case Fixed():
            return frozenset()
        case Reckon(_, left, right):
            return _fields(left) | _fields(right)
        case Quotient(value, _) | Calendar(_, value):
            return _fields(value)
        case Pick(branches, default):
            inner = (fields_of(test) | _fields(value) for test, value in branches)
            return _fields(default).union(*inner)
