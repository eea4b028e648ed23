"""The bundled tables with the models of their specs, and tables of one-letter attributes."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable

import numpy as np
import pytest

from margrave import examples
from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.table import Table
from margrave.models.model import Model


def _bundled(name: str) -> tuple[Model, Table]:
    path = examples.path(name)
    spec = tomllib.loads(path.read_text(encoding="utf-8"))
    with (path.parent / spec["data"]["source"]).open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    values = [tuple(dict.fromkeys(row[place] for row in rows)) for place in range(len(header) - 1)]
    domain = Domain(tuple(map(Attribute, header, values)))
    table = Table(domain, domain.names, np.array([int(row[-1]) for row in rows]))
    return Model(domain, tuple(map(tuple, spec["release"]["tables"]))), table


def _letters(*sizes: int) -> Domain:
    return Domain(tuple(Attribute(name, tuple(map(str, range(size)))) for name, size in zip("ABCDEFGH", sizes)))  # noqa: B905


@pytest.fixture
def bundled() -> Callable[[str], tuple[Model, Table]]:
    """A bundled example: the model whose generators are the spec's tables, and the full table."""
    return _bundled


@pytest.fixture
def letters() -> Callable[..., Domain]:
    """A domain of attributes A, B, C, … with the given numbers of values."""
    return _letters
