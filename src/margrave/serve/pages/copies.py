"""A question as it is written elsewhere: in the language itself, in Python, and in SQL where SQL has words for it.

What is offered was read back first: it is the same question.
"""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

from margrave.budget.numbers import exact_text
from margrave.errors import MargraveError
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.form import LanguageNode
from margrave.planning.questions.language.sql import read_sql
from margrave.planning.questions.language.wording import said

_SQL_ASKED = {"count": "COUNT(*)", "sum": "SUM({})", "average": "AVG({})", "variance": "VAR_POP({})"}
_SHORT = {"epsilon": "eps", "rho": "rho"}


def python_of(node: a.Aggregate, address: str, dataset: str, unit: str, amount: str) -> str:
    """The question in Python, over the wire."""
    return (
        "import margrave as mg\n\n"
        f's = mg.connect({address!r}, token="mgv_…", dataset={dataset!r})\n'
        f"q = s.ask({said(node)!r})\n"
        f"q.explain({_SHORT[unit]}={amount!r})\n"
        f"q.release({_SHORT[unit]}={amount!r})\n"
    )


def command_of(node: a.Aggregate, address: str, dataset: str, unit: str, amount: str) -> str:
    """The question on the command line, with the token in MARGRAVE_TOKEN."""
    text = said(node).replace("'", "'\"'\"'")
    return f"margrave ask '{text}' --{_SHORT[unit]} {amount} --dataset {dataset} --server {address}"


def sql_of(node: a.Aggregate, data: DataSpec) -> str:
    """The question in SQL; nothing where SQL does not say the same."""
    try:
        text = _select(node)
        return text if read_sql(text, data) == node else ""
    except (LookupError, MargraveError):
        return ""


def _select(node: a.Aggregate) -> str:
    rows, where = node.rows, ""
    if isinstance(rows, r.Where):
        where = f"\nWHERE {_sql(rows.condition)}"
        rows = rows.rows
    if not isinstance(rows, r.Rows):
        raise LookupError("rows")
    if isinstance(node, a.Quantiles):
        if [one.value for one in node.shares] != [Fraction(1, 2)]:
            raise LookupError("quantiles")
        asked = f"MEDIAN({_sql(node.value)})"
    else:
        value = getattr(node, "value", None)
        asked = _SQL_ASKED[node.kind].format("" if value is None else _sql(value))
    keys = [_sql(one.value) for one in node.keys]
    by = f"\nGROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*keys, asked])}\nFROM {_name(rows.table)}{where}{by}"


def _name(name: str) -> str:
    return name if name.isidentifier() else '"{}"'.format(name.replace('"', '""'))


@singledispatch
def _sql(node: LanguageNode) -> str:
    raise LookupError(node.kind)


@_sql.register
def _(node: e.Column) -> str:
    return _name(node.name)


@_sql.register
def _(node: e.Numeral) -> str:
    return exact_text(node.value)


@_sql.register
def _(node: e.Text) -> str:
    return "'{}'".format(node.value.replace("'", "''"))


@_sql.register
def _(node: e.Day) -> str:
    return f"DATE '{node.value.isoformat()}'"


@_sql.register
def _(node: e.DatePart) -> str:
    if node.part == "weekday":
        raise LookupError(node.part)
    return f"{node.part.upper()}({_sql(node.value)})"


@_sql.register
def _(node: e.Compare) -> str:
    sign = "<>" if node.sign == "!=" else node.sign
    return f"{_sql(node.left)} {sign} {_sql(node.right)}"


@_sql.register
def _(node: e.AllOf) -> str:
    return " AND ".join(_sql(one) for one in node.conditions)
