"""Exact numbers from a store, and the noisy ones that leave. The exact ones are never returned to anybody else."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.query import answer
from margrave.errors import DataError, UsageError
from margrave.measure.questions.compile import sought_sql
from margrave.measure.questions.store import STORE, stored_spec
from margrave.noise import Generator, sample_many
from margrave.noise.selection import permute_and_flip, select
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.aggregates import Choose, Quantiles
from margrave.planning.questions.price.mechanisms import Noisy, Selected, Tree
from margrave.planning.questions.price.trees import tree_counts
from margrave.planning.questions.programs.sought import Sought
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.tables import TablesQuestion

Integers = NDArray[Any]

_MEMORY = "1GB"
_FEW_ROWS = 2_000_000
"""To go through so few rows, by the declared sizes of all tables, threads that wait for each other cost more."""
_LOCKS = ("SET enable_external_access = false", "SET lock_configuration = true")


class Engine:
    """A store opened for reading, locked: the engine can reach no file, no network and no setting."""

    def __init__(self, place: Path) -> None:
        try:
            import duckdb
        except ImportError:
            raise UsageError("questions need DuckDB: pip install 'margrave[duckdb]'") from None
        path = place / STORE
        if not path.is_file():
            raise DataError(f"there is no store in {place}: open the data set with 'margrave data open'")
        spill = str(place / "spill")
        config = {"memory_limit": _MEMORY, "temp_directory": spill, "autoinstall_known_extensions": "false"}
        self._connection = duckdb.connect(str(path), read_only=True, config=config)
        self.spec: DataSpec = stored_spec(self._connection)
        if sum(table.rows for table in self.spec.tables) <= _FEW_ROWS:
            self._connection.execute("SET threads = 1")
        for lock in _LOCKS:
            self._connection.execute(lock)

    def close(self) -> None:
        self._connection.close()

    def exact(self, sought: Sought) -> Integers:
        """The sums of each cell and part, as whole numbers of any size: groups × grid × parts. Confidential."""
        widths = [len(table.columns) for table in self.spec.tables]
        text, keys, parts = sought_sql(sought, widths)
        rows = self._connection.execute(text).fetchall()
        found = np.zeros((sought.cells * sought.grid_size, parts), dtype=object)
        if not keys:
            found[0] = [0 if one is None else int(one) for one in rows[0]]
        else:
            axes = [*sought.axes, *(() if sought.grid is None else (sought.grid,))]
            places = [{code: at for at, code in enumerate(axis.codes)} for axis in axes]
            for row in rows:
                if None in row[:keys]:
                    continue
                at = 0
                for place, code in zip(places, row[:keys], strict=True):
                    at = at * len(place) + place[code]
                found[at] = [0 if one is None else int(one) for one in row[keys:]]
        return found.reshape(sought.cells, sought.grid_size, parts)


def noisy_answer(engine: Engine, question: PricedQuestion | TablesQuestion, generator: Generator) -> list[int]:
    """The noisy whole numbers that answer a question: all that ever leaves."""
    if question.data != engine.spec:
        raise UsageError("the question is about another data set than the store")
    if isinstance(question, TablesQuestion):
        return _noisy_tables(engine, question, generator)
    counts = engine.exact(question.sought)
    mechanism = question.mechanism
    if isinstance(mechanism, Noisy):
        noise = mechanism.noise.sample(counts.size, generator)
        return [int(one) + int(drawn) for one, drawn in zip(counts.reshape(-1), noise, strict=True)]
    if isinstance(mechanism, Tree):
        return _noisy_trees(counts[:, :, 0], mechanism, generator)
    return _selections(counts[:, :, 0], question, mechanism, generator)


def _noisy_tables(engine: Engine, question: TablesQuestion, generator: Generator) -> list[int]:
    """The noisy outputs of every measurement of the plan, one after the other."""
    plan = question.plan
    held = {
        margin: engine.exact(sought).astype(np.int64).reshape(plan.spec.domain.shape(margin))
        for margin, sought in question.counted.items()
    }
    found: dict[int, list[int]] = {}
    requests = [(one.noise, one.query.outputs(plan.domain)) for one in plan.measurements]
    for number, noise in sample_many(requests, generator):
        query = plan.measurements[number].query
        counts = plan.encoding.counts(query.margin, held[plan.counted_margin(query.margin)])
        truth = answer(plan.domain, query, counts)
        found[number] = (truth + noise.reshape(truth.shape)).reshape(-1).tolist()
    return [one for number in range(len(requests)) for one in found[number]]


def _noisy_trees(counts: Integers, mechanism: Tree, generator: Generator) -> list[int]:
    found: list[int] = []
    for group in counts:
        nodes = tree_counts(group, mechanism.branching, mechanism.levels)
        noise = mechanism.noise.sample(len(nodes), generator)
        found += [int(one) + int(drawn) for one, drawn in zip(nodes, noise, strict=True)]
    return found


def _selections(counts: Integers, question: PricedQuestion, mechanism: Selected, generator: Generator) -> list[int]:
    """For each group and share the position of the selected candidate."""
    aggregate = question.aggregate
    draw = permute_and_flip if mechanism.flips else select
    found = []
    for group in counts:
        if isinstance(aggregate, Choose):
            found.append(draw(int(max(group)) - group, mechanism.rates[0], generator))
            continue
        assert isinstance(aggregate, Quantiles)
        for at, share in enumerate(aggregate.shares):
            found.append(draw(quantile_losses(group, share.value), mechanism.rates[at], generator))
            if mechanism.ends:
                rate, reach = mechanism.ends[at]
                found += [draw(losses, rate, generator) for losses in end_losses(group, share.value, reach)]
    return found


def quantile_losses(counts: Integers, share: Fraction) -> Integers:
    """|(q − p) · below − p · above| for each candidate, where the share is p/q: whole numbers."""
    through = np.cumsum(counts)
    below, above = through - counts, through[-1] - through
    p, q = share.numerator, share.denominator
    losses: Integers = np.abs((q - p) * below - p * above)
    return losses


def end_losses(counts: Integers, share: Fraction, reach: int) -> tuple[Integers, Integers]:
    """For the lower and the upper end of an interval, how far each candidate is from −reach and from +reach.

    A candidate holds all from q · below − p · n to q · (below and its own) − p · n, where the share is p/q; one before
    the first holds all that is less, one after the last all that is more, so that one is always at no distance. Below
    the quantile all that a candidate holds is negative, above it none is: an end on the wrong side is off by the reach.
    """
    p, q = share.numerator, share.denominator
    through = np.cumsum(counts)
    upper = q * through - p * through[-1]
    lower = upper - q * counts
    first, last = -p * through[-1], (q - p) * through[-1]
    nothing = np.zeros(1, dtype=object)
    low = np.maximum(0, np.maximum(lower + reach, -reach - upper))
    high = np.maximum(0, np.maximum(lower - reach, reach - upper))
    before, after = nothing + max(0, -reach - first), nothing + max(0, last - reach)
    return np.concatenate([before, low]), np.concatenate([high, after])
