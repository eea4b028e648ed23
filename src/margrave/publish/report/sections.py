"""What the report of a release says beside its tables: to people in the data, to readers, to statisticians."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.words import number
from margrave.messages.catalogue import later, say, spoken
from margrave.planning.describe import COUNTED_HEADERS, STRATEGIES, counted_rows
from margrave.planning.glossary import GLOSSARY
from margrave.planning.plan import Plan
from margrave.planning.promise.belief import SUSPICIONS, Bound, exception, percent
from margrave.planning.promise.guarantee import Guarantee, approximate
from margrave.publish.bundle.parts.layout import is_large
from margrave.publish.bundle.words import MANIFEST, composition
from margrave.publish.report import svg
from margrave.publish.report.html import details, link, paragraph, section, table
from margrave.publish.report.tables import Shown
from margrave.publish.report.values import span, written

if TYPE_CHECKING:
    from margrave.publish.released import Released

_MOST_POINTS = 2000
_SMALL_FILES = [
    ("tables/", later("each table, as CSV and as Parquet")),
    ("cube.csv", later("all tables in one file; * stands for all values of an attribute")),
    ("measurements.csv", later("the noisy whole numbers that everything else follows from, with variances")),
]
_LARGE_FILES = [
    ("tables/", later("all tables, a row for each cell, as Parquet")),
    ("contents.parquet", later("the attributes of each table, by its number")),
    ("values.parquet", later("what the codes of cells stand for")),
    ("measurements/", later("the noisy whole numbers that everything else follows from")),
]


def example_section(release: Released, tables: list[Shown]) -> str:
    """What an interval means, on a cell of the reader's own tables: the largest that is not exact."""
    best: tuple[float, Shown, int] | None = None
    for shown in tables[:20]:
        counts = np.where(shown.numbers.exact.ravel(), -1.0, shown.columns["count"])
        place = int(counts.argmax())
        if shown.margin and counts[place] >= 0 and (best is None or counts[place] > best[0]):
            best = float(counts[place]), shown, place
    if best is None:
        return ""
    _, shown, place = best
    value, low, high = (float(shown.columns[name][place]) for name in ("count", "low", "high"))
    width = max(value - low, high - value)
    inside, outside = value + 0.8 * (high - value), high + 2 * width
    often = say("19 of 20") if release.level == 0.95 else say("%(level)s of 100", level=f"{100 * release.level:g}")
    said = say(
        "Take one cell of “%(title)s”: %(cell)s. It is published as %(count)s, and below it stands %(span)s. That is "
        "its %(interval)s: where the true count lies, as far as anybody can tell who sees only this page. A true "
        "count of %(inside)s would be no surprise; one of %(outside)s would. Of all intervals made like this one, "
        "%(often)s hold the truth, and nobody knows which ones do not.",
        title=escape(shown.title),
        cell=f"<b>{escape(shown.label(place))}</b>",
        count=f"<b>{written(value, width)}</b>",
        span=f"<b>{span(low, high, width)}</b>",
        interval=link("#word-interval", say("interval")),
        inside=written(inside),
        outside=written(outside),
        often=often,
    )
    return section(
        "interval",
        say("How to read an interval"),
        f"<p>{said}</p>",
        paragraph(
            say(
                "Two counts whose intervals overlap widely cannot be told apart. An interval that reaches 0 leaves "
                "open whether there is anybody at all; such counts are in italics. A total is surer, in proportion, "
                "than its parts."
            )
        ),
    )


def meaning_section(release: Released) -> str:
    """What the guarantee means for somebody in the data."""
    guarantee = release.plan.promise
    exact = say(
        "This page is an experiment with repeatable noise. The words below say what the same release would guarantee "
        "with noise that nobody can repeat; as it stands, it guarantees nothing."
    )
    return section(
        "meaning",
        say("What this means for a person in the data"),
        "" if release.private else paragraph(exact, "note"),
        *map(paragraph, guarantee.words()[1:3]),
        _belief(guarantee),
        paragraph(
            say(
                "What the release does not hide is what is true of people in general. If it shows that smokers fall "
                "ill more often, then that can be concluded about a smoker, whether or not that person was in the "
                "data."
            )
        ),
        details(
            say("The guarantee in full"), "".join(map(paragraph, (*guarantee.words(), composition(release.ledger))))
        ),
    )


def _belief(promise: Guarantee) -> str:
    """How far suspicions about one unit, and about several, can grow in somebody who knows all the rest."""
    columns: list[tuple[str, Bound]] = []
    for suspicion in promise.suspicions:
        for units in promise.suspected_together if suspicion.topic == "value" else (1,):
            named = (
                promise.about(suspicion.topic) if units == 1 else say("what %(units)s of you together say", units=units)
            )
            found = promise.belief(suspicion, units)
            columns.append((f"{named}{exception(found)}", found))
    columns = [(named, found) for named, found in columns if not found.says_little]
    if not columns:
        return ""
    said = say(
        "Suppose somebody suspects something about you that only your own record could tell, and knows everything "
        "else, all other records included. This release can strengthen the suspicion at most so far:"
    )
    rows = [
        (spoken().localised(f"{before:.0%}"), *(percent(found, before) for _, found in columns))
        for before in SUSPICIONS
    ]
    return paragraph(said) + table((say("how sure before"), *(named for named, _ in columns)), rows)


def statisticians_section(release: Released, tables: list[Shown]) -> str:
    """Which numbers to compute with, and how: unbiased values, variances, and what is to be done about covariances."""
    first = next((one.margin for one in tables if one.margin), ())
    value = release.domain[first[0]].values[0] if first else ""
    code = f'out.query({{"{first[0]}": "{value}"}})' if first else "out.query({})"
    return section(
        "statisticians",
        say("For statisticians"),
        *_agreement(tables),
        paragraph(
            say(
                "Every file has, beside the published count, the column “unbiased”, an estimate whose expectation is "
                "the true count, and its “variance”, which is known exactly because the noise is. Use these for "
                "models, for sums over many cells, and where a bias towards whole and non-negative numbers would "
                "matter. The standard errors and intervals of published counts are those of the whole way from noise "
                "to rounding."
            )
        ),
        f"<p>{escape(say('What the words mean:'))} {link('#word-unbiased', say('unbiased'))}, "
        f"{link('#word-variance', say('variance'))}, {link('#word-standard-error', say('standard error'))}.</p>",
        paragraph(
            say(
                "Cells of one release are correlated: they follow from the same measurements, and margins agree. So "
                "never add variances of cells. The errors of sums, differences and shares come from the measurements "
                "themselves:"
            )
        ),
        f"<pre><code>{escape(code)}    # {escape(say('with standard error and interval'))}</code></pre>",
        paragraph(
            say(
                "Totals and shares on this page are not sums of errors either: they are simulated, or reckoned, as "
                "totals and as shares; where that could not be done, they are left out."
            )
        ),
    )


def _agreement(tables: list[Shown]) -> list[str]:
    """Published against unbiased counts, where these are not the same."""
    if not any(one.differs for one in tables):
        said = say(
            "The published counts are the unbiased estimates themselves: averages over many cells are right, and a "
            "single cell may be broken or negative. Tables agree with each other wherever they overlap."
        )
        return [paragraph(said)]
    pairs = np.concatenate([np.stack([one.columns["count"], one.columns["unbiased"]], 1) for one in tables])
    pairs = pairs[:_MOST_POINTS].astype(float)
    said = say(
        "Published counts are whole, not negative, and add up. That moves them a little from the unbiased estimates."
    )
    points = [(float(one), float(other)) for one, other in pairs]
    apart = float(np.abs(pairs[:, 0] - pairs[:, 1]).mean())
    heading = say("Published and unbiased counts")
    drawn = say("%(count)s cells, on average %(apart)s apart.", count=len(points), apart=number(apart))
    plot = svg.scatter("agreement", heading, drawn, points)
    caption = say(
        "Each point is a cell; on the line both are equal. On average they are %(apart)s apart.", apart=number(apart)
    )
    rows = [(one.title, number(float(np.abs(one.columns["count"] - one.columns["unbiased"]).mean()))) for one in tables]
    return [
        paragraph(said),
        f"<figure>{plot}<figcaption>{escape(caption)}</figcaption></figure>",
        details(say("The numbers as a table"), table((say("table"), say("apart, on average")), rows)),
    ]


def measured_section(plan: Plan) -> str:
    """What was asked of the data, and with how much noise."""
    said = say(
        "The data was looked at %(count)s times, once for each line below, and each time noise was added before "
        "anything was kept (strategy: %(strategy)s, which %(does)s). All tables follow from these noisy numbers alone.",
        count=len(plan.measurements),
        strategy=plan.strategy,
        does=say(STRATEGIES[plan.strategy]),
    )
    rows = [(*row, *[""] * (len(COUNTED_HEADERS) - len(row))) for row in counted_rows(plan, 100)]
    return section(
        "measured",
        say("What was measured"),
        paragraph(said),
        *(paragraph(say("Warning: %(what)s.", what=warning), "note") for warning in plan.warnings),
        details(say("The measurements"), table([say(one) for one in COUNTED_HEADERS], rows, texts=2)),
    )


def reuse_section(release: Released, title: str, created: str | None, version: str) -> str:
    """How to cite the release, which files it has, and how to read and check them."""
    year = f" ({created[:4]})" if created else ""
    cited = say(
        "%(title)s%(year)s. Tables with differential privacy, %(guarantee)s. Made with Margrave %(version)s.",
        title=title,
        year=year,
        guarantee=approximate(release.plan.guarantee),
        version=version,
    )
    names = release.plan.spec.margins[-1]
    words = ", ".join(f'"{name}"' for name in names)
    code = (
        "import margrave as mg\n"
        'out = mg.Release.load("the-folder-of-this-page")\n'
        f"out.table({words})    # {say('published, with error bars')}\n"
        f"out.noisy({words})    # {say('unbiased')}"
    )
    files = [(MANIFEST, later("what was asked, done and guaranteed, with the checksums of all files"))]
    files += _LARGE_FILES if is_large(release.plan) else _SMALL_FILES
    rows = [(name, say(meaning)) for name, meaning in files]
    advice = say("Quote counts with their intervals, and round them accordingly. Small counts are mostly noise.")
    return section(
        "reuse",
        say("How to cite and reuse"),
        f"<blockquote>{escape(cited)}</blockquote>",
        paragraph(advice),
        table((say("file"), say("what it holds")), rows, texts=2),
        f"<pre><code>{escape(code)}</code></pre>",
        paragraph(
            say(
                "The command “margrave verify” checks that no file was changed, that all tables agree, that this page "
                "follows from them, and that the stated privacy loss is what the measurements really cost."
            )
        ),
    )


def words_section() -> str:
    """What the words on this page mean."""
    inner = "".join(
        f'<dt id="word-{escape(term.key)}">{escape(say(term.word))}</dt><dd>{escape(say(term.meaning))}</dd>'
        for term in GLOSSARY
        if term.reported
    )
    return section("words", say("Words"), f'<dl class="words">{inner}</dl>')
