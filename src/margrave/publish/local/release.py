"""A local collection as users hold it: its tables, and its bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from margrave.crossing import Collected
from margrave.planning.local.plan import LocalPlan
from margrave.progress import Progress
from margrave.publish.bundle.untrusted.reading import Files
from margrave.publish.framed.bundle import read_framed, save
from margrave.publish.local.answers import LocalAnswers
from margrave.publish.local.framing import FRAMING
from margrave.reconstruct.local import LocalFit, digest, publish_local

if TYPE_CHECKING:
    from margrave.publish.verification.signature import SigningKey


class LocalRelease(LocalAnswers):
    """A finished local collection. Nobody ever held anything confidential."""

    @classmethod
    def of(cls, plan: LocalPlan, collected: Collected) -> LocalRelease:
        """The release that follows from collected reports."""
        fit = LocalFit.of(plan, collected)
        fit.check()
        return cls(plan, collected, publish_local(plan, fit, digest(collected)))

    @classmethod
    def read(cls, files: Files) -> LocalRelease:
        """The release in the files of a bundle."""
        found = read_framed(FRAMING, files)[1]
        return cls(found.plan, found.collected, found.publication, found.bars)

    def save(
        self,
        path: str | Path,
        *,
        sign: SigningKey | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write a bundle to a new folder, or to a new file if the name ends in .zip (docs/bundle-format.md).

        ``sign``: a key, ``mg.SigningKey.load("collector.key")``, that tells readers who made it.
        """
        return save(FRAMING, self, path, sign=sign, progress=progress)

    def _repr_html_(self) -> str:
        from margrave.publish.notebook import framed_html

        held = f"{self.reports} reports, likelihood ratio at most {self.plan.odds}; table(…) shows counts"
        return framed_html("Local collection", held, self)
