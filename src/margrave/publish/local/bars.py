"""Checking the error bars of a local collection: none is impossibly small, and simulated again they are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from margrave.algebra.domain import Margin
from margrave.errors import VerificationError
from margrave.planning.defaults import LEVEL
from margrave.publish.bundle.forms import Forms
from margrave.publish.framed.frame import Frame
from margrave.publish.local.answers import LocalAnswers
from margrave.publish.verification.found import SLOW, NotChecked, check_least, compare_bars
from margrave.reconstruct.bars import is_simulated, too_small
from margrave.spec.spec import possible_mask


def check_bars(out: LocalAnswers, frame: Frame, forms: Forms, again: bool) -> Iterator[NotChecked]:
    """Compare what a bundle states with what follows. Simulations take long, and are repeated only if asked for."""
    known = frame.made.forms.bars == forms.bars
    if known and is_simulated(out.publication):
        for margin in out.plan.spec.told:
            _check_least(out, margin)
    if not again and is_simulated(out.publication):
        yield SLOW
        return
    own = replace(out, bars={})
    try:
        for margin, stated in out.bars.items():
            compare_bars(_place(margin), stated, own.error_bars(margin))
    except VerificationError:
        if known:
            raise
        yield NotChecked.of_form("bars", frame.made.software, frame.made.forms, forms)


def _check_least(out: LocalAnswers, margin: Margin) -> None:
    assert out.publication is not None
    counts = np.asarray(out.published(margin), dtype=np.float64).ravel()
    small = too_small(counts, *out.bars[margin], LEVEL, whole=out.publication.whole)
    check_least(_place(margin), small & possible_mask(out.plan.spec.base, margin).ravel(), out.bars[margin])


def _place(margin: Margin) -> Callable[[int], str]:
    """Where the bars of a cell stand."""

    def place(row: int) -> str:
        return f"the table of {', '.join(margin)}, row {row + 1}"

    return place
