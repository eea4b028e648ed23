"""An analyst's process killed at any step of a partition and of a question from a purse; and its worker."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from margrave.errors import FaultError
from margrave.ledger import verify
from margrave.session.expressions import col as c
from tests.ledger.helpers import many
from tests.ledger.test_crash import folder

__all__ = ["folder"]
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXPECTED = {
    "nothing, no answer",
    "reserved, no answer",
    "committed, no answer",
    "committed and reserved, no answer",
    "committed and committed, no answer",
    "committed and committed, an answer",
}


def test_killed_at_any_step_it_leaves_no_answer_without_its_charge_and_a_retry_is_free(folder):
    kills = many(60, 2_000)
    command = [sys.executable, "-m", "tests.session.crash", str(folder), str(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stderr
    total, *lines = done.stdout.splitlines()
    found = {state: int(times) for times, _, state in (line.partition(" ") for line in lines)}
    assert set(found) == EXPECTED and sum(found.values()) == min(kills, int(total) - 1)


def test_a_worker_killed_while_a_purse_pays_leaves_its_question_charged_once_and_free_to_repeat(session, ledger):
    parts = session["people"].partition(c.region).release(eps="0.2")
    for number in range(many(2, 40)):
        question = parts["north"].where(c.age > number).count()
        session._answerer.check()
        process = session._answerer._process
        os.kill(process.pid, signal.SIGSTOP)  # it cannot answer before it is killed
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        # One that is found dead is started again before anything is charged; this one dies while it is asked.
        session._answerer._process.poll = lambda: None
        with pytest.raises(FaultError, match="stays charged"):
            question.release(eps="0.005")
        charged = 0.2 - 0.005 * (number + 1)
        assert parts.left["north"].left == pytest.approx(charged) and parts.left["south"].left == pytest.approx(0.2)
        first = question.release(eps="0.005")
        assert question.release(eps="0.005") == first and parts.left["north"].left == pytest.approx(charged)
    verify(ledger)
