"""``margrave demo``: the whole way on bundled data, from the forecast to a report to look at."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.plans import show_plan
from margrave.cli.terminal import heading, print_frame, progress, say

if TYPE_CHECKING:
    from margrave.planning.plan import Plan
    from margrave.publish.release import Release


def demo(
    name: Annotated[str, typer.Argument(help="A bundled data set: fungus, czech, rochdale or journey.")] = "czech",
    to: Annotated[
        Path | None,
        typer.Option("--out", help="A new folder to work in; by default demo-release.", show_default=False),
    ] = None,
) -> None:
    """Release tables of a bundled data set, from forecast to report."""
    from margrave import examples as bundled
    from margrave import pipeline
    from margrave.files.writing import check_target

    spec, folder = bundled.path(name), to or _free(Path("demo-release"))
    check_target(folder)
    heading(f"{name}: {bundled.describe(name)}")
    say(f"The spec is {spec}")
    planned = pipeline.plan(spec)
    show_plan(planned)
    with progress("Counting") as update:
        exact = pipeline.count(planned.spec, progress=update)
    margin = planned.spec.margins[0]
    heading("EXACT: the true table. This data set is public; exact counts of confidential data are never published.")
    print_frame(exact.table(margin).to_pandas())
    folder.mkdir()
    out = _charged_twice(name, planned, str(folder / "ledger.db"))
    heading("PRIVATE: the same table as `margrave release` publishes it, with standard errors and 95 % intervals")
    print_frame(out.table(*margin))
    with progress("Writing") as update:
        out.save(folder / "release", progress=update)
    called = "margrave" if which("margrave") else sys.argv[0]  # `make demo` leaves no program on the path
    say(f"The release is in {folder / 'release'}; check it with: {called} verify {folder / 'release'}")
    say(f"A report to look at in a browser: {folder / 'release' / 'report.html'}")
    say(f"A server to ask, with everything set up (margrave[serve]): {called} serve --demo")
    say(f"Build tables of your own in a browser: {called} explore {folder / 'release'}")


def _charged_twice(name: str, planned: Plan, url: str) -> Release:
    """A release charged to a new ledger, and the same again, which is free."""
    from margrave import pipeline
    from margrave.cli import ledger as bank
    from margrave.ledger import Ledger
    from margrave.planning.written import notion_of

    with Ledger.create(url) as ledger:
        ledger.register(f"{name}@1", notion_of(planned.spec), planned.spec.budget)
        ledger.add_account("ann")
        ledger.grant("ann", f"{name}@1", planned.spec.budget)
        heading("LEDGER before: what may be spent on the data set in all, and by whom")
        bank.show(ledger=url)
        with progress("Releasing and simulating error bars") as update:
            first = pipeline.release(planned, ledger=ledger, account="ann", progress=update)
        heading("LEDGER after: the budget is used up, so another question would be refused")
        bank.show(ledger=url)
        again = pipeline.release(planned, ledger=ledger, account="ann")
        same = "the same bundle, byte for byte" if again.stored == first.stored else "ANOTHER BUNDLE"
        say(f"The same question again costs nothing and returns {same}.")
    return first


def _free(wanted: Path) -> Path:
    """The name wanted, or with a number behind it if that is taken."""
    names = (wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}") for number in count(1))
    return next(name for name in names if not name.exists())
