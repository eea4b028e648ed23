"""What each form of words, report and error bars looks like is pinned: another output needs another number."""

from hashlib import sha256

import numpy as np
import pytest

import margrave as mg
from margrave.publish.bundle.forms import FORMS, Forms
from margrave.publish.bundle.manifest import guarantee_json
from margrave.publish.bundle.words import composition
from margrave.publish.report.page import report_html
from tests.publish.test_every_field import FACTS, LEDGER
from tests.shapes import frame_of

pytestmark = pytest.mark.slow

PINNED = {
    "words": {
        1: "2da9187115d002a2560179bf44d30027e6ff5edf6f6e0502e8456e2675d8ba2b",
        2: "6d7e2d09b5da638838b7c11bd515090a537a600ce17c688867113ad8ba1e1df3",
    },
    "report": {
        1: "1c88f698ae735450d4c0d1dc273c7875d6f0469e1b0fb9b3acf99a9e6050c6d2",
        2: "1acee2bb0a78dbc5db91ecc3d63299c79c0edc433b053b18109a5393c76e2cd9",
        3: "c06d0f5aeaeee77665d6aa3fb4514907ed9a9deb969cd1f7c424982890e34dbb",
        4: "16e401d073aa8c6c3541981cb21ebd440bceebb30a3865a8803a2cc8a243a3ad",
        5: "e9aa883fdedc5d7ad7b779027793a62d2fbf571cd5c7b2350c1aab084b84f30c",
        6: "1ac6668cb4e3fd2bcf36ac17b058e98680c8901ee1b14fa609bf2f325375021d",
        7: "ddafbaf207c2cf84b6c69f9fa19e3280f541c40e608264f33e11d0fbeb17d1a6",
        8: "0283aa0b052be97ad93db42c6fcd549a73e662eae4547ff5240d0cf65e4a570a",
        9: "db4800c4d8a346b4ded5deb2060631f58446a3e017b8f25d859a29dda928c37c",
        10: "6dfe917b5bc06c4caa5972038f295399f3344d31079f8680ce55b12b0fd83885",
        11: "63a07474f47ddd1996cf115f034f1439282c4e1b3ad35d0d4c83acb0b34fb9bc",
    },
    "bars": {
        # Only half-widths in closed form differ between the first two.
        **dict.fromkeys((1, 2), "71b7ae29ddabbec6a43d46e306da2f0ab70d07e8050ec53effd60f91d098f06c"),
        3: "67122c6c5a95f20812932c94bb5cf34e9440f05b19e12f6b16ddfe3c3d55cfcf",
        4: "46e474493e098379248d3de8bf1644d82763e8a60979320d45cde9ff42a288a4",
        5: "62bbfa42eb6ce352ca6b32db9429a5f73faab1a938c119973b161e0cf5b65136",
        6: "36fadb7a53069f7f0d85214fba69ffefd62e3dae9d40ba9063c8c989217372fa",
        7: "f6126b4f78449964affefb9ba7584b060d8801a2a6f05a6ba32c627c39b0922d",
        8: "f6126b4f78449964affefb9ba7584b060d8801a2a6f05a6ba32c627c39b0922d",
        9: "f6126b4f78449964affefb9ba7584b060d8801a2a6f05a6ba32c627c39b0922d",
    },
}
"""The outputs of each form, as a digest. Past lines stay: bundles of those forms are out there."""


@pytest.fixture(scope="module")
def outs(releases):
    facts = mg.release(FACTS, frame_of(FACTS.domain, np.array([[3, 4], [5, 6]])), seed=1)
    return [*releases.values(), facts]


def words(outs):
    said = [(guarantee_json(one.plan)["words"], guarantee_json(one.plan)["unit"]) for one in outs]
    return repr((said, composition(None), composition(LEDGER)))


def report(outs):
    return "\n".join(report_html(one, "2031-02-03T04:05:06+00:00", "margrave 0") for one in outs)


def bars(outs):
    """In three digits: the others may depend on the processor."""
    simulated = [one for one in outs if one.simulates]
    tables = [one.error_bars(margin) for one in simulated for margin in one.plan.spec.margins]
    return "\n".join(f"{number:.3g}" for table in tables for column in table for number in column)


@pytest.mark.parametrize("part", [words, report, bars])
def test_another_output_has_another_form(outs, part):
    name = part.__name__
    found = sha256(part(outs).encode()).hexdigest()
    assert PINNED[name].get(getattr(FORMS, name)) == found, (
        f"the {name} of a bundle changed: raise FORMS.{name} in margrave/publish/forms.py, so that bundles that were "
        f"written before are not called forged, and add the new number here with {found!r}"
    )


def test_forms_are_whole_numbers():
    for wrong in (-1, True, 1.0, "1"):
        with pytest.raises(ValueError, match="whole number"):
            Forms(words=wrong)
