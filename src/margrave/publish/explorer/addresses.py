"""How pages lead to one another: by the routes of a server, or by the files of a site. Seen from a release's pages."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from margrave.publish.explorer.pages.style import policy


@dataclass(frozen=True)
class Served:
    """Addresses on a server; ``root`` is where the catalogue is, seen from the page.

    ``scripts`` run on the page. ``computes``: the kinds of numbers that they can compute there; none without scripts.
    """

    root: str = "./"
    scripts: tuple[str, ...] = ()
    computes: tuple[str, ...] = ()

    @property
    def policy(self) -> str:
        """The policy of content of the page: nothing runs on those of a server."""
        return policy("'none'", "'self'")

    @property
    def written(self) -> bool:
        """Whether the pages are files, and nobody answers."""
        return False

    @property
    def keeps_files(self) -> bool:
        """Whether the files of the bundle can be had here."""
        return True

    @property
    def builds(self) -> bool:
        """Whether a script on the page computes what it shows."""
        return bool(self.computes)

    @property
    def has_form(self) -> bool:
        """Whether the page of a table has a form to change it."""
        return True

    @property
    def catalogue(self) -> str:
        return self.root

    @property
    def compare(self) -> str:
        """The page of two releases, seen from the catalogue."""
        return "compare"

    def listed(self, kind: str, wanted: str) -> str:
        """The catalogue for machines, of titles with some words: ``csv`` or ``json``."""
        return f"catalogue.{kind}" + (f"?{urlencode({'q': wanted})}" if wanted else "")

    def release(self, key: str) -> str:
        """A release, seen from the catalogue."""
        return f"r/{key}/"

    @property
    def home(self) -> str:
        return "./"

    @property
    def about(self) -> str:
        return "about"

    @property
    def report(self) -> str:
        return "report"

    def search(self, wanted: str, first: int) -> str:
        """The tables of a release with some words, from one of them on."""
        return f"?{urlencode({'q': wanted, 'from': first})}"

    @property
    def checked(self) -> str:
        """Where the files of a release are checked when somebody asks; empty where nobody can."""
        return "checked"

    def view(self, address: str) -> str:
        return f"table?{address}"

    def table(self, number: int, address: str) -> str:
        """The asked table of a number, counted from 1, as it is first shown."""
        return self.view(address)

    def twin(self, kind: str, address: str) -> str:
        """The same view for machines: ``csv`` or ``json``."""
        return f"table.{kind}?{address}"

    def file(self, name: str) -> str:
        return f"files/{quote(name)}"


@dataclass(frozen=True)
class Written(Served):
    """Files of a site. A view that is not written is in the fragment of the builder's page, which computes it."""

    number: int = 0
    """The number of the asked table that this page is of; 0 for other pages."""
    files: bool = True
    """Whether the files of the bundle are part of the site."""

    @property
    def policy(self) -> str:
        """Only the site's own scripts run, and only on pages that have some."""
        return policy("'self'" if self.scripts else "'none'", "'none'")

    @property
    def written(self) -> bool:
        return True

    @property
    def has_form(self) -> bool:
        return self.builds

    @property
    def catalogue(self) -> str:
        return f"{self.root}index.html"

    @property
    def compare(self) -> str:
        return "compare.html"

    def release(self, key: str) -> str:
        return f"r/{key}/index.html"

    @property
    def home(self) -> str:
        return "index.html"

    @property
    def about(self) -> str:
        return "about.html"

    @property
    def report(self) -> str:
        return "report.html"

    def search(self, wanted: str, first: int) -> str:
        return f"tables-{first + 1}.html" if first else "index.html"

    @property
    def keeps_files(self) -> bool:
        return self.files

    @property
    def checked(self) -> str:
        return ""

    def view(self, address: str) -> str:
        return f"table.html#{address}"

    def table(self, number: int, address: str) -> str:
        return f"table-{number}.html"

    def twin(self, kind: str, address: str) -> str:
        return f"table-{self.number}.{kind}" if self.number else "#"
