"""The plan of a join: what each who takes part learns, what it costs on each ledger, and what to expect. Opens no data.

A plan can be looked at by anybody. For a ledger it is that of one ``owner`` in one ``session``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from margrave.budget.units import Budget, amount
from margrave.errors import RefusedError
from margrave.ledger.values import Notion
from margrave.noise import DiscreteLaplace
from margrave.planning.asked import Sheet
from margrave.planning.describe import FORECAST_HEADERS, asked_html, asked_text, forecast_rows, number
from margrave.planning.forecast.accuracy import TableForecast
from margrave.planning.join.noise import HelperNoise, JoinNoise, PairNoise
from margrave.planning.join.owners import Owner
from margrave.planning.join.spec import JoinSpec
from margrave.planning.plan import Plan
from margrave.planning.planner import make_plan
from margrave.planning.promise.guarantee import approximate
from margrave.planning.written import digest_of

POINT, TAG = 32, 20
"""Bytes of a point of the curve, and of one that is sent back only to be compared."""
RATE = 20_000
"""Points that one core multiplies in a second, about."""
_MOST_DUMMIES = 1 << 24
"""Dummies of one message, and its padding: they are made one by one."""


@dataclass(frozen=True)
class JoinPlan:
    """A spec of a join with its noise. ``table``: the plan of the published table, an ordinary one."""

    spec: JoinSpec
    table: Plan
    noise: JoinNoise
    owner: str = ""
    session: str = ""

    def of(self, owner: str, session: str = "") -> JoinPlan:
        """The same plan as one owner is charged for it."""
        self.spec.place(owner)
        return replace(self, owner=owner, session=session)

    @property
    def way(self) -> str:
        return "join"

    @property
    def title(self) -> str:
        return self.spec.title

    def cost_of(self, owner: Owner) -> Budget:
        """What somebody in the data of an owner loses to the one who learns most, apart from a helper."""
        return self.noise.cost(self.spec.place(owner.name), owner.neighbours)

    @property
    def cost(self) -> Budget:
        """What the owner is charged; where none is named, the most that any of them is."""
        if self.owner:
            return self.cost_of(self.spec.owners[self.spec.place(self.owner)])
        return max(map(self.cost_of, self.spec.owners), key=lambda cost: (amount(cost), getattr(cost, "delta", 0)))

    @property
    def notion(self) -> Notion:
        """Whom the owner's data set protects, as it is registered: a person is an id."""
        owner = self.spec.owners[self.spec.place(self.owner)] if self.owner else self.spec.owners[0]
        unit = owner.columns[0] if owner.records > 1 else None
        return Notion(unit, owner.records, owner.neighbours)

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        return self.noise.events(self.spec.place(self.owner) if self.owner else 1)

    @property
    def exact(self) -> tuple[tuple[str, ...], ...]:
        return ()

    @property
    def disclosed(self) -> tuple[Mapping[str, Any], ...]:
        """What is told to a helper without protection."""
        if self.spec.helper is None:
            return ()
        told = ["cells", "sizes", "multiplicities"]
        return ({"to": self.spec.helper.name, "told": told, "exact": True, "protected": False, "source": "data"},)

    @property
    def question(self) -> str:
        """What determines the answer: each session has noise of its own, and so is a question of its own."""
        return digest_of({"join": self.spec.digest, "owner": self.owner, "session": self.session})

    @property
    def forecast(self) -> tuple[TableForecast, ...]:
        return self.table.forecast

    @cached_property
    def dummies(self) -> int:
        """The dummies that the second owner puts into each of the two sets of batches, for all pairs together."""
        return self.noise.dummies * prod(self.spec.shape)

    def padded(self, place: int, most: bool = False) -> int:
        """Points of an owner with their padding, about, or at most; dummies apart. People as many as there may be."""
        return self.spec.owners[place].at_most + self.spec.shape[place] * self.noise.padding * (2 if most else 1)

    def message_bytes(self, most: bool = False) -> dict[str, int]:
        """The length of each message without its heading: about, or at most."""
        if self.spec.helper is not None:
            return {"submission": max(POINT * one.at_most for one in self.spec.owners)}
        first, second = (self.padded(place, most) for place in range(2))
        own, returned = second + self.dummies, first + self.dummies
        return {"offer": POINT * first, "answer": POINT * own + TAG * returned}

    @property
    def seconds(self) -> float:
        """Processor time of each side, about, once its data is read."""
        if self.spec.helper is not None:
            return max(one.at_most for one in self.spec.owners) / (20 * RATE)
        return (self.padded(0) + self.padded(1) + 3 * self.dummies) / RATE

    @property
    def warnings(self) -> tuple[str, ...]:
        found = list(self.table.warnings)
        if self.spec.helper is not None:
            found.append(
                f"{self.spec.helper.name} sees every cell, every size and every multiplicity exactly, and together "
                "with any owner can look up anybody"
            )
        else:
            found.append(
                "an owner who does not keep to the protocol can learn which of the ids it names the other holds, and "
                "in which category"
            )
        return tuple(found)

    def __repr__(self) -> str:
        return asked_text(self)

    def _repr_html_(self) -> str:
        return asked_html(self)

    def words(self) -> tuple[str, ...]:
        """What is learnt by whom, in sentences for people."""
        spec = self.spec
        names = [one.name for one in spec.owners]
        found = [
            f"Matched are the people of {_listed(names)}; published, by {spec.publisher}, is the table of "
            f"{_listed(list(spec.table.domain.names))} over those who are in the data of all, and nothing else.",
            "All who take part are supposed to keep to the protocol (semi-honest).",
        ]
        for owner in spec.owners:
            public = approximate(self.noise.public_cost(owner.neighbours))
            found.append(f"Somebody in the data of {owner.name} loses {public} to the public.")
        if spec.helper is None:
            for place, owner in enumerate(spec.owners):
                other = spec.owners[1 - place].name
                found.append(
                    f"{other} learns the size of each category of {owner.name}, padded by up to "
                    f"{2 * self.noise.padding}, and each cell with the noise of {owner.name} alone: somebody in "
                    f"the data of {owner.name} loses {approximate(self.cost_of(owner))} to {other}."
                )
        else:
            found.append(
                f"{spec.helper.name}, who has no data, is trusted: it sees exact cells, sizes and multiplicities "
                "under names that it cannot read, and must collude with nobody. Owners learn the published table alone."
            )
        return tuple(found)

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        costs = [(one.name, approximate(self.cost_of(one)), one.neighbours) for one in self.spec.owners]
        sent = [(step, f"{size / 1e6:.3g} MB") for step, size in self.message_bytes().items()]
        work = [*sent, ("processor time of a side", f"about {number(self.seconds)} s")]
        return (
            Sheet("What is charged to each ledger", ("owner", "cost", "neighbours"), costs),
            Sheet("What to expect", FORECAST_HEADERS, forecast_rows(self.table, most)),
            Sheet("What is sent, if there are as many people as may be", ("message", "about"), work),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "join": self.spec.public_dict(),
            "digest": self.spec.digest,
            "costs": {one.name: self.cost_of(one).as_dict() for one in self.spec.owners},
            "public": {one.name: self.noise.public_cost(one.neighbours).as_dict() for one in self.spec.owners},
            "forecast": [
                {"table": list(row.margin), "std_error": row.std_error, "half_width": row.half_width}
                for row in self.forecast
            ],
            "bytes": self.message_bytes(),
            "seconds": self.seconds,
            "warnings": list(self.warnings),
        }


def make_join_plan(spec: JoinSpec) -> JoinPlan:
    """The noise that the budget buys, rounded to the safe side."""
    plain = make_plan(spec.table)
    (measurement,) = plain.measurements
    assert isinstance(measurement.noise, DiscreteLaplace)
    noise: JoinNoise
    if spec.helper is not None:
        noise = HelperNoise(measurement.noise)
    else:
        assert spec.delta is not None and spec.sizes is not None
        noise = PairNoise.of(measurement.noise.scale, spec.delta, spec.sizes)
    title = f"{spec.title or 'A join'}: people in the data of {_listed([one.name for one in spec.owners])}"
    told = replace(plain.spec, title=title)
    table = replace(plain, spec=told, measurements=(replace(measurement, noise=noise.published),))
    found = JoinPlan(spec, table, noise)
    if found.dummies > _MOST_DUMMIES:
        raise RefusedError(
            f"the join needs {found.dummies:,} dummies, and at most {_MOST_DUMMIES:,} can be made: raise epsilon or "
            "delta, or declare fewer categories"
        )
    padding = max(found.padded(place, most=True) - one.at_most for place, one in enumerate(spec.owners))
    if padding > _MOST_DUMMIES:
        raise RefusedError(
            f"hiding the sizes needs up to {padding:,} points of padding, and at most {_MOST_DUMMIES:,} can be made: "
            "raise epsilon or delta of sizes, or declare fewer categories"
        )
    return found


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
