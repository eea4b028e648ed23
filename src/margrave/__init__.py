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
    "count",
    "draft",
    "errors",
    "examples",
    "infer",
    "open_data",
    "plan",
    "plan_for",
    "plan_graph",
    "release",
    "release_graph",
    "sweep",
    "when",
]

if TYPE_CHECKING:
    from margrave import errors, examples
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
    from margrave.session.session import Session
    from margrave.spec.spec import Spec


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that ``import margrave`` and ``margrave --help`` are instant."""
    if name == "Spec":
        from margrave.spec.spec import Spec

        return Spec
    if name == "Plan":
        from margrave.planning.plan import Plan

        return Plan
    if name == "GraphSpec":
        from margrave.planning.graphs.spec import GraphSpec

        return GraphSpec
    if name == "Ledger":
        from margrave.ledger import Ledger

        return Ledger
    if name in ("Target", "plan_for", "sweep"):
        import margrave.planning.target as target

        return getattr(target, name)
    if name == "Release":
        from margrave.publish.ways import Release  # with all ways, so that their bundles are recognised

        return Release
    if name == "SigningKey":
        from margrave.publish.verification.signature import SigningKey

        return SigningKey
    if name == "infer":
        from margrave.inference.inference import infer

        return infer
    if name in ("plan", "release", "count", "draft", "plan_graph", "release_graph", "open_data"):
        import margrave.pipeline as pipeline

        return getattr(pipeline, name)
    if name == "DataSpec":
        from margrave.planning.questions.data_spec import DataSpec

        return DataSpec
    if name == "Session":
        from margrave.session.session import Session

        return Session
    if name in ("col", "when"):
        import margrave.session.expressions as expressions

        return getattr(expressions, name)
    if name == "errors":
        import margrave.errors as errors

        return errors
    if name == "examples":
        import margrave.examples as examples

        return examples
    raise AttributeError(f"module 'margrave' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
