"""Local collections: their public specs, and the reports that respondents sent. Each report is private by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from margrave.errors import RefusedError, UsageError
from margrave.local.collector import Collector
from margrave.planning.local.plan import LocalPlan, make_local_plan
from margrave.planning.local.spec import LocalSpec
from margrave.serve.kept.tables import ServerTables
from margrave.spec.document import parse_text

HEADER = "plan,question,symbol,token"


@dataclass(frozen=True)
class LocalCollection:
    """A collection that takes reports, by its name and its public spec."""

    name: str
    spec: str

    @property
    def plan(self) -> LocalPlan:
        return planned(self.spec)


@lru_cache(maxsize=32)
def planned(text: str) -> LocalPlan:
    """The plan of a spec that is given as text. No file of this machine is read for it."""
    document = parse_text(text, "spec")
    release = document.get("release")
    if "data" in document or (isinstance(release, dict) and "public" in release):
        raise UsageError("a local collection has neither [data] nor public tables: leave them out")
    plan = make_local_plan(LocalSpec.load(document))
    if plan.spec.shuffler is not None:
        raise RefusedError("reports of this plan go to its shuffler, who hands them on without tokens: not to a server")
    return plan


class Collections:
    """The collections of a server."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables

    def open(self, name: str, spec: str) -> LocalCollection:
        """Take reports for a spec from now on; the same again changes nothing."""
        planned(spec)
        with self._tables.writing() as session:
            session.write(
                "INSERT INTO server_collection (name, spec) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, spec)
            )
        found = self.named(name)
        if found is None or found.spec != spec:
            raise RefusedError("a collection of this name has another spec: choose another name")
        return found

    def every(self) -> list[LocalCollection]:
        with self._tables.reading() as session:
            found = session.rows("SELECT name, spec FROM server_collection ORDER BY name")
            return [LocalCollection(*row) for row in found]

    def named(self, name: str) -> LocalCollection | None:
        return next((one for one in self.every() if one.name == name), None)

    def take(self, collection: LocalCollection, reports: list[str]) -> dict[str, int]:
        """Keep reports; why some were not kept, by how many. One that is sent again is the same report."""
        refused: dict[str, int] = {}
        for report in reports:
            why = _wrong(collection.plan, report) or self._keep(collection.name, report)
            if why:
                refused[why] = refused.get(why, 0) + 1
        return refused

    def _keep(self, name: str, report: str) -> str:
        token = report.rpartition(",")[2]
        with self._tables.writing() as session:
            new = (
                "INSERT INTO server_report (collection, token, report) VALUES (?, ?, ?) "
                "ON CONFLICT (collection, token) DO NOTHING RETURNING report"
            )
            known = "SELECT report FROM server_report WHERE collection = ? AND token = ?"
            kept = list(session.rows(new, (name, token, report))) or list(session.rows(known, (name, token)))
        return "" if kept[0][0] == report else "token used before"

    def reports(self, name: str) -> list[str]:
        """All reports, sorted: their order says nothing of who came when."""
        with self._tables.reading() as session:
            found = session.rows("SELECT report FROM server_report WHERE collection = ?", (name,))
            return sorted(row[0] for row in found)


def _wrong(plan: LocalPlan, report: str) -> str:
    """Why a report is none of this plan; nothing if it is one."""
    if not report.isascii() or "\n" in report or "\r" in report:
        return "malformed"
    one = Collector(plan)
    one.add([report.encode()])
    refused = one.collected().refused
    return next(iter(refused), "") if refused or one.collected().reports else "malformed"
