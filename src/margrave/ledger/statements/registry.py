"""What registries of deployments of differential privacy ask for, from the public statement of a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from margrave.ledger.statements.statement import Statement
from margrave.version import __version__

FORM = 1
"""Raised whenever a key changes its meaning or goes."""


def registry_json(said: Statement) -> dict[str, Any]:
    """The disclosure: unit, budget, neighbours, mechanisms, facts and composition, and nothing that is not public."""
    found = said.to_json()
    return {
        "form": FORM,
        "deployment": {"name": found["dataset"], "versions": found["versions"], "model": "central"},
        "software": {"name": "margrave", "version": __version__},
        "privacy_unit": found["unit"],
        "neighbouring_relation": {
            "kind": found["neighbours"],
            "sensitive_attributes": found["sensitive"],
            "induced_by_facts": found["induced"],
            "words": found["words"],
        },
        "privacy_loss": {"cap": found["cap"], "spent": found["spent"]},
        "composition": {"adaptive": True, "words": found["composition"]},
        "public_facts": found["facts_held_exact"],
        "releases": [_release(one) for one in found["requests"]],
        "audit": {"ledger": found["ledger"], "signing_keys": found["signing_keys"]},
    }


def _release(request: Mapping[str, Any]) -> dict[str, Any]:
    """One request: its date, its cost, and how often each mechanism was run, with the parameters of its noise."""
    kinds = Counter(
        tuple(sorted((str(k), str(v)) for k, v in one.get("noise", {}).items())) for one in request["mechanisms"]
    )
    return {
        "date": request["time"][:10],
        "title": request["title"],
        "loss": request["cost"],
        "mechanisms": [{"noise": dict(noise), "measurements": count} for noise, count in kinds.items()],
        "disclosed_exactly": [*request["exact"], *request.get("disclosed", ())],
    }
