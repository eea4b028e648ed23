"""The protocol in memory: its counts, its noise, and all that a naive version would give away."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from margrave.crossing import People
from margrave.errors import RefusedError, UsageError
from margrave.join import curve, protocol
from margrave.join.batches import check_distinct, check_order, in_order, matches
from margrave.join.protocol import Masked, Offer, Reply
from margrave.noise import Generator, TruncatedLaplace

KEY = b"k" * 32
NOISE = TruncatedLaplace(Fraction(1), 2)
PRIME = 2**255 - 19


def members(pairs):
    return People([one.encode() for one, _ in pairs], np.array([category for _, category in pairs], dtype=np.int64))


def drawn(generator, rows, columns, padding=None, noise=None):
    added = NOISE.sample(rows * columns, generator).reshape(rows, columns) if noise is None else np.array(noise)
    mask, points = (generator.octets(32).tobytes() for _ in range(2))
    found = protocol.padding(NOISE, rows, generator) if padding is None else padding
    return Masked(mask, points, found, tuple(map(tuple, added.tolist())))


def both(first, second, rows=2, columns=2, seed="pair", **second_drawn):
    generator = Generator.seeded(seed)
    mine, theirs = drawn(generator, rows, columns), drawn(generator, columns, rows, **second_drawn)
    theirs = replace(theirs, noise=tuple(map(tuple, np.array(theirs.noise).reshape(rows, columns).tolist())))
    offered = protocol.offer(first, mine, KEY)
    replied = protocol.answer(offered, second, theirs, KEY, NOISE.reach)
    return mine, theirs, offered, replied


def table(first, second, rows, columns):
    found = np.zeros((rows, columns), dtype=np.int64)
    where = dict(zip(second.ids, second.categories, strict=True))
    for one, category in zip(first.ids, first.categories, strict=True):
        if one in where:
            found[category, where[one]] += 1
    return found


@pytest.mark.parametrize(("rows", "columns", "size"), [(1, 1, 5), (2, 3, 40), (4, 1, 30), (3, 2, 0)])
def test_the_counts_are_those_of_the_join_with_the_second_owners_noise(rows, columns, size):
    rng = np.random.default_rng(rows * 10 + columns)
    names = np.array([f"p{number}" for number in range(2 * size)])
    sides = []
    for categories in (rows, columns):
        chosen = rng.permutation(names)[: size + size // 2]
        sides.append(People([str(one).encode() for one in chosen], rng.integers(0, categories, len(chosen))))
    mine, theirs, offered, replied = both(*sides, rows, columns)
    counts = protocol.match(replied, offered, mine.mask, NOISE.reach)
    assert (counts - table(*sides, rows, columns) == np.array(theirs.noise)).all()


def test_every_batch_is_sorted_and_its_size_is_the_padded_one_with_all_dummies():
    first, second = members([("a", 0), ("b", 1), ("c", 1)]), members([("b", 0), ("c", 1), ("d", 1)])
    mine, theirs, offered, replied = both(first, second)
    check_order([*offered.batches, *replied.batches], "it")
    check_order(replied.returned, "it")
    assert [len(one) for one in offered.batches] == [1 + mine.padding[0], 2 + mine.padding[1]]
    dummies = 2 * NOISE.reach * 2
    assert [len(one) for one in replied.batches] == [1 + theirs.padding[0] + dummies, 2 + theirs.padding[1] + dummies]
    assert [len(one) for one in replied.returned] == [len(one) + dummies for one in offered.batches]


def test_the_sizes_of_an_answer_do_not_depend_on_the_noise_in_it():
    first, second = members([("a", 0)]), members([("a", 1)])
    sizes = set()
    for value in (-2, 0, 2):
        *_, replied = both(first, second, noise=[[value, -value], [0, value]], padding=(1, 1))
        sizes.add(tuple(len(one) for one in (*replied.batches, *replied.returned)))
    assert len(sizes) == 1


def test_where_a_point_stands_says_nothing_about_whose_it_is():
    """With positions kept, the first owner would know which of her ids matched: the order of ids must not matter."""
    pairs = [(name, place % 2) for place, name in enumerate("abcdefgh")]
    second = members([(name, 0) for name in "abcd"])
    ways = [both(members(order), second) for order in (pairs, pairs[::-1])]
    for one, other in zip(*((way[2].batches, way[3].returned, way[3].batches) for way in ways), strict=True):
        assert all((x == y).all() for x, y in zip(one, other, strict=True))


def test_nothing_of_two_sessions_is_the_same():
    first, second = members([("a", 0), ("b", 1)]), members([("a", 0), ("b", 1)])
    seen = [both(first, second, seed=seed) for seed in ("one", "two")]
    for pick in (lambda way: way[2].batches, lambda way: way[3].batches, lambda way: way[3].returned):
        one, other = (np.concatenate(pick(way)) for way in seen)
        assert not {row.tobytes() for row in one} & {row.tobytes() for row in other}


def refused_offer(batches, match):
    _, theirs, offered, _ = both(members([("a", 0)]), members([("a", 0)]))
    point = offered.point
    with pytest.raises(RefusedError, match=match):
        protocol.answer(Offer(tuple(batches), point), members([("a", 0)]), theirs, KEY, NOISE.reach)


def honest(number=6):
    return curve.multiply(b"m" * 32, curve.hash_onto([b"%d" % one for one in range(number)], KEY), "it")


def inverse(row):
    """P + (0, 0), whose u-coordinate is 1/u: canonical, on the curve, and equal to P after masking."""
    return np.frombuffer(pow(int.from_bytes(row.tobytes(), "little"), -1, PRIME).to_bytes(32, "little"), np.uint8)


def test_an_unsorted_offer_is_refused():
    refused_offer([in_order(honest())[::-1], honest(0)], "not sorted")


def test_an_offer_with_a_point_twice_in_a_batch_is_refused():
    points = in_order(honest())
    refused_offer([np.repeat(points, 2, axis=0), honest(0)], "twice")


def test_an_offer_with_a_point_in_two_batches_is_refused():
    points = in_order(honest())
    refused_offer([points, points[:1]], "twice")


def test_an_offer_with_a_point_that_is_another_until_it_is_masked_is_refused():
    points = in_order(honest())
    refused_offer([points, inverse(points[0]).reshape(1, 32)], "twice")


def test_an_offer_of_points_that_are_none_is_refused():
    off = np.zeros((1, 32), dtype=np.uint8)
    refused_offer([off, honest(0)], "no point")
    high = in_order(honest())[:1].copy()
    high[0, 31] |= 128
    refused_offer([high, honest(0)], "not canonical")


def test_an_offer_whose_public_point_is_none_is_refused():
    _, theirs, offered, _ = both(members([("a", 0)]), members([("a", 0)]))
    with pytest.raises(RefusedError, match=r"no point|small order"):
        protocol.answer(Offer(offered.batches, bytes(32)), members([("a", 0)]), theirs, KEY, NOISE.reach)
    one = (1).to_bytes(32, "little")
    with pytest.raises(RefusedError, match=r"no point|small order"):
        protocol.answer(Offer(offered.batches, one), members([("a", 0)]), theirs, KEY, NOISE.reach)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda reply: replace(reply, returned=(reply.returned[0][:-1], reply.returned[1])), "another number"),
        (lambda reply: replace(reply, returned=(reply.returned[0][::-1], reply.returned[1])), "not sorted"),
        (lambda reply: replace(reply, returned=(reply.returned[0], reply.returned[0])), "twice"),
        (lambda reply: replace(reply, batches=(reply.batches[0][::-1], reply.batches[1])), "not sorted"),
        (lambda reply: replace(reply, batches=(reply.batches[0], reply.batches[0])), "twice"),
        (lambda reply: replace(reply, batches=(reply.batches[0][:3], reply.batches[1])), "fewer points"),
        (
            lambda reply: replace(
                reply, batches=(reply.batches[0], in_order(np.vstack([reply.batches[1], inverse(reply.batches[0][0])])))
            ),
            "twice",
        ),
    ],
)
def test_an_answer_that_no_honest_owner_makes_is_refused(change, match):
    mine, _, offered, replied = both(members([("a", 0), ("b", 1)]), members([("a", 0), ("b", 1)]))
    with pytest.raises(RefusedError, match=match):
        protocol.match(change(replied), offered, mine.mask, NOISE.reach)


def test_somebody_in_two_categories_of_the_own_side_is_refused():
    twice = members([("a", 0), ("a", 1)])
    with pytest.raises(RefusedError, match="twice"):
        protocol.offer(twice, drawn(Generator.seeded(1), 2, 2), KEY)
    with pytest.raises(RefusedError, match="twice"):
        both(members([("a", 0)]), twice)


def test_matches_are_counted_for_each_pair_of_batches():
    rng = np.random.default_rng(5)
    points = rng.integers(0, 256, (60, 20), dtype=np.uint8)
    rows, columns = rng.integers(0, 3, 60), rng.integers(0, 4, 60)
    found = matches([points[rows == one] for one in range(3)], [points[columns == one] for one in range(4)])
    assert (found == np.histogram2d(rows, columns, [range(4), range(5)])[0]).all()
    empty = points[:0]
    assert (matches([empty, empty], [points, empty]) == 0).all()
    check_distinct([points, empty], "it")


def test_padding_is_never_negative_and_reaches_twice_as_far_as_its_noise():
    found = [protocol.padding(NOISE, 2000, Generator.seeded(seed)) for seed in range(2)]
    assert min(map(min, found)) == 0 and max(map(max, found)) == 2 * NOISE.reach


def test_a_mask_has_32_bytes_and_is_never_shown():
    with pytest.raises(UsageError, match="32 bytes"):
        Masked(b"", b"k" * 32, (), ())
    assert "k" * 8 not in repr(Masked(b"k" * 32, b"k" * 32, (1,), ((3,),)))
    assert repr(People([b"ann"], np.array([0]))) == "People()"
    assert Reply((), ()).batches == ()
