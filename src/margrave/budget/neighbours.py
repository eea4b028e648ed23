"""Which data sets are neighbours, in one word."""

from __future__ import annotations

from typing import Literal

Neighbours = Literal["add-remove", "replace"]
"""They differ in one unit that is in one of them alone, or in what one unit says."""
