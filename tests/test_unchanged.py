"""What a seed gives never changes by accident: the measurements of bundled data under every kind of plan, digested.

``python -m tests.test_unchanged`` prints the digests; with ``--published`` those of the published tables as well, which
hold for one machine only, because floating point differs between processors: to compare two states of the program.
"""

import json
import sys
import tomllib
from functools import cache
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

import margrave as mg

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parent / "golden" / "unchanged.json"

STRATEGIES = ("auto", "residual", "fourier", "efron-stein", "margins", "base")
BUDGETS = ({"epsilon": "0.7"}, {"epsilon": "1.3", "delta": "1e-6"}, {"rho": "0.05"})
FACTS = {
    "czech": [["smoke"], ["mental", "family"]],
    "fungus": [["locus_a", "locus_b"], ["locus_c"]],
    "rochdale": [["wife_active"], ["asian", "young_child"]],
    "journey": [[]],
}
NAMES = tuple(FACTS)


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


@pytest.mark.slow
def test_the_measurements_of_a_seed_are_what_they_were():
    assert digests() == json.loads(KEPT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    print(json.dumps(digests("--published" in sys.argv), indent=0))
