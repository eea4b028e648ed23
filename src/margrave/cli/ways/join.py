"""``margrave join``: a table over people in the data of several owners, who do not show it to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import SpecPath
from margrave.cli.terminal import notice, progress, say

if TYPE_CHECKING:
    from margrave.crossing import People
    from margrave.join.result import Result
    from margrave.join.side import Side
    from margrave.planning.join.plan import JoinPlan

app = typer.Typer(
    name="join",
    help="Make one table from the data of several owners. Nobody shows any of it to another.",
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
Peer = Annotated[
    str | None, typer.Option(help="Send what is written to this mailbox, https://HOST:PORT.", show_default=False)
]
TlsPath = Annotated[
    Path | None,
    typer.Option(
        "--tls", help="A folder with certificate.pem, secret.pem and authority.pem, for --peer.", show_default=False
    ),
]
MessagePath = Annotated[Path, typer.Argument(help="The message that came.", show_default=False)]


@contextmanager
def _side(
    spec: Path, owner: str, key: Path, session: Path, url: str, account: str, dataset: str | None
) -> Iterator[Side]:
    """Who takes part, with a ledger that is open."""
    from margrave.cli.keys import load_key
    from margrave.join.folder import SessionFolder
    from margrave.join.side import ChargedTo, Side
    from margrave.ledger.ledger import opened

    plan, secret = _plan(spec).of(owner), load_key(key)
    with opened(url) as ledger:
        yield Side(plan, secret, SessionFolder.at(session), ChargedTo(ledger, account, ledger.only_dataset(dataset)))


def _plan(spec: Path) -> JoinPlan:
    from margrave import pipeline
    from margrave.errors import UsageError
    from margrave.planning.join.plan import JoinPlan

    found = pipeline.plan(spec)
    if not isinstance(found, JoinPlan):
        raise UsageError(f"{spec} is no spec of a join: it has no section [join]")
    return found


def _read(side: Side, data: str) -> People:
    from margrave import pipeline

    with progress("Reading") as update:
        return pipeline.members(side.plan, data, update)


def _post(peer: str | None, tls: Path | None, spec: Path | None = None) -> Callable[[Path, str], None]:
    """What to do with a message that was written; whatever can be wrong with an address is found before that."""
    from margrave.errors import UsageError
    from margrave.join.post import Tls, address_of, send

    if (peer is None) != (tls is None):
        raise UsageError("--peer and --tls are given together: where to send, and with which certificate")
    if peer is None or tls is None:
        return lambda path, whom: notice(f"Send {path} {whom}")
    if spec is not None and _plan(spec).spec.helper is not None:
        raise UsageError("an offer through a helper is two files for different people: use 'margrave join send'")
    address_of(peer)
    Tls(tls).context(serving=False)

    def post(path: Path, whom: str) -> None:
        send(path, peer, Tls(tls))
        notice(f"Sent {path} {whom}")

    return post


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
    peer: Peer = None,
    tls: TlsPath = None,
) -> None:
    """Begin a session, as the first owner. What is written is to be sent to the others."""
    from margrave.join import steps

    post = _post(peer, tls, spec)
    with _side(spec, owner, key, session, ledger, account, dataset) as side:
        sent = steps.offer(side, lambda: _read(side, data))
        others = [one.name for one in side.plan.spec.owners if one.name != owner]
    post(sent[0], f"to {', '.join(others)}.")
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
    peer: Peer = None,
    tls: TlsPath = None,
) -> None:
    """Answer an offer. What is written is to be sent to the first owner or, if there is one, to the helper."""
    from margrave.join import steps

    post = _post(peer, tls)
    with _side(spec, owner, key, session, ledger, account, dataset) as side:
        sent = steps.answer(side, message, lambda: _read(side, data))
    helped = side.plan.spec.helper is not None
    post(sent, f"to {_helper_name(side) if helped else side.plan.spec.owners[0].name}, and to nobody else.")


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
    peer: Peer = None,
    tls: TlsPath = None,
) -> None:
    """Close the session: by the answer, as the first of two owners, otherwise by the result."""
    from margrave.files.writing import check_target
    from margrave.join import steps

    check_target(to)
    post = _post(peer, tls)
    with _side(spec, owner, key, session, ledger, account, dataset) as side:
        result = steps.finish(side, message)
    if side.place == 0 and side.plan.spec.helper is None:
        post(side.folder.message("result"), f"to {side.plan.spec.owners[1].name}, who has the same bundle then.")
    _save(result, to)
    notice(f"Written to {to}; {side.plan.spec.publisher} publishes it. Check it with 'margrave verify {to}'.")


@app.command()
def send(
    message: MessagePath,
    peer: Annotated[str, typer.Argument(help="The mailbox, https://HOST:PORT.", show_default=False)],
    tls: Annotated[Path, typer.Option("--tls", help="A folder with certificate.pem, secret.pem and authority.pem.")],
) -> None:
    """Send a message to the mailbox of somebody else."""
    from margrave.join.post import Tls
    from margrave.join.post import send as sent

    sent(message, peer, Tls(tls))
    notice(f"Sent {message} to {peer}.")


@app.command()
def listen(
    spec: SpecPath,
    inbox: Annotated[Path, typer.Option(help="The folder that messages are put into.", show_default=False)],
    tls: Annotated[Path, typer.Option("--tls", help="A folder with certificate.pem, secret.pem and authority.pem.")],
    at: Annotated[str, typer.Option(help="Where to listen: HOST:PORT.")] = "127.0.0.1:8443",
) -> None:
    """Take messages about a spec in, until you stop it. Nothing is answered by itself."""
    from margrave.errors import UsageError
    from margrave.join.post import Mailbox, Tls

    host, _, port = at.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"{at!r} is no place to listen at: write it as 0.0.0.0:8443")
    with Mailbox(_plan(spec), inbox, Tls(tls), host, int(port)) as mailbox:
        notice(f"Listening at https://{host}:{mailbox.server_port}, into {inbox}. Stop it with Ctrl-C.")
        mailbox.serve_forever()


@app.command()
def replay(
    spec: SpecPath,
    session: SessionPath,
    data: Data,
) -> None:
    """Make the messages of one side again from its data and its folder, as an auditor would, and compare."""
    from margrave import pipeline
    from margrave.join.folder import SESSION, SessionFolder
    from margrave.join.replay import replay as replayed

    plan = _plan(spec)
    owner = str((SessionFolder(session).settled(SESSION) or {}).get("owner", ""))
    for line in replayed(plan, session, lambda: pipeline.members(plan.of(owner), data)).lines:
        say(f"In order: {line}.")


def _save(result: Result, to: Path) -> None:
    from dataclasses import replace

    from margrave.publish.bundle.bundle import read_bundle, save
    from margrave.publish.bundle.untrusted.reading import archived

    with archived(result.bundle) as files:
        release = replace(read_bundle(files).release, stored=result.bundle)
    save(release, to)


def _helper_name(side: Side) -> str:
    helper = side.plan.spec.helper
    return "" if helper is None else helper.name
