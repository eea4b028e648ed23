"""One page: the tables beside the formulas, and the plot of both ways."""

from __future__ import annotations

import json
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from margrave.errors import UsageError
from margrave.files.writing import write_files
from margrave.publish.report.html import page, paragraph, section, table
from margrave.study.warner.runs import ASKED, ERROR, EXAMPLE, Progress, summarised

if TYPE_CHECKING:
    from margrave.study.warner.runs import WarnerSummary

TITLE = "Warner's randomised response, again"
COIN_HEADERS = ("p", "mean of n′", "pn/2 + n/4", "as printed, pn/2 + 1/4", "mean of p̂", "variance of p̂", "formula")
NEEDED_HEADERS = ("ε", "respondents", "times as many as without coins")
BOTH_HEADERS = ("ε", "with a curator", "without one", "forecast without one", "ratio")
_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem}"
    "td,th{padding:.2rem .6rem;text-align:right}img{max-width:100%}"
)
_DPI = 110


def coin_rows(summary: WarnerSummary) -> list[tuple[str, ...]]:
    return [
        (
            *(f"{value:g}" for value in (one.share, round(one.yes, 1), one.expected, one.printed)),
            f"{one.estimate:.4f}",
            f"{one.variance:.2e}",
            f"{one.formula:.2e}",
        )
        for one in summary.coins
    ]


def needed_rows(summary: WarnerSummary) -> list[tuple[str, ...]]:
    return [(f"{n.epsilon:.4g}", f"{n.respondents:,}", f"{n.respondents / n.plain:.1f}") for n in summary.needed]


def both_rows(summary: WarnerSummary) -> list[tuple[str, ...]]:
    return [
        (f"{b.epsilon:.4g}", f"{b.central:.5f}", f"{b.local:.5f}", f"{b.forecast:.5f}", f"{b.local / b.central:.0f}")
        for b in summary.both
    ]


def figure(summary: WarnerSummary) -> bytes:
    """The errors of both ways against ε, both axes logarithmic."""
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        drawn = Figure(figsize=(6.4, 4), dpi=_DPI)
        FigureCanvasAgg(drawn)
        axes = drawn.add_subplot()
        at = [one.epsilon for one in summary.both]
        axes.plot(at, [one.local for one in summary.both], "D-", color="#D55E00", label="randomised response")
        axes.plot(at, [one.forecast for one in summary.both], ":", color="#D55E00", label="its forecast")
        axes.plot(at, [one.central for one in summary.both], "o-", color="#0072B2", label="a curator's release")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("ε")
        axes.set_ylabel("error of a share (root mean square)")
        axes.legend(frameon=False)
        content = BytesIO()
        drawn.savefig(content, format="png", metadata={"Software": None})
    return content.getvalue()


def html(summary: WarnerSummary, picture: bytes) -> str:
    """The page."""
    coded = b64encode(picture).decode()
    image = f'<img alt="Error of a share against ε, both ways" src="data:image/png;base64,{coded}">'
    body = "".join(
        [
            f"<h1>{TITLE}</h1>",
            section(
                "coins",
                "Two coins",
                paragraph(
                    f"{ASKED} people throw two coins each: tails, the truth; heads, a second coin answers. n′ of them "
                    "say yes. The slides print E(n′) = pn/2 + 1/4; it is pn/2 + n/4, from which p̂ = 2n′/n − 1/2 "
                    "follows as printed, with variance p(1−p)/n + 3/(4n)."
                ),
                table(COIN_HEADERS, coin_rows(summary), caption="Two coins"),
            ),
            section(
                "needed",
                "How n grows with privacy",
                paragraph(f"Respondents for a standard error of {ERROR:g} where half would say yes."),
                table(NEEDED_HEADERS, needed_rows(summary), caption="Respondents needed"),
            ),
            section(
                "both",
                "With a curator and without one",
                paragraph(
                    f"The six one-way tables of the bundled example {EXAMPLE}, {summary.people} records, "
                    f"{summary.runs} runs: the error of a share by a release with Laplace noise, and by local reports."
                ),
                image,
                table(BOTH_HEADERS, both_rows(summary), caption="Errors of a share"),
            ),
        ]
    )
    return page(TITLE, _STYLE, body, images=True)


def reproduce(folder: Path, runs: int, progress: Progress | None = None) -> WarnerSummary:
    """Run it, and write a new folder with the page, the plot and the numbers."""
    if runs < 2:
        raise UsageError("a mean needs at least two runs")
    summary = summarised(runs, progress)
    picture = figure(summary)
    files = [
        ("figure.png", picture),
        ("results.json", (json.dumps(summary.as_dict(), indent=1) + "\n").encode()),
        ("index.html", html(summary, picture).encode()),
    ]
    write_files(folder, files)
    return summary
