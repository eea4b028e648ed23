"""A plan as rows of text: the same for the terminal, for reports and for ``print(plan)``."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from margrave.algebra.words import name_of as name_of
from margrave.algebra.words import number as number
from margrave.messages.catalogue import later, say
from margrave.planning.asked import Asked, Sheet
from margrave.planning.expected import said_of_size
from margrave.planning.glossary import GLOSSARY
from margrave.planning.promise.guarantee import approximate

if TYPE_CHECKING:
    from margrave.algebra.query import Query
    from margrave.planning.plan import Plan

Rows = list[tuple[str, ...]]

COUNTED_HEADERS = (
    later("counted"),
    later("how"),
    later("numbers"),
    later("noise"),
    later("std. dev. of the noise"),
)
FORECAST_HEADERS = ("table", "cells", "std. error", "95 % within", "all cells within", "sum of errors")

_EXPLAINED = ("attribute", "cell", "ε (epsilon)", "exact", "forecast", "noise", "standard error", "strategy", "unit")
"""Words of the glossary that a plan in a notebook explains."""

STRATEGIES = {
    "search": later("counts what makes the error least"),
    "residual": later("counts of each table what it adds to smaller ones"),
    "fourier": later("counts differences only"),
    "efron-stein": later("counts of each table what it adds to smaller ones, all with the same noise"),
    "margins": later("counts each wanted table by itself"),
    "base": later("counts one full table, from which all others follow"),
    "adaptive": later("counts everything a little, then what a model of that gets most wrong"),
}
"""What a strategy does, where a plan names it."""


_MORE = later("… and %(left)s more measurements")


def measurement_rows(plan: Plan, most: int | None = None) -> Rows:
    """One row a measurement, the first ``most`` of them."""
    rows: Rows = [(name_of(margin), "exact", str(plan.domain.cells(margin)), say("none"), "0") for margin in plan.exact]
    for one in plan.measurements[:most]:
        outputs = str(one.query.outputs(plan.domain))
        rows.append(
            (name_of(one.query.margin), one.query.basis, outputs, one.noise.called, number(one.noise.variance**0.5))
        )
    return _shortened(rows, len(plan.measurements) - (most or len(plan.measurements)), _MORE)


def counted_rows(plan: Plan, most: int | None = None) -> Rows:
    """The same for people: how each is counted, in words."""
    plain = measurement_rows(plan, most)
    how = [say("exactly: public")] * len(plan.exact) + [_how(one.query) for one in plan.measurements[:most]]
    return [*((row[0], words, *row[2:]) for row, words in zip(plain, how, strict=False)), *plain[len(how) :]]


def _how(query: Query) -> str:
    """How numbers are counted: cell by cell, or as differences, or as what a table adds to smaller ones."""
    parts = []
    if query.contrast:
        parts.append(say("differences by %(names)s", names=", ".join(sorted(query.contrast))))
    if query.residual:
        parts.append(say("what %(names)s adds", names=", ".join(sorted(query.residual))))
    return say(" and ").join(parts) or say("cell by cell")


def forecast_rows(plan: Plan, most: int | None = None) -> Rows:
    """One row a wanted table, the first ``most`` of them."""
    rows: Rows = [
        (
            name_of(row.margin),
            str(row.cells),
            number(row.std_error),
            f"±{number(row.half_width)}",
            f"±{number(row.all_cells)}",
            number(row.expected_l1),
        )
        for row in plan.forecast[:most]
    ]
    return _shortened(rows, len(plan.forecast) - (most or len(plan.forecast)), later("… and %(left)s more tables"))


def round_words(plan: Plan) -> tuple[str, ...]:
    """What the rounds of a plan do that looks at the data, and what its forecast is worth."""
    if not plan.rounds:
        return ()
    first, last = (number(one.noise.variance**0.5) for one in (plan.rounds[0], plan.rounds[-1]))
    return (
        say(
            "Then %(count)s rounds look at the data: each selects, privately, one of %(tables)s tables and counts it "
            "cell by cell, with noise of %(first)s in the first round and %(last)s in the last.",
            count=len(plan.rounds),
            tables=len(plan.candidates.margins),
            first=first,
            last=last,
        ),
        *_rest_words(plan),
        say(
            "The forecast is a bound: it knows the measurements above, and not which tables will be selected. These "
            "can only add to what is known of a table, so no unbiased table has a larger error than is forecast."
        ),
    )


def _rest_words(plan: Plan) -> tuple[str, ...]:
    if not plan.rest:
        return ()
    part = plan.rest.price * plan.protection.records**2 / plan.cost.amount
    return (
        say(
            "What is left, %(part)s %% of the budget, is then divided among these tables and single attributes, by the "
            "noisy answers so far.",
            part=round(100 * part),
        ),
    )


def _shortened(rows: Rows, left: int, more: str) -> Rows:
    """Rows, and a last one that says how many are left out; ``more``: a message with a place for their number."""
    return [*rows, (say(more, left=left),)] if left > 0 else rows


def plain_table(headers: Sequence[str], rows: Rows) -> str:
    """Columns of text: the first to the left, the others to the right."""
    full = [(*row, *[""] * (len(headers) - len(row))) for row in rows]
    aligned = [row for row in full if any(row[1:])] or full
    widths = [max(len(cell) for cell in column) for column in zip(headers, *aligned, strict=True)]
    lines = [tuple(headers), tuple("-" * width for width in widths), *full]
    return "\n".join(_line(row, widths) for row in lines)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()


def sheets(plan: Plan, most: int | None = None) -> tuple[Sheet, ...]:
    """The tables of a plan: its measurements, its forecast, and what a theorem promises where there is one."""
    found = [
        Sheet(
            f"Plan by {plan.strategy}, which {STRATEGIES[plan.strategy]}. Cost {approximate(plan.guarantee)}",
            COUNTED_HEADERS,
            counted_rows(plan, most),
        ),
        Sheet(
            f"Forecast: typical error of a cell {number(plan.rmse)} (root mean square)",
            FORECAST_HEADERS,
            forecast_rows(plan, most),
        ),
    ]
    bounds = [(name_of(margin), number(bound)) for margin, bound in plan.theory().items()]
    if bounds:
        title = "What the theorem promises for the linear program's tables, with probability 95 %"
        found.append(Sheet(title, ("table", "sum of errors at most"), bounds))
    return tuple(found)


def _heading(plan: Plan) -> str:
    cost = approximate(plan.guarantee)
    return f"Plan: strategy {plan.strategy}, cost {cost}, forecast RMSE {number(plan.rmse)} per cell"


def describe(plan: Plan, most: int = 30) -> str:
    """The whole plan as plain text."""
    parts = [
        _heading(plan),
        plain_table(COUNTED_HEADERS, counted_rows(plan, most)),
        plain_table(FORECAST_HEADERS, forecast_rows(plan, most)),
        *plan.promise.words(),
        *round_words(plan),
        *plan.said_of_facts,
        *said_of_size(plan),
        plan.publishing.words(),
        *(f"Warning: {warning}." for warning in plan.warnings),
    ]
    return "\n\n".join(parts[:3]) + "\n\n" + "\n".join(parts[3:])


def describe_html(plan: Plan, most: int = 12) -> str:
    """The plan for a notebook."""
    words = [
        *plan.promise.words(),
        *round_words(plan),
        *plan.said_of_facts,
        *said_of_size(plan),
        plan.publishing.words(),
    ]
    words += [f"Warning: {text}." for text in plan.warnings]
    return (
        f"<div><p><strong>{escape(_heading(plan))}</strong></p>"
        f"{html_table(COUNTED_HEADERS, counted_rows(plan, most))}"
        f"{html_table(FORECAST_HEADERS, forecast_rows(plan, most))}"
        f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in words)}</ul>{words_html(_EXPLAINED)}</div>"
    )


def asked_text(asked: Asked, most: int = 30) -> str:
    """Whatever is asked, in whichever way, as plain text: its tables, then its guarantee and warnings."""
    tables = [f"{sheet.title}\n\n{plain_table(sheet.headers, list(sheet.rows))}" for sheet in asked.sheets(most)]
    return "\n\n".join([*tables, "\n".join(_sentences(asked))])


def asked_html(asked: Asked, most: int = 12) -> str:
    """The same for a notebook."""
    tables = [
        f"<p><strong>{escape(sheet.title)}</strong></p>{html_table(sheet.headers, list(sheet.rows))}"
        for sheet in asked.sheets(most)
    ]
    said = "".join(f"<li>{escape(text)}</li>" for text in _sentences(asked))
    return f"<div>{''.join(tables)}<ul>{said}</ul>{words_html(_EXPLAINED)}</div>"


def _sentences(asked: Asked) -> list[str]:
    return [*asked.words(), *(f"Warning: {warning}." for warning in asked.warnings)]


def words_html(names: Sequence[str]) -> str:
    """Some words of the glossary with what they mean, folded until somebody wants to know."""
    known = {one.word: one.meaning for one in GLOSSARY}
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(known[name])}</dd>" for name in names)
    return f"<details><summary>What the words mean</summary><dl>{rows}</dl></details>"


def html_table(headers: Sequence[str], rows: Rows) -> str:
    """Columns of text as a plain HTML table."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headers)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
