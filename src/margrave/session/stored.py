"""What a ledger has stored for an account, read again."""

from __future__ import annotations

from margrave.errors import BundleError
from margrave.files.content import Content, reader_of
from margrave.publish.questions.answers import AnswerTable, answers_in
from margrave.publish.release import Release
from margrave.publish.ways.registry import bundle_way


def everything_in(content: Content) -> tuple[AnswerTable | Release, ...]:
    """The answers in what a ledger has stored: to questions, to a batch of them, or tables; none of anything else."""
    with reader_of(content) as file:
        head = file.read(2)
    if head != b"PK":
        return answers_in(content)
    try:
        return (bundle_way("release").pack.read(content),)
    except BundleError:
        return ()
