"""Programs become SQL over the private store. Every name in it is our own: tables t0, t1, …, fields c0, c1, …, the unit
u. Nothing that an analyst wrote is part of it, only whole numbers that were checked.
"""

from __future__ import annotations

from itertools import count
from typing import assert_never

from margrave.planning.questions.programs.programs import (
    Absent,
    AllTests,
    Attach,
    Calendar,
    Combine,
    Either,
    Fixed,
    KeepRows,
    Match,
    Member,
    Once,
    Opposite,
    Order,
    Pick,
    Portion,
    Project,
    Quotient,
    Reckon,
    Reduce,
    RowField,
    RowsProgram,
    Scan,
    Test,
    Whole,
)
from margrave.planning.questions.programs.sought import Sought

_SIGNS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_RECKON = {"+": "+", "-": "-", "*": "*"}
_CALENDAR = {"year": "year", "month": "month", "day": "day", "weekday": "isodow"}
_COMBINE = {"union": "UNION ALL", "intersect": "INTERSECT", "except": "EXCEPT"}
_FEW = 3
_JOIN = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "SEMI JOIN", "anti": "ANTI JOIN"}


def whole_sql(program: Whole, prefix: str = "") -> str:
    """A number for each row, as SQL; ``prefix`` names the rows."""
    match program:
        case RowField(at):
            return f"CAST({prefix}c{int(at)} AS BIGINT)"
        case Fixed(value):
            return _constant(value)
        case Reckon(sign, left, right):
            return f"({whole_sql(left, prefix)} {_RECKON[sign]} {whole_sql(right, prefix)})"
        case Quotient(value, by):
            return f"({whole_sql(value, prefix)} // {int(by)})"
        case Pick(branches, default):
            cases = " ".join(f"WHEN {test_sql(a, prefix)} THEN {whole_sql(b, prefix)}" for a, b in branches)
            return f"(CASE {cases} ELSE {whole_sql(default, prefix)} END)"
        case Calendar(part, value):
            day = f"DATE '1970-01-01' + CAST({whole_sql(value, prefix)} AS INTEGER)"
            return f"CAST({_CALENDAR[part]}({day}) AS BIGINT)"
    assert_never(program)


def test_sql(test: Test, prefix: str = "") -> str:
    """A condition for each row, as SQL."""
    match test:
        case Order(sign, left, right):
            return f"({_bare(left, prefix)} {_SIGNS[sign]} {_bare(right, prefix)})"
        case Member(value, members):
            return f"({_bare(value, prefix)} IN ({', '.join(str(int(one)) for one in members)}))"
        case Absent(value):
            return f"({_bare(value, prefix)} IS NULL)"
        case AllTests(tests):
            return f"({' AND '.join(test_sql(one, prefix) for one in tests)})" if tests else "TRUE"
        case Either(tests):
            return f"({' OR '.join(test_sql(one, prefix) for one in tests)})" if tests else "FALSE"
        case Opposite(inner):
            return f"(NOT {test_sql(inner, prefix)})"
    assert_never(test)


def _bare(program: Whole, prefix: str) -> str:
    """A number that is only compared: a field in its own, narrower type, which is faster."""
    if isinstance(program, RowField):
        return f"{prefix}c{int(program.position)}"
    return (
        str(program.value) if isinstance(program, Fixed) and program.value is not None else whole_sql(program, prefix)
    )


class RowsCompiler:
    """Rows programs as SELECTs of u, c0, c1, …; ``width`` is how many fields each table of the store has."""

    def __init__(self, widths: list[int]) -> None:
        self._widths = widths
        self._names = count()

    def sql(self, program: RowsProgram) -> tuple[str, int]:
        """The SELECT of a program, and how many fields it has."""
        match program:
            case Scan(table):
                width = self._widths[table]
                return f"SELECT u{_list('', width)} FROM t{int(table)}", width
            case KeepRows():
                return self._filter(program)
            case Project(rows, fields):
                inner, _ = self._from(rows)
                named = "".join(f", {whole_sql(one)} AS c{at}" for at, one in enumerate(fields))
                return f"SELECT u{named} FROM {inner}", len(fields)
            case Match():
                return self._match(program)
            case Reduce():
                return self._reduce(program)
            case Once(rows):
                inner, width = self._from(rows)
                return f"SELECT DISTINCT u{_list('', width)} FROM {inner}", width
            case Attach():
                return self._attach(program)
            case Portion():
                return self._portion(program)
            case Combine(how, left, right):
                one, width = self.sql(left)
                other, _ = self.sql(right)
                return f"({one}) {_COMBINE[how]} ({other})", width
        assert_never(program)

    def filtered(self, program: RowsProgram) -> tuple[str, list[Test]]:
        """Where rows come from, and the tests that they must pass."""
        if isinstance(program, KeepRows):
            source, tests = self.filtered(program.rows)
            return source, [*tests, program.test]
        return self._from(program)[0], []

    def _from(self, program: RowsProgram) -> tuple[str, int]:
        if isinstance(program, Scan):
            return f"t{int(program.table)}", self._widths[program.table]
        inner, width = self.sql(program)
        return f"({inner}) AS q{next(self._names)}", width

    def _filter(self, program: KeepRows) -> tuple[str, int]:
        inner, width = self._from(program.rows)
        return f"SELECT u{_list('', width)} FROM {inner} WHERE {test_sql(program.test)}", width

    def _match(self, program: Match) -> tuple[str, int]:
        one, left = self.sql(program.left)
        other, right = self.sql(program.right)
        a, b = f"q{next(self._names)}", f"q{next(self._names)}"
        fields = "".join(f", {a}.c{at} AS c{at}" for at in range(left))
        joined = f"FROM ({one}) AS {a} {_JOIN[program.how]} ({other}) AS {b} ON {a}.u = {b}.u"
        if program.how in ("semi", "anti"):
            return f"SELECT {a}.u AS u{fields} {joined}", left
        fields += "".join(f", {b}.c{at} AS c{left + at}" for at in range(right))
        return f"SELECT {a}.u AS u{fields} {joined}", left + right

    def _attach(self, program: Attach) -> tuple[str, int]:
        """The public rows are whole numbers of ours, written out."""
        inner, width = self._from(program.rows)
        a, b = f"q{next(self._names)}", f"q{next(self._names)}"
        nothing = (None,) * (program.width + 1)
        rows = ", ".join(f"({', '.join(_constant(one) for one in row)})" for row in program.table or (nothing,))
        named = ", ".join(["k", *(f"d{at}" for at in range(program.width))])
        fields = _list(f"{a}.", width)
        fields += "".join(f", {b}.d{at} AS c{width + at}" for at in range(program.width))
        keyed = f"SELECT u{_list('', width)}, {whole_sql(program.key)} AS k FROM {inner}"
        joined = f"({keyed}) AS {a} {_JOIN[program.how]} (VALUES {rows}) AS {b}({named}) ON {a}.k = {b}.k"
        return f"SELECT {a}.u AS u{fields} FROM {joined}", width + program.width

    def _portion(self, program: Portion) -> tuple[str, int]:
        """Which parts of a unit are kept is decided by a hash of its salt and of the part: the same for all parts."""
        inner, width = self._from(program.rows)
        fields, key = _list("", width), whole_sql(program.key)
        if program.most is None:
            return f"SELECT u{fields} FROM {inner} WHERE {key} = {int(program.code)}", width
        a, b = f"q{next(self._names)}", f"q{next(self._names)}"
        keyed = f"SELECT u{fields}, {key} AS k FROM {inner} WHERE {test_sql(program.within)}"
        rank = "dense_rank() OVER (PARTITION BY u ORDER BY hash(s, k), k)"
        ranked = f"SELECT {a}.*, {rank} AS d FROM ({keyed}) AS {a} JOIN units USING (u)"
        kept = f"d <= {int(program.most)} AND k = {int(program.code)}"
        return f"SELECT u{fields} FROM ({ranked}) AS {b} WHERE {kept}", width

    def _reduce(self, program: Reduce) -> tuple[str, int]:
        inner, _ = self._from(program.rows)
        named = "".join(f", {_reduction(how, one)} AS c{at}" for at, (how, one) in enumerate(program.fields))
        return f"SELECT u{named} FROM {inner} GROUP BY u", len(program.fields)


def _constant(value: int | None) -> str:
    return "CAST(NULL AS BIGINT)" if value is None else f"CAST({int(value)} AS BIGINT)"


def _list(prefix: str, width: int) -> str:
    return "".join(f", {prefix}c{at}" for at in range(width))


def _reduction(how: str, one: Whole | Test) -> str:
    if isinstance(one, Order | Member | Absent | AllTests | Either | Opposite):
        hit = f"CASE WHEN {test_sql(one)} THEN 1 ELSE 0 END"
        return f"CAST({'max' if how == 'any' else 'sum'}({hit}) AS BIGINT)"
    return f"CAST({ {'sum': 'sum', 'min': 'min', 'max': 'max'}[how] }({whole_sql(one)}) AS BIGINT)"


def sought_sql(sought: Sought, widths: list[int]) -> tuple[str, int, int]:
    """The SELECT of what is sought: keys k0, k1, … (the grid last), then sums p0, p1, …; and how many of each.

    Where a bound is enforced, which rows or groups of a unit are kept is decided by a hash of the unit's salt and of
    the row or group itself, so by that unit's own rows alone and in no order of the store.
    """
    compiler = RowsCompiler(widths)
    if not sought.once and not _enforces(sought):
        return _plain(sought, compiler)
    inner, width = compiler.sql(sought.rows.program)
    used = test_sql(_needed(sought))
    keys = [*sought.keys, *(() if sought.grid_key is None else (sought.grid_key,))]
    groups = "".join(f", k{at}" for at in range(len(sought.keys)))
    named = "".join(f", {whole_sql(one)} AS k{at}" for at, one in enumerate(keys))
    parts = "".join(f", {whole_sql(one)} AS p{at}" for at, one in enumerate(sought.parts))
    every = "".join(f", k{at}" for at in range(len(keys)))
    sums = "".join(f", p{at}" for at in range(len(sought.parts)))
    source = f"SELECT u{named}{parts} FROM ({inner}) AS r WHERE {used}"
    if sought.keep_rows is not None or sought.keep_per_group is not None:
        content = _list("r.", width)
        source = (
            f"SELECT r.u AS u{named}{parts}, hash(s{content}) AS h{content} "
            f"FROM ({inner}) AS r JOIN units ON units.u = r.u WHERE {used}"
        )
        order = f"h{_list('', width)}"
        if sought.keep_rows is not None:
            source = _kept(source, "u", order, sought.keep_rows)
        if sought.keep_per_group is not None:
            source = _kept(source, f"u{groups}", order, sought.keep_per_group)
        source = f"SELECT u{every}{sums} FROM ({source}) AS kept"
    if sought.once:
        source = f"SELECT DISTINCT u{every}, 1 AS p0 FROM ({source}) AS r1"
    if sought.clamp is not None:
        low, high = sought.clamp
        total = f"greatest({int(low)}, least({int(high)}, sum(p0)))"
        source = f"SELECT u{every}, {total} AS p0 FROM ({source}) AS r2 GROUP BY u{every}"
    if sought.keep_groups is not None:
        source = _kept_groups(source, every + sums, groups, sought.keep_groups)
    counted = sought.parts == (Fixed(1),) and sought.clamp is None
    totals = ["count(*)"] if counted else [f"sum(p{at})" for at in range(len(sought.parts))]
    return _summed([f"k{at}" for at in range(len(keys))], totals, f"({source}) AS r4")


def _plain(sought: Sought, compiler: RowsCompiler) -> tuple[str, int, int]:
    """The SELECT of what is sought where no bound is enforced: in one level, which is half the planning."""
    source, tests = compiler.filtered(sought.rows.program)
    needed = [test for test in (*tests, _needed(sought)) if test != AllTests(())]
    where = f" WHERE {test_sql(AllTests(tuple(needed)))}" if needed else ""
    keys = [*sought.keys, *(() if sought.grid_key is None else (sought.grid_key,))]
    counted = sought.parts == (Fixed(1),)
    if counted and not keys and _is_short(sought.rows.program):
        # Two thirds of the time, and the same for every row: none is picked out only to be counted.
        return _summed([], [f"count_if({test_sql(AllTests(tuple(needed)))})"], source)
    totals = ["count(*)"] if counted else [f"sum({whole_sql(one)})" for one in sought.parts]
    return _summed([f"{whole_sql(one)} AS k{at}" for at, one in enumerate(keys)], totals, source + where)


def _is_short(program: RowsProgram) -> bool:
    """Whether rows of one table are kept by a few comparisons with fixed numbers: each takes little, for every row."""
    tests: list[Test] = []
    while isinstance(program, KeepRows):
        tests, program = [*tests, program.test], program.rows
    plain = 0
    while tests:
        one = tests.pop()
        if isinstance(one, AllTests):
            tests += one.tests
        elif isinstance(one, Order) and isinstance(one.left, RowField) and isinstance(one.right, Fixed):
            plain += 1
        else:
            return False
    return isinstance(program, Scan) and 1 <= plain <= _FEW


def _summed(keys: list[str], totals: list[str], source: str) -> tuple[str, int, int]:
    groups = f" GROUP BY {', '.join(f'k{at}' for at in range(len(keys)))}" if keys else ""
    return f"SELECT {', '.join([*keys, *totals])} FROM {source}{groups}", len(keys), len(totals)


def _enforces(sought: Sought) -> bool:
    """Whether a bound on the rows of a unit is enforced."""
    bounds = (sought.keep_rows, sought.keep_per_group, sought.keep_groups, sought.clamp)
    return any(one is not None for one in bounds)


def _needed(sought: Sought) -> Test:
    """Which rows are used, as far as it must be said to the engine.

    Where nothing is kept or clamped, sums leave out what is missing by themselves, groups whose key is missing are left
    out afterwards, and a declared range holds all there is: tests that say so only mislead the engine's plans.
    """
    if _enforces(sought) or not isinstance(sought.used, AllTests):
        return sought.used
    return AllTests(tuple(test for test in sought.used.tests if isinstance(test, Member)))


def _kept(source: str, unit: str, order: str, most: int) -> str:
    return f"SELECT * FROM ({source}) AS r0 QUALIFY row_number() OVER (PARTITION BY {unit} ORDER BY {order}) <= {most}"


def _kept_groups(source: str, columns: str, groups: str, most: int) -> str:
    """The rows of at most so many groups of each unit."""
    rank = f"dense_rank() OVER (PARTITION BY r3.u ORDER BY hash(s{groups}){groups})"
    return f"SELECT r3.u AS u{columns} FROM ({source}) AS r3 JOIN units ON units.u = r3.u QUALIFY {rank} <= {most}"
