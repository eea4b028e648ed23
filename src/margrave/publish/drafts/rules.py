"""The rule that a draft proposes for a column: round bins, whole ranges, years or months, or the values themselves."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import ROUND_FLOOR, Decimal, DecimalException, localcontext

from margrave.crossing import ColumnProfile
from margrave.spec.attributes import plain_decimal
from margrave.spec.codebook import Edge
from margrave.spec.texts import text_problem

_WIDEST_RANGE = 30
_MOST_BINS = 10
_DAYS_OF_A_MONTH = 31
_FEW_CODES = 12
"""Whole numbers far apart are codes if there are at most so many of them."""


def drafted_rule(column: ColumnProfile) -> dict[str, object] | None:
    """The rule in the shape of the TOML file, or None where a person must find one."""
    try:
        match column.kind:
            case "categories":
                return _categories(column)
            case "integers":
                return _integers(column)
            case "numbers":
                return {"bins": number_edges(_extreme(column.low), _extreme(column.high))}
            case "dates":
                low, high = column.low or "", column.high or ""
                return {"bins": date_edges(date.fromisoformat(low[:10]), date.fromisoformat(high[:10]))}
    except (ValueError, DecimalException):
        pass
    return None


def _categories(column: ColumnProfile) -> dict[str, object] | None:
    held = (value for value in dict.fromkeys(column.values) if text_problem(value) is None)
    values = [value for value in held if value.strip() and value != "*"]
    if not values:
        return None
    if set(values) <= {"true", "false"}:
        return {"values": [value == "true" for value in values]}
    labels = {value: column.labels[value] for value in values if column.labels.get(value)}
    return {"values": values, **({"labels": labels} if labels else {})}


def _integers(column: ColumnProfile) -> dict[str, object]:
    low, high = _extreme(column.low), _extreme(column.high)
    if high - low < _WIDEST_RANGE:
        return {"range": [int(low), int(high)]}
    if column.values and len(column.values) <= _FEW_CODES:
        return {"values": [int(value) for value in column.values]}
    return {"bins": number_edges(low, high)}


def _extreme(text: str | None) -> Decimal:
    """A finite number of ordinary size; a ValueError otherwise."""
    number = Decimal(text or "")
    if not number.is_finite() or number.adjusted() > 50 or number.as_tuple().exponent < -100:  # type: ignore[operator]
        raise ValueError("no ordinary number")
    return number


def number_edges(low: Decimal, high: Decimal) -> list[Edge]:
    """At most ten bins between round numbers that hold everything from ``low`` to ``high``."""
    with localcontext(prec=400):  # enough for every product below to be exact
        width = (high - low) / (_MOST_BINS - 1)
        step = _round_step(width if width > 0 else Decimal(1))
        first = (low / step).to_integral_value(ROUND_FLOOR)
        count = int((high / step).to_integral_value(ROUND_FLOOR) - first) + 1
        return [plain_decimal(str((first + index) * step)) for index in range(count + 1)]


def _round_step(width: Decimal) -> Decimal:
    """The smallest of 1, 2, 5, 10 times a power of ten that is no less than ``width``."""
    power = Decimal(1).scaleb(width.adjusted())
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= width)


def date_edges(low: date, high: date) -> list[Edge]:
    """Bins that hold every day from ``low`` to ``high``: years, months within two years, or days within a month."""
    if (high - low).days < _DAYS_OF_A_MONTH and high < date.max:
        return [low + timedelta(days=day) for day in range((high - low).days + 2)]
    if high.year - low.year < 2:
        months = range(low.year * 12 + low.month - 1, high.year * 12 + high.month + 1)
        return [_first_day(month // 12, month % 12 + 1) for month in months]
    step = int(_round_step(Decimal(high.year - low.year + 1) / (_MOST_BINS - 1)))
    years = range(low.year - low.year % step, high.year + step + 1, step)
    return [_first_day(max(year, 1), 1) for year in years]


def _first_day(year: int, month: int) -> date:
    """The first day of a month, or the last day there is."""
    return date(year, month, 1) if year <= date.max.year else date.max
