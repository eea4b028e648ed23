"""The commands that look at a finished release. They open no data: a bundle is all they need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margrave.cli.arguments import AsJson, BundlePath, parts
from margrave.cli.terminal import (
    heading,
    notice,
    print_csv,
    print_frame,
    print_json,
    print_table,
    progress,
    say,
    warn_of_formulas,
)
from margrave.planning.defaults import LEVEL

if TYPE_CHECKING:
    from margrave.publish.verification.found import Verified
    from margrave.publish.way import Contents

_NOT_PRIVATE = "NOT PRIVATE: the noise of this release comes from a seed, and who knows it can take the noise away."


def show(
    out: BundlePath,
    table: Annotated[
        list[str] | None,
        typer.Argument(help="Attributes: smoke pressure, or smoke,pressure; by default a list.", show_default=False),
    ] = None,
    level: Annotated[float, typer.Option(help="The probability with which an interval holds the truth.")] = LEVEL,
    unbiased: Annotated[bool, typer.Option("--unbiased", help="Unbiased estimates, for statisticians.")] = False,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Show what a release holds, or a table of it with error bars."""
    from margrave.errors import UsageError
    from margrave.publish.way import Asking
    from margrave.publish.ways.registry import bundle_way, load

    if as_json and as_csv:
        raise UsageError("give --json or --csv, not both")
    if not 0 < level < 1:
        raise UsageError(f"--level ({level}) must lie between 0 and 1")
    release = load(out)
    if not release.private:
        notice(_NOT_PRIVATE)
    way = bundle_way(release.plan.way)
    if not table:
        if as_csv:
            raise UsageError("name a table to have it as CSV, such as smoke,pressure")
        _show_contents(way.contents(release), release.private, out, as_json)
        return
    # A table that was not asked for, or another level, has its error bars simulated now.
    with progress("Finding error bars"):
        shown = way.table(release, Asking(parts(",".join(table)), level, unbiased))
    if as_json:
        rows = shown.frame.to_dict(orient="records")
        print_json({"private": release.private, "table": list(shown.names), "level": level, "rows": rows})
    elif as_csv:
        print_csv(shown.frame)
    else:
        print_frame(shown.labelled, shown.title)


def _show_contents(contents: Contents, private: bool, out: Path, as_json: bool) -> None:
    if as_json:
        print_json({"private": private, **contents.json})
        return
    heading(contents.title)
    for sheet in contents.sheets:
        if sheet.title:
            heading(sheet.title)
        print_table(sheet.headers, sheet.rows)
    for sentence in contents.words:
        say(sentence)
    notice("")
    notice(f"Show one with its error bars: margrave show {out} {contents.example}")


def verify(
    out: BundlePath,
    bars: Annotated[bool, typer.Option("--bars", help="Simulate error bars again too; may take a while.")] = False,
    key: Annotated[
        Path | None, typer.Option("--key", help="Whose signature there must be: a public key.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute a release again from its measurements. Exit code 4 names the first difference."""
    from margrave.publish.verification.signature import PublicKey
    from margrave.publish.verification.verify import verify as check

    wanted = None if key is None else PublicKey.load(key)
    with progress("Verifying") as update:
        found = check(out, update, bars=bars, key=wanted)
    if as_json:
        print_json(_verified_json(found, key is not None))
    else:
        _say_verified(found, key is not None)


def _verified_json(found: Verified, known: bool) -> dict[str, Any]:
    return {
        "verified": True,
        "private": found.private,
        "files": found.files,
        "tables": found.tables,
        "margins": found.margins,
        "cost": found.cost.as_dict(),
        "not_checked": [{"part": one.part, "reason": one.reason} for one in found.not_checked],
        "signed_by": None if found.signer is None else found.signer.fingerprint,
        "signer_known": known,
    }


def _say_verified(found: Verified, known: bool) -> None:
    """What was found to be in order, in sentences; ``known``: whether the key of the signature was named."""
    from margrave.planning.promise.guarantee import approximate

    say(f"{found.files} files are as they were written.")
    for sentence in found.words:
        say(sentence)
    say(f"The cost, computed again from what was measured, is no more than stated: {approximate(found.cost)}.")
    left = {one.part for one in found.not_checked}
    names = {"words": "words", "report": "report", "bars": "error bars"}
    say(f"As they follow from the release: {', '.join(names[part] for part in found.parts if part not in left)}.")
    for one in found.not_checked:
        say(str(one))
    if found.signer is not None:
        whose = "which is the one you named" if known else "of which you must know whose it is: see --key"
        say(f"Signed by the key {found.signer.fingerprint}, {whose}.")
    warn_of_formulas(found.formulas)
    if not found.private:
        notice(_NOT_PRIVATE)


def report(
    out: BundlePath,
    to: Annotated[
        Path | None, typer.Option("--out", help="Make the report anew, as this new file.", show_default=False)
    ] = None,
    language: Annotated[str, typer.Option(help="With --out: of the report, en or de.", metavar="CODE")] = "en",
) -> None:
    """Print where the report of a release is, or make it anew."""
    from margrave.errors import UsageError
    from margrave.messages.catalogue import messages_of, speaking
    from margrave.publish.ways.registry import report_of

    if to is not None and to.suffix.lower() not in (".html", ".htm"):
        page = to.with_suffix(".html")
        raise UsageError(f"a report is a web page: write --out {page}; a browser prints it, to PDF too")
    if to is None and language != "en":
        raise UsageError("--language is of a report that is made anew: name a new file with --out")
    with speaking(messages_of(language)):
        typer.echo(report_of(out, to))
