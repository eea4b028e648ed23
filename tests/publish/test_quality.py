"""What a report says of its numbers follows from them; numbers and tables are written as people write them."""

import numpy as np
import pytest

from margrave.errors import UsageError
from margrave.publish.report.cross import Cross, bar_table, cross_table
from margrave.publish.report.html import broken
from margrave.publish.report.quality import Quality
from margrave.publish.report.values import Intervals, Titled, percentage, span, written


def numbers(values, width):
    found = np.array(values, dtype=float)
    return Intervals(found, np.maximum(found - width, 0), found + width)


def quality(values, width, error=None):
    return Quality.of([(numbers(values, width), np.full(len(values), width / 2 if error is None else error))])


@pytest.mark.parametrize(
    ("values", "width", "words"),
    [
        ([1000, 1200, 1300], 20, "close to the truth"),
        ([260, 250, 270], 50, "no fine differences"),
        ([260, 250, 270], 67, "These counts are rough: a typical one is 260, and the truth is within 67 of it"),
        ([5, 6, 7], 30, "too noisy to be used one by one"),
        ([0, 0, 0, 9], 30, "more than half of them are published as 0"),
        ([7, 8], 0, "Every count here is exact"),
    ],
)
def test_the_sentence_follows_from_the_numbers(values, width, words):
    assert words in quality(values, width).sentence(0.95)


def test_exact_and_possibly_empty_cells_are_remarked_on():
    both = Quality.of([(numbers([5, 50], 20), np.array([10, 10])), (numbers([7], 0), np.array([0]))])
    assert (both.cells, both.exact, both.zero) == (3, 1, 1)
    assert [text.split(":")[0] for text in both.remarks()] == [
        "In 1 of 3 cells the interval includes 0",
        "1 of 3 cells are exact, and marked so",
    ]


def test_a_table_is_warned_of_where_most_intervals_include_zero_or_noise_outweighs_counts():
    assert quality([100, 200], 5).warnings() == []
    assert "Most intervals of this table include 0 (2 of 3)" in quality([3, 4, 500], 10).warnings()[0]
    assert quality([3, 400, 500], 10).warnings() == []
    assert "The noise outweighs the counts" in quality([1, 2, 1], 20).warnings()[1]
    assert len(quality([1, 2, 9], 10, error=1).warnings()) == 1


def test_numbers_are_written_as_people_write_them():
    assert written(1234567.2, 50) == "1,234,567"
    assert written(-0.2, 3) == "0"
    assert written(-12.0) == "−12"
    assert written(12.34, 0.4) == "12.3"
    assert percentage(0.12345, 0.02) == "12%"
    assert percentage(0.12345, 0.002) == "12.3%"
    assert span(3, 1200, 40) == "3 to 1,200"


def test_numbers_have_one_shape():
    with pytest.raises(UsageError, match="one shape"):
        Intervals(np.zeros(2), np.zeros(3), np.zeros(2))
    with pytest.raises(UsageError, match="a cell for each two values"):
        Cross(Titled("a", ("x",)), Titled("b", ("y",)), numbers([[1, 2]], 1))


def test_a_cross_table_is_higher_than_wide_and_keeps_the_declared_order():
    cells = numbers([[1, 2, 3]], 1)
    cross = Cross(Titled("a", ("x",)), Titled("b", ("old", "young", "middle")), cells, columns=numbers([1, 2, 3], 1))
    text = cross_table(cross.upright, "caption")
    assert [text.index(label) for label in ("old", "young", "middle")] == sorted(
        text.index(label) for label in ("old", "young", "middle")
    )
    assert text.count("<tr>") == 2 + 3
    assert cross.upright.rows is not None and "All" in text


def test_every_number_of_a_table_has_its_interval_beside_it():
    text = bar_table(Titled("age", ("young", "old")), numbers([40, 3], 5), "caption", shares=numbers([0.93, 0.07], 0.1))
    for words in ("40</b> <small>35 to 45", "3</b> <small>0 to 8", "93%</b> <small>83% to 103%"):
        assert words in text
    assert text.count('class="unsure"') == 2
    assert bar_table(Titled("age", ("young",)), numbers([4], 0), "").count("exact") == 1


def test_long_words_may_be_broken_and_nothing_is_lost():
    assert broken("a & b") == "a &amp; b"
    assert broken("x" * 30).replace("<wbr>", "") == "x" * 30
    assert "<wbr>" in broken("x" * 30)


def test_an_interval_that_leaves_zero_out_is_not_said_to_reach_it():
    assert [span(low, 10.2, 5.0) for low in (0.0, 0.3, 0.49, 0.7)] == ["0 to 10", "1 to 10", "1 to 10", "1 to 10"]
    assert span(0.3, 0.9, 0.3) == "0.3 to 0.9"
    assert span(0.003, 0.5, 0.25, percentage) == "0% to 50%"
