"""The worker: what crosses to it and back, and that killing it at any moment leaves no answer without its charge."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from random import Random as Generator
from threading import Timer

import pytest

from margrave.budget.units import PureDP
from margrave.errors import DataError, FaultError
from margrave.ledger import Ledger, verify
from margrave.ledger.statements.allowance import allowances
from margrave.measure.questions.asking import FAULT, Answerer
from margrave.measure.questions.worker import FAULTS
from margrave.pipeline import ask
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion
from tests.measure.questions.stores import engine_of
from tests.planning.questions.samples import data_of, data_spec, random_unit

pytestmark = pytest.mark.slow

SPEC = data_spec()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    random = Generator("asking")
    folder = tmp_path_factory.mktemp("asking") / "store"
    engine_of(SPEC, data_of([random_unit(SPEC, random) for _ in range(20)], SPEC), folder).close()
    return folder


def question(text="people count", epsilon=Fraction(1)):
    return PricedQuestion(SPEC, parsed(text, SPEC), PureDP(epsilon))


def test_only_noisy_numbers_and_faults_cross(place):
    """The worker as a program: whatever it is told, it says numbers or that there was a fault, and nothing else."""
    lines = [
        json.dumps(question().asked_json()),
        json.dumps(question("visits by ward average cost").asked_json()),
        "nonsense",
        json.dumps({"format": 1, "asked": {"kind": "count"}, "data": {}, "budget": {"epsilon": "1"}}),
        json.dumps(question().asked_json() | {"budget": {"epsilon": "-1"}}),
    ]
    command = [sys.executable, "-P", "-m", "margrave.measure.questions.worker", str(place)]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False, timeout=60)
    ready, *replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert ready == {"kind": "ready"} and done.stderr == ""
    assert [set(reply) for reply in replies] == [{"numbers"}, {"numbers"}, {"fault"}, {"fault"}, {"fault"}]
    assert [len(reply.get("numbers", ())) for reply in replies] == [1, 4, 0, 0, 0]
    log = (place / FAULTS).read_text(encoding="ascii").splitlines()
    assert len(log) == 3 and all(len(line.split()) == 2 for line in log)


def test_noise_is_fresh_for_every_answer(place):
    with Answerer(place) as answers:
        found = {answers.numbers(question(epsilon=Fraction(1, 1000))) for _ in range(4)}
    assert len(found) == 4


def test_a_store_of_another_declaration_is_a_fault(place):
    other = PricedQuestion(data_spec("replace"), parsed("people count", SPEC), PureDP(Fraction(1)))
    with Answerer(place) as answers, pytest.raises(FaultError) as caught:
        answers.numbers(other)
    assert str(caught.value) == FAULT and caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_folder_without_a_store_is_said_before_anything_is_charged(tmp_path):
    with Answerer(tmp_path) as answers, pytest.raises(DataError, match="cannot be opened"):
        answers.check()


@pytest.mark.slow
def test_killed_at_any_moment_it_leaves_no_answer_without_its_charge(place, tmp_path):
    """Kills from the start of the worker to after its answer; each question is charged once, whatever happened."""
    cost, faults, answered = Fraction(1, 100), 0, 0
    with Ledger.create(tmp_path / "ledger.db") as ledger, Answerer(place) as answers:
        ledger.register("clinic@1", SPEC.notion, PureDP(Fraction(1)))
        ledger.add_account("ann")
        ledger.grant("ann", "clinic@1", PureDP(Fraction(1)))
        for number in range(6):
            one = question(f"people where age >= {number % 6} and income <= {number} count", cost)
            answers.check()
            process = answers._process
            if number % 2:  # it cannot answer before it is killed, however fast the machine is
                os.kill(process.pid, signal.SIGSTOP)
            timer = Timer(0.01 * number, os.kill, (process.pid, signal.SIGKILL))
            timer.start()
            try:
                ask(one, answers, ledger=ledger, dataset="clinic@1", account="ann")
                answered += 1
            except FaultError as error:
                assert str(error) == FAULT
                faults += 1
            timer.join()
            process.wait()
            charged = 1 - allowances(ledger, "ann", "clinic@1")[0].left
            assert charged == pytest.approx(float(cost * (number + 1)))
            again = ask(one, answers, ledger=ledger, dataset="clinic@1", account="ann")
            assert again == ask(one, answers, ledger=ledger, dataset="clinic@1", account="ann")
        assert 1 - allowances(ledger, "ann", "clinic@1")[0].left == pytest.approx(float(6 * cost))
        verify(ledger)
    assert faults >= 3 and faults + answered == 6


@pytest.mark.slow
def test_what_an_interrupted_question_was_answered_is_never_given_to_another(place, monkeypatch):
    """Otherwise an interrupted question could be drawn many times, and each draw read for the price of a cheap one."""
    everybody, nobody = question(epsilon=Fraction(1000)), question("people where age > 5 count", Fraction(1000))
    with Answerer(place) as answers:
        assert answers.numbers(nobody) == (0,) != answers.numbers(everybody)
        for _ in range(3):
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(answers, "_line", _interrupted)
                answers.numbers(everybody)
            assert answers.numbers(nobody) == (0,)
        answers.close()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(answers, "_line", _interrupted)
            answers.check()
        assert answers.numbers(everybody) != (0,) == answers.numbers(nobody)


def _interrupted(seconds):
    raise KeyboardInterrupt


def test_two_threads_get_their_own_answers(place):
    everybody, nobody = question(epsilon=Fraction(1000)), question("people where age > 5 count", Fraction(1000))
    with Answerer(place) as answers, ThreadPoolExecutor(4) as threads:
        found = list(threads.map(answers.numbers, [everybody, nobody] * 10))
    assert set(found[1::2]) == {(0,)} and len(set(found[::2])) == 1 and found[0] != (0,)
