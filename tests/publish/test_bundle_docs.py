"""Everything that the page on reading a release shows is run, and the page on the format names every key."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import margrave as mg

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reading-a-release.md").read_text(encoding="utf-8")
FORMAT = (DOCS / "bundle-format.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_shown_code_and_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # Commands run as a user's do, and find as many simulations as those make.
    monkeypatch.setattr("margrave.planning.limits.MANY_SIMULATIONS", 48)
    monkeypatch.setattr("margrave.planning.limits.FEW_SIMULATIONS", 16)
    names = {}
    blocks = [(match[1], match[2]) for match in BLOCK.finditer(PAGE)]
    assert len([kind for kind, _ in blocks if kind == "python"]) >= 6
    for kind, text in blocks:
        if kind == "python":
            exec(text, names)
        elif kind == "console":
            for line in text.splitlines():
                command = shlex.split(line.removeprefix("$ margrave "))
                subprocess.run([sys.executable, "-m", "margrave", *command], check=True, capture_output=True)
    assert isinstance(names["out"], mg.Release)
    assert "ε" in capsys.readouterr().out


def test_links_and_pictures_exist():
    for page in (PAGE, FORMAT):
        for target in re.findall(r"\]\(([^)#]+)", page):
            assert (DOCS / target).exists(), target


def test_every_key_of_the_manifest_is_documented(releases, tmp_path):
    found = json.loads((releases["laplace"].save(tmp_path / "out") / "release.json").read_text(encoding="utf-8"))
    keys = [*found, "created", *found["guarantee"], *found["plan"], *found["events"][0]]
    assert [key for key in keys if f"`{key}`" not in FORMAT and key != "title"] == []
