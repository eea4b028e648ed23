"""Kill a release at each of its steps, as a program: python -m tests.ledger.crash FOLDER KILLS [URLS].

The parent is warm: everything is imported, the plan is made. For each kill it forks a child that releases and saves,
and dies by its own hand, unblockably, at the k-th call made from a module that handles charges or files. KILLS are
spread over all calls; where there are fewer calls, there is one kill at each. URLS name empty PostgreSQL schemas, one
for each kill and two more; without them, each kill has its own SQLite file.
"""

import os
import shutil
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path

import pandas as pd

import margrave as mg
from margrave.budget.units import PureDP
from margrave.ledger import verify
from margrave.ledger.records import Grants, Pool, Question, RequestRecord
from margrave.measure import run
from margrave.planning.asked import request_of
from margrave.planning.written import notion_of
from margrave.publish.bundle import bundle
from margrave.publish.bundle.parts.drawn import unpack
from margrave.publish.charging import published_in
from margrave.publish.ways.release import TablesPack
from tests.calls import counted

SPEC = """
[attributes]
a = ["x", "y"]
[release]
tables = [["a"]]
strategy = "margins"
nonnegative = "none"
rounding = "none"
[privacy]
epsilon = 1.0
"""
DATA = pd.DataFrame({"a": ["x", "y", "x"] * 10})
WATCHED = (
    "ledger/",
    "publish/charging.py",
    "publish/ways/release.py",
    "publish/bundle/parts/drawn.py",
    "files/writing.py",
    "files/temporary.py",
    "pipeline.py",
    "measure/run.py",
)


def prepared(url):
    with mg.Ledger.create(url) as ledger:
        ledger.register("s@1", notion_of(PLAN.spec), PureDP(Fraction(3)))
        ledger.add_account("ann")
        ledger.grant("ann", "s@1", PureDP(Fraction(3)))


SPREAD = 20
"""Of two releases one may make so many calls more: names that are taken, pieces that are read."""


def release(url, out):
    with mg.Ledger.open(url) as ledger:
        mg.release(PLAN, DATA, ledger=ledger, account="ann", request="mine").save(out)


def kept(ledger):
    """The noisy answers that the ledger keeps, whether with a bundle or waiting for one; None before they are drawn."""
    numbers = [one.drawn for one in ledger.records(Question)] + [one.answer for one in ledger.records(RequestRecord)]
    number = next((one for one in numbers if one is not None), None)
    if number is None:
        return None
    with ledger.store.reading() as session:
        content = session.answer(number)
    asked = request_of(PLAN, ledger.only_dataset(None), "ann")
    drawn = unpack(PLAN, asked.question, content) if number in numbers[:1] else TablesPack().read(content).measured
    return [one.outputs.tolist() for one in drawn.answers]


def drawing():
    """Spies on the noise: what is drawn from now on."""
    found, draw = [], run.sample_many
    run.sample_many = lambda *given: found.append(1) or draw(*given)
    return found, draw


@cache
def watched(code):
    path = code.co_filename
    return "/margrave/" in path and any(part in path for part in WATCHED)


def killed(url, out, last):
    """Whether a child that releases died at a call, before it was done."""
    pid = os.fork()
    if pid == 0:
        try:
            counted(lambda: release(url, out), watched, last)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def check(url, out):
    """After a kill: the books are right, no bundle is there without its charge, and a retry is not charged again."""
    with mg.Ledger.open(url) as ledger:
        verify(ledger, published_in(out) if out.exists() else ())
        requests = ledger.records(RequestRecord)
        if out.exists():
            assert [one.status for one in requests] == ["committed"]
        before = kept(ledger)
        state = requests[0].status if requests else "nothing"
        state = "drawn" if state == "reserved" and before is not None else state
        again = out.with_name("again")
        drawn, run_again = drawing()
        try:
            mg.release(PLAN, DATA, ledger=ledger, account="ann", request="mine").save(again)
        finally:
            run.sample_many = run_again
        assert len(drawn) == (before is None), "noise is drawn exactly where none was kept"
        assert before in (None, kept(ledger))
        if out.exists():
            assert {p.name: p.read_bytes() for p in out.rglob("*.*")} == {
                p.name: p.read_bytes() for p in again.rglob("*.*")
            }
        assert ledger.records(Pool)[0].spent.epsilon == PLAN.cost.epsilon
        assert ledger.records(Grants)[0].grants[0].spent.epsilon == PLAN.cost.epsilon
        assert verify(ledger, published_in(again)).entries == 7
    return f"{state}, {'a bundle' if out.exists() else 'no bundle'}"


def main(folder, most, *urls):
    base = Path(folder)
    first, second = (base / name for name in ("first", "second"))
    links = iter(urls or (str(base / f"{number}.db") for number in count()))
    places = [next(links), next(links)]
    for place in places:
        prepared(place)
    template = base / "template.db"
    if not urls:
        shutil.copy(places[0], template)
    release(places[0], first)  # what is done only once, such as filling a cache, is done now
    total = counted(lambda: release(places[1], second), watched)
    kills, found = min(int(most), total - 1), Counter()
    for number, url in zip(range(kills), links, strict=False):
        if urls:
            prepared(url)
        else:
            shutil.copy(template, url)
        place = base / f"killed{number}"
        place.mkdir()
        last = 1 + number * total // kills
        assert killed(url, place / "out", last) or last > total - SPREAD
        found[check(url, place / "out")] += 1
        shutil.rmtree(place)
        for left in () if urls else base.glob(f"{Path(url).name}*"):
            left.unlink()
    print(total)
    for state, times in found.items():
        print(times, state)


if __name__ == "__main__":
    bundle.report_html = lambda *_: "<p>The report takes most of the time, and is one file among others here.</p>"
    PLAN = mg.plan(mg.Spec.parse(SPEC))
    main(*sys.argv[1:])
