"""Questions as readable text; `margrave.planning.questions.language.text` reads it back to the same tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from margrave.budget.numbers import exact_text
from margrave.planning.questions.language.aggregates import (
    Aggregate,
    Average,
    Choose,
    Cumulative,
    Quantiles,
    Sum,
    TableOf,
    Tables,
    Variance,
)
from margrave.planning.questions.language.expressions import (
    AllOf,
    Among,
    AnyOf,
    Arithmetic,
    Binned,
    Case,
    Column,
    Compare,
    DatePart,
    Day,
    Divide,
    IsMissing,
    Missing,
    Negation,
    Numeral,
    Text,
)
from margrave.planning.questions.language.form import LanguageNode
from margrave.planning.questions.language.parts import Part, Partition
from margrave.planning.questions.language.public import Lookup, PublicColumn, PublicName, PublicTable
from margrave.planning.questions.language.relations import (
    Distinct,
    Except,
    Intersect,
    Join,
    Key,
    Named,
    PerUnit,
    Reduction,
    Rows,
    Select,
    Union,
    Where,
)
from margrave.planning.questions.language.tokens import name_said, quoted


def said(form: LanguageNode) -> str:
    """A node as text."""
    return _WRITERS[type(form)](form)


def _numeral(form: Numeral) -> str:
    text = exact_text(form.value)
    if "/" in text:
        return f"number({quoted(text)})"
    return f"({text})" if form.value < 0 else text


def _joined(forms: Sequence[LanguageNode]) -> str:
    return ", ".join(said(one) for one in forms)


def _case(form: Case) -> str:
    branches = " ".join(f"when {said(one.condition)} then {said(one.value)}" for one in form.branches)
    default = "" if form.default == Missing() else f" else {said(form.default)}"
    return f"case {branches}{default} end"


def _within(form: LanguageNode) -> str:
    """Rows as they stand inside others."""
    return name_said(form.table) if isinstance(form, Rows) else f"({said(form)})"


def _select(form: Select) -> str:
    return f"{said(form.rows)} {'with' if form.add else 'select'} {_joined(form.columns)}"


def _reduction(form: Reduction) -> str:
    what = form.value if form.value is not None else form.condition
    return f"{name_said(form.name)} = {form.how}({'' if what is None else said(what)})"


def _named(form: Named | Key) -> str:
    name = name_said(form.name)
    return name if form.value == Column(form.name) else f"{name} = {said(form.value)}"


def _key(form: Key) -> str:
    return _named(form) + (f" only ({_joined(form.only)})" if form.only else "")


def _join(form: Join) -> str:
    how = "" if form.how == "inner" else f"{form.how} "
    return f"{said(form.left)} {how}join {_within(form.right)}"


def _lookup(form: Lookup) -> str:
    how = "" if form.how == "inner" else f"{form.how} "
    return f"{said(form.rows)} {how}join {said(form.table)} on {said(form.on)}"


def _parted(form: Part | Partition) -> str:
    return said(form.by) + ("" if form.most_parts is None else f" parts {form.most_parts}")


def _aggregate(form: Aggregate) -> str:
    by = f" by {_joined(form.keys)}" if form.keys else ""
    return f"{said(form.rows)}{by} {_asked(form)}{_bounds(form)}"


def _asked(form: Aggregate) -> str:
    if isinstance(form, Quantiles):
        return f"quantiles({_joined(form.shares)}) of {said(form.value)}"
    if isinstance(form, Choose):
        return f"choose {said(form.value)}" + (f" only ({_joined(form.only)})" if form.only else "")
    if isinstance(form, Tables):
        return f"tables({_joined(form.tables)})"
    if isinstance(form, Sum | Average | Variance | Cumulative):
        return f"{form.kind} {said(form.value)}"
    return form.kind


def _bounds(form: Aggregate) -> str:
    found = ""
    for name, word in (("low", "low"), ("high", "high"), ("interval", "interval")):
        if (end := getattr(form, name, None)) is not None:
            found += f" {word} {said(end)}"
    for name, word in (("most_rows", "rows"), ("most_groups", "groups"), ("most_per_group", "per group")):
        if (bound := getattr(form, name, None)) is not None:
            found += f" {word} {bound}"
    return found


def _either(word: str) -> Callable[[Any], str]:
    return lambda form: f"{said(form.left)} {word} {_within(form.right)}"


def _logic(word: str) -> Callable[[Any], str]:
    return lambda form: f"({f' {word} '.join(said(one) for one in form.conditions)})"


_WRITERS: dict[type[LanguageNode], Callable[[Any], str]] = {
    Column: lambda form: name_said(form.name),
    Numeral: _numeral,
    Text: lambda form: quoted(form.value),
    Day: lambda form: f"day({quoted(form.value.isoformat())})",
    Missing: lambda form: "missing",
    Arithmetic: lambda form: f"({said(form.left)} {form.sign} {said(form.right)})",
    Divide: lambda form: f"({said(form.value)} // {form.by})",
    Case: _case,
    Binned: lambda form: f"bins({said(form.value)}, {_joined(form.edges)})",
    DatePart: lambda form: f"{form.part}({said(form.value)})",
    Compare: lambda form: f"{said(form.left)} {form.sign} {said(form.right)}",
    Among: lambda form: f"{said(form.value)} in ({_joined(form.members)})",
    IsMissing: lambda form: f"{said(form.value)} is missing",
    AllOf: _logic("and"),
    AnyOf: _logic("or"),
    Negation: lambda form: f"not ({said(form.condition)})",
    Rows: lambda form: name_said(form.table),
    Where: lambda form: f"{said(form.rows)} where {said(form.condition)}",
    Named: _named,
    Select: _select,
    Join: _join,
    Reduction: _reduction,
    PerUnit: lambda form: f"{said(form.rows)} per unit {_joined(form.columns)}",
    Distinct: lambda form: f"{said(form.rows)} distinct",
    Union: _either("union"),
    Intersect: _either("intersect"),
    Except: _either("except"),
    Key: _key,
    TableOf: lambda form: " * ".join(map(name_said, form.names)) or "()",
    PublicName: lambda form: name_said(form.name),
    PublicColumn: lambda form: f"{name_said(form.name)} = ({_joined(form.values)})",
    PublicTable: lambda form: f"public ({_joined(form.columns)})",
    Lookup: _lookup,
    Partition: lambda form: f"{said(form.rows)} partition by {_parted(form)}",
    Part: lambda form: f"{said(form.rows)} part {said(form.value)} of {_parted(form)}",
}
for _kind in Aggregate.__subclasses__():
    _WRITERS[_kind] = _aggregate
