"""What can be audited: each kind says which names and files are its own, and how it is audited.

A way of asking adds its line here, and `audit` recognises its files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from margrave.errors import UsageError
from margrave.spec.spec import Spec
from margrave.study.audit.bugs import BUGS, Caught, catch
from margrave.study.audit.exact import audit_mechanisms
from margrave.study.audit.files import audit_bundle, audit_ledger
from margrave.study.audit.findings import Audit, Effort
from margrave.study.audit.releases import audit_spec


@dataclass(frozen=True)
class Kind:
    """``owns``: whether a word, path or URL is of this kind; ``run``: its audit."""

    name: str
    words: str
    owns: Callable[[str], bool]
    run: Callable[[str, Effort], Audit]


def _is_folder_or_archive(what: str) -> bool:
    return Path(what).is_dir() or what.lower().endswith(".zip")


def _is_ledger(what: str) -> bool:
    return what.startswith(("postgresql://", "postgres://")) or Path(what).is_file()


KINDS: tuple[Kind, ...] = (
    Kind(
        "mechanisms",
        "every strategy and sampler of this program",
        lambda what: what == "mechanisms",
        lambda _, effort: audit_mechanisms(effort),
    ),
    Kind(
        "spec",
        "a spec: its price, and releases of made-up neighbours",
        lambda what: what.lower().endswith(".toml"),
        lambda what, effort: audit_spec(Spec.load(Path(what)), effort),
    ),
    Kind("bundle", "a release: verified, and priced anew", _is_folder_or_archive, audit_bundle),
    Kind("ledger", "a ledger: verified, and no cap overdrawn", _is_ledger, audit_ledger),
)
"""In the order in which they are asked whether something is theirs."""


def audit(what: str, effort: Effort) -> Audit:
    """Audit whatever this is."""
    for kind in KINDS:
        if kind.owns(what):
            return kind.run(what, effort)
    known = "; ".join(f"{kind.name}: {kind.words}" for kind in KINDS)
    raise UsageError(f"{what!r} is nothing that can be audited. There are: {known}")


def seeded_bugs(effort: Effort) -> tuple[Caught, ...]:
    """Every known bug, with the number of samples that it took to find it."""
    return tuple(catch(bug(), effort) for bug in BUGS.values())
