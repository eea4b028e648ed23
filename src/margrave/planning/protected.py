"""What neighbours and public facts make of a spec: what is exact at no cost, whom it protects, and what is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Margin
from margrave.algebra.encoding import Encoding
from margrave.algebra.lattice import maximal
from margrave.budget.events import Protection
from margrave.facts.declared import Codes, facts_of, given_cells, given_table, is_given
from margrave.spec.spec import Spec

if TYPE_CHECKING:
    from margrave.planning.plan import Plan


def known_margins(spec: Spec, wanted: Iterable[Margin], encoding: Encoding) -> tuple[Margin, ...]:
    """Margins that are the same in all neighbours, and so are published exactly at no cost.

    With sensitive attributes these are the tables of the others; when one record is replaced, the number of records;
    with public facts, whatever they tell in full.
    """
    if spec.public:
        return facts_of(spec).encoded(encoding).whole
    if not spec.sensitive:
        return ((),) if spec.neighbours == "replace" and spec.records_per_unit == 1 else ()
    protected = set(encoding.margin(spec.sensitive))
    return maximal(tuple(name for name in margin if name not in protected) for margin in wanted)


def protection_of(spec: Spec, encoding: Encoding) -> Protection:
    """Whom the spec protects, by the attributes that are measured."""
    sensitive = encoding.attributes(spec.sensitive)
    return Protection(spec.neighbours, sensitive, spec.records_per_unit, spec.counted is not None)


def given_facts(plan: Plan) -> tuple[dict[Margin, Array], dict[Codes, int]]:
    """The values that the spec of a plan gives to its exact margins and its single cells, as they are measured."""
    spec, encoding = plan.spec, plan.encoding
    if not is_given(spec):
        return {}, {}
    tables = {}
    for margin in plan.exact:
        source = encoding.source(margin)
        tables[margin] = encoding.encode(source, given_table(spec, source))
    given = given_cells(spec).items()
    cells = {(encoding.margin(margin), encoding.cell(margin, codes)): count for (margin, codes), count in given}
    return tables, {known: cells[known] for known in plan.cells}
