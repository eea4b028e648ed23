"""Drafting a spec from a profile, for a person to correct."""

from __future__ import annotations

import re
from datetime import date
from decimal import ROUND_FLOOR, Decimal, DecimalException, localcontext

from margrave.crossing import ColumnProfile, Profile
from margrave.spec.attributes import name_problem, plain_decimal
from margrave.spec.codebook import Edge
from margrave.spec.texts import text_problem, texts_problem
from margrave.spec.toml import dump, key, quote

_WARNING = """\
# THIS DRAFT WAS READ FROM CONFIDENTIAL DATA.
# The values below may themselves disclose something about the people in the data: a rare value, an extreme age.
# Check every line marked "read from data" against public knowledge (a questionnaire, a codebook, a census), replace
# what is not public, and only then remove 'draft = true'. Nothing is released from a draft."""

_MARK = "# read from data"
_WIDEST_RANGE = 30
_MOST_BINS = 10
_IDENTIFIER = re.compile(r"(^|[^a-z])id$", re.IGNORECASE)
"""Names of columns whose numbers tell records or people apart: ``id``, ``person_id``."""


def draft_spec(profile: Profile) -> str:
    """The TOML text of a draft spec. Not private until a person has checked it."""
    lines = [_attribute_line(column) for column in profile.columns]
    declared = sum(not line.startswith("#") for line in lines)
    return "\n".join(
        [
            _WARNING,
            "draft = true",
            "",
            "[data]",
            f"source = {quote(profile.source)}",
            "# confidential = false   # only where everyone may see the data as it is",
            '# unit = { column = "person_id", max_records = 3 }   # where one person may own several records',
            "",
            "[attributes]",
            *lines,
            "",
            "[release]",
            f"all = {min(2, max(1, declared))}   # every table of up to so many attributes",
            "",
            "[privacy]",
            "epsilon = 1.0",
            "",
        ]
    )


def _attribute_line(column: ColumnProfile) -> str:
    if wrong := name_problem(column.name) or text_problem(column.name):
        return f"# {key(column.name)}: left out: {wrong}"
    if column.kind == "identifier" or (column.kind in ("integers", "numbers") and _IDENTIFIER.search(column.name)):
        return f"# {key(column.name)}: left out: it looks like an identifier"
    if column.kind == "empty":
        return f"# {key(column.name)}: left out: it is empty"
    rule = _rule(column)
    if rule is None:
        return f"# {key(column.name)}: left out: declare its values by hand"
    if column.has_missing:
        rule = {**rule, "missing": "missing"}
    odd = "" if texts_problem(column.values) is None else "; values that no file can hold are left out"
    return f"{key(column.name)} = {dump(rule)}   {_MARK}{odd}"


def _rule(column: ColumnProfile) -> dict[str, object] | None:
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
    return {"values": values}


def _integers(column: ColumnProfile) -> dict[str, object]:
    low, high = _extreme(column.low), _extreme(column.high)
    if high - low < _WIDEST_RANGE:
        return {"range": [int(low), int(high)]}
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
    """Bins of whole years, or of whole months within two years, that hold every day from ``low`` to ``high``."""
    if high.year - low.year < 2:
        months = range(low.year * 12 + low.month - 1, high.year * 12 + high.month + 1)
        return [_first_day(month // 12, month % 12 + 1) for month in months]
    step = int(_round_step(Decimal(high.year - low.year + 1) / (_MOST_BINS - 1)))
    years = range(low.year - low.year % step, high.year + step + 1, step)
    return [_first_day(max(year, 1), 1) for year in years]


def _first_day(year: int, month: int) -> date:
    """The first day of a month, or the last day there is."""
    return date(year, month, 1) if year <= date.max.year else date.max
