"""``margrave data open`` for curators, ``margrave ask`` for analysts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import AsJson
from margrave.cli.ledger import DEFAULT, Url, Versioned
from margrave.cli.terminal import notice, print_json, progress, say
from margrave.errors import UsageError
from margrave.planning.defaults import LEVEL

if TYPE_CHECKING:
    from margrave.publish.questions.answers import AnswerTable
    from margrave.publish.release import Release
    from margrave.session.common import AnySession

Explaining = Annotated[bool, typer.Option("--explain", help="Say what it would cost and be worth; ask nothing.")]
ExpectedRows = Annotated[
    int | None, typer.Option(help="How many rows to expect, where the error depends on it.", show_default=False)
]
ReleaseFolder = Annotated[
    Path | None, typer.Option(help="A new folder for the release that 'tables' gives.", show_default=False)
]

PublicFile = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file with public tables that the question may name, as [public.NAME].", show_default=False
    ),
]

data = typer.Typer(name="data", help="Open data sets for questions.", no_args_is_help=True, rich_markup_mode=None)


@data.command(name="open")
def open_data(
    name: Versioned,
    spec: Annotated[Path, typer.Option(help="The declaration of its tables.", show_default=False)],
    store: Annotated[
        Path | None, typer.Option(help="The folder to make for the recoded rows; by default beside the ledger.")
    ] = None,
    ledger: Url = DEFAULT,
) -> None:
    """Recode a registered data set, once, into a private store that questions are answered from."""
    from margrave import pipeline
    from margrave.ledger.ledger import opened

    place = store or Path(f"{name.replace('@', '-')}.store")
    with opened(ledger) as found, progress("Recoding") as update:
        pipeline.open_data(spec, ledger=found, dataset=name, place=place, progress=update)
    say(f"{name} is open for questions. Its recoded rows are in {place}: keep that folder as you keep the data.")


def ask(
    question: Annotated[str, typer.Argument(help="Such as 'people where age in 18-64 by region count'.")],
    account: Annotated[
        str | None, typer.Option(envvar="MARGRAVE_ACCOUNT", help="Who asks.", show_default=False)
    ] = None,
    eps: Annotated[str | None, typer.Option(help="What to spend, in ε.", show_default=False)] = None,
    rho: Annotated[str | None, typer.Option(help="What to spend, in ρ.", show_default=False)] = None,
    dataset: Annotated[
        str | None, typer.Option(help="NAME@VERSION, if several are open for questions.", show_default=False)
    ] = None,
    public: PublicFile = None,
    sql: Annotated[bool, typer.Option("--sql", help="The question is written as SQL.")] = False,
    explain: Explaining = False,
    within: Annotated[
        float | None,
        typer.Option(help="Explain the least budget with which the answer is this near.", show_default=False),
    ] = None,
    confidence: Annotated[float, typer.Option(help="With what probability.")] = LEVEL,
    rows: ExpectedRows = None,
    out: ReleaseFolder = None,
    ledger: Url = DEFAULT,
    server: Annotated[
        str | None, typer.Option(help="Ask a server at this address, not a ledger.", show_default=False)
    ] = None,
    token: Annotated[
        str, typer.Option(envvar="MARGRAVE_TOKEN", help="What the server lets you in with.", show_default=False)
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Ask a question about an open data set, and pay for it. A partition is paid for, and gives its parts purses.

    With --explain or --within it is not asked: what it would cost and be worth is said.
    """
    from margrave.publish.release import Release
    from margrave.session.builders import QuestionBuilder
    from margrave.session.public import public_in

    tables = {} if public is None else public_in(public)
    if out is not None:
        _check_out(out, asks=not explain and within is None)
    with _session(server, token, ledger, account, dataset) as session:
        asked = session.sql(question, **tables) if sql else session.ask(question, **tables)
        only = explain or within is not None
        if not isinstance(asked, QuestionBuilder):
            parted = asked.explain(eps, rho=rho, within=within) if only else asked.release(eps, rho=rho)
            _say(parted, parted.to_json, as_json)
            return
        if only:
            told = asked.explain(eps, rho=rho, within=within, confidence=confidence, rows=rows)
            _say(told, told.to_json, as_json)
            return
        priced = asked.priced(eps, rho)
        for text in priced.warnings:
            notice(f"WARNING: {text}.")
        answer = session.answer(priced)
    if isinstance(answer, Release):
        _show_release(answer, out, as_json)
    else:
        _say(answer, lambda: _answer_json(answer), as_json)


def _session(server: str | None, token: str, ledger: str, account: str | None, dataset: str | None) -> AnySession:
    """With a server, or with a ledger on this machine."""
    if server is not None:
        from margrave.client.remote import connect

        if not token:
            raise UsageError("a server lets nobody in without a token: set MARGRAVE_TOKEN, or give --token")
        return connect(server, token, dataset)
    from margrave.session.session import Session

    if account is None:
        raise UsageError("say who asks: --account, or MARGRAVE_ACCOUNT")
    return Session.open(ledger, account, dataset)


def _answer_json(answer: AnswerTable) -> dict[str, object]:
    from margrave.publish.questions.answers import answer_json

    return {**answer_json(answer), "rows": [row.as_dict() for row in answer.rows], "left": answer.left}


def _check_out(out: Path, asks: bool) -> None:
    if not asks:
        raise UsageError("nothing is asked with --explain or --within, so there is no release for --out")
    if out.exists():
        raise UsageError(f"{out} exists already: name a new folder")


def _say(told: object, value: Callable[[], object], as_json: bool) -> None:
    """For people, or for programs."""
    if as_json:
        print_json(value())
    else:
        _say_lines(repr(told))


def _show_release(release: Release, out: Path | None, as_json: bool) -> None:
    """The tables that were asked for, or where their bundle is."""
    from margrave.publish.ways.registry import bundle_way

    way = bundle_way("release")
    if out is not None:
        release.save(out)
        say(f"The release is in {out}: 'margrave show {out}' lists its tables, 'margrave verify {out}' checks it.")
        return
    if as_json:
        print_json(dict(way.contents(release).json))
        return
    for margin in release.plan.spec.margins:
        _say_lines(f"{', '.join(margin) or 'all rows'}\n{release.table(*margin).to_string(index=False)}\n")


def _say_lines(text: str) -> None:
    for line in text.splitlines():
        say(line)
