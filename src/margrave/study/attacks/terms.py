"""On what terms an attack is carried out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from margrave.errors import UsageError

if TYPE_CHECKING:
    from margrave.study.attacks.subjects import Subject


@dataclass(frozen=True)
class Terms:
    """The ε of the third column, how often everything is repeated (0: as often as the attack likes), and the seed.

    ``subject``: the records to attack, where the attack takes some; None stands for its own.
    """

    epsilon: Fraction = Fraction(1)
    runs: int = 0
    seed: str = "attack"
    subject: Subject | None = None

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or self.runs < 0:
            raise UsageError("an attack needs an epsilon above 0, and no fewer than 0 runs")

    def times(self, usual: int) -> int:
        """How often to repeat, where ``usual`` is what the attack likes."""
        return self.runs or usual
