"""Kill a side of a join at any call of any step, as a program: python -m tests.join.crash FOLDER KILLS.

The parent is warm. Before each step it keeps a copy of both owners' folders and ledgers. For each kill it forks a child
that takes the step in a copy and dies by its own hand, unblockably, at the k-th call made from a module that handles
messages, charges or files; then the step is taken again.
"""

import os
import shutil
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from margrave.join import result
from margrave.ledger import Ledger, verify
from margrave.publish.bundle import bundle
from tests.calls import counted
from tests.join import parties
from tests.join.parties import Party

WATCHED = ("margrave/join/", "margrave/ledger/", "margrave/publish/charging.py", "margrave/files/temporary.py")
STEPS = {
    "offer": (0, lambda hospital, airline: hospital.offer()),
    "answer": (1, lambda hospital, airline: airline.answer(hospital.message("offer"))),
    "result": (0, lambda hospital, airline: hospital.finish(airline.message("answer"))),
    "accepted": (1, lambda hospital, airline: airline.finish(hospital.message("result"))),
}
SPREAD = 200
"""Of two runs of a step one may make so many calls more: what is kept from before, pieces that are read."""
MESSAGE = {"offer": "offer", "answer": "answer", "result": "result", "accepted": "result"}


@cache
def watched(code):
    return any(part in code.co_filename for part in WATCHED)


def opened(place, plan):
    """Both owners, from their folders."""
    found = []
    for owner in plan.spec.owners:
        home = place / owner.name
        ledger = Ledger.open(str(home / "ledger.db"))
        found.append(Party(owner.name, plan, home, ledger, parties.frame(owner.name)))
    return found


def _noting(found, owners):
    found += owners
    return owners


def closed(owners):
    for one in owners:
        one.ledger.close()


def killed(place, plan, take, last):
    """Whether a child that takes a step died at a call, before it was done."""
    pid = os.fork()
    if pid == 0:
        try:
            counted(lambda: take(*opened(place, plan)), watched, last)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def check(place, plan, step):
    """After a kill: the books are right, nothing has left without its charge, and a retry sends what was sent."""
    number, take = STEPS[step]
    owners = opened(place, plan)
    mine = owners[number]
    verify(mine.ledger)
    message = mine.message(MESSAGE[step])
    before = message.read_bytes() if message.exists() else None
    epsilon, _, states = mine.spent()
    cost = plan.of(mine.name).cost.epsilon
    assert epsilon in (0, cost)
    if before is not None:
        assert epsilon == cost, "nothing leaves without its charge"
        assert step != "result" or states == ["committed"], "no answer is there without its charge"
    take(*owners)
    assert before in (None, message.read_bytes()), "a retry sends the same bytes"
    assert mine.spent()[0] == cost, "and is charged once"
    verify(mine.ledger)
    state = states[0] if states else "nothing"
    closed(owners)
    return f"{step}: {state}, {'a message' if before is not None else 'no message'}"


def main(folder, most):
    base = Path(folder)
    start = base / "start"
    start.mkdir()
    owners = parties.parties(start, release=parties.QUICK)
    plan = owners[0].plan
    found, total = Counter(), 0
    for step, (_, take) in STEPS.items():
        before = base / f"before-{step}"
        shutil.copytree(start, before)
        for name in ("warm", "counted"):
            shutil.copytree(before, base / name)
            again = []
            calls = counted(
                lambda name=name, again=again, take=take: take(*_noting(again, opened(base / name, plan))), watched
            )
            closed(again)
            shutil.rmtree(base / name)
        kills = min(int(most) // len(STEPS), calls - 1)
        for number in range(kills):
            place = base / "killed"
            shutil.copytree(before, place)
            # Half of the kills are spread over all calls, half over the last, where messages leave and charges close.
            last = 1 + 2 * number * calls // kills if 2 * number < kills else calls - 3 * (kills - number)
            assert killed(place, plan, take, last) or last > calls - SPREAD
            found[check(place, plan, step)] += 1
            shutil.rmtree(place)
        take(*owners)
        total += calls
    assert owners[0].spent()[2] == owners[1].spent()[2] == ["committed"]
    print(total)
    for state, times in found.items():
        print(times, state)


if __name__ == "__main__":
    bundle.report_html = lambda *_: "<p>The report takes most of the time, and is one file among others here.</p>"
    result.verify = lambda *_: None
    main(*sys.argv[1:])
