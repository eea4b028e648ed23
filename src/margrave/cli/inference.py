"""``margrave infer``: a log-linear model fitted to a release, with the noise in the likelihood."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margrave.cli.arguments import AsJson, BundlePath, parts
from margrave.cli.terminal import heading, notice, print_frame, print_json, progress, say
from margrave.planning.defaults import LEVEL

if TYPE_CHECKING:
    import pandas as pd

    from margrave.inference.inference import Inference


def infer(
    out: BundlePath,
    model: Annotated[
        str | None,
        typer.Option(
            help="Generators such as [smoke,mental][pressure]; by default the released tables.", show_default=False
        ),
    ] = None,
    shares: Annotated[
        bool, typer.Option("--shares", help="Probabilities of cells in place of log odds ratios.")
    ] = False,
    of: Annotated[
        list[str] | None,
        typer.Option(help="Only these attributes together, such as smoke,mental.", show_default=False),
    ] = None,
    level: Annotated[float, typer.Option(help="The probability with which an interval holds the truth.")] = LEVEL,
    as_json: AsJson = False,
) -> None:
    """Fit a log-linear model to a release, with valid intervals. The noise is accounted for; costs no budget."""
    from margrave.inference.inference import infer as fitted
    from margrave.publish.bundle.bundle import load

    release = load(out)
    asked = model or "".join(f"[{','.join(margin)}]" for margin in release.plan.spec.margins)
    found = fitted(release, asked, level=level)
    margins = [parts(text) for text in of] if of else None
    with progress("Finding intervals") as update:
        frame = (found.shares if shares else found.contrasts)(margins, progress=update)
    if as_json:
        print_json(_json(found, "shares" if shares else "contrasts", frame, private=release.private))
        return
    test = found.test
    heading(f"{found.model}: {found.model.rank} parameters, expected total {found.expected.total:.6g}")
    if test.p_value is None:
        say("Nothing beyond the model was measured, so the model cannot be tested.")
    else:
        say(f"Test of the model: X² = {test.x2:.4g} on {test.df} degrees of freedom, p = {test.p_value:.3g}.")
    what = "Probabilities of cells" if shares else "Log odds and log odds ratios against the first values"
    say(f"{what}, with {100 * level:.4g} % intervals:")
    print_frame(frame)
    if not shares and not all(map(isfinite, (*frame["low"], *frame["high"]))):
        notice("inf: the release does not say how far on that side. Probabilities are better known: see --shares.")
    if not release.private:
        notice("NOT PRIVATE: the noise of this release comes from a seed.")


def _json(found: Inference, kind: str, frame: pd.DataFrame, *, private: bool) -> dict[str, Any]:
    """JSON has no infinity: an interval without an end has null there."""
    rows = [
        {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]
    test = found.test
    return {
        "private": private,
        "model": str(found.model),
        "parameters": found.model.rank,
        "level": found.level,
        "test": {"x2": test.x2, "df": test.df, "p_value": test.p_value},
        kind: rows,
    }
