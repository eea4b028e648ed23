"""The report of a release: one page for people, which needs no network, no script and no other file."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from html import escape
from importlib.resources import files
from math import isfinite, sqrt
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.domain import Margin
from margrave.algebra.words import name_of, number
from margrave.budget.units import amount
from margrave.errors import RefusedError
from margrave.planning.describe import MEASUREMENT_HEADERS, measurement_rows
from margrave.planning.plan import Plan
from margrave.planning.promise.belief import SUSPICIONS, Bound, exception, percent
from margrave.planning.promise.guarantee import Guarantee, approximate
from margrave.publish.bundle.parts.layout import Layout, is_large
from margrave.publish.bundle.parts.parts import table_stems
from margrave.publish.bundle.words import NOT_PRIVATE, composition, software
from margrave.publish.report import svg
from margrave.publish.report.html import details, page, paragraph, section, table
from margrave.publish.report.public_facts import facts_section
from margrave.publish.report.risk import risk_section
from margrave.publish.report.tables import Shown, table_section

if TYPE_CHECKING:
    from margrave.publish.released import Released

MOST_TABLES = 24
_MOST_LISTED = 500
_MOST_POINTS = 2000
_FACTORS = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
_SMALL_FILES = [
    ("tables/", "each table, as CSV and as Parquet"),
    ("cube.csv", "all tables in one file; * stands for all values of an attribute"),
    ("measurements.csv", "the noisy whole numbers that everything else follows from, with variances"),
]
_LARGE_FILES = [
    ("tables/", "all tables, a row for each cell, as Parquet"),
    ("contents.parquet", "the attributes of each table, by its number"),
    ("values.parquet", "what the codes of cells stand for"),
    ("measurements/", "the noisy whole numbers that everything else follows from"),
]


def report_html(release: Released, created: str | None = None, made_by: str | None = None) -> str:
    """The page. It follows from the release, the date, and the software that the bundle says it was ``made_by``.

    Any other output than today's is another form of it (`margrave.publish.bundle.forms`).
    """
    version = (made_by or software()).removeprefix("margrave ")
    title = _title(release)
    banner = "" if release.private else f'<p class="alarm" role="alert">{escape(NOT_PRIVATE)}</p>'
    body = "\n".join(
        [
            _header(release, title, created),
            "<main>",
            banner,
            _facts(release),
            _meaning(release),
            _tables(release),
            _agreement(release),
            _budget(release.plan),
            risk_section(release.plan.promise),
            facts_section(release),
            _measured(release.plan),
            _reuse(release, title, created, version),
            "</main>",
            f"<footer>Made with Margrave {escape(version)}. This page is complete: it loads nothing, and sends "
            "nothing.</footer>",
        ]
    )
    style = files(__package__ or "margrave.publish.report").joinpath("report.css").read_text(encoding="utf-8")
    return page(title, style, body)


def _title(release: Released) -> str:
    names = release.domain.names
    some = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return release.plan.spec.title or f"Tables of {some}"


def _header(release: Released, title: str, created: str | None) -> str:
    kind = "Tables under differential privacy" if release.private else "An experiment: not private"
    dated = f" · written {created[:10]}" if created else ""
    lead = (
        "Every count below was made slightly wrong on purpose, to limit what anybody can find out from it about any "
        "one person. How wrong is known, and shown."
    )
    head = f'<p class="kicker">{escape(kind + dated)}</p><h1>{escape(title)}</h1>'
    return f'<header>{head}<p class="lead">{escape(lead)}</p></header>'


def _facts(release: Released) -> str:
    plan = release.plan
    widest = [row.half_width for row in plan.forecast]
    cells = sum(release.domain.cells(margin) for margin in plan.spec.margins)
    facts = [
        ("privacy loss, at most", approximate(plan.guarantee)),
        ("estimated number of records", Shown(release, ()).text(0)),
        ("tables (cells)", f"{len(plan.spec.margins)} ({cells})"),
        ("a cell is within, 19 times in 20", f"±{_span(widest)}"),
    ]
    inner = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return f'<dl class="facts">{inner}</dl>'


def _span(values: list[float]) -> str:
    low, high = (f"{float(f'{value:.9g}'):.2g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _meaning(release: Released) -> str:
    plan = release.plan
    guarantee = plan.promise
    exact = (
        "This page is an experiment with repeatable noise. The words below say what the same release would guarantee "
        "with noise that nobody can repeat; as it stands, it guarantees nothing."
    )
    return section(
        "meaning",
        "What this means for a person in the data",
        "" if release.private else paragraph(exact, "note"),
        *map(paragraph, guarantee.words()[1:3]),
        _belief(guarantee),
        paragraph(
            "What the release does not hide is what is true of people in general. If it shows that smokers fall ill "
            "more often, then that can be concluded about a smoker, whether or not that person was in the data."
        ),
        details("The guarantee in full", "".join(map(paragraph, (*guarantee.words(), composition(release.ledger))))),
    )


def _belief(promise: Guarantee) -> str:
    """How far suspicions about one unit, and about several, can grow in somebody who knows all the rest."""
    columns: list[tuple[str, Bound]] = []
    for suspicion in promise.suspicions:
        for units in promise.suspected_together if suspicion.topic == "value" else (1,):
            named = promise.about(suspicion.topic) if units == 1 else f"what {units} of you together say"
            found = promise.belief(suspicion, units)
            columns.append((f"{named}{exception(found)}", found))
    columns = [(named, found) for named, found in columns if not found.says_little]
    if not columns:
        return ""
    said = (
        "Suppose somebody suspects something about you that only your own record could tell, and knows everything "
        "else, all other records included. This release can strengthen the suspicion at most so far:"
    )
    rows = [(f"{before:.0%}", *(percent(found, before) for _, found in columns)) for before in SUSPICIONS]
    return paragraph(said) + table(("how sure before", *(named for named, _ in columns)), rows)


def _tables(release: Released) -> str:
    margins = release.plan.spec.margins
    files = _files(release.plan)
    inner = [
        table_section(release, margin, index + 1, files[index]) for index, margin in enumerate(margins[:MOST_TABLES])
    ]
    rest = release.plan.forecast[MOST_TABLES : MOST_TABLES + _MOST_LISTED]
    if rest:
        rows = [
            (name_of(row.margin), str(row.cells), number(row.std_error), file)
            for row, file in zip(rest, files[MOST_TABLES:], strict=False)
        ]
        left = len(margins) - MOST_TABLES
        inner.append(paragraph(f"{left} more tables are in the files of the release."))
        said = f"The first {len(rows)} of the further tables" if left > len(rows) else "List of further tables"
        inner.append(details(said, table(("table", "cells", "std. error", "file"), rows)))
    return section("tables", "The tables", *inner)


def _files(plan: Plan) -> list[str]:
    """The files of the tables that are shown or listed."""
    if not is_large(plan):
        return [f"{stem}.csv" for stem in table_stems(plan).values()]
    tables = Layout.of(plan).tables
    last = min(MOST_TABLES + _MOST_LISTED, len(tables.sizes))
    return [f"{tables.name(tables.part(block))}, as table number {block + 1}" for block in range(last)]


def _agreement(release: Released) -> str:
    """Published against unbiased counts, where these are not the same."""
    margins = release.plan.spec.margins[:MOST_TABLES]
    shown = [Shown(release, margin) for margin in margins]
    heading = "Published and unbiased counts"
    if not any(one.differs for one in shown):
        said = (
            "The published counts are the unbiased estimates themselves: averages over many cells are right, and a "
            "single cell may be broken or negative. Tables agree with each other wherever they overlap."
        )
        return section("unbiased", heading, paragraph(said))
    pairs = np.concatenate([np.stack([one.columns["count"], one.columns["unbiased"]], 1) for one in shown])
    pairs = pairs[:_MOST_POINTS].astype(float)
    said = (
        "Published counts are whole, not negative, and add up. That moves them a little from the unbiased estimates, "
        "which statisticians should use for sums over many cells: the column “unbiased” in every file."
    )
    points = [(float(one), float(other)) for one, other in pairs]
    apart = float(np.abs(pairs[:, 0] - pairs[:, 1]).mean())
    plot = svg.scatter("agreement", heading, f"{len(points)} cells, on average {number(apart)} apart.", points)
    caption = f"Each point is a cell; on the line both are equal. On average they are {number(apart)} apart."
    rows = [(one.title, number(float(np.abs(one.columns["count"] - one.columns["unbiased"]).mean()))) for one in shown]
    return section(
        "unbiased",
        heading,
        paragraph(said),
        f"<figure>{plot}<figcaption>{escape(caption)}</figcaption></figure>",
        details("The numbers as a table", table(("table", "apart, on average"), rows)),
    )


def budget_curve(plan: Plan) -> list[tuple[float, float]]:
    """The error of the same plan at other budgets: each budget with its root mean squared error per cell."""
    found = []
    alike = _alike(plan)
    for factor in _FACTORS:
        try:
            scaled = _scaled(plan, factor)
            found.append((float(amount(scaled.guarantee)), _rmse(scaled, alike)))
        except RefusedError:  # noise too small or too large to be drawn
            continue
    return [(budget, float(f"{rmse:.9g}")) for budget, rmse in found if budget > 0 and rmse > 0 and isfinite(rmse)]


def _alike(plan: Plan) -> dict[Margin, float]:
    """One of the tables of each size and accuracy, with the weight of all of them: all scale alike with the budget."""
    first: dict[tuple[float, ...], Margin] = {}
    weights: dict[Margin, float] = {}
    for wanted, row in zip(plan.spec.workload, plan.forecast, strict=True):
        margin = first.setdefault((row.cells, row.std_error, row.half_width, row.expected_l1), row.margin)
        weights[margin] = weights.get(margin, 0.0) + float(wanted.weight) * row.cells
    return weights


def _rmse(plan: Plan, weights: dict[Margin, float]) -> float:
    risk = sum(weight * plan.mean_variance(margin) for margin, weight in weights.items())
    return sqrt(risk / sum(weights.values()))


def _scaled(plan: Plan, factor: Fraction) -> Plan:
    """The same measurements at ``factor`` times the cost."""
    measurements = (replace(one, noise=one.noise.dearer(factor)) for one in plan.measurements)
    return replace(plan, measurements=tuple(measurements))


def _budget(plan: Plan) -> str:
    points = budget_curve(plan)
    chosen = (float(amount(plan.guarantee)), plan.rmse)
    if len(points) < 2 or chosen[1] <= 0:
        return ""
    unit = plan.guarantee.symbol
    said = (
        f"A larger {unit} means less noise and less privacy. The curve shows what the same measurements would give for "
        "other budgets; it follows from the plan alone and needs no data."
    )
    description = (
        f"Error falls as the budget rises, from {number(points[0][1])} at {unit} = {points[0][0]:.3g} to "
        f"{number(points[-1][1])} at {unit} = {points[-1][0]:.3g}. This release has {number(chosen[1])} at "
        f"{unit} = {chosen[0]:.3g}."
    )
    axes = (f"budget {unit}", "error per cell (RMSE)")
    plot = svg.curve("budget-plot", "Error against budget", description, points, chosen, axes)
    rows = [(f"{budget:.4g}", number(rmse)) for budget, rmse in points]
    return section(
        "budget",
        "Error against budget",
        paragraph(said),
        f"<figure>{plot}<figcaption>Both axes are logarithmic. The dot is this release.</figcaption></figure>",
        details("The numbers as a table", table((f"budget {unit}", "root mean squared error per cell"), rows)),
    )


def _measured(plan: Plan) -> str:
    said = (
        f"The data was looked at {len(plan.measurements)} times, once for each line below, and each time noise was "
        f"added before anything was kept (strategy: {plan.strategy}). All tables follow from these noisy numbers alone."
    )
    rows = [(*row, *[""] * (len(MEASUREMENT_HEADERS) - len(row))) for row in measurement_rows(plan, 100)]
    return section(
        "measured",
        "What was measured",
        paragraph(said),
        *(paragraph(f"Warning: {warning}.", "note") for warning in plan.warnings),
        details("The measurements", table(MEASUREMENT_HEADERS, rows, texts=2)),
    )


def _reuse(release: Released, title: str, created: str | None, version: str) -> str:
    year = f" ({created[:4]})" if created else ""
    cited = (
        f"{title}{year}. Tables with differential privacy, {approximate(release.plan.guarantee)}. "
        f"Made with Margrave {version}."
    )
    names = release.plan.spec.margins[-1]
    words = ", ".join(f'"{name}"' for name in names)
    code = (
        "import margrave as mg\n"
        'out = mg.Release.load("the-folder-of-this-page")\n'
        f"out.table({words})    # published, with error bars\n"
        f"out.noisy({words})    # unbiased"
    )
    rows = [("release.json", "what was asked, done and guaranteed, with the checksums of all files")]
    rows += _LARGE_FILES if is_large(release.plan) else _SMALL_FILES
    advice = (
        "Quote counts with their error bars, and round them accordingly. Small counts are mostly noise. Shares and "
        "differences have larger errors than single cells; Margrave computes them with release.query."
    )
    return section(
        "reuse",
        "How to cite and reuse",
        f"<blockquote>{escape(cited)}</blockquote>",
        paragraph(advice),
        table(("file", "what it holds"), rows, texts=2),
        f"<pre><code>{escape(code)}</code></pre>",
        paragraph(
            "The command “margrave verify” checks that no file was changed, that all tables agree, that this page "
            "follows from them, and that the stated privacy loss is what the measurements really cost."
        ),
    )
