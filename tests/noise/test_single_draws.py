"""Draws from a tape of bytes: uniform, exact, and never a byte too many."""

from collections import Counter

import pytest
from scipy.stats import chisquare

from margrave.errors import UsageError
from margrave.noise import Generator
from margrave.noise.tape import MOST, Tape


def test_draws_take_bits_from_the_end_of_big_endian_bytes_and_reject():
    tape = Tape.written(bytes([0b111, 0b101, 3, 0x01, 0x02]))
    assert tape.below(6) == 5  # 7 is too large and drawn again
    assert tape.below(4) == 3
    assert tape.below(1) == 0  # takes no byte
    assert tape.below(1 << 16) == 0x0102
    with pytest.raises(UsageError, match="at its end"):
        tape.below(2)


@pytest.mark.parametrize("bound", [0, MOST + 1])
def test_bounds_that_no_browser_could_draw_are_refused(bound):
    with pytest.raises(UsageError, match="2\\^48"):
        Tape.of(Generator.seeded(1)).below(bound)


def test_draws_are_uniform():
    tape = Tape.of(Generator.seeded("uniform"))
    seen = Counter(tape.below(11) for _ in range(22_000))
    assert chisquare([seen[value] for value in range(11)]).pvalue > 1e-4
    skewed = [seen[value] + 250 * (value == 0) for value in range(11)]
    assert chisquare(skewed).pvalue < 1e-4


def test_every_set_is_as_likely_as_any_other():
    tape = Tape.of(Generator.seeded("sets"))
    seen = Counter(tape.chosen(5, 2) for _ in range(10_000))
    assert len(seen) == 10
    assert all(mask.bit_count() == 2 for mask in seen)
    assert chisquare(list(seen.values())).pvalue > 1e-4
