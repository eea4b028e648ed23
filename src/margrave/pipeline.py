"""The steps in order. Read this first: it is the table of contents of the package.

    spec ── plan ── measure ── fit ── publish

A spec and a plan are public and open no data. `release` checks, then enters the confidential side once, through
`margrave.measure`, and what comes back is noisy whole numbers. Everything after that is computed from those.
What only one of the other ways of asking needs is imported when somebody asks in that way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, Unpack, overload
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.crossing import Collected, ExactTables, Measured, MeasuredGraph, People, Profile
from margrave.errors import RefusedError, UsageError
from margrave.ledger.values import DataSetName
from margrave.local import STANDARD_INPUT
from margrave.measure import run
from margrave.measure.profile import profile
from margrave.measure.sources.files.sniffed import dialect_of
from margrave.measure.sources.paths import check_readable
from margrave.measure.sources.sources import open_source
from margrave.noise import Generator
from margrave.planning.asked import request_of
from margrave.planning.checks import check_plan
from margrave.planning.plan import Plan
from margrave.planning.ways.registry import planned
from margrave.progress import Progress
from margrave.publish.bundle.room import check_manifest
from margrave.publish.charging import charged, charged_content
from margrave.publish.drafts.codebooks import read_codebook
from margrave.publish.drafts.draft import Draft, draft_of
from margrave.publish.ways.registry import bundle_way
from margrave.reconstruct.planned import plan as plan
from margrave.reconstruct.publishable import publishable
from margrave.spec.dialect import Dialect
from margrave.spec.spec import Spec

if TYPE_CHECKING:
    from margrave.files.content import Content
    from margrave.ledger.ledger import Ledger
    from margrave.measure.questions.asking import Answerer
    from margrave.measure.questions.rehearsal import Rehearsal
    from margrave.planning.graphs.plan import GraphPlan
    from margrave.planning.graphs.spec import GraphSpec
    from margrave.planning.join.plan import JoinPlan
    from margrave.planning.join.spec import JoinSpec
    from margrave.planning.local.plan import LocalPlan
    from margrave.planning.local.spec import LocalSpec
    from margrave.planning.questions.data_spec import DataSpec
    from margrave.planning.questions.every import Question
    from margrave.planning.questions.several.batch import Batch
    from margrave.planning.questions.several.partition import PricedPartition
    from margrave.publish.graphs.release import GraphRelease
    from margrave.publish.questions.answers import AnswerTable
    from margrave.publish.release import Release


class Options(TypedDict, total=False):
    """What `release` takes beside a plan and data."""

    ledger: Ledger | None
    account: str | None
    dataset: str | None
    request: str | None
    seed: int | str | None
    progress: Progress | None


@overload
def release(what: Plan | Spec, data: Any = None, **options: Unpack[Options]) -> Release: ...


@overload
def release(what: GraphPlan | GraphSpec, data: Any = None, **options: Unpack[Options]) -> GraphRelease: ...


@overload
def release(what: str | Path, data: Any = None, **options: Unpack[Options]) -> Any: ...


def release(
    what: Any,
    data: Any = None,
    *,
    ledger: Ledger | None = None,
    account: str | None = None,
    dataset: str | None = None,
    request: str | None = None,
    seed: int | str | None = None,
    progress: Progress | None = None,
) -> Any:
    """Spend the budget of a plan once, and publish.

    ``data``: a path, a pandas or Polars frame, an Arrow table, a DuckDB relation, a frame of Spark; by default what the
    spec names.
    ``ledger``: where to charge it, to which ``account`` and for which registered ``dataset`` (``name@version``; may be
    left out if there is only one). What was released before comes back unchanged, and an account pays for it once.
    After a failure, the same ``request`` (any name of your own; by default the same plan) goes on without a second
    charge, from the same noise once it was drawn.
    ``seed``: for experiments only. A seeded release can be repeated, so anybody can take its noise away again; it is
    marked as not private wherever it goes.
    """
    asked = planned(what)
    measures = MEASURES[asked.way]
    measures.check(asked)
    way = bundle_way(asked.way)
    source = _data(asked.spec, data)

    def draw() -> Any:
        generator = Generator.system() if seed is None else Generator.seeded(seed)
        return measures.measure(asked, source, generator, progress)

    if ledger is None:
        return way.outcome(asked, draw())
    way.pack.check(asked)
    if seed is not None or account is None:
        raise UsageError("a charged release needs an account, and no seed: seeded noise is not private")
    return charged(ledger, asked, request_of(asked, ledger.only_dataset(dataset), account, request), draw, way.pack)


def open_data(
    spec: DataSpec | str | Path,
    data: Mapping[str, Any] | None = None,
    *,
    ledger: Ledger,
    dataset: str | None = None,
    place: str | Path,
    progress: Progress | None = None,
) -> None:
    """Open a registered data set for questions, once: recode its tables into a private store, a new folder.

    ``data``: the rows of each table by its name, by default from where the spec says. What cannot be recoded is said
    here, to the curator, and never to an analyst.
    """
    from margrave.measure.questions.opening import open_data as write_store
    from margrave.planning.questions.data_spec import DataSpec

    loaded = spec if isinstance(spec, DataSpec) else DataSpec.load(spec)
    named = ledger.only_dataset(dataset)
    ledger.check_open(named, loaded.notion)
    given = {table.name: loaded.location(table) for table in loaded.tables} | dict(data or {})
    folder = Path(place).resolve()
    write_store(loaded, given, folder, progress)
    try:
        ledger.open_questions(named, loaded.public_dict(), str(folder))
    except BaseException:
        rmtree(folder)
        raise


def answerer(place: str | Path, *, timed: bool = True) -> Answerer:
    """What answers questions about a store, in a process of its own; it is started when first needed.

    ``timed``: each answer comes at the end of its time class. Only who keeps to the classes otherwise may leave it out.
    """
    from margrave.measure.questions.asking import Answerer

    return Answerer(place, timed=timed)


def select_again(
    planned: Plan, counts: Mapping[Margin, NDArray[np.int64]], before: Measured, times: int, seed: int | str
) -> list[Margin]:
    """What the first round of a plan selects after some answers, so many times: for audits, on counts that are made up.

    ``counts``: those of every table that can be selected.
    """
    from margrave.measure.looking import choose, seen
    from margrave.reconstruct.graphical.looked import so_far

    view, generator = seen(planned, so_far(planned, before)), Generator.seeded(seed)
    return [choose(view, planned.rounds[0], counts.__getitem__, generator) for _ in range(times)]


def rehearsal(spec: DataSpec, data: Mapping[str, Any]) -> Rehearsal:
    """Questions about rows that were made up, for audits: uncharged, and gone afterwards."""
    from margrave.measure.questions.rehearsal import Rehearsal

    return Rehearsal(spec, data)


class WhereCharged(TypedDict):
    """Where a question is charged. ``request``: the id of the request in the ledger; by default a new one."""

    ledger: Ledger
    dataset: str
    account: str
    request: NotRequired[str | None]


def ask(question: Question, answers: Answerer, **where: Unpack[WhereCharged]) -> AnswerTable | Release:
    """Charge a question, have it answered, and keep the answer. Asked again, it is free and the same."""
    found: AnswerTable | Release = _question_pack(question).read(answer_content(question, answers, **where))
    return found


def ask_batch(batch: Batch, answers: Answerer, **where: Unpack[WhereCharged]) -> tuple[AnswerTable, ...]:
    """Charge several questions at once, have all of them answered, and keep the answers."""
    found: tuple[AnswerTable, ...] = _question_pack(batch).read(answer_content(batch, answers, **where))
    return found


def answer_content(asked: Question | Batch, answers: Answerer, **where: Unpack[WhereCharged]) -> Content:
    """The same, for either, as the bytes that the ledger keeps."""
    from margrave.planning.questions.several.batch import Batch
    from margrave.planning.questions.several.tables import TablesQuestion
    from margrave.publish.questions.asked_tables import measured_tables

    if isinstance(asked, TablesQuestion):
        _check_tables(asked.plan)
    answers.check()
    asking = request_of(asked, DataSetName.parse(where["dataset"]), where["account"], where.get("request"))

    def drawn() -> Any:
        if isinstance(asked, Batch):
            return tuple(answers.numbers(one) for one in asked.questions)
        numbers = answers.numbers(asked)
        return measured_tables(asked, numbers) if isinstance(asked, TablesQuestion) else numbers

    if asked.purse is not None:
        asking = replace(asking, purse=asked.purse.name)
    return charged_content(where["ledger"], asked, asking, drawn, _question_pack(asked))


def _question_pack(asked: Question | Batch) -> Any:
    from margrave.planning.questions.several.batch import Batch
    from margrave.planning.questions.several.tables import TablesQuestion
    from margrave.publish.questions.answers import AnswerPack, BatchPack
    from margrave.publish.questions.asked_tables import AskedTablesPack

    if isinstance(asked, TablesQuestion):
        return AskedTablesPack()
    return BatchPack() if isinstance(asked, Batch) else AnswerPack()


def open_parts(partition: PricedPartition, *, ledger: Ledger, dataset: str) -> PricedPartition:
    """Charge a partition once, and fill the purses of its parts, from which questions about them are paid."""
    from margrave.publish.questions.purses import fill_purses

    return fill_purses(partition, ledger=ledger, dataset=dataset)


def count(
    spec: Spec | str | Path, data: Any = None, *, tables: Iterable[Margin] = (), progress: Progress | None = None
) -> ExactTables:
    """The exact wanted tables (or others, by name). Not private: for the eyes of the curator."""
    loaded = spec if isinstance(spec, Spec) else Spec.load(spec)
    margins = [loaded.domain.margin(table) for table in tables] or list(loaded.margins)
    return run.count(loaded, _data(loaded, data), margins, progress)


def members(planned: JoinPlan, data: Any, progress: Progress | None = None) -> People:
    """The people of the owner whose plan of a join this is. Not private: for the owner's own side of the protocol."""
    from margrave.measure.owners import read_members

    return read_members(planned.spec, planned.owner, _data(planned.spec, data), progress)


def draft(data: Any, *, name: str = "data", progress: Progress | None = None) -> str:
    """The text of a spec for a person to edit, drafted from the data itself. Not private."""
    return drafted(data, name=name, progress=progress).text


def drafted(
    data: Any, *, name: str = "data", written: Mapping[str, str] | None = None, progress: Progress | None = None
) -> Draft:
    """The same with how many records there are. ``written``: how a file is written, unless that is to be found out."""
    _check_there(data)
    dialect, found = dialect_of(data, written or {})
    source = open_source(data, dialect=dialect)
    return draft_of(profile(source, name, progress, dialect, sniff=found))


def drafted_from_codebook(codebook: str | Path, *, name: str, written: Mapping[str, str] | None = None) -> Draft:
    """A draft from a codebook that exists: CSV, CSVW or a Frictionless table schema. Opens no data."""
    dialect = Dialect(**(written or {}))  # type: ignore[arg-type]
    return draft_of(Profile(name, read_codebook(Path(codebook)), dialect), codebook=True)


def plan_graph(spec: GraphSpec | str | Path) -> GraphPlan:
    """An earlier name of `plan`, for graphs."""
    warn("plan_graph is now called plan, for graphs as for tables", DeprecationWarning, stacklevel=2)
    from margrave.planning.graphs.spec import GraphSpec

    found: GraphPlan = plan(spec if isinstance(spec, GraphSpec) else GraphSpec.load(spec))
    return found


def release_graph(
    what: GraphPlan | GraphSpec | str | Path,
    data: Any = None,
    *,
    seed: int | str | None = None,
    progress: Progress | None = None,
) -> GraphRelease:
    """An earlier name of `release`, for graphs."""
    warn("release_graph is now called release, for graphs as for tables", DeprecationWarning, stacklevel=2)
    from margrave.planning.graphs.spec import GraphSpec

    return release(GraphSpec.load(what) if isinstance(what, str | Path) else what, data, seed=seed, progress=progress)


def _data(spec: Spec | GraphSpec | JoinSpec | LocalSpec, data: Any) -> Any:
    if data is None:
        from margrave.planning.join.spec import JoinSpec

        if isinstance(spec, JoinSpec) or spec.data is None or spec.data.location is None:
            raise UsageError("no data is named: give it to the call (--data), or name it in the spec as data.source")
        data = spec.data.location
    _check_there(data)
    return data


def _check_there(data: Any) -> None:
    """Refuse a file that is not there or may not be read, before anything else."""
    if isinstance(data, str | Path) and str(data) != STANDARD_INPUT and not set("*?[:") & set(str(data)):
        check_readable(Path(data))


def _check_tables(planned: Plan) -> None:
    """Everything that can be refused without opening the data, and so without cost."""
    if planned.spec.draft:
        raise RefusedError(
            "the spec is a draft whose values were read from the data: check every line against what is public, "
            "then remove 'draft = true'"
        )
    check_plan(planned)
    publishable(planned)
    check_manifest(planned)
    available = run.available_memory()
    if available is not None and planned.memory > available:
        raise RefusedError(
            f"the plan needs about {planned.memory / 2**30:.1f} GiB of memory, {available / 2**30:.1f} GiB are free: "
            "ask for smaller or fewer tables, or another strategy"
        )


@dataclass(frozen=True)
class Measures:
    """How a way of asking is measured.

    ``check`` refuses everything that can be refused without opening the data, but for what `plan` has refused already;
    ``measure`` enters the confidential side.
    """

    check: Callable[[Any], None]
    measure: Callable[[Any, Any, Generator, Progress | None], Any]


def _measure_tables(planned: Plan, data: Any, generator: Generator, progress: Progress | None) -> Measured:
    return run.measure(planned, data, generator, progress)


def _measure_graph(planned: GraphPlan, data: Any, generator: Generator, progress: Progress | None) -> MeasuredGraph:
    from margrave.measure.graphs import measure_graph

    return measure_graph(planned, data, generator, progress)


def _nothing(planned: Any) -> None:
    """Nothing to refuse."""


def _check_join(planned: JoinPlan) -> None:
    raise UsageError("a join is released by its owners together: begin with 'margrave join offer'")


def _refuse_join(planned: JoinPlan, data: Any, generator: Generator, progress: Progress | None) -> Any:
    """Nothing of a join is measured by one owner alone."""
    _check_join(planned)


def _collect(planned: LocalPlan, data: Any, generator: Generator, progress: Progress | None) -> Collected:
    """Nothing of a local collection is drawn here: its noise was drawn on the respondents' devices."""
    if not generator.private:
        raise UsageError("a local collection draws no noise: its reports have it already; leave the seed out")
    from margrave.local.collector import collect

    return collect(planned, data if isinstance(data, list | tuple) else [data], progress)


MEASURES: Mapping[str, Measures] = {
    "release": Measures(_check_tables, _measure_tables),
    "graph": Measures(_nothing, _measure_graph),
    "local": Measures(_nothing, _collect),
    "join": Measures(_check_join, _refuse_join),
}
"""Every way of asking that enters the confidential side, by its name."""
