"""Many clients, and processes that are killed at random: nothing is spent twice, nothing answered without a charge,
and whoever asks again is answered as before.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction

import psutil
import pytest

from margrave.client.remote import connect
from margrave.errors import MargraveError, RefusedError
from margrave.ledger import Ledger
from margrave.ledger.check import verify
from margrave.ledger.records import Grants, RequestRecord
from tests.ledger.helpers import SOAK
from tests.serve.served import DATASET

pytestmark = pytest.mark.slow
CLIENTS, QUESTIONS = (64, max(512, int(10_000 * SOAK))) if SOAK else (16, 256)
"""Of each store; half of them are asked for the second time."""
BETWEEN = 100 if SOAK else 50
"""Answers between two kills: on a busy machine, where a process takes long to start, as many are killed and no more."""
EACH = Fraction(1, 100)


def asking(served, token, numbers, told):
    """Ask each question, and each a second time; whatever breaks is tried again until it is answered or refused."""
    found = {}
    with connected(served, token) as session:
        for number in numbers:
            text = f"people where age > {number % 100} and income > {100 * (number // 100)} count"
            for _ in range(2):
                found.setdefault(text, []).append(answered(session, text))
                told.append(number)
    return found


def connected(served, token):
    while True:
        with suppress(MargraveError):
            return connect(served.address, token)
        time.sleep(0.2)


def answered(session, text):
    for _ in range(60):
        try:
            return session.ask(text).release(eps=EACH).numbers
        except RefusedError:
            return "refused"
        except MargraveError:
            time.sleep(0.2)
    raise AssertionError("never answered")


def killing(served, stopped, killed, told):
    """Kill one of the processes from time to time: a worker, the one that has questions answered, or the engine."""
    chance = random.Random(20)
    while not stopped.wait(chance.random() / 5):
        if len(told) >= BETWEEN * (len(killed) + 1):
            with suppress(psutil.Error, IndexError):
                one = chance.choice(served.children())
                one.kill()
                killed.append(one.pid)


def test_nothing_is_lost_or_spent_twice_while_processes_are_killed(served, new_name):
    share = -(-QUESTIONS // (2 * CLIENTS))
    room = share - 3
    names = [new_name() for _ in range(CLIENTS)]
    tokens = [served.person(name, epsilon=room * EACH) for name in names]
    stopped, killed, told = threading.Event(), [], []
    killer = threading.Thread(target=killing, args=(served, stopped, killed, told))
    killer.start()
    try:
        with ThreadPoolExecutor(CLIENTS) as pool:
            # All ask about the same, so that stored answers meet drawn ones.
            found = list(pool.map(lambda token: asking(served, token, range(share), told), tokens))
    finally:
        stopped.set()
        killer.join()
    print(f"{len(told):,} questions of {CLIENTS} clients, {len(killed)} processes killed")
    assert len(killed) >= len(told) // BETWEEN - 1
    for each in found:
        assert all(first == second for first, second in each.values())
        # Exactly as many as the grant has room for, however often processes died between.
        assert sum(first != "refused" for first, _ in each.values()) == room
    every = {}
    for each in found:
        for text, (numbers, _) in each.items():
            if numbers != "refused":
                every.setdefault(text, set()).add(numbers)
    assert all(len(answers) == 1 for answers in every.values())
    with Ledger.open(served.url) as ledger:
        assert verify(ledger).beyond == ()
        spent = {one.account: one.grants[-1].spent.epsilon for one in ledger.records(Grants) if one.account in names}
        assert spent == dict.fromkeys(names, room * EACH)
        mine = [one for one in ledger.records(RequestRecord) if one.account in names]
        assert len(mine) == CLIENTS * room and {one.status for one in mine} == {"committed"}
        assert all(one.dataset == DATASET for one in mine)
