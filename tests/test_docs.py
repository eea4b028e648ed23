"""What the pages show is run: Python blocks, ``$ margrave`` commands, links, and the tests that are named as proof.

The blocks of one page share a namespace and an empty folder, in their order. A ``text`` block right after a ``python``
block is what it prints. What follows a command in a ``console`` block is what that prints; a line ``...`` stands for
any number of lines. A block whose fence says ``no-run`` is skipped; one that says ``varies`` must run, but may print
anything, and so may commands that draw fresh noise. Pages with a docs test of their own are left to it.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from margrave.cli.app import app

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
OWN = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/test_docs*.py"))
RUN_HERE = [page for page in PAGES if page.name not in OWN]
FENCE = re.compile(r"^```(\w+)?([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PROOF = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
FRESH_NOISE = ("demo", "release", "evaluate", "attack", "study")


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, the marks after the kind, its text, and the text block right after it, if any."""

    kind: str
    marks: str
    text: str
    printed: str | None


def blocks(text: str) -> list[Block]:
    found = list(FENCE.finditer(text))
    result = []
    for at, match in enumerate(found):
        after = found[at + 1] if at + 1 < len(found) else None
        follows = after is not None and after[1] == "text" and not text[match.end() : after.start()].strip()
        printed = after[3] if after is not None and follows else None
        result.append(Block(match[1] or "", match[2], match[3], printed))
    return result


def commands(text: str) -> list[tuple[str, str]]:
    """Each ``$`` line of a console block with the lines that it prints."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def lines_of(text: str) -> list[str]:
    """The lines without blanks at their ends, and without blank lines: they carry nothing."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def says(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines shown are those printed, where ``...`` stands for any number of them."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(says(shown[1:], printed[skip:]) for skip in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and says(shown[1:], printed[1:])


def run_command(line: str, shown: str, marks: str) -> None:
    words = shlex.split(line, comments=True)
    if not words or words[0] != "margrave":
        return
    words, target = (words[: words.index(">")], words[-1]) if ">" in words else (words, None)
    result = CliRunner().invoke(app, words[1:], prog_name="margrave")
    assert result.exit_code == 0, f"$ {line}\n{result.output}\n{result.exception}"
    if target is not None:
        Path(target).write_text(result.stdout, encoding="utf-8")
        return
    fresh = words[1:2] and words[1] in FRESH_NOISE and "--seed" not in words
    if shown.strip() and "varies" not in marks and not fresh:
        assert says(lines_of(shown), lines_of(result.output)), f"$ {line} prints\n{result.output}"


def run_python(block: Block, place: str, names: dict[str, Any]) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.text, place, "exec"), names)
    if block.printed is not None and "varies" not in block.marks:
        assert says(lines_of(block.printed), lines_of(out.getvalue())), f"{place} prints\n{out.getvalue()}"


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.name)
def test_what_a_page_shows_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page.read_text(encoding="utf-8")):
        if "no-run" in block.marks:
            continue
        if block.kind == "python":
            run_python(block, page.name, names)
        elif block.kind == "console":
            for line, shown in commands(block.text):
                run_command(line, shown, block.marks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    local = [link.partition("#") for link in LINK.findall(text) if "://" not in link]
    missing = [path for path, _, _ in local if path and not (page.parent / path).exists()]
    assert missing == []
    for path, _, anchor in local:
        target = page.parent / path if path else page
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{page.name}: no heading #{anchor} in {path}"


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tests_named_exist(page: Path) -> None:
    for path, name in PROOF.findall(page.read_text(encoding="utf-8")):
        file = ROOT / path
        assert file.exists(), f"{page.name} names {path}, which does not exist"
        assert f"def {name}(" in file.read_text(encoding="utf-8"), f"{page.name} names {path}::{name}"


def test_mathematics_names_its_proofs() -> None:
    assert len(PROOF.findall((ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8"))) > 25


def test_every_package_is_named_with_its_reason_and_every_page_is_led_to() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[\[<>=~! ;]", one)[0] for several in lists for one in several} - {"margrave"}
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert sorted(name for name in names if f"`{name}`" not in page) == []
    first = (ROOT / "README.md").read_text(encoding="utf-8")
    led = "".join(one.read_text(encoding="utf-8") for one in PAGES if f"docs/{one.name}" in first) + first
    assert sorted(one.name for one in ROOT.glob("docs/*.md") if f"{one.name}" not in led) == []


def test_the_comparison_sees_a_difference() -> None:
    assert says(["a", "...", "d"], ["a", "b", "c", "d"])
    assert says(["...", "b", "..."], ["a", "b"])
    assert not says(["a", "...", "d"], ["a", "b"])
    assert not says(["a"], ["a", "b"])
    assert not says(["a", "b"], ["a"])
    assert commands("$ one\nx\ny\n$ two\n") == [("one", "x\ny\n"), ("two", "")]
    shown = blocks("```python\n1\n```\n\n```text\n2\n```\nwords\n```python no-run\n3\n```\n")
    assert [(b.kind, b.marks.strip(), b.printed) for b in shown if b.kind == "python"] == [
        ("python", "", "2\n"),
        ("python", "no-run", None),
    ]
