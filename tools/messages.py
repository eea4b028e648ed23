"""Find every message of reports and of the explorer, and make of each `.po` the `.mo` that pages are said from.

python tools/messages.py            # write the .mo files; name messages that a language lacks
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

SOURCE = Path(__file__).resolve().parent.parent / "src" / "margrave"
ROOM = SOURCE / "messages"
_NO_CLOCK = datetime(1980, 1, 1, tzinfo=UTC)
_IN_SCRIPTS = re.compile(r'\b(?:say|refuse)\(\s*"([^"\\]*)"')
_IN_TEXTS = re.compile(r"""\{(?:escape\()?say\((["'])(.*?)\1[,)]""")
_SPEAKS = "from margrave.messages.catalogue import"


def wanted() -> set[str]:
    """Every message in the templates, and in the code that says what it says by the catalogue."""
    code = [path for path in SOURCE.rglob("*.py") if _SPEAKS in path.read_text(encoding="utf-8")]
    kinds = {"python": code, "jinja2.ext:babel_extract": SOURCE.rglob("templates/*.html")}
    found = {one for kind, paths in kinds.items() for path in paths for one in _messages(kind, path)}
    found |= {one[1] for path in code for one in _IN_TEXTS.findall(path.read_text("utf-8"))}
    return found | {one for path in SOURCE.rglob("site/*.js") for one in _IN_SCRIPTS.findall(path.read_text("utf-8"))}


def _messages(method: str, path: Path) -> list[str]:
    found = extract_from_file(method, str(path), keywords={"_": None, "say": None, "later": None})
    return [message for _, message, _, _ in found if isinstance(message, str)]


def catalogue(path: Path) -> Catalog:
    with path.open("rb") as handle:
        found = read_po(handle, abort_invalid=True)
    # The same messages make the same file, whenever it is made.
    found.creation_date = found.revision_date = _NO_CLOCK
    return found


def packed(found: Catalog) -> bytes:
    buffer = BytesIO()
    write_mo(buffer, found)
    return buffer.getvalue()


def lacking(found: Catalog) -> set[str]:
    """Messages without a translation."""
    return {text for text in wanted() if text not in found or not found[text].string}


def main() -> int:
    missing = 0
    for path in sorted(ROOM.glob("*.po")):
        found = catalogue(path)
        path.with_suffix(".mo").write_bytes(packed(found))
        for text in sorted(lacking(found)):
            missing += 1
            print(f"{path.name} lacks: {text}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
