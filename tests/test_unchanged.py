"""What a seed gives never changes by accident: measurements and published tables of bundled data, digested.

``python -m tests.test_unchanged`` prints the digests of measurements under every kind of plan; with ``--published``
those of the published tables as well, to compare two states of the program, and with ``--tables`` those of the whole
tables that every method of non-negativity and rounding publishes.
"""

import json
import sys
import tomllib
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

import margrave as mg

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parent / "golden" / "unchanged.json"
KEPT_TABLES = Path(__file__).parent / "golden" / "unchanged_tables.json"

STRATEGIES = ("auto", "residual", "fourier", "efron-stein", "margins", "base")
BUDGETS = ({"epsilon": "0.7"}, {"epsilon": "1.3", "delta": "1e-6"}, {"rho": "0.05"})
FACTS = {
    "czech": [["smoke"], ["mental", "family"]],
    "fungus": [["locus_a", "locus_b"], ["locus_c"]],
    "rochdale": [["wife_active"], ["asian", "young_child"]],
    "journey": [[]],
}
NAMES = tuple(FACTS)
METHODS = ("auto", "least-squares", "linear-program", "simple")
QUICK_RECORDS = ("fungus", "rochdale")
"""Data so small that records are fitted to it in a second."""


def cases():
    """The name and settings of every case."""
    for name in NAMES:
        for strategy in STRATEGIES:
            for budget in BUDGETS:
                yield name, strategy, budget, {}
        for budget in BUDGETS[::2]:
            yield name, "auto", budget | {"neighbours": "replace"}, {}
            yield name, "residual", budget | {"neighbours": "replace"}, {}
            yield name, "auto", budget, {"sensitive": 1}
            yield name, "auto", budget, {"public": FACTS[name]}


@cache
def example(name):
    """A bundled spec without its data, and one row for each of its records."""
    path = mg.examples.path(name)
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    counted = pd.read_csv(path.parent / document.pop("data")["source"], dtype=str)
    times = counted.pop("count").astype(int)
    return document, counted.loc[counted.index.repeat(times)].reset_index(drop=True)


def released(name, strategy, budget, more):
    """A seeded release of a case."""
    document, records = example(name)
    release = document["release"] | {"strategy": strategy}
    privacy = dict(budget)
    if "sensitive" in more:
        release["sensitive"] = [next(iter(document["attributes"]))]
    if "public" in more:
        release["public"] = more["public"]
    settings = {**document, "release": release, "privacy": privacy}
    return mg.release(mg.Spec.load(settings), records, seed=f"{name} {strategy}")


def digests(published=False):
    found = {}
    for name, strategy, budget, more in cases():
        case = json.dumps([name, strategy, budget, more])
        out = released(name, strategy, budget, more)
        numbers = sha256()
        for answer in out.measured.answers:
            numbers.update(answer.outputs.astype("<i8").tobytes())
        for margin in sorted(out.measured.exact):
            numbers.update(out.measured.exact[margin].astype("<i8").tobytes())
        found[case] = numbers.hexdigest()[:16]
        if published:
            tables = sha256()
            for margin in out.plan.spec.margins:
                tables.update(out.published(margin).tobytes())
            found[case] += " " + tables.hexdigest()[:16]
    return found


UNSTEADY = "journey", True, "auto"
"""Here two fits are so near to each other that sums in another order, by more or fewer threads, round a cell
differently."""


def table_cases():
    """The name, budget and settings of [release] of every case of published whole tables."""
    for name in NAMES:
        methods = (*METHODS, "records") if name in QUICK_RECORDS else METHODS
        for budget in BUDGETS[::2]:
            for method in methods:
                if (name, "rho" in budget, method) != UNSTEADY:
                    yield name, budget, {"nonnegative": method}
        budget, rounded = BUDGETS[0], {"nonnegative": "least-squares", "rounding": "nearest"}
        yield name, budget, rounded
        yield name, budget, {"strategy": "base"}
        yield name, budget, {"strategy": "fourier", "nonnegative": "least-squares"}
        yield name, budget, {"public": FACTS[name]}
        yield name, budget | {"neighbours": "replace"}, {"nonnegative": "least-squares"}
    yield "many cells", BUDGETS[2], {}
    yield "wide", BUDGETS[2], {}


@cache
def made(name):
    """A spec and records that are made up: tables larger than those of the bundled data."""
    sizes = {"many cells": (5,) * 5, "wide": (2,) * 15}[name]
    names = [f"a{at}" for at in range(len(sizes))]
    rows = [
        [str((7 * row + row * row * (at + 1) // 90) % (1 + row % size)) for at, size in enumerate(sizes)]
        for row in range(600)
    ]
    attributes = {one: {"values": [str(code) for code in range(size)]} for one, size in zip(names, sizes, strict=True)}
    wanted = {"tables": [names]} if name == "wide" else {"all": 2}
    return {"attributes": attributes, "release": wanted}, pd.DataFrame(rows, columns=names)


@cache
def planned(name, privacy, release):
    """A plan of a case; of those that differ in the method of non-negativity alone, made once."""
    document = (example if name in NAMES else made)(name)[0]
    wanted = document["release"] | json.loads(release)
    return mg.plan(mg.Spec.load({**document, "release": wanted, "privacy": json.loads(privacy)}))


def table_digests():
    found = {}
    for name, budget, release in table_cases():
        settings = {key: value for key, value in release.items() if key != "nonnegative"}
        plan = planned(name, json.dumps(budget), json.dumps(settings))
        plan = replace(plan, spec=replace(plan.spec, nonnegative=release.get("nonnegative", "auto")))
        out = mg.release(plan, (example if name in NAMES else made)(name)[1], seed=f"{name} tables")
        tables = sha256()
        for margin in out.plan.spec.margins:
            tables.update(out.published(margin).astype("<i8", casting="safe").tobytes())
        found[json.dumps([name, budget, release])] = tables.hexdigest()[:16]
    return found


def test_the_published_whole_tables_of_a_seed_are_what_they_were():
    assert table_digests() == json.loads(KEPT_TABLES.read_text(encoding="utf-8"))


def test_the_measurements_of_a_seed_are_what_they_were():
    assert digests() == json.loads(KEPT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    print(json.dumps(table_digests() if "--tables" in sys.argv else digests("--published" in sys.argv), indent=0))
