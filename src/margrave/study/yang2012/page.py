"""One page with every figure, what it shows, and every printed number beside the recomputed one."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from margrave.publish.report.html import page, paragraph, section, table
from margrave.study.yang2012.grid import CONTENDERS, CRITERIA_TEXT, OFTEN, PROGRAMS, RIVALS, TABLES, TITLES
from margrave.study.yang2012.subjects import private_as_printed, real_factor, replaced_factor, subject

if TYPE_CHECKING:
    from margrave.study.yang2012.printed import Printed
    from margrave.study.yang2012.summary import Summary

TITLE = "Yang, Fienberg and Rinaldo (2012), again"

HEADINGS = {
    "figure-1": "Figure 1: released sample size",
    "figure-2": "Figure 2: maximal L1 between true and released tables",
    "figure-3": "Figure 3: difference of the likelihood-ratio statistics",
    "figure-4": "Figure 4: L1 between the fitted distributions",
    "figure-5": "Figure 5: how often the linear program has b > 0 (fungus)",
    "figure-6": "Figure 6: the optimum b of the linear program (fungus)",
    "figure-7": "Figure 7, not in the paper: Margrave's error over the others'",
}

READINGS = {
    "figure-1": (
        "The linear program returns too many records when the noise is large: it can only push negative cells up. "
        "Margrave publishes about the number of records that it measured. Where the noise is larger than that number, "
        "no size can be believed, its own neither; some releases of Journey to work are even empty."
    ),
    "figure-2": (
        "L1 is the sum over the cells of a table of the absolute error in records, for the worst of the wanted "
        "tables. Above the dotted line the error is larger than the number of records."
    ),
    "figure-3": (
        "No contender's statistic can be taken for that of the true table, and this is no fault of the noise: the "
        "wanted tables say nothing about the fit of a model that they generate. A vertex of the linear program has "
        "few non-empty cells, so the model is nearly always rejected; Margrave's table is close to the model, so it "
        "is hardly ever. Only for Journey to work, where Margrave measures every cell, does the test mean something. "
        "MWEM measures wanted tables alone, and accepts the wrong model there too."
    ),
    "figure-4": (
        "The model fitted to the released table against the model fitted to the true one, as probabilities: 0 is "
        "the same, 2 has no cell in common. The paper calls it total variation, which is half of it. On the dotted "
        "line the release says no more than that every cell is alike. An empty release is read that way."
    ),
    "figure-5": (
        "b > 0 says that no table without negative cells has exactly the noisy coefficients. It does not say that "
        "the program failed: it always has a solution, and b is never above the largest noise. Margrave solves no "
        "such program."
    ),
    "figure-6": "In units of Fourier coefficients, as in the paper. The band is one standard deviation.",
    "figure-7": "The mean maximal L1 of Figure 2, with standard errors. Below 1 Margrave is better.",
}

WHAT = {
    "printed": (
        "what the paper says it ran, with its own noise scales: Fourier coefficients (its Table 1) for binary tables, "
        "Efron–Stein blocks (its Table 2) for Journey to work. Noise is independent for each number, as its proof "
        "supposes: with one noise for a block, as step 3 is printed, differences within the block would be exact"
    ),
    "corrected": (
        "the paper's Table 2 on every table, with the noise that adding or removing one record needs; blocks are "
        "centred before the linear program"
    ),
    "barak": "Barak et al. (2007): Fourier coefficients; Journey to work is written in eight bits",
    "mwem": (
        "Hardt, Ligett and McSherry (2010), which the paper calls promising: as many rounds as wanted tables, each "
        "of which selects the table that a model gets most wrong and measures it. It is told the number of records, "
        "which is not protected"
    ),
    "margrave": "the whole numbers that “margrave release” publishes with the same ε",
    "adaptive": "the same with strategy = “adaptive”: a plan that looks where to measure",
}

STYLE = """
:root { color-scheme: light dark; --line: #c9d1d8; --muted: #55626f; }
@media (prefers-color-scheme: dark) { :root { --line: #3a4650; --muted: #a3b0bc; } }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 54rem; font: 1rem/1.55 system-ui, sans-serif; }
h1 { line-height: 1.2; } h2 { margin: 2.5rem 0 0.5rem; font-size: 1.3rem; }
img { display: block; max-width: 100%; height: auto; background: white; border-radius: 4px; }
.scroll { overflow-x: auto; } .note { color: var(--muted); font-size: 0.9rem; }
table { border-collapse: collapse; font-size: 0.86rem; margin: 0.75rem 0; }
caption { text-align: left; color: var(--muted); padding-bottom: 0.25rem; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th[scope="row"], .text { text-align: left; }
"""


def write_page(summary: Summary, figures: Mapping[str, bytes], printed: Iterable[Printed]) -> str:
    """The whole page, with the figures and the ``printed`` numbers of the paper inside it."""
    body = [
        f"<h1>{escape(TITLE)}</h1>",
        paragraph(
            "Their study of differentially private contingency tables on their four tables, run again for six "
            f"algorithms with {summary.settings.runs} repetitions for each of {len(summary.settings.epsilons)} values "
            "of ε. Lines are means, bands one standard deviation of a run on either side; panels are split at ε = 1. "
            "The data is public and the noise is seeded, so nothing here is private or needs to be."
        ),
        section("contenders", "The six contenders", _contenders(), _scales()),
        *(section(name, HEADINGS[name], _figure(name, figures[name]), _below(summary, name)) for name in figures),
        section("usable", "From which ε on is a table usable?", *_usable(summary)),
        section("printed", "Printed and recomputed numbers", _printed(printed), _theorem_3(summary)),
    ]
    return page(TITLE, STYLE, "\n".join(body), images=True)


def _contenders() -> str:
    return table(("contender", "what it is"), [(TITLES[name], text) for name, text in WHAT.items()], texts=2)


def _scales() -> str:
    rows = []
    for name in TABLES:
        whose = subject(name)
        factors = (f"{float(real_factor(whose)):.4f}", f"{float(replaced_factor(whose)):.4f}")
        rows.append((whose.title, *factors, "yes" if private_as_printed(whose) else "NOT PRIVATE AS PRINTED"))
    headers = ("table", "real ε / stated ε, adding or removing a record", "replacing one", "private as printed")
    return table(headers, rows, caption="The privacy of the printed noise scales")


def _figure(name: str, png: bytes) -> str:
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    return f'<figure><img src="{source}" alt="{escape(HEADINGS[name])}"></figure>'


_QUOTED = {
    "figure-1": "size",
    "figure-2": "largest",
    "figure-3": "g2_difference",
    "figure-4": "l1",
    "figure-5": "infeasible",
    "figure-6": "bound",
}


def _below(summary: Summary, name: str) -> str:
    """What to read from a figure, and its numbers at ε = 1."""
    numbers = _ratio_table(summary) if name not in _QUOTED else _spread_table(summary, name)
    return paragraph(READINGS[name]) + numbers


def _spread_table(summary: Summary, name: str) -> str:
    only_programs = name in ("figure-5", "figure-6")
    contenders = PROGRAMS if only_programs else CONTENDERS
    tables = ("fungus",) if only_programs else TABLES
    rows = []
    for one in tables:
        spreads = [summary.spread(_QUOTED[name], one, contender, summary.reference) for contender in contenders]
        texts = (
            f"{part.mean:.4g}" if name == "figure-5" else f"{part.mean:.4g} ± {part.deviation:.2g}" for part in spreads
        )
        rows.append((subject(one).title, *texts))
    caption = f"At ε = {float(summary.reference):g}: the mean ± the standard deviation of a run"
    return table(("table", *(TITLES[one] for one in contenders)), rows, caption=caption)


def _ratio_table(summary: Summary) -> str:
    caption = f"Ratio at ε = {float(summary.reference):g} ± its standard error, and the largest of the grid"
    return table(*ratio_rows(summary), caption=caption)


def ratio_rows(summary: Summary) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headers and rows: how Margrave's mean maximal L1 error compares with each other contender's."""
    rows = []
    for name in TABLES:
        cells = [subject(name).title]
        for other in RIVALS:
            at, worst = summary.worst_ratio(name, other)
            now, error = (one(name, other, summary.reference) for one in (summary.ratio, summary.ratio_error))
            cells.append(f"{now:.2f} ± {error:.2f} (worst {worst:.2f}, ε = {float(at):g})")
        rows.append(tuple(cells))
    return ("table", *(f"to {TITLES[other]}" for other in RIVALS)), rows


def usable_rows(summary: Summary) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headers and rows: for each table and contender, the ε from which on each criterion, and all of them, hold."""
    rows = []
    for name in TABLES:
        for contender in CONTENDERS:
            found = [summary.usable_from(criterion, name, contender) for criterion in (*CRITERIA_TEXT, "all")]
            texts = (_from(summary, one) for one in (*found, summary.below_sampling_from(name, contender)))
            rows.append((subject(name).title, TITLES[contender], *texts, _around(summary, name, contender)))
    return ("table", "contender", *CRITERIA_TEXT, "all three", "below sampling", "good runs"), rows


def _from(summary: Summary, found: Fraction | None) -> str:
    return f"above {float(summary.settings.epsilons[-1]):g}" if found is None else f"{float(found):g}"


def _around(summary: Summary, name: str, contender: str) -> str:
    """The part of good runs at the ε from which on a table is usable, and at the one before, with standard errors."""
    epsilons, found = summary.settings.epsilons, summary.usable_from("all", name, contender)
    last = len(epsilons) - 1 if found is None else epsilons.index(found)
    shown = epsilons[max(last - 1, 0) : last + 1]
    return ", ".join(
        f"{100 * summary.holds('all', name, contender, one):.0f} "
        f"± {100 * summary.holds_error('all', name, contender, one):.0f} % at {float(one):g}"
        for one in shown
    )


def _usable(summary: Summary) -> tuple[str, ...]:
    texts = "; ".join(f"({name}) {text}" for name, text in CRITERIA_TEXT.items())
    rule = (
        f"A release is called usable when {texts}. A table is usable from an ε on when that holds in at least "
        f"{OFTEN:.0%} of the runs there and at every larger ε of the grid."
    )
    warning = (
        "The test's verdict is the weakest of the three, in both directions (Figure 3). The linear programs nearly "
        "always reject a model, the right ones too, and Margrave hardly ever does, except on Journey to work. Read the "
        "other two on their own as well."
    )
    sampling = ", ".join(f"{subject(name).sampling:.0f} ({subject(name).title})" for name in TABLES)
    yardstick = (
        "Below sampling: from which ε on the mean maximal L1 is at most that of as many records drawn anew from the "
        f"true table, which is {sampling}. From there on privacy adds less error than there is in a sample anyway."
    )
    return paragraph(rule), paragraph(yardstick), table(*usable_rows(summary), texts=2), paragraph(warning, "note")


def _printed(printed: Iterable[Printed]) -> str:
    rows = [(row.where, subject(row.table).title, row.what, row.printed, row.right, row.reason) for row in printed]
    return table(("where", "table", "what", "printed", "recomputed", "why"), rows, texts=6)


def _theorem_3(summary: Summary) -> str:
    printed, corrected = (summary.theorem_3_violated(one) for one in ("printed", "corrected"))
    return paragraph(
        "Theorem 3 says that its bound fails with probability at most δ. With δ = 0.05, the maximal L1 on Journey to "
        f"work is above it in {printed:.0%} of all runs of the algorithm as printed, and in {corrected:.0%} with the "
        "noise that privacy needs."
    )
