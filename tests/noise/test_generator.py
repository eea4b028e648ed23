"""The generator: repeatable when seeded, never repeating otherwise, and no two holders ever share a stream."""

import copy
import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from margrave.errors import RefusedError, UsageError
from margrave.noise import Generator
from margrave.noise.generator import _Stream


def in_fork(work: Callable[[], bytes]) -> bytes:
    """What ``work`` returns in a forked child of this process."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(10)  # a child that waits for a lock for ever is ended, and then has no answer
        try:
            os.write(writer, work())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return answer


def test_seeded_is_repeatable_and_not_private() -> None:
    first, again = Generator.seeded(7), Generator.seeded(7)
    assert np.array_equal(first.words(1000), again.words(1000))
    assert not first.private
    assert Generator.system().private


@pytest.mark.parametrize("other", [8, "7", -7, "", 1 << 200])
def test_other_seeds_give_other_streams(other: int | str) -> None:
    assert not np.array_equal(Generator.seeded(7).words(4), Generator.seeded(other).words(4))


def test_stream_does_not_depend_on_how_it_is_cut() -> None:
    whole, parts = Generator.seeded(1), Generator.seeded(1)
    cuts = [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 200_000]
    assert whole.octets(sum(cuts)).tobytes() == b"".join(parts.octets(cut).tobytes() for cut in cuts)


def test_stream_is_the_cipher_of_zeros() -> None:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    expected = Cipher(algorithms.AES(bytes(range(32))), modes.CTR(bytes(16))).encryptor().update(bytes(100_000))
    assert Generator(bytes(range(32))).octets(100_000).tobytes() == expected


def test_system_never_repeats() -> None:
    words = np.concatenate([Generator.system().words(100) for _ in range(50)])
    assert np.unique(words).size == words.size


def test_spawned_streams_are_all_different() -> None:
    for parent in (Generator.seeded(3), Generator.system()):
        family = [parent, *parent.spawn(5), *parent.spawn(5)]
        family += [grandchild for child in family[1:4] for grandchild in child.spawn(3)]
        words = np.concatenate([member.words(200) for member in family])
        assert np.unique(words).size == words.size
        assert len({id(member._stream) for member in family}) == len(family)
        assert all(member.private == parent.private for member in family)


def test_spawning_is_repeatable_when_seeded() -> None:
    first, again = Generator.seeded("x").spawn(3), Generator.seeded("x").spawn(3)
    assert all(np.array_equal(a.words(9), b.words(9)) for a, b in zip(first, again, strict=True))


def test_spawned_streams_are_uncorrelated() -> None:
    streams = np.array([g.octets(100_000) for g in Generator.seeded(5).spawn(4)], dtype=float)
    correlations = np.corrcoef(streams)[np.triu_indices(4, 1)]
    assert np.all(np.abs(correlations) < 4 / np.sqrt(100_000))


def test_threads_never_receive_the_same_words() -> None:
    shared = Generator.seeded(11)
    taken: list[np.ndarray] = []

    def work() -> None:
        taken.extend(shared.words(37) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate(taken)
    assert np.array_equal(np.sort(words), np.sort(Generator.seeded(11).words(words.size)))


def test_forked_system_generators_take_new_keys() -> None:
    shared = Generator.system()
    shared.words(1)

    def work() -> bytes:
        return shared.words(64).tobytes()

    answers = [in_fork(work), in_fork(work), in_fork(lambda: in_fork(work)), work()]
    words = np.frombuffer(b"".join(answers), dtype=np.uint64)
    assert words.size == 4 * 64
    assert np.unique(words).size == words.size


def test_forked_spawn_of_system_generators_differs() -> None:
    shared = Generator.system()
    answers = [in_fork(lambda: shared.spawn(1)[0].words(8).tobytes()) for _ in range(3)]
    assert len(set(answers)) == 3
    assert all(len(answer) == 64 for answer in answers)


@pytest.mark.parametrize("use", ["words", "spawn"])
def test_forked_seeded_generators_are_refused(use: str) -> None:
    shared = Generator.seeded(1)

    def work() -> bytes:
        try:
            getattr(shared, use)(1)
        except RefusedError as error:
            return str(error).encode()
        return b"used"

    assert b"inside each worker" in in_fork(work)
    assert shared.words(1).size == 1


def test_fork_while_another_thread_holds_the_lock() -> None:
    shared = Generator.system()
    with shared._stream._lock:
        assert len(in_fork(lambda: shared.words(8).tobytes())) == 64


def test_fork_is_noticed_when_the_hook_was_bypassed(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Generator.system()
    before = shared._stream
    monkeypatch.setattr(os, "getpid", lambda: -1)
    shared.words(1)
    assert shared._stream is not before


def _worker(shared: Generator, queue: "multiprocessing.SimpleQueue[bytes]") -> None:
    queue.put(shared.words(32).tobytes())


def test_multiprocessing_workers_never_share_a_stream() -> None:
    context = multiprocessing.get_context("fork")
    shared, queue = Generator.system(), context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        workers = [context.Process(target=_worker, args=(shared, queue)) for _ in range(3)]
        for worker in workers:
            worker.start()
    answers = [queue.get() for _ in workers]
    for worker in workers:
        worker.join()
    words = np.frombuffer(b"".join([*answers, shared.words(32).tobytes()]), dtype=np.uint64)
    assert np.unique(words).size == 4 * 32


@pytest.mark.parametrize("make", [Generator.system, lambda: Generator.seeded(1)])
@pytest.mark.parametrize(
    "save", [pickle.dumps, copy.copy, copy.deepcopy, lambda g: g.__getstate__(), lambda g: g.__reduce__()]
)
def test_state_is_never_copied_or_saved(make: Callable[[], Generator], save: Callable[[Generator], object]) -> None:
    with pytest.raises(TypeError):
        save(make())


def test_repr_and_attributes_hold_no_key() -> None:
    key = bytes(range(32))
    generator = Generator(key)
    assert repr(generator) == "Generator(seeded, not private)"
    assert repr(Generator.system()) == "Generator(system)"
    held = [*vars(generator).values(), *vars(generator._stream).values()]
    assert key not in held
    assert isinstance(generator._stream, _Stream)


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 7, 100, 255, 257])
def test_below_is_uniform(bound: int) -> None:
    counts = np.bincount(Generator.seeded(bound).below(bound, 50_000), minlength=bound)
    expected = 50_000 / bound
    assert counts.size == bound
    assert np.sum((counts - expected) ** 2 / expected) < bound + 5 * np.sqrt(2 * bound)


@pytest.mark.parametrize("bound", [(1 << 62) + (1 << 61), 1 << 63])
def test_below_has_no_bias_at_large_bounds(bound: int) -> None:
    drawn = Generator.seeded(2).below(bound, 40_000)
    assert drawn.min() >= 0
    thirds = np.bincount((drawn // (bound // 3)).clip(max=2), minlength=3)  # a remainder would favour the low part
    assert np.all(np.abs(thirds - 40_000 / 3) < 5 * np.sqrt(40_000 * 2 / 9))


def test_below_rejects_rather_than_folds() -> None:
    words = Generator.seeded(4).words(200) & np.uint64(7)
    assert np.array_equal(Generator.seeded(4).below(5, 60), words[words < 5][:60].astype(np.int64))


def test_bad_calls_are_refused() -> None:
    generator = Generator.seeded(1)
    for call in (
        lambda: Generator.seeded(True),
        lambda: Generator.seeded(1.0),  # type: ignore[arg-type]
        lambda: Generator(b"short"),
        lambda: generator.below(0, 1),
        lambda: generator.below((1 << 63) + 1, 1),
        lambda: generator.octets(-1),
    ):
        with pytest.raises(UsageError):
            call()


def test_no_words_is_no_words() -> None:
    assert Generator.seeded(1).words(0).size == 0
