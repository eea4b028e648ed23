"""Several questions that are asked under one charge, put together and explained before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.several.batch import Batch
from margrave.planning.questions.several.partition import PartPurse
from margrave.session.builders import budget_of
from margrave.session.explanation import BatchExplanation

if TYPE_CHECKING:
    from margrave.publish.questions.shared import BatchAnswer
    from margrave.session.common import AnySession


@dataclass(frozen=True)
class BatchBuilder:
    """Questions that were not asked yet."""

    session: AnySession = field(repr=False)
    data: DataSpec = field(repr=False)
    nodes: tuple[Aggregate, ...] = field(repr=False)
    purse: PartPurse | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return "\n".join(["questions together, asked with release(eps=…):", *(f"  {said(one)}" for one in self.nodes)])

    def planned(self, eps: Any = None, rho: Any = None) -> Batch:
        """The questions at a budget for all of them."""
        budget, different = budget_of(eps, rho), tuple(dict.fromkeys(self.nodes))

        def priced(purse: PartPurse | None) -> Batch:
            return Batch.shared(self.data, different, budget, purse)

        return priced(self.purse or self.session.purse_for(different, priced))

    def explain(self, eps: Any = None, *, rho: Any = None) -> BatchExplanation:
        """Which are measured, which follow from others, and what to expect. Nothing is opened or charged."""
        batch = self.planned(eps, rho)
        return BatchExplanation(batch, self.session.allowances(batch.purse))

    def release(self, eps: Any = None, *, rho: Any = None) -> tuple[BatchAnswer, ...]:
        """Ask all of them, and pay once; the answers in the order of the questions."""
        found = self.session.answer_batch(self.planned(eps, rho))
        return tuple(found[node] for node in self.nodes)
