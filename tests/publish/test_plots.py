"""Pictures of published tables show their numbers and intervals, in the declared order."""

import numpy as np
import pytest

from margrave.errors import UsageError

pytestmark = pytest.mark.slow


def labels(place):
    return [text.get_text() for text in place.get_yticklabels()]


def test_one_attribute_is_bars_with_intervals(releases):
    out = releases["laplace"]
    place = out.plot("age").axes[0]
    assert labels(place) == ["young", "middle", "old"]
    assert [bar.get_width() for bar in place.patches] == out.table("age")["count"].tolist()
    lines = next(one for one in place.containers if hasattr(one, "has_xerr")).lines[2][0].get_segments()
    frame = out.table("age")
    assert np.array([line[:, 0] for line in lines]) == pytest.approx(frame[["low", "high"]].to_numpy(), abs=1e-5)


def test_two_attributes_are_groups_in_the_order_in_which_they_are_named(releases):
    out = releases["laplace"]
    place = out.plot("age", "smoke").axes[0]
    assert labels(place) == ["young", "middle", "old"]
    assert place.get_legend_handles_labels()[1] == ["does not smoke", "smokes"]
    assert labels(out.plot("smoke", "age").axes[0]) == ["does not smoke", "smokes"]


def test_three_attributes_are_small_multiples(releases):
    figure = releases["sensitive"].plot("age", "smoke", "unbiased")
    assert [place.get_title(loc="left") for place in figure.axes] == ["unbiased: a", "unbiased: b"]


def test_nothing_and_too_much_are_refused(releases):
    for names in ((), ("age", "smoke", "unbiased", "age")):
        with pytest.raises(UsageError):
            releases["laplace"].plot(*names)
