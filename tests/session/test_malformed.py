"""Questions that cannot be asked, in every form: each is refused with a text of ours, and none is charged."""

import functools
import json
from datetime import date

import pytest

import margrave as mg
from margrave.errors import MargraveError
from margrave.session.expressions import col as c

PYTHON = {
    "within_s": lambda s, p, v: p.count().explain(within="3"),
    "conf": lambda s, p, v: p.count().explain(within=3, confidence="a"),
    "rows": lambda s, p, v: p.average(c.age).explain(within=3, rows="a"),
    "rows2": lambda s, p, v: repr(p.average(c.age).explain(eps=1, rows="a")),
    "rows3": lambda s, p, v: repr(p.average(c.age).explain(eps=1, rows=-3)),
    "within_nan": lambda s, p, v: p.count().explain(within=float("nan")),
    "withinTrue": lambda s, p, v: p.count().explain(within=True),
    "batch": lambda s, p, v: s.batch(3, eps=1),
    "batch2": lambda s, p, v: s.batch("people count", eps=1),
    "batch4": lambda s, p, v: s.batch([p.count()], eps=1),
    "best": lambda s, p, v: s.best(3),
    "best2": lambda s, p, v: s.best(p),
    "where": lambda s, p, v: p.where(3),
    "where2": lambda s, p, v: p.where("age > 3"),
    "where3": lambda s, p, v: p.where(c.age),
    "where4": lambda s, p, v: p.where(True),
    "comp": lambda s, p, v: p.compute(x=[1]),
    "comp2": lambda s, p, v: p.compute(x=object()),
    "comp3": lambda s, p, v: p.compute(),
    "sel": lambda s, p, v: p.select(),
    "sel2": lambda s, p, v: p.select(3),
    "sel3": lambda s, p, v: p.select("nothing").count().release(eps=0.1),
    "sel4": lambda s, p, v: p.select(c.age),
    "join": lambda s, p, v: p.join(3),
    "join2": lambda s, p, v: p.join("visits"),
    "join3": lambda s, p, v: p.join(v, how=3),
    "join4": lambda s, p, v: p.join(v, how="cross"),
    "join5": lambda s, p, v: p.join(v, on=c.age),
    "join6": lambda s, p, v: p.join(p).count().release(eps=0.1),
    "join7": lambda s, p, v: p.join(mg.public({"a": [1], "b": [2]}, key="a"), on=c.region).count().release(eps=0.1),
    "join8": lambda s, p, v: p.join(s.public["places"], how="semi"),
    "pub": lambda s, p, v: mg.public(3, key="a"),
    "pub2": lambda s, p, v: mg.public({"a": [1]}, key="a"),
    "pub3": lambda s, p, v: mg.public({"a": [1], "b": [1, 2]}, key="a"),
    "pub4": lambda s, p, v: mg.public({"a": [1, "x"], "b": [1, 2]}, key="a"),
    "pub5": lambda s, p, v: mg.public({"a": [object()], "b": [1]}, key="a"),
    "pub6": lambda s, p, v: mg.public({"a": "xy", "b": "xy"}, key="a"),
    "pub7": lambda s, p, v: mg.public({"a": [None], "b": [1]}, key="a"),
    "pub8": lambda s, p, v: mg.public({"a": [1], "b": [1]}, key="c"),
    "pub9": lambda s, p, v: mg.public({"a": [1.5, float("nan")], "b": [1, 2]}, key="a"),
    "per": lambda s, p, v: v.per_unit(n="sum"),
    "per2": lambda s, p, v: v.per_unit(n=3),
    "per3": lambda s, p, v: v.per_unit(),
    "per4": lambda s, p, v: v.per_unit(n=c.cost),
    "per5": lambda s, p, v: v.per_unit(n=c.ward.min()).count().release(eps=0.1),
    "union": lambda s, p, v: p.union(3),
    "union2": lambda s, p, v: p.union(v).count().release(eps=0.1),
    "gb": lambda s, p, v: p.group_by(3),
    "gb2": lambda s, p, v: p.group_by("region"),
    "gb4": lambda s, p, v: p.group_by(c.region, c.region).count(),
    "gb5": lambda s, p, v: p.group_by(c.region.only("east")).count().release(eps=0.1),
    "gb6": lambda s, p, v: p.group_by(c.region.only()).count().release(eps=5),
    "cnt": lambda s, p, v: p.count(rows="a"),
    "cnt2": lambda s, p, v: p.count(rows=1.5),
    "sum_": lambda s, p, v: p.sum(c.income, low="a"),
    "sum2": lambda s, p, v: p.sum("income"),
    "sum3": lambda s, p, v: p.sum(c.income, low=float("nan")),
    "avg": lambda s, p, v: p.average(c.income, nothing=3),
    "quant": lambda s, p, v: p.quantiles(c.income, 3),
    "quant2": lambda s, p, v: p.quantiles(c.income, []),
    "quant3": lambda s, p, v: p.quantiles(c.income, [2]),
    "quant4": lambda s, p, v: p.quantiles(c.income, ["a"]),
    "hist": lambda s, p, v: p.histogram(c.income, [3]),
    "hist2": lambda s, p, v: p.histogram(c.income, 3),
    "hist3": lambda s, p, v: p.histogram("income"),
    "cho": lambda s, p, v: p.choose(c.region, only=3),
    "cho2": lambda s, p, v: p.choose(c.region, only=["east"]).release(eps=0.1),
    "eps": lambda s, p, v: p.count().release(eps=[]),
    "eps2": lambda s, p, v: p.count().release(eps={}),
    "eps3": lambda s, p, v: p.count().release(),
    "eps4": lambda s, p, v: p.count().release(eps=1e400),
    "eps5": lambda s, p, v: p.count().release("x"),
    "eps6": lambda s, p, v: p.count().release(eps=1e-30),
    "div": lambda s, p, v: p.compute(x=c.age // 0),
    "div2": lambda s, p, v: p.compute(x=c.age // c.age),
    "div3": lambda s, p, v: c.age / 2,
    "add": lambda s, p, v: p.compute(x=c.age + "a").count().release(eps=0.1),
    "add2": lambda s, p, v: p.where(c.age & 3),
    "add3": lambda s, p, v: (c.age > 3) & 3,
    "inv": lambda s, p, v: ~c.age,
    "isin": lambda s, p, v: p.where(c.age.isin(3)),
    "isin2": lambda s, p, v: p.where(c.age.isin([])),
    "bins": lambda s, p, v: c.age.bins(1),
    "bins2": lambda s, p, v: c.age.bins("a", "b"),
    "bins3": lambda s, p, v: c.age.bins(3, 1),
    "col": lambda s, p, v: p.where(c.nothing > 3).count().release(eps=0.1),
    "cmp": lambda s, p, v: p.where(c.age > "a").count().release(eps=0.1),
    "cmp2": lambda s, p, v: p.where(c.region > "a").count().release(eps=0.1),
    "part": lambda s, p, v: p.partition(),
    "part2": lambda s, p, v: p.partition(3),
    "part3": lambda s, p, v: p.partition(c.region, parts="a"),
    "part4": lambda s, p, v: p.partition(c.region).release(eps={"north": 1}),
    "part5": lambda s, p, v: p.partition(c.region).release(),
    "part6": lambda s, p, v: p.partition(c.age, x=c.region),
    "part7": lambda s, p, v: p.partition(c.income).explain(eps=0.1),
    "part8": lambda s, p, v: p.partition(c.region).release(eps={"north": "x", "south": 1}),
    "part9": lambda s, p, v: p.partition(c.region).explain(within=3),
    "tbl": lambda s, p, v: s[3],
    "ask": lambda s, p, v: s.ask(3),
    "ask2": lambda s, p, v: s.ask(None),
    "sql": lambda s, p, v: s.sql(3),
    "js": lambda s, p, v: s.json(3),
    "js2": lambda s, p, v: s.json({"kind": "table", "table": "people"}),
    "ask3": lambda s, p, v: s.ask("people count", places=3),
    "when": lambda s, p, v: mg.when(3, 4),
    "when2": lambda s, p, v: mg.when(c.age > 3, 4).when(3, 4),
    "deep": lambda s, p, v: (
        __import__("functools").reduce(lambda q, _: q.where(c.age > 3), range(100), p).count().release(eps=0.1)
    ),
}
TEXTS = [
    "",
    "people",
    "people cont",
    "people where count",
    "people where age count",
    "people where age > count",
    "visits where seen > 2024-03-01 and count",
    "visits where seen > 2024-13-01 count",
    "people where age > 2024-03-01 count",
    "visits where seen > 'spring' count",
    "visits where seen in 2024 count",
    "people by count",
    "people by 3 count",
    "people by region",
    "people by region median",
    "people quantiles(2) of age",
    "people quantiles 0.5 of age",
    "people sum",
    "people sum region",
    "people average income low 5 high 1",
    "people average income low a",
    "people count rows 0",
    "people count rows 1.5",
    "people count rows many",
    "people count nothing 3",
    "people join count",
    "people join visits on person count",
    "people join nobody count",
    "people join people count",
    "people outer join visits count",
    "people join places count",
    "people join places on age count",
    "people join public () on region count",
    "people join public (region = (north)) on region count",
    "people join public (region = (north, 3), x = (1, 2)) on region count",
    "people semi join places on region count",
    "people part north count",
    "people part east of region count",
    "people partition region",
    "people partition by region count",
    "people partition by region parts none",
    "people where (age > 3 count",
    "people where age > 3) count",
    "people where age >> 3 count",
    "people where age == 3 count",
    "people where region = 'north count",
    "people where age / 2 > 3 count",
    "people with age = 3 count",
    "people with where = 3 count",
    "people select nothing count",
    "people where region = nord count",
    "people where age between 3 count",
    "people where age in () count",
    "people with x = bins(age) by x count",
    "people with x = bins(age, 5, 1) by x count",
    "people with x = case end count",
    "people with x = age // 0 count",
    "people with x = age // age count",
    "people per unit count",
    "visits per unit n = median(cost) count",
    "people; drop table people",
    "people count; people count",
    "people take 10 count",
    "people where é > 3 count",
    "people count\x00",
    "select count(*) from people",
    "people where 3 count",
    "people cumulative region",
    "people choose nothing",
    "people where age is count",
    "people where age is not count",
    "people units rows 3",
    "visits sum cost high 1e400 count",
    "people where age > 1e999999999 count",
]
TEXTS.append(f"people where {'(' * 200}age > 3{')' * 200} count")
SQL = [
    "",
    "SELECT",
    "SELECT 1",
    "SELECT COUNT(*)",
    "SELECT * FROM people",
    "SELECT COUNT(*) FROM nobody",
    "SELECT COUNT(*) FROM people GROUP BY 1",
    "SELECT region, COUNT(*) FROM people GROUP BY 1",
    "SELECT region, COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people LIMIT 1",
    "SELECT COUNT(*) FROM people ORDER BY 1",
    "SELECT COUNT(*) FROM people HAVING COUNT(*) > 3",
    "SELECT COUNT(*), AVG(age) FROM people",
    "SELECT AVG(age) + 1 FROM people",
    "SELECT MAX(age) FROM people",
    "SELECT COUNT(*) FROM people, visits",
    "SELECT COUNT(*) FROM people JOIN visits ON people.age = visits.cost",
    "SELECT COUNT(*) FROM people FULL JOIN visits USING (person)",
    "SELECT COUNT(*) FROM people CROSS JOIN visits",
    "SELECT COUNT(*) FROM people JOIN places ON people.age > places.weight",
    "SELECT COUNT(*) FROM people JOIN places USING (person)",
    "SELECT COUNT(*) FROM places",
    "SELECT COUNT(*) FROM people SEMI JOIN places USING (region)",
    "SELECT COUNT(*) FROM (SELECT * FROM people)",
    "WITH x AS (SELECT * FROM people) SELECT COUNT(*) FROM x",
    "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)",
    "SELECT COUNT(*) FROM people WHERE name = 'x'",
    "SELECT COUNT(*) FROM people WHERE age LIKE 'x'",
    "SELECT COUNT(*) FROM people WHERE sqrt(age) > 3",
    "SELECT COUNT(*) FROM people WHERE age / 2 > 3",
    "SELECT COUNT(*) FROM people WHERE age",
    "SELECT COUNT(*) FROM visits WHERE seen > DATE '2024-13-01'",
    "SELECT COUNT(*) FROM visits WHERE seen > 'spring'",
    "SELECT COUNT(DISTINCT age) FROM people",
    "SELECT DISTINCT COUNT(*) FROM people",
    "SELECT COUNT(*) OVER () FROM people",
    "SELECT QUANTILE_CONT(age, 'x') FROM people",
    "SELECT QUANTILE_CONT(age, 2) FROM people",
    "SELECT region AS r, COUNT(*) FROM people GROUP BY ROLLUP (r)",
    "DELETE FROM people",
    "DROP TABLE people",
    "COPY people TO 'x'",
    "SELECT COUNT(*) FROM read_csv('x')",
    "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE age > 1e400",
    "SELECT SUM(region) FROM people",
    "SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM people TABLESAMPLE 10%",
    "SELECT COUNT(*) FILTER (WHERE age > 3) FROM people",
    "SELECT AVG(DISTINCT age) FROM people",
    "SELECT COUNT(*) FROM people GROUP BY age // 10",
    "SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)",
    "SELECT COUNT(*) FROM people WHERE age = ?",
    "SELECT COUNT(*) FROM people WHERE age BETWEEN 1",
    "SELECT COUNT(*) FROM main.people",
    "SELECT COUNT(age, 3) FROM people",
]
SQL.append(f"SELECT COUNT(*) FROM people WHERE {'(' * 300}age > 3{')' * 300}")
PEOPLE = {"kind": "table", "table": "people"}
JSON = [
    None,
    3,
    "x",
    [],
    {},
    {"kind": "cont"},
    {"kind": "count"},
    {"kind": "count", "rows": 3},
    {"kind": "count", "rows": []},
    {"kind": "count", "rows": {"kind": "table"}},
    {"kind": "count", "rows": {"kind": "table", "table": 3}},
    {"kind": "count", "rows": {"kind": "table", "table": "people"}, "x": 3},
    {"kind": "count", "rows": {"kind": "table", "table": "people"}, "most_rows": "a"},
    {"kind": "count", "rows": {"kind": "table", "table": "people"}, "most_rows": 0},
    {"kind": "count", "rows": {"kind": "table", "table": "people"}, "most_rows": 1.5},
    {"kind": "count", "rows": {"kind": "table", "table": "people"}, "by": 3},
    {"kind": "count", "rows": {"kind": "table", "table": "people"}, "by": [3]},
    {"kind": "count", "rows": {"kind": "table", "table": "people"}, "by": [{"kind": "key", "name": "x"}]},
    {"kind": "sum", "rows": {"kind": "table", "table": "people"}, "value": {"kind": "column", "name": "nothing"}},
    {"kind": "sum", "rows": {"kind": "table", "table": "people"}, "value": {"kind": "number", "value": 0.5}},
    {"kind": "sum", "rows": {"kind": "table", "table": "people"}, "value": {"kind": "number", "value": "x"}},
    {"kind": "part", "rows": {"kind": "table", "table": "people"}},
    {"kind": "partition", "rows": {"kind": "table", "table": "people"}, "by": 3},
    {
        "kind": "count",
        "rows": {
            "kind": "public join",
            "rows": {"kind": "table", "table": "people"},
            "on": {"kind": "column", "name": "region"},
            "table": {"kind": "public", "name": "nobody"},
        },
    },
    {
        "kind": "count",
        "rows": {
            "kind": "public join",
            "rows": {"kind": "table", "table": "people"},
            "on": {"kind": "column", "name": "region"},
            "table": {"kind": "public table", "columns": []},
        },
    },
    {
        "kind": "count",
        "rows": {
            "kind": "public join",
            "rows": {"kind": "table", "table": "people"},
            "on": {"kind": "column", "name": "region"},
            "table": {
                "kind": "public table",
                "columns": [
                    {"kind": "public column", "name": "a", "values": [3]},
                    {"kind": "public column", "name": "b", "values": []},
                ],
            },
        },
    },
    {
        "kind": "count",
        "rows": {
            "kind": "where",
            "rows": {"kind": "table", "table": "people"},
            "condition": {"kind": "compare", "sign": "~", "left": 3, "right": 4},
        },
    },
    {"kind": ["count"], "rows": {"kind": "table", "table": "people"}},
    {
        "kind": "quantiles",
        "rows": {"kind": "table", "table": "people"},
        "value": {"kind": "column", "name": "age"},
        "shares": ["0.5"],
    },
    {
        "kind": "count",
        "rows": {
            "kind": "join",
            "left": {"kind": "table", "table": "people"},
            "right": {"kind": "table", "table": "people"},
            "how": "cross",
        },
    },
    {
        "kind": "count",
        "rows": {"kind": "select", "rows": {"kind": "table", "table": "people"}, "columns": [], "add": "yes"},
    },
    {"kind": "day", "value": "2024-99-99"},
    {"kind": "count", "rows": {"kind": "in", "value": 3, "members": []}},
    {"kind": "count", "rows": {"kind": "union", "left": {"kind": "table", "table": "people"}}},
]
JSON.append(functools.reduce(lambda rows, _: {"kind": "distinct", "rows": rows}, range(400), PEOPLE))


def entries(ledger):
    return sum(1 for _ in ledger.entries())


def refused(ask):
    with pytest.raises(MargraveError) as caught:
        ask()
    told = str(caught.value)
    assert 10 < len(told) < 1_000 and "Traceback" not in told and "object at 0x" not in told
    return told


def test_what_is_malformed_in_python_is_refused_and_costs_nothing(session, ledger):
    before = entries(ledger)
    for ask in PYTHON.values():
        refused(lambda ask=ask: ask(session, session["people"], session["visits"]))
    assert entries(ledger) == before and len(PYTHON) > 60


def test_what_is_malformed_as_text_is_refused_and_costs_nothing(session, ledger):
    before = entries(ledger)
    for text in TEXTS:
        refused(lambda text=text: session.ask(text).release(eps=0.1))
    assert entries(ledger) == before and len(TEXTS) > 60


def test_what_is_not_allowed_in_sql_is_named_and_costs_nothing(session, ledger):
    before = entries(ledger)
    for text in SQL:
        refused(lambda text=text: session.sql(text).release(eps=0.1))
    assert entries(ledger) == before and len(SQL) > 50
    assert "GROUP BY 1" in refused(lambda: session.sql("SELECT region, COUNT(*) FROM people GROUP BY 1"))


def test_what_is_malformed_as_json_is_refused_and_costs_nothing(session, ledger):
    before = entries(ledger)
    for value in JSON:
        refused(lambda value=value: session.json(json.loads(json.dumps(value))).release(eps=0.1))
    assert entries(ledger) == before and len(JSON) > 30


def test_a_day_is_read_as_a_day(session):
    plain = session.ask("visits where seen > 2024-03-01 count")
    assert plain.node == session["visits"].where(c.seen > date(2024, 3, 1)).count().node
    assert plain.node == session.ask("visits where seen > day('2024-03-01') count").node
