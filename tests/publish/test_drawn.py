"""Noisy answers as a ledger keeps them: exact, bound to their plan and question, of a length that tells nothing."""

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave import pipeline
from margrave.errors import VerificationError
from margrave.files.content import AnswerFile, reader_of, size_of
from margrave.noise import Generator
from margrave.publish.bundle.parts import layout
from margrave.publish.bundle.parts.drawn import drawn_bytes, pack, unpack

QUESTION, OTHER = "1" * 64, "2" * 64
SPEC = {
    "attributes": {"a": ["x", "y"], "b": {"range": [0, 4]}, "c": ["u", "v", "w"]},
    "release": {
        "tables": [["a", "b"], ["b", "c"]],
        "nonnegative": "none",
        "public": [[], ["a"], {"cell": {"b": "0", "c": "w"}}],
    },
    "privacy": {"epsilon": 1},
}


@pytest.fixture(scope="module")
def plan():
    return mg.plan(mg.Spec.from_dict(SPEC))


def measured(plan, rows):
    data = {name: np.random.default_rng(rows).choice(plan.domain[name].values, rows) for name in plan.domain.names}
    return pipeline.run.measure(plan, pd.DataFrame(data), Generator.system(), None)


@pytest.mark.parametrize("most", [layout.MOST_ROWS, 0])
def test_noisy_answers_come_back_as_they_were_drawn(plan, monkeypatch, most):
    monkeypatch.setattr(layout, "MOST_ROWS", most)
    assert plan.exact and plan.cells
    drawn = measured(plan, 50)
    content = pack(plan, QUESTION, drawn)
    assert isinstance(content, bytes if most else AnswerFile)
    again = unpack(plan, QUESTION, content)
    for one, other in zip(drawn.answers, again.answers, strict=True):
        assert one.measurement == other.measurement and one.outputs.dtype == other.outputs.dtype
        np.testing.assert_array_equal(one.outputs, other.outputs)
    assert again.cells == drawn.cells and again.private
    assert all((again.exact[margin] == counts).all() for margin, counts in drawn.exact.items())
    assert again.exact.keys() == drawn.exact.keys()


def test_the_length_does_not_depend_on_the_data(plan):
    sizes = {size_of(pack(plan, QUESTION, measured(plan, rows))) for rows in (1, 10, 5000)}
    assert len(sizes) == 1
    assert 0 < sizes.pop() - drawn_bytes(plan) < 200


@pytest.mark.parametrize("change", [lambda b: b[:-8], lambda b: b + bytes(8), lambda b: b"", lambda b: b"x" + b[1:]])
def test_what_does_not_fit_is_refused(plan, change):
    content = reader_of(pack(plan, QUESTION, measured(plan, 5))).read()
    with pytest.raises(VerificationError, match="noisy answers that the ledger keeps"):
        unpack(plan, QUESTION, change(content))
    with pytest.raises(VerificationError, match="not those to this question"):
        unpack(plan, OTHER, content)
