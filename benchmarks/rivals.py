"""Lean versions of three mechanisms that others published, to stand beside Margrave's in one run.

AIM (McKenna, Mullins, Sheldon, Miklau 2022), MST (McKenna, Miklau, Sheldon 2021) and MWEM with whole tables and a
graphical model (Hardt, Ligett, McSherry 2012, section 3.3; McKenna, Sheldon, Miklau 2019) as their papers and the
private-pgm repository have them: the same rounds, shares of the budget, scores and stopping rules. What is lean is the
model behind them, which is Margrave's own (``reconstruct/graphical``) in place of mbi's mirror descent, and of at most
``CELLS`` cells. They count as these mechanisms as far as they reach what the repository's reach on Adult
(``python benchmarks/peers_grid.py check``).

They are for measuring only: their noise is numpy's, and nothing here is private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import pi, prod, sqrt

import numpy as np

from margrave.algebra.domain import Attribute, Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.reconstruct.graphical.fit import NoisyTable, fit
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.graphical.trees import tree_cells

CELLS = 1 << 20
"""The most cells of a model: 8 MiB, where the repository allows 80."""
_SMOOTHING = 0.1
"""As little entropy as Margrave's own models have. With nearly none MST was at 0.11 to 0.17 on Adult at ε = 1 in place
of 0.08: the repository stops its descent early, which holds it back as well.
"""
_TOLERANCE = 1e-6

Tables = Callable[[Margin], np.ndarray]


@dataclass(frozen=True)
class Confidential:
    """Records as codes, a column for each attribute, and ρ to spend on them."""

    domain: Domain
    codes: np.ndarray
    rho: float
    random: np.random.Generator

    def counts(self, margin: Margin) -> np.ndarray:
        """The exact table of a margin."""
        shape = self.domain.shape(margin)
        if not margin:
            return np.array(float(len(self.codes)))
        columns = tuple(self.codes[:, self.domain.position(name)] for name in margin)
        flat = np.ravel_multi_index(columns, shape)
        return np.bincount(flat, minlength=prod(shape)).reshape(shape).astype(float)

    def measured(self, margin: Margin, sigma: float) -> NoisyTable:
        exact = self.counts(margin)
        return NoisyTable(margin, exact + self.random.normal(0, sigma, exact.shape), sigma**2)

    def chosen(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        """The exponential mechanism: the larger a score, the likelier."""
        logits = 0.5 * epsilon / sensitivity * (np.array(scores) - max(scores))
        weights = np.exp(logits)
        return int(self.random.choice(len(weights), p=weights / weights.sum()))


def _total(noisy: Iterable[NoisyTable]) -> float:
    """The number of records, by inverse variances of the sums of all noisy tables."""
    sums = [(one.counts.sum(), one.counts.size * one.variance) for one in noisy]
    return max(1.0, sum(value / spread for value, spread in sums) / sum(1 / spread for _, spread in sums))


def _fitted(domain: Domain, noisy: list[NoisyTable], start: GraphicalModel | None = None) -> GraphicalModel:
    return fit(domain, noisy, total=_total(noisy), start=start, smoothing=_SMOOTHING, tolerance=_TOLERANCE)


def aim(data: Confidential, wanted: Sequence[Margin]) -> Tables:
    """One-way tables first; then rounds that halve the noise whenever a table taught less than its noise."""
    domain, rho = data.domain, data.rho
    weights = {one: sum(len({*one} & {*table}) for table in wanted) for one in downward_closure(wanted) if one}
    exact = {one: data.counts(one) for one in weights}
    rounds = 16 * len(domain)
    sigma, epsilon = sqrt(rounds / (2 * 0.9 * rho)), sqrt(8 * 0.1 * rho / rounds)
    noisy = [data.measured(one, sigma) for one in weights if len(one) == 1]
    spent = len(noisy) * 0.5 / sigma**2
    model, last = _fitted(domain, noisy), False
    while not last:
        if rho - spent < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
            left, last = rho - spent, True
            sigma, epsilon = sqrt(1 / (2 * 0.9 * left)), sqrt(8 * 0.1 * left)
        spent += epsilon**2 / 8 + 0.5 / sigma**2
        room, taken = CELLS * spent / rho, [one.margin for one in noisy]
        offered = [
            one for one in weights if model.tree.home(one) is not None or tree_cells(domain, [*taken, one]) <= room
        ]
        scores = [
            weights[one] * (np.abs(exact[one] - model.margin(one)).sum() - sqrt(2 / pi) * sigma * exact[one].size)
            for one in offered
        ]
        best = offered[data.chosen(scores, epsilon, max(weights[one] for one in offered))]
        before = model.margin(best)
        noisy.append(data.measured(best, sigma))
        model = _fitted(domain, noisy, model)
        if np.abs(model.margin(best) - before).sum() <= sigma * sqrt(2 / pi) * before.size:
            sigma, epsilon = sigma / 2, epsilon * 2
    return model.margin


def mst(data: Confidential, wanted: Sequence[Margin]) -> Tables:
    """One-way tables; a spanning tree of pairs, chosen once by how wrong independence is; the pairs of the tree."""
    rho = data.rho
    sigma = sqrt(3 / (2 * rho))
    single = [(name,) for name in data.domain.names]
    first = [data.measured(one, sigma * sqrt(len(single))) for one in single]
    short, noisy, spread = _compressed(data, first)
    alone = _fitted(short.domain, noisy)
    edges = _spanning(short, alone, rho / 3)
    noisy += [short.measured(edge, sigma * sqrt(len(edges))) for edge in edges]
    model = _fitted(short.domain, noisy)

    def table(margin: Margin) -> np.ndarray:
        found = model.margin(margin)
        for axis, name in enumerate(margin):
            found = np.moveaxis(np.tensordot(found, spread[name], axes=(axis, 0)), -1, axis)
        return found

    return table


def _compressed(
    data: Confidential, first: list[NoisyTable]
) -> tuple[Confidential, list[NoisyTable], dict[str, np.ndarray]]:
    """Values that do not stand out of their noise become one. ``spread``: what each stands for, in equal parts."""
    attributes, noisy, spread, codes = [], [], {}, data.codes.copy()
    for one in first:
        (name,) = one.margin
        kept = one.counts >= 3 * sqrt(one.variance)
        rest = int((~kept).sum())
        size = int(kept.sum()) + (rest > 0)
        renamed = np.where(kept, np.cumsum(kept) - 1, size - 1)
        column = data.domain.position(name)
        codes[:, column] = renamed[data.codes[:, column]]
        attributes.append(Attribute(name, tuple(map(str, range(size)))))
        back = np.zeros((size, len(kept)))
        back[renamed, np.arange(len(kept))] = 1.0
        spread[name] = back / back.sum(axis=1, keepdims=True)
        # Summed counts have more noise: the repository weighs them so too. Here every value gets the kept one's weight.
        noisy.append(NoisyTable((name,), back @ one.counts, one.variance))
    return Confidential(Domain(tuple(attributes)), codes, data.rho, data.random), noisy, spread


def _spanning(data: Confidential, alone: GraphicalModel, rho: float) -> list[Margin]:
    pairs = list(combinations(data.domain.names, 2))
    wrong = {pair: float(np.abs(data.counts(pair) - alone.margin(pair)).sum()) for pair in pairs}
    part = {name: name for name in data.domain.names}
    epsilon, edges = sqrt(8 * rho / max(1, len(part) - 1)), []
    for _ in range(len(part) - 1):
        offered = [(one, two) for one, two in pairs if part[one] != part[two]]
        edge = offered[data.chosen([wrong[pair] for pair in offered], epsilon, 1.0)]
        edges.append(edge)
        old, new = part[edge[0]], part[edge[1]]
        part = {name: new if own == old else own for name, own in part.items()}
    return edges


def mwem(data: Confidential, wanted: Sequence[Margin]) -> Tables:
    """As many rounds as attributes, all alike: the worst wanted table is chosen and measured. It is told how many
    records there are."""
    domain, rounds = data.domain, len(data.domain)
    share = data.rho / rounds
    sigma, epsilon = sqrt(0.5 / (0.9 * share)), sqrt(8 * 0.1 * share)
    exact = {one: data.counts(one) for one in wanted}
    noisy: list[NoisyTable] = []
    total = float(len(data.codes))
    model = fit(domain, [], total=total)
    for at in range(rounds):
        taken = [one.margin for one in noisy]
        offered = [one for one in wanted if tree_cells(domain, [*taken, one]) <= CELLS * (at + 1) / rounds]
        scores = [float(np.abs(exact[one] - model.margin(one)).sum()) - exact[one].size for one in offered]
        noisy.append(data.measured(offered[data.chosen(scores, epsilon, 1.0)], sigma))
        model = fit(domain, noisy, total=total, start=model, smoothing=_SMOOTHING, tolerance=_TOLERANCE)
    return model.margin
