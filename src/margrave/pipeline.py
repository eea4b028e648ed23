"""The steps in order. Read this first: it is the table of contents of the package.

    spec ── plan ── measure ── fit ── publish

A spec and a plan are public and open no data. `release` checks, then enters the confidential side once, through
`margrave.measure`, and what comes back is noisy whole numbers. Everything after that is computed from those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from margrave.algebra.domain import Margin
from margrave.crossing import ExactTables, Measured
from margrave.errors import DataError, RefusedError, UsageError
from margrave.ledger import Ledger
from margrave.measure import run
from margrave.measure.graphs import measure_graph
from margrave.measure.profile import profile
from margrave.measure.sources.sources import open_source
from margrave.noise import Generator
from margrave.planning.checks import check_plan
from margrave.planning.graphs.plan import GraphPlan, make_graph_plan
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.plan import Plan
from margrave.planning.planner import make_plan
from margrave.publish.bundle.room import check_manifest
from margrave.publish.charging import charged, request_of
from margrave.publish.draft import draft_spec
from margrave.publish.graphs import GraphRelease
from margrave.publish.release import Release
from margrave.reconstruct.published import publishable
from margrave.spec.spec import Spec

Progress = Callable[[int, int | None], None]


def plan(spec: Spec | str | Path) -> Plan:
    """What a release by this spec would do, cost and be worth. Opens no data."""
    planned = make_plan(spec if isinstance(spec, Spec) else Spec.load(spec))
    publishable(planned)
    return planned


def release(
    what: Plan | Spec | str | Path,
    data: Any = None,
    *,
    ledger: Ledger | None = None,
    account: str | None = None,
    dataset: str | None = None,
    request: str | None = None,
    seed: int | str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Spend the budget of a plan once, and publish.

    ``data``: a path, a pandas or Polars frame, an Arrow table, a DuckDB relation; by default what the spec names.
    ``ledger``: where to charge it, to which ``account`` and for which registered ``dataset`` (``name@version``; may be
    left out if there is only one). What was released before comes back unchanged, and an account pays for it once.
    After a failure, the same ``request`` (any name of your own; by default the same plan) goes on without a second
    charge, from the same noise once it was drawn.
    ``seed``: for experiments only. A seeded release can be repeated, so anybody can take its noise away again; it is
    marked as not private wherever it goes.
    """
    planned = what if isinstance(what, Plan) else plan(what)
    _check(planned)
    source = _data(planned.spec, data)

    def draw() -> Measured:
        generator = Generator.system() if seed is None else Generator.seeded(seed)
        return run.measure(planned, source, generator, progress)

    if ledger is None:
        return Release(planned, draw())
    if seed is not None or account is None:
        raise UsageError("a charged release needs an account, and no seed: seeded noise is not private")
    return charged(ledger, planned, request_of(planned, ledger.only_dataset(dataset), account, request), draw)


def count(
    spec: Spec | str | Path, data: Any = None, *, tables: Iterable[Margin] = (), progress: Progress | None = None
) -> ExactTables:
    """The exact wanted tables (or others, by name). Not private: for the eyes of the curator."""
    loaded = spec if isinstance(spec, Spec) else Spec.load(spec)
    margins = [loaded.domain.margin(table) for table in tables] or list(loaded.margins)
    return run.count(loaded, _data(loaded, data), margins, progress)


def draft(data: Any, *, name: str = "data", progress: Progress | None = None) -> str:
    """The text of a spec for a person to edit, drafted from the data itself. Not private."""
    return draft_spec(profile(open_source(data), name, progress))


def plan_graph(spec: GraphSpec | str | Path) -> GraphPlan:
    """What a release of a graph would do and cost. Opens no data."""
    return make_graph_plan(spec if isinstance(spec, GraphSpec) else GraphSpec.load(spec))


def release_graph(
    what: GraphPlan | GraphSpec | str | Path,
    data: Any = None,
    *,
    seed: int | str | None = None,
    progress: Progress | None = None,
) -> GraphRelease:
    """Spend the budget of a graph plan once. ``data``: the edges, one record for each; ``seed`` as for `release`."""
    planned = what if isinstance(what, GraphPlan) else plan_graph(what)
    generator = Generator.system() if seed is None else Generator.seeded(seed)
    return GraphRelease(planned, measure_graph(planned, _data(planned.spec, data), generator, progress))


def _data(spec: Spec | GraphSpec, data: Any) -> Any:
    if data is None:
        if spec.data is None or spec.data.location is None:
            raise UsageError("no data is named: give it to the call (--data), or name it in the spec as data.source")
        data = spec.data.location
    if isinstance(data, str | Path) and not set("*?[:") & set(str(data)) and not Path(data).exists():
        raise DataError(f"{data} does not exist")
    return data


def _check(planned: Plan) -> None:
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
