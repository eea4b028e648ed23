"""Draws published.svg, the errors of published tables by method and data set: python docs/images/published.py

The numbers are those of docs/published-tables.md, measured by benchmarks/published_error.py --runs 200.
"""

from __future__ import annotations

from pathlib import Path

METHODS = ("auto", "least-squares", "linear-program", "Barak et al.")
COLOURS = ("#1b6e5a", "#7fb3a5", "#c9a66b", "#b5b5b5")
ERRORS = {
    "Fungus": (10.28, 11.47, 12.26, 23.80),
    "Czech": (21.17, 21.39, 21.36, 71.83),
    "Rochdale": (27.09, 29.27, 31.29, 79.83),
    "Journey": (59.01, 86.14, 219.60, None),
}
WIDTH, PANEL, BAR, LEFT, TOP = 760, 150, 22, 118, 64
LONGEST = 190
"""The longest bar of each panel, in pixels."""


def text(x: float, y: float, words: str, size: int = 13, anchor: str = "start", weight: str = "400") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">{words}</text>'


def panel(left: int, top: int, name: str, errors: tuple[float | None, ...]) -> list[str]:
    """One data set: a bar a method, all panels to their own scale."""
    parts = [text(left + LEFT, top, name, 14, weight="700")]
    most = max(error for error in errors if error is not None)
    for row, (method, colour, error) in enumerate(zip(METHODS, COLOURS, errors, strict=True)):
        y = top + 12 + row * (BAR + 5)
        parts.append(text(left + LEFT - 8, y + 16, method, 12, "end"))
        if error is None:
            parts.append(text(left + LEFT + 4, y + 16, "binary attributes only", 11))
            continue
        width = LONGEST * error / most
        parts.append(f'<rect x="{left + LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
        parts.append(text(left + LEFT + width + 5, y + 16, f"{error:.1f}", 12))
    return parts


def picture() -> str:
    height = TOP + 2 * PANEL + 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" fill="#222" role="img" aria-labelledby="title">',
        '<title id="title">Mean L1 error of published whole-number tables at ε = 1, by method, on four tables</title>',
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff"/>',
        text(
            16, 28, "Mean L1 error of a published table at ε = 1. Shorter is better; each panel has its own scale.", 14
        ),
    ]
    for number, (name, errors) in enumerate(ERRORS.items()):
        parts += panel(number % 2 * (WIDTH // 2), TOP + number // 2 * PANEL, name, errors)
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    (Path(__file__).parent / "published.svg").write_text(picture(), encoding="utf-8")
