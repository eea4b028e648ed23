"""``margrave join``: a table over people in the data of several owners, who do not show it to each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import SpecPath
from margrave.cli.terminal import notice, progress, say

if TYPE_CHECKING:
    from margrave.crossing import Members
    from margrave.join.result import Result
    from margrave.join.side import Side
    from margrave.planning.join.plan import JoinPlan

app = typer.Typer(
    name="join",
    help="A table over people in the data of several owners, who do not show it to each other.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

OwnerName = Annotated[str, typer.Option("--owner", help="Who you are in the spec.", show_default=False)]
KeyPath = Annotated[
    Path, typer.Option("--key", help="Your secret key, as 'margrave key' wrote it.", show_default=False)
]
SessionPath = Annotated[
    Path, typer.Option("--session", help="The folder of the session: secret, kept until the end.", show_default=False)
]
Data = Annotated[str, typer.Option("--data", help="Your data.", show_default=False)]
LedgerUrl = Annotated[
    str, typer.Option("--ledger", envvar="MARGRAVE_LEDGER", help="Your ledger: a file, or a postgresql:// URL.")
]
Account = Annotated[str, typer.Option(help="The account to charge.", show_default=False)]
DataSet = Annotated[
    str | None, typer.Option(help="Your data set, NAME@VERSION, if there are several.", show_default=False)
]
MessagePath = Annotated[Path, typer.Argument(help="The message that came.", show_default=False)]


@contextmanager
def _side(
    spec: Path, owner: str, key: Path, session: Path, url: str, account: str, dataset: str | None
) -> Iterator[Side]:
    """Who takes part, with a ledger that is open."""
    from margrave.cli.keys import load_key
    from margrave.join.folder import Folder
    from margrave.join.side import Purse, Side
    from margrave.ledger.ledger import opened

    plan, secret = _plan(spec).of(owner), load_key(key)
    with opened(url) as ledger:
        yield Side(plan, secret, Folder.at(session), Purse(ledger, account, ledger.only_dataset(dataset)))


def _plan(spec: Path) -> JoinPlan:
    from margrave import pipeline
    from margrave.errors import UsageError
    from margrave.planning.join.plan import JoinPlan

    found = pipeline.plan(spec)
    if not isinstance(found, JoinPlan):
        raise UsageError(f"{spec} is no spec of a join: it has no section [join]")
    return found


def _read(side: Side, data: str) -> Members:
    from margrave import pipeline

    with progress("Reading") as update:
        return pipeline.members(side.plan, data, update)


@app.command()
def key(
    path: Annotated[Path, typer.Argument(metavar="KEY", help="A secret key, as 'margrave key' wrote it.")],
) -> None:
    """Show what the spec of a join says of a key: its public half, and the box that is sealed for it."""
    from margrave.cli.keys import load_key
    from margrave.join.sealing import box_of

    found = load_key(path)
    say(f'key = "{found.public.raw.hex()}"')
    say(f'box = "{box_of(found)}"  # only where there is a helper')


@app.command()
def offer(
    spec: SpecPath,
    owner: OwnerName,
    data: Data,
    key: KeyPath,
    session: SessionPath,
    account: Account,
    dataset: DataSet = None,
    ledger: LedgerUrl = "ledger.db",
) -> None:
    """Begin a session, as the first owner. What is written is to be sent to the others."""
    from margrave.join import steps

    with _side(spec, owner, key, session, ledger, account, dataset) as side:
        sent = steps.offer(side, lambda: _read(side, data))
        others = [one.name for one in side.plan.spec.owners if one.name != owner]
    notice(f"Send {sent[0]} to {', '.join(others)}.")
    for path in sent[1:]:
        notice(f"Send {path} to {_helper_name(side)}, and to nobody else.")


@app.command()
def answer(
    spec: SpecPath,
    message: MessagePath,
    owner: OwnerName,
    data: Data,
    key: KeyPath,
    session: SessionPath,
    account: Account,
    dataset: DataSet = None,
    ledger: LedgerUrl = "ledger.db",
) -> None:
    """Answer an offer. What is written is to be sent to the first owner or, if there is one, to the helper."""
    from margrave.join import steps

    with _side(spec, owner, key, session, ledger, account, dataset) as side:
        sent = steps.answer(side, message, lambda: _read(side, data))
    helped = side.plan.spec.helper is not None
    notice(f"Send {sent} to {_helper_name(side) if helped else side.plan.spec.owners[0].name}, and to nobody else.")


@app.command()
def match(
    spec: SpecPath,
    submissions: Annotated[list[Path], typer.Argument(help="The submission of each owner.", show_default=False)],
    key: KeyPath,
    sessions: Annotated[
        Path, typer.Option(help="The folder of all your sessions, so that none is matched twice.", show_default=False)
    ],
) -> None:
    """Make the result, as the helper. It is to be sent to all owners."""
    from margrave.cli.keys import load_key
    from margrave.join.helped import Matching
    from margrave.join.helped import match as matched

    made = matched(Matching(_plan(spec), load_key(key), sessions), submissions)
    notice(f"Send {made} to all owners.")


@app.command()
def finish(
    spec: SpecPath,
    message: MessagePath,
    owner: OwnerName,
    key: KeyPath,
    session: SessionPath,
    account: Account,
    to: Annotated[Path, typer.Option("--out", help="A new folder, or a new .zip file, for the release.")],
    dataset: DataSet = None,
    ledger: LedgerUrl = "ledger.db",
) -> None:
    """Close the session: by the answer, as the first of two owners, otherwise by the result."""
    from margrave.files.writing import check_target
    from margrave.join import steps

    check_target(to)
    with _side(spec, owner, key, session, ledger, account, dataset) as side:
        result = steps.finish(side, message)
    if side.place == 0 and side.plan.spec.helper is None:
        notice(
            f"Send {side.folder.message('result')} to {side.plan.spec.owners[1].name}, who has the same bundle then."
        )
    _save(result, to)
    notice(f"Written to {to}; {side.plan.spec.publisher} publishes it. Check it with 'margrave verify {to}'.")


@app.command()
def replay(
    spec: SpecPath,
    session: SessionPath,
    data: Data,
) -> None:
    """Make the messages of one side again from its data and its folder, as an auditor would, and compare."""
    from margrave import pipeline
    from margrave.join.folder import SESSION, Folder
    from margrave.join.replay import replay as replayed

    plan = _plan(spec)
    owner = str((Folder(session).settled(SESSION) or {}).get("owner", ""))
    for line in replayed(plan, session, lambda: pipeline.members(plan.of(owner), data)).lines:
        say(f"In order: {line}.")


def _save(result: Result, to: Path) -> None:
    from dataclasses import replace

    from margrave.publish.bundle.bundle import read_bundle, save
    from margrave.publish.bundle.reading import archived

    with archived(result.bundle) as files:
        release = replace(read_bundle(files).release, stored=result.bundle)
    save(release, to)


def _helper_name(side: Side) -> str:
    helper = side.plan.spec.helper
    return "" if helper is None else helper.name
