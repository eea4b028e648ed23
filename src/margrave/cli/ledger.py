"""``margrave ledger``: the privacy bank. Who may spend how much on which data, and what was spent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margrave.cli.arguments import AsJson, ClockIsRight
from margrave.cli.terminal import clean, json_text, notice, print_json, print_table, say

if TYPE_CHECKING:
    from margrave.budget.units import Budget
    from margrave.ledger import Ledger

app = typer.Typer(
    name="ledger",
    help="Keep account of what releases cost. Data sets with caps, accounts with grants, every charge.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Url = Annotated[
    str,
    typer.Option(
        "--ledger", envvar="MARGRAVE_LEDGER", help="A file, or a PostgreSQL database by its postgresql:// URL."
    ),
]
Versioned = Annotated[str, typer.Argument(metavar="NAME@VERSION", help="The data set.", show_default=False)]
AccountName = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Who.", show_default=False)]
Most = Annotated[str | None, typer.Option(help="The highest cost of one request.", show_default=False)]
OldCount = Annotated[
    str | None,
    typer.Option(
        help="Of one that is registered since before 0.2: the column that says how many records a row stands for.",
        show_default=False,
    ),
]
EventDelta = Annotated[
    str | None,
    typer.Option(help="The part of δ for requests that have a δ of their own: 1e-9.", show_default=False),
]
Only = Annotated[
    str | None,
    typer.Option("--account", help="Only what this account may be shown.", show_default=False),
]
DEFAULT = "ledger.db"


@contextmanager
def _opened(url: str, clock_is_right: bool = False) -> Iterator[Ledger]:
    from margrave.ledger.ledger import opened

    with opened(url, clock_is_right=clock_is_right) as ledger:
        yield ledger


def _budget(text: str | None) -> Budget | None:
    """A budget written as ``epsilon=1``, ``epsilon=1,delta=1e-6`` or ``rho=0.5``."""
    from margrave.budget.units import budget_from_dict
    from margrave.errors import UsageError

    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if any(not sign for _, sign, _ in pairs):
        raise UsageError(f"{text!r} is no budget: write it as epsilon=1, epsilon=1,delta=1e-6 or rho=0.5")
    return budget_from_dict({name.strip(): value.strip() for name, _, value in pairs})


def _delta(text: str | None) -> Fraction:
    """The δ that is set apart, if any is."""
    from margrave.budget.numbers import exact_number

    return Fraction(0) if text is None else exact_number(text)


@app.command()
def init(ledger: Url = DEFAULT) -> None:
    """Make a new, empty ledger."""
    from margrave.ledger import Ledger

    with Ledger.create(ledger) as made:
        say(f"The ledger {made.head.ledger} is ready.")


@app.command()
def dataset(
    name: Versioned,
    spec: Annotated[
        Path | None,
        typer.Option(
            help="A spec: its unit, column of counts, neighbours and public facts are fixed.", show_default=False
        ),
    ] = None,
    cap: Annotated[
        str | None, typer.Option(help="All that may ever be spent: epsilon=3, or rho=0.5.", show_default=False)
    ] = None,
    most: Most = None,
    disjoint: Annotated[
        bool, typer.Option("--disjoint", help="Nobody in this version is in another: it has a cap of its own.")
    ] = False,
    event_delta: EventDelta = None,
    clock_is_right: ClockIsRight = False,
    count: OldCount = None,
    ledger: Url = DEFAULT,
) -> None:
    """Register a version of a data set. What is registered never changes. Opens no data."""
    from margrave.errors import UsageError
    from margrave.planning.ways.registry import load_spec, spec_way

    if (spec is None) == (count is None) or (count is not None and (cap or most or disjoint or event_delta)):
        raise UsageError("give a spec, to register a data set, or --count alone, to declare it of an older one")
    if spec is None:
        _declare_count(name, str(count), ledger, clock_is_right)
        return
    loaded = load_spec(spec)
    with _opened(ledger, clock_is_right) as found:
        found.register(
            name,
            spec_way(loaded.way).notion(loaded),
            _budget(cap),
            most=_budget(most),
            disjoint=disjoint,
            event_delta=_delta(event_delta),
        )
    say(f"{name} is registered.")


def _declare_count(name: str, count: str, ledger: str, clock_is_right: bool) -> None:
    with _opened(ledger, clock_is_right) as found:
        found.declare_count(name, count)
    say(f"Each row of {name}, and of what shares its cap, stands for as many records as {count} says.")


@app.command()
def account(
    name: AccountName,
    organisation: Annotated[bool, typer.Option("--organisation", help="An organisation, not an analyst.")] = False,
    member_of: Annotated[
        str | None, typer.Option(help="The organisation from whose grants this analyst spends.", show_default=False)
    ] = None,
    clock_is_right: ClockIsRight = False,
    ledger: Url = DEFAULT,
) -> None:
    """Add an analyst or an organisation."""
    with _opened(ledger, clock_is_right) as found:
        found.add_account(name, "organisation" if organisation else "analyst", organisation=member_of)
    say(f"{name} has an account.")


@app.command()
def grant(
    account: AccountName,
    name: Versioned,
    amount: Annotated[str | None, typer.Argument(help="How much: epsilon=1, or rho=0.1.", show_default=False)] = None,
    starts: Annotated[str | None, typer.Option("--from", help="The first day, UTC.", show_default=False)] = None,
    expires: Annotated[
        str | None, typer.Option(help="The day, UTC, from which on it cannot be spent.", show_default=False)
    ] = None,
    most: Most = None,
    end: Annotated[bool, typer.Option("--end", help="End the grants that there are, now.")] = False,
    event_delta: EventDelta = None,
    clock_is_right: ClockIsRight = False,
    ledger: Url = DEFAULT,
) -> None:
    """Let an account spend on a data set; or, with --end, no longer."""
    from margrave.errors import UsageError

    budget = _budget(amount)
    if (budget is None) != end:
        raise UsageError("say how much, such as epsilon=1, or --end; not both")
    with _opened(ledger, clock_is_right) as found:
        if budget is None:
            found.end_grant(account, name)
            say(f"The grant of {account} on {name} is ended.")
            return
        part = _delta(event_delta)
        found.grant(account, name, budget, starts=starts, expires=expires, most=_budget(most), event_delta=part)
    say(f"{account} may spend {budget} on {name}.")


@app.command()
def key(
    public: Annotated[Path, typer.Argument(metavar="PUB", help="A public key (see 'margrave key').")],
    ledger: Url = DEFAULT,
) -> None:
    """Hold the public key that releases are signed with. Signed bundles are then checked by 'verify --against'."""
    from margrave.publish.verification.signature import PublicKey

    found = PublicKey.load(public)
    with _opened(ledger) as held:
        held.hold_key(found.raw.hex())
    say(f"The ledger holds the key {found.fingerprint}.")


@app.command()
def clock(
    set_back: Annotated[
        bool, typer.Option("--set-back", help="Date entries by the clock again, after one with too late a date.")
    ] = False,
    ledger: Url = DEFAULT,
) -> None:
    """Compare the clock with the last entry. With --set-back, go back to it; what had ended stays ended."""
    from time import time_ns

    from margrave.ledger.rules.clock import iso

    with _opened(ledger) as found:
        last = found.last_time
        if set_back:
            found.set_clock_back()
            say(f"The last entry was dated {last}. From here on entries are dated by the clock: {iso(time_ns())}.")
            return
    say(f"The last entry is dated {last}. The clock stands at {iso(time_ns())}.")


@app.command()
def show(account: Only = None, ledger: Url = DEFAULT, as_json: AsJson = False) -> None:
    """Show every cap and grant, with what is spent and left."""
    from margrave.ledger.records import Account, DataSet, Grants, Pool

    with _opened(ledger) as found:
        head = found.head if account is None else found.public_head
        pools, grants = found.records(Pool), found.records(Grants)
        versions, accounts = found.records(DataSet), found.records(Account)
    if account is not None:
        mine = _shown_to(account, accounts)
        accounts = [one for one in accounts if one.name in mine]
        grants = [one for one in grants if one.account in mine]
        pools = [pool for pool in pools if any(one.pool == pool.name for one in grants)]
    caps = [_balance(pool.cap, pool.spent) | {"dataset": pool.name} for pool in pools]
    for row in caps:
        row["versions"] = [one.name for one in versions if one.pool == row["dataset"]]
    held = [
        {"account": one.account, "dataset": one.pool, "starts": grant.starts, "expires": grant.expires}
        | _balance(grant.amount, grant.spent)
        for one in grants
        for grant in one.grants
    ]
    if as_json:
        people = [one.to_json() for one in accounts]
        named = {"id": head.ledger, "entries": head.number, "hash": head.hash}
        print_json({"ledger": named, "datasets": caps, "accounts": people, "grants": held})
        return
    say(f"Ledger {head.ledger}, {head.number} entries")
    rows = [(one["dataset"], ", ".join(one["versions"]), *_cells(one)) for one in caps]
    print_table(("data set", "versions", "cap", "spent", "left"), rows)
    _warn(f"the cap of {one['dataset']}" for one in caps if one.get("beyond"))
    names = [(one.name, one.type, one.organisation or "") for one in accounts]
    print_table(("account", "kind", "member of"), names)
    periods = [
        (one["account"], one["dataset"], one["starts"][:10], (one["expires"] or "never")[:10], *_cells(one))
        for one in held
    ]
    print_table(("grant to", "on", "from", "expires", "amount", "spent", "left"), periods)
    _warn(f"the grant of {one['account']} from {one['dataset']}" for one in held if one.get("beyond"))


def _warn(limits: Iterable[str]) -> None:
    """Name the limits that were overdrawn while earlier rules held."""
    for what in limits:
        say(
            f"What was charged is beyond {what}: earlier rules let it, which are right only for requests that are "
            "fixed beforehand. Nothing more can be charged to it or granted from it."
        )


def _shown_to(account: str, accounts: list[Any]) -> tuple[str, ...]:
    """Whose grants an account may be shown: its own and its organisation's."""
    from margrave.errors import UsageError
    from margrave.ledger.rules.lookup import payers

    found = next((one for one in accounts if one.name == account), None)
    if found is None:
        raise UsageError(f"there is no account {account}: see 'margrave ledger account'")
    return payers(found)


def _balance(limit: Any, spent: Any) -> dict[str, Any]:
    from margrave.budget.numbers import exact_text
    from margrave.ledger.amounts import budget_json
    from margrave.ledger.rules.limits import Filter, kept

    limit = kept(limit)
    used, inside = budget_json(limit.together(spent)), limit.holds(spent)
    row: dict[str, Any] = {"limit": budget_json(limit), "spent": used, "left": exact_text(limit.left(spent))}
    if isinstance(limit, Filter):
        rho = limit.room(spent)[1] if inside else Fraction(0)
        row |= {"left_rho": exact_text(rho), "beyond": not inside}
    return row


def _cells(row: dict[str, Any]) -> tuple[str, str, str]:
    from margrave.budget.numbers import exact_number
    from margrave.ledger.statements.words import brief

    amounts = {"": row["left"]} if "left_rho" not in row else {"ε = ": row["left"], "ρ = ": row["left_rho"]}
    left = {sign: float(exact_number(text)) for sign, text in amounts.items()}
    words = " or ".join(f"{sign}{one:.6g}" for sign, one in left.items() if one >= 1e-6)
    return brief(row["limit"]), brief(row["spent"]), words or "nothing"


@app.command()
def history(account: Only = None, ledger: Url = DEFAULT, as_json: AsJson = False) -> None:
    """Tell what happened, entry by entry, in words."""
    from margrave.ledger.statements.shown import told_to
    from margrave.ledger.statements.words import sentence

    with _opened(ledger) as found:
        if account is None:
            listed = [(one.number, one, {"hash": stored}) for one, stored in found.entries()]
        else:
            listed = [(number, one, {}) for number, one in told_to(found, account)]
    if as_json:
        rows = [
            {"number": number, "time": one.time, "kind": one.kind, "body": one.body, **hashed, "words": sentence(one)}
            for number, one, hashed in listed
        ]
        print_json(rows)
        return
    for number, one, _ in listed:
        say(f"{number:>6}  {one.time[:19]}Z  {sentence(one)}")


@app.command()
def verify(
    against: Annotated[
        list[Path] | None,
        typer.Option(help="A bundle, or a folder of bundles, that was charged here.", show_default=False),
    ] = None,
    ledger: Url = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Recompute the chain and every balance from the journal. Exit code 4 at the first difference."""
    from margrave.ledger.check import verify as check
    from margrave.publish.charging import published_in

    published = [one for path in against or () for one in published_in(path)]
    with _opened(ledger) as found:
        checked = check(found, published)
    head = checked.head
    if as_json:
        counts = {"entries": checked.entries, "records": checked.records, "bundles": checked.bundles}
        named = {"ledger": head.ledger, "hash": head.hash}
        print_json(named | counts | {"published": checked.published, "beyond": list(checked.beyond)})
        return
    say(f"{checked.entries} entries follow one another, and {checked.records} records follow from them.")
    say(f"{checked.bundles} stored answers are as they were written.")
    if against:
        say(f"{checked.published} bundles elsewhere were charged here.")
        if not checked.published:
            notice("None of what --against names says that it was charged to a ledger.")
    _warn(checked.beyond)


@app.command()
def export(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The data set, by name or name@version.", show_default=False)
    ],
    to: Annotated[Path | None, typer.Option("--out", help="Write it to a new file.", show_default=False)] = None,
    ledger: Url = DEFAULT,
    as_json: AsJson = False,
    registry: Annotated[
        bool, typer.Option("--registry", help="As JSON in the shape that registries of deployments ask for.")
    ] = False,
) -> None:
    """Write the public statement of all releases from a data set. It names no account."""
    from margrave.files.writing import write_file
    from margrave.ledger.statements.registry import registry_json
    from margrave.ledger.statements.statement import statement

    with _opened(ledger) as found:
        said = statement(found, name)
    plain = "\n".join(map(clean, said.lines()))
    text = json_text(registry_json(said)) if registry else json_text(said.to_json()) if as_json else plain
    if to is None:
        typer.echo(text)
    else:
        write_file(to, f"{text}\n".encode())
        notice(f"Written to {to}.")
