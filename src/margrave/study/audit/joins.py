"""The audit of a join: exact probabilities of its noise, then whole sessions of owners that are made up.

In a session each owner draws masks, padding and noise; messages are made, signed, read and matched as owners do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, inf

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.budget.units import ApproxDP, Budget, amount
from margrave.crossing import People
from margrave.join import helped, pair, protocol
from margrave.join.messages import digest_of, parse
from margrave.join.sealing import box_of
from margrave.noise import Generator, Noise
from margrave.planning.join.noise import Hiding, PairNoise
from margrave.planning.join.plan import JoinPlan
from margrave.publish.verification.signature import SigningKey
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted
from margrave.study.audit.bounds import loss_at_least
from margrave.study.audit.exact import loss_of
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.mechanism import Spread, log_ratio, together

_SECONDS = 15.0
"""Processor time for sessions, about."""
_FEWEST = 50
"""Sessions of a data set below which nothing can be shown."""


def audit_join(plan: JoinPlan, effort: Effort) -> Audit:
    """What the public and the other owner see of one person: by exact probabilities, then in sessions."""
    remarks = ["All are supposed to keep to the protocol, and reading ids is not audited: people are made up."]
    findings = list(_exact(plan))
    seconds = JoinStage.of(plan, 1).plan.seconds
    sessions = min(effort.releases // 2, int(_SECONDS / (seconds * (len(plan.spec.owners) + 1))))
    if sessions < _FEWEST:
        remarks.append(f"No sessions were sampled: each takes about {seconds:.2g} s, and many are needed.")
    else:
        findings += _sampled(JoinStage.of(plan, sessions), sessions, effort)
    return Audit("a join", effort.confidence, tuple(findings), tuple(remarks))


def _exact(plan: JoinPlan) -> Iterator[Finding]:
    noise, z = plan.noise, _window(plan)
    for place, owner in enumerate(plan.spec.owners):
        moves = 2 if owner.neighbours == "replace" else 1
        public = noise.public_cost(owner.neighbours)
        loss = moves * _pure(noise.published, z)
        yield Finding(f"{owner.name}, to the public", "exact", float(public.amount), loss, z.size)
        cost = noise.cost(place, owner.neighbours)
        if isinstance(noise, PairNoise):
            count = noise.second if place else noise.first
            found = moves * delta_of(count, noise.sizes, float(cost.amount) / moves, z)
            name = f"{owner.name}, to the other owner: δ at the stated ε"
            yield Finding(name, "exact", float(cost.delta), found, z.size)


def _window(plan: JoinPlan) -> Floats:
    """Values of the noise beyond which there is next to nothing of it."""
    widest = max(float(noise.variance) for noise in plan.noise.all) ** 0.5
    reach = int(60 * widest) + 4
    return np.arange(-reach, reach + 1).astype(np.float64)


def _pure(noise: Noise, z: Floats) -> float:
    """The largest log-ratio of the noise and itself moved by one, where it is not next to nothing."""
    p, q = noise.pmf(z), noise.pmf(z - 1)
    there = (p > 1e-280) & (q > 1e-280)
    return loss_of(p[there], q[there])


def delta_of(count: Hiding, sizes: Hiding, epsilon: float, z: Floats) -> float:
    """Σ (P − e^ε Q)₊ over a count and a size that one person moves by one each, both ways, exactly up to rounding.

    For each value of the count, those of the size whose ratio is large enough are summed up from a sorted list.
    """
    worst, factor = 0.0, exp(epsilon) * (1 + 1e-12)
    for sign in (1, -1):
        counted, moved = count.pmf(z), count.pmf(z - sign)
        p, q = sizes.pmf(z), sizes.pmf(z - sign)
        ratio = _over(p, q)
        order = np.argsort(-ratio, kind="stable")
        sums = [np.concatenate([[0.0], np.cumsum(side[order])]) for side in (p, q)]
        telling = np.searchsorted(-ratio[order], -factor * _over(moved, counted), side="left")
        worst = max(worst, float((counted * sums[0][telling] - factor * moved * sums[1][telling]).sum()))
    return worst


def _over(p: Floats, q: Floats) -> Floats:
    """p/q, unbounded where q is 0; where both are, nothing is told."""
    return np.where(q > 0, p / np.where(q > 0, q, 1.0), np.where(p > 0, inf, 0.0))


@dataclass(frozen=True, eq=False)
class JoinStage:
    """The noise of a join with few categories: one of each owner, or two where her people are replaced.

    What one person moves, and what hides it, is the same however many there are. ``keys``: of every owner, and then of
    the helper. ``leaving``: how many leave an owner's data together, or change their category.
    """

    plan: JoinPlan
    keys: tuple[SigningKey, ...]
    leaving: tuple[int, ...]

    @classmethod
    def of(cls, plan: JoinPlan, sessions: int) -> JoinStage:
        """For so many sessions."""
        leaving = tuple(together(plan.cost_of(one), sessions) for one in plan.spec.owners)
        keys = tuple(SigningKey.new() for _ in (*plan.spec.owners, plan.spec.helper))
        entries, owners, helper = [], [], plan.spec.helper
        for owner, key in zip(plan.spec.owners, keys, strict=False):
            values = ("0", "1") if owner.neighbours == "replace" else ("0",)
            entries.append(CodebookEntry(f"of {owner.name}", Categories(values)))
            box = "" if helper is None else box_of(key)
            own = replace(
                owner, key=key.public.raw.hex(), box=box, at_most=max(leaving), attributes=(entries[-1].name,)
            )
            owners.append(own)
        table = Spec(Codebook(tuple(entries)), plan.spec.table.budget, (Wanted(tuple(one.name for one in entries)),))
        if helper is not None:
            helper = replace(helper, key=keys[-1].public.raw.hex(), box=box_of(keys[-1]))
        spec = replace(plan.spec, table=table, owners=tuple(owners), helper=helper)
        return cls(replace(plan, spec=spec), keys, leaving)

    def members(self, place: int, changed: int | None) -> People:
        """An owner's people: everybody's are the same, but of the one who is ``changed``."""
        people, leaving = max(self.leaving), self.leaving[place] if place == changed else 0
        replaced = self.plan.spec.owners[place].neighbours == "replace"
        codes = np.zeros(people if replaced else people - leaving, dtype=np.int64)
        codes[people - leaving :] = 1
        return People([f"person {at}".encode() for at in range(len(codes))], codes)

    def counts(self, changed: int | None) -> Integers:
        """The exact table over people whom all have."""
        found = np.zeros(self.plan.spec.shape, dtype=np.int64)
        codes = [self.members(place, changed).categories for place in range(len(self.plan.spec.owners))]
        common = min(map(len, codes))
        np.add.at(found, tuple(one[:common] for one in codes), 1)
        return found

    def sizes(self, place: int, changed: int | None) -> Integers:
        """How many people of an owner are in each category."""
        return np.bincount(self.members(place, changed).categories, minlength=self.plan.spec.shape[place])

    def session(self, changed: int | None, generator: Generator) -> SeenByOthers:
        """One session, from people to noisy counts."""
        name = generator.octets(32).tobytes().hex()
        if isinstance(self.plan.noise, PairNoise):
            return self._paired(changed, name, generator)
        return self._helped(changed, name, generator)

    def _paired(self, changed: int | None, name: str, generator: Generator) -> SeenByOthers:
        spec = self.plan.spec
        first, second = (self.plan.of(owner.name, name) for owner in spec.owners)
        own, other = pair.draw(first, generator), pair.draw(second, generator)
        sent = pair.offer_message(first, self.members(0, changed), own).signed(self.keys[0])
        heard = parse(sent, spec, "offer")
        offered = pair.read_offer(second, heard)
        again = protocol.masked_again(offered, other.mask)
        reply = pair.answer_message(second, offered, again, self.members(1, changed), other, digest_of(sent))
        answered = parse(reply.signed(self.keys[1]), spec, "answer")
        counts = pair.matched(first, heard, answered, own)
        noises = tuple(np.array(drawn.noise, dtype=np.int64) for drawn in (own, other))
        sizes = tuple(np.array(message.counts[0], dtype=np.int64) for message in (heard, answered))
        return SeenByOthers(counts, noises, sizes)

    def _helped(self, changed: int | None, name: str, generator: Generator) -> SeenByOthers:
        spec, shared = self.plan.spec, generator.octets(32).tobytes()
        heard = []
        for place, owner in enumerate(spec.owners):
            made = helped.submission_message(self.plan.of(owner.name, name), self.members(place, changed), shared, "")
            heard.append(parse(made.signed(self.keys[place]), spec, "submission"))
        return SeenByOthers(helped.counted(replace(self.plan, session=name), heard, self.keys[-1], generator))


@dataclass(frozen=True, eq=False)
class SeenByOthers:
    """A session: the published counts, and with two owners the noise of each and the sizes of the batches of each."""

    counts: Integers
    noises: tuple[Integers, ...] = ()
    sizes: tuple[Integers, ...] = ()


def _sampled(stage: JoinStage, sessions: int, effort: Effort) -> Iterator[Finding]:
    """Sessions in which an owner's people are there, against sessions in which they are not."""
    owners = stage.plan.spec.owners
    generator = Generator.seeded(f"{effort.seed} sessions")
    near, *far = (
        [stage.session(changed, generator) for _ in range(sessions)] for changed in (None, *range(len(owners)))
    )
    for place, owner in enumerate(owners):
        views: list[tuple[str, Score, Budget]] = [
            ("to the public", public_score, stage.plan.noise.public_cost(owner.neighbours))
        ]
        if isinstance(stage.plan.noise, PairNoise):
            views.append(("to the other owner", owner_score, stage.plan.noise.cost(place, owner.neighbours)))
        for name, score, cost in views:
            there, gone = (np.array([score(stage, place, one) for one in seen]) for seen in (near, far[place]))
            found = loss_at_least(_of_group(cost, stage.leaving[place]), there, gone, effort.confidence)
            shown = found.loss / stage.leaving[place]
            yield Finding(f"{owner.name}, {name}, in sessions", "sampled", float(amount(cost)), shown, 2 * sessions)


Score = Callable[[JoinStage, int, SeenByOthers], float]


def public_score(stage: JoinStage, place: int, seen: SeenByOthers) -> float:
    """What the published counts say for an owner's people being there: the log-likelihood ratio."""
    return _ratio(stage.plan.noise.published, seen.counts, stage.counts(None), stage.counts(place))


def owner_score(stage: JoinStage, place: int, seen: SeenByOthers) -> float:
    """The same of all that the other owner sees: the counts without the own noise, and the sizes of batches."""
    noise = stage.plan.noise
    assert isinstance(noise, PairNoise)
    counts = seen.counts - seen.noises[1 - place]
    dummies = 2 * noise.second.reach * stage.plan.spec.shape[0] if place else 0
    sizes = seen.sizes[place] - dummies - noise.sizes.reach
    hidden = noise.second if place else noise.first
    ratio = _ratio(hidden, counts, stage.counts(None), stage.counts(place))
    return ratio + _ratio(noise.sizes, sizes, stage.sizes(place, None), stage.sizes(place, place))


def _ratio(noise: Spread, seen: Integers, near: Integers, far: Integers) -> float:
    return float(log_ratio(noise, seen.ravel(), near.ravel(), far.ravel()).sum())


def _of_group(cost: Budget, people: int) -> Budget:
    """The δ that so many people lose together is Σ e^{iε}·δ, i < people."""
    if not isinstance(cost, ApproxDP):
        return cost
    grown = sum(exp(float(cost.epsilon) * at) for at in range(people))
    return ApproxDP(cost.epsilon, min(Fraction(1, 2), cost.delta * Fraction(grown)))
