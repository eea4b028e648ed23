"""Records of a graphical model: whole people whose tables are those of the model, as nearly as whole numbers can be.

Attribute by attribute, in the order of the cliques: the records that agree in all that the attribute's clique has
already are divided among its values, by its distribution given these. Counts are rounded, and what rounding took or
gave is carried over to the next group, so that the errors do not add up in smaller tables. So every table inside a
clique is nearly exact. Which of the records of a group get which value does not matter to the clique, but it does to
tables that reach further back: records exchange values as long as that brings the wanted tables nearer to the model's.
Drawing values at random instead would add the noise of a sample to every such table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain, Margin
from margrave.reconstruct.graphical.beliefs import axes_of
from margrave.reconstruct.graphical.model import GraphicalModel

TRIES = 24
"""How many exchanges are tried for each record and attribute."""


def records_of(model: GraphicalModel, total: int, wanted: Iterable[Margin] = (), *, tries: int = TRIES) -> Integers:
    """So many records, a row of codes each, in the order of the domain. ``wanted``: the tables that matter.

    They follow from the model alone: the same each time.
    """
    from margrave.reconstruct.graphical.rounding import divided, mixed

    domain = model.domain
    rows = np.zeros((total, len(domain)), dtype=np.int64)
    outside = [margin for margin in dict.fromkeys(map(domain.margin, wanted)) if model.tree.home(margin) is None]
    targets = {margin: model.margin(margin) for margin in outside}
    known: set[str] = set()
    for name, before, shares in _steps(model):
        groups = _cells(domain, rows, before)
        order = np.argsort(groups, kind="stable")
        sizes = np.bincount(groups, minlength=domain.cells(before))
        labels = np.empty(total, dtype=np.int64)
        labels[order] = mixed(divided(shares, sizes), sizes)
        known.add(name)
        reaching = {one: targets[one] for one in outside if name in one and set(one) <= known}
        if reaching and tries:
            _exchange(domain, rows, name, labels, (order, sizes), reaching, tries)
        rows[:, domain.position(name)] = labels
    return rows


def _steps(model: GraphicalModel) -> Iterator[tuple[str, Margin, Floats]]:
    """Each attribute, what its clique has before it, and its distribution given each cell of that."""
    domain = model.domain
    for clique, conditional in zip(model.tree.cliques, model.calibrated.conditional, strict=True):
        axes = axes_of(clique)
        for at in range(len(clique.separator), len(axes)):
            joint = conditional.sum(axis=tuple(range(at + 1, len(axes))))
            rows = joint.reshape(domain.cells(axes[:at]), -1)
            sums = rows.sum(axis=1, keepdims=True)
            yield axes[at], axes[:at], np.where(sums > 0, rows / np.where(sums > 0, sums, 1), 1 / rows.shape[1])


def _cells(domain: Domain, rows: Integers, margin: Margin) -> Integers:
    """The cell of a margin that each record is in."""
    if not margin:
        return np.zeros(len(rows), dtype=np.int64)
    columns = tuple(rows[:, domain.position(name)] for name in margin)
    return np.asarray(np.ravel_multi_index(columns, domain.shape(margin)), dtype=np.int64)


def _exchange(
    domain: Domain,
    rows: Integers,
    name: str,
    labels: Integers,
    grouped: tuple[Integers, Integers],
    targets: dict[Margin, Floats],
    tries: int,
) -> None:
    """Let records of one group exchange values while that brings the tables nearer to their targets. In place."""
    from margrave.reconstruct.graphical.rounding import exchanged

    order, sizes = grouped
    values = domain[name].size
    bases, missed, start = [], [], 0
    for margin, target in targets.items():
        earlier = tuple(one for one in margin if one != name)
        cells = _cells(domain, rows, earlier) * values
        wanted = target.transpose([margin.index(one) for one in (*earlier, name)]).ravel()
        missed.append(np.bincount(cells + labels, minlength=target.size) - wanted)
        bases.append(cells + start)
        start += target.size
    lows = np.repeat(np.cumsum(sizes) - sizes, sizes)
    exchanged(labels, order, lows, np.repeat(sizes, sizes), np.stack(bases, axis=1), np.concatenate(missed), tries)
