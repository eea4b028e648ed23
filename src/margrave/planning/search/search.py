"""The search behind the `auto` planner for pure ε: which counts to take, and how to share the budget among them.

The cost of a plan is the sum of its shares, which is not smooth where a share reaches 0: a new candidate pays off only
with a whole share or not at all. So the search walks over *sets* of candidates, and optimises the shares inside.
It starts from simple sets (wanted tables, contrasts, base table, designs, greedy covers), improves the best of them by
single moves (add, drop, replace, merge, relabel), then restarts from disturbed copies of the best plan. Nothing is
random: the disturbances come from a fixed sequence, and the work is counted in operations, never in seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.planning.limits import SOUGHT_CELLS
from margrave.planning.search.model import Candidate, Choice, Goal, Places
from margrave.planning.search.moves import Candidates, simple_sets
from margrave.planning.search.shares import TINY, improve, polish, smooth

WORK_PER_EFFORT = 8e9
"""The work allowed at effort 1, in the units of `Walk`."""
WORK_PER_EXCHANGE, WORK_PER_VARIANT = 3e5, 3e3
"""What an exchange, and each candidate near another, costs whatever its size: calls in Python."""
WORK_PER_ENTRY, WORK_PER_LISTED = 5.0, 25
"""What an entry of the rows costs in a step of the shares, and when rows are made for a new candidate."""
WORK_PER_MAX_ENTRY, WORK_PER_MAX_TABLE = 10.0, 0.6
"""The same for each residual, and for each table beside it, where the objective is the worst table."""
POOL_ENTRIES = 500_000
"""All closed candidates are held where their rows have at most so many entries (4 MB): then all are offered."""
SMALL_POOL = 1_500
"""Else this many of them are."""
STATE_ENTRIES = 200_000
"""A set whose rows have more entries is taken as it is: a descent from it would not get far."""
ELITE = 4
"""How many of the best plans are disturbed, so that one valley does not hold the search."""
RESTARTS = 80
"""The search ends when so many disturbed plans in a row brought nothing."""
QUIET_WORK, QUIET_PART = 2e8, 0.35
"""It also ends after so much work without a better plan, and that part of the work up to the last one: what took long
to find is looked for longer. On eleven attributes of Adult it ends after 1.5 of 8 units, 0.01 % above the end.
"""
GAIN = 1e-4
"""What is better by less than this part is not better: shares are not converged more closely while sets change."""
VANISHED = 1e-4
"""A share of less than this part of an even share has vanished."""
NEW_STEPS, MOVE_STEPS, START_STEPS = 30, 12, 40
"""Steps of the shares for a disturbed set, for a single move (it starts near its end), and for a starting set."""
RELABEL_HOPE, MOVE_HOPE = 1.02, 1.1
"""How much worse than the plan at hand a move may be before its shares are improved, to be worth improving them."""
FREED_SHARES, NEW_SHARES, MOST_SHARE = (0.7, 1.0, 1.4), (0.03, 0.08, 0.2), 0.9
"""Shares tried for a candidate: as parts of what is freed, or of the whole where nothing is; and the most of it."""
PROPOSALS, FEW_PROPOSALS, SMALL_ENTRIES = 6, 2, 20_000
"""How many candidates are improved in a move, and how many where the rows have more entries than the last number."""
TAKEN_OUT = 3
"""A disturbance takes out at most so many members."""
NEW_INSTEAD = 3
"""One in so many residuals that are left uncovered gets a member of its own although another could grow."""


@dataclass(frozen=True)
class State:
    """A set of candidates with their rows (see `Goal.rows`), shares that sum to 1, and the objective reached."""

    members: tuple[Candidate, ...]
    rows: Any
    shares: Floats
    value: float


class Sequence31:
    """A fixed sequence of whole numbers (a linear congruence modulo 2^31) for disturbing plans reproducibly.

    The factor and the step are those of the C standard's example. The last bits of such a sequence repeat soon (the
    last one every second time), so they are dropped.
    """

    _FACTOR, _STEP, _DROPPED = 1103515245, 12345, 8

    def __init__(self) -> None:
        self._state = self._STEP

    def below(self, bound: int) -> int:
        """The next number, reduced to 0 .. bound-1."""
        self._state = (self._FACTOR * self._state + self._STEP) % 2**31
        return (self._state >> self._DROPPED) % bound


class Walk:
    """Local search with a count of the work done, in units of roughly a nanosecond."""

    def __init__(self, target: Goal, candidates: Candidates, budget: float) -> None:
        self.target = target
        self.candidates = candidates
        self.work = 0.0
        self.budget = budget
        self.roles = roles(target)
        width = len(target.closure)
        self.entry_work = (
            WORK_PER_ENTRY
            if target.objective == "mean"
            else WORK_PER_MAX_ENTRY + WORK_PER_MAX_TABLE * len(target.workload)
        )
        self.pool = candidates.everything(POOL_ENTRIES // width)
        self.offered = self.pool if self.pool is not None else candidates.small(min(SMALL_POOL, POOL_ENTRIES // width))
        self.offered_rows = target.rows(self.offered)
        self.offered_covers = np.ascontiguousarray(self.offered_rows.T > 0)
        self._ends: dict[tuple[tuple[Candidate, ...], bytes], tuple[State, float]] = {}

    @property
    def spent(self) -> bool:
        """Whether the work allowed is done."""
        return self.work >= self.budget

    def quiet_since(self, found: float) -> bool:
        """Whether enough was done since the best plan was found, or all that is allowed."""
        return self.spent or self.work - found > QUIET_WORK + QUIET_PART * found

    def state(self, members: Sequence[Candidate], shares: Floats | None = None, steps: int = NEW_STEPS) -> State:
        """A state with shares improved by a few steps."""
        unique = tuple(dict.fromkeys(members))
        if shares is None or len(unique) < len(members):
            shares = np.full(len(unique), 1 / len(unique))
        rows = self.target.rows(unique)
        self.work += steps * (WORK_PER_ENTRY * rows.size + self.entry_work * rows.shape[1])
        found, values = improve(self.target, rows[None], shares[None] / shares.sum(), steps)
        return self.trimmed(unique, rows, found[0], float(values[0]))

    def trimmed(self, members: Sequence[Candidate], rows: Any, shares: Floats, value: float) -> State:
        """The state without members whose share has vanished, where the rest still covers everything."""
        keep = shares > VANISHED / len(shares)
        if not keep.all():
            left = shares[keep] / shares[keep].sum()
            without = float(self.target.value(rows[keep].T @ (left * left)))
            if without <= value * (1 + GAIN):
                kept = tuple(m for m, k in zip(members, keep, strict=True) if k)
                return State(kept, rows[keep], left, without)
        return State(tuple(members), rows, shares, value)

    def descend(self, state: State) -> State:
        """Where `_descend` ends. Disturbed plans are often the same: a known end takes no time, and counts as work."""
        start = (state.members, state.shares.tobytes())
        if start in self._ends and self.work + self._ends[start][1] < self.budget:
            end, work = self._ends[start]
            self.work += work
            return end
        before = self.work
        end = self._descend(state)
        if state.rows.size <= SMALL_ENTRIES:
            self._ends[start] = end, self.work - before
        return end

    def _descend(self, state: State) -> State:
        """Single moves until none helps, then merges and relabellings, until nothing helps or the work is done."""
        while not self.spent:
            before = state.value
            state = self.sweep(state)
            if state.value > before * (1 - GAIN):
                further = self.relabel(self.merge(state))
                if further.value > state.value * (1 - GAIN):
                    return further
                state = further
        return state

    def sweep(self, state: State) -> State:
        """Try for every member to drop it or to replace it, and then to add one; keep each improvement at once."""
        for member in state.members:
            if self.spent:
                return state
            if member in state.members:
                state = self.exchange(state, (state.members.index(member),))
        return self.exchange(state, ())

    def merge(self, state: State) -> State:
        """Try for pairs of members to replace both by one; keep each improvement at once."""
        for first, second in combinations(state.members, 2):
            if self.spent:
                return state
            if first in state.members and second in state.members:
                state = self.exchange(state, (state.members.index(first), state.members.index(second)))
        return state

    def relabel(self, state: State) -> State:
        """Try for pairs of attributes to let them change places in every member; keep each improvement at once."""
        used = sorted({j for s, _ in state.members for j in s})
        for pair in combinations(used, 2) if len(state.members) > 1 else ():
            if self.spent:
                return state
            if self.roles[pair[0]] == self.roles[pair[1]]:
                continue
            members = [self.candidates.swapped(member, *pair) for member in state.members]
            self.work += len(members) * (WORK_PER_VARIANT + state.rows.shape[1] * self.entry_work)
            if any(m is None for m in members) or set(members) == set(state.members):
                continue
            tried = [m for m in members if m is not None]
            if self.target.value(self.target.rows(tried).T @ state.shares**2) < state.value * RELABEL_HOPE:
                other = self.state(tried, state.shares, steps=MOVE_STEPS)
                state = other if other.value < state.value * (1 - GAIN) else state
        return state

    def exchange(self, state: State, out: tuple[int, ...]) -> State:
        """The best state found with the members `out` replaced by one candidate or by none."""
        stay = [i for i in range(len(state.members)) if i not in out]
        offered, rows = self.offers(state, out)
        proposals = list(self.screen(state, stay, rows)) if offered else []
        sets = [(-1, 0.0), *proposals] if out and (state.rows[stay] > 0).any(axis=0).all() else proposals
        if not sets:
            return state
        width = len(stay) + 1
        stacked = np.zeros((len(sets), width, state.rows.shape[1]))
        shares = np.zeros((len(sets), width))
        left = state.shares[stay] / max(state.shares[stay].sum(), TINY)
        for i, (index, share) in enumerate(sets):
            stacked[i, : len(stay)] = state.rows[stay]
            shares[i, : len(stay)] = left * (1 - share)
            if index >= 0:
                stacked[i, -1] = rows[index]
                shares[i, -1] = share if stay else 1.0
        self.work += (
            MOVE_STEPS * (WORK_PER_ENTRY * stacked.size + self.entry_work * stacked[:, 0].size) + WORK_PER_EXCHANGE
        )
        found, values = improve(self.target, stacked, shares, MOVE_STEPS)
        best = int(np.argmin(values))
        if not values[best] < state.value * (1 - GAIN):
            return state
        index = sets[best][0]
        members = [state.members[i] for i in stay] + ([offered[index]] if index >= 0 else [])
        size = len(members)
        return self.trimmed(members, stacked[best, :size], found[best, :size], float(values[best]))

    def offers(self, state: State, out: tuple[int, ...]) -> tuple[Sequence[Candidate], Floats]:
        """Candidates that may replace the members `out`: all of them where they are few, else near ones."""
        if self.pool is not None or not out:
            return self.offered, self.offered_rows
        gone = [state.members[i] for i in out]
        near = self.candidates.variants(gone[0]) if len(out) == 1 else self.candidates.unions(gone[0], gone[1])
        self.work += len(near) * (WORK_PER_VARIANT + WORK_PER_LISTED * state.rows.shape[1])
        return near, self.target.rows(near) if near else np.zeros((0, state.rows.shape[1]))

    def screen(self, state: State, stay: list[int], rows: Floats) -> Iterator[tuple[int, float]]:
        """The most promising (row, share) when the others keep their proportions."""
        kept = state.shares[stay]
        total = kept.sum()
        freed = 1 - total if len(stay) < len(state.members) else 0.0
        grid = np.minimum(np.array(FREED_SHARES if freed else NEW_SHARES) * (freed or 1.0), MOST_SHARE)
        left = kept / max(total, TINY)
        rest = state.rows[stay].T @ (left * left)
        # Only candidates that cover everything left uncovered can help.
        bare = rest <= 0
        covers = self.offered_covers if rows is self.offered_rows else rows.T > 0
        able = covers[bare].all(axis=0).nonzero()[0] if bare.any() else np.arange(len(rows))
        if not len(able):
            return
        tried = rows[able] if len(able) < len(rows) else rows
        self.work += len(grid) * rows.shape[1] * len(able) * self.entry_work
        if len(stay) < len(state.members) - 1:
            # Few pairs are worth replacing. No share leaves more to the others than the least, or gives more to a
            # candidate than the largest: where both at once are too little, each is.
            most = self.target.value((1 - grid[0]) ** 2 * rest + grid[-1] * grid[-1] * tried)
            if not (most < MOVE_HOPE * state.value).any():
                return
        values = [self.target.value((1 - t) ** 2 * rest + t * t * tried) for t in grid]
        best, share = np.min(values, axis=0), grid[np.argmin(values, axis=0)]
        keep = PROPOSALS if state.rows.size <= SMALL_ENTRIES else FEW_PROPOSALS
        for i in np.argsort(best, kind="stable")[:keep]:
            if best[i] < MOVE_HOPE * state.value:
                yield int(able[i]), float(share[i])

    def disturb(self, state: State, numbers: Sequence31) -> State:
        """A copy with one to three members taken out; what they alone covered goes to other members or new ones."""
        members = list(state.members)
        for _ in range(1 + numbers.below(TAKEN_OUT)):
            if len(members) > 1:
                members.pop(numbers.below(len(members)))
        while True:
            covered = (self.target.rows(members) > 0).any(axis=0)
            if covered.all():
                return self.state(members)
            margin = self.target.closure[int(np.flatnonzero(~covered)[-1])]
            which = numbers.below(len(members) + 1)
            grown = None
            if which < len(members):
                s, b = members[which]
                grown = self.candidates.closed({*s, *margin}, set(b) & set(margin))
            if grown is None or numbers.below(NEW_INSTEAD) == 0:
                members.append((margin, ()))
            else:
                members[which] = grown


def roles(target: Goal) -> list[tuple[int, tuple[tuple[int, float], ...]]]:
    """What tells each attribute from others: its size, and the sizes and weights of the tables it is in."""
    tables: list[list[tuple[int, float]]] = [[] for _ in target.sizes]
    for table, weight in target.workload.items():
        for j in table:
            tables[j].append((len(table), weight))
    return [(size, tuple(sorted(found))) for size, found in zip(target.sizes, tables, strict=True)]


def search_laplace(
    sizes: Sequence[int],
    workload: Mapping[Places, float],
    objective: str = "mean",
    *,
    effort: float = 1.0,
    max_cells: int = SOUGHT_CELLS,
    known: Sequence[Places] = (),
) -> list[Choice]:
    """A plan of (margin, contrast attributes, share), shares summing to 1, that covers the closure of the workload.

    Residuals inside `known` margins need no cover. `objective` is "mean" or "max" (see `Goal`); `effort` scales the
    work allowed; no margin has more than `max_cells` cells, unless a wanted table itself does. The same arguments give
    the same plan, never worse than the wanted tables counted one by one, the contrasts of all residuals, or the
    base table, each with its best shares.
    """
    target = Goal(tuple(sizes), dict(workload), objective, tuple(known))
    candidates = Candidates(target, max_cells)
    walk = Walk(target, candidates, effort * WORK_PER_EFFORT)
    starts = sorted((rated(target, members) for members in simple_sets(target, candidates)), key=lambda s: s.value)
    best = explore(walk, starts)
    final = walk.trimmed(best.members, best.rows, *polish(target, best.rows, best.shares))
    order = sorted(range(len(final.members)), key=lambda i: (-final.shares[i], final.members[i]))
    return [(*final.members[i], float(final.shares[i])) for i in order]


def rated(target: Goal, members: Sequence[Candidate]) -> State:
    """A starting set with converged shares."""
    rows = target.matrix(members)
    shares = smooth(target, rows, np.full(len(members), 1 / len(members)), START_STEPS)
    return State(tuple(members), rows, shares, float(target.value(rows.T @ (shares * shares))))


def explore(walk: Walk, starts: Sequence[State], restarts: int = RESTARTS) -> State:
    """Descend from the starts, best first, then from disturbed copies of the best plans until nothing new comes."""
    width = len(walk.target.closure)
    elite = [starts[0]]
    found = 0.0
    for start in starts:
        fits = len(start.members) * width <= STATE_ENTRIES
        if fits and walk.work < walk.budget / 2 and not walk.quiet_since(found):
            record, elite = elite[0].value, merged(elite, walk.descend(start))
            found = walk.work if elite[0].value < record * (1 - GAIN) else found
    numbers = Sequence31()
    quiet = 0
    while quiet < restarts and not walk.quiet_since(found) and len(elite[0].members) * width <= STATE_ENTRIES:
        record = elite[0].value
        elite = merged(elite, walk.descend(walk.disturb(elite[numbers.below(len(elite))], numbers)))
        quiet += 1
        if elite[0].value < record * (1 - GAIN):
            quiet, found = 0, walk.work
    return elite[0]


def merged(elite: Sequence[State], new: State) -> list[State]:
    """The best few states of different value, the best first."""
    if any(abs(new.value - old.value) <= GAIN * old.value for old in elite if old.value <= new.value):
        return list(elite)
    return sorted([*elite, new], key=lambda s: s.value)[:ELITE]
