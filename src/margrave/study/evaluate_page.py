"""An evaluation as files: tables for machines, a page for people, and plots where matplotlib is installed."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from margrave.algebra.words import number
from margrave.files.writing import File, write_files
from margrave.publish.report.html import page, paragraph, section, table
from margrave.study.evaluate import Evaluation, Risk, TableError

ERROR_HEADERS = ("table", "strategy", "budget", "method", "forecast L1", "L1", "forecast RMSE", "RMSE")
RISK_HEADERS = ("strategy", "budget", "method", "mean L1", "uniques", "shown", "matched", "small", "matched", "pinned")

READING = (
    "Forecasts are of the unbiased table (method none), before any data is opened: there forecast and measured agree. "
    "Other methods bring bias and, on sparse tables, far less error."
)
RISK_READING = (
    "Uniques are cells of the full table with one record; shown: published as such; matched: both. Small cells hold 1 "
    "to 3 records; matched: published exactly; pinned: following, rightly, from the published tables alone. A match is "
    "a sign of accuracy as much as of risk: what protects a person is the budget."
)

_SYMBOLS = {"epsilon": "ε", "rho": "ρ"}
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")

STYLE = """
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; text-align: right; border-bottom: 1px solid #8884; }
th[scope="row"], .text { text-align: left; }
.scroll { overflow-x: auto; }
img { max-width: 100%; background: white; }
"""


def error_rows(found: Evaluation) -> list[tuple[str, ...]]:
    """One row for each table, strategy, budget and method."""
    return [
        (
            ", ".join(one.table) or "total",
            one.strategy,
            f"{float(one.budget):g}",
            one.method,
            number(one.forecast_l1),
            f"{number(one.l1)} ± {number(one.l1_error)}",
            number(one.forecast_rmse),
            number(one.rmse),
        )
        for one in found.errors
    ]


def risk_rows(found: Evaluation) -> list[tuple[str, ...]]:
    """One row for each strategy, budget and method."""
    names = ("uniques", "shown", "matched", "small", "small_matched", "pinned")
    return [
        (
            one.strategy,
            f"{float(one.budget):g}",
            one.method,
            number(one.mean_l1),
            *("—" if getattr(one, name) is None else number(float(getattr(one, name))) for name in names),
        )
        for one in found.risks
    ]


def exact_sentence(found: Evaluation) -> str:
    """What the exact tables would give away, where that is known."""
    if found.exact_pinned is None:
        return ""
    return f"The exact tables would pin {found.exact_pinned} small cells."


def write(found: Evaluation, path: Path) -> bool:
    """Write a new folder; false when there are no plots because matplotlib is not installed."""
    try:
        plots = tuple(_plots(found))
    except ImportError:
        plots = ()
    write_files(path, _files(found, plots))
    return bool(plots)


def _files(found: Evaluation, plots: Sequence[File]) -> Iterator[File]:
    yield "errors.csv", found.errors_frame().to_csv(index=False, lineterminator="\n").encode()
    yield "risks.csv", found.risks_frame().to_csv(index=False, lineterminator="\n").encode()
    yield "evaluation.json", (json.dumps(found.as_dict(), indent=2, ensure_ascii=False) + "\n").encode()
    yield from plots
    yield "index.html", _page(found, plots).encode()


def _page(found: Evaluation, plots: Sequence[File]) -> str:
    words = {"error.png": "Error against budget", "risk.png": "Risk against utility"}
    shown = "".join(
        f'<p><img alt="{words[name]}" src="data:image/png;base64,{b64encode(content).decode()}"></p>'
        for name, content in plots
    )
    runs = f"{found.question.runs} releases of each kind, with noise from seeds: not private. The data is public."
    body = [
        "<h1>Evaluation</h1>",
        paragraph(runs),
        shown,
        section("errors", "Error of each table", paragraph(READING), table(ERROR_HEADERS, error_rows(found), texts=2)),
        section(
            "risks",
            "Risk and utility",
            paragraph(f"{RISK_READING} {exact_sentence(found)}"),
            table(RISK_HEADERS, risk_rows(found), texts=1),
        ),
    ]
    return page("Evaluation", STYLE, "\n".join(body), images=True)


def _plots(found: Evaluation) -> Iterator[File]:
    from matplotlib.figure import Figure

    def drawn(plot: Callable[[Evaluation, Any], None]) -> bytes:
        figure = Figure(figsize=(7, 4.2), dpi=110, layout="constrained")
        axes = figure.add_subplot()
        plot(found, axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
        out = BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()

    yield "error.png", drawn(_plot_errors)
    if any(one.matched is not None for one in found.risks):
        yield "risk.png", drawn(_plot_risks)


def _plot_errors(found: Evaluation, axes: Any) -> None:
    """Error against budget: a colour for each strategy, a line for each method, dots for the forecast."""
    for (strategy, method), points in _curves(found.risks).items():
        x, y = [float(one.budget) for one in points], [one.mean_l1 for one in points]
        axes.plot(x, y, **_style(found, strategy, method), label=f"{strategy}, {method}")
    for strategy in found.question.strategies:
        forecast = _forecast(found.errors, strategy)
        colour = _style(found, strategy, found.question.methods[0])["color"]
        axes.plot(list(forecast), list(forecast.values()), ":", color=colour, label=f"{strategy}, forecast")
    axes.set(xscale="log", yscale="log", xlabel=_SYMBOLS[found.unit], ylabel="mean L1 error of a table")
    budgets = sorted(map(float, found.question.budgets))
    axes.set_xticks(budgets, [f"{value:g}" for value in budgets])
    axes.set_xticks([], minor=True)
    _plain_numbers(axes.yaxis)


def _plot_risks(found: Evaluation, axes: Any) -> None:
    """The share of uniques published exactly against the error, a point for each budget."""
    for (strategy, method), points in _curves(found.risks).items():
        known = [one for one in points if one.matched is not None]
        if not known:
            continue
        shares = [100 * (one.matched or 0.0) / max(one.uniques or 0, 1) for one in known]
        style = _style(found, strategy, method)
        axes.plot([one.mean_l1 for one in known], shares, **style, label=f"{strategy}, {method}")
        for one, share in zip(known, shares, strict=True):
            text = f"{_SYMBOLS[found.unit]} = {float(one.budget):g}"
            axes.annotate(text, (one.mean_l1, share), xytext=(4, 4), textcoords="offset points", fontsize=7)
    axes.set(xscale="log", xlabel="mean L1 error of a table", ylabel="uniques published exactly, %")
    _plain_numbers(axes.xaxis)


def _style(found: Evaluation, strategy: str, method: str) -> dict[str, Any]:
    colour = _COLOURS[found.question.strategies.index(strategy) % len(_COLOURS)]
    at = found.question.methods.index(method)
    return {"color": colour, "marker": "osD^vx"[at % 6], "linestyle": ("-", "--", "-.")[at % 3], "markersize": 4}


def _plain_numbers(axis: Any) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, without exponents."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def _curves(risks: Sequence[Risk]) -> dict[tuple[str, str], list[Risk]]:
    found: dict[tuple[str, str], list[Risk]] = {}
    for one in sorted(risks, key=lambda risk: risk.budget):
        found.setdefault((one.strategy, one.method), []).append(one)
    return found


def _forecast(errors: Sequence[TableError], strategy: str) -> dict[float, float]:
    """The mean of the forecasts over all tables, by budget."""
    values: dict[float, dict[tuple[str, ...], float]] = {}
    for one in errors:
        if one.strategy == strategy:
            values.setdefault(float(one.budget), {})[one.table] = one.forecast_l1
    return {budget: sum(found.values()) / len(found) for budget, found in sorted(values.items())}
