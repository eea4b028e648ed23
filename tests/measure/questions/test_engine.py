"""The engine gives what an independent interpreter gives, for random questions about random data."""

import os
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, floor
from random import Random as Generator

import pytest

from margrave.budget.units import PureDP
from margrave.errors import RefusedError, UsageError
from margrave.measure.questions.compile import sought_sql
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language.form import nodes_of
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.price.expectation import step_of
from margrave.planning.questions.question import PricedQuestion
from tests.measure.questions.stores import engine_of
from tests.planning.questions.interpreter import answer
from tests.planning.questions.samples import COLUMNS, Random, data_of, data_spec, kind_values, random_unit

SOAK = float(os.environ.get("MARGRAVE_SOAK", "0"))
TREES = int(100_000 * SOAK) or 2_000
STORES = 10


def in_clear(question, node):
    """The same question with the ends that clamp it, which the interpreter is told."""
    if isinstance(node, a.Sum) and node.low is not None:
        step, told = step_of(question.sought.value), replace(node)
        # Ends are rounded inwards to the step; both may then be one number, which nobody can ask for.
        object.__setattr__(told, "low", e.Numeral(ceil(node.low.value / step) * step))
        object.__setattr__(told, "high", e.Numeral(floor(node.high.value / step) * step))
        return told
    if isinstance(node, a.Average | a.Variance):
        step = step_of(question.sought.value)
        ends = [e.Numeral(end * step) for end in (question.sought.low, question.sought.high)]
        return replace(node, low=ends[0], high=ends[1])
    return node


def interpreted(question, data, names=None):
    """The sums of the engine, in its order and its whole numbers, by the interpreter."""
    sought, node = question.sought, in_clear(question, question.aggregate)
    axes = [[in_words(axis.kind, code) for code in axis.codes] for axis in sought.axes]
    grid = None if sought.grid is None else [in_words(sought.grid.kind, code) for code in sought.grid.codes]
    cells = answer(node, data, names or COLUMNS, axes, grid)
    step = Fraction(1) if sought.value is None or grid is not None else step_of(sought.value)
    unit = step**2 if isinstance(node, a.Variance) else step
    order = product(*axes, *(() if grid is None else (grid,)))
    return [[amount / unit for amount in cells[cell]] for cell in order]


def in_words(kind, code):
    return kind_values(kind)[code - kind.low]


def asked(random, spec):
    """A random question that can be asked."""
    while True:
        try:
            found = PricedQuestion(spec, Random(random, spec).aggregate(), PureDP(Fraction(1)))
        except (UsageError, RefusedError):
            continue
        if found.work.cells <= 2_000:
            return found


@pytest.mark.slow
def test_random_questions_are_answered_as_the_interpreter_answers_them(tmp_path):
    kinds, operators, busy = Counter(), Counter(), 0
    for number in range(STORES):
        random = Generator(f"engine {number}")
        spec = data_spec()
        data = data_of([random_unit(spec, random) for _ in range(random.randint(0, 12))], spec)
        engine = engine_of(spec, data, tmp_path / f"store{number}")
        for _ in range(TREES // STORES):
            question = asked(random, spec)
            found = engine.exact(question.sought).reshape(-1, len(question.sought.parts)).tolist()
            assert found == interpreted(question, data), question.title
            kinds[question.aggregate.kind] += 1
            operators.update({node.kind for node in nodes_of(question.aggregate)})
            busy += any(any(row) for row in found)
        engine.close()
    assert len(kinds) == 7 and min(kinds.values()) > TREES // 50
    assert busy > TREES // 3
    assert min(operators["part"], operators["public join"]) > TREES // 20
    assert {"where", "select", "join", "per unit", "distinct", "union", "intersect", "except"} <= set(operators)


@pytest.mark.slow
@pytest.mark.parametrize("units", [40, 1, 0])
def test_rows_kept_by_a_few_comparisons_are_counted_where_they_stand(tmp_path, units):
    """Also where what is compared is missing, or nobody is there; many or other comparisons pick rows out first."""
    random, spec = Generator("counted"), data_spec()
    data = data_of([random_unit(spec, random) for _ in range(units)], spec)
    engine, seen = engine_of(spec, data, tmp_path / "store"), Counter()
    widths, signs = [len(table.columns) for table in spec.tables], ("=", "!=", "<", "<=", ">", ">=")
    for number in range(120):
        compared = [("age", random.randint(0, 5)), ("income", random.choice(["-1", "0", "0.5", "1"]))]
        tests = [
            f"{name} {random.choice(signs)} {value}"
            for name, value in (random.choice(compared) for _ in range(number % 5))
        ]
        rows = "people" + (f" where {' and '.join(tests)}" if tests else "")
        question = PricedQuestion(spec, parsed(f"{rows} count", spec), PureDP(Fraction(1)))
        found = engine.exact(question.sought).reshape(-1, 1).tolist()
        assert found == interpreted(question, data), question.title
        seen["count_if" in sought_sql(question.sought, widths)[0], len(tests)] += 1
    engine.close()
    assert all(seen[True, many] for many in (1, 2, 3)) and not seen[True, 0] + seen[True, 4]


def test_nothing_that_an_analyst_or_a_curator_wrote_is_in_the_sql():
    """Names, texts, values and public tables become whole numbers: quotes stand around the first day of 1970 alone."""
    random, spec = Generator("sql"), data_spec()
    widths = [len(table.columns) for table in spec.tables]
    words = {"SELECT", "FROM", "WHERE", "NULL", "DATE", "BIGINT"}
    names = {one.name for table in spec.tables for one in (table, *table.columns)} | {"north", "south", "nowhere"}
    for _ in range(300):
        text, _, _ = sought_sql(asked(random, spec).sought, widths)
        bare = text.replace("DATE '1970-01-01'", "DATE")
        assert "'" not in bare and '"' not in bare and ";" not in bare and "--" not in bare
        assert not names & set(re.findall(r"[A-Za-z_]+", bare)) - words
