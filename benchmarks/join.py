"""Joins of generated ids in memory: processor time of each side, bytes sent, memory, and the error of a cell.

    python benchmarks/join.py [ids ...]

Each side has as many ids, half of them common, in 4 × 4 categories (8 × 8 from 100,000 ids on), ε = 0.5 for a cell and
0.1 for sizes, each δ = 1e-9. Processor time is that of all processes of a side; the two sides run one after the other
in one program, whose peak memory is that of both. Where openmined-psi is installed, it finds the exact size of the
intersection of the same ids, which it reveals, without categories and without noise.
"""

from __future__ import annotations

import resource
import sys
import time
from fractions import Fraction

import numpy as np

from machine import header, peak, row
from margrave.budget.units import ApproxDP
from margrave.crossing import People
from margrave.join import protocol
from margrave.join.helped import common
from margrave.join.protocol import Masked
from margrave.noise import DiscreteLaplace, Generator
from margrave.planning.join.noise import PairNoise

KEY = b"k" * 32
NOISE = PairNoise.of(Fraction(2), Fraction(1, 10**9), ApproxDP(Fraction(1, 10), Fraction(1, 10**9)))
SESSIONS = 90


def processor() -> float:
    """Seconds that this program and the processes it started and ended have taken."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def members(first: int, number: int, categories: int, seed: int) -> People:
    rng = np.random.default_rng(seed)
    return People([b"%012d" % one for one in range(first, first + number)], rng.integers(0, categories, number))


def drawn(noise: PairNoise, categories: int, generator: Generator) -> Masked:
    mask, points = (generator.octets(32).tobytes() for _ in range(2))
    added = noise.second.sample(categories**2, generator).reshape(categories, categories).tolist()
    return Masked(mask, points, protocol.padding(noise.sizes, categories, generator), tuple(map(tuple, added)))


def join(number: int, categories: int) -> tuple[str, ...]:
    """One session: ids, categories, seconds of each side, bytes a row with and without dummies, wall time, memory."""
    generator, reach = Generator.system(), NOISE.second.reach
    sides = members(0, number, categories, 1), members(number // 2, number, categories, 2)
    mine, theirs = (drawn(NOISE, categories, generator) for _ in range(2))
    start, times = time.monotonic(), [processor()]
    offered = protocol.offer(sides[0], mine, KEY)
    times.append(processor())
    replied = protocol.answer(offered, sides[1], theirs, KEY, reach)
    times.append(processor())
    counts = protocol.match(replied, offered, mine.mask, reach) - np.array(theirs.noise)
    times.append(processor())
    wall = time.monotonic() - start
    same = slice(number // 2, number), slice(0, number - number // 2)
    exact = np.zeros((categories, categories), dtype=np.int64)
    np.add.at(exact, (sides[0].categories[same[0]], sides[1].categories[same[1]]), 1)
    if (counts != exact).any():
        raise SystemExit("the join is wrong")
    sent = 32 * sum(map(len, (*offered.batches, *replied.batches))) + 20 * sum(map(len, replied.returned))
    extra = 52 * sum(mine.padding) + 32 * sum(theirs.padding) + 52 * 2 * reach * categories**2
    first, second = times[1] - times[0] + times[3] - times[2], times[2] - times[1]
    seconds = f"{first:.1f} s", f"{second:.1f} s", f"{wall:.1f} s"
    sizes = f"{(sent - extra) / (2 * number):.1f}", f"{sent / (2 * number):.1f}"
    return f"{number:,}", f"{categories} × {categories}", *seconds, *sizes, f"{peak() / 2**20:.0f} MiB"


def errors() -> None:
    """The root mean squared error of a cell over many sessions, with two noises and with a helper's one."""
    noise = PairNoise.of(Fraction(1, 2), Fraction(1, 10**6), ApproxDP(Fraction(2), Fraction(1, 10**6)))
    generator, categories = Generator.system(), 8
    sides = members(0, 100, categories, 3), members(50, 100, categories, 4)
    found, helped = [], []
    lists = [tuple(_rows(batch) for batch in side.batches(categories)) for side in sides]
    exact = common(lists)
    for _ in range(SESSIONS):
        mine, theirs = (drawn(noise, categories, generator) for _ in range(2))
        offered = protocol.offer(sides[0], mine, KEY)
        replied = protocol.answer(offered, sides[1], theirs, KEY, noise.second.reach)
        counts = protocol.match(replied, offered, mine.mask, noise.second.reach)
        published = counts + noise.first.sample(categories**2, generator).reshape(counts.shape)
        found.append((published - exact).reshape(-1))
    for _ in range(20 * SESSIONS):
        added = DiscreteLaplace(noise.first.scale).sample(categories**2, generator).reshape(exact.shape)
        helped.append((common(lists) + added - exact).reshape(-1))
    print(f"\n{header('error of a cell', 'cells seen', 'RMSE', 'by theory', 'ratio')}")
    for name, seen, theory in (
        ("two owners", found, noise.published.variance),
        ("a helper", helped, DiscreteLaplace(noise.first.scale).variance),
    ):
        cells = np.concatenate(seen)
        measured = float(np.sqrt(np.mean(np.square(cells))))
        print(
            row(name, f"{len(cells):,}", f"{measured:.4f}", f"{theory**0.5:.4f}", f"{measured / theory**0.5:.4f}"),
            flush=True,
        )


def _rows(ids: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(one.rjust(32) for one in ids), dtype=np.uint8).reshape(-1, 32)


def orientation(number: int) -> None:
    """openmined-psi on the same ids, both sides together, and the exact size that it reveals."""
    try:
        from private_set_intersection.python import DataStructure, client, server
    except ImportError:
        print("\nopenmined-psi is not installed.")
        return
    ids = [f"{one:012d}" for one in range(number)], [f"{one + number // 2:012d}" for one in range(number)]
    start = processor()
    asking, serving = client.CreateWithNewKey(False), server.CreateWithNewKey(False)
    setup = serving.CreateSetupMessage(1e-9, number, ids[1], DataStructure.GCS)
    reply = serving.ProcessRequest(asking.CreateRequest(ids[0]))
    size = asking.GetIntersectionSize(setup, reply)
    print(f"\nopenmined-psi, {number:,} ids: {processor() - start:.1f} s both sides together; it reveals {size:,}.")


def main(sizes: list[int]) -> None:
    names = "ids a side", "categories", "first", "second", "both, by the clock", "bytes a row", "with dummies", "memory"
    print(header(*names))
    for number in sizes:
        print(row(*join(number, 8 if number >= 100_000 else 4)), flush=True)
    errors()
    orientation(sizes[0])


if __name__ == "__main__":
    main([int(one) for one in sys.argv[1:]] or [15_000, 100_000])
