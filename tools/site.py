"""What the site has beside docs/: the pages of the project's root, with links that fit their new place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root; the first is the front page."""
    from mkdocs.structure.files import File

    for name in PAGES:
        content = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, **others: Any) -> str:
    """Pages of the root stand beside those of docs/; what else is outside, such as source, is named and not linked.

    What stands behind the language of a block is for the tests that run it.
    """
    markdown = re.sub(r"(?m)^```(\w+) .*$", r"```\1", markdown)
    beside = re.sub(rf"\]\(\.\./({'|'.join(map(re.escape, PAGES))})", r"](\1", markdown)
    return re.sub(r"\[([^\]]*)\]\((?:\.\./|LICENSE|src/|benchmarks/)[^)]*\)", r"\1", beside)
