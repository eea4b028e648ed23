"""A folder with a spec and its data, and the commands of the program run there."""

import sys

import pytest

from margrave.cli import main

SPEC = """
[data]
source = "data.csv"
[attributes]
smoke = ["no", "yes"]
[release]
tables = [["smoke"]]
strategy = "margins"
nonnegative = "none"
rounding = "none"
[privacy]
epsilon = 1.0
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "data.csv").write_text("smoke\n" + "no\nyes\nno\n" * 20)

    def command(*words, code=0):
        monkeypatch.setattr(sys, "argv", ["margrave", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, out + err
        assert "fault" not in err
        return out if code == 0 else err

    return command
