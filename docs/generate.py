"""Write docs/cli.md and docs/glossary.md from the program itself, and draw every picture. Run with: make docs

About a minute of processor time, as many commands at a time as there are cores. Only the figures of a study that takes
half an hour are not drawn anew: they come from `margrave reproduce yang2012`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import typer

from margrave.cli.app import app
from margrave.planning.glossary import GLOSSARY

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "google-chrome")

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


def glossary() -> str:
    """The page of words."""
    said = "The words of plans and reports. Made by `make docs` from the list that the report shows.\n"
    words = [f'<a id="{term.key}"></a>**{term.word}**: {term.meaning}\n' for term in GLOSSARY]
    return "\n".join(["# Glossary\n", said, *words])


def commands(folder: Path) -> list[list[str]]:
    """What draws the pictures: those of attacks into a new folder, the others beside their scripts."""
    python, margrave = sys.executable, [sys.executable, "-m", "margrave"]
    drawn = [
        [*margrave, "attack", "all", "--out", str(folder / "attacks")],
        [*margrave, "reproduce", "cuboids", "--out", str(folder / "cuboids")],
        [python, str(IMAGES / "growth.py")],
        [python, str(IMAGES / "published.py")],
    ]
    if any(map(shutil.which, BROWSERS)):
        drawn += [[python, str(IMAGES / "make.py")], [python, str(IMAGES / "server.py")]]
    else:
        print("without Chromium the pictures of the report stay as they are", file=sys.stderr)
    return drawn


def run(command: list[str]) -> None:
    """One command. Its matrix products take one thread: several that wait for each other take longer."""
    print("$", *(Path(word).name for word in command), file=sys.stderr)
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **one})


def pictures() -> None:
    """Draw every picture."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with ThreadPoolExecutor(os.cpu_count()) as several:
            list(several.map(run, commands(folder)))
        for picture in (*(folder / "attacks").glob("*.png"), folder / "cuboids" / "cuboids.png"):
            shutil.copy(picture, IMAGES / "attacks" / picture.name)


def main() -> None:
    for name, content in (("cli.md", text()), ("glossary.md", glossary())):
        page = Path(__file__).with_name(name)
        page.write_text(content, encoding="utf-8")
        print(f"wrote {page}", file=sys.stderr)
    if "--no-pictures" not in sys.argv:
        pictures()


if __name__ == "__main__":
    main()
