"""What an audit found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal

from margrave.errors import UsageError

Way = Literal["exact", "sampled", "recomputed"]


@dataclass(frozen=True)
class Effort:
    """How hard to look: draws for fast sampling, whole releases, the confidence of what is said, and the seed."""

    samples: int = 200_000
    releases: int = 2000
    confidence: float = 0.999
    seed: int | str = "audit"

    def __post_init__(self) -> None:
        if self.samples < 100 or self.releases < 8:
            raise UsageError("an audit needs at least 100 samples and 8 releases")
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"confidence ({self.confidence}) must be at least 0.5 and less than 1")


@dataclass(frozen=True)
class Finding:
    """One check: the privacy loss that is ``stated`` (ε, or ρ) and the loss that was ``found``.

    ``exact``: the loss itself, by probabilities. ``recomputed``: the price by another route; ``complete`` if it looked
    at all neighbours. ``sampled``: with the stated confidence the loss is at least as much, from so many ``samples``.
    """

    check: str
    way: Way
    stated: float
    found: float
    samples: int = 0
    complete: bool = True

    @property
    def violated(self) -> bool:
        return self.found > self.stated * (1 + 1e-9)

    def as_json(self) -> dict[str, Any]:
        """Plain values; an unbounded loss is null."""
        return asdict(self) | {"found": self.found if isfinite(self.found) else None, "violated": self.violated}


@dataclass(frozen=True)
class Audit:
    """All findings about one thing, and remarks on what was not looked at."""

    what: str
    confidence: float
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        return any(finding.violated for finding in self.findings)

    @property
    def verdict(self) -> str:
        """One sentence. An audit never proves that there is no fault."""
        if not self.violated:
            return f"No violation found at a confidence of {self.confidence:g}. This proves nothing: see the proofs."
        worst = next(finding for finding in self.findings if finding.violated)
        return f"VIOLATION: {worst.check} states {worst.stated:.4g}, and loses at least {worst.found:.4g}."

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "confidence": self.confidence,
            "violated": self.violated,
            "verdict": self.verdict,
            "findings": [finding.as_json() for finding in self.findings],
            "remarks": list(self.remarks),
        }
