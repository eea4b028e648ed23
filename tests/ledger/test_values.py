"""Values that a ledger is told are checked at birth."""

import pytest

from margrave.errors import UsageError
from margrave.ledger import DataSetName, Head, Notion, Request
from tests.ledger.helpers import SURVEY, eps, sha


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Notion(neighbours="near"), "neighbours must be"),
        (lambda: Notion(records=0), "at least one record"),
        (lambda: Notion(records=True), "at least one record"),
        (lambda: Notion(facts=("[]",)), "induced"),
        (lambda: Notion(induced="worst-case"), "induced"),
        (lambda: DataSetName("a b", "1"), "letters"),
        (lambda: DataSetName("a", ""), "letters"),
        (lambda: DataSetName("a@b", "1"), "letters"),
        (lambda: DataSetName("x" * 65, "1"), "1 to 64"),
        (lambda: DataSetName.parse("a"), "no version"),
        (lambda: Head("id", 0, sha(1)), "numbered from 1"),
        (lambda: Head("id", 1, "short"), "SHA-256"),
        (lambda: Request(SURVEY, "a/b", sha(1), eps(1), Notion()), "the account"),
        (lambda: Request(SURVEY, "ann", "1", eps(1), Notion()), "the question"),
        (lambda: Request(SURVEY, "ann", sha(1), eps(1), Notion(), id="a b"), "the request id"),
    ],
)
def test_rejected(make, text):
    with pytest.raises(UsageError, match=text):
        make()


def test_the_order_of_facts_does_not_matter():
    assert Notion(facts=("b", "a"), induced="worst-case") == Notion(facts=("a", "b"), induced="worst-case")


def test_notions_are_written_and_read():
    notion = Notion("person", 3, "replace", ("smoke",), ("[]",), "worst-case")
    assert Notion.from_json(notion.to_json()) == notion
    assert notion.difference(notion) is None
