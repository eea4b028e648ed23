"""SQL is translated to the tree that the text of the language gives, and whatever is not allowed is named."""

import pytest

from margrave.errors import MargraveError, UsageError
from margrave.planning.questions.language.sql import read_sql
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.programs.sought import sought_of
from tests.planning.questions.samples import data_spec

SPEC = data_spec()


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT COUNT(*) FROM people", "people count"),
        ("select region, avg(income) from people group by region", "people by region average income"),
        ("SELECT COUNT(DISTINCT person) FROM visits", "visits units"),
        (
            "SELECT p.region, COUNT(*) AS n FROM people AS p JOIN visits v ON p.person = v.person "
            "WHERE v.cost > 0.5 AND p.age BETWEEN 1 AND 3 GROUP BY p.region;",
            "people join visits where (cost > 0.5 and (age >= 1 and age <= 3)) by region count",
        ),
        ("SELECT SUM(cost) FROM people LEFT JOIN visits USING (person)", "people left join visits sum cost"),
        ("SELECT SUM(cost) FROM people LEFT OUTER JOIN visits USING (person)", "people left join visits sum cost"),
        ("SELECT COUNT(*) FROM people LEFT ANTI JOIN visits USING (person)", "people anti join visits count"),
        ("SELECT COUNT(*) FROM people LEFT SEMI JOIN visits USING (person)", "people semi join visits count"),
        ("SELECT COUNT(*) FROM people SEMI JOIN visits USING (person)", "people semi join visits count"),
        ("SELECT COUNT(*) FROM people ANTI JOIN visits USING (person)", "people anti join visits count"),
        ("SELECT MEDIAN(age) FROM people", "people median age"),
        ("SELECT QUANTILE_CONT(age, 0.9) FROM people", "people quantiles(0.9) of age"),
        ("SELECT VAR_POP(age) FROM people WHERE NOT region IN ('north', 'it''s')", None),
        (
            "SELECT CASE WHEN age >= 3 THEN 'old' ELSE 'young' END AS who, COUNT(*) FROM people GROUP BY who",
            "people by who = case when age >= 3 then 'old' else 'young' end count",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE joined >= DATE '2024-01-01' AND YEAR(joined) = 2024 OR income = -1",
            "people where ((joined >= day('2024-01-01') and year(joined) = 2024) or income = -1) count",
        ),
        ("SELECT COUNT(*) FROM people WHERE (age + 1) * 2 // 3 <> 1 AND income IS NOT NULL", None),
        ("SELECT COUNT(income) FROM people", "people where not (income is missing) count"),
        ("SELECT region, age, COUNT(*) FROM people GROUP BY ALL", "people by region, age count"),
    ],
)
def test_sql_says_the_same(sql, text):
    found = read_sql(sql, SPEC)
    sought_of(found, SPEC)
    if text is not None:
        assert found == parsed(text, SPEC)


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("SELECT * FROM people", "one aggregate"),
        ("SELECT region FROM people", "one aggregate"),
        ("SELECT COUNT(*), SUM(age) FROM people", "one aggregate"),
        ("SELECT COUNT(*) FROM people LIMIT 3", "LIMIT"),
        ("SELECT COUNT(*) FROM people ORDER BY 1", "ORDER"),
        ("SELECT DISTINCT COUNT(*) FROM people", "DISTINCT"),
        ("SELECT region, COUNT(*) FROM people GROUP BY region HAVING COUNT(*) > 3", "HAVING"),
        ("SELECT COUNT(*) FROM (SELECT * FROM people)", "SUBQUERY"),
        ("SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)", "(?i)select|query"),
        ("SELECT COUNT(*) FROM people, visits", "joined on the unit"),
        ("SELECT COUNT(*) FROM people JOIN visits ON people.age = visits.cost", "on the unit"),
        ("SELECT COUNT(*) FROM people CROSS JOIN visits", "CROSS"),
        ("SELECT COUNT(*) FROM people FULL JOIN visits USING (person)", "FULL"),
        ("SELECT COUNT(*) FROM read_csv('/etc/passwd')", "READCSV is not allowed.*name a table"),
        ("SELECT COUNT(*) FROM people WHERE region LIKE 'n%'", "LIKE"),
        ("SELECT COUNT(*) FROM people WHERE random() < 0.5", "RAND"),
        ("SELECT COUNT(*) FROM people WHERE age / 2 > 1", "DIV"),
        ("SELECT COUNT(DISTINCT age) FROM people", "units alone"),
        ("SELECT SUM(DISTINCT age) FROM people", "DISTINCT"),
        ("SELECT COUNT(*) OVER () FROM people", "one aggregate"),
        ("SELECT COUNT(*) FROM people TABLESAMPLE 10%", "(?i)sample"),
        ("SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM people", "UNION"),
        ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM people", "WITH"),
        ("SELECT region, COUNT(*) FROM people", "not in GROUP BY"),
        ("SELECT COUNT(*) FROM people WHERE nothing = 1", "no column"),
        ("SELECT COUNT(*) FROM people WHERE person = '1'", "no column"),
        ("SELECT COUNT(*) FROM nobody", "no table"),
        ("DROP TABLE people", "DROP"),
        ("ATTACH 'x.db'", "(?i)attach|not allowed|cannot be read"),
        ("COPY people TO 'x.csv'", "(?i)copy"),
        ("SELECT COUNT(*) FROM people; DROP TABLE people", "one SELECT"),
        ("SELECT COUNT(*)", "needs FROM"),
        ("nonsense at all", "cannot be read|not allowed"),
        ("SELECT COUNT(*) FROM people RIGHT SEMI JOIN visits USING (person)", "RIGHT SEMI joins"),
        ("SELECT COUNT(*) FROM people AS p(income, age) WHERE age > 1", "columns"),
        ("", "one SELECT"),
        ("SELECT MAX(age) FROM people", "MAX is not allowed"),
        ("SELECT VARIANCE(age) FROM people", "VARIANCE is not allowed.*VAR_POP"),
        ("SELECT AVG(age), COUNT(*) FROM people", "one aggregate, not 2: .*batch"),
        ("SELECT COUNT(*) FROM people WHERE age = NULL", "IS NULL"),
        ('SELECT COUNT(*) FROM people WHERE region = "north"', "single quotes"),
        ("SELECT COUNT(*) FROM people WHERE joined > 'soon'", "DATE '2024-12-31'"),
    ],
)
def test_what_is_not_allowed_is_named(sql, named):
    with pytest.raises(UsageError, match=named):
        read_sql(sql, SPEC)


def test_nothing_but_our_own_errors_comes_of_any_text():
    for sql in (
        "SELECT " + "(" * 500 + "1",
        "'",
        "\x00",
        "SELECT COUNT(*) FROM people WHERE " + "NOT " * 3_000 + "age = 1",
    ):
        with pytest.raises(MargraveError):
            sought_of(read_sql(sql, SPEC), SPEC)


def test_a_text_that_is_compared_with_a_day_is_one():
    for condition in (
        "joined > {}",
        "{} < joined",
        "joined BETWEEN {} AND DATE '2024-01-03'",
        "joined IN ({}, DATE '2024-01-01')",
    ):
        bare, cast = (
            read_sql(f"SELECT COUNT(*) FROM people WHERE {condition.format(one)}", SPEC)
            for one in ("'2023-12-31'", "DATE '2023-12-31'")
        )
        assert bare == cast
