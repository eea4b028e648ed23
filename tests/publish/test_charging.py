"""One order of reserving, drawing, keeping and committing for whatever is asked: here a way that nobody else has."""

import json
from dataclasses import dataclass, replace
from hashlib import sha256

import pytest

from margrave.errors import UsageError
from margrave.ledger import DataSetName, Ledger, Notion
from margrave.ledger.check import verify
from margrave.ledger.records import Pool
from margrave.planning.asked import request_of
from margrave.publish.charging import charged
from tests.ledger.helpers import eps


@dataclass(frozen=True)
class Guess:
    """A number that somebody asks for."""

    number: int
    way = "guess"
    title = "a guess"
    cost = eps("1/4")
    notion = Notion()
    events = ({"guess": "1/4"},)
    exact = ()
    disclosed = ()

    @property
    def question(self):
        return sha256(str(self.number).encode()).hexdigest()


class GuessPack:
    at_once = False

    def check(self, asked):
        if asked.number < 0:
            raise UsageError("too small to be kept")

    def keep(self, asked, drawn):
        return f"{asked.number} {drawn}".encode()

    def kept(self, asked, content):
        number, drawn = map(int, content.split())
        assert number == asked.number
        return drawn

    def write(self, asked, drawn, charge):
        content = json.dumps({"answer": drawn, "charge": dict(charge)}).encode()
        return content, sha256(content).hexdigest()

    def read(self, content):
        return json.loads(content)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}") as one:
        one.register("survey@1", Notion(), eps(1))
        one.add_account("ann")
        one.grant("ann", "survey@1", eps(1))
        yield one


def ask(ledger, number, draw, pack=None):
    asked = Guess(number)
    request = request_of(asked, DataSetName("survey", "1"), "ann")
    return charged(ledger, asked, request, draw, pack or GuessPack())


def spent(ledger):
    return ledger.records(Pool)[0].spent.epsilon


def test_any_way_of_asking_is_charged_once_and_answered_again_for_nothing(ledger):
    first = ask(ledger, 1, lambda: 42)
    again = ask(ledger, 1, lambda: pytest.fail("drawn again"))
    assert first == again and first["answer"] == 42
    assert first["charge"]["dataset"] == "survey@1"
    assert spent(ledger) == eps("1/4").epsilon


def test_what_could_not_be_kept_costs_nothing(ledger):
    with pytest.raises(UsageError, match="too small"):
        ask(ledger, -1, lambda: pytest.fail("drawn"))
    assert spent(ledger) == 0


def test_a_failure_after_the_draw_goes_on_from_the_same_noise(ledger):
    class Failing(GuessPack):
        def write(self, asked, drawn, charge):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"):
        ask(ledger, 2, lambda: 7, Failing())
    assert ask(ledger, 2, lambda: pytest.fail("drawn again"))["answer"] == 7
    assert spent(ledger) == eps("1/4").epsilon


class WrittenDown(GuessPack):
    """A way whose answer is the noisy number itself."""

    at_once = True


def kinds(ledger):
    return [entry.kind for entry, _ in ledger.entries()][4:]


def test_what_needs_only_to_be_written_down_is_kept_and_committed_in_one_step(ledger):
    assert ask(ledger, 5, lambda: 42, WrittenDown())["answer"] == 42
    assert kinds(ledger) == ["reserve", "commit"]
    assert ask(ledger, 5, lambda: pytest.fail("drawn again"), WrittenDown())["answer"] == 42
    ask(ledger, 6, lambda: 7)
    assert kinds(ledger) == ["reserve", "commit", "reserve", "drawn", "commit"]
    verify(ledger)


def test_what_cannot_even_be_written_down_is_kept_by_itself_and_never_drawn_again(ledger):
    class Failing(WrittenDown):
        def write(self, asked, drawn, charge):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"):
        ask(ledger, 2, lambda: 7, Failing())
    assert kinds(ledger) == ["reserve", "drawn", "failed"]
    assert ask(ledger, 2, lambda: pytest.fail("drawn again"), WrittenDown())["answer"] == 7
    assert spent(ledger) == eps("1/4").epsilon


def test_nothing_else_is_charged_than_what_is_asked(ledger):
    asked = Guess(3)
    request = request_of(asked, DataSetName("survey", "1"), "ann")
    for other in (replace(request, cost=eps("1/8")), replace(request, question=Guess(4).question)):
        with pytest.raises(UsageError, match="must be for what is asked"):
            charged(ledger, asked, other, lambda: pytest.fail("drawn"), GuessPack())
    assert spent(ledger) == 0
