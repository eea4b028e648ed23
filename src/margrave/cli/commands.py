"""The commands that open data, and those that show it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margrave.cli.arguments import AsJson, ClockIsRight, DataPath, RequestId, Seed, SigningKeyPath, SpecPath, parts
from margrave.cli.terminal import (
    Terminal,
    notice,
    print_frame,
    print_json,
    progress,
    say,
    warn_of_formulas,
    warnings_of_data,
)

if TYPE_CHECKING:
    from margrave.ledger.ledger import Ledger
    from margrave.publish.verification.signature import SigningKey


def release(
    spec: SpecPath,
    data: DataPath = None,
    seed: Seed = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            envvar="MARGRAVE_LEDGER", help="Charge it to this ledger (see 'margrave ledger').", show_default=False
        ),
    ] = None,
    account: Annotated[str | None, typer.Option(help="Whom to charge.", show_default=False)] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The registered data set, as name@version.", show_default=False)
    ] = None,
    request: RequestId = None,
    clock_is_right: ClockIsRight = False,
    to: Annotated[
        Path | None, typer.Option("--out", help="Write a bundle: a new folder, or a new .zip file.", show_default=False)
    ] = None,
    sign: SigningKeyPath = None,
    to_print: Annotated[
        bool, typer.Option("--print", help="Only print the tables: spend the budget and keep nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Spend the budget once and publish the wanted tables."""
    from margrave.files.writing import check_bundle_target
    from margrave.publish.ways.registry import bundle_way

    if to is not None:
        check_bundle_target(to)
    key = _signing_key(sign, to)
    with warnings_of_data(), progress("Measuring") as update:
        charged = {"account": account, "dataset": dataset, "request": request}
        if ledger is None:
            kept = to is not None or to_print or as_json or seed is not None
            _check_uncharged(spec, clock_is_right, charged, kept=kept)
        out = _released(spec, data, ledger, clock_is_right, **charged, seed=seed, progress=update)
    if not out.private:
        notice("NOT PRIVATE: the noise comes from a seed and can be taken away by anybody who knows it.")
    bundle_way(out.plan.way).finish(out, Terminal())
    if to is None:
        _print_tables(out, as_json)
    else:
        _write(out, to, key)


def _check_uncharged(spec: Path, clock_is_right: bool, charged: Mapping[str, Any], *, kept: bool) -> None:
    """Refuse what only a ledger could do, and a release that no ledger keeps and nobody wants to keep."""
    from margrave.errors import UsageError
    from margrave.planning.ways.registry import load_spec, spec_way

    if clock_is_right or any(value is not None for value in charged.values()):
        raise UsageError("an account, a data set or a request is charged to a ledger: name it with --ledger")
    if not kept:
        lost = spec_way(load_spec(spec).way).unkept
        raise UsageError(f"{lost}: name a place with --out, or say --print if looking once is enough")


def _write(out: Any, to: Path, key: Any) -> None:
    """A bundle, signed if there is a key."""
    from margrave.planning.ways.registry import spec_way

    with progress("Writing") as update:
        out.save(to, sign=key, progress=update)
    warn_of_formulas(spec_way(out.plan.way).formulas(out.plan))
    notice(f"Written to {to}. Look at it with 'margrave show {to}', check it with 'margrave verify {to}'.")


def _print_tables(out: Any, as_json: bool) -> None:
    """All that is published, table by table."""
    from margrave.algebra.words import name_of
    from margrave.publish.ways.registry import bundle_way

    tables = bundle_way(out.plan.way).tables(out)
    if as_json:
        print_json({"private": out.private, "tables": [_frame_json(frame, names) for names, frame in tables]})
        return
    for names, frame in tables:
        print_frame(frame, name_of(names))


def _signing_key(sign: Path | None, to: Path | None) -> SigningKey | None:
    """The key to sign with, opened before anything is spent."""
    from margrave.cli.keys import load_key
    from margrave.errors import UsageError

    if sign is None:
        return None
    if to is None:
        raise UsageError("--sign signs the bundle that --out writes: name its place with --out")
    return load_key(sign)


def _released(spec: Path, data: str | None, url: str | None, clock_is_right: bool, **options: Any) -> Any:
    """A release, charged to a ledger if one is named."""
    from margrave import pipeline
    from margrave.ledger.ledger import opened

    if url is not None:
        with opened(url, clock_is_right=clock_is_right) as ledger:
            return pipeline.release(_priced(spec, ledger, options), data, ledger=ledger, **options)
    return pipeline.release(spec, data, seed=options["seed"], progress=options["progress"])


def _priced(spec: Path, ledger: Ledger, options: Mapping[str, Any]) -> Any:
    """The plan, after saying whether it will be charged or is free."""
    from margrave import pipeline
    from margrave.planning.asked import request_of

    asked, account = pipeline.plan(spec), options["account"]
    if account is None:
        return asked  # which a ledger refuses
    request = request_of(asked, ledger.only_dataset(options["dataset"]), account, options["request"])
    if ledger.asked_before(request):
        notice(f"{account} has paid for this release before: it comes back as it was, and nothing is charged.")
    else:
        notice(f"This release costs {asked.cost.brief()}, for {account} to pay.")
    return asked


def count(
    spec: SpecPath,
    data: DataPath = None,
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Say that you know: exact tables are not private.")
    ] = False,
    table: Annotated[
        list[str] | None, typer.Option(help="A table such as smoke,age; by default all wanted.", show_default=False)
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Write the one table to a new .parquet or .csv file.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count exact tables, for the curator's eyes only. Of very large ones the occupied cells are counted."""
    from margrave import pipeline
    from margrave.algebra.words import name_of
    from margrave.errors import RefusedError
    from margrave.files.writing import write_file
    from margrave.publish.bundle.parts.parts import csv_bytes, parquet_bytes

    if not not_private:
        raise RefusedError(
            "exact tables protect nobody: to see them all the same, say --not-private; to publish, use 'release'"
        )
    tables = [parts(text) for text in table or ()]
    if to is not None:
        _check_count_target(to, tables)
    with progress("Counting") as update:
        exact = pipeline.count(spec, data, tables=tables, progress=update)
    notice("NOT PRIVATE: these counts are exact. Publish with 'margrave release'.")
    if to is not None:
        (margin,) = exact.margins
        counted = exact.to_arrow(margin)
        write_file(to, parquet_bytes(counted) if to.suffix == ".parquet" else csv_bytes(counted))
    elif as_json:
        print_json([_frame_json(exact.to_pandas(margin), margin) for margin in exact.margins])
    else:
        for margin in exact.margins:
            print_frame(exact.to_pandas(margin), name_of(margin))


def _check_count_target(to: Path, tables: list[tuple[str, ...]]) -> None:
    from margrave.errors import UsageError
    from margrave.files.writing import check_target

    if len(tables) != 1 or to.suffix not in (".parquet", ".csv"):
        raise UsageError("--out writes one table, named with --table, to a file that ends in .parquet or .csv")
    check_target(to)


def examples(
    name: Annotated[str | None, typer.Argument(help="Copy this one.", show_default=False)] = None,
    to: Annotated[Path, typer.Option(help="The folder to copy its spec and data into.")] = Path(),
) -> None:
    """List the bundled data sets, or copy one to play with."""
    from margrave import examples as bundled

    if name is None:
        for known in bundled.names():
            say(f"{known:10} {bundled.describe(known)}")
        return
    for path in bundled.copy(name, to):
        typer.echo(path)


def _frame_json(frame: Any, margin: tuple[str, ...]) -> dict[str, Any]:
    return {"table": list(margin), "rows": frame.to_dict(orient="records")}
