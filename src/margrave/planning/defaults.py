"""What holds where a spec, a question or a person says nothing else."""

from __future__ import annotations

from fractions import Fraction

LEVEL = 0.95
"""The probability with which an interval holds the truth."""
DELTA = Fraction(1, 10**9)
"""The δ at which what has none is stated as (ε, δ): ρ-zCDP, and reports that a shuffler mixes."""
