"""Noisy answers as bytes, for a ledger to keep from the moment they are drawn until their bundle is there.

A line that names the format and the question, then every number as eight bytes, the lowest first: the outputs of each
measurement, the exact tables and the single exact cells, all in the order of the plan. Of a round that selects a table,
the number of the table among the candidates, and as many numbers as the largest of these has, zeros after its own. Of
the rest of the budget, for each query that can get parts of it how many it got, and its outputs, zeros where none. So
the length follows from the plan alone, and whether there is room for it says nothing about the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import prod
from typing import IO

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.query import Query
from margrave.budget.events import Measurement, Round
from margrave.crossing import Answer, Measured
from margrave.errors import VerificationError
from margrave.files.content import AnswerFile, Content, reader_of, room, size_of
from margrave.planning.plan import Plan
from margrave.publish.bundle.parts.layout import is_large

_FORMAT = "margrave noisy answers 1"
_NUMBER = np.dtype("<i8")


def drawn_bytes(plan: Plan) -> int:
    """How many bytes the noisy answers to a plan take, but for the line before them."""
    return _NUMBER.itemsize * sum(map(prod, _shapes(plan)))


def pack(plan: Plan, question: str, measured: Measured) -> Content:
    """The noisy answers to a question: in memory or, if there are many, in a temporary file."""
    if not is_large(plan):
        return b"".join(_parts(plan, question, measured))
    with room():
        answer = AnswerFile()
        answer.file.writelines(_parts(plan, question, measured))
        answer.file.flush()
    return answer


def unpack(plan: Plan, question: str, content: Content) -> Measured:
    """The inverse of `pack`. What does not fit the plan and the question is refused."""
    found = arrays_of(question, content, tuple(_shapes(plan)))
    answers = tuple([Answer(one, next(found)) for one in plan.measurements])
    answers += tuple([_selected(plan, one, int(next(found)), next(found)) for one in plan.rounds])
    answers += tuple(_divided(plan, found))
    exact = {margin: next(found) for margin in plan.exact}
    return Measured(answers, exact, True, {cell: int(next(found)) for cell in plan.cells})


def bytes_of(question: str, arrays: Iterable[NDArray[np.int64]]) -> Iterator[bytes]:
    """Noisy answers to a question as bytes, in pieces."""
    yield _first_line(question)
    yield from (one.astype(_NUMBER).tobytes() for one in arrays)


def arrays_of(question: str, content: Content, shapes: Sequence[tuple[int, ...]]) -> Iterator[NDArray[np.int64]]:
    """The inverse of `bytes_of`, which needs the shapes. What does not fit them and the question is refused."""
    first = _first_line(question)
    if size_of(content) != len(first) + _NUMBER.itemsize * sum(map(prod, shapes)):
        raise VerificationError("the noisy answers that the ledger keeps are not as many as the plan asks for")
    file = reader_of(content)
    if file.read(len(first)) != first:
        raise VerificationError("the noisy answers that the ledger keeps are not those to this question")
    return (_array(file, shape) for shape in shapes)


def _first_line(question: str) -> bytes:
    return f"{_FORMAT} {question}\n".encode()


def _shapes(plan: Plan) -> Iterator[tuple[int, ...]]:
    """The shapes of all that is kept, in order; a single cell has none."""
    yield from (one.query.shape(plan.domain) for one in plan.measurements)
    for _ in plan.rounds:
        yield from ((), (_largest(plan),))
    for query in plan.dividing if plan.rest else ():
        yield from ((), query.shape(plan.domain))
    yield from map(plan.domain.shape, plan.exact)
    yield from (() for _ in plan.cells)


def _parts(plan: Plan, question: str, measured: Measured) -> Iterator[bytes]:
    ended = {one.measurement.query: one for one in measured.answers if one.measurement.parts}
    answers = chain.from_iterable(_arrays(plan, one) for one in measured.answers if not one.measurement.parts)
    exact = (measured.exact[margin] for margin in plan.exact)
    cells = np.array([measured.cells[cell] for cell in plan.cells], dtype=_NUMBER)
    return bytes_of(question, chain(answers, _parts_of(plan, ended), exact, (cells,)))


def _largest(plan: Plan) -> int:
    """The cells of the largest table that a round may select."""
    return max(map(plan.domain.cells, plan.candidates.margins))


def _arrays(plan: Plan, answer: Answer) -> Iterator[NDArray[np.int64]]:
    """What is kept of one answer."""
    measurement = answer.measurement
    if measurement.selection is None:
        yield answer.outputs
        return
    yield np.array(plan.candidates.margins.index(measurement.query.margin))
    yield np.pad(answer.outputs.ravel(), (0, _largest(plan) - answer.outputs.size))


def _selected(plan: Plan, one: Round, number: int, outputs: NDArray[np.int64]) -> Answer:
    """The inverse, for one round of the plan."""
    if not 0 <= number < len(plan.candidates.margins):
        raise VerificationError("the noisy answers that the ledger keeps are of a table that the plan does not offer")
    margin = plan.candidates.margins[number]
    shape = plan.domain.shape(margin)
    return Answer(Measurement(Query(margin), one.noise, one.selection), outputs[: prod(shape)].reshape(shape))


def _parts_of(plan: Plan, ended: Mapping[Query, Answer]) -> Iterator[NDArray[np.int64]]:
    """What is kept of the answers that the rest of the budget went to."""
    for query in plan.dividing if plan.rest else ():
        one = ended.get(query)
        yield np.array(0 if one is None else one.measurement.parts)
        yield np.zeros(query.shape(plan.domain), dtype=np.int64) if one is None else one.outputs


def _divided(plan: Plan, found: Iterator[NDArray[np.int64]]) -> Iterator[Answer]:
    """The inverse."""
    noise, left = plan.measurements[0].noise, plan.rest.parts
    for query in plan.dividing if plan.rest else ():
        parts, outputs = int(next(found)), next(found)
        left -= parts
        if parts < 0 or left < 0:
            raise VerificationError("the noisy answers that the ledger keeps have more of the budget than the plan")
        if parts:
            yield Answer(plan.rest.measurement(plan.domain, query, parts, noise, plan.protection), outputs)
    if left:
        raise VerificationError("the noisy answers that the ledger keeps have less of the budget than the plan")


def _array(file: IO[bytes], shape: tuple[int, ...]) -> NDArray[np.int64]:
    numbers = np.frombuffer(file.read(_NUMBER.itemsize * prod(shape)), dtype=_NUMBER)
    return numbers.astype(np.int64).reshape(shape)
