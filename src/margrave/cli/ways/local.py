"""``margrave local``: randomised response. A page for respondents, a report by hand, and the collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from margrave.cli.arguments import AsJson, SpecPath
from margrave.cli.terminal import notice, print_json, print_table, progress, say

app = typer.Typer(
    name="local",
    help="Ask people who randomise their own answers. Nobody needs to be trusted.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def page(
    spec: SpecPath,
    to: Annotated[Path, typer.Option("--out", help="The new HTML file.", show_default=False)],
    post: Annotated[
        str | None, typer.Option(help="The address that reports are sent to; otherwise they are saved as files.")
    ] = None,
) -> None:
    """Write the questionnaire: one page that works offline and makes each respondent's report on her own device."""
    from margrave.files.writing import write_file
    from margrave.local.page import page_html
    from margrave.planning.local.plan import make_local_plan
    from margrave.planning.local.spec import LocalSpec

    plan = make_local_plan(LocalSpec.load(spec))
    write_file(to, page_html(plan, post).encode())
    for warning in plan.warnings:
        notice(f"Warning: {warning}.")
    notice(f"Written to {to}, for the plan {plan.hash}. Give it to the respondents as it is.")


@app.command()
def tokens(
    spec: SpecPath,
    count: Annotated[int, typer.Option(help="How many to draw: one for each person who is asked.")],
    to: Annotated[Path, typer.Option("--out", help="The new file of tokens, to hand out.", show_default=False)],
    issued: Annotated[Path, typer.Option(help="The new list of their hashes, for the collector.", show_default=False)],
) -> None:
    """Draw single-use tokens to hand out, and the list by which the collector refuses all others."""
    from margrave.files.writing import check_target, write_file
    from margrave.local.tokens import Issued, draw_tokens
    from margrave.noise import Generator
    from margrave.planning.local.plan import make_local_plan
    from margrave.planning.local.spec import LocalSpec

    check_target(to)
    check_target(issued)
    plan = make_local_plan(LocalSpec.load(spec))
    drawn = draw_tokens(count, Generator.system())
    write_file(to, "".join(f"{token}\n" for token in drawn).encode())
    write_file(issued, Issued.of(plan, drawn).content())
    notice(f"{count:,} tokens are in {to}. Hand out each once, behind #token= in the address of the page.")
    notice(f"The collector needs {issued} alone: margrave local collect {spec} REPORTS --issued {issued}")


@app.command()
def encode(
    spec: SpecPath,
    answer: Annotated[list[str], typer.Option(help="An answer such as smoke=yes, once for each question.")],
    token: Annotated[
        str | None, typer.Option(help="The token that you were given; by default one is drawn.", show_default=False)
    ] = None,
    memory: Annotated[
        Path | None, typer.Option(help="Where this device remembers its reports.", show_default=False)
    ] = None,
) -> None:
    """Make your own report. It is made once: asked again, the same one is given."""
    from margrave.errors import UsageError
    from margrave.local.memory import Memory
    from margrave.local.reports import make_report
    from margrave.noise import Generator
    from margrave.noise.tape import Tape
    from margrave.planning.local.plan import make_local_plan
    from margrave.planning.local.spec import LocalSpec

    plan = make_local_plan(LocalSpec.load(spec))
    pairs = [one.partition("=") for one in answer]
    if not all(middle for _, middle, _ in pairs) or len({name for name, _, _ in pairs}) < len(pairs):
        raise UsageError("answers read like smoke=yes, each question once")
    device = Memory(memory)
    made = []

    def make() -> str:
        tape = Tape.of(Generator.system())
        own = token or Generator.system().octets(16).tobytes().hex()
        shuffled = plan.spec.shuffler is not None
        made.append(make_report(plan, {name: value for name, _, value in pairs}, tape, "" if shuffled else own).line)
        return made[-1]

    line = device.once(plan, make)
    if not made:
        notice("You made a report about these questions before; it is given again, for a second would tell more.")
    typer.echo(line)


@app.command()
def collect(
    spec: SpecPath,
    reports: Annotated[
        list[str], typer.Argument(help="Files or folders of reports, or - for standard input.", show_default=False)
    ],
    to: Annotated[
        Path | None, typer.Option("--out", help="Keep the sums in this new file, for 'release'.", show_default=False)
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="Add to the collection in this file, so that no token counts twice.", show_default=False),
    ] = None,
    issued: Annotated[
        Path | None,
        typer.Option(help="The list of issued tokens; reports with others are refused.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add up reports. Those that are none, of another plan, sent twice or not asked for are refused and counted."""
    from margrave.errors import UsageError
    from margrave.files.writing import check_target, write_file
    from margrave.local.collector import collect as run
    from margrave.local.collector import collect_into
    from margrave.local.kept import kept_bytes
    from margrave.local.tokens import Issued
    from margrave.planning.describe import name_of
    from margrave.planning.local.plan import make_local_plan
    from margrave.planning.local.spec import LocalSpec

    if to is not None:
        check_target(to)
        if into is not None:
            raise UsageError(
                "--out writes the sums of these reports, --into adds them to a collection: name one of both"
            )
    plan = make_local_plan(LocalSpec.load(spec))
    allowed = None if issued is None else Issued.read(plan, issued)
    with progress("Collecting") as update:
        if into is None:
            found = run(plan, reports, update, allowed)
        else:
            found = collect_into(into, plan, reports, update, allowed)
    if to is not None:
        write_file(to, kept_bytes(plan, found))
    rows = [(name_of(one.margin), str(count)) for one, count in zip(plan.questions, found.counts, strict=True)]
    if as_json:
        counts = [
            {"margin": list(one.margin), "reports": n} for one, n in zip(plan.questions, found.counts, strict=True)
        ]
        print_json({"reports": found.reports, "refused": dict(found.refused), "questions": counts})
        return
    print_table(("reported on", "reports"), rows[:40], f"{found.reports:,} reports")
    for kind, count in found.refused.items():
        say(f"Refused, {kind}: {count:,}.")
    if (kept := to or into) is not None:
        notice(f"Written to {kept}. Publish with 'margrave release {spec} --data {kept} --out release'.")
