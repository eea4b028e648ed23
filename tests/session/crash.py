"""Kill an analyst's process while a purse is filled and pays, as a program: python -m tests.session.crash FOLDER KILLS.

The parent is warm, and has a ledger with an open data set. For each kill it forks a child that opens the partition,
asks a part, and writes down what it was answered; the child dies by its own hand, unblockably, at the k-th call made
from a module that handles charges. KILLS are spread over all calls; where there are fewer, there is one kill at each.
The engine answers in the child itself: what becomes of a worker that is killed is `test_asking`'s matter.
"""

import json
import os
import shutil
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

from margrave.budget.units import PureDP
from margrave.ledger import Ledger, verify
from margrave.ledger.records import Grants, Pool, RequestRecord
from margrave.measure.questions.asking import Answerer
from margrave.measure.questions.engine import Engine, noisy_answer
from margrave.noise import Generator
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.session.expressions import col as c
from margrave.session.session import Session
from tests.calls import counted
from tests.session.conftest import SPEC, clinic

PURSE, COST = Fraction(1, 5), Fraction(1, 20)
WATCHED = ("ledger/", "publish/charging.py", "publish/questions/answers.py", "pipeline.py", "session/")
SPREAD = 40
"""Of two children one may make so many calls more."""


class Here(Answerer):
    """Answers from the store, in this process; counts how often noise is drawn."""

    draws = 0

    def check(self):
        self.check_owner()

    def numbers(self, question):
        self.draws += 1
        engine = Engine(self.place)
        try:
            return tuple(noisy_answer(engine, question, Generator.system()))
        finally:
            engine.close()


def prepared(base):
    spec = DataSpec.load(SPEC)
    with Ledger.create(base / "template.db") as ledger:
        ledger.register("clinic@1", spec.notion, PureDP(Fraction(1)))
        ledger.add_account("ann")
        ledger.grant("ann", "clinic@1", PureDP(Fraction(1)))
        open_data(spec, clinic(60, 90), ledger=ledger, dataset="clinic@1", place=base / "store")


def asked(base, url, out=None):
    """What a part is answered, from its purse, how often noise was drawn for it, and what is left in the purses."""
    with Session.open(url, "ann") as session:
        session._answerer = Here(base / "store")
        parts = session["people"].partition(c.region).release(eps=PURSE)
        found = parts["north"].count().release(eps=COST)
        if out is not None:
            out.write_text(json.dumps(found.numbers))
        left = [str(one.left) for one in parts.left.values()]
        return list(found.numbers), session._answerer.draws, left


@cache
def watched(code):
    return "/margrave/" in code.co_filename and any(part in code.co_filename for part in WATCHED)


def killed(base, url, out, last):
    """Whether a child that asks died at a call, before it was done."""
    pid = os.fork()
    if pid == 0:
        try:
            counted(lambda: asked(base, url, out), watched, last)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def check(base, url, out):
    """After a kill: the books are right, no answer is there without its charge, and asking again costs no more."""
    with Ledger.open(url) as ledger:
        verify(ledger)
        states = [one.status for one in ledger.records(RequestRecord)]
        assert "drawn" not in [entry.kind for entry, _ in ledger.entries()], "answers are kept with their commit"
        spent = ledger.records(Pool)[0].spent.epsilon
    assert spent in (0, PURSE) and bool(spent) == bool(states), "the charge is whole, and there before all else"
    if out.exists():
        assert states == ["committed", "committed"]
    numbers, draws, left = asked(base, url)
    assert draws == (states.count("committed") < 2), "noise is drawn exactly where none was kept"
    assert not out.exists() or json.loads(out.read_text()) == numbers
    assert asked(base, url) == (numbers, 0, left)
    with Ledger.open(url) as ledger:
        assert ledger.records(Pool)[0].spent.epsilon == PURSE
        assert ledger.records(Grants)[0].grants[0].spent.epsilon == PURSE
        assert [float(one) for one in left] == [float(PURSE - COST), float(PURSE)]
        verify(ledger)
    answer = "an answer" if out.exists() else "no answer"
    return f"{' and '.join(states) or 'nothing'}, {answer}"


def main(folder, most):
    base = Path(folder)
    prepared(base)
    total = 0
    for name in ("first.db", "second.db"):  # what is done only once, such as filling a cache, is done by the first
        shutil.copy(base / "template.db", base / name)
        total = counted(lambda name=name: asked(base, str(base / name)), watched)
    kills, found = min(int(most), total - 1), Counter()
    for number in range(kills):
        url, out = base / f"{number}.db", base / f"{number}.json"
        shutil.copy(base / "template.db", url)
        last = 1 + number * total // kills
        assert killed(base, str(url), out, last) or last > total - SPREAD
        found[check(base, str(url), out)] += 1
        for left in base.glob(f"{number}.*"):
            left.unlink()
    print(total)
    for state, times in found.items():
        print(times, state)


if __name__ == "__main__":
    main(*sys.argv[1:])
