"""Paying for a partition: no data is needed for it, so whoever may not reach any can do it."""

from __future__ import annotations

from dataclasses import replace

from margrave.ledger.ledger import Ledger
from margrave.ledger.values import DataSetName
from margrave.planning.asked import request_of
from margrave.planning.questions.several.partition import PricedPartition
from margrave.publish.charging import charged
from margrave.publish.questions.answers import PartitionPack


def fill_purses(partition: PricedPartition, *, ledger: Ledger, dataset: str) -> PricedPartition:
    """Charge a partition once, and fill the purses of its parts, from which questions about them are paid."""
    request = request_of(partition, DataSetName.parse(dataset), partition.account)
    request = replace(request, purses=partition.purses, parts=partition.parts)
    return charged(ledger, partition, request, tuple, PartitionPack())
