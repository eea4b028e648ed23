"""The command that shows released tables: it serves them until it is stopped, or writes them as files."""

import re
import signal
import subprocess
import sys
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from margrave.cli import explore
from margrave.cli.app import app
from margrave.publish.explorer.site import writing
from tests.cli.test_bundles import SMALL, folder, run, small

__all__ = ["SMALL", "folder", "run", "small"]


def text(address):
    with urlopen(address, timeout=60) as page:
        return page.read().decode()


@pytest.mark.slow
def test_pages_are_served_until_ctrl_c(folder):
    command = [sys.executable, "-u", "-m", "margrave", "explore", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            address = program.stdout.readline().strip()
            assert "What has been released" in text(address)
            key = re.search("r/[0-9a-f]+/", text(address))[0]
            assert "What is promised" in text(f"{address}{key}")
            assert "does not smoke" in text(f"{address}{key}table?rows=smoke&columns=age&numbers=unbiased")
        finally:
            program.send_signal(signal.SIGINT)
            beside = program.communicate(timeout=60)[1]
    assert program.returncode == 130
    assert "Traceback" not in beside
    assert "Ctrl-C" in beside


@pytest.mark.slow
def test_a_site_is_written_to_a_new_folder(run, folder, tmp_path):
    code, said, _ = run("explore", folder, "--site", tmp_path / "site")
    assert code == 0
    assert str(tmp_path / "site" / "index.html") in said
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize(("said", "written"), [("y", True), ("n", False)])
def test_a_very_large_site_is_asked_about(folder, tmp_path, monkeypatch, said, written):
    monkeypatch.setattr(writing, "ASKED_BYTES", 1000)
    monkeypatch.setattr(explore, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    found = CliRunner().invoke(app, ["explore", str(folder), "--site", str(tmp_path / "site")], input=f"{said}\n")
    assert "The site may take 0.0 GiB. Write it all?" in found.output
    assert (tmp_path / "site").exists() is written
    assert (found.exit_code == 0) is written


def test_options_of_sites_are_refused_without_one(run, folder):
    code, _, beside = run("explore", folder, "--large")
    assert code == 2
    assert "--site" in beside


def test_a_report_is_made_in_another_language(run, folder, tmp_path):
    assert run("report", folder, "--language", "de")[0] == 2
    assert run("report", folder, "--out", tmp_path / "bericht.html", "--language", "de")[0] == 0
    page = (tmp_path / "bericht.html").read_text()
    assert '<html lang="de">' in page
    assert "Wie man ein Intervall liest" in page
    visible = re.sub(r"<(style|script|pre)[^>]*>.*?</\1>|<[^>]+>", " ", page, flags=re.S)
    assert re.findall(r"\b(?:the|and|with|which|at|counts?|cells?)\b", visible) == []
