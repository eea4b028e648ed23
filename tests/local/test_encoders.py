"""Two encoders, one in Python and one for the browser: the same tape of random bytes gives the same report."""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from margrave.local.page import device_plan
from margrave.local.reports import make_report
from margrave.noise import Generator
from margrave.noise.tape import Tape
from margrave.planning.local.cells import Response, Subset, Unary
from margrave.planning.local.hadamard import Hadamard
from margrave.planning.local.odds import Odds
from margrave.planning.local.plan import LocalPlan
from margrave.planning.local.question import WEIGHTS, LocalQuestion
from margrave.planning.local.residuals import Modular, Signs
from tests.planning.local.shapes import local_spec
from tests.planning.local.test_mechanisms import p_value, with_odds

NODE = shutil.which("node")
ENCODER = Path(__file__).parents[2] / "src" / "margrave" / "local" / "encoder.js"
DRIVER = Path(__file__).with_name("encode.js")
needs_node = pytest.mark.skipif(
    NODE is None and "CI" not in os.environ,
    reason="node runs the page's encoder: install it (Debian: apt-get install nodejs)",
)


def plan_with(spec, kinds):
    """A plan with a question of each of these kinds, all equally likely."""
    odds, (weight, rest) = Odds.of(spec.epsilon), divmod(WEIGHTS, len(kinds))
    questions = [
        LocalQuestion(tuple(names), kind(spec.domain.shape(tuple(names)), odds), weight + (at == 0) * rest)
        for at, (names, kind) in enumerate(kinds)
    ]
    return LocalPlan(spec, tuple(questions))


def every_mechanism(epsilon):
    """Attributes of 2, 3, 3, 4 and 11 values."""
    kinds = [("a", Response), ("e", Subset), ("ad", Unary), ("ab", Hadamard), ("bcd", Signs), ("ae", Signs)]
    kinds += [("bc", Modular), ("cd", Subset), ("abd", Hadamard), ("de", Response)]
    return plan_with(local_spec(2, 3, 3, 4, 11, epsilon=epsilon), kinds)


def few_symbols():
    """Every mechanism, with so few symbols that two thousand reports tell how likely each is."""
    kinds = [("a", Response), ("d", Subset), ("b", Unary), ("ab", Hadamard), ("ab", Signs), ("bc", Modular)]
    return plan_with(local_spec(2, 3, 3, 4), kinds)


def vectors_of(plan, count, seed, fixed=None, length=600):
    """Answers, each with a tape of so many bytes."""
    generator = Generator.seeded(seed)
    domain = plan.spec.domain
    drawn = [generator.below(one.size, count) for one in domain]
    tapes = generator.octets(count * length).tobytes()
    for at in range(count):
        codes = {one.name: int(column[at]) for one, column in zip(domain, drawn, strict=True)}
        tape = tapes[at * length : (at + 1) * length]
        yield {"answers": fixed or codes, "tape": tape.hex(), "token": f"token{at:05}"}


def by_python(plan, vectors):
    domain = plan.spec.domain
    for one in vectors:
        answers = {name: domain[name].values[code] for name, code in one["answers"].items()}
        yield make_report(plan, answers, Tape.written(bytes.fromhex(one["tape"])), one["token"]).line


def by_node(plan, vectors):
    asked = {"encoder": str(ENCODER), "plan": device_plan(plan), "vectors": vectors}
    done = subprocess.run([NODE, str(DRIVER)], input=json.dumps(asked), capture_output=True, text=True, check=True)
    return done.stdout.split("\n")


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("epsilon", ["1.0986122886681098", "0.1", "7.3"])
def test_both_encoders_agree_on_ten_thousand_vectors(epsilon):
    plan = every_mechanism(epsilon)
    vectors = list(vectors_of(plan, 3400, f"vectors {epsilon}"))
    assert by_node(plan, vectors) == list(by_python(plan, vectors))


@pytest.mark.slow
@pytest.mark.parametrize("by", [by_python, pytest.param(by_node, marks=needs_node)])
def test_frequencies_of_every_mechanism_pass_for_the_right_odds_and_fail_for_others_both_ways(by):
    plan = few_symbols()
    vectors = list(vectors_of(plan, 12_000, "frequencies", dict.fromkeys(plan.asked, 1), length=100))
    seen = [Counter() for _ in plan.questions]
    for line in by(plan, vectors):
        _, question, symbol, _ = line.split(",")
        seen[int(question, 16)][read(plan.questions[int(question, 16)].mechanism, symbol)] += 1
    for question, found in zip(plan.questions, seen, strict=True):
        one, codes = question.mechanism, [1] * len(question.margin)
        assert p_value(one, codes, found) > 1e-4
        assert p_value(with_odds(one, Odds(3, 2)), codes, found) < 1e-6
        assert p_value(with_odds(one, Odds(7, 1)), codes, found) < 1e-6


def read(mechanism, text):
    values, place = [], 0
    for field in mechanism.fields:
        values.append(int(text[place : place + field.digits], 16))
        place += field.digits
    return tuple(values)


def test_which_question_is_drawn_does_not_depend_on_the_answers():
    plan = every_mechanism("1")
    vectors = list(vectors_of(plan, 300, "questions"))
    other = [one | {"answers": dict.fromkeys(plan.asked, 0)} for one in vectors]
    drawn = [[line.split(",")[1] for line in by_python(plan, these)] for these in (vectors, other)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == len(plan.questions)
    assert np.all([line.split(",")[0] == plan.hash for line in by_python(plan, vectors[:20])])
