"""Many writers at one ledger, as a program of its own: python -m tests.ledger.crowd URL PROCESSES THREADS TASK.

The parent has one thread, so that it may fork; every child waits at a gate until all are there. With the task `killed`,
THREADS is the number of rounds: in each, the children work until the parent kills them, a little later every time.
"""

import os
import signal
import sys
import threading
import time
from collections import Counter
from itertools import count

from margrave.errors import RefusedError
from margrave.ledger import Ledger
from tests.ledger.helpers import answer, ask


def spend(ledger, name):
    """Ask new questions until one is refused; the number that was answered."""
    for made in range(10_000):
        try:
            charge = ledger.reserve(ask(hash((name, made)) & (1 << 60) - 1, id=f"{name}-{made}"))
        except RefusedError:
            return made
        answer(ledger, charge, made)
    raise AssertionError("there is no end to it")


def same(ledger, name):
    """Ask the same under the same id; whether the answer is one that all got is seen by its text."""
    charge = ledger.reserve(ask(1, id="one"))
    content = charge.content or ledger.commit(charge, f"by {name}".encode(), "0" * 64)
    return content.decode()


def child(ledger, name, threads, task, gate, results):
    os.read(gate, 1)
    found = []

    def run(number):
        try:
            found.append(str(task(ledger, f"{name}.{number}")))
        except BaseException as error:
            found.append(f"{type(error).__name__}: {error}")

    crowd = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    os.write(results, "".join(f"{line}\n" for line in found).encode())
    os._exit(0)


def confirm(ledger, name, results):
    """Ask new questions for ever, and say which were answered."""
    for made in count():
        identity = f"{name}-{made}"
        charge = ledger.reserve(ask(hash(identity) & (1 << 60) - 1, id=identity))
        answer(ledger, charge, made)
        os.write(results, f"{identity}\n".encode())


def killed(url, processes, rounds):
    with Ledger.open(url) as ledger:
        for turn in range(rounds):
            results, into = os.pipe()
            children = []
            for name in range(processes):
                pid = os.fork()
                if pid == 0:
                    try:
                        confirm(ledger, f"{turn}.{name}", into)
                    finally:
                        os._exit(1)
                children.append(pid)
            os.close(into)
            with os.fdopen(results) as lines:
                first = lines.readline()
                time.sleep(turn % 50 / 200)
                for pid in children:
                    os.kill(pid, signal.SIGKILL)
                for line in (first, *lines):
                    print(1, line.strip())
            ends = [os.waitpid(pid, 0)[1] for pid in children]
            assert all(map(os.WIFSIGNALED, ends)), "none may end by itself"


def main(url, processes, threads, task):
    ledger = Ledger.open(url)
    gate, opened = os.pipe()
    results, into = os.pipe()
    children = []
    for name in range(int(processes)):
        pid = os.fork()
        if pid == 0:
            os.close(opened)
            child(ledger, name, int(threads), {"spend": spend, "same": same}[task], gate, into)
        children.append(pid)
    os.close(into)
    os.close(opened)
    with os.fdopen(results) as lines:
        found = Counter(line.strip() for line in lines)
    for pid in children:
        os.waitpid(pid, 0)
    ledger.close()
    for line, times in found.items():
        print(times, line)


if __name__ == "__main__":
    url, processes, number, task = sys.argv[1:]
    if task == "killed":
        killed(url, int(processes), int(number))
    else:
        main(url, processes, number, task)
