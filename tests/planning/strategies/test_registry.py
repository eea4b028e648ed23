"""Strategies are found by their names, each once."""

import pytest

from margrave.errors import UsageError
from margrave.planning.strategies import every
from margrave.planning.strategies.registry import NamedStrategy, register, registered
from margrave.spec.choices import STRATEGIES


def test_every_word_of_a_spec_is_a_strategy():
    assert {*STRATEGIES} - {"auto"} == {*registered()}


def test_a_name_is_given_once():
    with pytest.raises(UsageError, match="'base' already"):
        register(NamedStrategy("base", every.base.base))


def test_an_unknown_name_is_refused_with_those_that_are_there():
    with pytest.raises(UsageError, match=r"unknown strategy 'bas'.*'base'"):
        every.strategy_named("bas")
