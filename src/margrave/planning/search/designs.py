"""Block designs: families of groups such that every few groups meet in some block.

A design of strength t on g points is a list of blocks (sets of points) that contains every t points in some block.
Attributes are dealt to the points and each block becomes one margin, so that a few well chosen margins contain every
table of t attributes.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

Block = tuple[int, ...]

PRIMES = (2, 3, 5, 7, 11)
"""Planes over these have up to 133 points; with more, blocks would be larger than any margin worth counting."""
MORE_POINTS = 5
"""All blocks of t points are tried on up to t + 5 points: beyond, there are more of them than a plan can use."""


MOST_EMPTY, SPARE_POINTS = 2, 4
"""A plane may have twice as many points as attributes, and four: with more, its blocks hold few attributes."""
FEWEST_OF_EIGHT = 6
"""Designs of eight and of ten points are worth trying from so many attributes on."""


def projective_plane(q: int) -> list[Block]:
    """Strength 2, q prime: q²+q+1 points in as many lines of q+1 points."""
    points = [(1, x, y) for x, y in product(range(q), repeat=2)]
    points += [(0, 1, y) for y in range(q)]
    points.append((0, 0, 1))
    return [
        tuple(i for i, p in enumerate(points) if sum(a * b for a, b in zip(p, line, strict=True)) % q == 0)
        for line in points
    ]


def affine_plane(q: int) -> list[Block]:
    """Strength 2, q prime: q² points in q²+q lines of q points."""
    lines = [[(x, (a * x + b) % q) for x in range(q)] for a, b in product(range(q), repeat=2)]
    lines += [[(x, y) for y in range(q)] for x in range(q)]
    return [tuple(x * q + y for x, y in line) for line in lines]


def binary_planes() -> list[Block]:
    """Strength 3: the 14 affine planes of the 8 points of {0,1}³, four points each."""
    return [block for block in combinations(range(8), 4) if block[0] ^ block[1] ^ block[2] ^ block[3] == 0]


def inversive_plane() -> list[Block]:
    """Strength 3: 10 points (the field of 9 elements and infinity) in 30 circles of four points.

    The circles are the images of {infinity, 0, 1, 2} under x → ax + e and x → 1/(ax + e) + f.
    """
    field = [(x, y) for x in range(3) for y in range(3)]
    zero, infinity = (0, 0), (-1, -1)

    def plus(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0]) % 3, (a[1] + b[1]) % 3

    def times(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] * b[0] - a[1] * b[1]) % 3, (a[0] * b[1] + a[1] * b[0]) % 3

    inverse = {x: y for x in field for y in field if times(x, y) == (1, 0)}
    inverse[zero] = infinity
    circles: set[frozenset[tuple[int, int]]] = set()
    for scale, shift in product(field[1:], field):
        line = [plus(times(scale, (i, 0)), shift) for i in range(3)]
        circles.add(frozenset([infinity, *line]))
        image = [zero, *(inverse[x] for x in line)]
        for other in field:
            circles.add(frozenset(x if x == infinity else plus(x, other) for x in image))
    index = {x: i for i, x in enumerate([*field, infinity])}
    return sorted(tuple(sorted(index[x] for x in circle)) for circle in circles)


def designs(strength: int, points: int) -> Iterator[tuple[int, list[Block]]]:
    """(g, blocks) of the given strength with at most about `points` points, few blocks first."""
    for g in range(strength + 1, min(points, strength + MORE_POINTS) + 1):
        yield g, list(combinations(range(g), strength))
    if strength == 2:
        for q in PRIMES:
            for g, plane in ((q * q, affine_plane), (q * q + q + 1, projective_plane)):
                if g <= MOST_EMPTY * points + SPARE_POINTS:
                    yield g, plane(q)
    if strength == 3 and points >= FEWEST_OF_EIGHT:
        yield 8, binary_planes()
        yield 10, inversive_plane()


def deal(weights: Sequence[float], g: int) -> list[int]:
    """The point of each item, when items are dealt to g points, heaviest first, each to the lightest point."""
    loads = [0.0] * g
    where = [0] * len(weights)
    for item in sorted(range(len(weights)), key=lambda i: (-weights[i], i)):
        point = min(range(g), key=lambda p: (loads[p], p))
        where[item] = point
        loads[point] += weights[item]
    return where
