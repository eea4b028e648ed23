"""The report of a local collection: one page for people, which needs no network, no script and no other file."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from margrave.algebra.domain import Margin
from margrave.messages.catalogue import later, say, spoken
from margrave.planning.describe import name_of, number
from margrave.planning.local.question import WEIGHTS
from margrave.publish.bundle.words import composition
from margrave.publish.report.cross import Cross, bar_table, cross_table
from margrave.publish.report.frame import FirstScreen, contents, framed
from margrave.publish.report.html import details, paragraph, section, table
from margrave.publish.report.quality import Quality
from margrave.publish.report.risk import risk_section
from margrave.publish.report.values import Intervals, Titled, axes_of, table_title, written

if TYPE_CHECKING:
    from margrave.publish.local.answers import LocalAnswers

_MOST_TABLES, _MOST_CELLS, _MOST_ROWS = 60, 600, 300
_REFUSALS = (
    later("of another plan"),
    later("malformed"),
    later("out of range"),
    later("token never issued"),
    later("token used before"),
)
"""Why a collector refuses reports."""


def local_page(out: LocalAnswers, created: str | None, made_by: str) -> str:
    """The page. It follows from the release, the time, and the software that the bundle says it was ``made_by``."""
    shown = out.plan.spec.told[:_MOST_TABLES]
    left = len(out.plan.spec.told) - len(shown)
    tables = section(
        "tables",
        say("The tables"),
        *(_table(out, margin, index) for index, margin in enumerate(shown, 1)),
        paragraph(say("%(count)s more tables are in the files.", count=written(left))) if left else "",
    )
    index = contents([(f"#table-{at}", _title(out, margin), "") for at, margin in enumerate(shown, 1)])
    risk = risk_section(out.plan.exposure)
    return framed(_head(out, created), [index, tables, _meaning(out), risk, _collected(out)], made_by)


def _title(out: LocalAnswers, margin: Margin) -> str:
    return table_title(out.plan.spec.base.codebook, margin)


def _axes(out: LocalAnswers, margin: Margin) -> tuple[Titled, ...]:
    return axes_of(out.plan.spec.base.codebook, margin)


def _numbers(out: LocalAnswers, margin: Margin) -> Intervals:
    found = out.numbers(margin)
    return Intervals(found["count"], found["low"], found["high"])


def _head(out: LocalAnswers, created: str | None) -> FirstScreen:
    figures = [
        (say("reports"), written(out.reports)),
        (say("likelihood ratio, at most"), str(out.plan.odds)),
        (say("tables"), written(len(out.plan.spec.margins))),
    ]
    if (together := out.shuffled) is not None and together.guarantee is not None:
        epsilon, delta = float(together.guarantee.epsilon), float(together.guarantee.delta)
        together_said = spoken().localised(f"{epsilon:.4g}"), spoken().localised(f"{delta:.2g}")
        figures.append((say("all reports together, shuffled"), "ε = {}, δ = {}".format(*together_said)))
    found = Quality.of((_numbers(out, margin), out.numbers(margin)["std_error"]) for margin in out.plan.spec.told)
    why = say(
        "Nobody has seen an answer. Every respondent's own device reported one randomised symbol; what is below was "
        "computed from all of them together, with its errors."
    )
    title = out.plan.title or say("A collection that nobody could overhear")
    lead, remarks = found.sentence(0.95), [*found.remarks(), why]
    return FirstScreen(say("Randomised response"), title, created, lead, True, figures, remarks)


def _meaning(out: LocalAnswers) -> str:
    said = say(
        "Counts are those of the respondents. The intervals hold the share in the population that they are a random "
        "sample of, 19 times in 20: they include both the noise of the reports and that only some people were asked."
    )
    words = (*out.plan.words(), composition(out.ledger, out.plan.way))
    return section("meaning", say("What this means"), paragraph(said), *map(paragraph, words))


def _table(out: LocalAnswers, margin: Margin, index: int) -> str:
    """A table, drawn as its number of attributes asks for, and its numbers."""
    found, domain, axes = out.numbers(margin), out.domain, _axes(out, margin)
    title, numbers = _title(out, margin), _numbers(out, margin)
    quality = Quality.of([(numbers, found["std_error"])])
    caption = say("Counts among the respondents, with 95 % intervals.")
    drawn = ""
    if len(margin) == 1:
        drawn = bar_table(axes[0], numbers, caption)
    elif len(margin) == 2 and domain.cells(margin) <= _MOST_CELLS:
        cross = Cross(axes[0], axes[1], numbers.shaped(domain.shape(margin)))
        drawn = cross_table(cross.upright, caption)
    frame = out.table(*margin)
    codebook = out.plan.spec.base.codebook
    labels = [
        tuple(codebook[name].label(str(value)) for name, value in zip(margin, row, strict=True))
        for row in frame[list(margin)].itertuples(index=False, name=None)
    ]
    shown = {
        "count": say("count"),
        "share": say("share"),
        "std_error": say("std. error"),
        "low": say("at least"),
        "high": say("at most"),
        "unbiased": say("unbiased"),
    }
    rows = [
        (*words, *(number(float(found[name][at])) for name in shown)) for at, words in enumerate(labels[:_MOST_ROWS])
    ]
    headers = (*margin, *shown.values())
    listed = details(say("For statisticians"), table(headers, rows, texts=len(margin), caption=title))
    warned = "".join(paragraph(text, "warning") for text in quality.warnings())
    heading = f'<h3 id="name-{index}">{escape(title)}</h3>'
    return f'<article id="table-{index}" aria-labelledby="name-{index}">{heading}{warned}{drawn}{listed}</article>'


def _reason(kind: str) -> str:
    """Why reports were refused; what a bundle calls it where this Margrave knows no such reason."""
    return say(kind) if kind in _REFUSALS else kind


def _collected(out: LocalAnswers) -> str:
    rows = [
        (
            name_of(one.margin),
            one.mechanism.name,
            spoken().localised(f"{one.weight / WEIGHTS:.2%}"),
            written(count),
        )
        for one, count in zip(out.plan.questions, out.collected.counts, strict=True)
    ]
    refused = ", ".join(f"{written(count)} {_reason(kind)}" for kind, count in out.collected.refused.items())
    names = [
        ("reports.csv", say("how many reports there are on each question")),
        ("tallies.csv", say("the sums that everything here follows from")),
        ("tables/", say("each table: counts, shares, intervals, and the unbiased estimate with its variance")),
        ("microdata.csv", say("synthetic records whose tables are the published ones, where there are any")),
    ]
    headers = (say("reported on"), say("mechanism"), say("drawn by"), say("reports"))
    return section(
        "collected",
        say("What was collected, and what is in the bundle"),
        paragraph(say("Reports that were refused: %(refused)s.", refused=refused or say("none"))),
        details(say("The questions"), table(headers, rows[:_MOST_ROWS], texts=2)),
        table((say("file"), say("what it holds")), names, texts=2, caption=say("The files, as CSV and as Parquet")),
    )
