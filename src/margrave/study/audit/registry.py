"""What can be audited: each kind says which names and files are its own, and how it is audited.

A way of asking adds its line here, and `audit` recognises its files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from margrave.errors import UsageError
from margrave.ledger.stores.sqlite import is_sqlite
from margrave.planning.ways.registry import load_spec, planned
from margrave.study.audit.bugs import BUGS, Caught, catch
from margrave.study.audit.collections import audit_local
from margrave.study.audit.exact import audit_mechanisms
from margrave.study.audit.files import audit_bundle, audit_ledger
from margrave.study.audit.findings import Audit, Effort
from margrave.study.audit.graphs import audit_graph
from margrave.study.audit.joins import audit_join
from margrave.study.audit.looking import audit_looking
from margrave.study.audit.questions import audit_questions
from margrave.study.audit.releases import audit_plan

_LEDGERS = (".db", ".ledger", ".sqlite", ".sqlite3")
"""How files of ledgers mostly end: one of these that is no SQLite file inside is damaged, others are no ledgers."""


@dataclass(frozen=True)
class Auditor:
    """``owns``: whether a word, path or URL is of this kind; ``run``: its audit."""

    name: str
    words: str
    owns: Callable[[str], bool]
    run: Callable[[str, Effort], Audit]


def _is_folder_or_archive(what: str) -> bool:
    return Path(what).is_dir() or what.lower().endswith(".zip")


def _is_ledger(what: str) -> bool:
    path = Path(what)
    if what.startswith(("postgresql://", "postgres://", "sqlite:")):
        return True
    return path.is_file() and (is_sqlite(path) or path.suffix.lower() in _LEDGERS)


AUDITORS: tuple[Auditor, ...] = (
    Auditor(
        "mechanisms",
        "every strategy and sampler of this program",
        lambda what: what == "mechanisms",
        lambda _, effort: audit_mechanisms(effort),
    ),
    Auditor("ledger", "a ledger (a file, or a URL): verified, and no cap overdrawn", _is_ledger, audit_ledger),
    Auditor(
        "spec",
        "a spec (.toml), of whichever way of asking: its price, and made-up neighbours",
        lambda what: what.lower().endswith(".toml"),
        lambda what, effort: _audit_spec(load_spec(Path(what)), effort),
    ),
    Auditor("bundle", "a release (a folder or .zip): verified, and priced anew", _is_folder_or_archive, audit_bundle),
)
"""In the order in which they are asked whether something is theirs."""


def _of_plan(run: Callable[[Any, Effort], Audit]) -> Callable[[Any, Effort], Audit]:
    return lambda spec, effort: run(planned(spec), effort)


WAYS: dict[str, Callable[[Any, Effort], Audit]] = {
    "release": _of_plan(lambda plan, effort: (audit_looking if plan.rounds else audit_plan)(plan, effort)),
    "graph": _of_plan(audit_graph),
    "local": _of_plan(audit_local),
    "join": _of_plan(audit_join),
    "question": audit_questions,
}
"""How what a spec declares is audited, by the way of asking."""


def _audit_spec(spec: Any, effort: Effort) -> Audit:
    if spec.way not in WAYS:
        raise UsageError(f"there is no audit of a {spec.way} yet; there are those of a {', a '.join(WAYS)}")
    return WAYS[spec.way](spec, effort)


def audit(what: str, effort: Effort) -> Audit:
    """Audit whatever this is."""
    for kind in AUDITORS:
        if kind.owns(what):
            return kind.run(what, effort)
    known = "; ".join(f"{kind.name}: {kind.words}" for kind in AUDITORS)
    raise UsageError(f"{what!r} is nothing that can be audited, or is not there. There are: {known}")


def seeded_bugs(effort: Effort) -> tuple[Caught, ...]:
    """Every known bug, with the number of samples that it took to find it."""
    return tuple(catch(bug(), effort) for bug in BUGS.values())
