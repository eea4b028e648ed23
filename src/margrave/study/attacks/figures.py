"""Pictures of attacks. The colours are those of Okabe and Ito, which people who are colour-blind can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from margrave.errors import RefusedError
from margrave.files.writing import write_file
from margrave.study.attacks.result import Attack, Panel, Style

STYLES: dict[Style, dict[str, Any]] = {
    "exact": {"color": "#000000", "marker": "^", "linestyle": ":"},
    "wrong": {"color": "#D55E00", "marker": "o", "linestyle": "--"},
    "margrave": {"color": "#0072B2", "marker": "s", "linestyle": "-"},
    "bound": {"color": "#009E73", "marker": "", "linestyle": "-."},
    "chance": {"color": "#777777", "marker": "", "linestyle": ":"},
}


_WIDE = 50


def plot(attack: Attack, path: Path) -> None:
    """Every panel of an attack, side by side, as a PNG file."""
    write_file(path, png(attack))


def png(attack: Attack) -> bytes:
    """The picture as bytes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise RefusedError("a plot needs matplotlib: pip install 'margrave[study]'; the table needs nothing") from None
    columns = min(2, len(attack.panels))
    rows = -(-len(attack.panels) // columns)
    figure = Figure(figsize=(5.4 * columns + 1.2, 4.3 * rows), dpi=100, layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, panel in zip(places, attack.panels, strict=False):
        _draw(axes, panel)
    for axes in places[len(attack.panels) :]:
        axes.axis("off")
    figure.suptitle(f"{attack.title}, ε = {float(attack.epsilon):.3g}", fontsize=11)
    out = BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _draw(axes: Any, panel: Panel) -> None:
    for line in panel.lines:
        style = STYLES[line.style] | ({"linestyle": ""} if panel.ticks and STYLES[line.style]["marker"] else {})
        axes.plot(line.x, line.y, label=line.label, markersize=5, linewidth=1.3, **style)
    if panel.log_x or _wide([x for line in panel.lines for x in line.x]):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        axes.locator_params(axis="x", integer=True)
    if panel.log_y:
        axes.set_yscale("log")
    if panel.ticks:
        axes.set_xticks(range(len(panel.ticks)), panel.ticks, rotation=30, ha="right", fontsize=7)
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.up)
    axes.set_title(panel.title, fontsize=10)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.32 if panel.ticks else -0.16), ncols=2
    )


def _wide(places: Sequence[float]) -> bool:
    """Whether places lie so far apart that most of them would be in one corner."""
    return min(places) > 0 and max(places) > _WIDE * min(places)
