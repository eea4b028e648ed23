"""The protocol of two owners, step by step, as functions between values: nothing here reads, writes or draws.

    offer    the first owner masks her ids, a·H(x), and pads each batch with random points
    answer   the second masks his, b·H(y), masks hers again, b·a·H(x), and puts in both the dummies that are his noise
    match    the first masks his again, a·b·H(y), and counts how many points each two batches have in common

H hashes onto the curve with a key of the session, a and b are masks that are used once. What each step reveals is
proved in docs/join.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.crossing import People
from margrave.errors import RefusedError, UsageError
from margrave.join import curve
from margrave.join.batches import Batches, check_distinct, check_order, in_order, matches, tags
from margrave.join.curve import Points
from margrave.join.worker import WIDTH
from margrave.noise import Generator, TruncatedLaplace


@dataclass(frozen=True)
class Masked:
    """What one owner draws for one session, as confidential as data.

    ``mask`` is the scalar a or b, ``points`` the key that padding and dummies are made from, ``padding`` the points
    that are added to each batch, and ``noise`` what is added to each cell: by dummies, or by the one who matches.
    """

    mask: bytes = field(repr=False)
    points: bytes = field(repr=False)
    padding: tuple[int, ...] = field(repr=False)
    noise: tuple[tuple[int, ...], ...] = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.mask) != WIDTH or len(self.points) != WIDTH:
            raise UsageError("a mask and a key have 32 bytes each")


@dataclass(frozen=True, eq=False)
class Offer:
    """The first message: a batch of masked points for each category, and the base point masked."""

    batches: Batches
    point: bytes


@dataclass(frozen=True, eq=False)
class Reply:
    """The second message: a batch for each category of the second owner, and the first owner's batches masked again."""

    batches: Batches
    returned: Batches


def padding(noise: TruncatedLaplace, categories: int, generator: Generator) -> tuple[int, ...]:
    """How many points to add to each batch: never fewer than none, for the noise is moved up by all that it reaches."""
    return tuple(int(one) + noise.reach for one in noise.sample(categories, generator))


def offer(members: People, drawn: Masked, key: bytes) -> Offer:
    """Mask the ids, pad, sort."""
    points = Generator(drawn.points)
    own = _masked(members, drawn, key)
    batches = [_with(one, _random(points, extra)) for one, extra in zip(own, drawn.padding, strict=True)]
    check_distinct(batches, "what is to be sent")
    return Offer(tuple(map(in_order, batches)), curve.multiples(drawn.mask).tobytes())


def answer(offered: Offer, members: People, drawn: Masked, key: bytes, reach: int) -> Reply:
    """Mask the other's ids a second time, and reply."""
    return reply(offered, masked_again(offered, drawn.mask), members, drawn, key, reach)


def masked_again(offered: Offer, mask: bytes) -> list[Points]:
    """The points of an offer, masked a second time. All that can be wrong with it is found here, without data."""
    check_offer(offered)
    return _again(mask, offered.batches, "the offer")


def reply(offered: Offer, again: Sequence[Points], members: People, drawn: Masked, key: bytes, reach: int) -> Reply:
    """Mask the own ids; put in the dummies, there and into the points that were masked ``again``.

    For each pair of categories 2·``reach`` dummies go into either batch, of which reach + noise match.
    """
    returned = list(again)
    own = _masked(members, drawn, key)
    points = Generator(drawn.points)
    own = [_with(one, _random(points, extra)) for one, extra in zip(own, drawn.padding, strict=True)]
    for row, column in np.ndindex(len(returned), len(own)):
        both = reach + drawn.noise[row][column]
        alone = 2 * reach - both
        scalars = points.octets(WIDTH * both).tobytes()
        own[column] = _with(own[column], curve.multiples(scalars), _random(points, alone))
        returned[row] = _with(returned[row], curve.multiples(scalars, offered.point), _random(points, alone))
    check_distinct(own, "what is to be sent")
    return Reply(tuple(map(in_order, own)), tuple(in_order(tags(one)) for one in returned))


def match(replied: Reply, offered: Offer, mask: bytes, reach: int) -> Integers:
    """The counts of matched ids in each pair of categories, with the second owner's noise."""
    check_reply(replied, offered, reach)
    masked = _again(mask, replied.batches, "the answer")
    return matches(replied.returned, [tags(one) for one in masked]) - reach


def check_offer(offered: Offer) -> None:
    """Refuse an offer that no honest owner makes."""
    curve.check_points(curve.as_points(offered.point), "the offer")
    for batch in offered.batches:
        curve.check_points(batch, "the offer")
    check_order(offered.batches, "the offer")
    check_distinct(offered.batches, "the offer")


def check_reply(replied: Reply, offered: Offer, reach: int) -> None:
    """Refuse an answer that no honest owner makes."""
    for batch in replied.batches:
        curve.check_points(batch, "the answer")
    for batches in (replied.batches, replied.returned):
        check_order(batches, "the answer")
        check_distinct(batches, "the answer")
    dummies = 2 * reach * len(replied.batches)
    if [len(one) for one in replied.returned] != [len(one) + dummies for one in offered.batches]:
        raise RefusedError("the answer returns another number of points than it was sent: it was not made by Margrave")
    if any(len(one) < 2 * reach * len(offered.batches) for one in replied.batches):
        raise RefusedError("the answer has fewer points than its dummies alone: it was not made by Margrave")


def _masked(members: People, drawn: Masked, key: bytes) -> list[Points]:
    ids = members.batches(len(drawn.padding))
    hashed = curve.hash_onto([one for part in ids for one in part], key)
    found = curve.multiply(drawn.mask, hashed, "the own data")
    return np.split(found, np.cumsum([len(part) for part in ids])[:-1])


def _again(mask: bytes, batches: Batches, what: str) -> list[Points]:
    """Points of the other side, masked. Different points may have one product: P and P + (0, 0) do."""
    found = curve.multiply(mask, np.concatenate(batches), what)
    check_distinct([found], what)
    return np.split(found, np.cumsum([len(one) for one in batches])[:-1])


def _random(points: Generator, number: int) -> Points:
    """Points that nobody can tell from masked ids: multiples of the base point, which lie in the large subgroup."""
    return curve.multiples(points.octets(WIDTH * number).tobytes())


def _with(*parts: Points) -> Points:
    return np.concatenate(parts)
