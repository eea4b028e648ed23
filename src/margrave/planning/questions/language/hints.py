"""What to write instead: for words and signs that other languages have, and for names that are near to one."""

from __future__ import annotations

from collections.abc import Iterable

from margrave.errors import suggest

SIGNS = {
    "/": "numbers are divided by a whole number and rounded down: income // 2",
    "&": "conditions are joined with 'and'",
    "|": "conditions are joined with 'or'",
    ";": "one question is asked, without a semicolon",
    ".": "a range is written 18-64, a day 2024-12-31",
    "%": "a remainder cannot be asked for",
    "!": "what is not so is written 'not …', or '!='",
}
_WORDS = {
    **dict.fromkeys(("avg", "mean"), "average"),
    **dict.fromkeys(("total", "add"), "sum"),
    **dict.fromkeys(("quantile", "percentile", "percentiles"), "quantiles(0.9) of …"),
    **dict.fromkeys(("std", "stddev", "sd", "var"), "variance"),
    **dict.fromkeys(("max", "min", "maximum", "minimum"), "quantiles(0.01, 0.99) of …"),
    **dict.fromkeys(("histogram", "frequencies", "frequency"), "by age count"),
    **dict.fromkeys(("mode", "top"), "choose"),
    "cdf": "cumulative",
    "persons": "units",
}
_CLAUSES = {
    "on": "tables of a data set are joined on the unit: leave 'on …' out",
    "using": "tables of a data set are joined on the unit: leave 'using …' out",
    "limit": "rows are neither ordered nor cut off: no single row can be told",
    "order": "rows are neither ordered nor cut off: no single row can be told",
    "having": "groups are not chosen by their count: all are answered",
    "group": "groups are written 'by region'",
    "from": "a question begins with its table: people count",
}
EMPTY = ("null", "none", "nan", "na")
"""What others call missing."""


def asked_hint(word: str, known: Iterable[str]) -> str:
    """What could have been meant where it is said what is asked."""
    lower = word.lower()
    if lower in _CLAUSES:
        return f": {_CLAUSES[lower]}"
    return f": did you mean '{_WORDS[lower]}'?" if lower in _WORDS else suggest(lower, known)


def start_hint(word: str, names: Iterable[str]) -> str:
    """What could have been meant where a question begins."""
    if word.lower() == "select":
        return "; SQL is asked with s.sql(…), or with margrave ask --sql"
    near = suggest(word, names) or suggest(word.lower(), names)
    return near or "; a question begins with a table and ends with what is asked, such as 'people by region count'"


def no_column(name: str, names: Iterable[str]) -> str:
    """That there is no column of a name, and which there are."""
    listed = sorted(names)
    shown = ", ".join(listed[:12]) + (", …" if len(listed) > 12 else "")
    return f"there is no column {name[:100]!r}{suggest(name, listed) or f'; there are {shown}'}"
