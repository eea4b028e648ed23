"""The report of a local collection: one page for people, which needs no network, no script and no other file."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from margrave.algebra.domain import Margin
from margrave.planning.describe import name_of, number
from margrave.planning.local.question import WEIGHTS
from margrave.publish.bundle.words import composition
from margrave.publish.report.html import details, page, paragraph, section, table
from margrave.publish.report.svg import Bar, bars

if TYPE_CHECKING:
    from margrave.publish.local.answers import LocalAnswers

_MOST_TABLES, _MOST_BARS, _MOST_ROWS = 60, 24, 300


def local_page(out: LocalAnswers, created: str | None, made_by: str) -> str:
    """The page. It follows from the release, the time, and the software that the bundle says it was ``made_by``."""
    version = made_by.removeprefix("margrave ")
    title = out.plan.title or "A collection that nobody could overhear"
    shown = out.plan.spec.told[:_MOST_TABLES]
    left = len(out.plan.spec.told) - len(shown)
    body = "\n".join(
        [
            _header(title, created),
            "<main>",
            _facts(out),
            _meaning(out),
            section(
                "tables",
                "The tables",
                *(_table(out, margin, index) for index, margin in enumerate(shown)),
                paragraph(f"{left} more tables are in the files.") if left else "",
            ),
            _collected(out),
            "</main>",
            f"<footer>Made with Margrave {escape(version)}. This page is complete: it loads nothing, and sends "
            "nothing.</footer>",
        ]
    )
    style = files("margrave.publish.report").joinpath("report.css").read_text(encoding="utf-8")
    return page(title, style, body)


def _header(title: str, created: str | None) -> str:
    dated = f" · written {created[:10]}" if created else ""
    lead = (
        "Nobody has seen an answer. Every respondent's own device reported one randomised symbol; what is below was "
        "computed from all of them together, with its errors."
    )
    head = f'<p class="kicker">Randomised response{escape(dated)}</p><h1>{escape(title)}</h1>'
    return f'<header>{head}<p class="lead">{escape(lead)}</p></header>'


def _facts(out: LocalAnswers) -> str:
    facts = [
        ("reports", f"{out.reports:,}"),
        ("likelihood ratio, at most", str(out.plan.odds)),
        ("tables", str(len(out.plan.spec.margins))),
    ]
    if (together := out.shuffled) is not None and together.guarantee is not None:
        epsilon, delta = float(together.guarantee.epsilon), float(together.guarantee.delta)
        facts.append(("all reports together, shuffled", f"ε = {epsilon:.4g}, δ = {delta:.2g}"))
    inner = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return f'<dl class="facts">{inner}</dl>'


def _meaning(out: LocalAnswers) -> str:
    said = (
        "Counts are those of the respondents. The intervals hold the share in the population that they are a random "
        "sample of, 19 times in 20: they include both the noise of the reports and that only some people were asked."
    )
    words = (*out.plan.words(), composition(out.ledger, out.plan.way))
    return section("meaning", "What this means", paragraph(said), *map(paragraph, words))


def _table(out: LocalAnswers, margin: Margin, index: int) -> str:
    """A plot of a table and its numbers."""
    found, domain = out.numbers(margin), out.domain
    codebook = out.plan.spec.base.codebook
    frame = out.table(*margin)
    labels = [
        tuple(codebook[name].label(str(value)) for name, value in zip(margin, row, strict=True))
        for row in frame[list(margin)].itertuples(index=False, name=None)
    ]
    title = " × ".join(codebook[name].title or name for name in margin)
    plot = ""
    if domain.cells(margin) <= _MOST_BARS:
        rows = [
            Bar(
                words,
                f"{number(float(found['count'][at]))} ±{number(float(found['half_width'][at]))}",
                float(found["count"][at]),
                float(found["low"][at]),
                float(found["high"][at]),
                float(found["unbiased"][at]),
            )
            for at, words in enumerate(labels)
        ]
        said = f"A bar for each of {len(rows)} cells, its interval as a line, the unbiased estimate as a dot."
        plot = f"<figure>{bars(f'table-{index}', title, said, rows)}<figcaption>{escape(said)}</figcaption></figure>"
    shown = ("count", "share", "std_error", "low", "high", "unbiased")
    rows_of_text = [
        (*words, *(number(float(found[name][at])) for name in shown)) for at, words in enumerate(labels[:_MOST_ROWS])
    ]
    headers = (*margin, *(name.replace("_", " ") for name in shown))
    numbers = details("The numbers as a table", table(headers, rows_of_text, texts=len(margin), caption=title))
    return (
        f'<article aria-labelledby="name-{index}"><h3 id="name-{index}">{escape(title)}</h3>{plot}{numbers}</article>'
    )


def _collected(out: LocalAnswers) -> str:
    rows = [
        (name_of(one.margin), one.mechanism.name, f"{one.weight / WEIGHTS:.2%}", f"{count:,}")
        for one, count in zip(out.plan.questions, out.collected.counts, strict=True)
    ]
    refused = ", ".join(f"{count:,} {kind}" for kind, count in out.collected.refused.items()) or "none"
    names = [
        ("reports.csv", "how many reports there are on each question"),
        ("tallies.csv", "the sums that everything here follows from"),
        ("tables/", "each table: counts, shares, intervals, and the unbiased estimate with its variance"),
        ("microdata.csv", "synthetic records whose tables are the published ones, where there are any"),
    ]
    return section(
        "collected",
        "What was collected, and what is in the bundle",
        paragraph(f"Reports that were refused: {refused}."),
        details(
            "The questions", table(("reported on", "mechanism", "drawn by", "reports"), rows[:_MOST_ROWS], texts=2)
        ),
        table(("file", "what it holds"), names, texts=2, caption="The files, as CSV and as Parquet"),
    )
