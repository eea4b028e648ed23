"""The mathematics of public facts again, by brute force over whole tables and without any reduction."""

from itertools import combinations, combinations_with_replacement, product
from time import monotonic

import numpy as np

from margrave.algebra.query import answer
from margrave.facts.facts import Facts
from margrave.facts.moves.graver import graver_basis
from tests.shapes import domain_of


def facts_of(sizes, text, cells=()):
    """Facts over attributes a, b, c, …: margins such as "ab+c", and cells such as {"a": 0}."""
    domain = domain_of(*sizes)
    margins = tuple(tuple(part) for part in text.split("+")) if text else ()
    known = [(domain.margin(cell), tuple(str(cell[name]) for name in domain.margin(cell))) for cell in cells]
    return Facts(domain, margins, tuple(known))


def fact_matrix(facts):
    """A row for each known count, a column for each cell of the full table."""
    codes = list(product(*map(range, facts.domain.shape())))
    names = facts.domain.names
    rows = []
    for margin in facts.margins:
        cells = product(*(range(facts.domain[name].size) for name in margin))
        rows += [_row(codes, names, margin, values) for values in cells]
    rows += [_row(codes, names, margin, [int(value) for value in cell]) for margin, cell in facts.cells]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(codes))


def _row(codes, names, margin, values):
    axes = [names.index(name) for name in margin]
    return [int(all(code[axis] == value for axis, value in zip(axes, values, strict=True))) for code in codes]


def all_moves(facts, seconds=60):
    """Every induced move of the facts on the full table, one of each pair ±g."""
    matrix = fact_matrix(facts)
    if not len(matrix):
        return np.eye(matrix.shape[1], dtype=np.int64)
    return graver_basis(matrix, monotonic() + seconds)


def largest(moves):
    return int(np.abs(moves).sum(axis=1).max()) if len(moves) else 0


def neighbours_by_tables(matrix, records):
    """Differences of all induced neighbours with so many records each and none in common, found table by table.

    Two tables with the same facts are induced neighbours when no third one with the same facts lies between them.
    """
    cells = matrix.shape[1]
    fibres = {}
    for chosen in combinations_with_replacement(range(cells), records):
        table = np.bincount(chosen, minlength=cells)
        fibres.setdefault((matrix @ table).tobytes(), []).append(table)
    found = []
    for tables in fibres.values():
        for one, other in combinations(tables, 2):
            if not np.minimum(one, other).any() and not _between(one, other, tables):
                found.append(other - one)
    return np.array(found, dtype=np.int64).reshape(-1, cells)


def _between(one, other, tables):
    """Whether some part of the difference alone, applied to the first table, leads to another of the tables."""
    inside = [third for third in tables if (third <= one + other).all()]
    return any(not np.array_equal(third, one) and not np.array_equal(third, other) for third in inside)


def price_of(domain, measurements, move):
    """What a move costs, from the exact answers to every query."""
    total = 0
    for one in measurements:
        table = move.reshape(domain.shape())
        axes = tuple(axis for axis, name in enumerate(domain.names) if name not in one.query.margin)
        shift = answer(domain, one.query, table.sum(axis=axes))
        total += one.price(int(np.abs(shift).sum()), int((shift * shift).sum()))
    return total


def hierarchies(count):
    """Every set of margins of so many attributes of which none holds another, as texts; the total alone included."""
    names = "abcd"[:count]
    subsets = ["".join(chosen) for width in range(1, count + 1) for chosen in combinations(names, width)]
    found = []

    def grow(start, chosen):
        if chosen:
            found.append("+".join(chosen))
        for index in range(start, len(subsets)):
            one = set(subsets[index])
            if all(not one <= set(other) and not set(other) <= one for other in chosen):
                grow(index + 1, [*chosen, subsets[index]])

    grow(0, [])
    return found
