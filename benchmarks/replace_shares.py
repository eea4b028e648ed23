"""What the best shares for replaced records would gain under ρ, beside the plans that Margrave makes.

    python benchmarks/replace_shares.py

If one record is replaced, and D are the attributes in which it changes, a residual T with the share ρ_T (its cost for
a record that is added) costs ρ_T·c_T(D), c_T(D) = 2(1 − ∏_{j∈T∩D} −1/(k_j − 1)), or nothing where T and D have
nothing in common (docs/mathematics.md, Theorem 4). The plan costs the most over D. So the least of Σ a_T/ρ_T with a
cost of ρ is the largest value, over weights λ on all D, of (Σ_T √(a_T C_T))²/ρ with C_T = Σ_D λ_D c_T(D): a concave
problem. λ is multiplied by its gradient until the bounds agree within 10⁻⁷. Printed is the root mean squared error of
an unbiased cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod, sqrt

import numpy as np

import margrave as mg
from margrave.algebra.domain import Domain, Margin
from margrave.budget.units import ZCDP
from margrave.planning.strategies.demand import Demand
from margrave.spec.spec import Spec

RHO = Fraction(1, 10)
ROUNDS = 20_000
DRAWN = {
    "pairs of 8 binary": ([2] * 8, 2),
    "pairs of 5 of 4 values": ([4] * 5, 2),
    "triples of 6 binary": ([2] * 6, 3),
    "pairs of 2, 3, 4, 8, 16": ([2, 3, 4, 8, 16], 2),
}


def factor(domain: Domain, margin: Margin, changed: tuple[int, ...]) -> float:
    inside = [domain[name].size for name in margin if changed[domain.names.index(name)]]
    return 2 * (1 - prod(-1 / (size - 1) for size in inside)) if inside else 0.0


def optimum(domain: Domain, wanted: tuple[Margin, ...]) -> float:
    """The root mean squared error with the best shares."""
    problem = Demand(domain, dict.fromkeys(wanted, 1.0), gaussian=True, known=((),))
    weights = problem.residual_weights(problem.cell_weights)
    units = np.array([weights[one] * prod((k - 1) / k for k in domain.shape(one)) / 2 for one in weights])
    every = [changed for changed in product((0, 1), repeat=len(domain.names)) if any(changed)]
    costs = np.array([[factor(domain, margin, changed) for margin in weights] for changed in every])
    mixed = np.full(len(every), 1 / len(every))
    for _ in range(ROUNDS):
        slope = costs @ np.sqrt(units / (mixed @ costs))
        value = float(mixed @ slope)
        if slope.max() <= value * (1 + 1e-7):
            break
        mixed = mixed * slope / value
    shares = np.sqrt(units / (mixed @ costs))
    return sqrt(float((units / shares).sum() * (costs @ shares).max() / float(RHO)))


def specs() -> Iterator[tuple[str, Spec]]:
    for name in mg.examples.names():
        spec = Spec.load(mg.examples.path(name))
        yield name, replace(spec, budget=ZCDP(RHO), neighbours="replace")
    for name, (sizes, ways) in DRAWN.items():
        attributes = {f"a{at}": {"range": [0, size - 1]} for at, size in enumerate(sizes)}
        tables = [list(margin) for margin in combinations(attributes, ways)]
        privacy = {"rho": str(float(RHO)), "neighbours": "replace"}
        yield name, Spec.load({"attributes": attributes, "release": {"tables": tables}, "privacy": privacy})


def main() -> None:
    print("| tables | strategy | plan | best shares | gain |\n|---|---|---|---|---|")
    for name, spec in specs():
        plan, best = mg.plan(spec), optimum(spec.domain, spec.margins)
        print(f"| {name} | {plan.strategy} | {plan.rmse:.3f} | {best:.3f} | {1 - best / plan.rmse:.1%} |")


if __name__ == "__main__":
    main()
