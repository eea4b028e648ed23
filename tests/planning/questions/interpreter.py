"""The language again, in plain Python, on values as people write them: fractions, texts, days, None.

It shares the nodes of the language with Margrave, and nothing else: no codes, no steps, no ranges, no SQL.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from itertools import product
from math import floor

from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.parts import Part
from margrave.planning.questions.language.public import Lookup

ORDER = {
    "=": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def value(node, row):
    match node:
        case e.Column(name):
            return row[name]
        case e.Numeral(v) | e.Text(v) | e.Day(v):
            return v
        case e.Missing():
            return None
        case e.Arithmetic(sign, left, right):
            x, y = value(left, row), value(right, row)
            if x is None or y is None:
                return None
            if isinstance(x, date):
                return Fraction((x - y).days)
            return x + y if sign == "+" else x - y if sign == "-" else x * y
        case e.Divide(inner, by):
            x = value(inner, row)
            return None if x is None else Fraction(floor(x / by))
        case e.Case(branches, default):
            for branch in branches:
                if truth(branch.condition, row) is True:
                    return value(branch.value, row)
            return value(default, row)
        case e.Binned(inner, edges):
            return binned(value(inner, row), [edge.value for edge in edges])
        case e.DatePart(part, inner):
            x = value(inner, row)
            if x is None:
                return None
            return Fraction({"year": x.year, "month": x.month, "day": x.day, "weekday": x.isoweekday()}[part])
    raise AssertionError(node)


def binned(x, edges):
    """The label that the bin of a number has."""
    if x is None or not edges[0] <= x <= edges[-1]:
        return None
    at = max(index for index, edge in enumerate(edges[:-1]) if x >= edge)
    last = at == len(edges) - 2
    if all(edge.denominator == 1 for edge in edges):
        low, high = int(edges[at]), int(edges[at + 1]) - (0 if last else 1)
        return str(low) if low == high else f"{low}-{high}"
    written = [format(float(edge), "g") for edge in edges]
    return f"[{written[at]}, {written[at + 1]}{']' if last else ')'}"


def truth(node, row):
    match node:
        case e.Compare(sign, left, right):
            x, y = value(left, row), value(right, row)
            return None if x is None or y is None else ORDER[sign](x, y)
        case e.Among(inner, members):
            x = value(inner, row)
            return None if x is None else x in [one.value for one in members]
        case e.IsMissing(inner):
            return value(inner, row) is None
        case e.AllOf(conditions):
            found = [truth(one, row) for one in conditions]
            return False if False in found else None if None in found else True
        case e.AnyOf(conditions):
            found = [truth(one, row) for one in conditions]
            return True if True in found else None if None in found else False
        case e.Negation(inner):
            found = truth(inner, row)
            return None if found is None else not found
    raise AssertionError(node)


def rows(node, data, columns):
    """A list of (unit, row). ``data``: such a list for each table; ``columns``: their names."""
    match node:
        case r.Rows(table):
            return data[table]
        case r.Where(inner, condition):
            return [(u, row) for u, row in rows(inner, data, columns) if truth(condition, row) is True]
        case r.Select(inner, named, add):
            return [
                (u, {**(row if add else {}), **{one.name: value(one.value, row) for one in named}})
                for u, row in rows(inner, data, columns)
            ]
        case r.Join(left, right, how):
            return joined(rows(left, data, columns), rows(right, data, columns), names(right, columns), how)
        case r.PerUnit(inner, reductions):
            held = by_unit(rows(inner, data, columns))
            return [(u, {one.name: reduced(one, mine) for one in reductions}) for u, mine in held.items()]
        case r.Distinct(inner):
            return once(rows(inner, data, columns))
        case r.Union(left, right):
            return rows(left, data, columns) + rows(right, data, columns)
        case r.Intersect(left, right):
            other = rows(right, data, columns)
            return [one for one in once(rows(left, data, columns)) if one in other]
        case r.Except(left, right):
            other = rows(right, data, columns)
            return [one for one in once(rows(left, data, columns)) if one not in other]
        case Lookup(inner, on, table, how):
            return [
                (u, {**row, **extra})
                for u, row in rows(inner, data, columns)
                for extra in public_rows(table, value(on, row), how)
            ]
        case Part(inner, key, wanted, most):
            return portion(rows(inner, data, columns), key, wanted, most)
    raise AssertionError(node)


def public_rows(table, key, how):
    """The rows of a public table that have a key, without it."""
    several = zip(*([getattr(one, "value", None) for one in column.values] for column in table.columns), strict=True)
    names = [column.name for column in table.columns[1:]]
    found = [dict(zip(names, rest, strict=True)) for first, *rest in several if key is not None and first == key]
    return found or ([dict.fromkeys(names)] if how == "left" else [])


def portion(found, key, wanted, most):
    """The rows of one part. Which parts are kept of a unit that is in too many depends on its salt: none is here."""
    declared = [one.value for one in key.only]
    parts = {}
    for u, row in found:
        x = value(key.value, row)
        if x is not None and (not declared or x in declared):
            parts.setdefault(u, set()).add(x)
    crowded = {u for u, mine in parts.items() if most is not None and len(mine) > most}
    assert not crowded, "which parts are kept cannot be told here"
    return [(u, row) for u, row in found if value(key.value, row) == wanted.value]


def names(node, columns):
    match node:
        case r.Rows(table):
            return columns[table]
        case r.Select(inner, named, add):
            return (names(inner, columns) if add else []) + [one.name for one in named]
        case r.PerUnit(_, reductions):
            return [one.name for one in reductions]
        case r.Join(left, right, how):
            return names(left, columns) + ([] if how in ("semi", "anti") else names(right, columns))
        case Lookup(inner, _, table, _):
            return names(inner, columns) + [column.name for column in table.columns[1:]]
        case r.Union(left, _) | r.Intersect(left, _) | r.Except(left, _):
            return names(left, columns)
        case _:
            return names(node.rows, columns)


def joined(left, right, absent, how):
    held = by_unit(right)
    if how == "semi":
        return [(u, row) for u, row in left if u in held]
    if how == "anti":
        return [(u, row) for u, row in left if u not in held]
    empty = [dict.fromkeys(absent)] if how == "left" else []
    return [(u, {**row, **other}) for u, row in left for other in held.get(u, empty)]


def by_unit(found):
    held = {}
    for u, row in found:
        held.setdefault(u, []).append(row)
    return held


def once(found):
    kept = []
    for one in found:
        if one not in kept:
            kept.append(one)
    return kept


def reduced(one, mine):
    if one.how in ("count", "any"):
        hits = sum(one.condition is None or truth(one.condition, row) is True for row in mine)
        return Fraction(hits if one.how == "count" else min(hits, 1))
    found = [x for x in (value(one.value, row) for row in mine) if x is not None]
    return {"sum": sum, "min": min, "max": max}[one.how](found) if found else None


def answer(node, data, columns, axes, grid=None):
    """The exact sums of each cell, groups × grid, as lists of parts. ``axes``: the values of each key, in order.

    Bounds that choose rows or groups of a unit by its key cannot be told here; those that clamp are.
    """
    found = rows(node.rows, data, columns)
    cells = {cell: [Fraction(0)] * parts(node) for cell in product(*axes, *(() if grid is None else (grid,)))}
    held = {}
    for u, row in found:
        cell = tuple(value(key.value, row) for key in node.keys)
        x = None if isinstance(node, a.Count | a.UnitCount) else value(node.value, row)
        if not isinstance(node, a.Count | a.UnitCount) and x is None:
            continue
        cell = cell if grid is None else (*cell, x)
        if cell in cells:
            held.setdefault((u, cell), []).append(x)
    for (_, cell), mine in held.items():
        for part, amount in enumerate(contribution(node, mine)):
            cells[cell][part] += amount
    return cells


def parts(node):
    return {"average": 2, "variance": 3}.get(node.kind, 1)


def contribution(node, mine):
    """What the rows of one unit in one cell add to the sums of the cell."""
    match node:
        case a.UnitCount():
            return [Fraction(1)]
        case a.Sum():
            total = sum(mine)
            total = total if node.low is None else max(node.low.value, total)
            return [total if node.high is None else min(node.high.value, total)]
        case a.Average() | a.Variance():
            low, high = node.low.value, node.high.value
            clamped = [min(high, max(low, x)) for x in mine]
            if isinstance(node, a.Average):
                return [sum(x - low for x in clamped), sum(high - x for x in clamped)]
            pairs = [(x - low, high - x) for x in clamped]
            return [sum(p * p for p, _ in pairs), sum(2 * p * q for p, q in pairs), sum(q * q for _, q in pairs)]
    bounds = [getattr(node, name, None) for name in ("most_rows", "most_per_group")] if not node.keys else []
    bounds = bounds or [getattr(node, "most_per_group", None)]
    return [Fraction(min([len(mine), *(bound for bound in bounds if bound is not None)]))]
