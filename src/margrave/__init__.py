"""Margrave: contingency tables from confidential microdata, under differential privacy.

import margrave as mg
plan = mg.plan("spec.toml")          # cost and forecast; opens no data
out = mg.release(plan)               # spends the budget once
out.table("smoke", "pressure")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from margrave.version import __version__ as __version__

__all__ = [
    "DataSpec",
    "GraphSpec",
    "Ledger",
    "Plan",
    "Release",
    "Session",
    "SigningKey",
    "Spec",
    "Target",
    "col",
    "connect",
    "count",
    "draft",
    "errors",
    "examples",
    "infer",
    "open_data",
    "plan",
    "plan_for",
    "plan_graph",
    "public",
    "release",
    "release_graph",
    "sweep",
    "when",
]

if TYPE_CHECKING:
    from margrave import errors, examples
    from margrave.client.remote import connect
    from margrave.inference.inference import infer
    from margrave.ledger import Ledger
    from margrave.pipeline import count, draft, open_data, plan, plan_graph, release, release_graph
    from margrave.planning.graphs.spec import GraphSpec
    from margrave.planning.plan import Plan
    from margrave.planning.questions.data_spec import DataSpec
    from margrave.planning.target import Target, plan_for, sweep
    from margrave.publish.release import Release
    from margrave.publish.verification.signature import SigningKey
    from margrave.session.expressions import col, when
    from margrave.session.public import public
    from margrave.session.session import Session
    from margrave.spec.spec import Spec


def _spec() -> Any:
    import margrave.spec.spec as found

    return found


def _graphs() -> Any:
    import margrave.planning.graphs.spec as found

    return found


def _plans() -> Any:
    import margrave.planning.plan as found

    return found


def _targets() -> Any:
    import margrave.planning.target as found

    return found


def _data() -> Any:
    import margrave.planning.questions.data_spec as found

    return found


def _ledger() -> Any:
    import margrave.ledger as found

    return found


def _released() -> Any:
    import margrave.publish.release as found
    import margrave.publish.ways  # noqa: F401 - so that bundles of every way are recognised

    return found


def _signature() -> Any:
    import margrave.publish.verification.signature as found

    return found


def _inference() -> Any:
    import margrave.inference.inference as found

    return found


def _planned() -> Any:
    import margrave.reconstruct.planned as found

    return found


def _pipeline() -> Any:
    import margrave.pipeline as found

    return found


def _session() -> Any:
    import margrave.session.session as found

    return found


def _client() -> Any:
    import margrave.client.remote as found

    return found


def _expressions() -> Any:
    import margrave.session.expressions as found

    return found


def _public() -> Any:
    import margrave.session.public as found

    return found


def _whole() -> Any:
    import margrave.errors
    import margrave.examples

    return margrave


_HOMES = {
    "Spec": _spec,
    "GraphSpec": _graphs,
    "Plan": _plans,
    "Target": _targets,
    "plan_for": _targets,
    "sweep": _targets,
    "DataSpec": _data,
    "Ledger": _ledger,
    "Release": _released,
    "SigningKey": _signature,
    "infer": _inference,
    "plan": _planned,
    "release": _pipeline,
    "count": _pipeline,
    "draft": _pipeline,
    "plan_graph": _pipeline,
    "release_graph": _pipeline,
    "open_data": _pipeline,
    "Session": _session,
    "connect": _client,
    "col": _expressions,
    "when": _expressions,
    "public": _public,
    "errors": _whole,
    "examples": _whole,
}
"""Where each public name stands: a module, which is imported when the name is first used."""


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that ``import margrave`` and ``margrave --help`` are instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'margrave' has no attribute {name!r}")
    return getattr(_HOMES[name](), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
