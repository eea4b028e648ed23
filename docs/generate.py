"""Write docs/cli.md from the commands themselves. Run with: make docs"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from margrave.cli.app import app

HEAD = """# The command line

Made by `make docs` from the commands themselves.

Results go to standard output, remarks and progress to standard error. Exit codes: 0 ok, 1 bad input, 2 wrong usage,
3 refused (unsafe, over budget, too large), 4 verification failed, 130 interrupted.
"""


def sections(command: Any, path: str) -> list[str]:
    """The help of a command and of its sub-commands."""
    context = command.make_context(path, [], resilient_parsing=True, terminal_width=100, max_content_width=100)
    found = [f"## {path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"]
    for name, child in getattr(command, "commands", {}).items():
        found += sections(child, f"{path} {name}")
    return found


def text() -> str:
    """The whole page."""
    return "\n".join([HEAD, *sections(typer.main.get_command(app), "margrave")])


def main() -> None:
    page = Path(__file__).with_name("cli.md")
    page.write_text(text(), encoding="utf-8")
    print(f"wrote {page}", file=sys.stderr)


if __name__ == "__main__":
    main()
