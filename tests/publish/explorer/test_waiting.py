"""Whoever asks for numbers that must be simulated first is told how far it is, and gets them when they are there."""

from threading import Event

import pytest

from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.routes import answer
from margrave.publish.explorer.waiting import Waiting

SHARES = "rows=smoke&columns=age&share=rows"


class Slow:
    """A release whose simulations take until somebody says so."""

    def __init__(self):
        self.go, self.begun = Event(), 0

    def simulate(self, progress):
        self.begun += 1
        progress(3, 10)
        self.go.wait(30)


def test_work_is_begun_once_and_says_how_far_it_is():
    slow, found = Slow(), Waiting()
    making = found.unfinished("name", slow.simulate, 0.1)
    assert making is found.unfinished("name", slow.simulate, 0.1)
    assert (making.done, making.of, slow.begun) == (3, 10, 1)
    slow.go.set()
    assert found.unfinished("name", slow.simulate, 30) is None
    found.forget("name")
    assert found.unfinished("name", slow.simulate, 30) is None
    assert slow.begun == 2


@pytest.mark.slow
def test_a_page_tells_how_far_it_is_and_then_shows_the_numbers(releases, tmp_path, monkeypatch):
    library = library_of(releases["laplace"].save(tmp_path / "laplace"))
    (key,) = library.entries
    assert answer(library, f"/r/{key}/table", "rows=smoke&columns=age").status == 200  # as the bundle has them
    release, slow = library.release(key), Slow()
    with monkeypatch.context() as patched:
        patched.setattr(type(release), "simulate", lambda self, progress: slow.simulate(progress))
        waiting = answer(library, f"/r/{key}/table", SHARES)
        slow.go.set()
    assert waiting.status == 202
    assert 'http-equiv="refresh"' in waiting.body.decode()
    assert "3 of 10" in waiting.body.decode()
    assert answer(library, f"/r/{key}/table", SHARES).status == 200
