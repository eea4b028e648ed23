"""Local collections beside multi-freq-ldpy and pure-ldp, in one run: shares of one attribute, and of all pairs.

Run with: .venv-peers/bin/python benchmarks/peers_local.py [--seeds N]     (make bench-peers sets the environment up)

One-way: root mean squared error of the shares of one attribute, 20,000 respondents, and how much larger the squared
error of a peer is, with its standard error over the seeds. Pairs: mean L1/n over all pairs of six yes/no questions, and
how many times Margrave's it is, ten seeds at most; peers ask for one pair each, by each of their oracles on its cells.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations

import numpy as np
from multi_freq_ldpy.estimators.Histogram_estimator import IBU, MI
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_IBU, SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

from machine import header, row
from margrave.local.simulate import simulate
from margrave.noise import Generator
from margrave.planning.local.cells import CellMechanism
from margrave.planning.local.plan import make_local_plan
from margrave.planning.local.spec import LocalSpec
from margrave.reconstruct.local import LocalFit, publish_local

OURS = "Margrave, published"
SKEWED = np.array([0.35, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.02])
Oracle = Callable[[np.ndarray, int, float], np.ndarray]


def multi(client: Callable, server: Callable) -> Oracle:
    def run(values: np.ndarray, size: int, epsilon: float) -> np.ndarray:
        reports = [client(int(value), size, epsilon) for value in values]
        return np.asarray(server(reports, size, epsilon))

    return run


def pure(client: Callable, server: Callable, **more: object) -> Oracle:
    def run(values: np.ndarray, size: int, epsilon: float) -> np.ndarray:
        device, collector = client(epsilon, size, **more), server(epsilon, size, **more)
        for value in values:
            collector.aggregate(device.privatise(int(value) + 1))
        return np.asarray(collector.estimate_all(range(1, size + 1), suppress_warnings=True)) / len(values)

    return run


ORACLES: dict[str, Oracle] = {
    "multi-freq-ldpy, GRR": multi(GRR_Client, GRR_Aggregator_MI),
    "multi-freq-ldpy, subset selection": multi(SS_Client, SS_Aggregator_MI),
    "multi-freq-ldpy, subset selection, IBU": multi(SS_Client, SS_Aggregator_IBU),
    "multi-freq-ldpy, OUE": multi(UE_Client, lambda reports, size, epsilon: UE_Aggregator_MI(reports, epsilon)),
    "pure-ldp, direct encoding": pure(DEClient, DEServer),
    "pure-ldp, OUE": pure(UEClient, UEServer, use_oue=True),
}


def local_spec(sizes: list[int], width: int, count: int, epsilon: float) -> LocalSpec:
    names = [f"a{axis}" for axis in range(len(sizes))]
    attributes = {name: [str(v) for v in range(k)] for name, k in zip(names, sizes, strict=True)}
    tables = [list(margin) for margin in combinations(names, width)]
    document = {"attributes": attributes, "release": {"tables": tables}, "privacy": {"epsilon": str(epsilon)}}
    return LocalSpec.load(document | {"local": {"expected_size": count}})


def one_way(seeds: int, epsilon: float, shares: np.ndarray) -> None:
    """Squared errors of all; on Margrave's own reports, with the same noise, those of multi-freq-ldpy's estimators."""
    count, size = 20_000, len(shares)
    plan = make_local_plan(local_spec([size], 1, count, epsilon))
    one, errors = plan.questions[0].mechanism, defaultdict[str, list[float]](list)
    for seed in range(seeds):
        people = np.random.default_rng(seed).choice(size, count, p=shares)
        own = np.bincount(people, minlength=size) / count
        collected = simulate(plan, people[:, np.newaxis], Generator.seeded(f"one {seed}"))
        published = publish_local(plan, LocalFit.of(plan, collected), "peers")
        assert published is not None
        told = {OURS: published.margin(("a0",)) / count}
        if isinstance(one, CellMechanism):
            seen, chances = one.supported(collected.tallies[0]).astype(float), tuple(map(float, one.support))
            matrix = np.where(np.eye(size) == 1, chances[0], chances[1])
            told["its reports, multi-freq-ldpy's MI"] = MI(seen, count, *chances)
            told["its reports, multi-freq-ldpy's IBU"] = IBU(size, matrix, seen / seen.sum(), 10_000, 1e-12, "max_abs")
        told |= {name: oracle(people, size, epsilon) for name, oracle in ORACLES.items()}
        for name, found in told.items():
            errors[name].append(float(((found - own) ** 2).mean()))
    print(
        header(f"one attribute of {size} values, ε = {epsilon:g}", "RMSE of a share", "squared error beside Margrave's")
    )
    for name, squares in errors.items():
        apart = (np.array(squares) - errors[OURS]) / np.mean(errors[OURS])
        beside = f"{apart.mean():+.1%} ± {apart.std(ddof=1) / np.sqrt(seeds):.1%}"
        print(row(name, f"{np.sqrt(np.mean(squares)):.5f}", "" if name == OURS else beside))
    print(f"\n{seeds} seeds; mechanism of the plan: {one.name}.\n")


def pairs(seeds: int) -> None:
    count, width = 20_000, 6
    spec = local_spec([2] * width, 2, count, 1.0)
    plan, losses = make_local_plan(spec), defaultdict[str, list[float]](list)
    for seed in range(seeds):
        errors = defaultdict[str, list[float]](list)
        generator = np.random.default_rng(100 + seed)
        kinds = generator.choice(3, count, p=[0.5, 0.3, 0.2])
        people = (generator.random((count, width)) < np.array([0.1, 0.4, 0.8])[kinds][:, np.newaxis]).astype(int)
        fit = LocalFit.of(plan, simulate(plan, people, Generator.seeded(f"pairs {seed}")))
        published = publish_local(plan, fit, "peers")
        assert published is not None
        drawn = generator.integers(0, len(spec.margins), count)
        for number, margin in enumerate(spec.margins):
            axes = [spec.domain.position(name) for name in margin]
            cells = people[:, axes] @ [2, 1]
            own = np.bincount(cells, minlength=4) / count
            told = published.margin(margin).ravel() / count
            errors[OURS].append(float(np.abs(told - own).sum()))
            for name, oracle in ORACLES.items():
                errors[name].append(float(np.abs(oracle(cells[drawn == number], 4, 1.0) - own).sum()))
        for name, found in errors.items():
            losses[name].append(float(np.mean(found)))
    print(header("all pairs of six yes/no questions, ε = 1", "mean L1/n", "times Margrave's"))
    for name, found in losses.items():
        ratios = np.array(found) / losses[OURS]
        beside = f"{np.mean(found) / np.mean(losses[OURS]):.2f} (each seed: {ratios.min():.2f} to {ratios.max():.2f})"
        print(row(name, f"{np.mean(found):.4f}", "" if name == OURS else beside))
    print(f"\n{seeds} seeds.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=40)
    given = parser.parse_args()
    one_way(given.seeds, 1.0, SKEWED)
    one_way(given.seeds, 1.0, np.array([0.8, 0.2]))
    one_way(given.seeds, 3.0, SKEWED)
    pairs(min(given.seeds, 10))


if __name__ == "__main__":
    main()
