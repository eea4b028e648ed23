"""The description is that of the operations, and whatever is sent by it is answered as it says."""

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from margrave.serve import app as every_operation
from margrave.serve.operations.declared import OPERATIONS
from margrave.serve.operations.openapi import document, told_operations
from tests.ledger.helpers import SOAK
from tests.session.conftest import CANARY

MANY = 5_000 if SOAK else 500
"""On each store; without a soak on one."""
CHECKS = (not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance)
CHANGING_HANDS = ("log_in", "accept", "disable", "revoke_token", "log_out")
"""Left out: doors answer slowly by intent, and whoever is fuzzed must stay in."""


def test_every_operation_is_described_once():
    assert every_operation.ROOMS
    told = document(OPERATIONS)
    names = [one["operationId"] for path in told["paths"].values() for one in path.values()]
    assert sorted(names) == sorted(one.name for one in OPERATIONS) and len(set(names)) == len(names)
    shown = [one.what for one in told_operations(OPERATIONS)]
    assert sorted(shown) == sorted(f"{one.method} {one.path}" for one in OPERATIONS)


def test_what_is_not_public_says_so():
    told = document(OPERATIONS)
    for one in OPERATIONS:
        described = told["paths"][one.path][one.method.lower()]
        assert ("security" in described) == (one.who != "public")


@pytest.mark.slow
def test_generated_requests_find_no_fault_and_no_leak(served, new_name):
    """Requests made from the description, right ones and wrong ones, by somebody of each role."""
    if not SOAK and served.url.startswith("postgres"):
        pytest.skip("on both stores: make soak")
    told = document([one for one in OPERATIONS if one.name not in CHANGING_HANDS])
    schema = schemathesis.openapi.from_dict(told)
    tokens = [served.person(new_name(), role, epsilon=1) for role in ("analyst", "curator")]
    operations = [one.ok() for one in schema.get_all_operations()]
    leaks = re.compile(rf"{CANARY}|Traceback|\.py|sqlite|postgres|/tmp|mgpg", re.IGNORECASE)
    tried = []
    for operation in operations:
        cases = operation.as_strategy()

        @settings(
            max_examples=max(1, MANY // len(operations) + 1),
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases)
        def fuzzed(case):
            token = tokens[len(tried) % len(tokens)]
            headers = {"Authorization": f"Bearer {token}"}
            reply = case.call(base_url=served.address, headers=headers, timeout=600)
            tried.append(reply.status_code)
            case.validate_response(reply, checks=list(CHECKS))
            assert not leaks.search(reply.text or "")

        fuzzed()
    assert len(tried) >= MANY * 9 // 10 and len(set(tried)) > 3
