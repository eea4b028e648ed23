"""``margrave audit``: the program and one's own spec, looked at from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import AsJson
from margrave.cli.terminal import heading, notice, print_json, print_table, progress, say

if TYPE_CHECKING:
    from margrave.study.audit.findings import Audit, Effort


def audit(
    what: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A spec, a release, a ledger; or: mechanisms, bugs.", show_default=False),
    ],
    samples: Annotated[int, typer.Option(help="Draws of noise to look at.")] = 200_000,
    releases: Annotated[int, typer.Option(help="Whole releases, sessions or answers to make.")] = 2000,
    confidence: Annotated[float, typer.Option(help="How sure a violation must be.")] = 0.999,
    seed: Annotated[str, typer.Option(help="The same seed, the same samples.")] = "audit",
    as_json: AsJson = False,
) -> None:
    """Look for privacy violations. Opens no data; exit code 4 if one is found."""
    from margrave.errors import VerificationError
    from margrave.study.audit.findings import Effort
    from margrave.study.audit.registry import audit as run

    effort = Effort(samples, releases, confidence, seed)
    if what == "bugs":
        _bugs(effort, as_json)
        return
    with progress("Auditing"):
        found = run(what, effort)
    if as_json:
        print_json(found.as_json())
    else:
        _show(found)
    if found.violated:
        raise VerificationError(found.verdict)


def _show(found: Audit) -> None:
    from margrave.algebra.words import number

    heading(f"Audit of {found.what}")
    rows = [
        (one.check, one.way, number(one.stated), number(one.found), str(one.samples), "YES" if one.violated else "no")
        for one in found.findings
    ]
    print_table(("check", "way", "stated", "found", "looked at", "violated"), rows)
    for remark in found.remarks:
        say(remark)
    if not found.violated:
        say(found.verdict)


def _bugs(effort: Effort, as_json: bool) -> None:
    """The known bugs, and whether the auditor finds each."""
    from margrave.algebra.words import number
    from margrave.errors import VerificationError
    from margrave.study.audit.registry import seeded_bugs

    with progress("Looking for known bugs"):
        caught = seeded_bugs(effort)
    if as_json:
        rows = [{"bug": one.bug.name, **one.finding.as_json(), "samples": one.samples} for one in caught]
        print_json(rows)
    else:
        print_table(
            ("bug", "stated ε", "real ε", "found with", "shown then"),
            [
                (
                    one.bug.name,
                    number(one.bug.stated),
                    "∞" if one.bug.really == float("inf") else number(one.bug.really),
                    f"{one.samples:,}" if one.samples else "NOT FOUND",
                    number(one.finding.found),
                )
                for one in caught
            ],
            "Known bugs, as wrapped mechanisms",
        )
        notice("None of these can be reached from a release.")
    missed = [one.bug.name for one in caught if not one.samples]
    if missed:
        raise VerificationError(f"known bugs were not found: {', '.join(missed)}; look with more --samples")
