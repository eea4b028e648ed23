"""Every strategy: imported here, each is known by its name."""

from margrave.planning.strategies import adaptive as adaptive
from margrave.planning.strategies import base as base
from margrave.planning.strategies import efron_stein as efron_stein
from margrave.planning.strategies import fourier as fourier
from margrave.planning.strategies import margins as margins
from margrave.planning.strategies import residual as residual
from margrave.planning.strategies import search as search
from margrave.planning.strategies.registry import strategy_named as strategy_named
