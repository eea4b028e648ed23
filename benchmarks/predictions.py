"""What `margrave plan` predicts of time and memory, beside what a release then takes.

    python benchmarks/predictions.py [name ...]

Each release is a process of its own on generated records. Time is the processor time of everything after the data is
counted: noise, fit, published table, error bars and all wanted tables. Memory is the peak of the whole process. The
ratio is predicted through measured: between 0.5 and 2 it is within a factor of two.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from machine import header, peak, row

RECORDS = 5000


def every(number: int, size: int, ways: int, **release: object) -> dict[str, Any]:
    """All tables of up to so many attributes."""
    privacy = {"rho": "0.1"} if release.pop("gauss", True) else {"epsilon": 1}
    attributes = {f"a{index}": {"range": [0, size - 1]} for index in range(number)}
    return {"attributes": attributes, "release": {"all": ways, **release}, "privacy": privacy}


def base(sizes: list[int], **release: object) -> dict[str, Any]:
    """The one table of all attributes."""
    attributes = {f"a{index}": {"range": [0, size - 1]} for index, size in enumerate(sizes)}
    return {"attributes": attributes, "release": {"tables": [list(attributes)], **release}, "privacy": {"rho": "0.1"}}


PLANS: Mapping[str, Mapping[str, Any]] = {
    "log-linear, 2^6": every(6, 2, 2),
    "log-linear, 2^6, pure": every(6, 2, 2, gauss=False),
    "base table, 4x4x16": base([4, 4, 16]),
    "base table, 8^4": base([8] * 4),
    "base strategy, 2^8": every(8, 2, 2, strategy="base"),
    "entropy, 2^10": every(10, 2, 2),
    "entropy, 4^6": every(6, 4, 2),
    "least squares, 2^12": every(12, 2, 2, nonnegative="least-squares"),
    "entropy, 2^16": every(16, 2, 2),
    "entropy, 10^5": every(5, 10, 2),
    "entropy, 10^6": every(6, 10, 2),
    "records, 8 of 6": every(8, 6, 2, nonnegative="records"),
    "unbiased, 30 of 4": every(30, 4, 3, nonnegative="none"),
    "unbiased, 20 of 10": every(20, 10, 3, nonnegative="none"),
    "unbiased, 50 of 10": every(50, 10, 3, nonnegative="none"),
}
"""Each spec by a name that says what is published of it."""


def one(name: str) -> dict[str, float]:
    """A release of one plan: predicted and measured."""
    import numpy as np
    import pyarrow as pa

    import margrave as mg
    from margrave.measure import run
    from margrave.planning.forecast.prediction import record_seconds
    from margrave.spec.spec import Spec

    plan = mg.plan(Spec.from_dict(PLANS[name]))
    rng = np.random.default_rng(1)
    sizes = {one.name: one.size for one in plan.spec.domain}
    data = pa.table({key: np.minimum(rng.geometric(0.4, RECORDS) - 1, size - 1) for key, size in sizes.items()})
    begun = 0.0
    count = run.count_margins

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal begun
        found = count(*arguments, **options)
        begun = time.process_time()
        return found

    run.count_margins = counted
    out = mg.release(plan, data)
    out.prepare()
    for margin in plan.spec.margins:
        out.numbers(margin)
    seconds = time.process_time() - begun
    predicted = plan.seconds + (record_seconds(plan, RECORDS) if plan.publishing.records else 0)
    return {"seconds": predicted, "memory": plan.memory, "cpu": seconds, "peak": peak()}


def measured(name: str) -> dict[str, float]:
    """The same in a process of its own, with one thread."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--one", name]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(names: list[str]) -> None:
    print(header("plan", "time predicted", "measured", "ratio", "memory predicted", "measured", "ratio"))
    for name in names or PLANS:
        found = measured(name)
        times = (f"{found['seconds']:.2f} s", f"{found['cpu']:.2f} s", f"{found['seconds'] / found['cpu']:.2f}")
        memory = (f"{found['memory'] / 2**20:.0f} MiB", f"{found['peak'] / 2**20:.0f} MiB")
        print(row(name, *times, *memory, f"{found['memory'] / found['peak']:.2f}"), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(sys.argv[2])))
    else:
        main(sys.argv[1:])
